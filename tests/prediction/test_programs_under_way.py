"""A program as a model, while it is under way: it ends with who runs it, leaves nothing, and is the same
program to the end.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import children
import faultscape as fs
import made
from faultscape.errors import ModelError
from faultscape.maps import runs
from faultscape.prediction.source import Opening, Part
from faultscape.prediction.sources import programs
from faultscape.study.settings import read_settings
from faultscape.study.spool import Spool
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs.predict.work import fill
from refusals import refused

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from PIL import Image
for path in sorted(Path(sys.argv[1]).iterdir()):
    photo = np.asarray(Image.open(path).convert("RGB"))
    Image.fromarray((photo[..., 0] > 127).astype(np.uint8)).save(Path(sys.argv[2], path.stem + ".png"))
"""
CHANGES = """
    if photo[0, 0, 0] == 77:
        code, other = Path(sys.argv[0]), Path(sys.argv[0] + ".new")
        other.write_text(code.read_text().replace("> 127", "> 150"))
        other.replace(code)
"""
WAITS = """#!/bin/sh
if mkdir {tried} 2> /dev/null; then exec cp {answer} "$2/00000.png"; fi  # it is tried once before the work begins
sleep 600 &
echo "$$ $! $PPID" > {told}
wait
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Four photos, each a shard; the third begins with a pixel of 77."""
    rng = np.random.default_rng(2)
    for k in range(4):
        pixels = rng.integers(80, 256, (20, 24, 3), np.uint8)
        pixels[0, 0, 0] = 77 if k == 2 else 200
        made.write(tmp_path / "photos" / f"p{k}.png", pixels)
    fs.collect(tmp_path / "study", tmp_path / "photos", classes=5, storage=fs.options.Storage(shard_size=1))
    return tmp_path / "study"


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """Write the program as it is then, and return its source."""

    def write(code: str) -> str:
        (tmp_path / "segment.py").write_text(code)
        return f"exec:{sys.executable} {tmp_path / 'segment.py'}"

    return write


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this machine's temporary folders, for this test alone."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


@pytest.mark.parametrize("engine", ["local", "processes"])
def test_a_program_that_changes_while_a_run_goes_on_is_never_mixed(
    study: Path, program: Callable[[str], str], engine: str
) -> None:
    source = program(PROGRAM + CHANGES)
    with refused(ModelError, r"its files changed while this line ran; run the same line again"):
        fs.predict(str(study), {"prog": source}, engine=engine, workers=2)
    fs.predict(str(study), {"prog": source}, engine=engine, workers=2)
    folder = label_maps.predictions(study, "prog")
    maps = {m.id: runs.decode(m.runs) for shard in range(4) for m in label_maps.read_stored(folder, shard)}
    assert len(maps) == 4
    photos = {id_: fs.formats.read_rgb(study.parent / "photos" / f"{id_}.png") for id_ in maps}
    assert all((maps[id_] == (photos[id_][..., 0] > 150)).all() for id_ in maps)


def test_a_program_that_changed_since_the_run_began_is_not_run(
    study: Path, program: Callable[[str], str], tmp_path: Path
) -> None:
    source = program(PROGRAM)
    model = programs.OpenProgram(
        Opening("program", source, digest=programs.digest(source, {})), read_settings(study)
    )
    program("raise SystemExit('was run')")
    spool = Spool(tmp_path / "spool", "key")
    with refused(
        ModelError, r"its files changed while this line ran; .* redoes everything with the new ones$"
    ):
        fill(spool, model, read_corpus(study, 0), Part(), lambda _: None)
    assert not len(spool)
    spool.finish()


def test_a_program_that_writes_to_a_file_of_its_command_is_told(
    study: Path, program: Callable[[str], str], tmp_path: Path
) -> None:
    (tmp_path / "log").write_text("")
    source = program(PROGRAM + "Path(sys.argv[3]).write_text('done')")
    with refused(
        ModelError,
        r"its files changed .*; a file that the program writes itself must not be part of its command$",
    ):
        fs.predict(str(study), {"prog": f"{source} {{input}} {{output}} {tmp_path / 'log'}"}, engine="local")


def ended(process: int) -> bool:
    """Whether the process of a descriptor has ended, waiting a while for that."""
    with os.fdopen(process, "rb"):
        return bool(select.select([process], [], [], 60)[0])


