"""Which draws of a selection an unbiased estimate may count, and their probabilities.

Conventions: ``accuracy`` (J, I) holds the scores of the models on ``images``, NaN where unknown; a draw is
*decided* if its label decides for every model. Draws after the last decided one are steps not made yet. An
image that will never be decided (discarded, or its answers are tied) is taken out of the pool as if it had
never been there: it is assumed to be missing at random. So is one that is merely waiting (if more than one in
twenty wait, they are reported as *skipped*: people rarely skip at random), unless labels after it came from
elsewhere. The images of a duel were chosen because models differ, and counting them while others wait would
not be a random draw. Then, of the draws before the first waiting one, only those before the last that was
labelled for its own sake count: where the row of labels ends depends on the duels, and the last of them would
be selected for not being one (inverse sampling).
Source: Farquhar et al. 2021, section 3; Haldane 1945 (inverse sampling); the rule for waiting images is ours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from faultscape.nouns import Draw
from faultscape.ranking.drawn.estimates import lure_weights
from faultscape.standings import SKIPPED


@dataclass(frozen=True, eq=False)
class Steps:
    """The K draws that count: their columns among the images with scores, the ``probability`` of each, the
    number of images in the ``pool``, which images were taken ``out`` of it, notes to print, and whether more
    were ``skipped`` than randomness explains.

    ``order`` are the images of all draws that were not taken out, of which the first K count, and ``chances``
    (M,) the probability of each.
    """

    columns: np.ndarray
    probability: np.ndarray
    pool: int
    out: frozenset[str]
    notes: tuple[str, ...]
    skipped: bool = False
    order: tuple[str, ...] = ()
    chances: np.ndarray = field(default_factory=lambda: np.zeros(0))


NOTHING_YET = "they change nothing yet"  # ends a note on draws without labels, unless choices count there
WORTH = 10  # how many equally weighted labels the drawn ones must be worth for an estimate to be used


def first_alone(rows: Sequence[Draw]) -> int:
    """Return how many of the first draws, if no other is labelled, are worth enough labels to be ranked; 0 if
    all are not. Draws that prefer some images are worth fewer than as many uniform ones (Kish); those without
    probabilities have no weights.

    >>> rows = [Draw("random", 1, k, str(k), 1.0, 1 / (31 - k), 30) for k in range(1, 21)]
    >>> first_alone(rows), first_alone(rows[:9])
    (10, 0)
    """
    chance = np.array([row.probability for row in rows])
    if np.isnan(chance).any():
        return WORTH if len(rows) >= WORTH else 0
    for number in range(WORTH, len(rows) + 1):
        weights = lure_weights(chance[:number], rows[number - 1].pool)
        if weights.sum() ** 2 >= WORTH * (weights**2).sum() * (1 - 1e-9):
            return number
    return 0


def steps(
    rows: Sequence[Draw],
    images: Sequence[str],
    accuracy: np.ndarray,
    *,
    lost: Collection[str] = (),
    elsewhere: Collection[str] = (),
    learns: bool,
) -> Steps:
    """Return the draws that count; ``lost`` images will never be decided, ``elsewhere`` are those that other
    selections chose.

    If draws do not ``learn`` from labels, weights are the same in every round, and all rounds count as one
    sequence.

    >>> rows = [Draw("random", 1, k, image, 1.0, 1 / (6 - k), 5) for k, image in enumerate("abcd", 1)]
    >>> found = steps(rows, ["a", "b", "c"], np.array([[1.0, np.nan, 0.0]]), learns=False)
    >>> found.columns, found.probability, found.pool, sorted(found.out)
    (array([0, 2]), array([0.25      , 0.33333333]), 4, ['b'])
    >>> scores = np.array([[1.0, 0.0, 1.0]])
    >>> steps(
    ...     rows, ["a", "b", "d"], scores, elsewhere={"d"}, learns=False
    ... ).columns  # d was chosen by others while c waits; a and b were labelled in order
    array([0])
    """
    place = {image: k for k, image in enumerate(images)}
    at = np.array([place.get(row.image, -1) for row in rows], np.intp)
    decided = np.append(~np.isnan(accuracy).any(0), False)[at]
    end = int(np.flatnonzero(decided).max(initial=-1)) + 1
    notes = []
    first = next((k for k in range(end) if not decided[k] and rows[k].image not in lost), end)
    if any(decided[k] and rows[k].image in elsewhere for k in range(first, end)):
        whole = int(decided.sum())
        own = [k for k in range(first) if decided[k] and rows[k].image not in elsewhere]
        end = own[-1] if own else 0
        more = whole - int(decided[:end].sum())
        waits = (
            f"draw {first + 1} ({rows[first].image}) waits for labels, and later images have labels because"
            " other selections chose them: "
        )
        count = f"count {_draws(end)}" if end else "count none"
        notes.append(
            f"{waits}unbiased scores {count}; label it and the following ones in order, and {more} more"
            " will count"
        )
    elif 0 < end < len(rows):
        notes.append(f"{_draws(len(rows) - end)} after the last label: {NOTHING_YET}")
    gone = np.array([row.image in lost or (k < end and not decided[k]) for k, row in enumerate(rows)], bool)
    passed = sum(not decided[k] and rows[k].image not in lost for k in range(end))
    if skipped := passed > SKIPPED * end:
        notes.append(
            f"{passed} of the first {_draws(end)} were skipped, which is rarely random: intervals are"
            " descriptive until they are labelled or discarded"
        )
    if number := int(gone.sum()):
        notes.append(
            f"{_draws(number)} without a label that decides for every model: removed from the pool, as if"
            " missing at random"
        )
    rounds = np.array([row.round if learns else 1 for row in rows])
    chance = remaining(np.array([row.probability for row in rows]), rounds, ~gone)
    kept = np.flatnonzero(decided[:end] & ~gone[:end])
    out = frozenset(row.image for row, lacks in zip(rows, gone, strict=True) if lacks)
    order = tuple(row.image for row, lacks in zip(rows, gone, strict=True) if not lacks)
    pool = rows[0].pool - number if rows else 0
    return Steps(at[kept], chance[kept], pool, out, tuple(notes), skipped, order, chance[~gone])


def remaining(probability: np.ndarray, rounds: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the probabilities (M,) of draws as if those that are not ``kept`` (M,) had never been in the
    pool; their own entries are then meaningless.

    Within a round q_m = w_m / S_m with S the weight left; removing a draw removes its weight from every S
    before it. Its weight in earlier rounds is unknown and left in.

    >>> remaining(np.array([0.25, 1 / 3, 0.5]), np.array([1, 1, 1]), np.array([True, False, True])).round(6)[
    ...     [0, 2]
    ... ]
    array([0.333333, 0.5     ])
    """
    out = np.asarray(probability, dtype=float).copy()
    for number in np.unique(rounds):
        made = np.flatnonzero(rounds == number)
        before = np.cumprod(np.append(1.0, 1 - out[made]))  # weight left before each step, and at the end
        weight = out[made] * before[:-1]
        # a sum: a difference would lose digits where few weights are large
        stay = np.where(kept[made], weight, 0.0)[::-1].cumsum()[::-1] + before[-1]
        out[made] = np.minimum(np.divide(weight, stay, out=np.ones(len(made)), where=stay > 0), 1)
    return out


def _draws(number: int) -> str:
    return f"{number} draw{'s' * (number != 1)}"
