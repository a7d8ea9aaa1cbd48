"""What a plan prints and recommends: tables that fit, and one line that can be pasted, at every stage of the
labels.
"""

from __future__ import annotations

import copy
import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import FaultscapeError, OptionError
from faultscape.ranking.catalogue import SELECTION
from faultscape.selection.catalogue import GOALS
from faultscape.standings import is_open
from faultscape.verbs.plan import LabelPlan, document, words
from faultscape.verbs.plan.advice import Drawn, advice, further, rounded
from faultscape.verbs.plan.forecast import ASKED
from refusals import refused


@pytest.fixture
def answers(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path / "a b", images=200, errors=(0.1, 0.2, 0.5))


def line(found: LabelPlan) -> str:
    """The line that is recommended, as a person would paste it."""
    (own,) = [text.strip() for text in repr(found).splitlines() if text.startswith("  faultscape ")]
    return own


def numbers(**labels: int) -> dict[str, dict[str, int]]:
    return {name.replace("_", "-"): {"labels": number} for name, number in labels.items()}


def advised(rows: dict, pools: dict[str, int], drawn: Drawn, goal: str = "best") -> dict | None:
    return advice({"best": {}, "order": {}, goal: rows}, pools, drawn, goal)


POOLS = {"random": 200, "disputed": 90, "vma": 90, "mad": 90, "information": 90}
RECOMMENDED = Drawn("order", "information", goal="order")


@pytest.mark.slow
def test_the_recommended_line_can_be_pasted_from_the_start_to_the_ranking(
    answers: made_answers.Answers,
) -> None:
    study, quoted = answers.study, shlex.quote(answers.study)
    start = fs.plan(study)
    need = start.questions["order"]["information"]["labels"]
    assert line(start) == f"faultscape select {quoted} {SELECTION} --budget {rounded(need, 200)}"
    assert main(shlex.split(line(start))[1:]) == 0
    drawn = fs.plan(study)
    assert (
        line(drawn) == f"faultscape label export {quoted} questions-order.csv --format csv --selection order"
    )
    assert f"{rounded(need, 200)} images are drawn and 0 of them are labelled" in " ".join(
        repr(drawn).split()
    )
    made_answers.import_labels(answers)
    for _ in range(9):  # every time the line is done, the next one comes, until there is nothing to draw
        known = fs.plan(study)
        assert known.labels["selection"] == "order"
        if known.recommended["verb"] == "rank":
            break
        assert line(known).startswith(f"faultscape select {quoted} {SELECTION} --budget ")
        assert main(shlex.split(line(known))[1:]) == 0
    assert line(known) == f"faultscape rank {quoted} --selection order"
    assert main(shlex.split(line(known))[1:]) == 0
    assert known.labels["used"] >= known.questions["order"]["information"]["labels"]


def test_what_python_returns_names_the_study_and_the_file_does_not(answers: made_answers.Answers) -> None:
    found = fs.plan(answers.study)
    assert answers.study in repr(found)
    written = (Path(answers.study) / "plan.json").read_text()
    assert answers.study not in written
    advised = json.loads(written)["recommended"]
    assert {key: advised[key] for key in ("verb", "selection", "selector", "goal")} == {
        "verb": "select",
        "selection": "order",
        "selector": "information",
        "goal": "order",
    }


@pytest.mark.slow
def test_a_selection_that_was_drawn_in_another_way_keeps_its_name_and_its_temperature(
    answers: made_answers.Answers,
) -> None:
    fs.select(
        answers.study, selector="mad", sampling=fs.options.Sampling(temperature=0.5), budget=5, as_="order"
    )
    assert f" --as order-2 {SELECTION} --budget " in line(fs.plan(answers.study))  # order is another thing
    fs.select(
        answers.study, as_="cold", selector="mad", sampling=fs.options.Sampling(temperature=0.5), budget=5
    )
    made_answers.import_labels(answers)
    cold = fs.plan(answers.study, selection="cold")
    assert "mad, temperature 0.5" in repr(cold)
    assert "mad, temperature 1" not in repr(cold)
    assert line(cold).startswith(
        f"faultscape select {shlex.quote(answers.study)} --as cold --selector mad --temperature 0.5 --budget "
    )
    assert main(shlex.split(line(cold))[1:]) == 0


