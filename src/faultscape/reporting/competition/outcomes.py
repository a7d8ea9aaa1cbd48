"""Summarize the labels of the chosen images: shares in bands, box plots, the three cases of a duel or of a
pair of classifiers, and how failures transfer.

Conventions: ``accuracy`` (J, I) is each model's concordance with the truth on the labelled chosen images, NaN
where unknown; unknown values are left out and never counted as failures. ``bands`` are ascending edges; a
value on an edge belongs to the band above. A model *fails* on an image if its value is below the lowest edge.
The case of a duel is II if the two values differ by at least ``better``; otherwise I if neither fails;
otherwise III. Of classifiers, an image counts once for each pair that chose it, if the label decides for
both: I both right, II one right, III neither; accuracies are plain shares of right answers, without Laplace
smoothing.
Source: Yan et al. 2021, section 3.1.1 (the cases), Figs. 6-8; the thresholds are ours where the paper gives
none. Wang et al. 2020, sections 2.1 and 3.2 (similar accuracies on a pair's images come with low ones).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import OptionError
from faultscape.nouns import PairSlot, Slot
from faultscape.ranking.agreement import spearman
from faultscape.ranking.classifiers import pair_places
from faultscape.ranking.pair_cases import pair_counts
from faultscape.reporting.view import Box

BANDS = (0.6, 0.8)
CROWDED = 0.95  # share of values in one band above which other edges are proposed
BETTER = 0.1


@dataclass(frozen=True)
class Cases:
    """Labelled duels of one defender by case; ``defender`` and ``attacker`` are Case II by who was better."""

    model: str
    both_good: int
    defender: int
    attacker: int
    both_poor: int

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The duels of case I, of II by who was better, and of III."""
        return self.both_good, self.defender, self.attacker, self.both_poor

    @property
    def total(self) -> int:
        """The number of labelled duels."""
        return sum(self.counts)


@dataclass(frozen=True)
class Transfer:
    """``others[k]`` counts duels on whose image exactly k of the models that did not duel fail; on
    ``all_fail`` of ``images`` images every model fails.
    """

    others: tuple[int, ...]
    images: int
    all_fail: int
    none_fails: int


def check(bands: Sequence[float], better: float) -> tuple[float, ...]:
    """Return the edges of the bands; OptionError if they do not ascend within 0..1 or ``better`` is not a
    difference of two such values.

    >>> check([0.6, 0.8], 0.1)
    (0.6, 0.8)
    """
    edges = tuple(float(edge) for edge in bands)
    if (
        not edges
        or not all(0 < edge < 1 for edge in edges)
        or any(a >= b for a, b in itertools.pairwise(edges))
    ):
        raise OptionError(
            "bands are rising numbers between 0 and 1, for example --bands 0.6 --bands 0.8; got"
            f" {list(bands)}"
        )
    if not 0 < better <= 1:
        raise OptionError(f"better is a difference above 0 and at most 1; got {better}")
    return edges


def case(defender: float, attacker: float, fail: float, better: float) -> str:
    """Return the case of one duel: "I", "II" or "III", or "" when a value is unknown.

    >>> case(0.9, 0.85, 0.6, 0.1), case(0.9, 0.5, 0.6, 0.1), case(0.5, 0.45, 0.6, 0.1)
    ('I', 'II', 'III')
    """
    if np.isnan(defender) or np.isnan(attacker):
        return ""
    if round(abs(defender - attacker), 12) >= better:
        return "II"
    return "I" if min(defender, attacker) >= fail else "III"


def band_counts(accuracy: np.ndarray, bands: Sequence[float]) -> np.ndarray:
    """Return (J, bands + 1), the number of values of each model in each band, the lowest first.

    >>> band_counts(np.array([[0.1, 0.6, 0.9, np.nan]]), (0.6, 0.8)).tolist()
    [[1, 1, 1]]
    """
    place = np.digitize(accuracy, bands)
    known = ~np.isnan(accuracy)
    return np.stack([((place == k) & known).sum(1) for k in range(len(bands) + 1)], axis=1)


def telling_bands(accuracy: np.ndarray, bands: Sequence[float]) -> tuple[float, ...]:
    """Return edges that cut the known values into thirds if nearly all of them lie in one of ``bands``; () if
    the bands already separate them, or no two edges can.

    >>> telling_bands(np.array([[0.1, 0.2, 0.3, 0.4]]), (0.6, 0.8))
    (0.2, 0.3)
    >>> telling_bands(np.array([[0.1, 0.7, 0.9]]), (0.6, 0.8))
    ()
    """
    counts = band_counts(accuracy, bands).sum(0)
    if counts.max() < CROWDED * counts.sum() or not counts.sum():
        return ()
    low, high = (float(round(x, 2)) for x in np.nanquantile(accuracy, (1 / 3, 2 / 3)))
    return (low, high) if 0 < low < high < 1 else ()


def box(values: np.ndarray) -> Box | None:
    """Return the box of the known values, with linear percentiles; None without any."""
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    return Box(len(values), *(float(x) for x in np.percentile(values, [0, 25, 50, 75, 100])))


def chosen_boxes(
    models: Sequence[str], chosen: Sequence[Slot], images: Sequence[str], accuracy: np.ndarray
) -> list[tuple[Box | None, Box | None]]:
    """Return for each model the boxes over the images that it duelled on (U_i of Yan et al. 2021, Fig. 7) and
    over the others (V_i).
    """
    duelled = {(model, row.image) for row in chosen for model in (row.defender, row.attacker)}
    out = []
    for j, model in enumerate(models):
        mine = np.array([(model, image) in duelled for image in images], bool)
        out.append((box(accuracy[j, mine]), box(accuracy[j, ~mine])))
    return out


