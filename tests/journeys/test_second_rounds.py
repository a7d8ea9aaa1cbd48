"""One person draws, others check: what they mark shows until it is resolved, and a check counts as a person."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import LabellingError, OptionError
from faultscape.maps import runs
from faultscape.study.answers.checks import NOTHING, RESOLVED, Checks
from faultscape.study.tables import label_maps
from refusals import refused


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=6, models=3)


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    """A study with masks of ann, who drew all images, and ben, who drew the last two."""
    study = str(tmp_path / "study")
    made.compared_study(corpus, study)
    fs.select(study, goal="order", budget=6, as_="main")
    for who, ids in (("ann", corpus.ids), ("ben", corpus.ids[4:])):
        for id_ in ids:
            made.write(tmp_path / who / f"{id_}.png", corpus.truths[corpus.ids.index(id_)])
        fs.label.import_(study, str(tmp_path / who), truth=f"labels-{who}")
    return study


def check(study: str, image: str, kind: str, who: str = "eve", truth: str = "labels-ann") -> None:
    checks = Checks(Path(study))
    key = f"{who}:{truth}:{image}:{len(checks.checks())}"
    assert checks.open(truth, image, kind, "", who, at=None, source="a test", key=key)


def resolve(study: str) -> None:
    for number, one in enumerate(Checks(Path(study)).checks()):
        Checks(Path(study)).answer(one, RESOLVED, "", "eve", source="a test", key=f"resolved {number}")


def label_row(study: str) -> str:
    return next(
        words for verb, _, words in fs.status(study).stages if verb == "label" and words.startswith("main:")
    )


def merged(study: str, truth: str = "labels") -> dict[str, np.ndarray]:
    maps = label_maps.read_maps(label_maps.truth(Path(study), truth), 0)
    return {id_: runs.decode(code, np.arange(256)) for id_, code in maps.items()}


def test_a_mask_of_one_person_that_another_checked_is_taken_once_no_mark_is_open(
    study: str, corpus: made.Corpus
) -> None:
    with refused(OptionError, "give two or more annotators with --of, or one whose masks others checked"):
        fs.label.consensus(study, of=["labels-ann"])
    check(study, corpus.ids[0], NOTHING)
    check(study, corpus.ids[1], NOTHING, who="ann")  # her own: nobody else looked
    check(study, corpus.ids[2], NOTHING)
    check(study, corpus.ids[2], "missed object")
    check(study, corpus.ids[5], "inexact border", truth="labels-ben")
    found = fs.label.consensus(study, of=["labels-ann", "labels-ben"])
    assert set(merged(study)) == {corpus.ids[k] for k in (0, 4, 5)}
    assert found.alone == 3
    assert found.marks == "2 open marks on masks of 2 images"
    said = " ".join(repr(found).split())
    assert "3 images left out (labelled or checked by fewer than 2 people)" in said
    assert "2 open marks on masks of 2 images: discuss and resolve them on the Check masks page" in said
    resolve(study)
    again = fs.label.consensus(study, of=["labels-ann", "labels-ben"])
    assert set(merged(study)) == {corpus.ids[k] for k in (0, 2, 4, 5)}
    assert (again.alone, again.marks) == (2, "")
    assert (merged(study)[corpus.ids[2]] == corpus.truths[2]).all()


def test_one_drawer_and_checkers_need_no_second_drawer(study: str, corpus: made.Corpus) -> None:
    for id_ in corpus.ids[:3]:
        check(study, id_, NOTHING)
    found = fs.label.consensus(study, of=["labels-ann"])
    assert (found.new, found.alone, found.pairs) == (3, 3, ())
    assert all((merged(study)[id_] == corpus.truths[k]).all() for k, id_ in enumerate(corpus.ids[:3]))
    with refused(LabellingError, "no image has labels from 3 of labels-ann, so there is nothing to merge"):
        fs.label.consensus(study, of=["labels-ann"], truth="three", least=3)
    for who in ("eve", "ben"):
        check(study, corpus.ids[0], NOTHING, who)
    assert fs.label.consensus(study, of=["labels-ann"], truth="three", least=3).new == 1


@pytest.mark.slow
def test_open_marks_show_in_status_and_rank_until_they_are_resolved(study: str, corpus: made.Corpus) -> None:
    before = label_row(study)
    assert "mark" not in before
    assert not any("mark" in note for note in fs.rank(study, truth="labels-ann").notes)
    check(study, corpus.ids[0], "wrong class")
    check(study, corpus.ids[0], "other")
    check(study, corpus.ids[1], "missed object", truth="labels-ben")
    assert label_row(study) == f"{before}; 3 open marks on masks of 2 images"
    kept = (Path(study) / "standings.json").read_bytes()
    ranked = fs.rank(study, truth="labels-ann")
    assert ranked.notes[-1] == (
        "2 open marks on masks of 1 image of this selection: discuss and resolve them on the Check masks page"
        f" of `faultscape label serve {study}`"
    )
    assert (Path(study) / "standings.json").read_bytes() == kept  # a mark makes nothing stale
    fs.label.consensus(study, of=["labels-ann", "labels-ben"], least=1)
    assert ranked_note(study).startswith("3 open marks on masks of 2 images of this selection")
    resolve(study)
    assert label_row(study).startswith("main: 6 of 6 images labelled (truth labels")
    assert "mark" not in label_row(study) + ranked_note(study)


def ranked_note(study: str) -> str:
    return next((note for note in fs.rank(study, truth="labels").notes if "mark" in note), "")
