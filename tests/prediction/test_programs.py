"""A program as a model: it reads a folder of photos and writes a folder of maps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import four_photos
import pytest
from four_photos import red, stored

import faultscape as fs
from faultscape.study.tables import outputs
from faultscape.study.tables.logs import read_failures
from refusals import refused


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return four_photos.collected(tmp_path)


PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from PIL import Image
way, source, to = sys.argv[1:4]
print("working")
for path in sorted(Path(source).iterdir()):
    photo = np.asarray(Image.open(path).convert("RGB"))
    labels = (photo[..., 0] > 127).astype(np.uint8)
    if way == "sure":
        np.save(Path(to, path.stem + "_confidence.npy"), photo[..., 1] / 255)
    if way == "pictures":
        Image.fromarray(photo[..., 1]).save(Path(to, path.stem + "_confidence.png"))
    if way == "odd":
        np.save(Path(to, path.stem + "_confidence.npy"), photo[:7, :, 1] / 200 if path.stem == "00001" else photo[..., 1] / 255)
    if way == "picky" and photo[0, 0, 0] == 77:
        print("one is missing")
        continue
    if way == "small":
        labels = labels[:5] if path.stem == "00001" else labels
    if way == "broken" and path.stem == "00001":
        Path(to, path.stem + ".png").write_bytes(b"no picture"); continue
    if way == "dies":
        print("I give up\\n"); sys.exit(3)
    Image.fromarray(labels).save(Path(to, path.stem + ".png"))
    if way == "destroys":
        path.chmod(0o600); path.write_bytes(b"gone"); path.unlink()
sys.exit(5 if way == "picky" else 0)
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "segment.py").write_text(PROGRAM)
    return f"exec:{sys.executable} {tmp_path / 'segment.py'}"


def run(study: Path, source: str) -> tuple[int, int]:
    return fs.predict(str(study), {"prog": source}, engine="local").models["prog"]


@pytest.mark.parametrize("folders", ["", " {input} {output}"])
def test_a_program_reads_one_folder_and_writes_the_other(
    study: Path, program: str, folders: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(study, f"{program} plain{folders}") == (4, 0)
    assert "make sure you trust it" in capsys.readouterr().out
    maps = stored(study, "prog")
    assert all((maps[id_] == want).all() for id_, want in red(study).items())
    assert len(maps) == 4
    assert not outputs.kinds(study, "prog")


@pytest.mark.parametrize("way", ["sure", "pictures"])
def test_its_confidence_is_kept(study: Path, program: str, way: str) -> None:
    run(study, f"{program} {way}")
    sure = {id_: values for id_, (values,) in outputs.read_kept(study, "prog", "confidence", 0)}
    assert {id_: values.shape for id_, values in sure.items()} == {f"p{k}": (20, 24) for k in range(4)}
    assert all(
        (sure[id_] == fs.formats.read_rgb(study.parent / "photos" / f"{id_}.png")[..., 1]).all()
        for id_ in sure
    )


@pytest.mark.parametrize(
    ("way", "image", "words"),
    [
        ("picky", "p2", "the command wrote no map for it and exited with status 5: one is missing"),
        ("small", "p1", "the map of p1: is 24 x 5 pixels, its image 24 x 20; expected the image's size"),
        ("broken", "p1", "the map of p1: "),
        ("odd", "p1", "the confidence of p1: holds 24 x 7 pixels of "),
    ],
)
def test_what_it_leaves_out_or_does_wrong_is_a_failure_of_that_photo(
    study: Path, program: str, way: str, image: str, words: str
) -> None:
    assert run(study, f"{program} {way}") == (3, 1)
    (failure,) = read_failures(study)
    assert failure.image == image
    assert failure.reason.startswith(words)


def test_a_program_that_destroys_what_it_is_given_leaves_the_photos_as_they_were(
    study: Path, program: str
) -> None:
    before = {p: (p.read_bytes(), p.stat().st_mode) for p in (study.parent / "photos").iterdir()}
    assert run(study, f"{program} destroys") == (4, 0)
    assert {p: (p.read_bytes(), p.stat().st_mode) for p in (study.parent / "photos").iterdir()} == before


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("{program} dies", r"exited with status 3 and wrote no map: I give up"),
        ("exec:no-such-program-here -x", "program no-such-program-here not found; give its path"),
        ("exec:photos/p0.png", r"photos/p0.png is not executable; allow it with `chmod \+x photos/p0.png`"),
        (
            "exec:segment 'unclosed",
            "is not a command line: No closing quotation; every quotation mark needs a second one",
        ),
    ],
)
def test_a_program_that_gives_nothing_is_one_sentence(
    study: Path, program: str, command: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.parent)
    with refused(fs.errors.FaultscapeError, words) as caught:
        run(study, command.format(program=program) if "{program}" in command else command)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_program_that_changed_is_run_again(
    study: Path, program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(study, f"{program} plain")
    capsys.readouterr()
    run(study, f"{program} plain")
    assert "predicted again" not in capsys.readouterr().out
    (tmp_path / "segment.py").write_text(PROGRAM.replace("> 127", "> 150"))
    run(study, f"{program} plain")
    assert "1 of 1 shards are predicted again" in capsys.readouterr().out
    photo: Any = fs.formats.read_rgb(study.parent / "photos" / "p0.png")
    assert (stored(study, "prog")["p0"] == (photo[..., 0] > 150)).all()
