"""What lies in the current folder is data: no process of ours imports it, however it was started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lying_modules
import made
from faultscape import engine
from faultscape.errors import OptionError, StudyError
from faultscape.metrics.catalogue import ON_REQUEST
from faultscape.metrics.metric import Metric
from faultscape.plug import find
from refusals import refused

pytestmark = pytest.mark.slow

COMMAND = str(Path(sys.executable).with_name("faultscape"))
MODULE = (sys.executable, "-m", "faultscape")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=4, models=1, shape=(24, 32))


@pytest.mark.parametrize(
    ("line", "engine"),
    [((COMMAND,), "processes"), ((COMMAND,), "ray"), (MODULE, "processes")],
    ids=["command", "ray", "python -m"],
)
def test_modules_beside_the_images_never_run(
    line: tuple[str, ...], engine: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    if engine == "ray":
        pytest.importorskip("ray")
    study = made.collected(corpus, tmp_path / "study", 2)
    marker = tmp_path / "marker"
    lying_modules.write(corpus.photos, marker)
    words = [*line, "predict", str(study), f"model={corpus.models['model-0']}"]
    about = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*words, "--engine", engine, "--workers", "2"],
        cwd=corpus.photos,
        env=about,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not marker.exists(), marker.read_text()
    assert done.returncode == 0, done.stderr
    assert "4 maps" in done.stdout


def test_a_worker_that_cannot_start_is_not_a_lack_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise ImportError('no module of ours')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # which is its owner's to set
    with refused(
        StudyError, "^a worker process ended with status 1 before it could begin; the lines above say why"
    ):
        list(engine.run("builtins:dict", [{}, {}], engine="processes", workers=2))


@pytest.mark.parametrize("module", ["beside.py", "beside/__init__.py"])
def test_a_file_of_ones_own_is_loaded_alone(module: str, tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / module).write_text("")
    (tmp_path / "json.py").write_text("raise ImportError('no module of ours')")
    own = tmp_path / "own.py"
    own.write_text("import json\nimport beside")
    words = f"No module named 'beside'; a file is loaded alone, .* or set PYTHONPATH={tmp_path}$"
    before = list(sys.path)
    with refused(OptionError, words):
        find("metric", f"{own}:LOST", ON_REQUEST, of=Metric)
    assert sys.path == before
