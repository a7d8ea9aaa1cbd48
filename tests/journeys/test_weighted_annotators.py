"""`rank --weight-annotators`: whom others agree with counts more; nothing changes unless it is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made_answers
from faultscape.labelling.answers import majority
from faultscape.labelling.people.estimated_accuracy import answer_weights
from faultscape.reading import evidence
from faultscape.reading.choices import Voices, shares
from faultscape.reading.label_counts import questions
from faultscape.reading.study import Study
from faultscape.study.answers.choices import Choice
from faultscape.study.answers.labels import Answers

PEOPLE = ("ann", "ben", "cyd", "dan", "eve")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Questions about three classifiers, answered by two careful people and three who answer by chance."""
    made = made_answers.study(tmp_path / "made", images=60)
    fs.select(made.study, top=10)
    root, rng = Path(made.study), np.random.default_rng(2)
    wanted = questions(Study(root), Study(root).selection("main").now, "labels")
    truth = dict(zip(made.images, made.truth.tolist(), strict=True))
    rows = []
    for image, class_ in wanted:
        yes = made_answers.NAMES[truth[image]] == class_
        for place, who in enumerate(PEOPLE):
            said = yes if place < 2 else bool(rng.integers(2))
            rows.append((image, class_, who, "yes" if said else "no"))
    Answers(root).answer(rows, "test")
    return root


@pytest.mark.slow
def test_answers_count_by_weights_and_the_standings_record_them(study: Path) -> None:
    plain = fs.rank(str(study))
    before = (study / "standings.json").read_bytes()
    assert b"weight" not in before
    found = fs.rank(str(study), votes=fs.options.VoteRules(weight_annotators=True))
    rows = Answers(study).answers("labels")
    numbers = {key: k for k, key in enumerate(dict.fromkeys(row[:2] for row in rows))}
    by_hand = answer_weights(
        [numbers[row[:2]] for row in rows],
        [PEOPLE.index(row[2]) for row in rows],
        [int(row[3] == "yes") for row in rows],
    )
    recorded = found.definitions["annotator_weights"]
    assert recorded == dict(zip(PEOPLE, by_hand.weight.round(6).tolist(), strict=True))
    assert min(recorded["ann"], recorded["ben"]) > 2 * max(recorded[who] for who in PEOPLE[2:])
    held = json.loads((study / "standings.json").read_text())
    assert held["definitions"]["annotator_weights"].keys() == set(PEOPLE)
    assert held["provenance"]["arguments"]["weight_annotators"] is True
    assert any("weighted by the estimated accuracy" in note for note in found.notes)
    # what the careful say is what counts now, though three others outvote them here and there
    verdicts = evidence.verdicts_of(Study(study), "labels", Voices(weighted=True))
    careful = {row[:2]: row[3] == "yes" for row in rows if row[2] == "ann"}
    assert verdicts == careful
    assert majority(rows) != careful
    assert found.rankings != plain.rankings
    fs.rank(str(study))
    assert (study / "standings.json").read_bytes() == before


def test_where_nobodys_accuracy_can_be_estimated_all_count_the_same_and_that_is_noted(study: Path) -> None:
    fs.label.remove(str(study), selection="main", by=["ben", "dan", "eve"])
    plain, found = (
        fs.rank(study),
        fs.rank(study, votes=fs.options.VoteRules(weight_annotators=True)),
    )
    assert {name: one.scores for name, one in found.rankings.items()} == {
        name: one.scores for name, one in plain.rankings.items()
    }
    assert found.definitions["annotator_weights"] == {}
    assert any("nobody's accuracy can be estimated" in note for note in found.notes)


def test_the_next_line_keeps_the_weights_while_answers_come(study: Path) -> None:
    fs.rank(str(study), votes=fs.options.VoteRules(weight_annotators=True))
    image, class_, *_ = Answers(study).answers("labels")[0]
    Answers(study).answer([(image, class_, "fay", "no")], "test")
    assert str(fs.status(str(study)).next).endswith("--weight-annotators")


def test_a_share_of_choices_is_the_mean_of_votes_by_weight_and_repeats_are_one_vote() -> None:
    said = [
        Choice("x", "a", "b", "first", "ann"),
        Choice("x", "b", "a", "first", "ann", repeat=1),
        Choice("x", "a", "b", "second", "ben"),
        Choice("y", "a", "b", "first", "cyd"),
    ]
    weights = {"ann": 2.0, "ben": 0.5, "cyd": 0.0}
    assert shares(said, weights) == {("x", "a", "b"): (pytest.approx((2.0 * 0.5 + 0.5 * 0) / 2.5), 2)}
    assert shares(said, dict.fromkeys(weights, 1.7)) == {
        key: (pytest.approx(share), number) for key, (share, number) in shares(said).items()
    }