@pytest.mark.slow
def test_few_labels_are_said_to_be_few(answers: made_answers.Answers) -> None:
    slots = fs.select(answers.study, selector="random", budget=60)
    made_answers.import_labels(answers, list(slots.images[:1]))
    one = fs.plan(answers.study)
    assert one.labels["used"] == 0
    assert one.notes == (
        ("labels of random are not used: fewer than two images have a label that scores every model"),
    )
    made_answers.import_labels(answers, list(slots.images[:10]))
    few = fs.plan(answers.study)
    assert few.labels["used"] == 10
    assert any(note.startswith("10 labels are few") for note in few.notes)
    made_answers.import_labels(answers, list(slots.images))
    assert fs.plan(answers.study).notes == ()


@pytest.mark.slow
def test_two_labels_change_little_of_what_is_named(answers: made_answers.Answers) -> None:
    slots = fs.select(answers.study, selector="random", budget=60)
    start = fs.plan(answers.study).questions["best_proved"]["random"]["labels"]
    made_answers.import_labels(answers, list(slots.images[:2]))
    assert fs.plan(answers.study).questions["best_proved"]["random"]["labels"] == pytest.approx(
        start, rel=0.25
    )


@pytest.mark.parametrize("labels", [None, 30, 200])
def test_everything_fits_80_columns_and_nothing_exceeds_what_can_be_drawn(
    answers: made_answers.Answers, labels: int | None
) -> None:
    if labels is not None:
        fs.select(answers.study, selector="disputed", budget=labels)  # more than there are: all are drawn
        made_answers.import_labels(answers)
    found = fs.plan(answers.study, wage=25, within=0.01)
    disputed = int((np.ptp(np.stack(list(answers.labels.values())), axis=0) > 0).sum())
    for rows in found.questions.values():
        for selector, row in rows.items():
            if row["labels"] is not None:
                assert (
                    row["low"] <= row["labels"] <= row["high"] <= (200 if selector == "random" else disputed)
                )
    assert (found.recommended["budget"] or 0) <= disputed
    wide = [
        text for text in repr(found).splitlines() if len(text) > 80 and not text.startswith("  faultscape ")
    ]
    assert wide == []


def test_numbers_stand_under_their_headings(answers: made_answers.Answers) -> None:
    lines = repr(fs.plan(answers.study, wage=25)).splitlines()
    at = lines.index("Which model is best, with 95 % confidence") + 1
    assert lines[at].split() == ["drawn", "by", "labels", "range", "work", "money", "significant", "with"]
    ends = {lines[at].index(word) + len(word) for word in ("labels", "range", "money", "with")}
    for text in lines[at + 1 : at + 6]:
        assert len(text) == len(lines[at])
        assert all(text[end - 1] != " " and text[end : end + 1] in {" ", ""} for end in ends)
    assert any(text.split()[:3] == ["images", "a", "pair"] for text in lines)
    assert "a cell" not in "\n".join(lines)


def test_of_two_models_the_order_is_not_told_twice(tmp_path: Path) -> None:
    found = fs.plan(made_answers.study(tmp_path, errors=(0.1, 0.4)).study)
    assert "The order of all models, with 95 % confidence\n  the same numbers\n" in repr(found)


@pytest.mark.slow
def test_spares_are_no_places_of_duels(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path, images=16, models=3)
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    slots = fs.select(study, per_class=2, sampling=fs.options.Sampling(spares=3), engine="local")
    assert max(row.place for row in slots.rows) > 2
    rows = fs.plan(study, engine="local").duels
    assert [row["per_cell"] for row in rows] == [1, 2]
    assert rows[-1]["images"] == len(slots.images)
    assert "images a cell" in repr(fs.plan(study, engine="local"))


@pytest.mark.slow
def test_a_truth_of_another_name_stands_in_the_line(answers: made_answers.Answers) -> None:
    fs.select(answers.study, selector="expected-loss", budget=5)
    made_answers.import_labels(answers)
    fs.label.import_(answers.study, str(Path(answers.study).parent / "labels.csv"), truth="mine")
    assert " --selector expected-loss --truth mine --budget " in line(fs.plan(answers.study, truth="mine"))


@pytest.mark.slow
def test_labels_are_asked_for_under_the_truth_that_the_plan_was_made_by(
    answers: made_answers.Answers,
) -> None:
    drawn = fs.select(answers.study, goal="order", budget=100)
    made_answers.import_labels(answers, list(drawn.images)[:10])
    fs.label.import_(answers.study, str(Path(answers.study).parent / "labels.csv"), truth="gt")
    fs.label.remove(answers.study, all_=True, truth="labels")
    told = line(fs.plan(answers.study, truth="gt"))
    assert (
        told
        == f"faultscape label export {shlex.quote(answers.study)} questions-order.csv --format csv --selection order"
        " --truth gt"
    )


