"""Whether doubt is where the mistakes are: risk against coverage (AURC, AUGRC), and windows that are accurate
and certain (PAvPU).

Conventions: pixels come in groups of equal doubt, ascending: ``right`` and ``wrong`` (K,) count the pixels of
each group. Ties form one group, so no order among them is assumed. Coverage is the share of pixels whose
doubt does not exceed a threshold, risk the share of wrong pixels among these, and generalised risk the share
of all pixels that are covered and wrong. 0 is best for both areas.

``doubt`` is large where the model doubts. ``incorrect`` is 0 where the prediction is right and 1 where it
is wrong. ``counts`` (..., 4) are those of ``window_counts``.

Source: Geifman and El-Yaniv 2017 (AURC); Traub et al. 2024 (AUGRC); Mukhoti and Gal 2018 (PAvPU), Buchanan et
al. 2022 (windows of 2 x 2, thresholds .5).
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import MetricError, OptionError
from faultscape.maps import checked_arrays
from faultscape.metrics.kernels.plain_ranks import distinct
from faultscape.metrics.scores.counts import Detection
from faultscape.metrics.scores.inputs import check_unmasked, sort

WINDOWS = ("accurate_certain", "accurate_uncertain", "inaccurate_certain", "inaccurate_uncertain")


def groups(doubt: np.ndarray, incorrect: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (right, wrong) pixels at each distinct doubt, ascending; the caller leaves out void pixels.

    >>> [part.tolist() for part in groups(np.array([0.1, 0.1, 0.7]), np.array([0, 1, 1]))]
    [[1, 0], [1, 1]]
    """
    check_unmasked(doubt=doubt, mask=incorrect)
    doubt = np.asarray(doubt).ravel()
    incorrect = np.asarray(incorrect).ravel()
    if doubt.shape != incorrect.shape:
        raise MetricError(f"there are {len(doubt)} doubts and {len(incorrect)} pixels; expected one for each")
    if doubt.dtype.kind == "f" and not np.isfinite(doubt).all():
        raise MetricError(
            f"{int((~np.isfinite(doubt)).sum())} of {len(doubt)} doubts are NaN or infinite; expected finite"
            " numbers"
        )
    everything = doubt.copy()
    of_wrong = doubt[incorrect == 1]
    sort(everything)
    sort(of_wrong)
    values, pixels = distinct(everything)
    found, times = distinct(of_wrong)
    wrong = np.zeros_like(pixels)
    wrong[values.searchsorted(found)] = times
    return pixels - wrong, wrong


