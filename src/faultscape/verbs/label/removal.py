"""Take back labels, answers or discards: nothing is deleted, and nothing taken back counts until it is
imported again.

Conventions: an answer or a discard is taken back by adding a row to answers.sqlite; a label moves from the
part that counts to one in truth/NAME/removed. Choices between maps of an image and answers to points in it
stay when its mask is taken back, which they do not depend on. An image discarded because too many people were
unsure is no longer discarded once their answers are taken back.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultscape.classes.names import class_place
from faultscape.corpus.id_lists import named_ids
from faultscape.errors import LabellingError, OptionError, counted
from faultscape.labelling import answers as said
from faultscape.reading.boxes.evidence import box_answers
from faultscape.reading.fill import Entry
from faultscape.reading.study import LABELS, Study, opened
from faultscape.study.answers.points import PointAnswer
from faultscape.study.parts import Part, write_manifest
from faultscape.study.tables import label_maps, selections
from faultscape.study.tables.corpus import part_name
from faultscape.study.tables.label_maps import StoredMap
from faultscape.study.tables.removed_images import read_removed
from faultscape.verbs.status.change_result import Changed
from faultscape.verbs.status.consequences import change, followers

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelRemoveOptions


@dataclass(frozen=True)
class _Wanted:
    """What to take back: labels and answers of these ``images``, or their discards; only answers about these
    classes, and only answers and boxes of these people, or all if none are named; of a selection of points
    the answers to these, of ``every`` image those to all points.
    """

    images: frozenset[str]
    truth: str
    classes: frozenset[str]
    by: frozenset[str]
    discards: bool
    pixels: frozenset[tuple[str, int, int]] | None = None  # of a selection of points: only these answers
    every: bool = False

    @property
    def answers_alone(self) -> bool:
        """Whether an option applies that only answers have."""
        return bool(self.classes or self.by)

    def takes(self, answer: PointAnswer) -> bool:
        """Whether to take back an answer to a point of these images: only where points were asked for."""
        if self.classes or not _fits(answer.annotator, self.by):
            return False
        if self.pixels is None:
            return self.every
        return (answer.image, answer.row, answer.column) in self.pixels


def remove_labels(options: LabelRemoveOptions) -> Changed:
    """Take back labels of a study, or report what that would make stale. Errors: OptionError if the options
    do not say which, LabellingError if there are none.
    """
    study = opened(options.study)
    wanted = _wanted(study, options)
    if options.dry_run and study.settings.store and not wanted.discards:
        # a dry run writes no parts to a store
        said = f"labels would be removed from truth {wanted.truth!r}"
        return followers(study, said, "labels", "labels changed")
    about = {"images": sorted(wanted.images), "truth": wanted.truth, "discards": wanted.discards}
    return change(study, lambda of: _taken_back(of, wanted), "label remove", dry_run=options.dry_run, **about)


def _wanted(study: Study, options: LabelRemoveOptions) -> _Wanted:
    if (bool(options.images) + (options.selection is not None) + options.all_) != 1:
        raise OptionError("give one of: ids of images, --selection NAME, or --all")
    if options.discards and (options.class_ or options.by or options.truth is not None):
        raise OptionError(
            "--discards cannot be combined with --truth, --class or --by: discards apply to the whole study"
        )
    known = study.ids | {image.id for image in read_removed(study.corpus)}
    images = known if options.all_ else named_ids(options.images, known)
    pixels = None
    if options.selection is not None:
        slots = selections.read_selection(study.root, options.selection)[0]
        images = {row.image for row in slots.rows}
        if slots.points:
            pixels = frozenset((point.image, point.row, point.column) for point in slots.points)
    names = study.classes.names
    classes = frozenset(names[class_place(word, study.classes, "--class")] for word in options.class_)
    truth = "" if options.discards else _truth(study, options.truth)
    by = frozenset(options.by)
    return _Wanted(frozenset(images), truth, classes, by, options.discards, pixels, options.all_)


def _truth(study: Study, asked: str | None) -> str:
    """Return the truth that counts, or that of boxes or of classes present alone."""
    said = sorted({*box_answers(study).truths(), *study.answers.truths()})
    name = asked or (LABELS if LABELS in said or len(said) != 1 else said[0])
    return name if name in said and not study.find_truth(asked) else study.truth(asked)


def _taken_back(study: Study, wanted: _Wanted) -> str:
    held = study.answers
    if wanted.discards:
        if not (number := held.keep(sorted(wanted.images))):
            raise LabellingError(f"none of {counted(len(wanted.images), 'image')} is discarded")
        return f"{counted(number, 'image is', 'images are')} no longer discarded"
    alone = wanted.answers_alone or wanted.pixels is not None
    labels = 0 if alone else _labels_back(study, wanted.truth, wanted.images)
    there = [one for one in study.point_answers.answers(wanted.truth) if one.image in wanted.images]
    points = [one for one in there if wanted.takes(one)]
    drawn = [one for one in box_answers(study).answers(wanted.truth) if one.image in wanted.images]
    whole = wanted.pixels is not None or wanted.classes
    boxes = [] if whole else [one for one in drawn if _fits(one.annotator, wanted.by)]
    left = 0 if alone else len(there) - len(points)
    before = held.answers(wanted.truth)
    mine = [
        row[:3]
        for row in before
        if wanted.pixels is None
        and row[0] in wanted.images
        and _fits(row[1], wanted.classes)
        and _fits(row[2], wanted.by)
    ]
    stay = f"; {_points(left)} there stay: --selection takes those of a selection back" if left else ""
    if not labels and not mine and not points and not boxes:
        if wanted.answers_alone:
            stay = "; --by is for answers and boxes, --class for answers about whether images show it"
        raise LabellingError(
            f"nothing to take back: none of {counted(len(wanted.images), 'image')} has such a label or answer"
            f" in truth {wanted.truth!r}{stay}"
        )
    gone = set(mine)
    discarded = held.discarded()
    after = said.difficult(row for row in before if row[:3] not in gone)
    again = held.keep(  # before taking answers back: a rerun after a kill needs them to find these
        image
        for image, why in said.difficult(before).items()
        if discarded.get(image) == why and image not in after
    )
    answers = held.take_back(mine, "label remove", wanted.truth)
    study.point_answers.take_back(points, "label remove")
    box_answers(study).take_back(boxes, "label remove")
    words = [counted(labels, "label")] if labels else []
    words += [counted(answers, "answer")] if answers else []
    words += [_points(len(points))] if points else []
    words += [f"boxes of {counted(len({one.image for one in boxes}), 'image')}"] if boxes else []
    more = f"; {counted(again, 'image is', 'images are')} no longer discarded" if again else ""
    kept = f" (kept in truth/{wanted.truth}/removed)" if labels else ""
    return f"{' and '.join(words)} removed from truth {wanted.truth!r}{kept}{more}{stay}"


def _points(number: int) -> str:
    return counted(number, "answer to points", "answers to points")


def _fits(word: str, words: Collection[str]) -> bool:
    return not words or word in words


def _labels_back(study: Study, truth: str, images: Collection[str]) -> int:
    """Move labels from the parts that count to those that are kept, and return how many; at every moment a
    label is in at least one of the two.
    """
    where = label_maps.truth(study.root, truth)
    number = 0
    wanted = set(images)
    before = study.manifest(where)
    stay = dict(before)

    def keep(taken: list[tuple[str, int, list[StoredMap]]]) -> None:
        for key in {key for key, _, _ in taken}:
            label_maps.keep_taken_back(where, {shard: rows for of, shard, rows in taken if of == key}, key)

    with Entry(keep) as kept:
        for name, part in before.items():
            shard = int(name)
            gone = wanted & set(label_maps.read_ids(where, shard, part))
            if not gone:
                continue
            rows = label_maps.read_stored(where, shard, before)
            back = [row for row in rows if row.id in gone]
            kept.add((part.key, shard, back))
            kept.if_due()
            rest = [row for row in rows if row.id not in gone]
            del stay[part_name(shard)]
            if rest:
                stay[name] = Part(label_maps.put_maps(where, shard, rest), len(rest), part.key)
            number += len(back)
    if number:
        write_manifest(where, stay)
    return number
