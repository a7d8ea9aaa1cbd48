"""People and what they said, by lines of the command: invite, forget, answers out as JSON lines and in
again.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import LabellingError, OptionError
from faultscape.maps.boxes import Box
from faultscape.study.answers.annotators import ORGANISER, Annotators
from faultscape.study.answers.boxes import BoxAnswer, BoxAnswers, text_of
from faultscape.study.answers.checks import COMMENT, RESOLVED, Checks
from faultscape.study.answers.choices import Choice, Choices
from faultscape.study.answers.database import Database
from faultscape.study.answers.labels import Answers, Discard
from faultscape.study.answers.points import PointAnswer, PointAnswers
from faultscape.study.answers.schema import SAID, TRAINING, tables
from faultscape.study.answers.tags import Tag, Tags
from faultscape.study.settings import read_settings
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.logs import read_failures
from refusals import refused


@pytest.fixture
def study(tmp_path: Path) -> str:
    corpus = made.corpus(tmp_path / "corpus", images=4, models=2)
    study = str(made.collected(corpus, tmp_path / "study", shard_size=4))
    fs.predict(study, {name: str(path) for name, path in corpus.models.items()}, engine="local")
    return study


def said(study: str) -> None:
    """Something of every kind, and what was taken back of it."""
    root, images = Path(study), ["part0/photo 000", "part1/photo 001"]
    Choices(root).add(
        Choice(
            images[0], "model-0", "model-1", "first", "person-1", "a", "b", seconds=1.5, key="person-1:one"
        ),
        "test",
    )
    Choices(root).add_all([Choice(images[1], "model-1", "model-0", "not sure", "person-2")], "test")
    Choices(root).add(
        Choice(images[1], "model-0", "model-1", "second", "person-2", key="person-2:two", truth=TRAINING),
        "test",
    )
    Choices(root).take_back(Choices(root).choices()[1:], "test")
    answers, class_ = Answers(root), read_settings(root).classes.names[1]
    answers.answer(
        [(images[0], class_, "person-1", "yes"), (images[1], class_, "person-1", "unsure")], "test"
    )
    answers.answer([(images[0], class_, "person-1", "no")], "test")
    answers.answer([(images[1], class_, "person-2", "yes")], "test", "others")
    answers.take_back([(images[1], class_, "person-1")], "test")
    asked = {
        "image": images[0],
        "class": class_,
        "annotator": "person-2",
        "source": "label serve",
        "truth": TRAINING,
    }
    for key, answer, seconds in (("one", "yes", 1.25), ("two", "yes", None), ("three", "", 2.0)):
        row = asked | {
            "answer": answer,
            "key": f"person-2:{key}",
            "seconds": seconds,
            "shown": '{"session": 1}',
        }
        Database(root).add_once("answers", row)
    vote = {
        "image": images[0],
        "reason": "dark",
        "source": "label serve",
        "annotator": "person-1",
        "key": "person-1:v",
    }
    Database(root).add_once("discards", vote)
    answers.discard([(images[0], "1 of 1 annotators: dark"), (images[1], "blurred")], "test")
    answers.keep([images[0]])
    Database(root).add_once(
        "discards", vote | {"annotator": "person-2", "key": "person-2:v", "reason": "night"}
    )
    Database(root).add_once("discards", vote | {"key": "person-1:w", "reason": "too dark"})
    answers.take_back_votes("person-2", "test")
    tags = Tags(root)
    tags.add_all(
        [Tag(images[0], "night", "person-1", "model-1", "1,2,3,4"), Tag(images[1], "night", "person-1")],
        "test",
    )
    tags.add(Tag(images[1], "night", "person-1", given=False), "test", "person-1:t")
    points = PointAnswers(root)
    points.add(PointAnswer(images[0], 3, 4, class_, "person-1", seconds=2.5, key="person-1:p"), "label serve")
    points.add_all([PointAnswer(images[1], 5, 6, "void", "person-2")], "test")
    seen = text_of([class_], [(class_, Box(1, 2, 9, 8))])
    BoxAnswers(root).add_all([BoxAnswer(images[0], seen, "person-1")], "test")
    checks = Checks(root)
    checks.open(
        "labels",
        images[0],
        "missed object",
        "a tree",
        "person-1",
        at=(3, 4),
        source="test",
        key="person-1:two",
    )
    (found,) = checks.checks()
    checks.answer(found, COMMENT, "which?", "person-2", source="test", key="person-2:one")
    checks.answer(found, RESOLVED, "", "person-1", source="test", key="person-1:three")


def everything(study: str) -> dict[str, list]:
    """All rows of all that people said, without which file they came from."""
    names = {
        name: [c.name for c in tables()[name].columns if c.name != "source"]
        for name in SAID
        if name not in ("renamed", "handed")
    }
    rows = {name: Database(Path(study)).read(name, *columns) for name, columns in names.items()}
    return rows | {"kept": Database(Path(study)).read("discards", "number", source="(taken back)")}


LINE = "4 choices, 8 answers, 2 points, 1 image with boxes, 2 discards, 4 votes, 1 keep, 3 tags, 1 check"


@pytest.mark.slow
def test_all_that_people_said_goes_out_and_comes_in_once(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(study, tmp_path / "other")
    other, file = str(tmp_path / "other"), str(tmp_path / "said.jsonl")
    said(study)
    assert main(["label", "answers", study, file]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{file}: ")
    assert sorted(told.removeprefix(f"{file}: ").strip().split(", ")) == sorted(LINE.split(", "))
    assert main(["label", "import", other, file]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == LINE
    for name, rows in everything(study).items():
        assert rows, name
        assert everything(other)[name] == rows, name
    for one in (study, other):
        before = everything(one)
        assert repr(fs.label.import_(one, file)) == "nothing new"
        assert everything(one) == before


def test_a_file_that_an_earlier_version_wrote_is_taken_once(study: str, tmp_path: Path) -> None:
    image, class_ = "part0/photo 000", read_settings(Path(study)).classes.names[1]
    rows = [
        {
            "kind": "answer",
            "truth": "labels",
            "image": image,
            "class": class_,
            "annotator": "ann",
            "answer": "no",
        },
        {
            "kind": "answer",
            "truth": "labels",
            "image": image,
            "class": class_,
            "annotator": "ann",
            "answer": "yes",
        },
        {"kind": "discard", "image": image, "reason": "blurred"},
        {
            "kind": "tag",
            "image": image,
            "tag": "night",
            "annotator": "ann",
            "model": "",
            "region": "",
            "given": True,
        },
        {
            "kind": "check",
            "truth": "labels",
            "image": image,
            "x": None,
            "y": 3,
            "of": "other",
            "key": "k",
            "comments": [["ann", "a tree", "open"], ["ben", "where?", "comment"]],
        },
    ]
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    taken = fs.label.import_(study, str(tmp_path / "said.jsonl"))
    assert repr(taken) == "2 answers, 1 discard, 1 tag, 1 check"
    assert repr(fs.label.import_(study, str(tmp_path / "said.jsonl"))) == "nothing new"
    assert Answers(Path(study)).answers()[-1] == (image, class_, "ann", "yes")
    assert [one.comments for one in Checks(Path(study)).checks()] == [
        (("ann", "a tree", "open"), ("ben", "where?", "comment"))
    ]
    fs.label.answers(study, str(tmp_path / "again.jsonl"))
    assert repr(fs.label.import_(study, str(tmp_path / "again.jsonl"))) == "nothing new"


def test_of_lines_with_one_key_the_first_counts_and_the_others_are_counted(
    study: str, tmp_path: Path
) -> None:
    one = {
        "kind": "choice",
        "image": "part0/photo 000",
        "first": "model-0",
        "second": "model-1",
        "chosen": "first",
        "annotator": "ann",
        "key": "ann:one",
        "time": 5.0,
    }
    rows = [one, one | {"chosen": "", "key": None, "time": 6.0}, one, one | {"chosen": "second", "time": 7.0}]
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = repr(fs.label.import_(study, str(tmp_path / "said.jsonl")))
    assert told.startswith(
        "2 choices, 1 line skipped because an earlier line has the same key, 1 line not usable (failures.csv); the"
        " first: "
    )
    assert told.endswith(
        "said.jsonl, line 4: its key 'ann:one' was used by an earlier line with other contents"
    )
    assert [(row.chosen, row.time) for row in Choices(Path(study)).rows()] == [("first", 5.0), ("", 6.0)]


def test_rows_of_a_file_that_say_again_what_was_taken_back_count_once_by_their_key(study: str) -> None:
    one = Choice("part0/photo 000", "model-0", "model-1", "first", "ann", key="ann:one")
    assert Choices(Path(study)).add_all([one, replace(one, chosen="", key=None), one], "test") == 2


ODD = {
    "a time that is none": {"time": float("nan")},
    "a time without end": {"time": 10**400},
    "seconds without end": {"seconds": float("inf")},
    "a repeat that is none": {"repeat": 10**30},
    "half a letter": {"annotator": "\ud800"},
    "a letter that ends a text": {"shown": "\0"},
    "no key": {"key": ""},
}


@pytest.mark.parametrize("odd", ODD)
def test_what_a_database_cannot_hold_costs_its_line_alone(study: str, tmp_path: Path, odd: str) -> None:
    good = {
        "kind": "choice",
        "image": "part0/photo 000",
        "first": "model-0",
        "second": "model-1",
        "chosen": "first",
        "annotator": "ann",
    }
    check = {
        "kind": "check",
        "image": "part0/photo 000",
        "of": "other",
        "key": "k",
        "comments": [["ann", "a tree", "open"]],
    }
    lines = [
        json.dumps(good | ODD[odd]),
        json.dumps(check),
        json.dumps(check | {"truth": "t", "x": 10**400, "y": 1}),
        json.dumps(good),
    ]
    (tmp_path / "said.jsonl").write_text("\n".join(lines))
    taken = fs.label.import_(study, str(tmp_path / "said.jsonl"))
    assert (taken.kinds, taken.failures) == ((("choice", 1),), 3)
    assert f"line 1: {next(iter(ODD[odd]))} is " in taken.first


def test_a_line_that_cannot_be_used_costs_itself_alone(study: str, tmp_path: Path) -> None:
    good = {
        "kind": "choice",
        "image": "part0/photo 000",
        "first": "model-0",
        "second": "model-1",
        "chosen": "first",
        "annotator": "ann",
    }
    lines = [
        "{",
        "3",
        "[" * 9000,
        json.dumps(good | {"image": "nowhere"}),
        json.dumps(good | {"first": "zebra"}),
        json.dumps(good | {"chosen": "third"}),
        json.dumps(good | {"second": "model-0"}),
        json.dumps(good | {"repeat": True}),
        json.dumps({"kind": "choice", "image": "part0/photo 000"}),
        json.dumps({"kind": "song", "image": "part0/photo 000"}),
        json.dumps({"kind": "answer", "image": "part0/photo 000", "class": "zebra", "answer": "yes"}),
        json.dumps(
            {
                "kind": "check",
                "image": "part0/photo 000",
                "truth": "labels",
                "of": "other",
                "key": "k",
                "comments": [],
            }
        ),
        "",
        json.dumps(good),
    ]
    (tmp_path / "said.jsonl").write_text("\n".join(lines))
    taken = fs.label.import_(study, str(tmp_path / "said.jsonl"))
    assert taken.kinds == (("choice", 1),)
    assert taken.failures == 12
    reasons = [f.reason for f in read_failures(Path(study)) if f.stage == "answers"]
    assert len(reasons) == 12
    assert all(reason.startswith("said.jsonl, line ") and "\n" not in reason for reason in reasons)
    assert "said.jsonl, line 5: 'zebra' is not a model of the study" in reasons
    (tmp_path / "none.jsonl").write_text("{\n")
    with refused(
        LabellingError, "no line could be used; the first: none.jsonl, line 1: is not a JSON object"
    ):
        fs.label.import_(study, str(tmp_path / "none.jsonl"))
    with refused(LabellingError, "answers are written as JSON lines; give a file name that ends in .jsonl"):
        fs.label.answers(study, str(tmp_path / "said.txt"))


def test_a_tag_of_an_unknown_model_or_outside_of_its_photo_costs_its_line_alone(
    study: str, tmp_path: Path
) -> None:
    good = {"kind": "tag", "image": "part0/photo 000", "tag": "night", "annotator": "ann"}
    odd = [
        {"model": "nomodel"},
        {"region": "abc"},
        {"region": "9999,9999,10,10"},
        {"region": "0,0,0,5"},
        {"kind": "bogus"},
    ]
    lines = [*(good | one for one in odd), {"kind": "bogus"}, {"kind": ["tag"]}, {"kind": "tag"}]
    good |= {"model": "model-1", "region": "0,01,2,3"}
    (tmp_path / "said.jsonl").write_text("\n".join(json.dumps(line) for line in [*lines, good]))
    taken = fs.label.import_(study, str(tmp_path / "said.jsonl"))
    assert (taken.kinds, taken.failures) == ((("tag", 1),), 8)
    assert Tags(Path(study)).tags() == [Tag("part0/photo 000", "night", "ann", "model-1", "0,1,2,3")]
    photo = next(image for image in read_corpus(Path(study)) if image.id == "part0/photo 000")
    within = f"a region is X,Y,WIDTH,HEIGHT within the image, {photo.width} x {photo.height} pixels; got "
    known = "is not known; use choice, answer, point, boxes, discard, vote, keep, tag or check"
    assert sorted(
        f.reason.partition(", ")[2] for f in read_failures(Path(study)) if f.stage == "answers"
    ) == [
        "line 1: 'nomodel' is not a model of the study",
        f"line 2: {within}'abc'",
        f"line 3: {within}'9999,9999,10,10'",
        f"line 4: {within}'0,0,0,5'",
        f"line 5: the kind 'bogus' {known}",
        f"line 6: the kind 'bogus' {known}",
        f"line 7: the kind \"['tag']\" {known}",
        "line 8: a line of kind 'tag' lacks 'image'",
    ]


def test_a_file_stays_as_it_is_while_nobody_has_said_anything(study: str, tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    written = repr(fs.label.answers(study, str(file)))
    assert written == f"{file}: no one has answered yet, so no file was written"
    assert not file.exists()
    file.write_text("of another study\n")
    assert repr(fs.label.answers(study, str(file))) == written
    assert file.read_text() == "of another study\n"


def test_a_link_is_shown_once_and_a_new_one_replaces_it(study: str) -> None:
    first = fs.label.invite(study, " Ann  Lee ")
    again = fs.label.invite(study, "Ann Lee", organiser=True)
    assert repr(first).endswith("; it is shown only once")
    assert repr(again).endswith("; it is shown only once, and the earlier link no longer works")
    people = Annotators(Path(study))
    assert (first.name, first.pseudonym) == (again.name, again.pseudonym)
    assert people.by_token(first.token) is None
    assert people.by_token(again.token) == people.find("Ann Lee")
    assert people.find("Ann Lee").role == ORGANISER
    assert first.token.encode() not in (Path(study) / "answers.sqlite").read_bytes()
    assert again.token.encode() not in (Path(study) / "answers.sqlite").read_bytes()
    assert "Ann" not in (Path(study) / "log.jsonl").read_text()
    with refused(LabellingError, "a name must have 1 to 80 characters"):
        fs.label.invite(study, "n" * 81)
    with refused(OptionError, "name is empty"):
        fs.label.invite(study, " ")


def test_who_is_forgotten_leaves_answers_that_are_nobodys(study: str) -> None:
    ann, ben = fs.label.invite(study, "Ann"), fs.label.invite(study, "Ben")
    for one in (ann, ben):
        Choices(Path(study)).add_all(
            [Choice("part0/photo 000", "model-0", "model-1", "first", one.pseudonym)], "test"
        )
    assert (
        repr(fs.label.forget(study, "Ann"))
        == f"{ann.pseudonym} no longer belongs to anyone; all answers stay"
    )
    assert len(Choices(Path(study)).choices()) == 2
    assert b"Ann" not in (Path(study) / "answers.sqlite").read_bytes()
    assert (
        repr(fs.label.forget(study, ben.pseudonym, answers=True))
        == f"{ben.pseudonym} no longer belongs to anyone; 1 answer taken back"
    )
    assert [one.annotator for one in Choices(Path(study)).choices()] == [ann.pseudonym]
    with refused(LabellingError, "there is no annotator 'Ann'; there are none yet"):
        fs.label.forget(study, "Ann")


def test_all_that_a_person_said_is_taken_back_and_what_others_said_stays(study: str) -> None:
    root, ben = Path(study), fs.label.invite(study, "Ben").pseudonym
    answers, tags = Answers(root), Tags(root)
    for who in ("ann", ben):
        Choices(root).add_all(
            [
                Choice("part0/photo 000", "model-0", "model-1", "first", who, truth=truth)
                for truth in ("labels", "other", TRAINING)
            ],
            "test",
        )
        for truth in ("labels", TRAINING):
            answers.answer([("part0/photo 000", "car", who, "yes")], "test", truth)
        tags.add(Tag("part0/photo 000", "dark", who), "test", f"tag-of-{who}")
        answers.add_discards(
            [Discard("part0/photo 000", "unreadable", who, key=f"vote-of-{who}", time=1.0)], "test"
        )
    assert "7 answers taken back" in repr(fs.label.forget(study, ben, answers=True))
    said = [
        *(one.annotator for truth in ("labels", "other", TRAINING) for one in Choices(root).choices(truth))
    ]
    said += [row[2] for truth in ("labels", TRAINING) for row in answers.answers(truth)]
    said += [*(one.annotator for one in tags.tags()), *answers.discard_votes()["part0/photo 000"]]
    assert said == ["ann"] * 7
