"""Votes as columns of integers: one row per vote, with its item, annotator and label.

Conventions: ``item`` (N,), ``annotator`` (N,), ``label`` (N,) are numbers from 0; any item may lack any
annotator. Columns are in the order in which the votes were given.

Shares of counts with their intervals.

Conventions: counts and numbers are arrays of one shape, or numbers; a share of nothing is NaN. An interval
holds for a number of answers that was fixed in advance: checking after every answer, and stopping when the
interval suits, misleads more often than it says.
Source: Wilson 1927.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from faultscape.errors import LabellingError
from faultscape.metrics.intervals.units import LEVEL


def vote_column(values: ArrayLike, name: str, below: int | None = None) -> np.ndarray:
    """Return a column (N,) as int64; LabellingError, which names the column, if it does not hold integers
    from 0 to below - 1.

    >>> vote_column([0, 2], "label", 2)
    Traceback (most recent call last):
    faultscape.errors.LabellingError: label: row 1 holds 2; expected whole numbers from 0 to 1
    """
    column = np.asarray(values)
    if column.ndim != 1:
        raise LabellingError(f"{name}: expected a column, one number per vote; got shape {column.shape}")
    if not column.size:
        return np.zeros(0, np.int64)
    if column.dtype.kind not in "iub":
        raise LabellingError(f"{name}: expected whole numbers; got {column.dtype}")
    wrong = column < 0
    if below is not None:
        wrong |= column >= below
    if wrong.any():
        row = int(wrong.argmax())
        to = "" if below is None else f" to {below - 1}"
        raise LabellingError(f"{name}: row {row} holds {int(column[row])}; expected whole numbers from 0{to}")
    return column.astype(np.int64)


def same_length(**columns: np.ndarray) -> int:
    """Return the number of rows of columns; LabellingError if their lengths differ.

    >>> same_length(item=np.zeros(2), label=np.zeros(3))
    Traceback (most recent call last):
    faultscape.errors.LabellingError: columns of votes must have the same length; got item 2, label 3
    """
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        given = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise LabellingError(f"columns of votes must have the same length; got {given}")
    return next(iter(lengths.values()))


def size_of(column: np.ndarray, given: int | None, name: str) -> int:
    """Return the number of items or annotators: ``given``, else the largest in the column plus one;
    LabellingError if the column exceeds it.

    >>> size_of(np.array([0, 3]), None, "item"), size_of(np.array([0, 3]), 9, "item")
    (4, 9)
    """
    found = int(column.max()) + 1 if len(column) else 0
    if given is not None and found > given:
        raise LabellingError(f"{name}: has number {found - 1}, but there are only {given}")
    return found if given is None else given


def latest_votes(item: np.ndarray, annotator: np.ndarray) -> np.ndarray:
    """Return the rows (K,), in order, of the last vote of each annotator on each item.

    >>> latest_votes(np.array([0, 0, 0, 1]), np.array([7, 8, 7, 7])).tolist()
    [1, 2, 3]
    """
    if not len(item):
        return np.zeros(0, np.int64)
    key = item * (int(annotator.max()) + 1) + annotator
    _, last = np.unique(key[::-1], return_index=True)
    return np.sort(len(key) - 1 - last)


@dataclass(frozen=True, eq=False)
class Share:
    """A ``count``, ``of`` how many, the share, and its interval (..., 2)."""

    count: np.ndarray
    of: np.ndarray
    value: np.ndarray
    interval: np.ndarray


def share_of(count: ArrayLike, of: ArrayLike, level: float = LEVEL) -> Share:
    """Return counts as shares of their numbers, with Wilson's intervals; NaN for a share of zero.

    >>> share = share_of([0, 8], [0, 10])
    >>> share.value.tolist(), share.interval.round(3).tolist()
    ([nan, 0.8], [[nan, nan], [0.49, 0.943]])
    """
    count = np.asarray(count, float)
    of = np.asarray(of, float)
    square = float(ndtri((1 + level) / 2)) ** 2
    known = np.where(of > 0, of, np.nan)
    value = count / known
    middle = (count + square / 2) / (known + square)
    half = np.sqrt(square * (value * (1 - value) * known + square / 4)) / (known + square)
    # for a share of 0 or 1 the end is exact, which rounding would miss
    low = np.where(count == 0, middle * 0, middle - half)
    high = np.where(count == of, middle * 0 + 1, middle + half)
    return Share(count, of, value, np.stack([low, high], -1))
