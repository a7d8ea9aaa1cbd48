"""What `select` prints: which selection it made, how many of its images have labels, and what to run next."""

from __future__ import annotations

from pathlib import Path

import pytest

import faultscape as fs
import made_answers
from faultscape.cli import main


def test_draws_are_told_by_name_with_labels_and_the_next_line(answers: made_answers.Answers) -> None:
    study = answers.study
    first = fs.select(study, goal="order", budget=12)
    assert repr(first) == (
        "order: 12 images to label, drawn for the order of the models\n"
        f"next: faultscape label export {study} questions-order.csv --format csv --selection order"
        "  # about 1 minute of labelling"
    )
    made_answers.import_labels(answers, list(first.images[:5]))
    assert repr(fs.select(study, goal="order", budget=12)).startswith(
        "order: 12 images, drawn for the order of the models; 5 have labels, 7 to label\n"
    )
    made_answers.import_labels(answers)
    told = repr(fs.select(study, selector="random", budget=20, as_="even"))
    assert told == (
        "even: 20 images, drawn by the selector random; all have labels\n"
        f"next: faultscape rank {study} --selection even"
    )
    fs.rank(study, selection="even", resamples=10)
    assert "next:" not in repr(fs.select(study, selector="random", as_="even"))


def test_a_first_main_beside_a_stale_selection_names_the_line_that_draws_that_one_again(
    answers: made_answers.Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    study = answers.study
    fs.predict(study, remove=["model-2"])
    fs.select(study, goal="order", budget=12)
    made = Path(study).parent
    table = next(made.rglob("model-0.csv"))
    fs.predict(study, {"again": str(table)})
    again = f"faultscape select {study} --goal order --budget 12 --replace"
    note = f"selection order is stale (models were added since): `{again}` draws it again"
    capsys.readouterr()
    assert main(["select", study]) == 0
    assert note in capsys.readouterr().out
    assert main(["select", study]) == 0  # main is not new any more
    assert note not in capsys.readouterr().out
