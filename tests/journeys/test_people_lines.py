"""People and what they said, by lines of the command: invite, forget, answers out as JSON lines and in again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import LabellingError
from faultscape.study.answers.annotators import Annotators
from faultscape.study.answers.checks import COMMENT, RESOLVED, Checks
from faultscape.study.answers.choices import Choice, Choices
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.tags import Tag, Tags
from faultscape.study.tables.logs import read_failures
from refusals import refused


@pytest.fixture
def study(tmp_path: Path) -> str:
    corpus = made.corpus(tmp_path / "corpus", images=4, models=2)
    study = str(made.collected(corpus, tmp_path / "study", shard_size=4))
    fs.predict(study, {name: str(path) for name, path in corpus.models.items()}, engine="local")
    return study


def said(study: str) -> None:
    """Something of every kind."""
    root, images = Path(study), ["part0/photo 000", "part1/photo 001"]
    Choices(root).add(
        Choice(images[0], "model-0", "model-1", "first", "person-1", "a", "b", seconds=1.5, key="person-1:one"), "test"
    )
    Choices(root).add_all([Choice(images[1], "model-1", "model-0", "not sure", "person-2")], "test")
    Answers(root).discard([(images[1], "blurred")], "test")
    Tags(root).add_all([Tag(images[0], "night", "person-1", "model-1", "1,2,3,4")], "test")
    checks = Checks(root)
    checks.open("labels", images[0], "missed object", "a tree", "person-1", at=(3, 4), source="test", key="person-1:two")
    (found,) = checks.checks()
    checks.answer(found, COMMENT, "which?", "person-2", source="test", key="person-2:one")
    checks.answer(found, RESOLVED, "", "person-1", source="test", key="person-1:three")


def everything(study: str) -> tuple:
    root = Path(study)
    return (
        [(one.image, one.first, one.second, one.chosen, one.annotator, one.seconds, one.key) for one in Choices(root).choices()],
        Answers(root).discarded(),
        Tags(root).tags(),
        [(c.truth, c.image, c.x, c.y, c.kind, c.annotator, c.resolved, c.comments) for c in Checks(root).checks()],
    )


def test_all_that_people_said_goes_out_and_comes_in_once(study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(study, tmp_path / "other")
    other, file = str(tmp_path / "other"), str(tmp_path / "said.jsonl")
    said(study)
    assert main(["label", "answers", study, file]) == 0
    assert capsys.readouterr().out == f"{file}: 2 choices, 1 discard, 1 tag, 1 check\n"
    assert main(["label", "import", other, file]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 choices, 1 discard, 1 tag, 1 check"
    assert everything(other) == everything(study)
    assert repr(fs.label.import_(other, file)) == "nothing new"
    assert everything(other) == everything(study)


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
        "{", "3", "[" * 9000, json.dumps(good | {"image": "nowhere"}), json.dumps(good | {"first": "zebra"}), json.dumps(good | {"chosen": "third"}),
        json.dumps(good | {"second": "model-0"}), json.dumps(good | {"repeat": True}), json.dumps({"kind": "choice", "image": "part0/photo 000"}),
        json.dumps({"kind": "song", "image": "part0/photo 000"}), json.dumps({"kind": "answer", "image": "part0/photo 000", "class": "zebra", "answer": "yes"}),
        json.dumps({"kind": "check", "image": "part0/photo 000", "truth": "labels", "of": "other", "key": "k", "comments": []}), "", json.dumps(good),
    ]  # fmt: skip
    (tmp_path / "said.jsonl").write_text("\n".join(lines))
    taken = fs.label.import_(study, str(tmp_path / "said.jsonl"))
    assert taken.kinds == (("choice", 1),)
    assert taken.failures == 12
    reasons = [f.reason for f in read_failures(Path(study)) if f.stage == "answers"]
    assert len(reasons) == 12
    assert all(reason.startswith("said.jsonl, line ") and "\n" not in reason for reason in reasons)
    assert "said.jsonl, line 5: 'zebra' is no model of the study" in reasons
    (tmp_path / "none.jsonl").write_text("{\n")
    with refused(LabellingError, "no line could be used; the first: none.jsonl, line 1: is no JSON object"):
        fs.label.import_(study, str(tmp_path / "none.jsonl"))
    with refused(LabellingError, "answers are written as JSON lines; name a file that ends in .jsonl"):
        fs.label.answers(study, str(tmp_path / "said.txt"))


def test_a_link_is_shown_once_and_a_new_one_replaces_it(study: str) -> None:
    first = fs.label.invite(study, " Ann  Lee ")
    again = fs.label.invite(study, "Ann Lee", organiser=True)
    people = Annotators(Path(study))
    assert (first.name, first.pseudonym) == (again.name, again.pseudonym)
    assert people.by_token(first.token) is None
    assert people.by_token(again.token) == people.find("Ann Lee")
    assert first.token.encode() not in (Path(study) / "answers.sqlite").read_bytes()
    assert again.token.encode() not in (Path(study) / "answers.sqlite").read_bytes()
    assert "Ann" not in (Path(study) / "log.jsonl").read_text()
    with refused(LabellingError, "a name has 1 to 80 characters"):
        fs.label.invite(study, " ")


def test_who_is_forgotten_leaves_answers_that_are_nobodys(study: str) -> None:
    ann, ben = fs.label.invite(study, "Ann"), fs.label.invite(study, "Ben")
    for one in (ann, ben):
        Choices(Path(study)).add_all([Choice("part0/photo 000", "model-0", "model-1", "first", one.pseudonym)], "test")
    assert repr(fs.label.forget(study, "Ann")) == f"{ann.pseudonym} belongs to nobody any more; all answers stay"
    assert len(Choices(Path(study)).choices()) == 2
    assert b"Ann" not in (Path(study) / "answers.sqlite").read_bytes()
    assert (
        repr(fs.label.forget(study, ben.pseudonym, answers=True))
        == f"{ben.pseudonym} belongs to nobody any more; 1 answer taken back"
    )
    assert [one.annotator for one in Choices(Path(study)).choices()] == [ann.pseudonym]
    with refused(LabellingError, "there is no annotator 'Ann'; there are none yet"):
        fs.label.forget(study, "Ann")