@pytest.mark.slow
def test_numbers_that_were_given_stand_whole_in_the_lines_that_take_them_again(
    answers: made_answers.Answers,
) -> None:
    found = fs.plan(answers.study, cost={"question": 1234.5678, "mask": 60})
    assert found.provenance["arguments"] == {"cost": "question=1234.5678,mask=60"}
    assert found.costs == fs.plan(answers.study, cost=found.provenance["arguments"]["cost"]).costs
    assert found.costs["question"] == 1234.5678
    fs.select(
        answers.study,
        as_="cold",
        selector="mad",
        sampling=fs.options.Sampling(temperature=0.12345678),
        budget=5,
    )
    made_answers.import_labels(answers)
    cold = line(fs.plan(answers.study, selection="cold"))
    assert " --temperature 0.12345678 " in cold
    assert main(shlex.split(cold)[1:]) == 0


@pytest.mark.slow
def test_a_selection_that_is_stale_is_named_with_the_reason(answers: made_answers.Answers) -> None:
    fs.select(answers.study, selector="random", budget=30)
    made_answers.import_labels(answers)
    fs.predict(answers.study, {"late": answers.tables["model-0"]})
    assert any(
        note == "labels of random are not used: the study has other models or images now"
        for note in fs.plan(answers.study).notes
    )
    with refused(FaultscapeError, "the study has other models or images now; draw one with"):
        fs.plan(answers.study, selection="random")


@pytest.mark.slow
def test_the_budget_is_of_the_question_that_is_asked(answers: made_answers.Answers) -> None:
    order, best = fs.plan(answers.study), fs.plan(answers.study, goal="best")
    needed = {name: order.questions[name][GOALS[name]]["labels"] for name in ("order", "best")}
    assert rounded(needed["order"], 200) != rounded(needed["best"], 200)
    for found, name in ((order, "order"), (best, "best")):
        assert (found.recommended["question"], found.recommended["budget"]) == (
            name,
            rounded(needed[name], 200),
        )
    assert (
        "that the order of all is expected to need"
        in advised(numbers(mad=95), {"mad": 80}, Drawn("mad", "mad", 1.0, images=80, labels=80), "order")[
            "why"
        ]
    )
    slots = fs.select(answers.study, goal="best")
    made_answers.import_labels(answers, list(slots.images))
    found = fs.plan(answers.study)
    assert found.recommended["question"] == "best"  # what was drawn for a goal goes on for it
    assert not any("--goal" in note for note in (*found.notes, *fs.plan(answers.study, goal="best").notes))
    said = (
        "--goal order has no effect on the draws: selection 'best' has labels and is continued"
        " (drawn for the best model); `faultscape select STUDY --goal order` draws for it"
    )
    other = fs.plan(answers.study, goal="order")
    assert said in other.notes
    # draws stay, the number is asked for
    assert (other.recommended["question"], other.recommended["goal"]) == ("order", "best")
    made_answers.import_labels(answers, list(fs.select(answers.study, goal="order", budget=8).images))
    told = fs.plan(answers.study, goal="order")  # of two selections that have labels the one for this goal
    assert (told.labels["selection"], told.recommended["question"]) == ("order", "order")
    assert said not in told.notes
    more = (
        "the labels are those of selection 'order', drawn for --goal order; 'best' has more (10): --selection"
        " best plans from those"
    )
    assert more in told.notes
    assert more not in fs.plan(answers.study).notes
    assert fs.plan(answers.study).labels["selection"] == "best"  # without a goal the one with more


def test_budgets_are_round_and_never_above_the_pool() -> None:
    for labels in range(2, 3000):
        budget = rounded(labels, 10_000)
        assert labels <= budget <= max(1.5 * labels, labels + 9)
        assert budget % 10 == 0
        assert rounded(labels, labels) == labels


def test_a_budget_that_is_all_there_is_says_so() -> None:
    found = advised(numbers(information=85), POOLS, RECOMMENDED)
    assert (found["budget"], found["why"].partition(". ")[0]) == (
        90,
        "90 images are all that can be drawn (near-duplicates count once, and only images on which models differ)",
    )
    random = advised(numbers(random=200), POOLS, Drawn("random", "random"))
    assert random["why"].startswith("200 images are all that can be drawn (near-duplicates count once). ")
    assert "all that can be drawn" not in advised(numbers(information=75), POOLS, RECOMMENDED)["why"]


