"""Robustness to corruptions: mIoU over conditions, its drop, the corruption error against a reference model,
and the consistency, which needs no labels.

Conventions: a *condition* is a corruption at one severity; means are over severities first, then over
corruptions, so that a corruption with fewer severities counts as much as the others (Buchanan et al. 2022;
Hendrycks and Dietterich 2019). Values come with their slopes by unit. A unit is a parent image, or a group of
them, with all images made from it, so that conditions of one set are redrawn together.
Source: Buchanan et al. 2022, Tables 2 and 3; Hendrycks and Dietterich 2019 (corruption error); Kamann and
Rother 2020 (its form for segmentation); arXiv 2503.00450 (consistency).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from faultscape.choices import Over
from faultscape.metrics import calibration, pixel
from faultscape.metrics.intervals.evidence import Drawn, Ratios
from faultscape.metrics.intervals.slopes import Linear, of_sums
from faultscape.metrics.intervals.units import Draws
from faultscape.metrics.summary import weighed

Conditions = Mapping[tuple[str, int], Ratios]  # by (corruption, severity)


def without(cells: np.ndarray, withheld: np.ndarray | None) -> np.ndarray:
    """Return confusion matrices (..., C + 1, C + 1), row = truth, as if the ``withheld`` classes (C,) were
    void: their pixels are ignored, and predicting them is predicting void.

    >>> without(np.array([[2, 1, 0], [1, 3, 0], [0, 0, 0]]), np.array([False, True])).tolist()
    [[2, 0, 1], [0, 0, 0], [0, 0, 0]]
    """
    out = np.array(cells)
    out[..., -1, :] = 0
    if withheld is not None:
        out[..., :-1, -1] += out[..., :-1, :-1][..., withheld].sum(-1)
        out[..., :, :-1][..., withheld] = 0
        out[..., :-1, :][..., withheld, :] = 0
    return out


def image_miou(cells: np.ndarray, withheld: np.ndarray | None = None) -> float:
    """Return the mIoU of one image's confusion matrix (C + 1, C + 1), over the classes that either side has,
    without ``withheld`` ones (C,); NaN where all pixels are void.

    >>> image_miou(np.array([[2, 0, 0], [1, 1, 0], [0, 0, 0]])).__round__(4)
    0.5833
    """
    of = without(cells, withheld)
    both = np.diag(of)[:-1]
    union = of.sum(1)[:-1] + of.sum(0)[:-1] - np.diag(of)[:-1]
    return float((both[union > 0] / union[union > 0]).mean()) if (union > 0).any() else float("nan")


def miou_of_cells(cells: np.ndarray, of: np.ndarray, units: int, *, over: Over = "union") -> Ratios:
    """Return the mIoU of confusion matrices (I, C + 1, C + 1), pooled, with its slopes by unit; ``of`` (I,)
    are the images' units.

    >>> cells = np.array([[[2, 0, 0], [0, 2, 0], [0, 0, 0]], [[1, 1, 0], [0, 2, 0], [0, 0, 0]]])
    >>> round(miou_of_cells(cells, np.array([0, 1]), 2).value, 4)
    0.775
    """
    summed = np.zeros((units, *cells.shape[1:]), np.int64)
    np.add.at(summed, of, cells)
    used = np.zeros(units, bool)
    used[of] = True
    rows = {
        "both": np.diagonal(summed, axis1=1, axis2=2)[:, :-1].copy(),
        "truth": summed.sum(2),
        "predicted": summed.sum(1),
    }

    def made(sums: Mapping[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        both = sums["both"]
        truth = sums["truth"]
        predicted = sums["predicted"]
        classes = pixel.classes_counted(pixel.iou_of_classes(both, truth, predicted), truth, over)
        return {"miou": (pixel.miou(both, truth, predicted, over=over), classes)}

    number, classes = of_sums(rows, made, used)["miou"]
    return Ratios(number, classes)


def ece_of_bins(bins: np.ndarray, of: np.ndarray, draws: Draws) -> Drawn:
    """Return the pooled ECE of bins (I, 3, B) of pixels, right pixels and summed confidence; ``draws`` are
    draws of units, and ``of`` (I,) is the unit of each image.

    >>> from faultscape.metrics.intervals.units import draw_units, units_of
    >>> bins = np.array([[[0.0, 2.0], [0.0, 1.0], [0.0, 1.8]]])
    >>> round(ece_of_bins(bins, np.array([0]), draw_units(units_of(1), 0, 0)).value, 4)
    0.4
    """
    summed = np.zeros((draws.weights.shape[1], *bins.shape[1:]))
    np.add.at(summed, of, bins)
    there = np.zeros(len(summed), bool)
    there[of] = True
    drawn = weighed(draws.weights, summed)
    values = calibration.ece(
        {"bin_count": drawn[:, 0], "bin_right": drawn[:, 1], "bin_confidence": drawn[:, 2]}
    )
    value, replicates, left_out = draws.split(np.asarray(values))
    return Drawn(value, replicates, left_out[there] if len(left_out) else left_out, there, "bent")


def mean_of(numbers: Sequence[Ratios]) -> Ratios:
    """Return the mean of several values with slopes by the same units.

    >>> one, other = (Ratios(Linear(np.array(v), np.array([v, np.nan])), None) for v in (1.0, 3.0))
    >>> mean_of([one, other]).value, mean_of([one, other]).linear.slopes.tolist()
    (2.0, [2.0, nan])
    """
    slopes = np.stack([number.linear.slopes for number in numbers])
    known = ~np.isnan(slopes).all(0)
    mean = np.where(known, np.nan_to_num(slopes).mean(0), np.nan)
    return Ratios(Linear(np.array(np.mean([number.value for number in numbers])), mean), None)


def mean_corrupted(conditions: Conditions) -> Ratios:
    """Return the mean over severities, then over corruptions (the column Cityscapes-C of Buchanan et al.
    2022).

    >>> at = lambda v: Ratios(Linear(np.array(v), np.zeros(1)), None)
    >>> round(mean_corrupted({("fog", 1): at(0.9), ("fog", 3): at(0.7), ("noise", 1): at(0.4)}).value, 4)
    0.6
    """
    return mean_of(
        [mean_of([conditions[key] for key in conditions if key[0] == name]) for name in _names(conditions)]
    )


def relative_drop(clean: Ratios, corrupted: Ratios) -> Ratios:
    """Return the share of the clean value that is lost: 1 - corrupted / clean, NaN where the clean value is
    0.

    >>> at = lambda v: Ratios(Linear(np.array(v), np.zeros(1)), None)
    >>> relative_drop(at(0.8), at(0.6)).value
    0.25
    """
    before = clean.value
    after = corrupted.value
    if not before:
        return Ratios(Linear(np.array(np.nan), np.full_like(clean.linear.slopes, np.nan)), None)
    lost = (after / before) * np.nan_to_num(clean.linear.slopes) - np.nan_to_num(corrupted.linear.slopes)
    nowhere = np.isnan(clean.linear.slopes) & np.isnan(corrupted.linear.slopes)
    return Ratios(
        Linear(np.array(round(1 - after / before, 15)), np.where(nowhere, np.nan, lost / before)), None
    )


def corruption_error(conditions: Conditions, reference: Conditions) -> Ratios:
    """Return the mean over corruptions of a model's summed errors 1 - mIoU over severities, each divided by
    the reference model's; 1 is as good as the reference.

    Only conditions that both have count, and only corruptions under which the reference makes errors; NaN if
    there are none.

    >>> at = lambda v: Ratios(Linear(np.array(v), np.zeros(1)), None)
    >>> corruption_error({("fog", 1): at(0.9)}, {("fog", 1): at(0.8)}).value
    0.5
    """
    common = {key: number for key, number in conditions.items() if key in reference}
    out = []
    for name in _names(common):
        mine, theirs = ([of[key] for key in common if key[0] == name] for of in (common, reference))
        above, below = (sum(1 - number.value for number in of) for of in (mine, theirs))
        if not below:
            continue
        slopes = -sum(np.nan_to_num(number.linear.slopes) for number in mine) / below
        slopes = slopes + above / below**2 * sum(np.nan_to_num(number.linear.slopes) for number in theirs)
        out.append(Ratios(Linear(np.array(above / below), np.asarray(slopes)), None))
    if not out:
        return Ratios(Linear(np.array(np.nan), np.zeros(0)), None)
    found = mean_of(out)
    return Ratios(Linear(np.array(round(found.value, 15)), found.linear.slopes), None)


def _names(conditions: Mapping[tuple[str, int], object]) -> list[str]:
    return list(dict.fromkeys(name for name, _ in conditions))
