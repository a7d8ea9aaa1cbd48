"""What a campaign shows about results: the verdict, the rankings, how far people agree, where they differ,
and how many more answers would settle an order.

Conventions: numbers are formatted as text for tables; an unknown value is a dash. Of images drawn at random
intervals hold at any time (`rank --anytime`); others for a number of answers that was fixed beforehand, and
pages say so. People have their names here where they have any, else their pseudonyms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean

import numpy as np

from faultscape.errors import FaultscapeError, counted
from faultscape.labelling import answers as said
from faultscape.labelling.people.annotator_agreement import alpha, pair_agreement
from faultscape.labelling.people.choice_forecast import forecast_answers, votes_of
from faultscape.labelling.people.estimated_accuracy import likely_yes
from faultscape.metrics.intervals.units import LEAST, LEVEL
from faultscape.nouns import Slots
from faultscape.reading.choices import EVERYBODY, WORTH, Voices, counting, shares
from faultscape.reading.label_counts import questions
from faultscape.reading.study import Study
from faultscape.reporting.competition.standing_tables import RankTable, rank_tables, recommended
from faultscape.reporting.verdict import Verdict, Work, nothing_said
from faultscape.reporting.verdict_lines import verdict
from faultscape.standings import FEW
from faultscape.study.answers.choices import Choice
from faultscape.study.answers.points import PointAnswer
from faultscape.verbs.rank.live import standings_now
from faultscape.verbs.serve.asked_items import CHOICES, POINTS, ChoiceItem
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.people_facts import ANSWER_CODES, NONE

_SURE = (1 + LEVEL) / 2  # of an order: a 95 % interval leaves 2.5 % on either side


@dataclass(frozen=True)
class Forecasts:
    """For each two models how they stand and how many more answers it takes, as text; in which units, and
    from how many units and at which probability of the opposite order an order counts as settled.
    """

    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    unit: str = "image"
    least: int = FEW
    chance: float = 1 - _SURE


@dataclass(frozen=True)
class Decisions:
    """How many questions the majority decides, and those that Dawid and Skene's model decides differently:
    image, class, answers, and the probability of yes, as text.
    """

    compared: int
    apart: list[tuple[str, str, str, str]]


@dataclass(frozen=True)
class ResultFacts:
    """The contents of the results page; ``why`` is the reason if there are answers but no standings. For
    choices, ``answers`` counts each person once per image and pair of models, as rankings do, and ``repeats``
    counts the others. ``behind``: answers came since, and are being counted. ``anytime``: intervals hold
    however often one looks.
    """

    answers: int
    people: int
    verdict: Verdict
    rankings: list[RankTable]
    notes: tuple[str, ...]
    forecasts: Forecasts
    agreement: list[tuple[str, str]]
    disagreeing: list[tuple[str, str, float, str]]
    why: str = ""
    decisions: Decisions | None = None
    masks: tuple[str, ...] = ()
    repeats: int = 0
    behind: bool = False
    anytime: bool = False


def results(
    study: Study,
    campaign: Campaign,
    voices: Voices = EVERYBODY,
    names: Mapping[str, str] | None = None,
) -> ResultFacts:
    """Return the results of the study so far, by the answers of ``voices``: verdict, standings, forecasts,
    agreement, and the items on which people differ; ``names`` are {pseudonym: name}.
    """
    options = campaign.options
    found = None
    why = ""
    known = names or {}
    try:
        found = standings_now(study, options.selection, options.truth, voices)
    except FaultscapeError as error:
        why = str(error)
    best = recommended(found) if found else ""
    usable = [table for table in rank_tables(found) if not table.unusable] if found else []
    rankings = sorted(usable, key=lambda table: table.name != best)
    notes = tuple(_with_names(note, known) for note in found.notes) if found else ()
    anytime = found is not None and "anytime" in found.definitions

    def said_of(images: int, points: int = 0) -> Verdict:
        if found is None:
            return nothing_said(None, study.models, images, Work(), answered=points)
        held = {options.selection: found}
        return verdict(held, models=study.models, labelled=images, study=study.place)

    try:
        slots = study.selection(options.selection).now
        if campaign.task == POINTS:
            seen = _asked_points(study, slots, options.truth, voices)
            first = [one for one in seen if not one.repeat]
            pixels = {(one.image, one.row, one.column) for one in first}
            return ResultFacts(
                len(first),
                len({one.annotator for one in seen}),
                said_of(0, len(pixels)),
                rankings,
                notes,
                Forecasts(),
                [],
                [],
                why if seen else "",
                repeats=len(seen) - len(first),
            )
        if campaign.task != CHOICES:
            rows = voices.answers(_asked_answers(study, slots, options.truth))
            people = {row[2] for row in rows}
            agreement = _question_agreement(rows, known)
            decisions = _decisions(rows)
            return ResultFacts(
                len(rows),
                len(people),
                said_of(len({row[0] for row in rows})),
                rankings,
                notes,
                Forecasts(),
                agreement,
                [],
                why if rows else "",
                decisions,
                anytime=anytime,
            )
        asked = campaign.choices_asked
        kept = voices.choices(_asked_choices(study, slots, options.truth, asked))
    except FaultscapeError as error:
        return ResultFacts(0, 0, said_of(0), rankings, notes, Forecasts(), [], [], why or str(error))
    people = {one.annotator for one in kept}
    # on drawn images it is masks and choices together that settle an order
    forecasts = Forecasts() if slots.draws else _forecasts(kept, asked, study.groups)
    agreement = _choice_agreement(kept, known)
    masks = tuple(_with_names(name, known) for name in _with_masks(study, options.truth))
    votes = sum(number for _, number in shares(kept).values())
    again = len(kept) - votes
    why = why if kept else ""
    return ResultFacts(
        votes,
        len(people),
        said_of(len({one.image for one in kept})),
        rankings,
        notes,
        forecasts,
        agreement,
        _disagreeing(kept),
        why,
        masks=masks,
        repeats=again,
        anytime=anytime,
    )


def _asked_points(study: Study, slots: Slots, truth: str, voices: Voices) -> list[PointAnswer]:
    """Return the answers to points that the selection asks now, repeats included."""
    drawn = {(point.image, point.row, point.column) for point in slots.points}
    return [
        one
        for one in study.point_answers.answers(truth)
        if (one.image, one.row, one.column) in drawn and one.annotator not in voices.without
    ]


def _asked_choices(study: Study, slots: Slots, truth: str, items: Sequence[ChoiceItem]) -> list[Choice]:
    """Return the choices that count: between two models that are compared on that image now (``items``), on
    drawn images between any two; skips do not count.
    """
    asked = {(item.image, item.first, item.second) for item in items}
    drawn = {*slots.images} if slots.draws else set[str]()
    kept, _ = counting(study, truth, slots.models)
    return [
        one
        for one in kept
        if (one.image in drawn or (one.image, *sorted((one.first, one.second))) in asked)
        and one.chosen in WORTH
    ]


def _asked_answers(study: Study, slots: Slots, truth: str) -> list[said.Answer]:
    """Return the answers that count, the latest of each person and question: to questions that the selection
    asks now.
    """
    asked = questions(study, slots, truth)
    return [row for row in said.latest(study.answers.answers(truth)) if row[:2] in asked]


def _with_names(text: str, known: Mapping[str, str]) -> str:
    """Return a text in which people have their names.

    >>> _with_names("labels-person-1a2b3c and person-99", {"person-1a2b3c": "Ann"})
    'labels-Ann and person-99'
    """
    return re.sub(r"person-[0-9a-f]+", lambda found: known.get(found[0]) or found[0], text)


def _forecasts(kept: Sequence[Choice], asked: Sequence[ChoiceItem], groups: Mapping[str, str]) -> Forecasts:
    """Return the counts for each two models, and a forecast of how many more images would settle their order.

    Answers about one image, or images of one group, are not independent: each image or group is one vote, the
    mean over its people, and each person's vote is the mean of their repeats.
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
        stand = f"{won:.3g} for {first}, {lost:.3g} for {second}" + (
            f", {none:.0f} for neither" if none else ""
        )
        stand += f", of {counted(len(there), unit)}"
        said_ = forecast_answers(won, lost, none, level=_SURE, least=least, unit=unit, worlds=500, limit=500)
        rows.append((first, second, stand, str(said_)))
    return Forecasts(rows, unit, least, 1 - _SURE)


