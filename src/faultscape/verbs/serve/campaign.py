"""A running campaign: what is asked, who was asked what, and what was answered; one per server, in step with
its database.

Conventions: answers are in the database before they are confirmed; everything else is computed from there, so
that a killed server continues where it stopped. A person who did not answer an item gets it again first; an
item that others did not answer for half an hour goes to the next person. Every few seconds the campaign
checks for other changes: files of the study, and new rows in the database. Methods may be called from several
threads. An item has one id in the database, which follows from what it asks, and another on pages, which
needs the secret of the database (`study.answers.secret`).
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from faultscape.errors import FaultscapeError, OptionError, StudyError
from faultscape.labelling import answers
from faultscape.labelling.people.pair_order import FEWEST_MODELS, PairOrder
from faultscape.labelling.tags.kinds import kinds_of
from faultscape.nouns import CANNOT_TELL, VOID
from faultscape.reading.choices import worth
from faultscape.reading.points.predictions import PixelLabels
from faultscape.reading.points.truths import Pixel
from faultscape.reading.study import Study
from faultscape.study.answers.annotators import Annotators, Handed
from faultscape.study.answers.choices import Choice
from faultscape.study.answers.instructions import instruct, instructions_of
from faultscape.study.answers.least_times import mark_of
from faultscape.study.answers.points import PointAnswer, classes_seen
from faultscape.study.answers.schema import ANSWERS, DISCARDS, TRAINING
from faultscape.study.answers.schema import CHOICES as CHOICES_TABLE
from faultscape.study.answers.schema import POINTS as POINTS_TABLE
from faultscape.study.answers.secret import secret_of
from faultscape.study.answers.withdrawal import take_back_all
from faultscape.study.settings import Settings
from faultscape.study.tables.corpus import Image
from faultscape.verbs.serve.agenda import EXAMPLES, Asker, Given, History, choice_id, stamp_of
from faultscape.verbs.serve.asked_items import (
    CHOICES,
    POINTS,
    QUESTIONS,
    ChoiceItem,
    Item,
    PointItem,
    QuestionItem,
    item_id,
)
from faultscape.verbs.serve.assignment import Assignment, Handing
from faultscape.verbs.serve.known_items import TrainingItem
from faultscape.web.app import NotFoundError
from faultscape.web.words import flat_json, plain_lines, plain_text

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelServeOptions

_SIDED = ("left", "right")
_SAID = {CHOICES: (*_SIDED, "both good", "both bad", "not sure", "skip"), QUESTIONS: ("yes", "no", "unsure")}
_TABLES = {CHOICES: CHOICES_TABLE, QUESTIONS: ANSWERS, POINTS: POINTS_TABLE}
_LONGEST_TEXT = 500
_LONGEST_KEY = 64
_LONGEST_SECONDS = 86_400.0
_OTHER_SIDE = {"first": "second", "second": "first"}
_LOOKED = 3.0  # seconds between two checks for other changes


class Campaign:
    """The campaign of one study, whose database is open. StudyError if there is nothing to ask."""

    def __init__(self, study: Study, options: LabelServeOptions) -> None:
        self.root = study.root
        self.options = options
        self.database = study.database
        self._lock = threading.RLock()
        self._reading = threading.RLock()
        self._people = Annotators(study.root, study.database)
        self._choices = study.choices
        self._points = study.point_answers
        self.secret = secret_of(study.database)
        self._asker = Asker(study, options, self.secret)
        self._asked = self._asker.read()
        self._looked = time.monotonic()
        self._trouble = ""
        self.task = self._asked.task
        self.rules = options.campaign.of(points=self.task == POINTS, drawn=self._asked.drawn)
        self._of = (  # items given out by other campaigns do not matter here
            f"{self.task} of {options.truth}"
        )
        number = len({model for one in self.choices_asked for model in (one.first, one.second)})
        if options.campaign.adaptive and self._asked.drawn:
            raise OptionError(
                f"--adaptive is for duels, and selection {options.selection!r} is of images drawn for all"
                " models, whose choices are asked in the order of the draws; remove --adaptive"
            )
        if options.campaign.adaptive and number < FEWEST_MODELS:
            raise OptionError(
                f"--adaptive needs choices between at least {FEWEST_MODELS} models; this study has {number};"
                " remove --adaptive"
            )
        self._begin()

    def study(self) -> Study:
        """Return the study as it is now, with the answers of the open database: for one request, which hands
        it on, so that each file is opened at most once and a page shows one moment. What others wrote since
        the campaign read the study is read again.
        """
        return self._asked.study.now()

    @property
    def nothing(self) -> str:
        """Why nothing is asked, or ''."""
        if self._asked.items:
            return ""
        if self.task == QUESTIONS:
            return f"selection {self.options.selection!r} has no open questions: every image has a label"
        if self.task == POINTS:
            return f"selection {self.options.selection!r} has no open points: every image has a mask"
        if self._asked.drawn:
            return (
                f"selection {self.options.selection!r} has no open choices: its standings leave no two models"
                " open that it was drawn for"
            )
        study = shlex.quote(self.options.study)
        return (
            f"selection {self.options.selection!r} has no duels of two models, so there is nothing to choose"
            f" between; export masks with `faultscape label export`, or let `faultscape run {study} --goal"
            " failures` choose images for duels"
        )

    @property
    def title(self) -> str:
        """The name of the study."""
        return self.root.resolve().name

    @property
    def instructions(self) -> str:
        """What the organiser tells the people who answer, or ''."""
        return instructions_of(self.database, self._of)

    def instruct(self, text: str) -> None:
        """Replace the instructions; LabellingError if they are too long."""
        instruct(self.database, self._of, plain_lines(text))

    @property
    def settings(self) -> Settings:
        """The study's settings, as last read."""
        return self._asked.settings

    @property
    def asks_again(self) -> bool:
        """Whether people are asked some items twice."""
        return self.task != QUESTIONS and self.rules.repeats > 0

    def find(self, id_: str) -> Item:
        """Return the item with an id from a page; NotFoundError if it is not asked."""
        return replace(self._item(self._asked.meant.get(id_, "")), id=id_)

    @property
    def choices_asked(self) -> list[ChoiceItem]:
        """The choices between two models that are asked now."""
        return [one for one in self._asked.items.values() if isinstance(one, ChoiceItem)]

    def some_choice(self) -> ChoiceItem | None:
        """Return any choice that is asked, or None."""
        return next(iter(self.choices_asked), None)

    def image_of(self, item: Item) -> Image:
        """Return the image of an item; NotFoundError if it has left the corpus."""
        found = self._asked.images.get(item.image)
        if found is None:
            raise NotFoundError("this image no longer exists")
        return found

    def number_of(self, item: Item) -> str:
        """Return the number that represents the image of an item on pages, without its name."""
        return item_id(item.image)

    def shown_digest(self, model: str, image: str) -> str:
        """Return the digest of the map of a model that is shown."""
        return self._asked.shown.get((model, image), "")

    def image_at(self, number: str) -> Image:
        """Return the image at a position in the corpus; NotFoundError if there is none."""
        images = self._asked.numbered
        if not (number.isascii() and number.isdecimal() and len(number) < 10 and int(number) < len(images)):
            raise NotFoundError(f"there is no image {number[:40]!r}")
        return self._asked.images[images[int(number)]]

    def place_of(self, image: str) -> int | None:
        """Return the position of an image in the corpus, or None if it has left."""
        return self._asked.place.get(image)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The images of the selection that count now."""
        return self._asked.chosen

    def kinds(self) -> dict[str, str]:
        """Return {kind of failure: its key}: the study's own list, or the default one."""
        return {kind.name: kind.key for kind in kinds_of(self._asked.settings.tags)}

    def proposals(self, study: Study, image: Image, model: str = "") -> list[tuple[str, str]]:
        """Return (kind of failure, why) for the kinds that can be measured on an image and a model's map of
        it.
        """
        return self._asked.measured.of(study, image, model, self.classes_of(image))

    def classes_of(self, image: Image) -> list[str]:
        """Return the classes for which an image was chosen."""
        asked = (one.classes for one in self.choices_asked if one.image == image.id)
        return list(dict.fromkeys(name for names in asked for name in names))

    def items_for(self, pseudonym: str, have: Collection[tuple[str, int]], number: int) -> list[Given]:
        """Return up to ``number`` items for a person who has some already, each noted as given to them."""
        self._look()
        if self._trouble:
            raise StudyError(self._trouble)
        new = list[Handing]()
        out = list[Given]()
        with self._lock:
            meant = self._meant(pseudonym, {id_ for id_, _ in have})
            mine = {(meant[id_], repeat) for id_, repeat in have if id_ in meant}
            for _ in range(number):
                priority = self._pairs.priorities() if self.options.campaign.adaptive else None
                handing, fresh = self._assignment.hand(pseudonym, mine, time.time(), priority)
                if handing is None:
                    break
                if fresh:
                    new.append(handing)
                    self._pairs.hold(pseudonym, handing.item, handing.repeat)
                out.append(self._given(pseudonym, handing))
                mine.add((handing.item, handing.repeat))
        try:
            self._people.hand(
                *(Handed(pseudonym, self._of, one.item, one.repeat, one.side, one.session) for one in new)
            )
        except StudyError:
            with self._lock:
                for one in reversed(new):
                    self._assignment.withdraw(pseudonym, one)
                    self._pairs.release(pseudonym, one.item, one.repeat)
            raise
        return out

    def left_for(self, pseudonym: str) -> int:
        """Return how many items are left for a person."""
        with self._lock:
            return self._assignment.left_for(pseudonym, time.time())

    def done_by(self, pseudonym: str) -> int:
        """Return how many items a person answered."""
        with self._lock:
            return self._assignment.done_by(pseudonym)

    def held_by_others(self, pseudonym: str) -> int:
        """Return how many items given to others a person might get if they stay unanswered."""
        with self._lock:
            return self._assignment.held_by_others(pseudonym, time.time())

    def model_on(self, pseudonym: str, item: ChoiceItem, repeat: int, side: str) -> str:
        """Return which model a person saw on a side; NotFoundError if they were not given the item."""
        handing = self._handed(pseudonym, self._asked.meant.get(item.id, ""), repeat)
        if handing is None:
            raise NotFoundError("you were not asked about this")
        return item.first if (handing.side == "first") == (side == "left") else item.second

    def take(self, pseudonym: str, row: Mapping[str, Any]) -> str:
        """Store one answer, discard or undo of a person; return '' once it is stored, or the reason why it
        cannot be.
        """
        key = row.get("key")
        id_ = row.get("id")
        repeat = row.get("repeat", 0)
        if not (
            isinstance(key, str) and 8 <= len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()
        ):
            return "it has no key"
        if not isinstance(id_, str) or type(repeat) is not int or repeat not in (0, 1):
            return "it has no item"
        with self._lock:
            id_ = self._meant(pseudonym, {id_}).get(id_, "")
        handing = self._handed(pseudonym, id_, repeat)
        if handing is None:
            return "you were not asked about this item"
        try:
            item = self._item(id_)
        except NotFoundError:
            gone = "this item is no longer asked: its image was discarded, or the selection changed"
            return "" if self._known(f"{pseudonym}:{key}") else gone
        seconds = row.get("seconds")
        if seconds is not None and not (type(seconds) in (int, float) and 0 <= seconds <= _LONGEST_SECONDS):
            return "seconds must be a time"
        details = flat_json(
            row.get("shown"),
            _LONGEST_TEXT,
            session=handing.session,
            **self._mark(pseudonym, handing, row),
        )
        if details is None:
            return "shown must be an object with a few texts and numbers"
        if "discard" in row:
            reason = row["discard"]
            text = row.get("text") or ""
            if not (isinstance(reason, str) and isinstance(text, str) and reason.strip()):
                return "a discard needs a reason"
            return self._discard(
                pseudonym, key, item, plain_text(reason)[:_LONGEST_TEXT], plain_text(text)[:_LONGEST_TEXT]
            )
        if row.get("undo", False) not in (True, False):
            return "undo must be true or false"
        said = "" if row.get("undo") else row.get("chosen")
        if not isinstance(said, str) or not (row.get("undo") or self._is_answer(said)):
            given = plain_text(said[:40]) if isinstance(said, str) else type(said).__name__
            return f"the answer {given!r} is not known; use {', '.join(self._allowed)}"
        if not self._keep(pseudonym, f"{pseudonym}:{key}", item, handing, said, seconds, details):
            return ""  # sent again; it may have been taken back meanwhile
        with self._lock:
            self._assignment.note(pseudonym, id_, repeat, answered=said != "")
            if isinstance(item, ChoiceItem):
                self._pairs.note(pseudonym, id_, repeat, worth(_chosen(handing, said)))
        if isinstance(item, QuestionItem) and said == "unsure" and id_ not in self._asked.training:
            self._doubt(item.image)
        return ""

    @property
    def _allowed(self) -> tuple[str, ...]:
        """What people can answer; for points, of a border between two classes, only its form."""
        if self.task == POINTS:
            return (VOID, CANNOT_TELL, "the name of a class", "two of them joined by |")
        return _SIDED if self.options.forced and self.task == CHOICES else _SAID[self.task]

    def _is_answer(self, said: str) -> bool:
        if self.task == POINTS:
            return classes_seen(said, self._asked.settings.class_list.names) is not None
        return said in self._allowed

    def _mark(self, pseudonym: str, handing: Handing, row: Mapping[str, Any]) -> dict[str, bool]:
        """Return the mark of an answer that took less time than a person needs; taking back needs none."""
        if row.get("undo"):
            return {}
        with self._lock:
            since = self._assignment.since_handed(pseudonym, handing, time.time())
        return mark_of(_TABLES[self.task], row.get("seconds"), since)

    def _keep(
        self,
        pseudonym: str,
        key: str,
        item: Item,
        handing: Handing,
        said: str,
        seconds: float | None,
        details: str,
    ) -> bool:
        """Write one answer to the database; return False if its key is there already."""
        truth = TRAINING if handing.item in self._asked.training else self.options.truth
        if isinstance(item, ChoiceItem):
            chosen = _chosen(handing, said)
            shown = (self.shown_digest(item.first, item.image), self.shown_digest(item.second, item.image))
            about = (handing.side, handing.repeat, seconds, truth, details, key)
            choice = Choice(item.image, item.first, item.second, chosen, pseudonym, *shown, *about)
            return self._choices.add(choice, "label serve")
        if isinstance(item, PointItem):
            about = (truth, handing.repeat, seconds, details, key)
            seen = PointAnswer(item.image, item.row, item.column, said, pseudonym, *about)
            return self._points.add(seen, "label serve")
        row = {
            "image": item.image,
            "class": item.class_,
            "annotator": pseudonym,
            "answer": said,
            "source": "label serve",
        }
        return self.database.add_once(
            ANSWERS, {**row, "truth": truth, "key": key, "seconds": seconds, "shown": details}
        )

    def _discard(self, pseudonym: str, key: str, item: Item, reason: str, text: str) -> str:
        """Record one vote to discard an image, and discard it once there are enough votes."""
        if item.id in self._asked.training:
            return "training images cannot be discarded"
        words = f"{reason}: {text}" if text else reason
        row = {
            "image": item.image,
            "reason": words,
            "source": "label serve",
            "annotator": pseudonym,
            "key": f"{pseudonym}:{key}",
        }
        self.database.add_once(DISCARDS, row)
        votes = self.study().answers.discard_votes().get(item.image, {})
        with self._lock:
            mine = self._items_of(item.image)
            seen = votes.keys() | self._assignment.who_answered(mine)
            for id_ in mine:
                self._assignment.drop(pseudonym, id_)
        rules = self.rules
        # S2 3.1
        if item.id in self._asked.planted:
            return ""  # its image has a mask: whoever drew it could use the image
        enough = len(votes) >= rules.discard_votes and answers.most(len(votes), max(len(seen), rules.overlap))
        why = f"{len(votes)} of {len(seen)} annotators: {', '.join(dict.fromkeys(votes.values()))}"
        if enough:
            self._throw_out(item.image, why)
        return ""

    def _doubt(self, image: str) -> None:
        """Discard an image that too many people were unsure about (Wang et al. 2020)."""
        truth = self.options.truth
        if (
            len({*self.database.read(ANSWERS, "annotator", image=image, truth=truth, answer="unsure")})
            > answers.DIFFICULT
        ):
            rows = self.study().answers.answers(truth)
            if why := answers.difficult(row for row in rows if row[0] == image).get(image, ""):
                self._throw_out(image, why)

    def _throw_out(self, image: str, why: str) -> None:
        """Discard an image, and use a spare instead."""
        if self.study().answers.discard([(image, why)], "label serve"):
            self.read_again()

    def take_back_all(self, pseudonym: str) -> None:
        """Take back everything that a person answered."""
        take_back_all(self.database, pseudonym, "label serve")
        with self._lock:
            self._assignment.forget(pseudonym)

    def expected(self, id_: str) -> str:
        """Return the expected answer to a training item, for a choice with the models in the order of their
        names, or ''.
        """
        found = self._asked.training.get(id_)
        return found.expected if found else ""

    def read_again(self) -> None:
        """Read again what is asked, after images were discarded or the study changed; items that people were
        given and that are still asked stay theirs.
        """
        with self._reading:
            found = self._asker.read(begun=True)
            with self._lock:
                before = self._asked
                self._asked = found
                if before.stamp == found.stamp:
                    self._ask()
                else:  # models may be renamed, and maps may differ: items have new ids
                    self._begin()

    @property
    def point_labels(self) -> Mapping[Pixel, PixelLabels]:
        """What models and masks say at the points that were drawn."""
        return self._asked.labels

    def examples(self, item: QuestionItem) -> list[str]:
        """Return the addresses of some other images that show the class of a question."""
        own = self._asked.numbered
        return [f"/example/{k}" for k in self._asked.examples.get(item.class_, []) if own[k] != item.image][
            :EXAMPLES
        ]

    def example(self, number: str) -> Image:
        """Return the image for an example's address; NotFoundError if there is none."""
        if number not in {str(k) for places in self._asked.examples.values() for k in places}:
            raise NotFoundError("this example does not exist")
        return self._asked.images[self._asked.numbered[int(number)]]

    def _given(self, pseudonym: str, handing: Handing) -> Given:
        """Return an item as a person is shown it."""
        training = self._asked.training.get(handing.item)
        item = self._item(handing.item)
        expected = training.expected if training else ""
        if training and isinstance(item, ChoiceItem) and expected in ("first", "second"):
            expected = "left" if expected == handing.side else "right"
        position = self._assignment.position(pseudonym, handing)
        shown = replace(item, id=self.secret.id_of(item.id))
        return Given(
            shown, handing.repeat, handing.side, handing.session, position, training is not None, expected
        )

    def _item(self, id_: str) -> Item:
        """Return the item with a database id; NotFoundError if it is not asked."""
        asked = self._asked
        found = asked.items.get(id_) or asked.planted.get(id_) or asked.training.get(id_)
        if found is None:
            raise NotFoundError("this item no longer exists")
        return found.item if isinstance(found, TrainingItem) else found

    def _meant(self, pseudonym: str, ids: Collection[str]) -> dict[str, str]:
        """Return {id on a person's page: id in the database} of what is asked and what they were given. Items
        from before there was a secret have their database ids.
        """
        known = {id_: self._asked.meant[id_] for id_ in ids if id_ in self._asked.meant}
        if len(known) < len(ids):
            self._bring()
            for item, since in self._assignment.times_of(pseudonym).items():
                known |= {
                    self.secret.id_of(item): item,
                    **({item: item} if since < self.secret.since else {}),
                }
        return known

    def _known(self, key: str) -> bool:
        return any(self.database.read(name, "number", key=key) for name in (*_TABLES.values(), DISCARDS))

    def _begin(self) -> None:
        """Count everything given out and answered from the database."""
        about = self.rules
        self._pairs = PairOrder()
        repeats = about.repeats if self.asks_again else 0
        secret = self.secret.word
        self._assignment = Assignment(
            seed=self.options.seed,
            overlap=about.overlap,
            session=about.session,
            repeats=repeats,
            secret=secret,
        )
        self._history = History(self._of, self.options.truth, _TABLES[self.task])
        self._ask()
        self._bring()

    def _ask(self) -> None:
        """Ask what the study asks now."""
        items = self._asked.items
        asked = self._asked
        in_order = self.task == POINTS or asked.drawn
        self._assignment.ask([*items], [*asked.training], [*asked.planted], in_order=in_order)
        pairs = {id_: (one.first, one.second) for id_, one in items.items() if isinstance(one, ChoiceItem)}
        self._pairs.ask(pairs, self._assignment.order if pairs else ())

    def _bring(self) -> None:
        """Count the rows that are new in the database."""
        self._history.bring(self.study(), self._assignment, self._pairs, self._choice_id, self._items_of)

    def _look(self) -> None:
        """Check for other changes, unless that was just done: the study's files, discards, and rows that
        others wrote. While a study cannot be read, nothing more is asked.
        """
        with self._lock:
            if time.monotonic() - self._looked < _LOOKED:
                return
            self._looked = time.monotonic()
        try:
            before = self._asked
            stamp = stamp_of(before.study, self.options)
            if stamp != before.stamp or self.study().answers.discarded() != before.study.discarded:
                self.read_again()
            with self._lock:
                self._bring()
            self._trouble = ""
        except FaultscapeError as error:
            self._trouble = str(error)

    def _handed(self, pseudonym: str, id_: str, repeat: int) -> Handing | None:
        """Return how a person was given an item, by this server or another, or None."""
        with self._lock:
            found = self._assignment.handed_to(pseudonym, id_, repeat)
            if found is None:
                self._bring()
                found = self._assignment.handed_to(pseudonym, id_, repeat)
        return found

    def _items_of(self, image: str) -> list[str]:
        """Return the ids of the items about an image."""
        asked = self._asked
        return [id_ for id_, one in (*asked.items.items(), *asked.planted.items()) if one.image == image]

    def _choice_id(self, one: Choice) -> str:
        """Return the item id of a choice, with its models in the order of their names; it changes when one of
        the maps changes.
        """
        if one.truth == TRAINING:
            return item_id(TRAINING, one.image, one.first, one.second)
        seen = ((one.first, one.first_shown), (one.second, one.second_shown))
        shown = (digest or self.shown_digest(model, one.image) for model, digest in seen)
        return choice_id(one.image, one.first, one.second, *shown)


def _chosen(handing: Handing, said: str) -> str:
    """Return the model that `left` or `right` refers to, or the answer itself."""
    return {"left": handing.side, "right": _OTHER_SIDE[handing.side]}.get(said, said)
