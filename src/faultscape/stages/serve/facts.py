"""What a campaign shows of people and of results: how far each is and how they answer, how far they agree, who leads, and how many more answers would settle it.

Conventions: numbers are words, made for tables; what cannot be known is a dash. Intervals hold for a number of answers that was fixed beforehand, which pages say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean, median

import numpy as np

from faultscape.errors import FaultscapeError, counted
from faultscape.labelling import answers as said
from faultscape.labelling.people.annotator_agreement import alpha, pair_agreement
from faultscape.labelling.people.choice_forecast import forecast_answers, votes_of
from faultscape.labelling.people.choices import consistency, side_bias
from faultscape.labelling.people.estimated_accuracy import COMMON, estimated_accuracy, likely_yes
from faultscape.metrics.intervals.units import LEAST, LEVEL
from faultscape.nouns import Slots
from faultscape.ranking.catalogue import entry
from faultscape.ranking.replicates import FEW
from faultscape.stages import evidence
from faultscape.stages.asked_items import CHOICES, ChoiceItem, choice_items, item_id
from faultscape.stages.choice_evidence import WORTH, counting, shares
from faultscape.stages.label_counts import questions
from faultscape.stages.serve.campaign import Campaign
from faultscape.stages.snapshot import Snapshot
from faultscape.standings import Standings
from faultscape.study.answers.annotators import ORGANISER, Annotator
from faultscape.study.answers.choices import Choice, Choices
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.schema import ANSWERS, TRAINING
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps

NONE = "–"
_SURE = (1 + LEVEL) / 2  # of an order: an interval of 95 % leaves as much on either side
_CODES = {"first": 0, "second": 1, "both good": 2, "both bad": 3, "not sure": 4, "skip": 5}
_ANSWER_CODES = {"no": 0, "yes": 1, "unsure": 2}
StandingsNow = Callable[[], Standings]


@dataclass(frozen=True)
class PersonRow:
    """One person, in words: '' for the name of one who was removed."""

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


@dataclass(frozen=True)
class LeaderRow:
    """One model of a ranking: its place, score and interval, in words."""

    model: str
    score: str
    interval: str
    ranks: str


@dataclass(frozen=True)
class Forecasts:
    """Of each two models how they stand and how many more it takes, in words; of which units, and from how many on and at which chance of the other order an order counts as settled."""

    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    unit: str = "image"
    least: int = FEW
    chance: float = 1 - _SURE


@dataclass(frozen=True)
class Decisions:
    """Of how many questions the majority decides, and those that Dawid and Skene's model decides otherwise: image, class, what people said, and how likely it is yes, in words."""

    compared: int
    apart: list[tuple[str, str, str, str]]


@dataclass(frozen=True)
class ResultFacts:
    """What the page of results shows; ``why`` says why there are no standings yet."""

    answers: int
    people: int
    rankings: list[tuple[str, list[LeaderRow]]]
    notes: tuple[str, ...]
    forecasts: Forecasts
    agreement: list[tuple[str, str]]
    disagreeing: list[tuple[str, str, float, str]]
    why: str = ""
    decisions: Decisions | None = None
    masks: tuple[str, ...] = ()


def people_rows(campaign: Campaign, people: Sequence[Annotator]) -> list[PersonRow]:
    """Return a row for everybody who was invited or answered."""
    known = {one.pseudonym: one for one in people}
    told = _Told(campaign)
    names = dict.fromkeys([*known, *told.who])
    return [told.row(name, known.get(name)) for name in names]


@dataclass(frozen=True)
class _Said:
    """What one person said of an item: which of two classes, 2 for neither; in how many seconds; whether for the first time; and of training whether it was expected."""

    annotator: str
    item: tuple[str, ...]
    class_: int
    seconds: float | None
    first: bool
    right: bool


