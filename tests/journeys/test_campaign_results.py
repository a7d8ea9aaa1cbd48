"""What the pages of people and of results say of a campaign: only what counts, and no more than is known."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.errors import RankingError
from faultscape.labelling.answers import majority
from faultscape.labelling.people.estimated_accuracy import COMMON, estimated_accuracy
from faultscape.nouns import PairSlot
from faultscape.reading.label_counts import questions as asked_questions
from faultscape.reading.study import Study
from faultscape.study.answers.choices import Choice, Choices
from faultscape.study.answers.database import Database
from faultscape.study.answers.labels import Answers
from faultscape.study.tables.corpus import read_corpus

pytest.importorskip("fastapi")

from faultscape.reporting.template import template
from faultscape.standings import FEW, Standings
from faultscape.verbs.options import LabelServeOptions
from faultscape.verbs.rank.live import standings_now
from faultscape.verbs.serve import result_facts
from faultscape.verbs.serve.asked_items import ChoiceItem, choice_items
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.options import CampaignRules
from faultscape.verbs.serve.people_facts import people_rows
from faultscape.verbs.serve.result_facts import ResultFacts, results

DUELS = "main"
MODELS = ("model-0", "model-1", "model-2")


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three models, and a selection of duels with spares."""
    folder = tmp_path_factory.mktemp("results")
    corpus = made.corpus(folder / "corpus", images=60, models=3)
    study = made.compared_study(corpus, folder / "study", shard_size=64)
    fs.select(study, per_class=6)
    return study


