"""What a campaign shows about people: their progress, their speed, how consistent they are, how likely
they are right, and signs that they answer without looking.

Conventions: numbers are formatted as text for tables; an unknown value is a dash.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from faultscape.labelling.people.careless import (
    CHANCE,
    FAST,
    FASTEST,
    ONE_SIDE,
    AnswerColumns,
    CareTest,
    care_tests,
)
from faultscape.labelling.people.choices import consistency
from faultscape.labelling.people.estimated_accuracy import (
    COMMON,
    EstimatedAccuracy,
    estimated_accuracy,
)
from faultscape.reading.study import Study
from faultscape.study.answers.annotators import ORGANISER, Annotator
from faultscape.study.answers.choices import Choice
from faultscape.study.answers.points import PointAnswer
from faultscape.study.answers.schema import ANSWERS, TRAINING
from faultscape.verbs.serve.asked_items import CHOICES, POINTS, item_id
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.point_people import PointPeople

NONE = "–"
ANSWER_CODES = {"no": 0, "yes": 1, "unsure": 2}
_CODES = {"first": 0, "second": 1, "both good": 2, "both bad": 3, "not sure": 4, "skip": 5}


@dataclass(frozen=True)
class PersonRow:
    """One person, as text; the name is '' for a person who was removed."""

    pseudonym: str
    name: str
    organiser: bool
    answers: int
    left: int
    seconds: str
    consistency: str
    side: str
    training: str
    accuracy: str
    marks: tuple[str, ...]
    care: str


def who_answered(study: Study, truth: str) -> set[str]:
    """Return the pseudonyms of all who answered, including people who were removed."""
    if study.classifies:
        return {row[2] for row in study.answers.answers(truth)}
    chose = {one.annotator for one in study.choices.choices(truth)}
    return chose | {one.annotator for one in study.point_answers.answers(truth)}


def people_rows(campaign: Campaign, people: Sequence[Annotator]) -> list[PersonRow]:
    """Return a row for everyone who was invited or answered."""
    known = {one.pseudonym: one for one in people}
    told = _Told(campaign)
    names = dict.fromkeys([*known, *told.who])
    return [told.row(name, known.get(name)) for name in names]


@dataclass(frozen=True)
class _Said:
    """What one person answered to an item: which of two classes, 2 for neither; in how many seconds; whether
    for the first time; for training whether the answer was expected; and for choices whether the left was
    chosen, 1 or 0, 2 for neither.
    """

    annotator: str
    item: tuple[str, ...]
    class_: int
    seconds: float | None
    first: bool
    right: bool
    left: int = 2


class _Told:
    """The answers so far, person by person."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._choices = list[Choice]()
        self._points = list[PointAnswer]()
        self._said = self._training = list[_Said]()
        self._planted: dict[str, tuple[int, int, float, float]] = {}
        study = campaign.study()
        truth = campaign.options.truth
        if campaign.task == POINTS:
            self._points = study.point_answers.answers(truth)
        elif campaign.task == CHOICES:
            self._choices = study.choices.choices(truth)
            self._said = [_said_of(campaign, one) for one in self._choices]
            self._training = [_said_of(campaign, one) for one in study.choices.choices(TRAINING)]
        else:
            self._said = _timed_answers(study, campaign, truth)
            self._training = _timed_answers(study, campaign, TRAINING)
        every = (*self._said, *self._training, *self._points)
        self.who = list(dict.fromkeys(one.annotator for one in every))
        if campaign.task == POINTS:
            people = PointPeople(self._points, campaign.point_labels, study.classes.names)
            self._accuracy = _accuracy_words(people.who, people.accuracy())
            self._care = people.care()
            self._planted = people.planted()
        else:
            self._accuracy = _accuracies(self._said, symmetric=campaign.task == CHOICES)
            self._care = _care(self._said, sided=campaign.task == CHOICES)

    def row(self, pseudonym: str, known: Annotator | None) -> PersonRow:
        mine = [one for one in (*self._said, *self._points) if one.annotator == pseudonym]
        seconds = [one.seconds for one in mine if one.seconds is not None]
        return PersonRow(
            pseudonym,
            known.name if known else "",
            known is not None and known.role == ORGANISER,
            len(mine),
            self._campaign.left_for(pseudonym) if known else 0,
            f"{median(seconds):.1f}" if seconds else NONE,
            *self._habits_of(pseudonym),
            self._known_words(pseudonym),
            self._accuracy.get(pseudonym, NONE),
            *_care_words(self._care.get(pseudonym, {}), self._campaign.task),
        )

    def _known_words(self, pseudonym: str) -> str:
        """Return how often a person is right where the answer is known, as text."""
        if pseudonym in self._planted:
            right, of, low, high = self._planted[pseudonym]
            return f"{right} of {of} ({100 * low:.0f} to {100 * high:.0f} %)"
        trained = [one.right for one in self._training if one.annotator == pseudonym]
        return f"{sum(trained)} of {len(trained)}" if trained else NONE

    def _habits_of(self, pseudonym: str) -> tuple[str, str]:
        """Return how often repeated items were answered alike, and how often the left side was chosen, as
        text.
        """
        if self._campaign.task != POINTS:
            return _habits([one for one in self._choices if one.annotator == pseudonym])
        twice: dict[tuple[str, int, int], list[str]] = {}
        for one in self._points:
            if one.annotator == pseudonym:
                twice.setdefault((one.image, one.row, one.column), []).append(one.answer)
        both = [said for said in twice.values() if len(said) == 2]
        alike = sum(one == other for one, other in both)
        return (f"{alike} of {len(both)}" if both else NONE), NONE


