"""A study that answers both questions: which model is better (images drawn for all models), and where models
fail (duels). `run` ranks and reports both, the first question first, and says what is left to do.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.cli import main


@pytest.fixture
def both(tmp_path: Path) -> str:
    """A study with duels, of which some images are labelled, and with draws, of which all are."""
    corpus = made.corpus(tmp_path / "corpus", images=16, models=3)
    study = str(tmp_path / "study")
    fs.run(study, str(corpus.photos), corpus.models, classes=str(corpus.classes), engine="local")
    drawn = fs.select(study, goal="order", budget=12, engine="local")
    masks = tmp_path / "masks"
    for image in drawn.images:
        target = masks / f"{image}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((corpus.truth / f"{image}.png").read_bytes())
    fs.label.import_(study, str(masks))
    return study


def test_run_ranks_and_reports_every_labelled_selection_which_is_better_first(both: str) -> None:
    ran = fs.run(both, engine="local")
    said = [line for line in ran.done if line.startswith(("order", "main", both))]
    assert said[0].startswith("order (which is better): ")
    assert said[1].startswith("main (where they fail): ")
    assert said[2].startswith(f"{both}/report-order.html: 12 chosen images")
    assert said[3].startswith(f"{both}/report.html: ")
    assert [words for verb, _, words in ran.status.stages if verb == "report"] == [
        "report-order.html",
        "report.html",
    ]
    assert all(state == "done" for verb, state, _ in ran.status.stages if verb in ("rank", "report"))


def test_the_page_of_the_duels_says_on_top_which_page_tells_which_is_better(both: str) -> None:
    fs.run(both, engine="local")
    top = (Path(both) / "report.html").read_text().partition("</header>")[0]
    assert "Which model is better is answered by selection order" in top
    assert '<a href="report-order.html">' in top
    other = (Path(both) / "report-order.html").read_text().partition("</header>")[0]
    assert "Which model is better is answered" not in other


def test_what_run_ranked_and_reported_it_leaves_as_it_is(both: str) -> None:
    fs.run(both, engine="local")
    before = made.bytes_under(Path(both))
    assert fs.run(both, engine="local").done == ()
    assert made.bytes_under(Path(both)) == before


def test_the_next_lines_rank_and_report_which_is_better_first(both: str) -> None:
    lines = list[str]()
    while not (line := fs.status(both).next).startswith("faultscape label"):
        assert main([*shlex.split(line)[1:]]) == 0
        lines.append(line.removeprefix("faultscape ").replace(both, "STUDY"))
    assert lines == [
        "rank STUDY --selection order",
        "rank STUDY",
        "report STUDY --selection order",
        "report STUDY",
    ]
