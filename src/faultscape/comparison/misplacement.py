"""Detect models that agree with no other model, and orders of images or classes under which they would,
before there is any label.

Conventions: ``answers`` (J, N, H, W): the answer of each model for some pixels of N images in corpus order,
as places of classes, NONE for no answer; for classifiers H = W = 1. ``starts`` are where new runs of
consecutive images begin. The agreement of two models on an image is the mean IoU of the classes that either
predicts (for one pixel 1 or 0); the search for orders uses the share of pixels on which they agree, which is
cheaper. Absence of a finding does not prove that all is well.

Guarantee: if ids and classes are right, a wrong order is reported in at most one study of a thousand
(``RISK``), however little the models agree. A t-test, with its risk divided by the number of models and
candidate orders, must show that another order fits better than this one, and is farther above chance than
this one is below it: any order improves models that agree less than chance. A shift must also fit better than
the same shift the other way, because neighbours of sorted images fit both ways. A mix-up of classes is judged
like an order, but three quarters of the way is enough, since exchanging two classes moves a model just as far
above. If no image has all models in agreement, the pool may have been chosen for disagreement, and confusions
look like exchanged classes: then a mix-up must explain most images and exchange no two classes. No guarantee:
that a pool chosen in a softer way, in which the same two classes are nearly always confused, is distinguished
from a mix-up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from faultscape.comparison.candidate_orders import (
    assigned,
    best_turn,
    mixed_classes,
    named_orders,
    number_of_classes,
    shifted,
)
from faultscape.metrics.pixel import miou

FEWEST = 8  # minimum number of images for any finding
RISK = 1e-3  # the probability of reporting any order in a study where nothing is wrong
LOST = ("nobody", "chance", "below")  # kinds of findings that name no order
# share of the others' agreement beyond chance that a model has if it answers one image in four as they do and
# guesses the rest
NOBODY = 0.25
GUESS = 0.1  # below this share a model cannot be distinguished from a guess
ALONE = 0.05  # share of what is possible beyond chance, used without others to compare with
# shifts that are always tested; in a drive, larger shifts show up here too
NEAR = (1, -1, 2, -2, 3, -3, 5, -5, 8, -8, 12, -12)
# how far above chance a mix-up of classes must be, as a share of the distance below: errors spread evenly
# over three classes are half as far above, over more classes less
_BELOW = 0.75
# kinds of orders among which the risk is divided: shifts, classes, orders of names, and rotations or
# permutations, each in at most two samples
_KINDS = 8
_BATCHES = 40
_OTHERS = 12
_FARTHEST = 64
_ASSIGNED = 1024
_PIXELS = 256
_SEARCHED = 1024


@dataclass(frozen=True)
class Finding:
    """What is wrong with one model: its ``kind`` is shift, reversed, names, permutation, classes, nobody,
    chance or below (chance).

    ``agreement`` is its mean with the others as it is, ``would`` what it would be, ``chance`` what shuffled
    images give, ``others`` the mean among the others (NaN for two models). ``shift``: the answer that fits is
    that of the image this many places later. ``classes``: (class of the model, class of the others), as
    places.
    """

    model: int
    kind: str
    agreement: float
    would: float
    chance: float
    others: float
    shift: int = 0
    classes: tuple[tuple[int, int], ...] = ()


def find_misplaced(
    answers: np.ndarray, starts: Sequence[int] = (0,), keys: Sequence[str] = ()
) -> list[Finding]:
    """Return what is wrong with which model, the clearest first; empty for fewer than eight images.

    ``keys`` are the images' ids, for orders that result from sorting numbers in names. A model whose order is
    found counts, corrected, among the others of the next.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 5, (1, 400, 1, 1))
    >>> said = np.where(rng.random((4, 400, 1, 1)) < 0.8, truth, rng.integers(0, 5, (4, 400, 1, 1)))
    >>> said[2] = np.roll(said[2], 1, axis=0)
    >>> [(f.model, f.kind, f.shift) for f in find_misplaced(said)]
    [(2, 'shift', 1)]
    """
    answers = np.asarray(answers, np.uint16).copy()
    j, n = answers.shape[:2]
    if j < 2 or n < FEWEST:
        return []
    runs = [slice(*span) for span in pairwise([*starts, n])]
    found: dict[int, Finding] = {}
    facts = _agreements(answers)
    while len(found) < (j if j > 2 else 1):  # two models disagree with each other equally
        best: tuple[float, Finding, np.ndarray] | None = None
        for m in (m for m in range(j) if m not in found):
            for right, about in _orders(answers, m, runs, keys, lost=bool(_lost(facts, m))):
                said = _finding(answers, facts, m, right, about)
                if best is None or said.would - said.agreement > best[0]:
                    best = said.would - said.agreement, said, right
        if best is None or best[0] <= 0:
            break
        found[best[1].model] = best[1]
        answers[best[1].model] = best[2]
        facts = _agreements(answers)
    rest = [m for m in range(j) if m not in found and _lost(facts, m)]
    return [
        *found.values(),
        *(
            _finding(
                answers, facts, m, None, {"kind": "below" if _below_chance(answers, m) else _lost(facts, m)}
            )
            for m in (rest if j > 2 or not rest else rest[:1])
        ),
    ]


@dataclass(frozen=True, eq=False)
class _Facts:
    """``pairs`` and ``chance`` (J, J): mean agreement of every two models, as they are and with shuffled
    images; ``beyond`` (J, N): mean agreement of each model with the others, minus chance.
    """

    pairs: np.ndarray
    chance: np.ndarray
    beyond: np.ndarray


def _agreements(answers: np.ndarray) -> _Facts:
    """Return how closely all models agree, as they are and with shuffled images: the images of one model
    against different images of the other, one shuffle per pair.
    """
    j, n = answers.shape[:2]
    rng = np.random.default_rng(0)
    coded = _all_coded(answers)
    pairs = np.full((j, j), np.nan)
    chance = np.full((j, j), np.nan)
    each = np.zeros((j, n))
    among = np.zeros((j, n))
    for a in range(j):
        for b in range(a + 1, j):
            values = _image_agreement(coded[a], coded[b])
            pairs[a, b] = pairs[b, a] = _mean(values)
            chance[a, b] = chance[b, a] = _mean(_image_agreement(coded[a], coded[b], rng.permutation(n)))
            known = ~np.isnan(values)
            for m in (a, b):
                each[m] += np.where(known, values, 0)
                among[m] += known
    mean = np.divide(each, among, out=np.full((j, n), np.nan), where=among > 0)
    return _Facts(pairs, chance, mean - np.array([_mean(row) for row in chance])[:, None])


@dataclass(frozen=True, eq=False)
class _Coded:
    """A model's classes (N, P), the same as indices into (N, n + 1) cells, and the number of pixels of each
    class, and without an answer, per image (N, n + 1).
    """

    places: np.ndarray
    cells: np.ndarray
    sizes: np.ndarray

    @property
    def there(self) -> np.ndarray:
        """Return (N,) whether the model has an answer for each image."""
        return np.asarray(self.sizes[:, :-1].sum(1) > 0)


def _coded(maps: np.ndarray, n: int) -> _Coded:
    """Return the maps of a model (N, H, W) with NONE as class n, in the fewest bytes."""
    places = _flat(np.minimum(maps, n).astype(np.uint8 if n < 256 else np.uint16))
    if places.shape[1] == 1:
        return _Coded(places, places, np.stack([places[:, 0] < n, places[:, 0] == n], 1).astype(np.int64))
    cells = places + np.arange(len(places))[:, None] * (n + 1)
    return _Coded(
        places, cells, np.bincount(cells.ravel(), minlength=len(places) * (n + 1)).reshape(-1, n + 1)
    )


def _all_coded(answers: np.ndarray) -> list[_Coded]:
    """Return every model's maps, coded with the same number of classes."""
    n = number_of_classes(answers)
    return [_coded(maps, n) for maps in answers]


