"""A report whose images were moved says so, names the line that finds them, and is stale once they are there
again.
"""

from __future__ import annotations

import html
import shlex
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import ImageError
from faultscape.study.tables import selections
from refusals import refused


def report_row(study: str) -> tuple[str, str]:
    return next((state, words) for verb, state, words in fs.status(study).stages if verb == "report")


def test_a_report_whose_images_are_gone_says_so_and_names_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, study = made.corpus(tmp_path / "corpus", images=12, models=3), str(tmp_path / "study")
    made.compared_study(corpus, study)
    images = len(set(fs.select(study, engine="local").images))
    fs.report(study)
    page = Path(study) / "report.html"
    assert "no longer where they were" not in page.read_text()
    corpus.photos.rename(tmp_path / "moved")
    capsys.readouterr()
    fs.report(study)
    line = f"`faultscape collect {study} NEWFOLDER`"
    told = capsys.readouterr().out
    assert f"note: {images} of {images} images are no longer where they were collected (" in told
    assert line in told
    assert line in html.unescape(page.read_text())
    assert report_row(study)[0] != "stale"
    fs.collect(study, str(tmp_path / "moved"))
    state, words = report_row(study)
    assert state == "stale"
    assert "missing image files are back" in words
    fs.report(study)
    assert "no longer where they were" not in page.read_text()
    assert report_row(study)[0] != "stale"


def test_a_page_that_lacks_photos_names_the_whole_line_that_makes_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, study = made.corpus(tmp_path / "corpus", images=6, models=2), str(tmp_path / "a study")
    made.compared_study(corpus, study)
    fs.select(study, selector="random", budget=4, as_="r", engine="local")
    corpus.photos.rename(tmp_path / "moved")
    page = tmp_path / "my page.html"
    fs.report(study, selection="r", bands=[0.25, 0.5], output=page)
    line = capsys.readouterr().out.split("then `")[1].split("`")[0]
    assert line == f"faultscape report '{study}' --selection r --output '{page}' --bands 0.25 --bands 0.5"
    fs.collect(study, str(tmp_path / "moved"))
    assert main(shlex.split(line)[1:]) == 0
    assert "no longer where they were" not in page.read_text()
    assert not (Path(study) / "report.html").exists()


def test_images_that_are_gone_are_not_exported_and_the_line_that_finds_them_is_named(tmp_path: Path) -> None:
    corpus, study = made.corpus(tmp_path / "corpus", images=6, models=2), str(tmp_path / "study")
    made.compared_study(corpus, study)
    images = set(fs.select(study, engine="local").images)
    corpus.photos.rename(tmp_path / "moved")
    with refused(
        ImageError,
        f"if images were moved, run `faultscape collect {study} NEWFOLDER`, then repeat this command",
    ):
        fs.label.export(study, str(tmp_path / "out"))
    fs.collect(study, str(tmp_path / "moved"))
    assert fs.label.export(study, str(tmp_path / "out")).images == len(images)


def test_a_page_without_pictures_is_stale_once_there_are_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = made_answers.study(tmp_path / "made", images=8, errors=(0.2, 0.4))
    study = str(answers.study)
    fs.select(study)
    fs.report(study)
    assert "no longer where they were" not in capsys.readouterr().out
    assert report_row(study)[0] != "stale"
    chosen = sorted({row.image for row in selections.read_selection(Path(study))[0].rows})
    for k, image in enumerate(chosen):
        made.write(tmp_path / "pictures" / f"{image}.png", np.full((20, 30, 3), k, np.uint8))
    capsys.readouterr()
    fs.collect(study, str(tmp_path / "pictures"))
    said = capsys.readouterr().out
    assert f"{len(chosen)} ids now have their image files, the first: " in said
    assert "changed since" not in said
    assert report_row(study)[0] == "stale"
    fs.report(study)
    assert report_row(study)[0] != "stale"
