"""What people make: the labels of a selection's images, answers to questions about classes, of one truth, and
discards, the images that they rejected, for the whole study.
"""

from __future__ import annotations

import shlex
from typing import cast

from faultscape.classes.class_lists import table
from faultscape.errors import counted
from faultscape.maps import runs
from faultscape.nouns import JsonObject
from faultscape.ranking.drawn.steps import first_alone
from faultscape.reading.artefact import Artefact, command, named, provenance_of
from faultscape.reading.study import Study
from faultscape.standings import FEW, FEW_POINTS, SKIPPED
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name
from faultscape.study.tables.selections import MAIN
from faultscape.study.tables.selections import path as path_of
from faultscape.verbs.inputs import labels_key
from faultscape.verbs.select.artefact import SELECTION, in_order, is_replaced
from faultscape.verbs.select.artefact import key as key_of_selection


def is_short(study: Study, name: str, truth: str = "") -> bool:
    """Whether a selection has too few labels to rank: none, or, for draws for all models, fewer than half,
    because labels made for another selection reveal little about them. The first draws, labelled in their
    order, are a fair sample however many follow; so are the first points, of which `FEW_POINTS` are enough.
    """
    number = study.selection(name).now.asked
    have = study.label_count(name, truth).labelled
    if study.selections[name].slots.points:
        return have < FEW_POINTS
    few = study.selections[name].slots.for_all and 2 * have < number
    return have == 0 or (few and not _begins_labelled(study, name, truth))


def _begins_labelled(study: Study, name: str, truth: str) -> bool:
    """Whether the labelled draws are the first ones, and enough to rank; as many may be skipped as `steps`
    takes for missing at random.
    """
    done = study.label_count(name, truth).images
    last = max((k for k, image in enumerate(study.selection(name).now.images, 1) if image in done), default=0)
    enough = first_alone(study.selections[name].slots.draws)
    return 0 < enough <= len(done) and last - len(done) <= SKIPPED * last


def are_void(study: Study, name: str, truth: str) -> bool:
    """Whether the labels of a selection's images are maps that are void everywhere, which show nothing about
    any model.
    """
    if study.settings.classifies or study.selections[name].slots.points:
        return False
    classes = study.settings.class_list
    folder = label_maps.truth(study.root, truth)
    void = 0
    places = table(classes)
    parts = study.manifest(folder)
    shard_of = study.corpus.shards_of(study.selection(name).now.images)
    for number in sorted(set(shard_of.values())):
        part = parts.get(part_name(number))
        codes = label_maps.read_maps(folder, number, part) if part else {}
        mine = [code for image, code in codes.items() if image in shard_of]
        if any((places[runs.labels(code)] != len(classes)).any() for code in mine):
            return False
        void += len(mine)
    count = study.label_count(name, truth)
    return void == count.labelled + count.partly  # on images without a map, people chose between models


def is_silent(study: Study, name: str, truth: str) -> bool:
    """Whether no answer under a truth shows anything about a selection's models."""
    count = study.label_count(name, truth)
    return not count.labelled + count.partly or are_void(study, name, truth)


def export_target(name: str, *, classifies: bool, again: bool = False, answers: int = 0) -> str:
    """Return where a suggested `label export` of a selection writes: a folder, which may serve several
    selections, or a file of questions. One that is filled in is never overwritten, so the name of the next
    one has the number of ``answers`` so far.

    >>> export_target("order", classifies=False), export_target("order", classifies=True)
    ('to-label/', 'questions-order.csv')
    >>> export_target("main", classifies=True, again=True, answers=24)
    'questions-again-24.csv'
    """
    if not classifies:
        return "to-label/"
    which = [] if name == MAIN else [name]
    number = [str(answers)] if answers else []
    words = ["questions", *which, *(["again"] if again else []), *number]
    return shlex.quote("-".join(words) + ".csv")


def points_target(name: str, answered: int) -> str:
    """Return the folder that a suggested `label export` of a selection of points writes to; its table is
    never overwritten, so the name of the next one has the number of points that are ``answered``.

    >>> points_target("points", 0), points_target("night", 120)
    ('points/', 'points-night-120/')
    """
    words = [*dict.fromkeys(["points", name]), *([str(answered)] if answered else [])]
    return shlex.quote("-".join(words)) + "/"