def _image_agreement(one: _Coded, other: _Coded, order: np.ndarray | None = None) -> np.ndarray:
    """Return (N,) the agreement of two models on each image, or with the other's images in the ``order``
    (N,); NaN if one of them has no answer.
    """
    places = other.places
    sizes = other.sizes
    there = other.there
    if order is not None:
        places = places[order]
        sizes = sizes[order]
        there = there[order]
    there = one.there & there
    n = sizes.shape[1] - 1
    if places.shape[1] == 1:
        return np.where(there, (one.places == places)[:, 0].astype(float), np.nan)
    same = np.bincount(one.cells[one.places == places], minlength=len(places) * (n + 1)).reshape(-1, n + 1)
    return np.where(there, miou(same[:, :-1], one.sizes, sizes, over="union"), np.nan)


def _lost(facts: _Facts, m: int) -> str:
    """Return "nobody" or "chance" for a model that agrees with no other model, else ''."""
    reach, others = _reach(facts, m)
    values = facts.beyond[m][~np.isnan(facts.beyond[m])]
    if len(values) < FEWEST or np.isnan(reach):
        return ""
    batches = np.array([part.mean() for part in np.array_split(values, min(_BATCHES, len(values)))])
    highest = values.mean() + 2 * batches.std(ddof=1) / np.sqrt(len(batches))
    if highest >= (ALONE if np.isnan(others) else NOBODY) * reach:
        return ""
    return "chance" if np.isnan(others) or values.mean() < GUESS * reach else "nobody"


