"""A study that answers both questions: which model is better (images drawn for all models), and where models
fail (duels). `run` ranks and reports both, the first question first, and says what is left to do: also where
too few images are chosen or labelled to rank anything.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.cli import main
from golden import STUDY, Goldens, copied


def _both(folder: Path) -> made.Corpus:
    corpus = made.corpus(folder / "corpus", images=16, models=3)
    study = str(folder / STUDY)
    images, classes = str(corpus.photos), str(corpus.classes)
    fs.run(study, images, corpus.models, classes=classes, goal="failures", engine="local")
    drawn = fs.select(study, goal="order", budget=12, engine="local")
    masks = folder / "masks"
    for image in drawn.images:
        target = masks / f"{image}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((corpus.truth / f"{image}.png").read_bytes())
    fs.label.import_(study, str(masks))
    return corpus


@pytest.fixture
def both(tmp_path: Path) -> str:
    """A study with duels, of which some images are labelled, and with draws, of which all are."""
    return copied("both questions", _both, tmp_path / "study")[0]


@pytest.mark.slow
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
    # the verdict is the study's, and what is next holds after all is done
    headline = ran.status.verdict.headline
    assert headline
    assert repr(ran).count(headline) == 1
    assert repr(ran).count("next: ") == 1


@pytest.mark.slow
def test_the_page_of_the_duels_says_on_top_which_page_tells_which_is_better(both: str) -> None:
    fs.run(both, engine="local")
    top = (Path(both) / "report.html").read_text().partition("</header>")[0]
    assert "Which model is better is answered by selection order" in top
    assert '<a href="report-order.html">' in top
    other = (Path(both) / "report-order.html").read_text().partition("</header>")[0]
    assert "Which model is better is answered" not in other


@pytest.mark.slow
def test_what_run_ranked_and_reported_it_leaves_as_it_is(both: str) -> None:
    fs.run(both, engine="local")
    before = made.bytes_under(Path(both))
    assert fs.run(both, engine="local").done == ()
    assert made.bytes_under(Path(both)) == before


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_is_asked_after_the_draws_are_ranked_says_what_it_is_for(both: str) -> None:
    fs.run(both, engine="local")
    state = fs.status(both)
    assert state.next == f"faultscape label export {both} to-label/ --format png"
    assert state.about.endswith(
        "of main shows where models fail; which is better is answered by selection order"
    )
    last = repr(state).partition("\nnext: ")[2].split("\n")
    assert " ".join(line.strip() for line in last[1:-1]) == state.about


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str, list[str]]:
    """A study of two models, whose duels choose few images, its masks, and what `run` said."""
    corpus = made.corpus(tmp_path / "corpus", images=24, models=2)
    study = str(tmp_path / "study")
    images, classes = str(corpus.photos), str(corpus.classes)
    ran = fs.run(study, images, corpus.models, classes=classes, goal="failures", engine="local")
    return study, str(corpus.truth), list(ran.done)


def test_where_duels_choose_too_few_to_rank_select_says_so_and_what_gives_more(
    two: tuple[str, str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    study, _, done = two
    capsys.readouterr()
    chosen = len(fs.select(study, as_="few", sampling=fs.options.Sampling(spares=0), engine="local").images)
    few = f"note: {chosen} images are fewer than the 10 that a ranking needs; "
    assert chosen < 10
    assert f"{few}`select --goal order --budget 20` draws more" in capsys.readouterr().out
    deeper = fs.select(study, as_="other", sampling=fs.options.Sampling(spares=12), engine="local")
    said = capsys.readouterr().out
    assert f"{few}--per-class " in said
    number, about = map(int, re.findall(r"--per-class (\d+) gives about (\d+)", said)[0])
    assert about >= 10 > len(deeper.images)
    assert len(fs.select(study, as_="deep", per_class=number, engine="local").images) == about
    assert "fewer than" not in capsys.readouterr().out
    assert done[-1] == f"these show where models fail; which is better: faultscape run {study} --goal order"


@pytest.mark.slow
def test_where_too_few_are_labelled_to_rank_the_next_line_adds_images(
    two: tuple[str, str, list[str]], tmp_path: Path
) -> None:
    study, truth, _ = two
    few = fs.select(study).images
    masks = tmp_path / "masks"
    for image in few:
        target = masks / f"{image}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((Path(truth) / f"{image}.png").read_bytes())
    fs.label.import_(study, str(masks))
    state = fs.run(study, engine="local").status
    assert (state.next, state.instead) == ("", "")
    assert state.more == f"faultscape select {study} --goal order --budget 20"
    assert f"\nnext: {state.more}  # at most 30 hours of labelling\n" in repr(state)
    assert (
        f"{len(few)} labelled images cannot rank the models, at least 10 can; this draws more" in state.about
    )
    assert "all is done" not in repr(state)
    assert "or:" not in repr(state)
    assert main(shlex.split(state.more)[1:]) == 0
    fs.label.import_(study, truth)
    state = fs.run(study, engine="local").status
    assert (state.next, state.more) == ("", "")
    assert repr(state).endswith("\nnext: nothing; all is done")


@pytest.mark.slow
def test_with_every_answer_given_nothing_else_is_offered(both: str) -> None:
    fs.label.import_(both, str(Goldens.made("both questions", _both)[1].truth))
    state = fs.run(both, engine="local").status
    assert repr(state).endswith("\nnext: nothing; all is done")


@pytest.mark.slow
def test_the_first_hour_says_nothing_of_duels_slots_spares_or_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=16, models=3)
    study, models = str(tmp_path / "study"), [f"{name}={path}" for name, path in corpus.models.items()]
    images = [str(corpus.photos), *models, "--classes", str(corpus.classes), "--engine", "local"]
    lines = (
        ["run", study, *images],
        ["run", study, "--goal", "failures", "--engine", "local"],
        ["label", "export", study, str(tmp_path / "to-label"), "--selection", "order"],
        ["label", "import", study, str(corpus.truth)],
        ["run", study, "--engine", "local"],
        ["status", study],
    )
    for line in lines:
        assert main(line) == 0, line
    said = capsys.readouterr().out
    assert "main: " in said
    assert not re.findall(r"\b(?:duel|slot|spare|cell)s?\b", said)
