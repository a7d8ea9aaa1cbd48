"""A campaign under way: what is asked, who was asked what, and what was said; one for a server, in step with its database.

Conventions: what people say is in the database before it is confirmed; all else is counted from there, so that a server that was killed goes on where it was. Who was handed something and did not answer gets it again first; what others were handed
and did not answer for half an hour goes to the next person. Methods may be called by several threads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faultscape.errors import StudyError
from faultscape.labelling.tags.kinds import kinds_of
from faultscape.stages import evidence
from faultscape.stages.asked_items import (
    CHOICES,
    QUESTIONS,
    ChoiceItem,
    Item,
    QuestionItem,
    choice_items,
    item_id,
    question_items,
)
from faultscape.stages.choice_evidence import digests
from faultscape.stages.classifier_answers import read_label_sets
from faultscape.stages.label_counts import question_glosses
from faultscape.stages.serve.assignment import Assignment, Handing
from faultscape.stages.serve.known_items import TrainingItem, read_training
from faultscape.stages.serve.measured_tags import MeasuredTags
from faultscape.stages.serve.options import ServeOptions
from faultscape.study.answers.annotators import Annotators, Handed
from faultscape.study.answers.choices import Choice, Choices
from faultscape.study.answers.database import Database
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.schema import ANSWERS, DISCARDS, TRAINING
from faultscape.study.settings import Settings, read_settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, read_corpus
from faultscape.web.app import NotFoundError
from faultscape.web.words import flat_json, plain_text

_SIDED = ("left", "right")
_SAID = {CHOICES: (*_SIDED, "both good", "both bad", "not sure", "skip"), QUESTIONS: ("yes", "no", "unsure")}
_EXAMPLES = 3
_LONGEST_TEXT, _LONGEST_KEY, _LONGEST_SECONDS = 500, 64, 86_400.0
_OTHER_SIDE = {"first": "second", "second": "first"}


@dataclass(frozen=True)
class Given:
    """An item as one person is asked it: for the first time or again, which model is on the left, in which session and at which place there, and in training what is expected."""

    item: Item
    repeat: int
    side: str
    session: int
    position: int
    training: bool = False
    expected: str = ""


@dataclass
class _Asked:
    """What is asked now: items by id, and what they are made from."""

    settings: Settings
    images: dict[str, Image]
    items: dict[str, Item]
    shown: Mapping[tuple[str, str], str]
    training: dict[str, TrainingItem] = field(default_factory=dict)
    examples: dict[str, list[int]] = field(default_factory=dict)
    numbered: list[str] = field(default_factory=list)
    place: dict[str, int] = field(default_factory=dict)
    chosen: tuple[str, ...] = ()
    measured: MeasuredTags = field(init=False)


class Campaign:
    """The campaign of one study, over an open database. StudyError where there is nothing to ask."""

    def __init__(self, root: Path, options: ServeOptions, database: Database) -> None:
        self.root, self.options, self.database = root, options, database
        self._lock = threading.RLock()
        self._asked = self._read()
        self.task = QUESTIONS if self._asked.settings.classifies else CHOICES
        self._of = f"{self.task} of {options.truth}"  # what is handed out in another campaign is no matter here
        self._people, self._choices, self._answers = Annotators(root, database), Choices(root, database), Answers(root, database)
        about = options.campaign
        self._assignment = Assignment(
            seed=options.seed, overlap=about.overlap, session=about.session, repeats=about.repeats if self.task == CHOICES else 0
        )
        self._assignment.ask([*self._asked.items], [*self._asked.training])
        self._restore()

    @property
    def nothing(self) -> str:
        """Why nothing is asked, '' where something is."""
        if self._asked.items:
            return ""
        if self.task == QUESTIONS:
            return f"selection {self.options.selection!r} asks no question that is open: every image has a label"
        return f"selection {self.options.selection!r} holds no duels of two models, so there is nothing to choose between; masks go out with `faultscape label export`"

    @property
    def title(self) -> str:
        """The name of the study."""
        return self.root.resolve().name

    @property
    def settings(self) -> Settings:
        """The study's settings, as they were read last."""
        return self._asked.settings

    def find(self, id_: str) -> Item:
        """Return the item of an id; NotFoundError where nothing such is asked."""
        found = self._asked.items.get(id_) or self._asked.training.get(id_)
        if found is None:
            raise NotFoundError("there is no such item any more")
        return found.item if isinstance(found, TrainingItem) else found

    def image_of(self, item: Item) -> Image:
        """Return the image of an item."""
        return self._asked.images[item.image]

    def number_of(self, item: Item) -> str:
        """Return what stands for the image of an item in pages, without its name."""
        return item_id(item.image)

    def shown_digest(self, model: str, image: str) -> str:
        """Return the digest of the map of a model that is shown."""
        return self._asked.shown.get((model, image), "")

    def image_at(self, number: str) -> Image:
        """Return the image at a place of the corpus; NotFoundError where there is none."""
        images = self._asked.numbered
        if not (number.isascii() and number.isdecimal() and len(number) < 10 and int(number) < len(images)):
            raise NotFoundError(f"there is no image {number[:40]!r}")
        return self._asked.images[images[int(number)]]

    def place_of(self, image: str) -> int | None:
        """Return at which place of the corpus an image is; None where it is not in it any more."""
        return self._asked.place.get(image)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The images of the selection, as it counts now."""
        return self._asked.chosen

    def kinds(self) -> dict[str, str]:
        """Return {kind of failure: its key}: the study's own list, or the usual one."""
        return {kind.name: kind.key for kind in kinds_of(self._asked.settings.tags)}

    def proposals(self, image: Image, model: str = "") -> list[tuple[str, str]]:
        """Return (kind of failure, why) of those that can be measured of an image, and of a model's map of it."""
        return self._asked.measured.of(image, model)

    def items_for(self, pseudonym: str, have: Collection[tuple[str, int]], number: int) -> list[Given]:
        """Return up to ``number`` items for a person who has some already, each noted as handed to them."""
        with self._lock:
            out = []
            for _ in range(number):
                handing, fresh = self._assignment.hand(
                    pseudonym, {*have, *((one.item.id, one.repeat) for one in out)}, time.time()
                )
                if handing is None:
                    break
                if fresh:
                    self._people.hand(Handed(pseudonym, self._of, handing.item, handing.repeat, handing.side, handing.session))
                out.append(self._given(pseudonym, handing))
            return out

    def left_for(self, pseudonym: str) -> int:
        """Return how many items are left for a person."""
        with self._lock:
            return self._assignment.left_for(pseudonym, time.time())

    def model_on(self, pseudonym: str, item: ChoiceItem, repeat: int, side: str) -> str:
        """Return which model a person was handed on a side; NotFoundError where they were not handed the item."""
        with self._lock:
            handing = self._assignment.handed_to(pseudonym, item.id, repeat)
        if handing is None:
            raise NotFoundError("you were not asked about this")
        return item.first if (handing.side == "first") == (side == "left") else item.second

    def take(self, pseudonym: str, row: Mapping[str, Any]) -> str:
        """Take one answer, discard or undo of a person; returns '' once it is kept, or why it cannot be."""
        key, id_, repeat = row.get("key"), row.get("id"), row.get("repeat", 0)
        if not (isinstance(key, str) and 8 <= len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
            return "it has no key"
        if not isinstance(id_, str) or type(repeat) is not int or repeat not in (0, 1):
            return "it names no item"
        with self._lock:
            handing = self._assignment.handed_to(pseudonym, id_, repeat)
        if handing is None:
            return "you were not asked about this item"
        try:
            item = self.find(id_)
        except NotFoundError:
            return (
                ""
                if self._known(f"{pseudonym}:{key}")
                else "the item is no longer asked: its image was discarded, or the selection changed"
            )
        seconds, details = row.get("seconds"), flat_json(row.get("shown"), _LONGEST_TEXT, session=handing.session)
        if seconds is not None and not (type(seconds) in (int, float) and 0 <= seconds <= _LONGEST_SECONDS):
            return "seconds is no time"
        if details is None:
            return "shown is no object of a few words and numbers"
        if "discard" in row:
            reason, text = row["discard"], row.get("text") or ""
            if not (isinstance(reason, str) and isinstance(text, str) and reason.strip()):
                return "a discard has a reason, in words"
            return self._discard(pseudonym, key, item, plain_text(reason)[:_LONGEST_TEXT], plain_text(text)[:_LONGEST_TEXT])
        if row.get("undo", False) not in (True, False):
            return "undo is true or false"
        said = "" if row.get("undo") else row.get("chosen")
        allowed = _SIDED if self.options.forced and self.task == CHOICES else _SAID[self.task]
        if not isinstance(said, str) or (said not in allowed and not row.get("undo")):
            given = plain_text(said[:40]) if isinstance(said, str) else type(said).__name__
            return f"the answer {given!r} is not known; use {', '.join(allowed)}"
        self._keep(pseudonym, f"{pseudonym}:{key}", item, handing, said, seconds, details)
        with self._lock:
            self._assignment.note(pseudonym, id_, repeat, answered=said != "")
        return ""

    def _keep(
        self, pseudonym: str, key: str, item: Item, handing: Handing, said: str, seconds: float | None, details: str
    ) -> None:
        """Put one answer into the database."""
        truth = TRAINING if handing.item in self._asked.training else self.options.truth
        if isinstance(item, ChoiceItem):
            chosen = {"left": handing.side, "right": _OTHER_SIDE[handing.side]}.get(said, said)
            shown = (self.shown_digest(item.first, item.image), self.shown_digest(item.second, item.image))
            choice = Choice(
                item.image,
                item.first,
                item.second,
                chosen,
                pseudonym,
                *shown,
                handing.side,
                handing.repeat,
                seconds,
                truth,
                details,
                key,
            )
            self._choices.add(choice, "label serve")
            return
        row = {"image": item.image, "class": item.class_, "annotator": pseudonym, "answer": said, "source": "label serve"}
        self.database.add_once(ANSWERS, {**row, "truth": truth, "key": key, "seconds": seconds, "shown": details})

    def _discard(self, pseudonym: str, key: str, item: Item, reason: str, text: str) -> str:
        """Take one vote to discard an image, and discard it once enough people voted so."""
        if item.id in self._asked.training:
            return "images of training stay"
        words = f"{reason}: {text}" if text else reason
        row = {"image": item.image, "reason": words, "source": "label serve", "annotator": pseudonym, "key": f"{pseudonym}:{key}"}
        self.database.add_once(DISCARDS, row)
        votes = self._answers.discard_votes().get(item.image, {})
        with self._lock:
            mine = [id_ for id_, one in self._asked.items.items() if one.image == item.image]
            seen = votes.keys() | self._assignment.who_answered(mine)
            if len(votes) >= self.options.campaign.discard_votes and 5 * len(votes) > 3 * len(
                seen
            ):  # more than three of five (S2 3.1)
                why = f"{len(votes)} of {len(seen)} annotators: {', '.join(dict.fromkeys(votes.values()))}"
                if self._answers.discard([(item.image, why)], "label serve"):
                    self.read_again()
            else:
                for id_ in mine:
                    self._assignment.drop(pseudonym, id_)
        return ""

    def take_back_all(self, pseudonym: str) -> None:
        """Take back all that a person said."""
        rows = [
            one
            for truth in (*self._choices.truths(), TRAINING)
            for one in self._choices.choices(truth)
            if one.annotator == pseudonym
        ]
        self._choices.take_back(rows, "label serve")
        for truth in self._answers.truths():
            self._answers.take_back(
                [row[:3] for row in self._answers.answers(truth) if row[2] == pseudonym], "label serve", truth
            )
        with self._lock:
            self._assignment.forget(pseudonym)

    def right_in_training(self, said: Sequence[Choice]) -> int:
        """Return how many choices of training say what is expected."""
        return sum(
            (found := self._asked.training.get(item_id(TRAINING, one.image, *sorted((one.first, one.second))))) is not None
            and (one if one.first <= one.second else one.turned).chosen == found.expected
            for one in said
        )

    def read_again(self) -> None:
        """Read again what is asked, after images were discarded or the study changed; what people were handed and is asked still stays theirs."""
        with self._lock:
            self._asked = self._read(begun=True)
            self._assignment.ask([*self._asked.items], [*self._asked.training])

    def examples(self, item: QuestionItem) -> list[str]:
        """Return the addresses of some other images that show the class of a question."""
        own = self._asked.numbered
        return [f"/example/{k}" for k in self._asked.examples.get(item.class_, []) if own[k] != item.image][:_EXAMPLES]

    def example(self, number: str) -> Image:
        """Return the image that an address of an example names; NotFoundError where there is none."""
        if not (number.isascii() and number.isdecimal() and len(number) < 9 and int(number) < len(self._asked.numbered)):
            raise NotFoundError("there is no such example")
        if int(number) not in {k for places in self._asked.examples.values() for k in places}:
            raise NotFoundError("there is no such example")
        return self._asked.images[self._asked.numbered[int(number)]]

    def _given(self, pseudonym: str, handing: Handing) -> Given:
        """Return an item as a person is shown it."""
        training = self._asked.training.get(handing.item)
        item = self.find(handing.item)
        expected = training.expected if training else ""
        if training and isinstance(item, ChoiceItem) and expected in ("first", "second"):
            expected = "left" if expected == handing.side else "right"
        position = self._assignment.position(pseudonym, handing)
        return Given(item, handing.repeat, handing.side, handing.session, position, training is not None, expected)

    def _known(self, key: str) -> bool:
        return any(self.database.read(name, "number", key=key) for name in ("choices", ANSWERS, DISCARDS))

    def _restore(self) -> None:
        """Count what was handed and answered from the database."""
        for one in self._people.handed():
            if one.task == self._of:
                self._assignment.restore(one.annotator, Handing(one.item, one.repeat, one.side, one.session), one.time)
        if self.task == CHOICES:
            for truth in (self.options.truth, TRAINING):
                for choice in self._choices.choices(truth):
                    first, second = sorted((choice.first, choice.second))
                    for id_ in (item_id(choice.image, first, second), item_id(TRAINING, choice.image, first, second)):
                        self._assignment.note(choice.annotator, id_, choice.repeat, answered=True)
            return
        for truth in (self.options.truth, TRAINING):
            for image, class_, annotator, _ in self._answers.answers(truth):
                for id_ in (item_id(image, class_), item_id(TRAINING, image, class_)):
                    self._assignment.note(annotator, id_, 0, answered=True)

    def _read(self, *, begun: bool = False) -> _Asked:
        """Return what is asked, of the study as it is now: once a campaign has ``begun`` it may be nothing."""
        settings, options = read_settings(self.root), self.options
        slots = evidence.current(self.root, options.selection, Answers(self.root, self.database).discarded())
        images = {image.id: image for image in read_corpus(self.root)}
        classifies = settings.classifies
        items: Sequence[Item] = (
            question_items(self.root, settings, slots, options.truth, question_glosses(settings))
            if classifies
            else choice_items(slots)
        )
        items = [item for item in items if item.image in images]
        if not slots.images and not begun:
            raise StudyError(f"every image of selection {options.selection!r} is discarded, and no spare is left")
        models = dict.fromkeys(name for item in items if isinstance(item, ChoiceItem) for name in (item.first, item.second))
        shown = digests(self.root, models, [item.image for item in items])
        items = [i for i in items if not isinstance(i, ChoiceItem) or {(i.first, i.image), (i.second, i.image)} <= shown.keys()]
        asked = _Asked(settings, images, {item.id: item for item in items}, shown, numbered=list(images), chosen=slots.images)
        asked.measured = MeasuredTags(self.root, settings, images)
        asked.place = {id_: k for k, id_ in enumerate(asked.numbered)}
        if options.campaign.training:
            asked.training = {one.item.id: one for one in read_training(options.campaign.training, settings, images)}
            trained = [one.item for one in asked.training.values() if isinstance(one.item, ChoiceItem)]
            asked.shown = {
                **shown,
                **digests(self.root, dict.fromkeys(m for i in trained for m in (i.first, i.second)), [i.image for i in trained]),
            }
        if classifies:
            for class_, ids in _examples(self.root, settings, options.truth, asked.numbered).items():
                asked.examples[class_] = [asked.place[id_] for id_ in ids]
        return asked


def _examples(root: Path, settings: Settings, truth: str, images: Sequence[str]) -> dict[str, list[str]]:
    """Return {class: some images whose labels name it and nothing else}."""
    out: dict[str, list[str]] = {}
    if truth not in label_maps.truths(root):
        return out
    for image, labels in zip(images, read_label_sets(root, settings, truth, images), strict=True):
        if labels is not None and len(labels) == 1:
            held = out.setdefault(settings.classes.names[next(iter(labels))], [])
            if len(held) <= _EXAMPLES:
                held.append(image)
    return out
