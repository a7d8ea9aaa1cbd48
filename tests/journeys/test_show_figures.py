"""`show --figures` and `--figure`: the numbers behind the report's figures, in every form."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import faultscape as fs
import undoing
from faultscape.cli import main
from faultscape.reading.study import Study
from faultscape.reporting.competition.figure_data import FigureData
from faultscape.verbs.export.contents import Contents
from refusals import refused_text


@pytest.fixture
def study(tmp_path: Path) -> str:
    return undoing.copy_of("finished", tmp_path / "study")


@pytest.mark.slow
def test_figures_are_listed_and_one_is_the_same_as_frame_json_and_csv(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = undoing.digest(study)
    listed = fs.show(study, figures=True)
    assert isinstance(listed, fs.verbs.show.Table)
    assert [row[0] for row in listed.rows] == [
        "standings",
        "matrices",
        "shares",
        "quartiles",
        "cases",
        "growth",
        "without",
        "agreement",
    ]
    for name, rows, _ in listed.rows:
        shown = fs.show(study, figure=name)
        assert isinstance(shown, FigureData)
        assert shown.to_arrow().num_rows == rows
        capsys.readouterr()
        assert main(["show", study, "--figure", name, "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["figure"], said["says"]) == (name, shown.says)
        assert [*said["records"][0]] == shown.to_arrow().column_names
        assert main(["show", study, "--figure", name, "--csv"]) == 0
        read = [*csv.DictReader(io.StringIO(capsys.readouterr().out))]
        assert [[*row] for row in read] == [shown.to_arrow().column_names] * rows
        numbers = {column.name for column in shown.kind.columns if column.kind == "number"}
        for row, record, whole in zip(read, said["records"], shown.records, strict=True):
            for column in numbers:
                assert (float(row[column]) if row[column] else None) == whole[column]
                assert (record[column] is None) == (whole[column] is None)
                assert (record[column] or 0) == pytest.approx(whole[column] or 0, rel=1e-11)
    assert undoing.digest(study) == before


def test_values_are_those_of_the_models_on_the_labelled_images(study: str) -> None:
    contents = Contents(Study(study), selection="main", all_images=False, truth=None, image_files="none")
    (row,) = contents.rows
    shown = fs.show(study, figure="quartiles")
    assert isinstance(shown, FigureData)
    medians = {one["model"]: one["median"] for one in shown.records if one["on"] == "own duels"}
    assert medians == pytest.approx(row.scores)


def test_bands_are_those_of_the_report_that_was_written(study: str) -> None:
    def edges() -> set[object]:
        shown = fs.show(study, figure="shares")
        assert isinstance(shown, FigureData)
        return {row["from"] for row in shown.records}

    assert edges() == {None, 0.6, 0.8}
    fs.report(study, bands=[0.25, 0.5])
    assert edges() == {None, 0.25, 0.5}


def test_every_table_of_a_study_is_printed_as_csv(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", f"{study}/corpus.parquet", "--csv"]) == 0
    rows = [*csv.DictReader(io.StringIO(capsys.readouterr().out))]
    assert [row["id"] for row in rows] == Study(study).images
    assert rows[0]["source"].startswith("/")
    assert main(["show", f"{study}/corpus.parquet", "--csv", "--rows", "2"]) == 0
    assert capsys.readouterr().out.count("\n") == 3
    assert main(["show", f"{study}/standings.json", "--csv"]) == 0
    assert capsys.readouterr().out.startswith("ranking,population,")


def test_wrong_lines_are_refused(study: str) -> None:
    said = refused_text("show", study, "--figure", "case")
    assert said.startswith("--figure 'case' is not known; use standings, ")
    assert said.endswith("Did you mean 'cases'?")
    assert "its report has no figure 'pairs'; it has standings, matrices, " in refused_text(
        "show", study, "--figure", "pairs"
    )
    for wrong, why in (
        (["--images", "--figures"], "--images and --figures print different things"),
        (["--figure", "cases", "--rows", 3], "--rows applies to tables of files only"),
        (["--selection", "x"], "--selection needs --images, --figures or --figure"),
    ):
        assert why in refused_text("show", study, *wrong)
    said = refused_text("show", f"{study}/study.toml", "--csv")
    assert said == "--csv needs a table, and study.toml is shown as text; leave it out"
