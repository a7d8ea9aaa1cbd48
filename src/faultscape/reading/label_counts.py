"""A selection of a study: its images as they count now, how many of them are labelled, and which questions a
selection of classifiers asks.

Conventions: an image counts as labelled when the selection has no open question about it: for label maps a
map; for classifiers a label, or answers that decide for both models of a pair, or for all models of a draw.
A selection of points asks about points instead of images: one counts as labelled when it has an answer, or
its image has a map.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from faultscape.classes.imagenet1k import imagenet_classes
from faultscape.errors import FaultscapeError, SelectionError, counted
from faultscape.labelling.answers import majority
from faultscape.nouns import PairSlot, Slots
from faultscape.reading.answers import read_label_sets, read_predictions
from faultscape.reading.choices import answered, counting
from faultscape.reading.points.places import place_in_image
from faultscape.reading.points.truths import point_truth
from faultscape.selection.spares import effective, with_models_left
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name

if TYPE_CHECKING:
    from faultscape.reading.study import Study


LEFT = "left the corpus"
RESIZED = "has another size now"


class Selection:
    """A selection of a study: its ``slots`` as they were made, the key of what they were ``drawn_from``, and
    as they count ``now``.
    """

    def __init__(self, study: Study, name: str, slots: Slots, drawn_from: str) -> None:
        self.name = name
        self.slots = slots
        self.drawn_from = drawn_from
        self._study = study

    @cached_property
    def now(self) -> Slots:
        """The selection as it counts now: images that were discarded or left the corpus are replaced by
        spares, draws do without models that left the study, and points, which speak about any model, have
        those that came since.
        """
        return self.without(self._study.discarded)

    def without(self, discarded: Mapping[str, str]) -> Slots:
        """Return the selection as it would count if these images were ``discarded``, {image: reason}."""
        slots = with_models_left(self.slots, self._study.settings.models)
        if slots.points:
            added = [model for model in self._study.models if model not in slots.models]
            slots = replace(slots, models=(*slots.models, *added))
        return effective(slots, {**discarded, **self.gone})

    @cached_property
    def gone(self) -> dict[str, str]:
        """{image of it that is no longer what it was: how}: it left the corpus, or has another size now, so
        that the drawn points are other pixels.
        """
        study = self._study
        asked = {row.image for row in self.slots.rows}
        out = dict.fromkeys(asked - study.corpus.held(asked), LEFT)
        points = [point for point in self.slots.points if point.image not in out]
        rows = study.corpus.by_id({point.image for point in points}) if points else {}
        for point in points:
            place = place_in_image(rows[point.image], study.settings.working_size, point.pixel)
            if place != (point.row, point.column):
                out[point.image] = RESIZED
        return out

    def __repr__(self) -> str:
        chosen = counted(self.now.asked, "point" if self.now.points else "image")
        return f"<selection {self.name}: {chosen} by {self.slots.definition['selector']}>"


class LabelCount(NamedTuple):
    """How many images (or points) are labelled, how many in part, whether everything left was asked once and
    remained undecided, which images are labelled, and how many of the points lie in images with a map.
    """

    labelled: int
    partly: int
    undecided: bool
    images: frozenset[str] = frozenset()
    masked: int = 0

    @property
    def by_people(self) -> int:
        """How many points people answered, without those that maps answer."""
        return self.labelled - self.masked


def question_glosses(settings: Settings) -> dict[str, str]:
    """Return the description of each class, if known."""
    if not settings.classes.wnids:
        return settings.glosses
    found = imagenet_classes()
    of = dict(zip(found.wnids, found.glosses, strict=True))
    return {
        name: of[wnid]
        for name, wnid in zip(settings.classes.names, settings.classes.wnids, strict=True)
        if wnid in of
    }


def questions(study: Study, slots: Slots, truth: str) -> dict[tuple[str, str], bool]:
    """Return {(image, class): whether the image has a label} of everything a selection of classifiers asks,
    in its order; for draws, of the models that the study still has.
    """
    wanted: dict[tuple[str, str], None] = {}
    pairs = [row for row in slots.chosen if isinstance(row, PairSlot)]
    for row in pairs:
        wanted |= dict.fromkeys([(row.image, row.label_a), (row.image, row.label_b)])
    if not pairs:
        known = [model for model in slots.models if model in study.models]
        found = read_predictions(study, known, list(slots.images))
        for k, image in enumerate(found.images):
            labels = dict.fromkeys(place for place in found.labels[:, k].tolist() if place >= 0)
            wanted |= dict.fromkeys((image, found.classes.names[place]) for place in labels)
    sets = dict(zip(slots.images, read_label_sets(study, truth, slots.images), strict=True))
    return {question: sets[question[0]] is not None for question in wanted}


def _chosen_on(study: Study, slots: Slots, truth: str) -> tuple[set[str], set[str]]:
    """Return the images with choices between the two models of every duel, and those with choices for
    some.
    """
    if not (said := answered(counting(study, truth, study.models)[0])):
        return set(), set()
    asked: dict[str, set[frozenset[str]]] = {}
    for row in slots.duels:
        asked.setdefault(row.image, set()).add(frozenset((row.defender, row.attacker)))
    have = {image: sum((image, pair) in said for pair in pairs) for image, pairs in asked.items()}
    return {i for i, pairs in asked.items() if have[i] == len(pairs)}, {
        i for i, pairs in asked.items() if 0 < have[i] < len(pairs)
    }


def count_labels(study: Study, slots: Slots, truth: str) -> LabelCount:
    """Count the images of a selection, as it counts now, that have labels of a truth, or its points that have
    answers.
    """
    if slots.points:
        known = point_truth(study, slots.points, truth)
        return LabelCount(int(known.done.sum()), 0, False, masked=int(known.labelled.sum()))
    if not study.classifies:
        folder = label_maps.truth(study.root, truth)
        shard_of = study.corpus.shards_of(slots.images)
        parts = study.manifest(folder)
        wanted = set(shard_of)
        numbers = {s for s in shard_of.values() if part_name(s) in parts}
        labelled = {
            id_ for s in sorted(numbers) for id_ in label_maps.read_ids(folder, s, parts[part_name(s)])
        } & wanted
        whole, partly = _chosen_on(study, slots, truth)
        done = frozenset(labelled | whole)
        return LabelCount(len(done), len(partly - labelled), False, done)
    try:
        asked = questions(study, slots, truth)
    except FaultscapeError:  # predictions must be made again first, as the predict command says
        return LabelCount(0, 0, False)
    verdicts = majority(study.answers.answers(truth))
    decided = {
        question for question, has_label in asked.items() if has_label or verdicts.get(question) is not None
    }
    some = {image for image, _ in decided}
    lacking = {image for image, _ in asked.keys() - decided}
    open_ = [question for question in asked if question not in decided and question not in verdicts]
    done = frozenset(slots.images) - lacking
    return LabelCount(len(done), len(some & lacking), bool(lacking) and not open_, done)


def question_number(study: Study, slots: Slots, truth: str) -> int:
    """Return how many questions a selection of classifiers asks in all, answered ones included."""
    try:
        return len(questions(study, slots, truth))
    except FaultscapeError:  # predictions must be made again first, as the predict command says
        return len(slots.images)


def labelled_number(study: Study, truth: str, images: Collection[str] | None = None) -> int:
    """Return how many of some images, by default all, have a label of a truth; answers to questions about
    them are none.
    """
    if truth not in study.truths:
        return 0
    if study.classifies:
        asked = sorted(study.ids if images is None else images)
        return sum(one is not None for one in read_label_sets(study, truth, asked))
    folder = label_maps.truth(study.root, truth)
    parts = study.manifest(folder).items()
    held = (label_maps.read_ids(folder, int(number), part) for number, part in parts)
    labelled = {id_ for ids in held for id_ in ids}
    return len(study.corpus.held(labelled) if images is None else labelled & {*images})


def labelled_already(study: Study, slots: Slots, truth: str) -> int:
    """Return how many images of a selection that is being made have labels of a truth, none if the study has
    no such truth.
    """
    return count_labels(study, slots, truth).labelled if truth in study.truths else 0


def refuse_waiting(study: Study, name: str, more: int) -> None:
    """Raise SelectionError if most images, or points, that the last ``--more`` drew have no label yet, while
    some are left to draw: then the same line was typed twice, or the earlier draws should be labelled first.
    """
    slots = study.selection(name).now
    if not slots.for_all:  # all are discarded
        return
    last = max(row.round for row in slots.rows)
    drawn = replace(slots, rows=tuple(row for row in slots.rows if row.round == last))
    counts = [count_labels(study, drawn, truth) for truth in study.truths]
    if any(count.undecided for count in counts):  # all of it was asked
        return
    number = drawn.asked
    waiting = number - max((count.labelled for count in counts), default=0)
    left = slots.rows[0].pool > len(slots.rows)
    if last > 1 and left and 2 * waiting > number:
        what, option = ("point", "points") if slots.points else ("image", "budget")
        those = f"{waiting:,} of the {counted(number, what)} that --more drew last for selection {name!r}"
        total = len(slots.rows) + more
        raise SelectionError(
            f"{those} have no label yet: --more draws again once they are labelled; to draw now, give the"
            f" total, --{option} {total}"
        )


def truth_of_round(study: Study, selection: str) -> str:
    """Return the truth of the rounds of `loop` if a selection was drawn for one of them, or ''."""
    held = study.document(study.root / "loop.json") or {}
    called = re.escape(str(held.get("called") or held.get("model")))
    truth = str(held.get("truth") or "")
    return truth if truth in study.truths and re.fullmatch(rf"{called}-\d+-(learn|judge)", selection) else ""


def tell_waiting(study: Study, name: str, truth: str | None, *, learns: bool) -> None:
    """Print how many images of a selection still need a label while more are drawn; adaptive draws learn from
    one ``truth`` (`Study.find_truth`).
    """
    now = study.selection(name).now
    counts = [count_labels(study, now, t) for t in study.truths if not learns or t == study.find_truth(truth)]
    waiting = (
        0
        if any(count.undecided for count in counts)
        else now.asked - max((count.labelled for count in counts), default=0)
    )
    if waiting:
        what = "; the new draws cannot learn from them" if learns else ""
        print(
            f"note: {counted(waiting, 'earlier draw')} still {'needs' if waiting == 1 else 'need'} a"
            f" label{what}"
        )
