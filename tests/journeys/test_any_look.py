"""`rank --anytime`: labels that one may look at as often as one likes, and stop when the verdict says so."""

import pytest

import faultscape as fs
import made_answers
from faultscape.cli import main
from faultscape.reading.study import Study
from faultscape.verbs.rank.live import standings_now
from refusals import refused_line


def test_labels_are_asked_for_until_one_can_stop(answers: made_answers.Answers) -> None:
    drawn = list(fs.select(answers.study, selector="random", budget=58).images)
    made_answers.import_labels(answers, drawn[:12])
    early = fs.rank(answers.study, looks=fs.options.Looks(anytime=True))
    assert next(iter(early.rankings)) == "anytime"
    assert not {"lure", "margins", "prediction_powered", "reuse_margins"} & {*early.rankings}
    assert not early.verdict.decided
    assert "more labels" in " ".join(early.verdict.lines)
    page = standings_now(Study(answers.study), "random", "labels")
    assert page.rankings["anytime"].scores == early.rankings["anytime"].scores

    made_answers.import_labels(answers, drawn)
    late = fs.rank(answers.study, looks=fs.options.Looks(anytime=True), population="pool")
    assert late.rankings["anytime"].best_set == ["model-0"]
    later = late.to_come["anytime"]
    assert later.speaks_of == "future"
    assert later.gaps[0].interval[1] > late.rankings["anytime"].gaps[0].interval[1]
    assert late.verdict.headline == "Use model-0"
    assert late.verdict.lines[1].endswith("You can stop: this holds however often you looked.")


def test_labels_are_not_asked_for_where_models_hardly_differ(answers: made_answers.Answers) -> None:
    made_answers.import_labels(answers, list(fs.select(answers.study, selector="random", budget=30).images))
    assert fs.rank(
        answers.study, looks=fs.options.Looks(anytime=True, indifference=1)
    ).verdict.headline.startswith("The labels do")
    found = fs.rank(answers.study, looks=fs.options.Looks(anytime=True, indifference=99)).verdict
    assert found.headline.startswith("Not worth going on: model-0")
    assert found.headline.endswith("differ by less than 99 points of accuracy")
    assert not found.decided
    assert not found.next.startswith("faultscape select")


def test_draws_of_some_images_more_often_wait_for_fifty_labels(answers: made_answers.Answers) -> None:
    made_answers.import_labels(answers, list(fs.select(answers.study, goal="order", budget=20).images))
    found = fs.rank(answers.study, looks=fs.options.Looks(anytime=True))
    assert (
        found.rankings["anytime"].unusable
        == "these draws need 50 labels in the order drawn, and there are 20"
    )
    said = "Looked at any time, nothing is claimed yet: these draws need 50 labels in the order drawn, and there are 20."
    assert said in found.verdict.lines


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (["--selector", "entropy", "--budget", "9"], "entropy does not draw at random"),
        ([], "is of duels, which describe the chosen images alone"),
    ],
)
def test_what_was_not_drawn_is_read_once(answers: made_answers.Answers, how: list[str], why: str) -> None:
    main(["select", answers.study, *how])
    made_answers.import_labels(answers)
    assert why in refused_line("rank", answers.study, "--anytime")


def test_options_that_say_nothing_alone_are_refused(answers: made_answers.Answers) -> None:
    assert "is for --anytime" in refused_line("rank", answers.study, "--indifference", "1")
    wrong = refused_line("rank", answers.study, "--anytime", "--indifference", "0")
    assert "is a number of points between 0 and 100" in wrong
