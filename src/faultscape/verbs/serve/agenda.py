"""What a campaign asks, and what was handed out and answered so far, according to the study's files and its
database.

Conventions: a choice gets a new id when one of its maps changes, so that old answers do not count for it.
Other servers and commands write into the same study: `stamp_of` changes with its files, and a `History` first
reads all rows, then the new ones from any writer. A server's database may show rows in another order than
their numbers, so some rows before the last are read again; reading a row twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from faultscape.errors import OptionError, StudyError
from faultscape.labelling.people.pair_order import PairOrder
from faultscape.nouns import Slots
from faultscape.reading.answers import read_label_sets
from faultscape.reading.choices import Digests, worth
from faultscape.reading.label_counts import question_glosses
from faultscape.reading.points.pool import drawable
from faultscape.reading.points.predictions import PixelLabels, PointPredictions
from faultscape.reading.points.truths import Pixel
from faultscape.reading.study import Study
from faultscape.study.answers.annotators import Annotators
from faultscape.study.answers.choices import Choice
from faultscape.study.answers.schema import ANSWERS, CHOICES, DISCARDS, HANDED, POINTS, TRAINING
from faultscape.study.answers.secret import Secret
from faultscape.study.part_folders import MANIFEST
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps, selections
from faultscape.study.tables.corpus import Image
from faultscape.verbs.rank.artefact import is_by_chance
from faultscape.verbs.rank.open_selections import open_pairs
from faultscape.verbs.serve import asked_items
from faultscape.verbs.serve.asked_items import (
    ChoiceItem,
    Item,
    PointItem,
    choice_items,
    item_id,
    open_pixels,
    point_id,
    question_items,
)
from faultscape.verbs.serve.assignment import Assignment, Handing
from faultscape.verbs.serve.known_items import TrainingItem, read_training
from faultscape.verbs.serve.measured_tags import MeasuredTags

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelServeOptions

EXAMPLES = 3
_LATE = 200  # rows


@dataclass
class Asked:
    """What is asked now: items by id, and the study that they are made from, as it was then."""

    study: Study
    task: str  # `choices`, `questions` or `points`
    items: dict[str, Item]
    shown: Mapping[tuple[str, str], str]
    measured: MeasuredTags
    training: dict[str, TrainingItem] = field(default_factory=dict)
    planted: dict[str, Item] = field(default_factory=dict)  # points that masks answer: they measure people
    labels: Mapping[Pixel, PixelLabels] = field(default_factory=dict)  # of all points that were drawn
    meant: dict[str, str] = field(default_factory=dict)  # {page id of an item: its id}
    examples: dict[str, list[int]] = field(default_factory=dict)
    numbered: list[str] = field(default_factory=list)
    place: dict[str, int] = field(default_factory=dict)
    chosen: tuple[str, ...] = ()
    stamp: object = None
    drawn: bool = False  # of choices: on images drawn for all models, in the order of the draws

    @property
    def settings(self) -> Settings:
        """What study.toml held."""
        return self.study.settings

    @property
    def images(self) -> dict[str, Image]:
        """{id: its row} of all images."""
        return self.study.image_rows


@dataclass(frozen=True)
class Given:
    """An item as one person is asked it: for the first time or again, which model is on the left, in which
    session and at which position, and for training the expected answer.
    """

    item: Item
    repeat: int
    side: str
    session: int
    position: int
    training: bool = False
    expected: str = ""


class Asker:
    """Reads what a campaign asks, repeatedly; unchanged files and maps are not read twice. Only code that
    knows the ``secret`` can compute the ids of items on pages.
    """

    def __init__(self, study: Study, options: LabelServeOptions, secret: Secret) -> None:
        self._secret = secret
        self._study = study
        self._options = options
        self._digests = Digests()
        self._predictions = PointPredictions()
        self._task = ""  # what the campaign asks; a selection that is replaced meanwhile does not change it
        self._pairs: list[tuple[str, str]] | None = None  # on drawn images: those open when it began

    def read(self, *, begun: bool = False) -> Asked:
        """Return what is asked, given the study now; once a campaign has ``begun`` it may be empty.
        StudyError if no image is left.
        """
        # not `reread`, since pages may still be made from what was asked before
        study = self._study = self._study.now()
        options = self._options
        settings = study.settings
        stamp = stamp_of(study, options)
        slots = study.selection(options.selection).now
        images = study.image_rows
        classifies = study.classifies
        self._task = self._task or _task_of(study, slots)
        labels = self._labels(study, slots)
        known = self._planted(study, slots, len(labels))
        items = [item for item in self._items(study, slots, labels) if item.image in images]
        if not slots.asked and not begun:
            raise StudyError(
                f"every image of selection {options.selection!r} is discarded, and no spare is left"
            )
        if self._task == asked_items.POINTS and options.campaign.training:
            raise OptionError(
                "--training takes choices and questions with a known answer, and selection"
                f" {options.selection!r} asks about points; leave it out"
            )
        if self._task != asked_items.CHOICES and options.forced:
            raise OptionError(
                "--forced leaves only left and right of a choice between two maps, and selection"
                f" {options.selection!r} asks about {self._task}; leave it out"
            )
        training = (
            read_training(options.campaign.training, settings, images, forced=options.forced)
            if options.campaign.training
            else []
        )
        choices = [
            one for one in (*items, *(known.item for known in training)) if isinstance(one, ChoiceItem)
        ]
        models = dict.fromkeys(
            name for item in choices for name in (item.first, item.second) if name in settings.models
        )
        shown = self._digests.of(study, models, [item.image for item in choices])
        there = [
            i
            for i in items
            if not isinstance(i, ChoiceItem) or {(i.first, i.image), (i.second, i.image)} <= shown.keys()
        ]
        planted = [_point(pixel, at) for pixel, at in known.items()]
        asked = Asked(
            study,
            self._task,
            {one.id: one for one in (_named(item, shown) for item in there)},
            shown,
            MeasuredTags(images),
            {one.item.id: one for one in training},
            {one.id: one for one in planted},
            labels | known,
            numbered=list(images),
            chosen=slots.images,
            stamp=stamp,
            drawn=bool(slots.draws) and is_by_chance(study, options.selection),
        )
        every = (*asked.items, *asked.training, *asked.planted)
        asked.meant = {self._secret.id_of(id_): id_ for id_ in every}
        asked.place = {id_: k for k, id_ in enumerate(asked.numbered)}
        if classifies:
            for class_, ids in _examples(study, options.truth, asked.numbered).items():
                asked.examples[class_] = [asked.place[id_] for id_ in ids]
        return asked

    def _labels(self, study: Study, slots: Slots) -> dict[Pixel, PixelLabels]:
        """Return what models and masks say at each pixel that was drawn, in the order of the draws."""
        if self._task != asked_items.POINTS:
            return {}
        points = [point for point in slots.points if point.image in study.image_rows]
        found = self._predictions.of(study, points, self._options.truth)
        return {pixel: found[pixel] for pixel in ((one.image, one.row, one.column) for one in points)}

    def _planted(self, study: Study, slots: Slots, drawn: int) -> dict[Pixel, PixelLabels]:
        """Return pixels of images with a mask, enough for the share of points that measures each person."""
        share = self._options.campaign.of(points=True).repeats
        if self._task != asked_items.POINTS or not share or self._options.truth not in study.label_folders:
            return {}
        images = [
            one for one in drawable(study, slots.models, slots.definition) if one not in study.discarded
        ]
        return self._predictions.planted(study, images, self._options.truth, int(share * drawn) + 1)

    def _items(self, study: Study, slots: Slots, labels: Mapping[Pixel, PixelLabels]) -> Sequence[Item]:
        """Return what a selection asks, as far as it is of the campaign's task."""
        options = self._options
        if self._task == asked_items.QUESTIONS:
            return question_items(study, slots, options.truth, question_glosses(study.settings))
        if self._task == asked_items.CHOICES:
            if self._pairs is None:
                self._pairs = open_pairs(study, options.selection) if slots.draws else []
            return choice_items(slots, self._pairs)
        pixels = open_pixels(study, list(labels), options.truth, options.campaign.session)
        return [_point(pixel, labels[pixel]) for pixel in pixels]