@pytest.fixture
def study(maps: str, tmp_path: Path) -> Path:
    shutil.copytree(maps, tmp_path / "study")
    return tmp_path / "study"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Three classifiers, and a selection of pairs about whose classes people are asked."""
    made_study = made_answers.study(tmp_path / "made", images=60)
    fs.select(made_study.study, top=8)
    return Path(made_study.study)


def pairs(study: Path) -> tuple[PairSlot, ...]:
    return Study(study).selection(DUELS).now.pairs


@contextmanager
def campaign(study: Path, **rules: Any) -> Iterator[Campaign]:
    with closing(Database(study, stay_open=True)) as database:
        options = LabelServeOptions(study=str(study), campaign=CampaignRules(**rules))
        yield Campaign(Study(study, database=database), options)


def asked(study: Path) -> list[ChoiceItem]:
    return choice_items(Study(study).selection(DUELS).now)


def choose(study: Path, item: ChoiceItem, said: str, *people: str) -> None:
    Choices(study).add_all([Choice(item.image, item.first, item.second, said, who) for who in people], "test")


def found(study: Path) -> ResultFacts:
    with campaign(study) as under_way:
        return results(under_way.study(), under_way)


def not_ranked(*_: object) -> Standings:
    raise RankingError("not ranked here")


def shown(study: Path) -> str:
    """What the page of results shows of it."""
    return template("app/results_part.html.jinja").render(facts=found(study), task="choices")


@pytest.mark.slow
def test_choices_count_as_rank_counts_them(study: Path) -> None:
    """Not of images that were discarded, nor between models that the selection does not compare there; a skip
    is none.
    """
    first_of = {item.image: item for item in reversed(asked(study))}
    kept, thrown, skipped = list(first_of.values())[:3]
    beside = next(image.id for image in read_corpus(study) if image.id not in first_of)
    choose(study, kept, "first", "ann", "ben")
    choose(study, thrown, "first", "ann")
    choose(study, thrown, "second", "ben")
    choose(study, skipped, "skip", "ann", "cyd")
    choose(study, ChoiceItem("", beside, kept.first, kept.second), "first", "dan")
    here = {(item.first, item.second) for item in asked(study) if item.image == kept.image}
    for pair in set(combinations(MODELS, 2)) - here:
        choose(study, ChoiceItem("", kept.image, *pair), "first", "eve")
    before = found(study)
    assert (before.answers, before.people) == (4, 2)
    assert [image for image, *_ in before.disagreeing] == [thrown.image]
    Answers(study).discard([(thrown.image, "blurred")], "test")
    after = found(study)
    assert (after.answers, after.people) == (2, 2)
    assert after.disagreeing == []
    assert [row[:2] for row in after.forecasts.rows] == [(kept.first, kept.second)]
    assert standings_now(Study(study), DUELS, "labels").labels["by_choice"] == 1


def test_before_anybody_answers_that_is_said_and_nothing_seems_wrong(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_facts, "standings_now", not_ranked)
    assert "No answer yet." in shown(study)
    assert "remark" not in shown(study)
    choose(study, asked(study)[0], "first", "ann")
    assert '<p class="remark">not ranked here</p>' in shown(study)
    assert "No answer yet." not in shown(study)


def test_answers_count_that_the_selection_asks_for(questions: Path) -> None:
    (image, class_), (other, another) = [(row.image, row.label_a) for row in pairs(questions)[:2]]
    beside = next(
        one.id for one in read_corpus(questions) if one.id not in {row.image for row in pairs(questions)}
    )
    said = [
        (image, class_, "ann", "no"),
        (image, class_, "ann", "yes"),
        (image, class_, "ben", "yes"),
        (beside, class_, "cyd", "yes"),
    ]
    Answers(questions).answer([*said, (other, another, "dan", "no")], "test")
    assert (found(questions).answers, found(questions).people) == (3, 3)
    Answers(questions).discard([(other, "blurred")], "test")
    assert (found(questions).answers, found(questions).people) == (2, 2)


def test_people_who_answer_questions_have_their_time_and_their_training(
    questions: Path, tmp_path: Path
) -> None:
    training = tmp_path / "training.csv"
    images = [image.id for image in read_corpus(questions)][:2]
    training.write_text(f"image,class,answer\n{images[0]},cat,yes\n{images[1]},dog,no\n")
    with campaign(questions, training=str(training)) as under_way:
        for given, (word, seconds) in zip(
            under_way.items_for("ann", (), 5),
            [("yes", 9), ("unsure", 9), ("no", 2), ("yes", 4), ("no", 7)],
            strict=True,
        ):
            said = {
                "key": f"key-{given.item.id}",
                "id": given.item.id,
                "repeat": 0,
                "chosen": word,
                "seconds": seconds,
            }
            assert under_way.take("ann", said) == ""
            # the same answer again, as after an undo
            assert under_way.take("ann", {**said, "key": f"{said['key']}-2"}) == ""
        (row,) = people_rows(under_way, [])
    assert (row.answers, row.seconds, row.training) == (3, "4.0", "1 of 2")


def test_the_accuracy_of_people_is_estimated_where_three_of_them_meet_often_enough(questions: Path) -> None:
    """Ann and ben are right, cyd on every other question; dan met nobody often enough, and what somebody is
    unsure of says nothing.
    """
    images = [image.id for image in read_corpus(questions)][:COMMON]
    truth = ["yes", "no", "no", "yes"] * (COMMON // 4)
    rows = [
        (image, "cat", who, word) for image, word in zip(images, truth, strict=True) for who in ("ann", "ben")
    ]
    rows += [(image, "cat", "cyd", ("yes", "no")[k // 2 % 2]) for k, image in enumerate(images)]
    Answers(questions).answer([*rows, *((image, "cat", "dan", "yes") for image in images[1:])], "test")
    with campaign(questions) as under_way:
        said = {row.pseudonym: row.accuracy for row in people_rows(under_way, [])}
        assert said["ann"] == said["ben"] == "93 %"  # few answers are taken for an average person's in part
        assert 45 < int(said["cyd"].removesuffix(" %")) < 65
        assert said["dan"] == f"– ({COMMON - 1} of {COMMON} items)"
        Answers(questions).answer([(images[0], "cat", "ben", "unsure")], "test")
        assert {row.accuracy for row in people_rows(under_way, [])} == {f"– ({COMMON - 1} of {COMMON} items)"}


def test_the_accuracy_of_choices_takes_the_first_answer_and_no_model_for_the_likelier(study: Path) -> None:
    """Of ten images on which ann and ben differ, that ben says what all say elsewhere makes him no better."""
    images = [image.id for image in read_corpus(study)][: COMMON + 10]
    said = [(k, who, "first") for k in range(COMMON) for who in range(3)]
    said += [(k, who, ("second", "first")[who]) for k in range(COMMON, COMMON + 10) for who in range(2)]
    rows = [Choice(images[k], *MODELS[:2], word, ("ann", "ben", "cyd")[who]) for k, who, word in said]
    again = [Choice(image, *MODELS[:2], "second", "ann", repeat=1) for image in images]
    Choices(study).add_all([*rows, *again], "test")
    by_hand = estimated_accuracy(
        [k for k, _, _ in said],
        [who for _, who, _ in said],
        [word == "second" for *_, word in said],
        symmetric=True,
    )
    with campaign(study) as under_way:
        told = [row.accuracy for row in people_rows(under_way, [])]
    assert told == [f"{100 * value:.0f} %" for value in by_hand.value]
    assert told[0] == told[1]


def test_questions_that_the_majority_and_dawid_skene_decide_otherwise_are_listed(questions: Path) -> None:
    """Ann and ben are right, and three others say what they like, who outvote them here and there: the model
    hears whom the others agree with.
    """
    wanted = list(asked_questions(Study(questions), Study(questions).selection(DUELS).now, "labels"))
    rng, words = np.random.default_rng(0), ("no", "yes")
    truth = {key: words[k % 2] for k, key in enumerate(wanted)}
    rows = [(*key, who, said) for key, said in truth.items() for who in ("ann", "ben")]
    rows += [(*key, who, words[int(rng.integers(2))]) for key in wanted for who in ("cyd", "dan", "eve")]
    assert len(wanted) >= COMMON
    Answers(questions).answer(rows[:COMMON], "test")
    assert found(questions).decisions is None  # of two people
    Answers(questions).answer(rows, "test")
    outvoted = {key for key, yes in majority(rows).items() if words[bool(yes)] != truth[key]}
    decisions = found(questions).decisions
    assert decisions is not None
    assert decisions.compared == len(wanted)
    assert {(image, class_) for image, class_, *_ in decisions.apart} == outvoted != set()
    assert {words for _, _, words, _ in decisions.apart} <= {"2 yes, 3 no", "2 no, 3 yes"}
    page = shown(questions)
    assert f"{len(outvoted)} of the {len(wanted)} questions that the majority decides" in page
    assert all(image in page for image, _ in outvoted)


def test_where_masks_of_people_are_compared_is_said(study: Path) -> None:
    image = next(iter(read_corpus(study)))
    assert found(study).masks == ()
    for who in ("ann", "ben"):
        made.write(study.parent / who / f"{image.id}.png", np.zeros((image.height, image.width), np.uint8))
        fs.label.import_(str(study), str(study.parent / who), truth=f"labels-{who}")
    assert found(study).masks == ("labels-ann", "labels-ben")
    assert "labels-ann, labels-ben. <code>faultscape label consensus</code> prints the mIoU" in shown(study)


@pytest.mark.slow
def test_an_image_is_one_vote_however_many_people_answer_and_however_often(study: Path) -> None:
    """Two people who choose alike on two images, one of them twice, have said two things, not five; a ranking
    tells nothing of fewer than ten.
    """
    pair = most_asked(study)
    first, second = pair[0].first, pair[0].second
    for item in pair[:2]:
        choose(study, item, "first", "ann", "ben")
    Choices(study).add_all([Choice(pair[0].image, first, second, "second", "ann", repeat=1)], "test")
    (row,) = found(study).forecasts.rows
    assert row[:2] == (first, second)
    # ann's two answers are one half, so that of her and ben three quarters
    assert row[2] == f"1.75 for {first}, 0.25 for {second}, of {len(pair)} images"
    assert row[3].startswith("forecast: ")
    assert row[3].count("more images") == 1
    assert f"so far {row[2]}</span></td>" in shown(study)
    assert (found(study).answers, found(study).repeats) == (4, 1)
    assert standings_now(Study(study), DUELS, "labels").labels["choices"] == 4  # as many as in a ranking
    assert "<b>4</b> choices that count, + 1 repeat, of <b>2</b> people" in shown(study)
    assert "settled from 10 images on, when the probability of the opposite order is at most 2.5 %" in shown(
        study
    )


@pytest.mark.slow
def test_an_order_is_not_settled_of_fewer_images_than_a_ranking_needs(study: Path) -> None:
    pair = most_asked(study)
    for item in pair[: FEW - 1]:
        choose(study, item, "first", "ann", "ben", "cyd")
    assert len(pair) >= FEW
    assert found(study).forecasts.rows[0][3].startswith("forecast: ")
    choose(study, pair[FEW - 1], "first", "ann")
    assert found(study).forecasts.rows[0][2:] == (
        f"{FEW} for {pair[0].first}, 0 for {pair[0].second}, of {len(pair)} images",
        "settled now",
    )


def test_an_order_is_settled_as_surely_as_an_interval_of_95_per_cent_says(study: Path) -> None:
    """Of ten images 8 to 2 leave a chance of 3 % that the order is the other one, which is more than such an
    interval leaves on a side.
    """
    for k, item in enumerate(most_asked(study)[:FEW]):
        choose(study, item, "first" if k < 8 else "second", "ann")
    assert found(study).forecasts.rows[0][3].startswith("forecast: ")


def test_images_of_a_group_are_one_vote(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = most_asked(study)
    scene = {item.image: f"scene {k % 5}" for k, item in enumerate(pair)}
    monkeypatch.setattr("faultscape.reading.study.Study.groups", scene)
    for item in pair[:FEW]:
        choose(study, item, "first", "ann")
    forecasts = found(study).forecasts
    assert forecasts.rows[0][2] == f"5 for {pair[0].first}, 0 for {pair[0].second}, of 5 groups"
    assert forecasts.rows[0][3].startswith("forecast: ")


def most_asked(study: Path) -> list[ChoiceItem]:
    """What is asked of the two models that are asked about most."""
    of: dict[tuple[str, str], list[ChoiceItem]] = {}
    for item in asked(study):
        of.setdefault((item.first, item.second), []).append(item)
    return max(of.values(), key=len)