def test_costs_of_work_that_there_is_none_of_are_told(answers: made_answers.Answers) -> None:
    assert any(
        note.startswith("--cost mask has no effect on classifiers")
        for note in fs.plan(answers.study, cost={"mask": 60}).notes
    )
    assert not any("--cost" in note for note in fs.plan(answers.study, cost="question=2").notes)
    with refused(OptionError, "--cost question must be a number of seconds, 0 or more; got '2'"):
        fs.plan(answers.study, cost={"question": "2"})


def test_another_selector_is_named_only_where_it_needs_half() -> None:
    found = advised(numbers(random=60, disputed=50, vma=31, information=62), POOLS, RECOMMENDED)
    assert "By the table, vma needs far fewer labels, 31 instead of 62" in found["instead"]
    assert "--selector vma --budget 40" in found["instead"]
    assert (found["selector"], found["goal"], found["budget"]) == ("information", "order", 70)
    assert (
        advised(numbers(random=60, disputed=50, vma=32, information=62), POOLS, RECOMMENDED)["instead"]
        is None
    )


def test_labels_that_are_there_count_before_another_selector_is_named() -> None:
    drawn = Drawn("random", "random", None, images=40, labels=40)
    assert advised(numbers(random=100, mad=31), POOLS, drawn)["instead"] is None  # 60 more, or 31
    found = advised(numbers(random=100, mad=30), POOLS, drawn)
    assert "needs far fewer labels, 30 instead of 60 more" in found["instead"]
    assert "--selector mad --temperature 1 --budget 30" in found["instead"]


def test_discarded_images_are_drawn_again_and_nothing_is_asked_that_cannot_be_answered() -> None:
    best = numbers(mad=62)
    assert advised(best, POOLS, Drawn("mad", "mad", 1.0, images=60, lost=5, labels=55))["budget"] == 70
    assert advised(best, POOLS, Drawn("mad", "mad", 1.0, images=70, lost=9, labels=61))["budget"] == 80
    # the pool is used up
    assert advised(best, POOLS, Drawn("mad", "mad", 1.0, images=90, lost=40, labels=50))["verb"] == "rank"
    assert advised(best, POOLS, Drawn("mad", "mad", 1.0, images=90, lost=40, labels=49))["verb"] == "label"
    assert advised({"mad": {"labels": None}}, POOLS, RECOMMENDED) is None
    assert advised(numbers(random=3), POOLS, RECOMMENDED) is None


def test_when_all_that_can_be_drawn_is_labelled_nothing_more_is_promised() -> None:
    found = advised(numbers(mad=95), {"mad": 100}, Drawn("mad", "mad", 1.0, images=100, lost=10, labels=90))
    assert found["verb"] == "rank"
    assert found["why"].startswith("Every image that mad can draw is labelled: 90 of the 95 or so")
    enough = advised(numbers(mad=95), {"mad": 100}, Drawn("mad", "mad", 1.0, images=100, lost=4, labels=96))
    assert enough["why"].startswith("mad has 96 labels, as many as the best model is expected to need")


def spread(row: dict, low: int, high: int) -> dict:
    return (
        row | {"low": low, "high": high, "predictable": high <= 10 * low}
        if row["labels"] is not None
        else row
    )


def test_a_range_of_more_than_a_factor_of_ten_is_no_number(answers: made_answers.Answers) -> None:
    found = fs.plan(answers.study)
    asked = {
        name: {one: spread(row, 2, 183) if one == "random" else row for one, row in rows.items()}
        if name != "scores"
        else rows
        for name, rows in found.questions.items()
    }
    text = " ".join(repr(replace(found, questions=asked)).split())
    assert "random ? 2 to 183" in text
    assert (
        text.count("?: cannot be predicted before any label: the range spans more than a factor of 10") == 2
    )
    later = replace(found, questions=asked, labels=found.labels | {"used": 30, "selection": "random"})
    assert "?: cannot be predicted from 30 labels: the range spans" in " ".join(repr(later).split())
    assert "?: cannot" not in repr(found)  # 26 to 198
    for rows in found.questions.values():
        for row in rows.values():
            assert row["predictable"] == (None if row["labels"] is None else row["high"] <= 10 * row["low"])