def _unit(image: str, groups: Mapping[str, str]) -> tuple[str, str]:
    """Return the group of an image, or the image itself if it has none."""
    return ("group", group) if (group := groups.get(image)) else ("image", image)


def _choice_agreement(kept: Sequence[Choice], known: Mapping[str, str]) -> list[tuple[str, str]]:
    rows = [one if one.first <= one.second else one.turned for one in kept]
    items = [f"{one.image}\0{one.first}\0{one.second}" for one in rows]
    labels = [{"first": 0, "second": 1}.get(one.chosen, 2) for one in rows]
    return _agreement(items, [one.annotator for one in rows], labels, known)


def _question_agreement(rows: Sequence[said.Answer], known: Mapping[str, str]) -> list[tuple[str, str]]:
    return _agreement(
        [f"{row[0]}\0{row[1]}" for row in rows],
        [row[2] for row in rows],
        [said.WORDS.index(row[3]) for row in rows],
        known,
    )


def _decisions(rows: Sequence[said.Answer]) -> Decisions | None:
    """Return where the majority and Dawid and Skene's model decide differently; None if there are too few
    answers for the model.
    """
    numbers = {key: k for k, key in enumerate(dict.fromkeys(row[:2] for row in rows))}
    person = np.unique([row[2] for row in rows], return_inverse=True)[1]
    likely = likely_yes([numbers[row[:2]] for row in rows], person, [ANSWER_CODES[row[3]] for row in rows])
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


def _with_masks(study: Study, truth: str) -> tuple[str, ...]:
    """Return the truths of people who labelled masks, if there are two or more."""
    names = [name for name in study.label_folders if name.startswith(f"{truth}-")]
    return tuple(names) if len(names) > 1 else ()


def _agreement(
    items: Sequence[str], who: Sequence[str], labels: Sequence[int], known: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return Krippendorff's alpha of all and Cohen's kappa of each two people, as text."""
    if len(set(who)) < 2:
        return []
    pseudonyms, person = np.unique(who, return_inverse=True)
    names = [known.get(one) or one for one in pseudonyms.tolist()]
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
                    (
                        f"{NONE if math.isnan(kappa) else f'{kappa:.2f}'} of {number} items in common,"
                        f" {100 * pairs.alike[a, b]:.0f} % alike"
                    ),
                )
            )
    return out


def _disagreeing(kept: Sequence[Choice]) -> list[tuple[str, str, float, str]]:
    """Return the items on which people differ most: image, models, share for the first, and how many
    answers.
    """
    found = [
        (image, f"{a} and {b}", share, str(number))
        for (image, a, b), (share, number) in shares(kept).items()
        if number > 1 and 0 < share < 1
    ]
    return sorted(found, key=lambda row: (abs(row[2] - 0.5), row[0]))[:20]
