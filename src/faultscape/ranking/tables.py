"""Four rankings of one set of models on one set of images, each with intervals: the core that standings are made of.

Conventions: J models, I images with labels, S slots, B replicates. Row 0 of the weights is the point estimate, all ones; the
others are draws of images with replacement, the images of the selection and the others each as a stratum of their own, so that
further labels leave the faithful intervals alone. Models that comparisons do not connect both ways have no score, nor has a
replicate that fails to connect those that the point estimate does.
Source: S0 3.1.3; the re-use of labels is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultscape.errors import RankingError, closest
from faultscape.nouns import Slot
from faultscape.ranking import intervals
from faultscape.ranking.agreement import plain
from faultscape.ranking.bradley_terry import DECIMALS, bradley_terry, smoothed, wins
from faultscape.ranking.likelihood import connected
from faultscape.ranking.matrices import aggressiveness, resistance
from faultscape.ranking.outcomes import Outcomes, outcomes
from faultscape.ranking.thurstone import thurstone

FAITHFUL = {"aggressiveness": aggressiveness, "resistance": resistance}
RANKINGS = (*FAITHFUL, "reuse_mean", "reuse_bradley_terry")
PSEUDO_COUNT = 0.5
FEW = 10  # fewer images than this cannot carry a bootstrap


@dataclass(frozen=True, eq=False)
class Duels:
    """Slots as places of models, classes and images, (S,) each; image -1 has no label."""

    defender: np.ndarray
    attacker: np.ndarray
    group: np.ndarray
    image: np.ndarray

    def among(self, labelled: np.ndarray) -> Duels:
        """Take the image from slots whose image is not ``labelled`` (I,)."""
        known = self.image >= 0
        known[known] = labelled[self.image[known]]
        return Duels(self.defender, self.attacker, self.group, np.where(known, self.image, -1))

    def at(self, columns: np.ndarray) -> Duels:
        """Number the images by their place in ``columns`` (sorted), which hold every image that a slot has."""
        return Duels(self.defender, self.attacker, self.group, np.where(self.image < 0, -1, np.searchsorted(columns, self.image)))

    def of(self, groups: list[int]) -> Duels:
        """Keep the slots of some classes, numbered by their place in ``groups``."""
        new = {group: place for place, group in enumerate(groups)}
        keep = np.isin(self.group, groups)
        return Duels(
            self.defender[keep],
            self.attacker[keep],
            np.array([new[g] for g in self.group[keep]], dtype=np.intp),
            self.image[keep],
        )


@dataclass(frozen=True, eq=False)
class Table:
    """Matrices and rankings as standings hold them, and per ranking the scores (J,) and their replicates (B, J)."""

    matrices: dict[str, list[list[float]]]
    rankings: dict[str, dict[str, Any]]
    scores: dict[str, np.ndarray]
    replicates: dict[str, np.ndarray]
    notes: tuple[str, ...]


def duels(models: tuple[str, ...], rows: Sequence[Slot], images: list[str], class_names: list[str]) -> Duels:
    """Return the slots as places; RankingError for a model or class that is not known."""
    model, image, group = ({name: place for place, name in enumerate(names)} for names in (models, images, class_names))
    for row in rows:
        for name in (row.defender, row.attacker):
            if name not in model:
                raise RankingError(f"a slot is a duel of {name!r}; the models are {', '.join(models)}.{closest(name, models)}")
        if row.class_ not in group:
            raise RankingError(
                f"a slot is of class {row.class_!r}; the classes are {', '.join(class_names)}.{closest(row.class_, class_names)}"
            )
    columns = [(model[r.defender], model[r.attacker], group[r.class_], image.get(r.image, -1)) for r in rows]
    return Duels(*np.array(columns, dtype=np.intp).reshape(-1, 4).T)


def table(
    models: tuple[str, ...],
    duels: Duels,
    accuracy: np.ndarray,
    chosen: np.ndarray,
    *,
    groups: int,
    epsilon: float,
    resamples: int,
    seed: int,
) -> Table:
    """Return the four rankings from (J, I) concordances with the truth; ``chosen`` (I,) are the images that a slot has."""
    rng = np.random.default_rng(seed)
    weights = np.ones((resamples + 1, len(chosen)))
    for stratum in (chosen, ~chosen):
        weights[1:, stratum] = intervals.bootstrap_weights(int(stratum.sum()), resamples, rng)
    found = outcomes(duels.defender, duels.attacker, duels.group, duels.image, accuracy, weights, groups=groups)
    notes = _skipped(found)
    scores, matrices, fits = {}, {}, {}
    for name, matrix in FAITHFUL.items():
        ratios = matrix(found.performance, epsilon)
        matrices[name] = ratios[0].tolist()
        both_ways = ~np.isnan(ratios) & ~np.isnan(np.swapaxes(ratios, 1, 2))
        scores[name], fits[name] = _fit(models, np.where(both_ways, ratios, np.nan), thurstone)
        if name == "aggressiveness" and (lone := int((~np.isnan(ratios[0]) & ~both_ways[0]).sum())):
            notes.append(f"pairs of models compared in one direction only, which the rankings of eq. 6 leave out: {lone}")

    shared, whole, said = _shared(models, accuracy)
    notes += said
    drawn = weights[:, whole].sum(1, keepdims=True)
    total = np.einsum("bi,ji->bj", weights[:, whole], shared)
    scores["reuse_mean"] = np.divide(total, drawn, out=np.full_like(total, np.nan), where=drawn > 0)
    games = wins(shared, weights[:, whole])
    smooth = smoothed(games, PSEUDO_COUNT)
    scores["reuse_bradley_terry"], said = _fit(models, smooth, lambda counts: bradley_terry(counts, 0))
    if lone := [
        m for m, before, now in zip(models, connected(games[0]), connected(smooth[0]), strict=True) if now and not before
    ]:
        said.append(f"{', '.join(lone)} always win or always lose; how far apart is up to the pseudo-count of {PSEUDO_COUNT}")
    fits["reuse_bradley_terry"] = said
    for text in dict.fromkeys(text for texts in fits.values() for text in texts):
        notes.append(f"{', '.join(name for name, texts in fits.items() if text in texts)}: {text}")
    if not resamples:
        notes.append("no bootstrap: there are no intervals, and nobody is called tied for best")
    elif len(chosen) < FEW:
        notes.append(f"the intervals rest on fewer than {FEW} images ({len(chosen)}): they are too narrow to be trusted")
    rankings = {name: _ranking(models, scores[name][0], scores[name][1:]) for name in RANKINGS}
    return Table(matrices, rankings, {n: s[0] for n, s in scores.items()}, {n: s[1:] for n, s in scores.items()}, tuple(notes))


def _shared(models: tuple[str, ...], accuracy: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the concordances on the images that every ranked model has, rounded, which images those are, and what to say."""
    known = ~np.isnan(accuracy)
    ranked = np.array(known.any(1))
    whole = np.array(known[ranked].all(0))
    notes = []
    if not whole.all():
        lacking = ", ".join(m for m, row in zip(models, known, strict=True) if row.any() and not row.all())
        notes.append(f"re-use: {int((~whole).sum())} labelled images are left out, on which {lacking} cannot be scored")
    if not ranked.all():
        lacking = ", ".join(m for m, yes in zip(models, ranked, strict=True) if not yes)
        notes.append(f"re-use: {lacking} cannot be scored on any labelled image")
    return np.round(accuracy[:, whole], DECIMALS), whole, notes