def test_where_nothing_can_be_predicted_a_line_says_so_and_no_table(answers: made_answers.Answers) -> None:
    found = fs.plan(answers.study)
    asked = {
        name: {
            one: spread(row, 2, 183 - k) if not name.endswith("_proved") else row
            for k, (one, row) in enumerate(rows.items())
        }
        if name != "scores"
        else rows
        for name, rows in found.questions.items()
    }
    told = repr(replace(found, questions=asked))
    assert "?" not in told
    text = " ".join(told.split())
    line = (
        "How many labels that takes cannot be predicted before any label: 2 to 183, however images are drawn."
    )
    assert text.count(line) == 2
    assert text.count("drawn by") == 1  # the table of scores


@pytest.mark.parametrize(
    ("labels", "verb", "budget"), [(0, "select", 50), (40, "select", 70), (70, "rank", None)]
)
def test_what_cannot_be_predicted_is_asked_for_fifty_at_a_time(
    labels: int, verb: str, budget: int | None
) -> None:
    row = {"labels": 30, "low": 2, "high": 70, "predictable": False}
    found = advised({"mad": row}, {"mad": 90}, Drawn("mad", "mad", 1.0, images=labels, labels=labels))
    assert (found["verb"], found["budget"]) == (verb, budget)
    assert "(2 to 70)" in found["why"]
    assert ("cannot be predicted" in found["why"]) == (verb == "select")
    known = advised({"mad": row | {"low": 7, "predictable": True}}, {"mad": 90}, Drawn("mad", "mad", 1.0))
    assert known["budget"] == 30


def test_a_selector_that_needs_half_as_many_labels_is_named_for_every_question(
    answers: made_answers.Answers,
) -> None:
    found = fs.plan(answers.study)
    rows = found.questions["best"]  # of the order, which is asked for, the recommendation says it
    half = rows["information"] | {"labels": rows["information"]["labels"] // 2}
    text = " ".join(repr(replace(found, questions=found.questions | {"best": rows | {"vma": half}})).split())
    more = (
        f"vma needs at most half as many labels as information: {half['labels']} instead of"
        f" {rows['information']['labels']}"
    )
    assert more in text
    assert "half as many labels" not in repr(found)
    assert words.fewer(numbers(mad=11, vma=6), "mad") == ""


@pytest.mark.slow
def test_groups_of_images_are_counted(answers: made_answers.Answers) -> None:
    assert "Numbers assume independent images" in " ".join(repr(fs.plan(answers.study)).split())
    assert fs.plan(answers.study).notes == ()
    fs.collect(
        answers.study, grouping=fs.options.Grouping(group={image: image[:6] for image in answers.images})
    )
    (note,) = fs.plan(answers.study).notes
    assert note.startswith(
        "the images form 4 groups: for future data (rank --population future) you need more labels"
    )
    assert note.endswith("fewer than 6 give no interval for it")


@pytest.mark.parametrize(
    ("question", "budget", "why"),
    [
        ("order", 80, "rank used all 30 labels of random and could not settle"),
        (
            "best",
            60,
            "all 30 labels of random are ranked, and do not tell which model is best",
        ),  # as `status`
    ],
)
def test_rank_is_not_recommended_again_while_it_leaves_the_question_open(
    tmp_path: Path, question: str, budget: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = made_answers.study(tmp_path, images=200, errors=(0.3, 0.3, 0.31))
    chosen = fs.select(answers.study, selector="random", budget=30).images
    made_answers.import_labels(answers, list(chosen))
    forecast = {"labels": 20, "low": 15, "high": 25, "predictable": True, "units": 20, "why": None}
    enough = {name: {s: dict(forecast) for s in POOLS} for name in ASKED}
    monkeypatch.setattr(document, "label_numbers", lambda *_: (copy.deepcopy(enough), []))
    before = fs.plan(answers.study, selection="random", goal=question)
    assert before.recommended["verb"] == "rank"
    standings = fs.rank(answers.study, selection="random")
    assert is_open(standings, question)
    assert any(
        "standings are out of date, settled a question, or left one open" in words
        for name, _, words in fs.status(answers.study).stages
        if name == "plan"
    )
    found = fs.plan(answers.study, selection="random", goal=question)
    assert (found.recommended["verb"], found.recommended["budget"]) == ("select", budget)
    assert why in found.recommended["why"]
    assert line(found).startswith("faultscape select ")


def test_where_nothing_is_left_to_draw_the_advice_stays() -> None:
    found = {"verb": "rank", "question": "order", "budget": None}
    assert further(found, 90, Drawn("random", "random", images=90, labels=90)) is found
    assert further(found, 200, Drawn("random", "random", images=90, labels=90))["budget"] == 150
