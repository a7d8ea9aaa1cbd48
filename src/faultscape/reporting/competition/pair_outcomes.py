"""The outcomes of each pair of classifiers on its labelled images: cases I, II, III, accuracies, and their
difference.

Conventions: an image counts once for each pair that chose it, if the label decides for both models. Case I:
both right; II: one right; III: neither. Accuracies are plain shares of right answers, without Laplace
smoothing.
Source: Wang et al. 2020, section 2.1 and 3.2 (similar accuracies on a pair's images come with low ones).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.nouns import PairSlot
from faultscape.ranking.agreement import spearman
from faultscape.ranking.classifiers import pair_places
from faultscape.ranking.pair_cases import pair_counts


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
    def total(self) -> int:
        """The number of decided images."""
        return self.both_right + self.first + self.second + self.both_wrong

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
