"""Orders of images and of classes under which a model might fit the others best: the candidates that are
tested before anything is reported.

Conventions: as in comparison.misplacement: (N, ...) answers of a model and (B, N, ...) of others as places of
classes, with the largest number of the type for no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

NONE = np.uint16(65535)
_CLASS = 0.1  # IoU by which a class must fit another class better, and twice its own


def number_of_classes(answers: np.ndarray) -> int:
    """Return one more than the highest place in any answer."""
    return int(answers[answers != NONE].max(initial=0)) + 1


def shifted(maps: np.ndarray, k: int, runs: Sequence[slice]) -> np.ndarray:
    """Return maps, or numbers of images, in which each image gets those of the image k places later in its
    run, and no answer at the ends.
    """
    out = np.full_like(maps, np.nan if maps.dtype.kind == "f" else np.iinfo(maps.dtype).max)
    for run in runs:
        part = maps[run]
        if k > 0:
            out[run][: max(len(part) - k, 0)] = part[k:]
        else:
            out[run][-k:] = part[: max(len(part) + k, 0)]
    return out


def mixed_classes(mine: np.ndarray, others: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Return (class of a model, class of the others) for classes that it confuses: found on every second
    image, and kept if it holds on the rest.
    """
    none = np.iinfo(mine.dtype).max
    n = int(max(side[side != none].max(initial=0) for side in (mine, others))) + 1
    found, check = (_overlap(mine[k::2], others[:, k::2], n) for k in (0, 1))
    from scipy.optimize import linear_sum_assignment

    _, meant = linear_sum_assignment(-(found + 1e-9 * np.eye(n)))
    own = np.arange(n)
    mixed = [c for c in own[meant != own].tolist() if found[c, meant[c]] >= 2 * found[c, c] + _CLASS]
    mixed = [c for c in mixed if check[c, meant[c]] >= 2 * check[c, c] + _CLASS]
    return tuple((c, int(meant[c])) for c in mixed)


def _overlap(mine: np.ndarray, others: np.ndarray, n: int) -> np.ndarray:
    """Return (n, n) the IoU of each class of a model with each class of the others, over all of them."""
    cells = np.zeros(n * n, np.int64)
    for other in others:
        known = (mine < n) & (other < n)
        cells += np.bincount(mine[known].astype(np.int64) * n + other[known], minlength=n * n)
    both = cells.reshape(n, n)
    either = both.sum(1)[:, None] + both.sum(0)[None] - both
    return np.divide(both, either, out=np.zeros((n, n)), where=either > 0)


def named_orders(n: int, keys: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield orders of images that result from typical mistakes: reversed, and names sorted with 10 before 9
    instead of 9 before 10, or vice versa.
    """
    yield "reversed", np.arange(n)[::-1]
    if len(keys) == n:
        plain = np.array(sorted(range(n), key=lambda k: keys[k]))
        counting = np.array(
            sorted(
                range(n), key=lambda k: [int(w) if w.isdigit() else w for w in re.split(r"(\d+)", keys[k])]
            )
        )
        if (plain != counting).any():
            for names, given in ((plain, counting), (counting, plain)):
                order = np.empty(n, np.int64)
                order[given] = names
                yield "names", order


def _marks(maps: np.ndarray, classes: int, grid: tuple[int, int] = (6, 8)) -> np.ndarray:
    """Return (N, D) the share of each class in each cell of a grid over a map."""
    n, h, w = maps.shape
    rows = np.arange(h) * min(grid[0], h) // h
    columns = np.arange(w) * min(grid[1], w) // w
    field = rows[:, None] * min(grid[1], w) + columns
    cells = np.where(maps < classes, maps, classes).astype(np.int64) + field * (classes + 1)
    fields = int(field.max()) + 1
    held = np.bincount(
        (cells + np.arange(n)[:, None, None] * fields * (classes + 1)).ravel(),
        minlength=n * fields * (classes + 1),
    )
    return held.reshape(n, fields, classes + 1)[..., :classes].reshape(n, -1) / (h * w)


def _all_marks(mine: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (N, D) features of a model's maps, and the mean of those of the others, without what all images
    have in common.
    """
    classes = max(number_of_classes(mine), number_of_classes(others))
    own = _marks(mine, classes)
    theirs = np.mean([_marks(other, classes) for other in others], 0)
    return own - own.mean(0), theirs - theirs.mean(0)


def best_turn(mine: np.ndarray, others: np.ndarray) -> int:
    """Return the k, from -N / 2 to N / 2, for which ``np.roll(mine, -k, 0)`` fits the others best."""
    own, theirs = _all_marks(mine, others)
    n = len(own)
    fit = np.fft.irfft((np.fft.rfft(own, axis=0) * np.conj(np.fft.rfft(theirs, axis=0))).sum(1), n)
    k = int(fit.argmax())
    return k if k <= n // 2 else k - n


def assigned(mine: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the order of a model's images that best fits the others', using each image once."""
    own, theirs = _all_marks(mine, others)
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(-(theirs @ own.T))[1]