def slot_values(
    models: Sequence[str], chosen: Sequence[Slot], images: Sequence[str], accuracy: np.ndarray
) -> np.ndarray:
    """Return (S, 2), the values of defender and attacker in every chosen slot, NaN without a label."""
    row = {m: j for j, m in enumerate(models)}
    column = {image: i for i, image in enumerate(images)}
    out = np.full((len(chosen), 2), np.nan)
    for s, slot in enumerate(chosen):
        if slot.image in column:
            out[s] = accuracy[[row[slot.defender], row[slot.attacker]], column[slot.image]]
    return out


def cases(
    models: Sequence[str], chosen: Sequence[Slot], values: np.ndarray, fail: float, better: float
) -> list[Cases]:
    """Return the labelled duels of every defender by case; their totals add up to the duels in which both
    values are known.
    """
    tally = {model: [0, 0, 0, 0] for model in models}
    for slot, (defender, attacker) in zip(chosen, values.tolist(), strict=True):
        which = case(defender, attacker, fail, better)
        if which:
            column = {"I": 0, "II": 1 if defender > attacker else 2, "III": 3}[which]
            tally[slot.defender][column] += 1
    return [Cases(model, *tally[model]) for model in models]


def transfer(
    models: Sequence[str], chosen: Sequence[Slot], images: Sequence[str], accuracy: np.ndarray, fail: float
) -> Transfer:
    """Return how failures on chosen images carry over to the models that did not duel (Yan et al. 2021, Fig.
    8).
    """
    failing = (accuracy < fail).astype(int)  # NaN is not below anything
    known = ~np.isnan(accuracy)
    row = {m: j for j, m in enumerate(models)}
    column = {image: i for i, image in enumerate(images)}
    others = [0] * max(len(models) - 1, 1)
    for slot in chosen:
        if slot.image in column and len(models) > 2:
            at = column[slot.image]
            mine = failing[[row[slot.defender], row[slot.attacker]], at].sum()
            others[int(failing[:, at].sum()) - int(mine)] += 1
    whole = known.any(0)
    all_fail = ((failing > 0) | ~known).all(0) & whole
    return Transfer(
        tuple(others), int(whole.sum()), int(all_fail.sum()), int((~failing.any(0) & whole).sum())
    )


@dataclass(frozen=True)
class PairCases:
    """Decided images of one pair by case; ``first`` and ``second`` are case II by which model was right."""

    model_a: str
    model_b: str
    both_right: int
    first: int
    second: int
    both_wrong: int

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The images of case I, of II by who was right, and of III."""
        return self.both_right, self.first, self.second, self.both_wrong

    @property
    def total(self) -> int:
        """The number of decided images."""
        return sum(self.counts)

    @property
    def better(self) -> float:
        """The larger of both accuracies; NaN without images."""
        return (self.both_right + max(self.first, self.second)) / self.total if self.total else math.nan

    @property
    def gap(self) -> float:
        """The difference of both accuracies; NaN without images."""
        return abs(self.first - self.second) / self.total if self.total else math.nan


def pair_cases(
    models: Sequence[str], chosen: Sequence[PairSlot], images: Sequence[str], correct: np.ndarray
) -> list[PairCases]:
    """Return the cases of every pair that has slots, from (J, I) 1, 0 or NaN on the labelled ``images``, the
    most informative pairs first.

    >>> rows = [
    ...     PairSlot("mad", 1, 1, "a", "b", "cat", "car", k, image, 1.0, 0.9, 1.0, 9)
    ...     for k, image in enumerate("xyz", 1)
    ... ]
    >>> (found,) = pair_cases(["a", "b"], rows, ["x", "y"], np.array([[1.0, 0], [0, 0]]))
    >>> found.first, found.both_wrong, found.better, found.gap
    (1, 1, 0.5, 0.5)
    """
    first, second, image = pair_places(models, chosen, images)
    counts = pair_counts(first, second, image, correct)
    met = sorted({(int(min(a, b)), int(max(a, b))) for a, b in zip(first, second, strict=True)})
    out = [
        PairCases(
            models[a],
            models[b],
            *(
                int(x)
                for x in (
                    counts.both_right[0, a, b],
                    counts.wins[0, a, b],
                    counts.wins[0, b, a],
                    counts.both_wrong[0, a, b],
                )
            ),
        )
        for a, b in met
    ]
    return sorted(out, key=lambda pair: -(pair.first + pair.second) / max(pair.total, 1))


def sums(found: Sequence[Cases] | Sequence[PairCases]) -> list[int]:
    """Return the sums of the counts of all: case I, the two ends of II, and III.

    >>> sums([Cases("a", 1, 0, 2, 3), Cases("b", 4, 1, 0, 0)])
    [5, 1, 2, 3]
    """
    return [sum(one.counts[k] for one in found) for k in range(4)]


def observed(found: Sequence[PairCases]) -> str:
    """Return a sentence on whether the paper's observation holds here: where two models have similar
    accuracies, both are poor. '' for fewer than four pairs.

    >>> observed([PairCases("a", "b", 0, k, 0, 9 - k) for k in range(5)])
    'Here the two correlate (Spearman 1.00 over 5 pairs): where two models score alike, both are poor.'
    """
    known = [pair for pair in found if pair.total]
    if len(known) < 4:
        return ""
    x = float(spearman([pair.gap for pair in known], [pair.better for pair in known]))
    if math.isnan(x):
        return ""
    said = f"(Spearman {x:.2f} over {len(known)} pairs)".replace("-", "−")
    if x >= 0.5:
        return f"Here the two correlate {said}: where two models score alike, both are poor."
    if x <= 0:
        return f"That does not hold here {said}."
    return f"Here the two correlate weakly {said}."