def _point(pixel: Pixel, known: PixelLabels) -> PointItem:
    return PointItem(point_id(*pixel), *pixel, tuple(known.votes))


def _task_of(study: Study, slots: Slots) -> str:
    """Return what a selection asks people."""
    if study.classifies:
        return asked_items.QUESTIONS
    return asked_items.POINTS if slots.points else asked_items.CHOICES


def _named(item: Item, shown: Mapping[tuple[str, str], str]) -> Item:
    """Return an item under its id, which is valid while its maps are unchanged."""
    if not isinstance(item, ChoiceItem):
        return item
    return replace(
        item,
        id=choice_id(
            item.image, item.first, item.second, shown[item.first, item.image], shown[item.second, item.image]
        ),
    )


def choice_id(image: str, first: str, second: str, first_shown: str, second_shown: str) -> str:
    """Return the id of a choice between two models, in the order of their names, from the digests of their
    maps.

    >>> choice_id("x", "fcn", "unet", "a", "b") == choice_id("x", "fcn", "unet", "a", "c")
    False
    """
    return item_id(item_id(image, first, second), first_shown, second_shown)


def stamp_of(study: Study, options: LabelServeOptions) -> tuple[object, ...]:
    """Return a stamp that changes with the study's files that decide what is asked."""
    root = study.root
    folders = [
        label_maps.truth(root, options.truth),
        *(label_maps.predictions(root, name) for name in study.models),
    ]
    files = [root / "study.toml", root / "corpus.parquet", selections.path(root, options.selection)]
    files += [folder / MANIFEST for folder in folders]
    out = list[object]()
    for file in files:
        found = None
        with suppress(OSError):
            found = file.stat()
        out.append(found and (found.st_mtime_ns, found.st_size, found.st_ino))
    return tuple(out)


