"""The numbers behind the figures of a report, against what can be counted by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import made_results
from faultscape.nouns import Classes, PairSlot, Slot, Slots
from faultscape.reporting.competition.figure_data import FIGURES, FigureData
from faultscape.reporting.competition.figures import figure_data
from faultscape.reporting.competition.page import Facts
from faultscape.standings import Stability, WithoutModel
from faultscape.study.tables.timings import FrameTimes

NAN = float("nan")
MODELS = ("a", "b", "c")
IMAGES = ["x", "y", "z"]
VALUES = np.array([[0.9, 0.5, 0.7], [0.85, 0.45, 0.6], [0.2, NAN, 0.8]])


def duel(defender: str, attacker: str, image: str) -> Slot:
    return Slot("mad", 1, 1, defender, attacker, "car", 1, image, 0.1, 1, 9)


def facts(*duels: Slot, **changes: Any) -> Facts:
    """A page of duels with the bands of Yan et al. 2021."""
    given = Facts(
        study="study",
        selection="main",
        slots=Slots(MODELS, {"selector": "mad", "concordance": "miou"}, duels),
        classes=Classes(("sky", "car"), (0, 1), ()),
        pool=9,
        standings=None,
        truth="labels",
        labelled=IMAGES,
        values=VALUES,
        bands=(0.6, 0.8),
    )
    return replace(given, **changes)


def found(what: Facts, better: float = 0.1) -> dict[str, FigureData]:
    return {one.figure: one for one in figure_data(what, better)}


DUELS = (duel("a", "b", "x"), duel("a", "b", "y"), duel("a", "c", "x"), duel("c", "a", "z"))


def test_shares_count_the_values_in_each_band_of_each_model_and_of_all() -> None:
    rows = found(facts(*DUELS))["shares"].rows
    assert rows[:3] == (("a", None, 0.6, 1, 1 / 3), ("a", 0.6, 0.8, 1, 1 / 3), ("a", 0.8, None, 1, 1 / 3))
    assert rows[3:6] == (("b", None, 0.6, 1, 1 / 3), ("b", 0.6, 0.8, 1, 1 / 3), ("b", 0.8, None, 1, 1 / 3))
    assert rows[6:9] == (("c", None, 0.6, 1, 0.5), ("c", 0.6, 0.8, 0, 0.0), ("c", 0.8, None, 1, 0.5))
    assert rows[9:] == ((None, None, 0.6, 3, 0.375), (None, 0.6, 0.8, 2, 0.25), (None, 0.8, None, 3, 0.375))


def test_a_model_without_a_value_has_no_shares() -> None:
    none = VALUES.copy()
    none[2] = NAN
    rows = found(facts(*DUELS, values=none))["shares"].rows
    assert [row[3:] for row in rows if row[0] == "c"] == [(0, None)] * 3


def test_quartiles_are_of_the_images_that_a_model_duelled_on_and_of_the_others() -> None:
    rows = found(facts(*DUELS))["quartiles"].rows
    assert rows[0] == ("a", "own duels", 3, 0.5, *np.percentile([0.9, 0.5, 0.7], [25, 50, 75]).tolist(), 0.9)
    assert rows[1] == ("a", "others", 0, None, None, None, None, None)
    assert [row[:4] for row in rows[2:]] == [
        ("b", "own duels", 2, 0.45),
        ("b", "others", 1, 0.6),
        ("c", "own duels", 2, 0.2),
        ("c", "others", 0, None),
    ]


def test_cases_are_those_of_the_smallest_difference_given() -> None:
    # a 0.9 b 0.85: both good; a 0.5 b 0.45: both poor; a 0.9 c 0.2: the defender; c 0.8 a 0.7: the defender
    assert found(facts(*DUELS))["cases"].rows == (
        ("a", 1, 1, 0, 1, 3),
        ("b", 0, 0, 0, 0, 0),
        ("c", 0, 1, 0, 0, 1),
    )
    assert found(facts(*DUELS), better=0.05)["cases"].rows[0] == ("a", 0, 3, 0, 0, 3)


def test_transfer_counts_the_models_that_fail_outside_a_duel() -> None:
    # outside: c fails on x, is unknown on y; b is good on x and z
    assert found(facts(*DUELS))["transfer"].rows == ((0, 3, 0.75), (1, 1, 0.25))


def test_pairs_of_classifiers_end_in_cases_with_their_accuracies() -> None:
    rows = [
        PairSlot("mad", 1, k, "a", "b", "cat", "dog", k, image, 1.0, 0.9, 1.0, 9)
        for k, image in enumerate(IMAGES, 1)
    ]
    right = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [NAN, NAN, NAN]])
    made = found(
        facts(slots=Slots(MODELS, {"selector": "mad", "top": 3}, tuple(rows)), values=right, bands=())
    )
    assert [*made] == ["pairs", "oracle"]
    every = [(1, 1.0), (2, 1.0), (3, pytest.approx(2 / 3))]
    assert [row[:4] for row in made["oracle"].rows] == [
        *((None, None, k, share) for k, share in every),
        *(("a", "b", k, share) for k, share in every),
    ]
    assert {row[4:] for row in made["oracle"].rows} == {(None, None)}  # too few for an interval
    assert made["pairs"].rows == (("a", "b", 1, 1, 0, 1, 3, pytest.approx(2 / 3), pytest.approx(1 / 3)),)


def test_what_standings_times_and_agreement_say_are_figures_too() -> None:
    standings = made_results.standings()
    left = {"unet": WithoutModel(4, NAN, 2.0, ""), "copy": WithoutModel(3, 0.5, 1.0, "unet")}
    stability = Stability("perron", left, [NAN, 1.0], [1, 4], "connected")
    times = FrameTimes("a", "cpu", 9, 4, (1.0, 2.0, 3.0), (1.0, 2.0, 3.0), (2.0, 3.0, 4.0), (1.0, 2.0, 3.0))
    made = found(
        facts(
            standings=replace(standings, stability=stability),
            times=(times,),
            agreement=made_results.agreement(),
            labelled=[],
        )
    )
    assert made["standings"].to_arrow().equals(standings.to_arrow())
    assert made["agreement"].to_arrow().equals(made_results.agreement().to_arrow())
    of = {(row[1], row[2]): row[3] for row in made["matrices"].rows}
    assert len(of) == 6
    assert of["unet", "copy"] == 2.0
    assert made["growth"].rows == ((1, None), (4, 1.0))
    assert made["without"].rows == (("unet", 4, None, 2.0, None), ("copy", 3, 0.5, 1.0, "unet"))
    assert made["speed"].records[0]["whole_median"] == 3.0


def test_a_page_without_labels_has_no_outcomes() -> None:
    assert found(facts(*DUELS, labelled=[], values=np.zeros((3, 0)))) == {}


@pytest.mark.parametrize("kind", FIGURES, ids=lambda kind: kind.name)
def test_every_figure_prints_its_rows_below_what_it_shows(kind: Any) -> None:
    made = made_results.figure(kind.name)
    lines = repr(made).splitlines()
    assert lines[0] == f"{kind.name}: {kind.says}"
    assert len(lines) == 2 + len(made.rows)
    assert made.records[0].keys() == {column.name for column in kind.columns}
