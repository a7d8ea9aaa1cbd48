"""Numbers over conditions: withheld classes, means, drops and the corruption error, with slopes that are
their derivatives.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.metrics.intervals.evidence import Ratios
from faultscape.metrics.intervals.robustness import (
    corruption_error,
    ece_of_bins,
    mean_corrupted,
    miou_of_cells,
    relative_drop,
    without,
)
from faultscape.metrics.intervals.units import draw_units, units_of

RNG = np.random.default_rng(0)
OF = np.array([0, 1, 1, 2, 3])


def cells(seed: int) -> np.ndarray:
    """Confusion matrices (5, 4, 4) of five images of four units, most pixels right."""
    return np.random.default_rng(seed).integers(0, 50, (5, 4, 4)) + np.eye(4, dtype=int) * 90


def miou(of: np.ndarray, weights: np.ndarray | None = None) -> Ratios:
    held = without(of, None)
    if weights is not None:
        held = held * weights[OF][:, None, None]
    return miou_of_cells(held, OF, 4)


def numeric(made: object) -> np.ndarray:
    """The derivative of a number by the weight of each unit, from weights in thousandths."""
    out = []
    for unit in range(4):
        ends = []
        for step in (1, -1):
            weights = np.full(4, 1000)
            weights[unit] += step
            ends.append(made(weights))
        out.append((ends[0] - ends[1]) / 2e-3)
    return np.array(out)


def test_slopes_of_what_is_made_of_several_conditions_are_derivatives() -> None:
    clean, noise, more, theirs = (cells(seed) for seed in range(4))

    def numbers(weights: np.ndarray | None = None) -> dict[str, Ratios]:
        mine = {("noise", 1): miou(noise, weights), ("fog", 1): miou(more, weights)}
        mean = mean_corrupted(mine)
        return {
            "mean": mean,
            "drop": relative_drop(miou(clean, weights), mean),
            "error": corruption_error(
                mine, {("noise", 1): miou(theirs, weights), ("fog", 1): miou(clean, weights)}
            ),
        }

    found = numbers()
    for name, number in found.items():
        slopes = numeric(lambda weights, name=name: numbers(weights)[name].value)
        np.testing.assert_allclose(number.linear.slopes, slopes, atol=1e-6, err_msg=name)


def test_withheld_classes_are_as_if_they_were_void() -> None:
    of = cells(5)
    withheld = np.array([False, True, False])
    kept = without(of, withheld)
    assert kept[:, 1].sum() == 0
    assert kept[:, :, 1].sum() == 0
    assert (kept[:, 0, -1] == of[:, 0, -1] + of[:, 0, 1]).all()
    iou = [
        kept[:, c, c].sum() / (kept[:, c].sum() + kept[:, :, c].sum() - kept[:, c, c].sum()) for c in (0, 2)
    ]
    assert miou_of_cells(kept, OF, 4).value == pytest.approx(np.mean(iou))


def test_a_corruption_counts_as_one_however_many_severities_it_has() -> None:
    many = {("noise", k): miou(cells(k)) for k in range(1, 5)} | {("fog", 1): miou(cells(9))}
    noise = np.mean([miou(cells(k)).value for k in range(1, 5)])
    assert mean_corrupted(many).value == pytest.approx((noise + miou(cells(9)).value) / 2)


def test_corruption_error_takes_the_conditions_that_both_have() -> None:
    mine = {("noise", 1): miou(cells(1)), ("noise", 2): miou(cells(2))}
    theirs = {("noise", 1): miou(cells(3))}
    assert corruption_error(mine, theirs).value == pytest.approx(
        (1 - miou(cells(1)).value) / (1 - miou(cells(3)).value)
    )
    assert np.isnan(corruption_error(mine, {("fog", 1): miou(cells(3))}).value)
    assert corruption_error(mine, mine).value == 1


def test_calibration_error_has_an_interval_over_units() -> None:
    sure = RNG.uniform(0.5, 1, (40, 1))
    bins = np.stack([np.ones((40, 1)) * 100, np.round(100 * (sure - 0.1)), 100 * sure], 1)
    found = ece_of_bins(bins, np.arange(40), draw_units(units_of(40), 100, 0, leave_out=True))
    low, high = found.interval(units_of(40))
    assert found.value == pytest.approx(0.1, abs=0.01)
    assert low < found.value < high
