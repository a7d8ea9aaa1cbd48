"""MLflow, Weights & Biases and Trackio hold what `report --log` sends: offline, in a folder."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs


@pytest.fixture(autouse=True)
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tracker writes to a folder of the test, and asks no server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))


def scores(study: str) -> dict[str, float]:
    """The mIoU of each model, as it was measured."""
    measured = json.loads((Path(study) / "measures" / "measure.json").read_text())["models"]
    return {f"miou/{model}": entry["miou"]["value"] for model, entry in measured.items()}


def test_mlflow_has_the_numbers_the_tables_and_the_page(study: str, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: make test-consumers")
    page = Path(fs.report(study, output=tmp_path / "page.html", log="mlflow").path)
    (run,) = mlflow.search_runs(output_format="list")
    assert run.info.run_name == "study, main"
    assert {name: run.data.metrics[name] for name in scores(study)} == pytest.approx(scores(study))
    table = mlflow.load_table("standings.json", run_ids=[run.info.run_id])
    standings: Any = fs.load(f"{study}/standings.json")
    assert table["model"].tolist() == standings.to_arrow()["model"].to_pylist()
    held = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="page.html")
    assert Path(held).read_bytes() == page.read_bytes()


def test_an_open_run_of_mlflow_is_used_and_stays_open(study: str, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: make test-consumers")
    with mlflow.start_run() as mine:
        fs.report(study, output=tmp_path / "page.html", log="mlflow")
        assert mlflow.active_run().info.run_id == mine.info.run_id
    assert len(mlflow.search_runs(output_format="list")) == 1


def test_wandb_has_the_numbers_the_tables_and_the_page(study: str, tmp_path: Path) -> None:
    wandb = pytest.importorskip("wandb", reason="wandb is not installed: make test-consumers")
    page = Path(fs.report(study, output=tmp_path / "page.html", log="wandb").path)
    assert wandb.run is None
    (files,) = tmp_path.glob("wandb/offline-run-*/files")
    (table,) = files.glob("media/table/standings_*.table.json")
    standings: Any = fs.load(f"{study}/standings.json")
    held = json.loads(table.read_text())
    assert held["columns"] == standings.to_arrow().column_names
    assert len(held["data"]) == standings.to_arrow().num_rows
    (html,) = files.glob("media/html/report_*.html")
    assert html.read_text() == page.read_text()
    with wandb.init(project="mine") as mine:  # an open run is used, and stays open
        fs.report(study, output=tmp_path / "page.html", log="wandb")
        assert wandb.run is mine
        assert {name: mine.summary[name] for name in scores(study)} == pytest.approx(scores(study))


def test_trackio_has_the_numbers_the_tables_and_the_page(study: str, tmp_path: Path) -> None:
    pytest.importorskip("trackio", reason="trackio is not installed: make test-consumers")
    page = Path(fs.report(study, output=tmp_path / "page.html", log="trackio").path)
    (database,) = tmp_path.glob("trackio/study.db")
    with sqlite3.connect(database) as opened:
        rows = opened.execute("SELECT run_name, metrics FROM metrics").fetchall()
    assert {name for name, _ in rows} == {"study, main"}
    held = json.loads(rows[0][1])
    assert {name: held[name] for name in scores(study)} == pytest.approx(scores(study))
    assert "standings" in held
    (html,) = tmp_path.glob("trackio/media/**/*.html")
    assert html.read_text() == page.read_text()


def test_a_tracker_that_refuses_is_reported_in_one_line_and_the_page_stays(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow", reason="mlflow is not installed: make test-consumers")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path}/runs")  # which it no longer takes
    with pytest.raises(fs.errors.StudyError) as caught:
        fs.report(study, output=tmp_path / "page.html", log="mlflow")
    assert "page.html is written, but mlflow did not take it: " in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (tmp_path / "page.html").is_file()