def next_export(study: Study, name: str, truth: str) -> tuple[str, JsonObject]:
    """Return where the next `label export` of a selection under a truth writes, as a command names it, and
    with which options.
    """
    if study.selections[name].slots.points:
        number = study.label_count(name, truth).labelled
        return points_target(name, number), {"format": "points", **named(name, truth)}
    undecided = study.label_count(name, truth).undecided
    classifies = study.settings.classifies
    answers = len(study.answers.answers(truth)) if classifies else 0
    target = export_target(name, classifies=classifies, again=undecided, answers=answers)
    return target, {
        "format": "csv" if classifies else "png",
        **named(name, truth),
        "again": undecided or None,
    }


def export_line(study: Study, name: str) -> str:
    """Return the next `label export` of a selection, under the truth that counts."""
    target, options = next_export(study, name, study.truth_of(name))
    return command(study, "label export", options, target)


def come_first(study: Study, name: str) -> bool:
    """Whether a selection needs labels before it is ranked: it has too few, or has grown since."""
    return is_short(study, name) or _has_grown(study, name)


def points_wait(study: Study) -> bool:
    """Whether drawn points wait for answers, which come before measures and pages."""
    names = [name for name, made in study.selections.items() if made.slots.points]
    return any(
        LABELS_OF_SELECTION.line(study, name) for name in names if not LABELS_OF_SELECTION.exists(study, name)
    )


def _has_grown(study: Study, name: str) -> bool:
    """Whether a selection has other images than when it was ranked."""
    path = path_of(study.root, name, "json", stem="standings")
    held = provenance_of(study.document(path))
    inputs = cast("JsonObject", held["inputs"]) if held is not None else {}
    return held is not None and inputs.get("selection") != key_of_selection(study, name)


class _Labels(Artefact):
    def instances(self, study: Study) -> list[str]:
        return in_order(study)

    def exists(self, study: Study, name: str) -> bool:
        return study.label_count(name).labelled == study.selection(name).now.asked

    def describe(self, study: Study, name: str) -> str:
        count = study.label_count(name)
        now = study.selection(name).now
        if now.points:
            said = f"{count.by_people} of {counted(now.asked - count.masked, 'point')} answered"
            masks = f"; {count.masked} more in images with a mask" if count.masked else ""
            return f"{name}: {said} (truth {study.truth_of(name)}){masks}"
        number = len(now.images)
        partly = f", {count.partly} partly" if count.partly else ""
        late = count.labelled >= FEW and is_short(study, name)
        order = (
            "; not in the order of the draws, so that they cannot be ranked before half are" if late else ""
        )
        marks = study.second_round.words(now.images)
        return (
            f"{name}: {count.labelled} of {counted(number, 'image')} labelled{partly}"
            f" (truth {study.truth_of(name)})"
            f"{order}{f'; {marks}' if marks else ''}"
        )

    def line(self, study: Study, name: str = "") -> str:
        if not SELECTION.is_done(study, name) or is_replaced(study, name):
            return ""
        if study.selections[name].slots.points:
            return command(study, "label serve", named(name, study.truth_of(name)))
        return export_line(study, name)

    def waits(self, study: Study, name: str) -> bool:
        """Whether other commands come first: where there are enough labels for a first ranking of what was
        chosen, and for duels, wherever images drawn for all models say which is better.
        """
        drawn = any(other.slots.for_all for other in study.selections.values())
        return (drawn and not study.selections[name].slots.for_all) or not come_first(study, name)


class _Answers(Artefact):
    def instances(self, study: Study) -> list[str]:
        return study.truths if study.settings.classifies else []

    def exists(self, _study: Study, _name: str) -> bool:
        return True

    def describe(self, study: Study, name: str) -> str:
        return f"answers of truth {name} ({labels_key(study, name)[:8]})"


class _Discards(Artefact):
    def exists(self, study: Study, _name: str) -> bool:
        return bool(study.discarded)

    def describe(self, study: Study, _name: str) -> str:
        return f"{counted(len(study.discarded), 'image is', 'images are')} discarded"


LABELS_OF_SELECTION = _Labels("labels", verb="label", follows=("selection", "answers", "discards"))
ANSWERS = _Answers("answers", verb="label", follows=("corpus",))
DISCARDS = _Discards("discards", verb="label", follows=("corpus",))
