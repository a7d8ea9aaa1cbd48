"""Votes as columns of integers: one row per vote, with its item, annotator and label.

Conventions: ``item`` (N,), ``annotator`` (N,), ``label`` (N,) are numbers from 0; any item may lack any
annotator. Columns are in the order in which the votes were given.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from faultscape.errors import LabellingError


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