class _Told:
    """What was said so far, person by person."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign, self._choices = campaign, list[Choice]()
        if campaign.task == CHOICES:
            held = Choices(campaign.root, campaign.database)
            self._choices, training = held.choices(campaign.options.truth), held.choices(TRAINING)
            self._said, self._training = ([_said_of(campaign, one) for one in rows] for rows in (self._choices, training))
        else:
            self._said = _timed_answers(campaign, campaign.options.truth)
            self._training = _timed_answers(campaign, TRAINING)
        self.who = list(dict.fromkeys(one.annotator for one in (*self._said, *self._training)))
        self._accuracy = _accuracies(self._said, symmetric=campaign.task == CHOICES)

    def row(self, pseudonym: str, known: Annotator | None) -> PersonRow:
        mine = [one for one in self._said if one.annotator == pseudonym]
        trained = [one.right for one in self._training if one.annotator == pseudonym]
        seconds = [one.seconds for one in mine if one.seconds is not None]
        return PersonRow(
            pseudonym,
            known.name if known else "",
            known is not None and known.role == ORGANISER,
            len(mine),
            self._campaign.left_for(pseudonym) if known else 0,
            f"{median(seconds):.1f}" if seconds else NONE,
            *_habits([one for one in self._choices if one.annotator == pseudonym]),
            f"{sum(trained)} of {len(trained)}" if trained else NONE,
            self._accuracy.get(pseudonym, NONE),
        )


def _accuracies(said_: Sequence[_Said], *, symmetric: bool) -> dict[str, str]:
    """Return {pseudonym: how likely they are right, in words, or why that is not known}."""
    once = [one for one in said_ if one.first]
    who, person = np.unique([one.annotator for one in once], return_inverse=True)
    numbers = {item: k for k, item in enumerate(dict.fromkeys(one.item for one in once))}
    items, classes = [numbers[one.item] for one in once], [one.class_ for one in once]
    found = estimated_accuracy(items, person, classes, symmetric=symmetric)
    words = [
        f"{NONE} ({number} of {COMMON} items)" if math.isnan(value) else f"{100 * value:.0f} %"
        for value, number in zip(found.value.tolist(), found.common.tolist(), strict=True)
    ]
    return dict(zip(who.tolist(), words, strict=True))


def _said_of(campaign: Campaign, choice: Choice) -> _Said:
    one = choice if choice.first <= choice.second else choice.turned
    right = one.chosen == campaign.expected(item_id(TRAINING, one.image, one.first, one.second))
    item = (one.image, one.first, one.second, one.first_shown, one.second_shown)
    return _Said(one.annotator, item, min(_CODES[one.chosen], 2), one.seconds, one.repeat == 0, right)


def _timed_answers(campaign: Campaign, truth: str) -> list[_Said]:
    """Return the yes/no answers of a truth, of each person and question the latest."""
    counts = {row[:3]: row for row in Answers(campaign.root, campaign.database).answers(truth)}
    stored = campaign.database.read(ANSWERS, "image", "class", "annotator", "seconds", truth=truth)
    seconds = {tuple(key): took for *key, took in stored}  # of a class that is called otherwise since, none
    return [
        _Said(
            who,
            (image, class_),
            _ANSWER_CODES[answer],
            seconds.get((image, class_, who)),
            True,
            answer == campaign.expected(item_id(TRAINING, image, class_)),
        )
        for image, class_, who, answer in counts.values()
    ]


def _habits(mine: Sequence[Choice]) -> tuple[str, str]:
    """Return how often repeated items were answered alike, and how often the left side was chosen, in words."""
    if not mine:
        return NONE, NONE
    image, first, second, who, choice, left_first = _columns(mine)
    every, _ = consistency(image, first, second, who, choice, left_first)
    chosen = np.array([one.chosen in ("first", "second") for one in mine])
    alike = f"{int(every.count)} of {int(every.of)}" if int(every.of) else NONE
    if not chosen.any():
        return alike, NONE
    left = np.array([0 if one.chosen == one.left else 1 for one in mine if one.chosen in ("first", "second")])
    bias, _ = side_bias(np.zeros(len(left), int), left)
    odd = f", p = {float(bias.p_value):.3f}" if float(bias.p_value) < 0.05 else ""
    return alike, f"{100 * float(bias.left.value):.0f} %{odd}"


def _columns(rows: Sequence[Choice]) -> tuple[np.ndarray, ...]:
    """Return columns of choices as the room takes them: image, first, second, who, choice, whether the first was on the left."""

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


def results(campaign: Campaign, standings: StandingsNow) -> ResultFacts:
    """Return what is known so far: standings, forecasts, agreement, and on which items people differ."""
    root, options = campaign.root, campaign.options
    rankings, notes, why = list[tuple[str, list[LeaderRow]]](), tuple[str, ...](), ""
    try:
        found = standings()
        notes = found.notes
        rankings = [(entry(name).title, _leaders(found, name)) for name, one in found.rankings.items() if not one.unusable]
    except FaultscapeError as error:
        why = str(error)
    try:
        slots = evidence.current(root, options.selection, Answers(root, campaign.database).discarded())
        if campaign.task != CHOICES:
            rows = _asked_answers(campaign, slots)
            people = {row[2] for row in rows}
            agreement, decisions = _question_agreement(rows), _decisions(rows)
            return ResultFacts(len(rows), len(people), rankings, notes, Forecasts(), agreement, [], why, decisions)
        kept = _asked_choices(campaign, slots)
    except FaultscapeError as error:
        return ResultFacts(0, 0, rankings, notes, Forecasts(), [], [], why or str(error))
    people = {one.annotator for one in kept}
    forecasts, agreement = _forecasts(kept, choice_items(slots), Snapshot(root).groups), _choice_agreement(kept)
    masks = _with_masks(campaign)
    return ResultFacts(len(kept), len(people), rankings, notes, forecasts, agreement, _disagreeing(kept), why, masks=masks)


def _asked_choices(campaign: Campaign, slots: Slots) -> list[Choice]:
    """Return the choices that count: between two models that the selection compares on that image, as it counts now; skips say nothing."""
    asked = {(item.image, item.first, item.second) for item in choice_items(slots)}
    kept, _ = counting(campaign.root, campaign.options.truth, slots.models, database=campaign.database)
    return [one for one in kept if (one.image, *sorted((one.first, one.second))) in asked and one.chosen in WORTH]


def _asked_answers(campaign: Campaign, slots: Slots) -> list[said.Answer]:
    """Return the answers that count, of each person and question the latest: to questions that the selection asks, as it counts now."""
    asked = questions(campaign.root, read_settings(campaign.root), slots, campaign.options.truth)
    rows = Answers(campaign.root, campaign.database).answers(campaign.options.truth)
    return [row for row in said.latest(rows) if row[:2] in asked]


def _leaders(found: Standings, name: str) -> list[LeaderRow]:
    ranking, out = found.rankings[name], []
    for model in ranking.order:
        low, high = ranking.score_interval.get(model, [float("nan")] * 2)
        ranks = ranking.rank_interval.get(model)
        out.append(
            LeaderRow(
                model,
                NONE if math.isnan(ranking.scores[model]) else f"{ranking.scores[model]:.3f}",
                NONE if math.isnan(low) else f"{low:.3f} to {high:.3f}",
                NONE
                if not ranks or math.isnan(ranks[0])
                else f"{ranks[0]:.0f}"
                if ranks[0] == ranks[1]
                else f"{ranks[0]:.0f} to {ranks[1]:.0f}",
            )
        )
    return out


def _forecasts(kept: Sequence[Choice], asked: Sequence[ChoiceItem], groups: Mapping[str, str]) -> Forecasts:
    """Return for each two models how the images stand, and a forecast of how many more would settle their order.

    What people say of one image, or of images of one group, is not independent: each is one vote, the mean of its people, as each person's is that of repeats.
    """
    held = shares(kept)
    grouped = any(groups.get(image) for image, _, _ in held)
    unit, least = ("group", LEAST) if grouped else ("image", FEW)
    votes: dict[tuple[str, str], dict[tuple[str, str], list[float]]] = {}
    for (image, first, second), (share, _) in held.items():
        of = votes.setdefault((first, second), {})
        of.setdefault(_unit(image, groups), []).append(share)
    rows = []
    for (first, second), of in sorted(votes.items()):
        won, lost, none = votes_of(map(fmean, of.values()))
        there = {_unit(item.image, groups) for item in asked if (item.first, item.second) == (first, second)}
        stand = f"{won:.3g} to {lost:.3g}" + (f", {none:.0f} neither" if none else "") + f"; of {counted(len(there), unit)}"
        said_ = forecast_answers(won, lost, none, level=_SURE, least=least, unit=unit, worlds=500, limit=500)
        rows.append((first, second, stand, str(said_)))
    return Forecasts(rows, unit, least, 1 - _SURE)


def _unit(image: str, groups: Mapping[str, str]) -> tuple[str, str]:
    """Return what stands for the group of an image, or the image where it is alone."""
    return ("group", group) if (group := groups.get(image)) else ("image", image)


def _choice_agreement(kept: Sequence[Choice]) -> list[tuple[str, str]]:
    rows = [one if one.first <= one.second else one.turned for one in kept]
    items = [f"{one.image}\0{one.first}\0{one.second}" for one in rows]
    labels = [{"first": 0, "second": 1}.get(one.chosen, 2) for one in rows]
    return _agreement(items, [one.annotator for one in rows], labels)


def _question_agreement(rows: Sequence[said.Answer]) -> list[tuple[str, str]]:
    return _agreement(
        [f"{row[0]}\0{row[1]}" for row in rows], [row[2] for row in rows], [said.WORDS.index(row[3]) for row in rows]
    )


def _decisions(rows: Sequence[said.Answer]) -> Decisions | None:
    """Return where the majority and Dawid and Skene's model decide otherwise; None where answers are too few for the model."""
    numbers = {key: k for k, key in enumerate(dict.fromkeys(row[:2] for row in rows))}
    person = np.unique([row[2] for row in rows], return_inverse=True)[1]
    likely = likely_yes([numbers[row[:2]] for row in rows], person, [_ANSWER_CODES[row[3]] for row in rows])
    if np.isnan(likely).all():
        return None
    verdicts = {key: verdict for key, verdict in said.majority(rows).items() if verdict is not None}
    words: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        words.setdefault(row[:2], []).append(row[3])
    apart = [
        (
            *key,
            ", ".join(f"{words[key].count(word)} {word}" for word in dict.fromkeys(words[key])),
            f"{100 * likely[numbers[key]]:.0f} %",
        )
        for key, verdict in verdicts.items()
        if verdict != (likely[numbers[key]] > 0.5)
    ]
    return Decisions(len(verdicts), apart)