def _below_chance(answers: np.ndarray, m: int) -> bool:
    """Return whether a model clearly agrees with the others less than shuffled images would."""
    small = _narrow(answers)
    others = np.delete(small, m, axis=0)
    return _clear(_chance(small[m], others) - _share(small[m], others), RISK / len(answers)) > 0


def _reach(facts: _Facts, m: int) -> tuple[float, float]:
    """Return the agreement beyond chance that a model could have, and the agreement of the others with each
    other; if that is hardly above chance, the possible agreement and NaN.
    """
    rest = np.delete(np.arange(len(facts.pairs)), m)
    first, second = np.triu_indices(len(rest), 1)
    cells = rest[first], rest[second]
    possible = 1 - _mean(facts.chance)
    beyond = facts.pairs[cells] - facts.chance[cells]
    if (
        len(beyond)
        and not np.isnan(beyond).all()
        and (middle := float(np.nanmedian(beyond))) > ALONE * possible
    ):
        return middle, _mean(facts.pairs[cells])
    return possible, np.nan


def _finding(
    answers: np.ndarray, facts: _Facts, m: int, right: np.ndarray | None, about: dict[str, Any]
) -> Finding:
    """Return a finding about a model, with the numbers that support it."""
    rest = [b for b in range(len(answers)) if b != m]
    would = np.nan
    if right is not None:
        first, *others = _all_coded(np.stack([right, *answers[rest]]))
        would = _mean(np.array([_mean(_image_agreement(first, other)) for other in others]))
    return Finding(
        m,
        agreement=_mean(facts.pairs[m]),
        would=would,
        chance=_mean(facts.chance[m]),
        others=_reach(facts, m)[1],
        **about,
    )


