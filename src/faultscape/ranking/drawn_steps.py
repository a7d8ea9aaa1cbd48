"""Which draws of a selection an unbiased estimate may count, and with which probabilities.

Conventions: ``accuracy`` (J, I) holds the scores of the models on ``images``, NaN where unknown; a draw is *decided* where its label decides for every model. Draws behind the last
decided one are steps not made yet. An image that will never be decided (discarded, or its answers stand at a tie) is taken out of the pool as if it had never been there: what is
lost is lost by chance. So is one that merely waits, unless labels behind it came from elsewhere: the images of a duel were chosen because models differ, and to count them while
others wait would be no chance draw. Then only the draws before the first that waits count.
Source: Farquhar et al. 2021, section 3; the rule of what waits is ours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.nouns import Draw


@dataclass(frozen=True, eq=False)
class Steps:
    """The K draws that count: their columns among the images with scores, the ``probability`` of each, how many images the ``pool`` has, which were taken ``out`` of it, and what to say."""

    columns: np.ndarray
    probability: np.ndarray
    pool: int
    out: frozenset[str]
    notes: tuple[str, ...]


def steps(
    rows: Sequence[Draw],
    images: Sequence[str],
    accuracy: np.ndarray,
    *,
    lost: Collection[str] = (),
    elsewhere: Collection[str] = (),
) -> Steps:
    """Return the draws that count; ``lost`` images will never be decided, ``elsewhere`` are those that other selections chose.

    >>> rows = [Draw("random", 1, k, image, 1.0, 1 / (6 - k), 5) for k, image in enumerate("abcd", 1)]
    >>> found = steps(rows, ["a", "b", "c"], np.array([[1.0, np.nan, 0.0]]))
    >>> found.columns, found.probability, found.pool, sorted(found.out)
    (array([0, 2]), array([0.25      , 0.33333333]), 4, ['b'])
    >>> steps(rows, ["a", "c"], np.array([[1.0, 0.0]]), elsewhere={"c"}).columns  # c was chosen by others, while b waits
    array([0])
    """
    place = {image: k for k, image in enumerate(images)}
    at = np.array([place.get(row.image, -1) for row in rows], np.intp)
    decided = np.append(~np.isnan(accuracy).any(0), False)[at]
    end = int(np.flatnonzero(decided).max(initial=-1)) + 1
    notes = [f"{_draws(len(rows) - end)} behind the last label: they change nothing yet"] if 0 < end < len(rows) else []
    first = next((k for k in range(end) if not decided[k] and rows[k].image not in lost), end)
    if any(decided[k] and rows[k].image in elsewhere for k in range(first, end)):
        left = int(decided[first:end].sum())
        before = f"count the {_draws(first)} before it" if first else "count none"
        waits = f"draw {first + 1} ({rows[first].image}) waits for labels, and images behind it have labels because other selections chose them: "
        notes = [f"{waits}unbiased scores {before}; label it, and what follows in order, and {left} more will count"]
        end = first
    kept = np.flatnonzero(decided[:end])
    out = frozenset(rows[k].image for k in range(end) if not decided[k])
    if out:
        notes.append(
            f"{_draws(len(out))} without a label that decides for every model: taken out of the pool, as if lost by chance"
        )
    chance = remaining(
        np.array([row.probability for row in rows[:end]]), np.array([row.round for row in rows[:end]]), decided[:end]
    )
    return Steps(at[kept], chance, rows[0].pool - len(out) if rows else 0, out, tuple(notes))


def remaining(probability: np.ndarray, rounds: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the probabilities (K,) of the draws that are ``kept`` (M,), had the others never been in the pool.

    Within a round q_m = w_m / S_m with S what is left; a draw that is taken out takes its weight out of every S before it. What it weighed in earlier rounds is not known,
    and left in.

    >>> remaining(np.array([0.25, 1 / 3, 0.5]), np.array([1, 1, 1]), np.array([True, False, True])).round(6)
    array([0.333333, 0.5     ])
    """
    out = np.asarray(probability, dtype=float).copy()
    for number in np.unique(rounds):
        made = np.flatnonzero(rounds == number)
        before = np.cumprod(np.append(1.0, 1 - out[made]))  # what is left before each step, and at the end
        weight = out[made] * before[:-1]
        stay = (
            np.where(kept[made], weight, 0.0)[::-1].cumsum()[::-1] + before[-1]
        )  # a sum: a difference would lose digits where few weights are large
        out[made] = np.minimum(np.divide(weight, stay, out=np.ones(len(made)), where=stay > 0), 1)
    return out[kept]


def _draws(number: int) -> str:
    return f"{number} draw{'s' * (number != 1)}"
