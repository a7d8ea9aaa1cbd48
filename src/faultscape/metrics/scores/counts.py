"""Average precision, AUROC, the false positive rate at a recall and the overlap of regions, from exact counts
at every score of an anomalous pixel.

Conventions: counts come as rows, one for each distinct score of the anomalous pixels (positives), scores
descending: ``hits`` positives and ``reach`` negatives with that score or more, ``above`` negatives with more,
all int64; and, where regions are requested, ``share`` (float64), the summed shares that
its positives are of their regions. Thresholds are "score >= threshold". Pixels with equal scores form one
group: no order among ties is assumed. Average precision is the step sum (no trapezoid, no interpolation),
AUROC counts ties as half. Results do not depend on how the rows are cut into blocks: integers are summed
exactly, and float64 terms in fixed groups of 4096 rows. ``fpr_rule`` "first" reads the rate at the highest
threshold whose recall is at least the one requested (Buchanan et al. 2022, Blum et al. 2021, scikit-learn).
"closest" considers all thresholds, known pixels' scores included, up to the first with a recall of 1, and
reads it at the one whose recall is closest, the lowest among equals (anomaly-seg, to the rounding of its
float64).

``detection`` is a result of `detection` or `stream`; ``detections`` are those of single images.

Source: Blum et al. 2021, section 3.3 (all pixels pooled); Davis and Goadrich 2006 on why precision is not
interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

import numpy as np

from faultscape.choices import FprRule
from faultscape.errors import OptionError
from faultscape.metrics.kernels import plain_ranks
from faultscape.metrics.scores.inputs import RANKS
from faultscape.metrics.scores.region_overlap import LIMIT, area_beyond, check_limit

FPR_RULES = get_args(FprRule)
_GROUP = 4096
_ROWS = 1 << 14  # so that the terms of so many stay in the cache
_A_ROW = 3e-8  # seconds that the plain kernels take for a row
_GRID = 2048  # a thinned curve keeps a row where recall or false positive rate enters another 2048th ...
_OCTAVE = 32  # ... or another 32nd of an octave, so that the steep beginning is kept too


class Rows(NamedTuple):
    """Counts at distinct scores of positives, scores descending; ``share`` is empty unless regions are
    requested.
    """

    scores: np.ndarray
    hits: np.ndarray
    reach: np.ndarray
    above: np.ndarray
    share: np.ndarray = np.empty(0)


class Curve(NamedTuple):
    """Points of a curve: precision against recall, or true against false positive rate, with the threshold of
    each point.
    """

    x: np.ndarray
    y: np.ndarray
    thresholds: np.ndarray


@dataclass(frozen=True, eq=False)
class Detection:
    """How well scores find the anomalous pixels, with the exact counts.

    ``scores`` (K,) descending, ``true_positives`` and ``false_positives`` (K,) pixels with that score or
    more, ``above`` (K,) negatives with more: at every distinct score of a positive, or, where ``thinned``, at
    enough of them to draw the curves. ``fpr95`` is at the recall ``recall``; ``share_below`` the mean, over
    positives, of the share of positives among the pixels with their score or less (needed for AURC); ``f1``
    the best F1 of all thresholds and ``f1_threshold`` the highest threshold with it; ``low`` and ``high`` the
    smallest and largest score. ``aupro`` is the area under per-region overlap, where regions were requested;
    ``alarm_threshold`` the lowest score of a positive that at most ``alarm`` of the negatives reach, infinite
    if there is none. Undefined values are NaN, and ``undefined`` says why.
    """

    average_precision: float  # the step sum over thresholds; NaN without positives
    auroc: float  # ties count as half; NaN without positives or negatives
    fpr95: float
    share_below: float
    f1: float
    f1_threshold: float
    positives: int  # anomalous pixels
    negatives: int  # known pixels; void ones are left out
    low: float
    high: float
    scores: np.ndarray = field(repr=False)
    true_positives: np.ndarray = field(repr=False)
    false_positives: np.ndarray = field(repr=False)
    above: np.ndarray = field(repr=False)
    recall: float = 0.95
    fpr_rule: FprRule = "first"
    thinned: bool = False
    undefined: str = ""
    aupro: float = math.nan
    alarm: float = 0.05
    alarm_threshold: float = math.nan


class PerImage(NamedTuple):
    """Means over images, and how many images had no value and were skipped."""

    average_precision: float
    auroc: float
    fpr95: float
    without_average_precision: int
    without_auroc: int
    without_fpr95: int


def check_rule(fpr_rule: FprRule, recall: float) -> None:
    """Raise OptionError for an invalid rule or recall.

    >>> check_rule("nearest", 0.95)
    Traceback (most recent call last):
    faultscape.errors.OptionError: fpr_rule='nearest' is not known; use first, closest
    """
    if fpr_rule not in FPR_RULES:
        raise OptionError(f"fpr_rule={fpr_rule!r} is not known; use {', '.join(FPR_RULES)}")
    if not 0 < recall <= 1:
        raise OptionError(f"recall={recall} cannot be; expected more than 0 and at most 1")


def summarise(
    blocks: Iterable[Rows],
    positives: int,
    negatives: int,
    *,
    span: tuple[float, float] = (math.nan, math.nan),
    fpr_rule: FprRule = "first",
    recall: float = 0.95,
    thin: bool = False,
    fpr_limit: float = LIMIT,
    alarm: float = 0.05,
) -> Detection:
    """Return the metrics of rows that come in blocks, highest scores first; ``span`` is the (smallest,
    largest) score.

    >>> rows = Rows(np.array([0.9, 0.4]), np.array([1, 2]), np.array([0, 2]), np.array([0, 1]))
    >>> d = summarise([rows], 2, 3)
    >>> d.average_precision, round(d.auroc, 4), round(d.fpr95, 4)
    (0.75, 0.75, 0.6667)
    """
    check_rule(fpr_rule, recall)
    for name, value in (("fpr_limit", fpr_limit), ("alarm", alarm)):
        check_limit(name, value)
    before = 0
    lost = 0
    last_reach = 0
    found = False
    found_above = _Sum()
    wrong_below = _Sum()
    overlap = _Sum()
    shares = _Sum()
    alarm_threshold = math.inf if negatives else math.nan
    fpr = math.nan
    nearest = math.inf
    f1 = math.nan
    f1_threshold = math.nan
    kept: list[Rows] = []
    # once for all rows: fresh memory costs more than what is computed in it
    room_of_own = np.empty(_ROWS, np.int64)
    room = np.empty((3, _ROWS))
    for whole, low in ((block, low) for block in blocks for low in range(0, len(block.scores), _ROWS)):
        if low == 0 and not thin:
            kept.append(whole)
        rows = Rows(*(column[low : low + _ROWS] for column in whole))
        hits = rows.hits
        own = room_of_own[: len(hits)]
        terms, below, scores_f1 = room[:, : len(hits)]
        kernels = RANKS.ready(len(hits) * _A_ROW) or plain_ranks
        upper, lower = kernels.judge(before, *rows[1:4], positives, negatives, own, terms, below, scores_f1)
        found_above.add(terms)
        wrong_below.add(below)
        lost += (int(upper) << 31) + int(lower)
        if fpr_rule == "closest":
            # the lowest threshold with a recall is just above the next positive's score
            away = np.abs((hits - own) / positives - recall)
            # no pixel is above the highest positive
            away[(hits == own) & (rows.above == 0)] = math.inf
            k = len(away) - 1 - int(away[::-1].argmin())
            if away[k] <= nearest:
                nearest = float(away[k])
                fpr = _ratio(int(rows.above[k]), negatives)
        elif not found and hits[-1] / positives >= recall:
            found = True
            fpr = _ratio(int(rows.reach[np.argmax(hits / positives >= recall)]), negatives)
        k = int(scores_f1.argmax())
        if not scores_f1[k] <= f1:  # keeps the first of equals; any value beats NaN
            f1 = float(scores_f1[k])
            f1_threshold = float(rows.scores[k])
        if negatives and rows.reach[0] / negatives <= alarm:
            # they come first, as reach never falls
            alarm_threshold = float(rows.scores[np.count_nonzero(rows.reach / negatives <= alarm) - 1])
        if len(rows.share):
            shares.add(rows.share)
            overlap.add(rows.share * area_beyond(rows.above, rows.reach, fpr_limit * negatives))
        if thin:
            keep = _corners(own, rows, positives, negatives, last_reach)
            kept.append(Rows(*(column[keep] for column in rows[:4])))
        before = int(hits[-1])
        last_reach = int(rows.reach[-1])
    if fpr_rule == "closest" and kept and abs(1 - recall) <= nearest:
        fpr = _ratio(last_reach, negatives)
    columns = kept[0][:4] if kept else (np.empty(0, int),) * 4
    if len(kept) > 1:
        columns = [np.concatenate(column) for column in zip(*(rows[:4] for rows in kept), strict=True)]
    return Detection(
        average_precision=_ratio(found_above.total(), positives),
        # a positive beats each negative below it, and half of its equals: (2 N - reach - above) / 2 N
        auroc=_ratio(2 * positives * negatives - lost, 2 * positives * negatives),
        fpr95=fpr,
        share_below=_ratio(wrong_below.total(), positives),
        f1=f1,
        f1_threshold=f1_threshold,
        positives=positives,
        negatives=negatives,
        low=span[0],
        high=span[1],
        scores=columns[0],
        true_positives=columns[1],
        false_positives=columns[2],
        above=columns[3],
        recall=recall,
        fpr_rule=fpr_rule,
        thinned=thin,
        undefined=_reason(positives, negatives),
        aupro=_ratio(overlap.total(), shares.total()),
        alarm=alarm,
        alarm_threshold=alarm_threshold,
    )


class _Sum:
    """A sum of float64 terms in fixed groups, independent of how they are cut into blocks."""

    def __init__(self) -> None:
        self._sums: list[float] = []
        self._rest = np.empty(0)

    def add(self, terms: np.ndarray) -> None:
        """Add the terms in order."""
        if len(self._rest):
            terms = np.concatenate([self._rest, terms])
        whole = len(terms) // _GROUP * _GROUP
        self._sums += terms[:whole].reshape(-1, _GROUP).sum(1).tolist()
        self._rest = terms[whole:].copy()

    def total(self) -> float:
        """Return the sum so far."""
        return math.fsum([*self._sums, float(self._rest.sum())])


def best_f1(detection: Detection) -> tuple[float, float]:
    """Return (threshold, F1): the highest threshold that gives the best F1 for "score >= threshold"; NaN
    without positives.

    >>> best_f1(summarise([Rows(np.array([0.9]), np.array([2]), np.array([1]), np.array([1]))], 2, 3))
    (0.9, 0.8)
    """
    return detection.f1_threshold, detection.f1


def precision_recall(detection: Detection, points: int = 500) -> Curve:
    """Return recall (x) and precision (y) of at most about ``points`` thresholds, highest first; draw it as
    steps to the left.

    >>> precision_recall(
    ...     summarise(
    ...         [Rows(np.array([0.9, 0.4]), np.array([1, 2]), np.array([0, 2]), np.array([0, 1]))], 2, 3
    ...     )
    ... ).y.tolist()
    [1.0, 0.5]
    """
    chosen = _few(detection, points)
    hits = detection.true_positives[chosen]
    reach = detection.false_positives[chosen]
    return Curve(
        hits / max(detection.positives, 1), hits / np.maximum(hits + reach, 1), detection.scores[chosen]
    )


def roc(detection: Detection, points: int = 500) -> Curve:
    """Return false (x) and true positive rate (y) from (0, 0) to (1, 1), at most about ``points`` thresholds;
    NaN x without negatives.

    >>> curve = roc(
    ...     summarise(
    ...         [Rows(np.array([0.9, 0.4]), np.array([1, 2]), np.array([0, 2]), np.array([0, 1]))], 2, 3
    ...     )
    ... )
    >>> curve.x.round(2).tolist(), curve.y.tolist()
    ([0.0, 0.0, 0.0, 0.33, 0.67, 1.0], [0.0, 0.0, 0.5, 0.5, 1.0, 1.0])
    """
    chosen = _few(detection, points)
    hits = detection.true_positives
    reach = detection.false_positives[chosen]
    scores = detection.scores[chosen]
    x = reach
    y = hits[chosen]
    thresholds = scores
    if not detection.thinned:
        # the corner before each point: first the negatives between two positives, then the ties
        corner = np.concatenate([[0], hits[:-1]])[chosen]
        x = np.stack([detection.above[chosen], x], 1).ravel()
        y = np.stack([corner, y], 1).ravel()
        thresholds = scores.repeat(2)
    with np.errstate(invalid="ignore", divide="ignore"):
        x = np.concatenate([[0], x, [detection.negatives]]) / np.float64(detection.negatives)
        y = np.concatenate([[0], y, [detection.positives]]) / np.float64(detection.positives)
    return Curve(x, y, np.concatenate([[np.inf], thresholds, [-np.inf]]))


def per_image(detections: Sequence[Detection]) -> PerImage:
    """Return the means over images, leaving out and counting those without a value (the alternative in Blum
    et al. 2021; the default pools all pixels).

    >>> one = summarise([Rows(np.array([0.9]), np.array([2]), np.array([1]), np.array([1]))], 2, 3)
    >>> per_image([one, summarise([], 0, 5)]).without_auroc
    1
    """
    table = np.array([[d.average_precision, d.auroc, d.fpr95] for d in detections], float).reshape(-1, 3)
    found = [column[~np.isnan(column)] for column in table.T]
    means = [float(column.mean()) if len(column) else math.nan for column in found]
    without = [len(table) - len(column) for column in found]
    return PerImage(means[0], means[1], means[2], without[0], without[1], without[2])


def _corners(own: np.ndarray, rows: Rows, positives: int, negatives: int, last_reach: int) -> np.ndarray:
    """Return which rows a thinned curve keeps. The decision uses only a row and the one before it, so that it
    does not depend on the blocks.
    """
    hits = rows.hits
    keep = (hits == own) | (hits == positives)
    before = np.concatenate([[last_reach], rows.reach[:-1]])
    for now, then, of in ((hits, hits - own, positives), (rows.reach, before, negatives)):
        keep |= now * _GRID // max(of, 1) != then * _GRID // max(of, 1)
        few = slice(0, int(np.searchsorted(now, of // 32)))  # beyond these, the even steps are finer
        keep[few] |= _octaves(now[few]) != _octaves(then[few])
    return keep


def _octaves(counts: np.ndarray) -> np.ndarray:
    return np.floor(np.log2(np.maximum(counts, 1)) * _OCTAVE)


def _few(detection: Detection, points: int) -> np.ndarray:
    """Return the places of a few rows, spaced evenly in recall and evenly in the logarithm of the positives
    and negatives reached.
    """
    k = len(detection.scores)
    if k <= points:
        return np.arange(k)
    third = max(2, points // 3)
    ends = (detection.positives, max(int(detection.false_positives[-1]), 1))
    wanted = (
        np.searchsorted(detection.true_positives, np.linspace(0, ends[0], third)),
        np.searchsorted(detection.true_positives, np.geomspace(1, ends[0], third)),
        np.searchsorted(detection.false_positives, np.geomspace(1, ends[1], third)),
    )
    return np.unique(np.minimum(np.concatenate([[0, k - 1], *wanted]), k - 1))


def _ratio(above: float, below: float) -> float:
    return above / below if below else math.nan


def _reason(positives: int, negatives: int) -> str:
    if positives and negatives:
        return ""
    if positives:
        return "no known pixel: AUROC and the false positive rate have no value"
    return "no anomalous pixel: " + (
        "nothing has a value" if negatives else "nothing has a value, and no known pixel either"
    )
