"""Over- and under-segmentation from counts of regions: ROR, ROM, RUR, RUM (Zhang et al. 2021, eq. 5-10), and
the metrics that Zhang et al. 2021 compare them with.

Conventions: ``counts`` are those of region_counts, arrays that share one shape (..., C); results are float64
of that shape. All measures are errors, 0 best, except ``average_precision_of_regions`` and the panoptic
qualities. A class with no region on one side is undefined with ``absent="nan"`` and 0 with ``absent="zero"``;
a class on neither side is always undefined.

``overlap`` is the IoU above which a region is found, None for the mean over .50:.05:.95. ``touching`` (N,) is
the number of regions of the other side that touch each region. ``scale`` is ``tanh``, ``sigmoid`` or
``none``. ``per`` is ``truth`` or ``prediction``. ``absent`` is ``nan`` or ``zero``: the value of a class
without a region on one side.

Source: Zhang et al. 2021, section III-A; PE: Persello and Bruzzone 2009; PQ: Kirillov et al. 2019.
"""

from __future__ import annotations

from typing import get_args

import numpy as np

from faultscape.choices import Absent, Per, RegionScale
from faultscape.errors import MetricError, OptionError
from faultscape.maps import checked_arrays
from faultscape.metrics.overlaps.region_counts import MATCHED, OVERLAPS, Counts

ABSENT = get_args(Absent)
SCALE = get_args(RegionScale)
PER = get_args(Per)


def ror(counts: Counts, *, absent: Absent = "nan") -> np.ndarray:
    """Return the region-wise over-segmentation ratio (..., C), |G_O| |S_O| / (N M), Zhang et al. 2021, eq. 5;
    OptionError for an unknown ``absent``.

    >>> panel_h = dict(truth_regions=2, predicted_regions=3, torn_truth=1, tearing_predictions=3)
    >>> ror({name: np.array(n) for name, n in panel_h.items()})  # 1 x 3 of 2 x 3
    np.float64(0.5)
    """
    return _ratio(counts["torn_truth"] * counts["tearing_predictions"], counts, absent)  # S1 eq. 5


def rur(counts: Counts, *, absent: Absent = "nan") -> np.ndarray:
    """Return the region-wise under-segmentation ratio (..., C), |G_U| |S_U| / (N M), Zhang et al. 2021, eq.
    8; OptionError for an unknown ``absent``.

    >>> panel = dict(truth_regions=3, predicted_regions=2, merged_truth=3, merging_predictions=1)
    >>> rur({name: np.array(n) for name, n in panel.items()})
    np.float64(0.5)
    """
    return _ratio(counts["merged_truth"] * counts["merging_predictions"], counts, absent)  # S1 eq. 8


def extra_pieces(touching: np.ndarray) -> int:
    """Return m_o, the sum over true regions of max(n - 1, 0), from the number n of predictions that touch
    each, (N,), Zhang et al. 2021, eq. 6.

    For m_u of Zhang et al. 2021, eq. 9, pass the number of true regions that touch each prediction, (M,).
    MetricError for negative numbers.

    >>> extra_pieces(np.array([3, 1, 0]))
    2
    """
    touching = checked_arrays.numbers(touching, "touching", MetricError)
    if not np.isfinite(touching).all():
        raise MetricError("touching: numbers of regions are finite; got NaN or infinity")
    if (touching < 0).any():
        raise MetricError(f"numbers of regions cannot be negative; got {touching.min()}")
    return int(np.maximum(touching - 1, 0).sum())


def rom(counts: Counts, *, absent: Absent = "nan", scale: RegionScale = "tanh") -> np.ndarray:
    """Return the region-wise over-segmentation measure (..., C), tanh(ROR m_o), Zhang et al. 2021, eq. 7;
    ``scale`` names another squashing, or ``none``.

    OptionError for an unknown ``absent`` or ``scale``.

    >>> panel_h = dict(
    ...     truth_regions=2, predicted_regions=3, torn_truth=1, tearing_predictions=3, extra_pieces=2
    ... )
    >>> rom({name: np.array(n) for name, n in panel_h.items()}).round(4)
    np.float64(0.7616)
    """
    return _absent(_scaled(ror(counts) * counts["extra_pieces"], scale), counts, absent)  # S1 eq. 7


def rum(counts: Counts, *, absent: Absent = "nan", scale: RegionScale = "tanh") -> np.ndarray:
    """Return the region-wise under-segmentation measure (..., C), tanh(RUR m_u), Zhang et al. 2021, eq. 10;
    options and errors as `rom`: OptionError for an unknown one.

    >>> panel = dict(
    ...     truth_regions=3, predicted_regions=2, merged_truth=3, merging_predictions=1, extra_merges=2
    ... )
    >>> rum({name: np.array(n) for name, n in panel.items()}).round(4)
    np.float64(0.7616)
    """
    return _absent(_scaled(rur(counts) * counts["extra_merges"], scale), counts, absent)  # S1 eq. 10