class History:
    """The answers read so far, of one task, which one table of the database holds, and truth. Not safe for
    concurrent calls.
    """

    def __init__(self, of: str, truth: str, table: str) -> None:
        self._of = of
        self._truths = (truth, TRAINING)
        self._table = table
        self._seen: dict[str, int] = {}

    def bring(
        self,
        study: Study,
        assignment: Assignment,
        pairs: PairOrder,
        id_of: Callable[[Choice], str],
        items_of: Callable[[str], Iterable[str]],
    ) -> None:
        """Read what is new in the answers of the study as it is now since the last call; ``id_of`` gives the
        item of a choice, and ``items_of`` the items that ask about an image.
        """
        people = Annotators(study.root, study.database)
        tables = (HANDED, self._table, DISCARDS)
        last = {name: study.database.last_number(name) for name in tables}
        after = {name: self._seen.get(name, 0) - _LATE for name in tables}
        new = [name for name in tables if last[name] != self._seen.get(name, 0)]
        for one in people.handed(after=after[HANDED]) if HANDED in new else ():
            if one.task == self._of:
                assignment.restore(
                    one.annotator, Handing(one.item, one.repeat, one.side, one.session), one.time
                )
                pairs.hold(one.annotator, one.item, one.repeat)
        for truth in self._truths:
            for choice in study.choices.rows(truth, after=after[CHOICES]) if CHOICES in new else ():
                one = choice if choice.first <= choice.second else choice.turned
                id_ = id_of(one)
                assignment.note(one.annotator, id_, one.repeat, answered=one.chosen != "")
                pairs.note(one.annotator, id_, one.repeat, worth(one.chosen))
            for image, class_, annotator, said in (
                study.answers.rows(truth, after=after[ANSWERS]) if ANSWERS in new else ()
            ):
                words = (TRAINING, image, class_) if truth == TRAINING else (image, class_)
                assignment.note(annotator, item_id(*words), 0, answered=said != "")
            for seen in study.point_answers.rows(truth, after=after[POINTS]) if POINTS in new else ():
                id_ = point_id(seen.image, seen.row, seen.column)
                assignment.note(seen.annotator, id_, seen.repeat, answered=seen.answer != "")
        if DISCARDS in new:
            for image, votes in study.answers.discard_votes().items():
                for annotator in votes:
                    for id_ in items_of(image):
                        assignment.drop(annotator, id_)
        self._seen = last


def _examples(study: Study, truth: str, images: Sequence[str]) -> dict[str, list[str]]:
    """Return {class: some images whose labels name only that class}."""
    out: dict[str, list[str]] = {}
    if truth not in study.label_folders:
        return out
    for image, labels in zip(images, read_label_sets(study, truth, images), strict=True):
        if labels is not None and len(labels) == 1:
            held = out.setdefault(study.classes.names[next(iter(labels))], [])
            if len(held) <= EXAMPLES:
                held.append(image)
    return out
