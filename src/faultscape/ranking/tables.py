"""Four rankings of one set of models on one set of images, each with intervals: the core of standings.

Conventions: J models, I images with labels, S slots, B replicates. Row 0 of the weights is the point
estimate, all ones; the others are draws of images with replacement. Images of the selection and other images
are separate strata, so that further labels do not affect the faithful intervals. Models that comparisons do
not connect both ways have no score, nor has a replicate that fails to connect those that the point estimate
does.
Source: Yan et al. 2021, section 3.1.3; the re-use of labels is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultscape.errors import RankingError, closest, counted
from faultscape.nouns import Slot
from faultscape.ranking import replicates
from faultscape.ranking.catalogue import Ranking, taking
from faultscape.ranking.choice_shares import Shares, slot_shares
from faultscape.ranking.matrices import aggressiveness
from faultscape.ranking.methods.bradley_terry import smoothed
from faultscape.ranking.methods.likelihood import PSEUDO_COUNT, connected
from faultscape.ranking.outcomes import Outcomes, duel_outcomes
from faultscape.ranking.replicates import Table, draws_of, image_weights
from faultscape.ties import DECIMALS


@dataclass(frozen=True, eq=False)
class Duels:
    """Slots as places of models, classes and images, (S,) each; image -1 has no label.

    ``worth`` (2, S) are the shares of choices for the defender and the attacker, NaN if nobody chose between
    them on that image, and ``voices`` (S,) the number of these choices.
    """

    defender: np.ndarray
    attacker: np.ndarray
    group: np.ndarray
    image: np.ndarray
    worth: np.ndarray
    voices: np.ndarray

    def among(self, labelled: np.ndarray) -> Duels:
        """Remove the image from slots whose image is not ``labelled`` (I,) and has no choices."""
        known = self.image >= 0
        known[known] = labelled[self.image[known]]
        return replace(self, image=np.where(known | ~np.isnan(self.worth[0]), self.image, -1))

    def at(self, columns: np.ndarray) -> Duels:
        """Renumber the images by their place in ``columns`` (sorted), which contain every image that a slot
        has.
        """
        return replace(self, image=np.where(self.image < 0, -1, np.searchsorted(columns, self.image)))

    def only(self, keep: np.ndarray) -> Duels:
        """Keep some of the slots."""
        columns = (self.defender, self.attacker, self.group, self.image)
        return Duels(
            *(column[keep] for column in columns), worth=self.worth[:, keep], voices=self.voices[keep]
        )

    def of(self, groups: list[int]) -> Duels:
        """Keep the slots of some classes, numbered by their place in ``groups``."""
        new = {group: place for place, group in enumerate(groups)}
        kept = self.only(np.isin(self.group, groups))
        return replace(kept, group=np.array([new[g] for g in kept.group], dtype=np.intp))

    def outcomes(self, accuracy: np.ndarray, weights: np.ndarray | None = None, *, groups: int) -> Outcomes:
        """Return the scores of both sides by (J, I) concordances with the truth and by choices: see
        `outcomes.duel_outcomes`.
        """
        places = (self.defender, self.attacker, self.group, self.image)
        return duel_outcomes(*places, accuracy, weights, groups=groups, worth=self.worth, voices=self.voices)


def duels(
    models: tuple[str, ...],
    rows: Sequence[Slot],
    images: list[str],
    class_names: list[str],
    choices: Shares | None = None,
) -> Duels:
    """Return the slots as places, with the ``choices`` that people made between their models; RankingError
    for an unknown model or class.
    """
    model, image, group = (
        {name: place for place, name in enumerate(names)} for names in (models, images, class_names)
    )
    for row in rows:
        for name in (row.defender, row.attacker):
            if name not in model:
                raise RankingError(
                    f"a slot is a duel of {name!r}; the models are"
                    f" {', '.join(models)}.{closest(name, models)}"
                )
        if row.class_ not in group:
            raise RankingError(
                f"a slot is of class {row.class_!r}; the classes are"
                f" {', '.join(class_names)}.{closest(row.class_, class_names)}"
            )
    columns = [(model[r.defender], model[r.attacker], group[r.class_], image.get(r.image, -1)) for r in rows]
    share, voices = slot_shares(rows, choices or {})
    return Duels(
        *np.array(columns, dtype=np.intp).reshape(-1, 4).T, worth=np.stack([share, 1 - share]), voices=voices
    )


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
    together: np.ndarray | None = None,
    extra: Sequence[Ranking] = (),
    games: np.ndarray | None = None,
) -> Table:
    """Return the four rankings, and your own (``extra``), from (J, I) concordances with the truth; ``chosen``
    (I,) are the images that a slot has, ``together`` (I,) the group of each that is drawn whole.

    If people chose between models, ``games`` (I, J, J) are the choices for the row model against the column
    model: then there is also a ranking of choices, and the two of labels only if there are labels.
    """
    weights = image_weights(chosen, resamples, seed, together)
    found = duels.outcomes(accuracy, weights, groups=groups)
    notes = _skipped(found)
    scores, matrices, fits = {}, {}, {}
    for faithful in taking("ratios", extra):
        name = faithful.name
        ratios = (faithful.matrix or aggressiveness)(found.performance, epsilon)
        matrices[name] = ratios[0]
        both_ways = ~np.isnan(ratios) & ~np.isnan(np.swapaxes(ratios, 1, 2))
        joined = connected(np.where(both_ways[0], ratios[0], np.nan))
        fitted = faithful.compute(np.where(both_ways & joined[:, None] & joined[None, :], ratios, np.nan))
        scores[name], fits[name] = replicates.one_footing(models, joined, fitted)
        if name == "aggressiveness" and (lone := int((~np.isnan(ratios[0]) & ~both_ways[0]).sum())):
            notes.append(
                "pairs of models compared in one direction only, which the rankings of eq. 6 leave out:"
                f" {lone}"
            )

    drawn = dict.fromkeys(scores, draws_of(chosen, together))
    if games is not None:
        for by_choice in taking("choices"):
            joined = connected(smoothed(games.sum(0), PSEUDO_COUNT))
            strengths = by_choice.compute(games, weights)
            scores[by_choice.name], fits[by_choice.name] = replicates.one_footing(models, joined, strengths)
            drawn[by_choice.name] = draws_of(np.asarray(games.any((1, 2))), together)
    shared, whole, said = _shared(models, accuracy)
    labelled = np.array(~np.isnan(accuracy).all(0))
    again, errors, others = (
        replicates.reuse(models, shared, weights[:, whole], extra) if labelled.any() else ({}, {}, {})
    )
    drawn |= dict.fromkeys(again, draws_of(labelled, together))
    together = None if together is None else together[whole]
    return replicates.table(
        models,
        matrices,
        scores | again,
        errors,
        fits | others,
        drawn,
        notes + said,
        ~np.isnan(shared),
        together,
        extra=extra,
    )


def _shared(models: tuple[str, ...], accuracy: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the concordances on the images that every ranked model has, rounded, which images those are, and
    notes to print.
    """
    known = ~np.isnan(accuracy)
    labelled, ranked = np.array(known.any(0)), np.array(known.any(1))
    whole = np.array(known[ranked].all(0)) & labelled
    notes = []
    if not labelled.any():
        return accuracy[:, whole], whole, []
    if not whole[labelled].all():
        lacking = ", ".join(
            m for m, row in zip(models, known[:, labelled], strict=True) if row.any() and not row.all()
        )
        notes.append(
            f"re-use: {counted(int((labelled & ~whole).sum()), 'labelled image is', 'labelled images are')}"
            f" left out, on which {lacking} cannot be scored"
        )
    if not ranked.all():
        lacking = ", ".join(m for m, yes in zip(models, ranked, strict=True) if not yes)
        notes.append(f"re-use: {lacking} cannot be scored on any labelled image")
    return np.round(accuracy[:, whole], DECIMALS), whole, notes


def _skipped(found: Outcomes) -> list[str]:
    notes = []
    if found.empty_cells:
        notes.append(
            f"{found.empty_cells} of {found.cells} cells (defender, attacker, class) hold no image and are"
            " skipped"
        )
    if found.unlabelled_cells:
        words = "cell holds images but no label and is", "cells hold images but no label and are"
        notes.append(f"{counted(found.unlabelled_cells, *words)} skipped")
    return notes