def _with_masks(campaign: Campaign) -> tuple[str, ...]:
    """Return the truths of people who labelled masks, where there are two or more."""
    names = [name for name in label_maps.truths(campaign.root) if name.startswith(f"{campaign.options.truth}-")]
    return tuple(names) if len(names) > 1 else ()


def _agreement(items: Sequence[str], who: Sequence[str], labels: Sequence[int]) -> list[tuple[str, str]]:
    """Return Krippendorff's alpha of all and Cohen's kappa of each two people, in words."""
    if len(set(who)) < 2:
        return []
    names, person = np.unique(who, return_inverse=True)
    item = np.unique(items, return_inverse=True)[1]
    found = alpha(item, person, labels, resamples=500)
    low, high = (float(v) for v in found.interval)
    spread = "" if math.isnan(low) else f" ({low:.2f} to {high:.2f})"
    words = NONE if math.isnan(found.value) else f"{found.value:.2f}{spread}"
    out = [("Krippendorff's alpha, all", words)]
    pairs = pair_agreement(item, person, labels)
    for a, b in combinations(range(len(names)), 2):
        if pairs.common[a, b]:
            kappa = pairs.kappa[a, b]
            number = int(pairs.common[a, b])
            out.append(
                (
                    f"Cohen's kappa, {names[a]} and {names[b]}",
                    f"{NONE if math.isnan(kappa) else f'{kappa:.2f}'} of {number} items in common, {100 * pairs.alike[a, b]:.0f} % alike",
                )
            )
    return out


def _disagreeing(kept: Sequence[Choice]) -> list[tuple[str, str, float, str]]:
    """Return the items on which people differ most: image, models, share for the first, and of how many."""
    found = [
        (image, f"{a} and {b}", share, str(number))
        for (image, a, b), (share, number) in shares(kept).items()
        if number > 1 and 0 < share < 1
    ]
    return sorted(found, key=lambda row: (abs(row[2] - 0.5), row[0]))[:20]