def _orders(
    answers: np.ndarray, m: int, runs: list[slice], keys: Sequence[str], *, lost: bool
) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
    """Yield a model's answers in the order of images, or under the mix-up of classes, that fits the others
    clearly better than its answers do, with the fields of the finding.
    """
    mine = answers[m]
    j, n = answers.shape[:2]
    rest = np.array([b for b in range(j) if b != m])
    small = _narrow(answers)
    others = small[rest[np.linspace(0, len(rest) - 1, min(len(rest), _OTHERS)).astype(int)]]
    now = _share(small[m], others)
    chance = _chance(small[m], others)
    risk = RISK / (_KINDS * j)

    near = [_clear(_share(shifted(small[m], k, runs), others) - now, RISK / (len(NEAR) * j)) for k in NEAR]
    if lost or any(near):  # where to search further; findings are tested below
        farthest = min(max(run.stop - run.start for run in runs) // 2, _FARTHEST)
        shares = {k: _share(shifted(small[m], k, runs), others) for k in range(-farthest, farthest + 1) if k}
        every = {
            k: _better(shares[k], now, chance, risk / len(shares), shifted(shares[-k], k, runs))
            for k in shares
        }
        k = max(every, key=lambda k: (every[k], -abs(k)))
        if every[k] > 0:
            yield shifted(mine, k, runs), {"kind": "shift", "shift": k}
    if mixed := mixed_classes(small[m], others):
        said, meant = (np.array(side) for side in zip(*mixed, strict=True))
        table = np.arange(1 << 16).astype(np.uint16)
        table[said] = meant
        put_right = table[:256].astype(np.uint8)[small[m]] if small.dtype == np.uint8 else table[small[m]]
        exchanged = any((b, a) in mixed for a, b in mixed)
        if _explained(put_right, small[m], others, risk, exchanged=exchanged):
            steps = set((meant - said).tolist())
            yield (
                table[mine],
                {
                    "kind": "classes",
                    "classes": mixed,
                    "shift": steps.pop() if len(steps) == 1 and len(mixed) > 1 else 0,
                },
            )
    if not lost or len(runs) > 1:
        return
    named = list(named_orders(n, keys))
    for kind, places in named:
        if _better(_share(small[m][places], others), now, chance, risk / len(named)):
            yield mine[places], {"kind": kind}
    k = best_turn(mine, answers[rest])
    right, mirror = (_share(np.roll(small[m], turn, 0), others) for turn in (-k, k))
    # past a third of the circle, the mirrored rotation is closer to the rotation than the current order is
    if k and _better(right, now, chance, risk / n, np.roll(mirror, -k) if 3 * abs(k) <= n else None):
        yield np.roll(mine, -k, 0), {"kind": "shift", "shift": k}
    elif mine[0].size >= _PIXELS and n <= _ASSIGNED:
        half = mine.shape[2] // 2
        # find an order on the left half of the maps, and accept it for its effect on the right half
        seen = answers[..., :half]
        unseen = _narrow(answers[..., half:])
        places = assigned(seen[m], seen[rest])
        right, as_it_is = (_share(maps, unseen[rest]) for maps in (unseen[m][places], unseen[m]))
        if _better(right, as_it_is, _chance(unseen[m], unseen[rest]), risk):
            yield mine[assigned(mine, answers[rest])], {"kind": "permutation"}


def _better(
    right: np.ndarray, now: np.ndarray, chance: np.ndarray, risk: float, mirror: np.ndarray | None = None
) -> float:
    """Return how much better answers fit in another order than ``now``, 0 if it is not clear that they do;
    all are shares per image (N,).

    ``mirror``: the share under the opposite shift; if ids are right, both directions fit equally well.
    """
    above = [right - now, right - chance - (chance - now), *([] if mirror is None else [right - mirror])]
    clear = [_clear(gains, risk) for gains in above]
    return clear[0] if all(clear) else 0.0


def _explained(
    put_right: np.ndarray, mine: np.ndarray, others: np.ndarray, risk: float, *, exchanged: bool
) -> bool:
    """Return whether a mix-up of classes, (N, P) when corrected, clearly explains a model's answers (N, P);
    ``exchanged``: two classes are swapped.
    """
    right = _share(put_right, others)
    now = _share(mine, others)
    # chance differs with the classes
    above = right - _chance(put_right, others)
    below = _chance(mine, others) - now
    none = np.iinfo(mine.dtype).max
    alike = ((others == mine) | (others == none)).all(0) & (others != none).any(0) & (mine != none)
    if not alike.any() and (exchanged or not _clear(right - 0.5, risk)):
        return False  # the images may have been chosen for their disagreement
    return _clear(above + below, risk) > 0 and _clear(above - _BELOW * below, risk) > 0


def _narrow(answers: np.ndarray) -> np.ndarray:
    """Return (J, N, P) answers of at most ``_SEARCHED`` pixels, in one byte if the number of classes allows
    it; the largest number means no answer.
    """
    flat = _flat(answers)
    flat = flat[..., :: -(-flat.shape[2] // _SEARCHED)]
    return np.ascontiguousarray(
        np.minimum(flat, 255).astype(np.uint8) if number_of_classes(answers) < 255 else flat
    )


def _flat(maps: np.ndarray) -> np.ndarray:
    return maps.reshape(*maps.shape[:-2], -1)


def _mean(values: np.ndarray) -> float:
    """Return the mean of the known values, NaN if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def _share(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return (N,) the share of pixels on which a model (N, P) agrees with others (B, N, P), among those with
    an answer from both; NaN if there are none.
    """
    same = np.zeros(len(one))
    both = np.zeros(len(one))
    none = np.iinfo(one.dtype).max
    wide = one.shape[1]
    silent = one == none
    whole = not silent.any()
    for other in others:
        equal = one == other
        if wide == 1:
            known = ~(silent | (other == none))[:, 0]
            same += equal[:, 0] & known
            both += known
        elif whole:  # equal pixels then have an answer
            same += equal.sum(1)
            both += (other != none).sum(1)
        else:
            silence = silent | (other == none)
            same += (equal & ~silence).sum(1)
            both += wide - silence.sum(1)
    return np.divide(same, both, out=np.full(len(one), np.nan), where=both > 0)


def _chance(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return (N,) the share of pixels on which others (B, N, P) would agree with the answers of a model (N,
    P) for random images; NaN if there are none.
    """
    none = np.iinfo(one.dtype).max
    n = int(max(side[side != none].max(initial=0) for side in (one, others))) + 1
    cells = np.minimum(one, n).astype(np.int64) + np.arange(one.shape[1]) * (n + 1)
    said = np.bincount(cells.ravel(), minlength=one.shape[1] * (n + 1)).reshape(-1, n + 1) / len(one)
    said[:, n] = 0
    same = np.zeros(len(one))
    both = np.zeros(len(one))
    for other in others:
        same += said[np.arange(len(said)), np.minimum(other, n)].sum(1)
        both += np.where(other == none, 0, said.sum(1)).sum(1)
    return np.divide(same, both, out=np.full(len(one), np.nan), where=both > 0)


def _clear(gains: np.ndarray, risk: float) -> float:
    """Return the mean of gains per image if it is significantly above 0 by a t-test over consecutive batches,
    else 0.
    """
    gains = gains[~np.isnan(gains)]
    if len(gains) < FEWEST:
        return 0.0
    batches = np.array([part.mean() for part in np.array_split(gains, min(_BATCHES, len(gains)))])
    error = batches.std(ddof=1) / np.sqrt(len(batches))
    from scipy.special import stdtrit

    return (
        float(gains.mean())
        if batches.mean() > stdtrit(len(batches) - 1, 1 - risk) * error and gains.mean() > 0
        else 0.0
    )