def _pixels(right: np.ndarray, wrong: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of right and of wrong pixels (..., K) as float64; MetricError for other shapes."""
    held = [
        checked_arrays.numbers(values, name, MetricError, "... x K").astype(np.float64, copy=False)
        for name, values in (("right", right), ("wrong", wrong))
    ]
    checked_arrays.same_shape(MetricError, right=held[0], wrong=held[1])
    return held[0], held[1]


def risk_coverage(right: np.ndarray, wrong: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (coverage, risk) after each group, least doubt first.

    >>> [part.round(2).tolist() for part in risk_coverage(np.array([3, 0]), np.array([0, 1]))]
    [[0.75, 1.0], [0.0, 0.25]]
    """
    right, wrong = _pixels(right, wrong)
    covered = np.cumsum(right + wrong, -1)
    mistakes = np.cumsum(wrong, -1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return covered / covered[..., -1:], mistakes / covered


def aurc(right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return the area under risk against coverage: the mean, over pixels in order of doubt, of the risk when
    all pixels up to that doubt are covered.

    >>> float(aurc(np.array([2, 0]), np.array([0, 2])))
    0.25
    """
    right, wrong = _pixels(right, wrong)
    size = right + wrong
    _, risk = risk_coverage(right, wrong)
    return _share((np.nan_to_num(risk) * size).sum(-1), size.sum(-1))


def augrc(right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return the area under generalised risk against coverage; within a group the curve is a straight line,
    the average over all orders of ties.

    Equal to (1 - AUROC) a (1 - a) + (1 - a)^2 / 2 with accuracy a.

    >>> float(augrc(np.array([2, 0]), np.array([0, 2])))
    0.125
    """
    right, wrong = _pixels(right, wrong)
    size = right + wrong
    mistakes = np.cumsum(np.asarray(wrong, np.float64), -1)
    total = size.sum(-1)
    return _share((size * (mistakes - np.asarray(wrong) / 2)).sum(-1), total * total)


def aurc_of(doubt: Detection, confidence: Detection) -> float:
    """Return `aurc` from the streamed detection of incorrect pixels by doubt and of correct pixels by minus
    doubt; NaN without any pixel.

    A wrong pixel contributes the share of wrong pixels up to its doubt; a right pixel contributes 1 - the
    precision of finding right pixels at its doubt.

    >>> from faultscape.metrics.scores.detection import detection
    >>> score, wrong = np.array([0.1, 0.1, 0.7, 0.7]), np.array([0, 0, 1, 1])
    >>> aurc_of(detection(score, wrong), detection(-score, 1 - wrong))
    0.25
    """
    wrong = doubt.positives
    right = doubt.negatives
    if not wrong + right:
        return float("nan")
    of_wrong = wrong * doubt.share_below if wrong else 0.0
    of_right = right * (1 - confidence.average_precision) if right else 0.0
    return (of_wrong + of_right) / (wrong + right)


def augrc_of(auroc: float, wrong: int, right: int) -> float:
    """Return the same area from the AUROC of incorrect pixels and their numbers; NaN without any pixel.

    >>> augrc_of(1.0, 2, 2)
    0.125
    """
    if wrong + right == 0:
        return float("nan")
    share = wrong / (wrong + right)
    ranked = (1 - auroc) * share * (1 - share) if wrong and right else 0.0  # no pairs to rank
    return ranked + share * share / 2


def window_counts(
    doubt: np.ndarray,
    incorrect: np.ndarray,
    *,
    void: int = 255,
    window: int = 2,
    certain: float = 0.5,
    accurate: float = 0.5,
) -> np.ndarray:
    """Return (4,) int64 numbers of windows, as WINDOWS names them; they add up over images.

    Windows of ``window`` x ``window`` pixels tile the image from the upper left, cut at the frame. Means
    leave out void pixels; windows that are all void do not count. A window is accurate where more than
    ``accurate`` of its pixels are right, certain where its mean doubt is at most ``certain``.

    >>> window_counts(np.zeros((2, 4)), np.array([[0, 0, 1, 1], [0, 0, 1, 1]])).tolist()
    [1, 0, 1, 0]
    """
    check_unmasked(doubt=doubt, mask=incorrect)
    doubt = checked_arrays.numbers(doubt, "doubt", MetricError, "H x W").astype(np.float64, copy=False)
    incorrect = np.asarray(incorrect)
    if doubt.ndim != 2 or doubt.shape != incorrect.shape:
        raise MetricError(
            f"the doubt has shape {doubt.shape} and the map {incorrect.shape}; expected one shape, H x W"
        )
    if window < 1:
        raise OptionError(f"window is 1 or more pixels; got {window}")
    judged = incorrect != void
    if not np.isfinite(doubt[judged]).all():
        bad = int((~np.isfinite(doubt[judged])).sum())
        raise MetricError(f"{bad} of {int(judged.sum())} doubts are NaN or infinite; expected finite numbers")
    sums = [
        _windows(values, window)
        for values in (judged, judged & (incorrect == 0), np.where(judged, doubt, 0.0))
    ]
    n = sums[0]
    there = n > 0
    right = sums[1][there] > accurate * n[there]
    sure = sums[2][there] <= certain * n[there]
    return np.array(
        [(right & sure).sum(), (right & ~sure).sum(), (~right & sure).sum(), (~right & ~sure).sum()], np.int64
    )


def pavpu(counts: np.ndarray) -> np.ndarray:
    """Return the share of windows (..., 4) that are accurate and certain or inaccurate and uncertain; 1 is
    best.
    """
    counts = checked_arrays.columns(counts, "counts", MetricError, len(WINDOWS))
    return _share(counts[..., 0] + counts[..., 3], counts.sum(-1))


def p_accurate_certain(counts: np.ndarray) -> np.ndarray:
    """Return p(accurate | certain); NaN where no window is certain."""
    counts = checked_arrays.columns(counts, "counts", MetricError, len(WINDOWS))
    return _share(counts[..., 0], counts[..., 0] + counts[..., 2])


def p_uncertain_inaccurate(counts: np.ndarray) -> np.ndarray:
    """Return p(uncertain | inaccurate); NaN where no window is inaccurate."""
    counts = checked_arrays.columns(counts, "counts", MetricError, len(WINDOWS))
    return _share(counts[..., 3], counts[..., 2] + counts[..., 3])


def _windows(values: np.ndarray, window: int) -> np.ndarray:
    """Return the sum over each window of the tiling."""
    starts = (np.arange(0, size, window) for size in values.shape)
    rows, columns = starts
    return np.add.reduceat(np.add.reduceat(values.astype(np.float64), rows, 0), columns, 1)


def _share(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    out = np.full(np.broadcast_shapes(np.shape(above), np.shape(below)), np.nan)
    return np.divide(above, below, out=out, where=np.asarray(below) > 0)[()]
