"""What becomes of answers, discards, undo and training in a campaign, and that a server that was killed goes
on where it was.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.errors import LabellingError
from faultscape.reading.study import Study
from faultscape.study.answers.annotators import Annotators
from faultscape.study.answers.choices import Choices
from faultscape.study.answers.database import Database
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.schema import SALT, TRAINING
from refusals import refused

pytest.importorskip("fastapi")

from faultscape.verbs.options import LabelServeOptions
from faultscape.verbs.serve.asked_items import ChoiceItem, QuestionItem
from faultscape.verbs.serve.campaign import Campaign, Given
from faultscape.verbs.serve.options import CampaignRules
from faultscape.verbs.serve.people_facts import people_rows
from faultscape.verbs.serve.result_facts import results

KEYS = itertools.count()


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("campaign")
    corpus = made.corpus(folder / "corpus", images=24, models=3)
    study = made.compared_study(corpus, folder / "study", shard_size=16)
    fs.select(study, per_class=1)
    return study


@pytest.fixture
def study(maps: str, tmp_path: Path) -> Path:
    """A study whose secret is known, so that sides are the same in every run."""
    shutil.copytree(maps, tmp_path / "study")
    Database(tmp_path / "study").settle(SALT, "7 0.0")
    return tmp_path / "study"


@contextmanager
def campaign(study: Path, **rules: object) -> Iterator[Campaign]:
    options = LabelServeOptions(study=str(study), campaign=CampaignRules(**{"repeats": 0.0, **rules}))
    with closing(Database(study, stay_open=True)) as database:
        yield Campaign(Study(study, database=database), options)


def say(under_way: Campaign, who: str, given: Given, **said: object) -> str:
    return under_way.take(
        who, {"key": f"key-{next(KEYS):08d}", "id": given.item.id, "repeat": given.repeat, **said}
    )


def answer_all(under_way: Campaign, who: str, word: Callable[[Given], str]) -> list[Given]:
    done = []
    while given := under_way.items_for(who, (), 5):
        for one in given:
            assert say(under_way, who, one, chosen=word(one), seconds=1.5) == ""
        done += given
    return done


def test_a_server_that_is_started_again_goes_on_where_it_was(study: Path) -> None:
    with campaign(study, overlap=1) as first:
        given = first.items_for("ann", (), 3)
        assert say(first, "ann", given[0], chosen="left") == ""
        left = first.left_for("ann")
    with campaign(study, overlap=1) as again:
        assert again.left_for("ann") == left
        assert [one.item.id for one in again.items_for("ann", (), 2)] == [one.item.id for one in given[1:]]
        assert [one.side for one in again.items_for("ann", (), 2)] == [one.side for one in given[1:]]
        rest = {one.item.id for one in answer_all(again, "ann", lambda _: "right")}
        assert given[0].item.id not in rest
    assert len(Choices(study).choices()) == len(rest) + 1


def test_the_same_answer_sent_twice_counts_once_and_undo_takes_it_back(study: Path) -> None:
    with campaign(study) as under_way:
        (given,) = under_way.items_for("ann", (), 1)
        row = {"key": "the-same-key", "id": given.item.id, "repeat": 0, "chosen": "left"}
        assert under_way.take("ann", row) == under_way.take("ann", row) == ""
        assert len(Choices(study).rows()) == 1
        assert say(under_way, "ann", given, undo=True) == ""
        assert under_way.take("ann", row) == ""  # the first, once more and late
        assert Choices(study).choices() == []
        # asked again, the same side on the left
        assert under_way.items_for("ann", (), 1)[0].item == given.item
        assert say(under_way, "ann", given, chosen="both bad") == ""
    (one,) = Choices(study).choices()
    assert one.chosen == "both bad"


def test_left_and_right_are_the_models_that_were_shown_there(study: Path) -> None:
    with campaign(study, overlap=1) as under_way:
        for given in answer_all(under_way, "ann", lambda _: "left"):
            assert isinstance(given.item, ChoiceItem)
            shown = under_way.model_on("ann", given.item, 0, "left")
            (one,) = [
                c
                for c in Choices(study).choices()
                if (c.image, c.first, c.second) == (given.item.image, given.item.first, given.item.second)
            ]
            assert (one.first if one.chosen == "first" else one.second) == shown
            assert one.left == given.side
    assert {one.chosen for one in Choices(study).choices()} == {"first", "second"}


def test_an_image_is_discarded_by_enough_people_and_a_spare_takes_its_place(study: Path) -> None:
    with campaign(study, overlap=3, discard_votes=2) as under_way:
        (given,) = under_way.items_for("ann", (), 1)
        image = given.item.image
        assert say(under_way, "ann", given, discard="unreadable", text="all dark") == ""
        assert Answers(study).discarded() == {}
        assert all(one.item.image != image for one in under_way.items_for("ann", (), 10))
        before = set(under_way.chosen)
        for one in iter(lambda: under_way.items_for("ben", (), 1)[0], None):
            if one.item.image == image:
                assert say(under_way, "ben", one, discard="not a natural image") == ""
                break
            assert say(under_way, "ben", one, chosen="not sure") == ""
        discarded = Answers(study).discarded()
        assert list(discarded) == [image]
        assert discarded[image].startswith("2 of 2 annotators: unreadable: all dark, not a natural image")
        assert image not in under_way.chosen
        assert set(under_way.chosen) - before or len(under_way.chosen) < len(before)
        assert all(one.item.image != image for one in answer_all(under_way, "cyd", lambda _: "skip"))


def test_training_comes_first_says_what_was_expected_and_counts_nowhere(study: Path, tmp_path: Path) -> None:
    image = "part0/photo 000"
    file = tmp_path / "training.csv"
    file.write_text(
        f"image,model,other,expected\n{image},model-0,model-2,model-0\n{image},model-1,model-2,both bad\n"
    )
    with campaign(study, overlap=1, training=str(file)) as under_way:
        given = under_way.items_for("ann", (), 2)
        assert [one.training for one in given] == [True, True]
        assert given[0].expected in ("left", "right")
        assert under_way.model_on("ann", given[0].item, 0, given[0].expected) == "model-0"
        assert say(under_way, "ann", given[0], chosen=given[0].expected) == ""
        assert say(under_way, "ann", given[1], chosen="left") == ""
        assert say(under_way, "ann", given[0], discard="unreadable") == "training images cannot be discarded"
        assert not under_way.items_for("ann", (), 1)[0].training
        (row,) = [
            row for row in people_rows(under_way, Annotators(study).everybody()) if row.pseudonym == "ann"
        ]
        assert row.training == "1 of 2"
    assert Choices(study).choices() == []
    assert len(Choices(study).choices(TRAINING)) == 2
    assert Choices(study).truths() == []
    for line, says in (
        ("x,model-0,model-1,model-0", "'x' is not an image"),
        (f"{image},model-0,zebra,model-0", "'zebra' is not a model"),
        (f"{image},model-0,model-1,best", "got 'best'"),
    ):
        file.write_text(f"image,model,other,expected\n{line}\n")
        with refused(LabellingError, says), campaign(study, training=str(file)):
            pass


def test_repeats_measure_how_consistent_people_are(study: Path) -> None:
    with campaign(study, overlap=2, repeats=0.5) as under_way:
        steady = answer_all(under_way, "ann", lambda given: "left" if given.side == "first" else "right")
        sided = answer_all(under_way, "ben", lambda _: "left")
        again = [one for one in steady if one.repeat]
        assert again
        first = {one.item.id: (k, one.side) for k, one in enumerate(steady) if not one.repeat}
        for k, one in enumerate(steady):
            if one.repeat:
                assert one.side != first[one.item.id][1]
                assert k - first[one.item.id][0] >= 1
        rows = {row.pseudonym: row for row in people_rows(under_way, [])}
        assert rows["ann"].consistency == f"{len(again)} of {len(again)}"
        assert rows["ben"].consistency == f"0 of {sum(one.repeat for one in sided)}"
        assert rows["ben"].side == "100 %"
        assert any("choices of a side (p = 0.00" in mark for mark in rows["ben"].marks)
        found = results(under_way.study(), under_way)
        assert found.people == 2
        assert dict(found.agreement)["Krippendorff's alpha, all"]


def test_questions_are_answered_with_yes_no_and_not_sure(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path / "made", images=30)
    fs.select(answers.study, top=3)
    with campaign(Path(answers.study), overlap=1) as under_way:
        given = answer_all(under_way, "ann", lambda one: ("yes", "no", "unsure")[len(one.item.image) % 3])
        assert all(isinstance(one.item, QuestionItem) for one in given)
        (first,) = under_way.items_for("ben", (), 1) or (None,)
        assert first is None  # each was asked once
        assert say(under_way, "ann", given[0], undo=True) == ""
        assert say(under_way, "ann", given[0], chosen="left").startswith(
            "the answer 'left' is not known; use yes, no, unsure"
        )
    held = Answers(Path(answers.study)).answers()
    assert len(held) == len(given) - 1
    assert {row[2] for row in held} == {"ann"}


def test_who_is_removed_with_answers_leaves_items_to_others(study: Path) -> None:
    with campaign(study, overlap=1) as under_way:
        done = answer_all(under_way, "ann", lambda _: "left")
        assert under_way.items_for("ben", (), 1) == []
        under_way.take_back_all("ann")
        assert Choices(study).choices() == []
        assert {one.item.id for one in answer_all(under_way, "ben", lambda _: "right")} == {
            one.item.id for one in done
        }


def test_sides_are_swapped_at_random(study: Path) -> None:
    with campaign(study, overlap=1) as under_way:
        sides = [one.side for one in answer_all(under_way, "ann", lambda _: "skip")]
    assert 0.1 < np.mean([side == "first" for side in sides]) < 0.9