def _fit(models: tuple[str, ...], weights: np.ndarray, fit: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, list[str]]:
    """Return (1 + B, J) scores of the models that the point estimate connects, and what to say of the others."""
    joined = connected(weights[0])
    scores = fit(np.where(joined[:, None] & joined[None, :], weights, np.nan))
    # a replicate that ranks only some of them has scores on another footing
    scores[(np.isnan(scores) & joined).any(1)] = np.nan
    notes = []
    if not joined.all():
        lone = ", ".join(m for m, yes in zip(models, joined, strict=True) if not yes)
        others = "the others" if joined.any() else "each other"
        notes.append(f"no score for {lone}: comparisons do not link them to {others} both ways")
    if np.isnan(scores[0, joined]).any():
        notes.append("no score: the comparisons are too uneven for a maximum to be found in floating point")
    elif joined.any() and (lost := int(np.isnan(scores[1:, joined]).any(1).sum())):
        notes.append(f"{lost} of {len(scores) - 1} bootstrap replicates lack comparisons and are left out of the intervals")
    return scores, notes


def _skipped(found: Outcomes) -> list[str]:
    notes = []
    if found.empty_cells:
        notes.append(f"{found.empty_cells} of {found.cells} cells (defender, attacker, class) hold no image and are skipped")
    if found.unlabelled_cells:
        notes.append(f"{found.unlabelled_cells} cells hold images but no label and are skipped")
    return notes


def _ranking(models: tuple[str, ...], scores: np.ndarray, replicates: np.ndarray) -> dict[str, Any]:
    order = sorted(
        range(len(models)),
        key=lambda k: (np.isnan(scores[k]), -round(float(scores[k]), DECIMALS) if scores[k] == scores[k] else 0),
    )
    spread = intervals.percentile_interval(replicates)
    places = intervals.rank_interval(replicates)
    tied = intervals.tied_for_best(scores, replicates)
    return {
        "scores": dict(zip(models, scores.tolist(), strict=True)),
        "order": [models[k] for k in order],
        "score_interval": dict(zip(models, spread.tolist(), strict=True)),
        "rank_interval": {m: [plain(r) for r in row] for m, row in zip(models, places, strict=True)},
        "tied_for_best": [models[k] for k in order if tied[k]],
    }