def _accuracies(said_: Sequence[_Said], *, symmetric: bool) -> dict[str, str]:
    """Return {pseudonym: how likely they are right, as text, or why that is unknown}."""
    once = [one for one in said_ if one.first]
    who, person = np.unique([one.annotator for one in once], return_inverse=True)
    numbers = {item: k for k, item in enumerate(dict.fromkeys(one.item for one in once))}
    items = [numbers[one.item] for one in once]
    classes = [one.class_ for one in once]
    return _accuracy_words(who.tolist(), estimated_accuracy(items, person, classes, symmetric=symmetric))


def _accuracy_words(who: Sequence[str], found: EstimatedAccuracy) -> dict[str, str]:
    """Return {pseudonym: how likely a person is right, as text, or why that is unknown}."""
    words = [
        f"{NONE} ({number} of {COMMON} items)" if math.isnan(value) else f"{100 * value:.0f} %"
        for value, number in zip(found.value.tolist(), found.common.tolist(), strict=True)
    ]
    return dict(zip(who, words, strict=True))


def _care(said_: Sequence[_Said], *, sided: bool) -> dict[str, dict[str, CareTest]]:
    """Return {pseudonym: {sign: test}} of signs of answers that were given without looking."""
    who, person = np.unique([one.annotator for one in said_], return_inverse=True)
    numbers = {item: k for k, item in enumerate(dict.fromkeys(one.item for one in said_))}
    tests = care_tests(
        AnswerColumns(
            [numbers[one.item] for one in said_],
            person,
            [one.class_ for one in said_],
            [math.nan if one.seconds is None else one.seconds for one in said_],
            [one.first for one in said_],
            [one.left for one in said_] if sided else None,
        )
    )
    return dict(zip(who.tolist(), tests, strict=True))


def _care_words(tests: Mapping[str, CareTest], task: str) -> tuple[tuple[str, ...], str]:
    """Return a sentence for each sign that marks a person, and one on the tests that found nothing."""
    others = "masks, other people or most models" if task == POINTS else "most others"
    signs = {
        CHANCE: f"answers like chance: differs from {others} on {{0.count}} of {{0.of}} items",
        ONE_SIDE: "always one side: {0.count} of {0.of} choices of a side"
        if task == CHOICES
        else "always one answer: {0.count} of {0.of} answers",
        FAST: f"too fast: {{0.count}} of {{0.of}} answers in less than {FASTEST:g} s",
    }
    found = {sign: test for sign, test in tests.items() if test.marked}
    marks = tuple(f"{signs[sign].format(test)} ({_p_words(test.p_value)})" for sign, test in found.items())
    made = sum(not math.isnan(test.p_value) for test in tests.values())
    if not tests:
        return marks, NONE
    if not made:
        return marks, "too few answers to test"
    rest = "" if made == len(tests) else f" by {made} of {len(tests)} tests; too few answers for the others"
    return marks, f"no sign found{rest}"


def _p_words(p_value: float) -> str:
    """Return a p-value for display.

    >>> _p_words(0.0123), _p_words(1e-9)
    ('p = 0.012', 'p < 0.001')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _said_of(campaign: Campaign, choice: Choice) -> _Said:
    one = choice if choice.first <= choice.second else choice.turned
    right = one.chosen == campaign.expected(item_id(TRAINING, one.image, one.first, one.second))
    item = (one.image, one.first, one.second, one.first_shown, one.second_shown)
    left = 2 if one.chosen not in ("first", "second") else int(one.chosen == one.left)
    return _Said(one.annotator, item, min(_CODES[one.chosen], 2), one.seconds, one.repeat == 0, right, left)


def _timed_answers(study: Study, campaign: Campaign, truth: str) -> list[_Said]:
    """Return the yes/no answers of a truth, the latest of each person and question."""
    counts = {row[:3]: row for row in study.answers.answers(truth)}
    stored = study.database.read(ANSWERS, "image", "class", "annotator", "seconds", truth=truth)
    seconds = {tuple(key): took for *key, took in stored}  # none for a class renamed since
    return [
        _Said(
            who,
            (image, class_),
            ANSWER_CODES[answer],
            seconds.get((image, class_, who)),
            True,
            answer == campaign.expected(item_id(TRAINING, image, class_)),
        )
        for image, class_, who, answer in counts.values()
    ]


def _habits(mine: Sequence[Choice]) -> tuple[str, str]:
    """Return how often repeated items were answered alike, and how often the left side was chosen, as
    text.
    """
    if not mine:
        return NONE, NONE
    image, first, second, who, choice, left_first = _columns(mine)
    every, _ = consistency(image, first, second, who, choice, left_first)
    chosen = np.array([one.chosen in ("first", "second") for one in mine])
    alike = f"{int(every.count)} of {int(every.of)}" if int(every.of) else NONE
    if not chosen.any():
        return alike, NONE
    left = [one.chosen == one.left for one in mine if one.chosen in ("first", "second")]
    return alike, f"{100 * fmean(left):.0f} %"


def _columns(rows: Sequence[Choice]) -> tuple[np.ndarray, ...]:
    """Return columns of choices as `labelling` expects them: image, first, second, who, choice, whether the
    first was on the left.
    """

    def places(words: Sequence[str]) -> np.ndarray:
        return np.unique(words, return_inverse=True)[1]

    models = {name: k for k, name in enumerate(sorted({m for one in rows for m in (one.first, one.second)}))}
    return (
        places([one.image for one in rows]),
        np.array([models[one.first] for one in rows]),
        np.array([models[one.second] for one in rows]),
        places([one.annotator for one in rows]),
        np.array([_CODES[one.chosen] for one in rows]),
        np.array([one.left == "first" for one in rows]),
    )
