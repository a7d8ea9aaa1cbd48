"""`report --log` without a tracker, and with one that keeps what it gets; the real ones are asked in
tests/consumers.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import faultscape as fs
import undoing
from faultscape.errors import OptionError, StudyError
from refusals import refused, refused_text


class Kept(ModuleType):
    """An MLflow that keeps what it is given."""

    def __init__(self, *, broken: bool = False) -> None:
        super().__init__("mlflow")
        self.broken = broken
        self.runs: list[str] = []
        self.numbers: dict[str, float] = {}
        self.tables: dict[str, Any] = {}
        self.files: list[str] = []

    def active_run(self) -> None:
        """No run is open."""

    def start_run(self, run_name: str) -> Any:
        self.runs.append(run_name)
        return nullcontext()

    def log_metrics(self, numbers: dict[str, float]) -> None:
        if self.broken:
            raise ConnectionError("no server\nat http://localhost")
        self.numbers |= numbers

    def log_table(self, data: dict[str, Any], name: str) -> None:
        self.tables[name] = data

    def log_artifact(self, path: str) -> None:
        self.files.append(path)


@pytest.fixture
def study(tmp_path: Path) -> str:
    return undoing.copy_of("finished", tmp_path / "study")


def test_a_tracker_gets_the_page_its_tables_and_the_numbers_of_every_model(
    study: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", kept := Kept())
    made = fs.report(study, log="mlflow")
    assert repr(made).endswith("; open it in a browser; sent to mlflow")
    assert kept.runs == ["study, main"]
    assert kept.files == [made.path]
    shown: Any = fs.show(study, figure="cases")
    assert kept.tables["cases.json"] == shown.to_arrow().to_pydict()
    measured = json.loads((Path(study) / "measures" / "measure.json").read_text())["models"]
    assert {*kept.tables["measured.json"]["metric"]} >= measured["model-0"].keys()
    standings: Any = fs.load(f"{study}/standings.json")
    name, ranking = next(iter(standings.rankings.items()))
    for model, metrics in measured.items():
        assert kept.numbers[f"miou/{model}"] == metrics["miou"]["value"]
        assert kept.numbers[f"{name}/{model}"] == ranking.scores[model]
    assert fs.status(study).next == ""  # where it was sent does not make the page another
    document = Path(study) / "measures" / "measure.json"
    held = json.loads(document.read_text())
    held["provenance"]["inputs"]["labels"] = "others"
    document.write_text(json.dumps(held))
    monkeypatch.setitem(sys.modules, "mlflow", kept := Kept())
    capsys.readouterr()
    fs.report(study, log="mlflow")
    assert (
        "note: what measure wrote is out of date (labels changed) and is not sent" in capsys.readouterr().out
    )
    assert "measured.json" not in kept.tables
    assert "standings.json" in kept.tables


def test_a_tracker_that_fails_is_named_and_the_page_is_there(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", Kept(broken=True))
    page = tmp_path / "page.html"
    with refused(
        StudyError, "page.html is written, but mlflow did not take it: no server at http://localhost;"
    ):
        fs.report(study, output=page, log="mlflow")
    assert page.is_file()


def test_a_tracker_that_is_not_installed_or_not_known_is_refused_before_anything_is_written(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    for name in ("mlflow", "wandb", "trackio"):
        monkeypatch.setitem(sys.modules, name, None)
        with refused(OptionError, f"--log {name} needs {name}, .*; install it with `pip install {name}`"):
            fs.report(study, output=page, log=name)
    said = refused_text("report", study, "--output", page, "--log", "mlfow")
    assert "mlfow" in said
    assert "mlflow" in said
    assert not page.exists()
