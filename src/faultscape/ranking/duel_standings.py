"""Who wins, from the labels of duels of label maps: four rankings of one set of models, with intervals, and
what they are based on.

Conventions: J models, I images with labels, S slots, B replicates. Two *faithful* rankings (aggressiveness,
resistance: Yan et al. 2021, eq. 3-6) use each labelled image only for the duels that chose it; two *re-use*
rankings (mean concordance, Bradley-Terry) let each labelled image score every model, on the images that every
ranked model has. A pair of models compared in one direction only is left out of eq. 6: a lone ratio would
always favour its row model.

``accuracy`` (J, I) is the concordance of each model with the truth, NaN where there is no label.
``class_names`` are the names of the classes. ``parents`` hold the names of the classes of each group.

Source: Yan et al. 2021, section 3.1.3, Tables 1 and 3; the re-use of labels is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from faultscape.comparison.concordance import accuracies
from faultscape.errors import RankingError, closest, counted
from faultscape.metrics.intervals.units import LEVEL
from faultscape.nouns import JsonObject, Pairs, Slot, Slots
from faultscape.ranking import replicates
from faultscape.ranking.assembly import Findings, assemble
from faultscape.ranking.catalogue import Ranking, taking, words_of
from faultscape.ranking.choice_shares import Shares, choice_games, slot_shares
from faultscape.ranking.matrices import aggressiveness
from faultscape.ranking.methods.bradley_terry import smoothed
from faultscape.ranking.methods.likelihood import PSEUDO_COUNT, connected
from faultscape.ranking.methods.thurstone import thurstone
from faultscape.ranking.outcomes import Outcomes, duel_outcomes
from faultscape.ranking.panel import Panel, RankingOptions
from faultscape.ranking.replicates import Table, linked, reused, with_intervals
from faultscape.ranking.stability import stability
from faultscape.ranking.standings_json import from_json, to_json
from faultscape.standings import ParentStandings, Stability, Standings, labelled_note
from faultscape.ties import DECIMALS

__all__ = ["from_json", "rank_accuracies", "standings", "to_json"]

INVERSE = (
    "resistance and aggressiveness come from the same numbers (r_ij = 1 / a_ji), so that they agree"
    " confirms nothing; they differ only through the fit of Yan et al. 2021, eq. 6"
)


def standings(
    slots: Slots,
    pairs: Pairs,
    *,
    epsilon: float = 0.01,
    resamples: int = 1000,
    seed: int = 0,
    truth: str | None = None,
    all_labels: bool = False,
    benchmark: dict[str, float] | None = None,
    discarded: int = 0,
    keys: Sequence[str] | None = None,
) -> Standings:
    """Return the standings of a selection's models from counts against a truth, with the selection's own
    concordance.

    ``truth`` names one of ``pairs.truths``, the only one by default; images without it count as not labelled.
    With ``all_labels`` the re-use rankings count the labels of all images. ``benchmark`` is {model: score},
    larger is better. ``keys`` (I,) identify images independently of their names, such as the SHA-256 of the
    file (ids by default): the bootstrap draws images in the order of the keys, so that names change no
    interval. Errors: RankingError if nothing is labelled, a model is not in ``pairs`` or the benchmark lacks
    one.
    """
    for model in slots.models:
        if model not in pairs.models:
            raise RankingError(
                f"the selection ranks {model!r}, the pairs hold"
                f" {', '.join(pairs.models)}.{closest(model, pairs.models)}"
            )
    definition = slots.definition
    accuracy = accuracies(
        pairs, definition.get("concordance", "miou"), over=definition.get("over", "union"), truth=truth
    )
    mine = accuracy[[pairs.models.index(model) for model in slots.models]]
    names = definition.get("groups", list(dict.fromkeys(row.class_ for row in slots.duels)))
    recorded = cast("JsonObject", {key: value for key, value in definition.items() if key != "scale"})
    return assemble(
        Panel.of(slots.models, pairs.images, mine, keys=keys, discarded=discarded),
        Duels(slots.duels, names, pairs.classes.parents, epsilon),
        RankingOptions(resamples, seed, all_labels, benchmark, recorded),
    )


def rank_accuracies(
    models: Sequence[str],
    rows: Sequence[Slot],
    accuracy: ArrayLike,
    images: Sequence[str],
    *,
    class_names: Sequence[str],
    parents: Mapping[str, Sequence[str]] | None = None,
    epsilon: float = 0.01,
    resamples: int = 1000,
    seed: int = 0,
    all_labels: bool = False,
    benchmark: Mapping[str, float] | None = None,
    discarded: int = 0,
    definitions: JsonObject | None = None,
    groups: Mapping[str, str] | None = None,
    keys: Sequence[str] | None = None,
    extra: Sequence[Ranking] = (),
    choices: Shares | None = None,
) -> Standings:
    """Return the standings from (J, I) concordances of the models with the truth on ``images``, NaN where
    unknown.

    ``rows`` are the chosen slots; a column without any number is an image without a label; labelled images
    that no row chose are used only by the re-use rankings, and only with ``all_labels``. ``benchmark`` is
    {model: score}, larger is better; ``groups`` {image: group} are drawn whole, ``keys`` as in `standings`;
    ``extra`` are rankings of your own (`find_ranking`). ``choices`` are what people chose between two models
    (`choice_shares`): for an image without a label (a column of NaN) they say what both sides of its slots
    are worth. Errors: RankingError for slots, shapes or a benchmark that do not fit, or no label at all;
    OptionError for options out of range.

    >>> cells = [("unet", "fcn", "x"), ("fcn", "unet", "y")]
    >>> rows = [Slot("mad", 1, 1, d, a, "car", 1, image, 0.1, 1.0, 9) for d, a, image in cells]
    >>> table = rank_accuracies(
    ...     ["unet", "fcn"], rows, [[0.8, 0.6], [0.4, 0.5]], ["x", "y"], class_names=["car"], resamples=0
    ... )
    >>> table.rankings["resistance"].order, round(table.matrices["resistance"][0][1], 3)  # .81 / .41
    (['unet', 'fcn'], 1.976)
    """
    return assemble(
        Panel.of(models, images, accuracy, keys=keys, groups=groups, discarded=discarded),
        Duels(rows, class_names, parents or {}, epsilon, choices or {}),
        RankingOptions(resamples, seed, all_labels, benchmark, definitions or {}, extra),
    )


@dataclass(frozen=True, eq=False)
class Duels:
    """The slots of duels as evidence, for classes in groups (``parents``), and the ``choices`` that people
    made between their models; ``epsilon`` is added to both sides of each ratio.
    """

    rows: Sequence[Slot]
    class_names: Sequence[str]
    parents: Mapping[str, Sequence[str]] = field(default_factory=dict)
    epsilon: float = 0.01
    choices: Shares = field(default_factory=dict)

    def findings(self, panel: Panel, options: RankingOptions) -> Findings:
        """Return the rankings of all classes and of those of each parent group."""
        panel = panel.grouped()
        names = list(self.class_names)
        asked = ~np.isnan(slot_shares(self.rows, self.choices)[0])
        voted = {row.image for row, yes in zip(self.rows, asked.tolist(), strict=True) if yes}
        known = panel.labelled | np.array([image in voted for image in panel.images], bool)
        chosen = [row.image for row in self.rows]
        part = panel.counting(chosen, known, "chosen images", all_labels=options.all_labels)
        places = self.places(part).among(part.labelled)
        games = choice_games(part.models, part.images, self.choices) if self.choices else None
        whole = self._ranked(part, places, games, len(names), options)

        labelled = part.chosen & part.labelled
        said = [labelled_note(int(labelled.sum()), 0, part.wanted, "chosen")] if panel.labelled.any() else []
        labels = {}
        if games is not None:
            labels = {
                "choices": int(games.sum()),
                "by_choice": int((part.chosen & ~part.labelled).sum()),
            }
            said.append(_choices_text(**labels, chosen=part.wanted, labels=bool(labelled.any())))
        notes: list[str] = []
        by_parent: dict[str, ParentStandings] = {}
        for name, members in self.parents.items():
            named = [names.index(member) for member in members if member in names]
            inside = places.of(named)
            mine = np.unique(inside.image[inside.image >= 0])
            if len(mine):
                alone = part.only(mine)
                ranked = self._ranked(
                    replace(alone, chosen=np.ones(len(mine), bool)),
                    inside.at(mine),
                    None if games is None else games[mine],
                    len(named),
                    replace(options, extra=()),
                )
                by_parent[name] = ParentStandings(
                    {"used": len(mine), "slots": len(inside.image)},
                    {key: matrix.tolist() for key, matrix in ranked.matrices.items()},
                    ranked.table.rankings,
                    tuple(ranked.notes),
                )
            elif len(inside.image):
                notes.append(
                    f"parent group {name}: none of its {counted(len(inside.image), 'slot')} is labelled; it"
                    " is not ranked"
                )
        return Findings(
            part,
            whole.table,
            said,
            [*notes, *whole.notes, INVERSE],
            {"epsilon": self.epsilon}
            | options.recorded()
            | {"level": LEVEL, "interval": replicates.INTERVAL}
            | words_of(options.extra)
            | {
                "pseudo_count": PSEUDO_COUNT,
                "reuse_images": "those that every ranked model has",
                "image_overlap": "Jaccard index",
            },
            matrices=whole.matrices,
            labels=labels,
            parents=by_parent,
        )

    def _ranked(
        self, panel: Panel, places: Places, games: np.ndarray | None, classes: int, options: RankingOptions
    ) -> _Ranked:
        """Return the four rankings, and your own, of a panel; if people chose between models, ``games`` (I,
        J, J) are the choices for the row model against the column model: then there is also a ranking of
        choices, and the two of labels only if there are labels.
        """
        weights = panel.weights(options)
        outcomes = places.outcomes(panel.scores, weights, classes=classes)
        notes = _skipped(outcomes)
        matrices = {}
        scored = {}
        images = panel.draws(panel.chosen)
        for faithful in taking("ratios", options.extra):
            name = faithful.name
            ratios = (faithful.matrix or aggressiveness)(outcomes.performance, self.epsilon)
            matrices[name] = ratios[0]
            both_ways = ~np.isnan(ratios) & ~np.isnan(np.swapaxes(ratios, 1, 2))
            joined = connected(np.where(both_ways[0], ratios[0], np.nan))
            fitted = faithful.compute(np.where(both_ways & joined[:, None] & joined[None, :], ratios, np.nan))
            scored[name] = linked(panel.models, joined, fitted, images)
            if name == "aggressiveness" and (lone := int((~np.isnan(ratios[0]) & ~both_ways[0]).sum())):
                notes.append(
                    "pairs of models compared in one direction only, which the rankings of eq. 6 leave out:"
                    f" {lone}"
                )
        if games is not None:
            joined = connected(smoothed(games.sum(0), PSEUDO_COUNT))
            images = panel.draws(np.asarray(games.any((1, 2))))
            for by_choice in taking("choices"):
                strengths = by_choice.compute(games, weights)
                scored[by_choice.name] = linked(panel.models, joined, strengths, images)
        columns, said = _shared(panel)
        shared = panel.only(columns)
        shared = replace(shared, scores=np.round(shared.scores, DECIMALS))
        if panel.labelled.any():
            images = panel.draws(panel.labelled)
            scored |= reused(shared, weights[:, columns], images, options.extra)
        table = with_intervals(scored, shared, options.extra)
        return _Ranked(table, matrices, [*notes, *said, *table.notes])

    def places(self, panel: Panel) -> Places:
        """Return the slots as places in a panel; RankingError for an unknown model or class."""
        model = {name: place for place, name in enumerate(panel.models)}
        image = {name: place for place, name in enumerate(panel.images)}
        class_ = {name: place for place, name in enumerate(self.class_names)}
        for row in self.rows:
            for name in (row.defender, row.attacker):
                if name not in model:
                    raise RankingError(
                        f"a slot is a duel of {name!r}; the models are"
                        f" {', '.join(model)}.{closest(name, panel.models)}"
                    )
            if row.class_ not in class_:
                raise RankingError(
                    f"a slot is of class {row.class_!r}; the classes are"
                    f" {', '.join(class_)}.{closest(row.class_, [*class_])}"
                )
        columns = [
            (model[row.defender], model[row.attacker], class_[row.class_], image.get(row.image, -1))
            for row in self.rows
        ]
        share, voices = slot_shares(self.rows, self.choices)
        places = np.array(columns, dtype=np.intp).reshape(-1, 4).T
        return Places(*places, worth=np.stack([share, 1 - share]), voices=voices)

    def stability(self, panel: Panel) -> Stability:
        """Return the stability of the ranking by aggressiveness, on all images of a panel."""
        places = self.places(panel)
        models = len(panel.models)

        def score(keep: np.ndarray) -> np.ndarray:
            found = places.only(keep).outcomes(panel.scores, classes=len(self.class_names))
            ratios = aggressiveness(found.performance[0], self.epsilon)
            # a pair compared in one direction only is left out of eq. 6
            return thurstone(np.where(np.isnan(ratios.T), np.nan, ratios))

        attacked = np.stack([places.attacker == k for k in range(models)])
        met = np.zeros((models, models))
        np.add.at(met, (places.defender, places.attacker), places.image >= 0)
        return stability("aggressiveness", score, panel.models, attacked, [r.place for r in self.rows], met)


@dataclass(frozen=True, eq=False)
class _Ranked:
    table: Table
    matrices: dict[str, np.ndarray]
    notes: list[str]


@dataclass(frozen=True, eq=False)
class Places:
    """Slots as places of models, classes and images, (S,) each; image -1 has no label.

    ``worth`` (2, S) are the shares of choices for the defender and the attacker, NaN if nobody chose between
    them on that image, and ``voices`` (S,) the number of these choices.
    """

    defender: np.ndarray
    attacker: np.ndarray
    class_: np.ndarray
    image: np.ndarray
    worth: np.ndarray
    voices: np.ndarray

    def among(self, labelled: np.ndarray) -> Places:
        """Remove the image from slots whose image is not ``labelled`` (I,) and has no choices."""
        known = self.image >= 0
        known[known] = labelled[self.image[known]]
        return replace(self, image=np.where(known | ~np.isnan(self.worth[0]), self.image, -1))

    def at(self, columns: np.ndarray) -> Places:
        """Renumber the images by their place in ``columns`` (sorted), which contain every image that a slot
        has.
        """
        return replace(self, image=np.where(self.image < 0, -1, np.searchsorted(columns, self.image)))

    def only(self, keep: np.ndarray) -> Places:
        """Keep some of the slots."""
        columns = (self.defender, self.attacker, self.class_, self.image)
        return Places(
            *(column[keep] for column in columns), worth=self.worth[:, keep], voices=self.voices[keep]
        )

    def of(self, classes: list[int]) -> Places:
        """Keep the slots of some classes, numbered by their place in ``classes``."""
        new = {class_: place for place, class_ in enumerate(classes)}
        kept = self.only(np.isin(self.class_, classes))
        return replace(kept, class_=np.array([new[c] for c in kept.class_], dtype=np.intp))

    def outcomes(self, accuracy: np.ndarray, weights: np.ndarray | None = None, *, classes: int) -> Outcomes:
        """Return the scores of both sides by (J, I) concordances with the truth and by choices: see
        `outcomes.duel_outcomes`.
        """
        places = (self.defender, self.attacker, self.class_, self.image)
        return duel_outcomes(*places, accuracy, weights, groups=classes, worth=self.worth, voices=self.voices)


def _shared(panel: Panel) -> tuple[np.ndarray, list[str]]:
    """Return the columns of the images that every ranked model has, and notes to print."""
    known = ~np.isnan(panel.scores)
    labelled = panel.labelled
    ranked = np.array(known.any(1))
    whole = np.array(known[ranked].all(0)) & labelled
    notes = []
    if not whole[labelled].all():
        lacking = ", ".join(
            m for m, row in zip(panel.models, known[:, labelled], strict=True) if row.any() and not row.all()
        )
        notes.append(
            f"re-use: {counted(int((labelled & ~whole).sum()), 'labelled image is', 'labelled images are')}"
            f" left out, on which {lacking} cannot be scored"
        )
    if labelled.any() and not ranked.all():
        lacking = ", ".join(m for m, yes in zip(panel.models, ranked, strict=True) if not yes)
        notes.append(f"re-use: {lacking} cannot be scored on any labelled image")
    return np.flatnonzero(whole), notes


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


def _choices_text(choices: int, by_choice: int, chosen: int, *, labels: bool) -> str:
    """Return a note on people's choices: how many there are, and on how many images they count, if some have
    ``labels``.

    >>> _choices_text(60, 30, 45, labels=False)
    '60 choices between two models decide 30 of 45 chosen images; intervals redraw images, not people'
    >>> _choices_text(39, 0, 12, labels=True)
    '39 choices between two models decide no chosen image: their images have labels, which take precedence'
    """
    said = f"{counted(choices, 'choice')} between two models decide{'s' if choices == 1 else ''}"
    if not by_choice:
        return f"{said} no chosen image: their images have labels, which take precedence"
    which = f", which {'has' if by_choice == 1 else 'have'} no label" if labels else ""
    return f"{said} {by_choice} of {chosen} chosen images{which}; intervals redraw images, not people"
