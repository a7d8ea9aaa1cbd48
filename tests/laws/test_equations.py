"""The papers' equations are public functions: docs/reference/equations.md lists them all, and each docstring gives
equation, shapes, errors and an example.
"""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import faultscape as fs
from faultscape.maps.regions import overlaps
from faultscape.metrics.overlaps.region_counts import count_regions
from faultscape.ranking.outcomes import duel_outcomes
from refusals import refused

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "equations.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (S\d) eq\. (\d+) \| `(\w+(?:\.counts)?)\.(\w+)` \|", PAGE, re.MULTILINE)
NUMBERED = {"S0": range(1, 11), "S1": range(1, 11), "S2": range(1, 6), "S4": range(1, 9)}
PAPERS = {
    "S0": "Yan et al. 2021",
    "S1": "Zhang et al. 2021",
    "S2": "Wang et al. 2020",
    "S4": "Blum et al. 2021",
}


def test_the_page_lists_every_equation_once() -> None:
    assert [(paper, int(number)) for paper, number, _, _ in ROWS] == [
        (p, n) for p, numbers in NUMBERED.items() for n in numbers
    ]


@pytest.mark.parametrize(("room", "name"), sorted({row[2:] for row in ROWS}))
def test_each_is_public_and_says_shapes_errors_and_an_example(room: str, name: str) -> None:
    shelf = attrgetter(room)(fs)
    assert name in shelf.__all__
    said = getattr(shelf, name).__doc__
    assert ">>>" in said, "no example"
    assert re.search(r"[A-Z]\w*Error\b", said), "no errors"
    assert re.search(r"\((?:\.\.\.|[A-Zn],|[A-Zn], )[^()]*\)", said), "no shapes"


@pytest.mark.parametrize(("paper", "number", "room", "name"), ROWS)
def test_each_is_named_in_its_docstring(paper: str, number: str, room: str, name: str) -> None:
    said = " ".join(getattr(attrgetter(room)(fs), name).__doc__.split())
    cited = re.findall(r"(\w+ et al\. \d{4}), eq\. (\d+)(?: and (\d+))?", said)
    assert (PAPERS[paper], number) in {(of, n) for of, *numbers in cited for n in numbers}


@given(st.integers(0, 2**32 - 1))
def test_refinement_errors_add_up_to_the_consistency_errors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 5, (3, 4))
    cells[0, 0] += 1
    truth, prediction = np.nonzero(cells)
    pixels = cells[truth, prediction]
    over, under = fs.metrics.counts.refinement_errors(truth, prediction, pixels)
    sides = cells.sum(1)[truth], cells.sum(0)[prediction]
    assert over == pytest.approx((sides[0] - pixels) / sides[0])  # |C(G) \ C(S)| / |C(G)|
    assert under == pytest.approx((sides[1] - pixels) / sides[1])
    whole = min((over * pixels).sum(), (under * pixels).sum()) / pixels.sum()
    assert fs.metrics.counts.gce(truth, prediction, pixels) == pytest.approx(whole)


@given(st.integers(0, 2**32 - 1))
def test_extra_pieces_are_those_that_the_kernel_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, prediction = (rng.integers(0, 2, (6, 6), dtype=np.uint8) for _ in range(2))
    table = overlaps(truth, prediction, 2)
    counts = count_regions(table, 2)
    same = table.truth_label[table.truth] == table.prediction_label[table.prediction]
    for c in range(2):
        mine = same & (table.truth_label[table.truth] == c)
        torn = np.bincount(table.truth[mine], minlength=len(table.truth_label))
        merged = np.bincount(table.prediction[mine], minlength=len(table.prediction_label))
        assert fs.metrics.counts.extra_pieces(torn) == counts["extra_pieces"][c]
        assert fs.metrics.counts.extra_pieces(merged) == counts["extra_merges"][c]
    with refused(fs.errors.MetricError, "cannot be negative; got -1"):
        fs.metrics.counts.extra_pieces(np.array([2, -1]))


@pytest.mark.parametrize(
    ("slots", "accuracy", "said"),
    [
        (
            ([0], [1, 1], [0], [0]),
            [[0.5], [0.5]],
            "columns of one length; got defender 1, attacker 2, group 1, image 1",
        ),
        (([0], [2], [0], [0]), [[0.5], [0.5]], "attacker goes from 2 to 2; accuracy has places 0 to 1"),
        (([0], [1], [0], [-2]), [[0.5], [0.5]], "image goes from -2 to -2; accuracy has places 0 to 0"),
        (([0], [1], [0], [0]), [0.5, 0.5], "accuracy is models x images; got shape (2,)"),
    ],
)
def test_outcomes_refuse_slots_that_do_not_fit(
    slots: tuple[list[int], ...], accuracy: list, said: str
) -> None:
    with refused(fs.errors.RankingError, re.escape(said)):
        fs.ranking.duel_outcomes(*slots, accuracy)


def test_choices_on_an_image_with_a_mask_weigh_nothing() -> None:
    places = [np.array(column) for column in ([0, 0, 0], [1, 1, 1], [0, 0, 0], [0, 1, 2])]
    accuracy = np.array([[0.2, 0.9, np.nan], [0.8, 0.3, np.nan]])
    worth = np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])
    for voices in ([9, 1, 1], [1, 1, 4]):
        found = duel_outcomes(*places, accuracy, worth=worth, voices=np.array(voices), groups=1)
        assert found.performance[0, :, 0, 1] == pytest.approx([(0.2 + 0.9 + 0.0) / 3, (0.8 + 0.3 + 1.0) / 3])
    alone = np.full((2, 3), np.nan)
    found = duel_outcomes(*places, alone, worth=worth, voices=np.array([9, 1, 2]), groups=1)
    # without masks every choice weighs the same
    assert found.performance[0, 0, 0, 1] == pytest.approx((9 * 1.0 + 1 * 0.5) / 12)