def pe_os(counts: Counts, *, per: Per = "truth") -> np.ndarray:
    """Return Persello's over-segmentation error: the mean over true regions g of 1 - |g n s| / |g|, where s
    is the prediction that overlaps g most.

    A true region that nothing touches counts 1. With ``per="prediction"`` the mean is over predicted regions
    and the g that overlaps each most; those that touch none are left out.
    """
    if _known(per):
        return _mean(counts["pe_os_sum"], counts["truth_regions"])
    return _mean(
        counts["pe_os_sum_of_predictions"], counts["predicted_regions"] - counts["invented_predictions"]
    )


def pe_us(counts: Counts, *, per: Per = "truth") -> np.ndarray:
    """Return Persello's under-segmentation error: the mean over true regions g of 1 - |g n s| / |s|, where s
    is the prediction that overlaps g most.

    True regions that nothing touches are left out (they are ``missed_truth``). With ``per="prediction"`` the
    mean is over predicted regions; one that touches no true region counts 1.
    """
    if _known(per):
        return _mean(counts["pe_us_sum"], counts["truth_regions"] - counts["missed_truth"])
    return _mean(counts["pe_us_sum_of_predictions"], counts["predicted_regions"])


def average_precision_of_regions(
    counts: Counts, overlap: float | None = None, *, absent: Absent = "nan"
) -> np.ndarray:
    """Return TP / (TP + FP) of predicted regions at one overlap, or its mean over .50:.05:.95, as Zhang et
    al. 2021 use it: without scores, of one image and class.
    """
    if overlap is not None and overlap not in OVERLAPS:
        raise OptionError(
            f"overlap={overlap} is not counted; use one of {', '.join(f'{t:g}' for t in OVERLAPS)}"
        )
    names = MATCHED if overlap is None else [MATCHED[OVERLAPS.index(overlap)]]
    found = sum(counts[name] for name in names) / len(names)
    value = _mean(np.asarray(found), counts["predicted_regions"])
    return _absent(value, counts, absent)


def panoptic_quality(counts: Counts) -> np.ndarray:
    """Return PQ = sum of IoU over matched regions / (TP + FP / 2 + FN / 2); NaN where a class has no region
    that counts.
    """
    return _mean(counts["pq_iou_sum"], _halves(counts))


def segmentation_quality(counts: Counts) -> np.ndarray:
    """Return SQ, the mean IoU of matched regions; NaN where none is matched."""
    return _mean(counts["pq_iou_sum"], counts["pq_found"])


def recognition_quality(counts: Counts) -> np.ndarray:
    """Return RQ = TP / (TP + FP / 2 + FN / 2), the F1 score of regions."""
    return _mean(counts["pq_found"], _halves(counts))


def missed(counts: Counts) -> np.ndarray:
    """Return the share of true regions that no prediction of their class touches."""
    return _mean(counts["missed_truth"], counts["truth_regions"])


def invented(counts: Counts) -> np.ndarray:
    """Return the share of predicted regions that touch no true region of their class."""
    return _mean(counts["invented_predictions"], counts["predicted_regions"])


def _ratio(involved: np.ndarray, counts: Counts, absent: Absent) -> np.ndarray:
    return _absent(_mean(involved, counts["truth_regions"] * counts["predicted_regions"]), counts, absent)


def _absent(value: np.ndarray, counts: Counts, absent: Absent) -> np.ndarray:
    if absent not in ABSENT:
        raise OptionError(f"absent={absent!r} is not known; use {', '.join(ABSENT)}")
    there = counts["truth_regions"] + counts["predicted_regions"] > 0
    return np.where(np.isnan(value) & there, 0.0, value) if absent == "zero" else value


def _scaled(value: np.ndarray, scale: RegionScale) -> np.ndarray:
    if scale not in SCALE:
        raise OptionError(f"scale={scale!r} is not known; use {', '.join(SCALE)}")
    return value if scale == "none" else np.tanh(value) if scale == "tanh" else 1 / (1 + np.exp(-value))


def _halves(counts: Counts) -> np.ndarray:
    return counts["pq_found"] + 0.5 * counts["pq_invented"] + 0.5 * counts["pq_missed"]


def _known(per: Per) -> bool:
    if per not in PER:
        raise OptionError(f"per={per!r} is not known; use {', '.join(PER)}")
    return per == "truth"


def _mean(total: np.ndarray, number: np.ndarray) -> np.ndarray:
    out = np.full(np.broadcast_shapes(np.shape(total), np.shape(number)), np.nan)
    return np.divide(total, number, out=out, where=np.asarray(number) > 0)[()]