@pytest.mark.parametrize(
    ("engine", "end"),
    [("local", "SIGKILL"), ("processes", "SIGKILL"), ("local", "SIGINT"), ("processes", "SIGINT")],
)
def test_a_program_ends_with_its_driver_and_all_that_it_started_and_leaves_nothing(
    study: Path, tmp_path: Path, temporary: Path, engine: str, end: str
) -> None:
    told, code = tmp_path / "told", tmp_path / "segment.sh"
    os.mkfifo(told)
    made.write(tmp_path / "answer.png", np.zeros((20, 24), np.uint8))
    code.write_text(WAITS.format(told=told, tried=tmp_path / "tried", answer=tmp_path / "answer.png"))
    code.chmod(0o755)
    words = [sys.executable, "-m", "faultscape", "predict", str(study), f"p=exec:{code}"]
    words += ["--engine", engine, "--workers", "2"]
    programs, heard = 1 if engine == "local" else 2, b""
    driver = children.start(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with open(told, "r+b", buffering=0) as pipe:
            while heard.count(b"\n") < programs:
                assert select.select([pipe], [], [], 60)[0]
                heard += pipe.read(1000)
        # the program's, its own, and its leash's
        processes = [os.pidfd_open(int(number)) for number in heard.split()]
        assert len([*temporary.glob("faultscape-*/input/00000.png")]) == programs
        driver.send_signal(getattr(signal, end))
        driver.wait(timeout=60)
    finally:
        driver.kill()
        driver.wait()
    assert [ended(process) for process in processes] == [True] * 3 * programs
    assert not [*temporary.glob("faultscape-*")]


def test_folders_that_killed_workers_left_are_removed_and_those_in_use_are_not(
    study: Path, program: Callable[[str], str], temporary: Path
) -> None:
    for name in ("left", "used", "other"):
        (temporary / f"faultscape-{name}" / "input").mkdir(parents=True)
    for name in ("left", "used"):
        (temporary / f"faultscape-{name}" / "held").touch()
    with (temporary / "faultscape-used" / "held").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fs.predict(str(study), {"prog": program(PROGRAM)}, engine="local")
    assert sorted(folder.name for folder in temporary.iterdir()) == ["faultscape-other", "faultscape-used"]


SWAPS = {
    "a link": "os.rename(folder, folder + '-moved'); os.symlink(folder + '-moved', folder)",
    "a link to others' files": "os.rename(folder, folder + '-moved'); os.symlink(sys.argv[3], folder)",
    "another folder": "os.rename(folder, folder + '-moved'); os.makedirs(folder + '/output')",
    "a file": "os.rename(folder, folder + '-moved'); open(folder, 'w').close()",
    "nothing": "os.rename(folder, folder + '-moved')",
    "nothing at all": "import shutil; shutil.rmtree(folder)",
}


@pytest.mark.parametrize("kind", ["exec", "submission"])
@pytest.mark.parametrize("swap", SWAPS.values(), ids=SWAPS)
def test_a_program_that_swaps_its_folder_is_one_sentence_and_leaves_nothing(
    swap: str, kind: str, study: Path, program: Callable[[str], str], temporary: Path, tmp_path: Path
) -> None:
    others = tmp_path / "others"
    made.write(others / "file.png", np.zeros((2, 2), np.uint8))
    source = program(f"import os, sys\nfolder = os.path.dirname(sys.argv[2])\n{swap}\n")
    line = source.replace("exec:", f"{kind}:") + f" {{input}} {{output}} {others}"
    with refused(ModelError, "it moved, removed or replaced the folder in which it ran$"):
        fs.predict(str(study), {"prog": line}, engine="local")
    assert not list(temporary.iterdir())
    assert (others / "file.png").exists()


def test_a_file_that_is_no_program_is_one_sentence(study: Path, tmp_path: Path) -> None:
    (tmp_path / "segment").write_bytes(b"\x7fno program")
    (tmp_path / "segment").chmod(0o755)
    with refused(ModelError, r"segment: .*segment cannot be run: Exec format error$"):
        fs.predict(str(study), {"prog": f"exec:{tmp_path / 'segment'}"}, engine="local")


def test_a_program_that_is_killed_tells_by_which_signal(study: Path, program: Callable[[str], str]) -> None:
    with refused(ModelError, r"exited with status -9 and wrote no map: working$"):
        fs.predict(
            study,
            {"prog": program("import os; print('working', flush=True); os.kill(os.getpid(), 9)")},
            engine="local",
        )
