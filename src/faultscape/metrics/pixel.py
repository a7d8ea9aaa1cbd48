"""Pixel metrics from counts: mIoU, FWIoU, MPA, pixel accuracy, Dice (Yan et al. 2021, eq. 7-10).

Conventions: ``both`` (..., C) counts the pixels that reference and prediction both call y; ``reference`` and
``prediction`` (..., C + 1) count the pixels that each calls y, the last entry being void. Void is never a
class, but a pixel that only one side calls void counts against the other's class. Results are float64 (...),
larger is better, NaN where undefined. ``over`` says which classes a mean is over: ``union`` those that either
side has (as Yan et al. 2021's code does), ``all`` every class (eq. 7 as printed: absent counts 0), ``truth``
those of the reference. MPA has a value only for classes of the reference, so that ``union`` and ``truth`` are
the same (as in Yan et al. 2021's code, which skips empty rows).
Source: Yan et al. 2021, section 4.1.3 and 4.3. Eq. 9 as printed lacks the class frequency; here it is
included.
"""

from __future__ import annotations

from typing import get_args

import numpy as np

from faultscape.choices import Over
from faultscape.errors import MetricError, OptionError
from faultscape.maps import checked_arrays

OVER = get_args(Over)


def miou(
    both: np.ndarray, reference: np.ndarray, prediction: np.ndarray, *, over: Over = "union"
) -> np.ndarray:
    """Return the mean intersection over union (...), Yan et al. 2021, eq. 7, from counts (..., C) and (..., C
    + 1); OptionError for an unknown ``over``.

    >>> miou(np.array([2, 1]), np.array([3, 1, 0]), np.array([2, 2, 0])).round(4)
    np.float64(0.5833)
    """
    return _mean(iou_of_classes(both, reference, prediction), reference, over)  # S0 eq. 7


def dice(
    both: np.ndarray, reference: np.ndarray, prediction: np.ndarray, *, over: Over = "union"
) -> np.ndarray:
    """Return the mean Dice coefficient, 2 N_yy / (N_y. + N_.y)."""
    return _mean(dice_of_classes(both, reference, prediction), reference, over)


def fwiou(
    both: np.ndarray, reference: np.ndarray, prediction: np.ndarray, *, over: Over = "union"
) -> np.ndarray:
    """Return the intersection over union weighted by the reference's class frequencies (...), Yan et al.
    2021, eq. 9 with the frequency it lacks in print.

    OptionError for an unknown ``over``, which changes nothing here.

    >>> fwiou(np.array([2, 1]), np.array([3, 1, 0]), np.array([2, 2, 0])).round(4)  # 3/4 x 2/3 + 1/4 x 1/2
    np.float64(0.625)
    """
    _check(over)
    both, reference, prediction = _counts(both, reference, prediction)
    classes = reference[..., :-1]
    iou = _ratio(both, classes + prediction[..., :-1] - both)
    return _ratio((classes * np.nan_to_num(iou)).sum(-1), classes.sum(-1))  # S0 eq. 9


def mpa(
    both: np.ndarray, reference: np.ndarray, prediction: np.ndarray, *, over: Over = "union"
) -> np.ndarray:
    """Return the mean over classes of N_yy / N_y. (...), Yan et al. 2021, eq. 10; a class absent from the
    reference has no accuracy. OptionError for an unknown ``over``.

    >>> mpa(np.array([2, 1]), np.array([3, 1, 0]), np.array([2, 2, 0])).round(4)
    np.float64(0.8333)
    """
    del prediction  # not symmetric: the reference decides
    both, reference = _counts(both, reference)
    return _mean(_ratio(both, reference[..., :-1]), reference, over)  # S0 eq. 10


def pixel_accuracy(
    both: np.ndarray, reference: np.ndarray, prediction: np.ndarray, *, over: Over = "union"
) -> np.ndarray:
    """Return the share of the reference's pixels (void left out) that the prediction labels the same."""
    del prediction
    _check(over)
    both, reference = _counts(both, reference)
    return _ratio(both.sum(-1), reference[..., :-1].sum(-1))


def iou_of_classes(both: np.ndarray, reference: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Return (..., C) the intersection over union of each class, NaN where neither side has it."""
    both, reference, prediction = _counts(both, reference, prediction)
    return _ratio(both, reference[..., :-1] + prediction[..., :-1] - both)


def dice_of_classes(both: np.ndarray, reference: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Return (..., C) the Dice coefficient of each class, NaN where neither side has it."""
    both, reference, prediction = _counts(both, reference, prediction)
    return _ratio(2 * both, reference[..., :-1] + prediction[..., :-1])


def classes_counted(values: np.ndarray, reference: np.ndarray, over: Over) -> np.ndarray:
    """Return (..., C) values of classes as a mean uses them: NaN for a class that ``over`` leaves out, 0 for
    an absent one that it counts.

    >>> classes_counted(np.array([0.5, 0.0, np.nan]), np.array([4, 0, 0, 0]), "truth").tolist()
    [0.5, nan, nan]
    """
    _check(over)
    if over == "all":
        return np.nan_to_num(values)
    return values if over == "union" else np.where(np.asarray(reference)[..., :-1] > 0, values, np.nan)


def accuracy_of_classes(both: np.ndarray, reference: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Return (..., C) the share of each class's reference pixels that the prediction labels the same, NaN
    where the reference lacks the class.
    """
    del prediction
    both, reference = _counts(both, reference)
    return _ratio(both, reference[..., :-1])


def _counts(both: np.ndarray, *totals: np.ndarray) -> list[np.ndarray]:
    """Return counts (..., C) and totals (..., C + 1), the last of them void, as arrays; MetricError for other
    shapes.
    """
    out = [checked_arrays.numbers(both, "both", MetricError, "... x C")]
    for name, values in zip(("reference", "prediction"), totals, strict=False):
        array = checked_arrays.numbers(values, name, MetricError, "... x C + 1")
        if array.shape[-1] != out[0].shape[-1] + 1:
            raise MetricError(
                f"{name}: expected {out[0].shape[-1] + 1} numbers, those of the classes of both and of void;"
                f" got {array.shape[-1]}"
            )
        try:
            np.broadcast_shapes(out[0].shape[:-1], array.shape[:-1])
        except ValueError:
            raise MetricError(f"both has the shape {out[0].shape}, {name} {array.shape}") from None
        out.append(array)
    return out


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    out = np.full(np.broadcast_shapes(np.shape(above), np.shape(below)), np.nan)
    return np.divide(above, below, out=out, where=np.asarray(below) > 0)


def _mean(values: np.ndarray, reference: np.ndarray, over: Over) -> np.ndarray:
    """Return the mean over the last axis over the classes that ``over`` names."""
    counted = classes_counted(values, reference, over)
    known = ~np.isnan(counted)
    return _ratio(np.where(known, counted, 0.0).sum(-1), known.sum(-1))


def _check(over: Over) -> None:
    if over not in OVER:
        raise OptionError(f"over={over!r} is not known; use {', '.join(OVER)}")
