"""Whatever a value of standings or of a plan becomes, `status` either reads it or says that the file cannot be
read and how to make it again.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made_answers
from faultscape.reading.study import Study
from faultscape.verbs.plan import artefact as plan

ODD = (None, "x", 7, [], {}, [[1]])
Path_ = tuple[str | int, ...]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A study of classifiers whose drawn images are labelled, ranked and planned, the question still open."""
    it = made_answers.study(tmp_path_factory.mktemp("damaged"), images=80, errors=(0.3, 0.35, 0.4))
    fs.select(it.study, goal="order", budget=30)
    made_answers.import_labels(it)
    fs.rank(it.study, selection="order", engine="local")
    fs.plan(it.study, engine="local")
    assert not fs.verdict(it.study).decided
    assert fs.verdict(it.study).next.startswith("faultscape select ")
    return it.study


def values(held: object, above: Path_ = ()) -> Iterator[Path_]:
    """The places of all values, of a list the first only."""
    if above:
        yield above
    if isinstance(held, dict):
        for key in held:
            yield from values(held[key], (*above, key))
    elif isinstance(held, list) and held:
        yield from values(held[0], (*above, 0))


def damaged(document: dict[str, Any], place: Path_, value: object) -> dict[str, Any]:
    out = copy.deepcopy(document)
    at: Any = out
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    return out


PARTS = {
    "plan.json": [("pairs",)],
    "standings-order.json": [
        ("models",),
        ("failing",),
        ("to_come", "prediction_powered", "gaps"),
        ("to_come", "prediction_powered", "speaks_of"),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_status_reads_whatever_a_value_became_or_says_that_the_file_cannot_be_read(
    study: str, name: str
) -> None:
    path = Path(study) / name
    whole = path.read_text()
    document = json.loads(whole)
    places = [place for place in values(document) if any(place[: len(part)] == part for part in PARTS[name])]
    stated = set()
    try:
        for turn, place in enumerate(places):
            # all of them for a value of each kind would take a minute
            for value in ODD[turn % 3 :: 3]:
                path.write_text(json.dumps(damaged(document, place, value)))
                state = fs.status(study)
                assert repr(state)
                stated |= {words for _, state_, words in state.stages if state_ == "stale"}
    finally:
        path.write_text(whole)
    assert len(places) > 5
    assert any("cannot be read" in words for words in stated)


@pytest.mark.parametrize("row", [{}, {"models": ["a"]}, {"models": ["a", "b"], "labels": "9", "low": 1}])
def test_a_plan_with_a_damaged_row_records_nothing(study: str, row: dict[str, object]) -> None:
    path = Path(study) / "plan.json"
    whole = path.read_text()
    assert plan.PLAN.options(Study(Path(study))) == {}
    assert plan.PLAN.made_from(Study(Path(study)), "") != {"file": "damaged"}
    path.write_text(json.dumps({**json.loads(whole), "pairs": [row]}))
    try:
        assert plan.PLAN.made_from(Study(Path(study)), "") == {"file": "damaged"}
    finally:
        path.write_text(whole)
