"""A selection and its labels, as they are ranked: what counts, and what does not and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.comparison import combinations
from faultscape.errors import RankingError, counted
from faultscape.nouns import Slots
from faultscape.ranking.choice_shares import Shares
from faultscape.ranking.drawn.choice_steps import LEAST_MASKS, Votes
from faultscape.ranking.drawn.domains import Domain
from faultscape.ranking.panel import Panel
from faultscape.reading import choices as choice_evidence
from faultscape.reading import evidence
from faultscape.reading.choices import EVERYBODY, Voices, weights_note
from faultscape.reading.study import Study
from faultscape.selection.catalogue import find_selector
from faultscape.study.tables import selections
from faultscape.verbs.select.artefact import is_replaced, line_again


@dataclass(frozen=True, eq=False)
class Labelled:
    """A selection and its labels: its ``slots`` as they were made and as they count ``now``, and the
    ``panel`` of its models on all labelled images.

    Of duels, an image without a label on which people chose between two models has a column of NaN, and
    ``choices`` holds what they chose. Of drawn images ``votes`` hold what each person chose.
    """

    study: Study
    selection: str
    truth: str
    slots: Slots
    now: Slots
    drawn_from: str
    discarded: Mapping[str, str]
    panel: Panel
    notes: list[str]
    choices: Shares
    votes: Votes
    where: Domain | None
    voices: Voices
    weights: Mapping[str, float] | None

    def inside(self, all_labels: bool) -> Panel:
        """Return the panel of the images that count: those of the selection, or all, within the part that is
        ranked.
        """
        mine = set(self.now.images)
        images = enumerate(self.panel.images)
        there = [k for k, image in images if (image in mine or all_labels) and self.covers(image)]
        return self.panel.only(np.array(there, np.intp))

    def covers(self, image: str) -> bool:
        """Whether an image is in the part that is ranked."""
        return self.where is None or image in self.where.images


def labelled_selection(
    study: Study, selection: str, truth: str, where: Domain | None, voices: Voices = EVERYBODY
) -> Labelled:
    """Return a selection and its labels, to rank on all of its images or a part; RankingError if the
    selection is no longer valid.
    """
    made = study.selection(selection)
    discarded = study.discarded
    slots = made.slots
    now = made.now
    if gone := [m for m in now.models if m not in study.models]:
        raise RankingError(
            f"selection {selection!r} was drawn with {gone[0]!r}, which is no longer in the study; "
            f"{_line_to_redraw(study, selection)}"
        )
    if combinations.changed(now.definition):
        raise RankingError(
            f"selection {selection!r} was drawn with {combinations.spelt(now.definition)}, which has changed"
            " since; restore that file, or draw a new selection with --as NAME"
        )
    notes = _gone_notes(slots, now)
    choices: Shares = {}
    votes: Votes = {}
    if study.classifies:
        images, scores, said_of_ties = evidence.correctness(study, now.models, truth, discarded, voices)
        notes += said_of_ties
        weights = voices.weights_of_answers(voices.answers(study.answers.answers(truth)))
    else:
        images, scores = evidence.accuracies(study, now.models, truth, now.definition, discarded)
        said, outdated = choice_evidence.counting(study, truth, now.models, discarded)
        said = voices.choices(said)
        weights = voices.weights_of_choices(said)
        choices = choice_evidence.shares(said, weights) if not now.draws else {}
        votes = choice_evidence.votes(said) if now.draws else {}
        more = sorted({image for image, _, _ in choices} - set(images))
        images = [*images, *more]
        scores = np.hstack([scores, np.full((len(now.models), len(more)), np.nan)])
        if outdated:
            notes.append(
                f"{counted(outdated, 'choice')} between two models {'does' if outdated == 1 else 'do'} "
                "not count: one of the maps shown has been predicted again since; ask again"
            )
    if voices.weighted:
        notes.append(weights_note(weights))
    # discarded images count where they were chosen, within the part that is ranked
    lost = {row.image for row in slots.rows if where is None or row.image in where.images} & set(discarded)
    panel = Panel.of(
        now.models,
        images,
        scores,
        keys=study.corpus.tie_keys(images),
        groups=study.groups,
        discarded=len(lost),
    )
    return Labelled(
        study,
        selection,
        truth,
        slots,
        now,
        made.drawn_from,
        discarded,
        panel,
        notes,
        choices,
        votes,
        where,
        voices,
        weights,
    )


def _gone_notes(slots: Slots, now: Slots) -> list[str]:
    """Return what to say about models of a selection that left the study, where the others are ranked."""
    if not (gone := [model for model in slots.models if model not in now.models]):
        return []
    chance = find_selector(slots.definition["selector"]).chance
    return [
        (
            f"{', '.join(gone)} {'is' if len(gone) == 1 else 'are'} no longer in the study: the other"
            f" {len(now.models)} models are ranked from the same draws"
            f"{', whose probabilities still hold' if chance else ''}"
        )
    ]


def _line_to_redraw(study: Study, selection: str) -> str:
    """Return advice for a selection that is no longer valid."""
    if len(study.models) == 1:
        measure = f"`faultscape measure {study.place}` scores it against labels"
        return f"{study.models[0]} is left, and {measure}"
    if is_replaced(study, selection):
        return f"{study.selections[selection].slots.definition[selections.REPLACED_BY]} took its place"
    return f"redraw it with `{line_again(study, selection)}` (labels count for both)"


def refuse_unlabelled(known: Labelled, panel: Panel, mine: Sequence[str]) -> None:
    """Raise RankingError if there is no label of the images of a selection that are ranked (``mine``)."""
    there = f" in {known.where.words}" if known.where else ""
    if not mine and known.now.images:
        raise RankingError(
            f"none of the {len(known.now.images)} images of selection {known.selection!r} lies{there}; rank "
            "another part, or draw images there"
        )
    if not mine:
        raise RankingError(f"every image of selection {known.selection!r} is discarded, and no spare is left")
    chosen = set(mine)
    labelled = [k for k, image in enumerate(panel.images) if image in chosen]
    if not labelled:
        beside = (
            f"; what people chose counts beside masks: label {LEAST_MASKS} of them" if known.votes else ""
        )
        raise RankingError(
            f"none of the {len(mine)} images of selection {known.selection!r}{there} has a label in truth "
            f"{known.truth!r}{beside}"
        )
    if (
        not known.study.settings.classifies
        and not known.choices
        and np.isnan(panel.scores[:, labelled]).all()
    ):
        raise RankingError(
            f"the labels of the {counted(len(mine), 'image')} of selection {known.selection!r}{there} in "
            f"truth {known.truth!r} score no model: they are void everywhere; label other images, or discard "
            "these"
        )
