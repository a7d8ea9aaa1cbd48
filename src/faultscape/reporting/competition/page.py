"""The report page: facts in, one self-contained HTML file out.

Conventions: the page contains its style and script; a content security policy forbids everything else. Jinja2
escapes all inserted values. Unknown numbers are shown as a dash. No clock: the same facts give the same
bytes.
"""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from faultscape.metrics.catalogue import METRICS
from faultscape.nouns import Agreement, Classes, Slots
from faultscape.ranking import catalogue
from faultscape.ranking.classifiers import EitherRight, either_right
from faultscape.reporting.competition import other_questions, outcomes, speed_charts, standing_tables
from faultscape.reporting.competition.class_cards import ClassCard
from faultscape.reporting.competition.constraints import Drawn, PairPictures, size_labels
from faultscape.reporting.competition.failure_kinds import FailureKinds
from faultscape.reporting.competition.gallery import Card, First, first_images
from faultscape.reporting.competition.model_sections import ModelSections
from faultscape.reporting.competition.point_gallery import PointCard, lead_table
from faultscape.reporting.measure.document import SetDocument
from faultscape.reporting.measure.point_views import asked_points, class_table
from faultscape.reporting.measure.views import confusions
from faultscape.reporting.pictures import colour_words
from faultscape.reporting.template import template
from faultscape.reporting.verdict import Verdict
from faultscape.reporting.verdict_lines import verdict
from faultscape.reporting.view import Axis, ChartPoint, HeatCell, Line, Mark, axis, number
from faultscape.standings import Stability, Standings, budget_like, labelled_words
from faultscape.study.tables.selections import MAIN
from faultscape.study.tables.timings import FrameTimes

POINTS = "points"  # the ranking of points
CALLED = {metric.name: metric.called for metric in METRICS if metric.of_pair}
CONSTRAINTS = {"none": "no constraint", "class": "class", "class+scale": "class and scale"}
_PAIRS_SHOWN = 15  # rows of the table of cases; a click opens the rest
_FEW = {"duels": 1, "draws": 1, "said": 4, "points": 4}  # visible images of a group; a click opens the rest
_ENDS = {
    "II": "Images that tell two models apart",
    "III": "Images on which both models are poor",
    "I": "Images on which both models are good",
    "": "Images without an outcome yet",
}
_ENDS_OF_THIRDS = {
    "III": "Images on which one or both models are in the lowest third",
    "I": "Images on which neither model is in the lowest third",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Facts:
    """What every page shows. ``values`` (J, I) are the models' scores on the ``labelled`` chosen images;
    ``whole`` and ``partly`` count fully and partly labelled images; ``others`` are the standings of all
    selections by name, ``stale`` says why some are out of date, and ``speakers`` are those with a say in the
    verdict, in their order.
    """

    study: str
    selection: str
    slots: Slots
    classes: Classes
    pool: int
    standings: Standings | None
    truth: str
    labelled: list[str]
    values: np.ndarray
    others: Mapping[str, Standings] = field(default_factory=dict)
    selectors: Mapping[str, str] = field(default_factory=dict)
    stale: Mapping[str, str] = field(default_factory=dict)
    speakers: Sequence[str] = ()
    references: list[Any] = field(default_factory=list)
    discarded: int = 0
    whole: int = 0
    partly: int = 0
    failures: int = 0
    pictures_left_out: int = 0
    remarks: tuple[str, ...] = ()
    times: tuple[FrameTimes, ...] = ()
    agreement: Agreement | None = None
    kinds: FailureKinds | None = None
    sections: ModelSections | None = None
    bands: tuple[float, ...] = ()
    bands_of_values: bool = False  # thirds of the values, where the usual bands do not tell them apart
    made_from: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class DuelFacts(Facts):
    """The page of duels between label maps."""

    better: float
    cards: list[Card]
    slot_values: np.ndarray
    compared: list[Drawn]
    why_not_compared: str
    pair_pictures: PairPictures | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class PairFacts(Facts):
    """The page of pairs of classifiers; ``values`` are 1, 0, NaN."""

    cards: list[ClassCard]
    images_left_out: int = 0
    groups: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class DrawFacts(Facts):
    """The page of images drawn for all models at once, of classifiers (``class_cards``) or of label maps
    (``cards``, ``bands``).
    """

    classifies: bool
    class_cards: list[ClassCard] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    images_left_out: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class PointFacts(Facts):
    """The page of points drawn for all models at once: how many were ``drawn`` and are ``answered``, the
    ``cards`` of those that most models get wrong, and the ``document`` of what `measure` says from them, None
    where too few are answered.
    """

    drawn: int
    answered: int
    cards: list[PointCard] = field(default_factory=list)
    document: SetDocument | None = None


def page(facts: DuelFacts | PairFacts | DrawFacts | PointFacts) -> str:
    """Return the page as HTML."""
    if facts.sections is not None and facts.standings is not None:
        ranking = standing_tables.recommended(facts.standings)
        best_first = facts.standings.rankings[ranking].order if ranking else []
        facts = replace(facts, sections=facts.sections.ordered(best_first))
    file, more = _kind_of(facts)
    return template(file).render(f=facts, **_context(facts), **more)


def _kind_of(facts: DuelFacts | PairFacts | DrawFacts | PointFacts) -> tuple[str, dict[str, Any]]:
    """Return the template of a page and the values that only this kind of page shows."""
    if isinstance(facts, DuelFacts):
        return "competition/report.html.jinja", _of_duels(facts)
    if isinstance(facts, PairFacts):
        return "competition/pairs.html.jinja", _of_pairs(facts)
    if isinstance(facts, PointFacts):
        return "competition/points.html.jinja", _of_points(facts)
    return "competition/draws.html.jinja", _of_draws(facts)


def _context(facts: Facts) -> dict[str, Any]:
    """Return what every page shows: standings, their stability, and rankings of the same models on other
    images.
    """
    standings = facts.standings
    models = facts.slots.models
    stability = standings.stability if standings else None
    tables = standing_tables.rank_tables(standings) if standings else []
    name = standing_tables.recommended(standings) if standings else ""
    place = shlex.quote(facts.study)
    speak = {name: facts.others[name] for name in facts.speakers if name in facts.others}
    said = verdict(speak, models=models, stale=facts.stale, study=place) if speak else None
    found = other_questions.questions(facts.others, facts.selectors, [*facts.stale])
    warned = other_questions.warnings(facts.others, found)
    return {
        "level": standing_tables.level(standings),
        "verdict": said,
        "first_images": _first_images(facts, said, name),
        "lines": _lines(facts, place),
        "labelled_words": labelled_words(standings.labels) if standings else "",
        "at_once": standing_tables.best_at_once(standings) if standings else "",
        "rankings": tables,
        "speeds": speed_charts.speed_charts(facts.times, standings),
        "described": any(table.descriptive for table in tables),
        "usable": [table for table in tables if not table.unusable],
        "recommended_ranking": next((table for table in tables if table.name == name), None),
        "score_is": _score_is(standings, name) if standings else "",
        "exact": any(table.exact for table in tables if table.name == name),
        "more_rankings": [table for table in tables if table.name != name],
        "caveat": standing_tables.caveat(standings) if standings else "",
        "kinds": catalogue.KINDS,
        "titles": {table.name: table.title for table in tables},
        "shorts": {table.name: table.short for table in tables},
        "recommended": f"{catalogue.SELECTION} --budget {budget_like(len(facts.slots.images))}",
        "stability": stability,
        "top_k": _top_k(stability) if stability else None,
        "settled": other_questions.SETTLED,
        "tail": other_questions.last_quarter(stability.top_k) if stability else [],
        "questions": found if len({one.selection for one in found}) > 1 else [],
        "better_answered": other_questions.better_answered(facts.others, facts.selection),
        "question_models": list(dict.fromkeys(m for one in found for m in (*one.order, *one.scores))),
        "correlations": other_questions.correlations(found),
        "warned": warned,
        "parents": standing_tables.parents(standings) if standings else [],
        "model_place": {m: k for k, m in enumerate(models)},
        "kinds_axis": (
            axis([end for one in facts.kinds.differences for end in (one.low, one.value, one.high)] + [0.0])
            if facts.kinds
            else None
        ),
        **_words_of_failing(facts),
        "agreement_cells": _agreement_cells(facts.agreement) if facts.agreement is not None else [],
        "agreement_metric": (
            CALLED.get(facts.agreement.concordance, facts.agreement.concordance) if facts.agreement else ""
        ),
    }


def _oracle(either: Sequence[EitherRight]) -> dict[str, Any]:
    """Return the curve of all pairs with its axis, and the pair that is right most often together."""
    every, *pairs = either
    points = tuple(
        ChartPoint(
            k,
            share,
            up=None if math.isnan(low) else (low, high),
            says=f"{k} labels: {number(share, 2)} ({number(low, 2)} to {number(high, 2)})",
        )
        for k, share, low, high in zip(every.labels, every.share, every.low, every.high, strict=True)
    )
    return {
        "line": Line("either", points),
        "last": points[-1],
        "x": _places(every.labels[-1]),
        "best": max(pairs, key=lambda pair: pair.share[-1]),
    }


def _places(most: int) -> Axis:
    """Return the axis of numbers from 1."""
    step = next(m for m in (1, 2, 5, 10, 20, 50, 100, 1000, 10000, 100000) if most / m <= 7)
    ticks = tuple(float(k) for k in range(1, most + 1) if k == 1 or k % step == 0)
    return Axis(1, max(most, 2), ticks)


def _top_k(stability: Stability) -> dict[str, Any]:
    """Return the curve of the correlations with the whole ranking, by the number of places, and its axes."""
    places = stability.top_k_places or range(1, len(stability.top_k) + 1)
    most = places[-1] if places else 0
    points = [
        None if value is None else ChartPoint(k, value, says=f"k = {k}: {number(value)}")
        for k, value in zip(places, map(standing_tables.known, stability.top_k), strict=True)
    ]
    up = axis([*(point.y for point in points if point), 1.0, 0.0])
    return {"line": Line("correlation", tuple(points)), "x": _places(most), "y": up}


def _lines(facts: Facts, place: str) -> dict[str, str]:
    """Return the commands from a selection without labels to standings, to be pasted."""
    which = "" if facts.selection == MAIN else f" --selection {shlex.quote(facts.selection)}"
    classifies = getattr(facts, "classifies", isinstance(facts, PairFacts))
    out, form = ("questions.csv", "csv") if classifies else ("to-label/", "png")
    return {
        "export": f"faultscape label export {place} {out} --format {form}{which}",
        "import_": f"faultscape label import {place} {out}",
        "rank": f"faultscape rank {place}{which}",
        "run": f"faultscape run {place}",
    }


def _score_is(standings: Standings, ranking: str) -> str:
    """Return what a score of a ranking is; '' if it has no unit."""
    metric = str(standings.definitions.get("concordance", "accuracy"))
    titles = {one.name: one.title.removesuffix(" error") for one in METRICS}
    return catalogue.score_words(ranking, titles.get(metric, metric))


def _first_images(facts: Facts, said: Verdict | None, ranking: str) -> list[First]:
    """Return the images at the top: of label maps, since classifiers have no maps to show."""
    cards: list[Any] = getattr(facts, "cards", [])
    if said is None or facts.standings is None or not cards or not isinstance(cards[0], Card):
        return []
    place = {card.image: k for k, card in enumerate(cards)}
    order = facts.standings.rankings[ranking].order if ranking else []
    return first_images(cards, place, facts.slots, said, order)


def _words_of_failing(facts: Facts) -> dict[str, str]:
    """Return the text that defines a failure and a loss for the statistics of tags."""
    if facts.kinds and facts.kinds.by_choice:
        return {
            "fails_words": "fewer than half of the choices won",
            "loss_words": "the share of choices lost",
        }
    if facts.bands:
        return {"fails_words": f"values below {facts.bands[0]:g}", "loss_words": "1 less the value"}
    return {"fails_words": "wrong answers", "loss_words": "1 for a wrong answer"}


def _agreement_cells(found: Agreement) -> list[list[HeatCell]]:
    """Return the agreement of every pair of models; the colour scale spans the existing values."""
    known = found.mean[~np.isnan(found.mean)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    depth = np.nan_to_num((found.mean - low) / max(high - low, 1e-9)).round(3)
    return [
        [HeatCell(value, "up", f"--t:{strength}") for value, strength in zip(row, depths, strict=True)]
        for row, depths in zip(found.mean.tolist(), depth.tolist(), strict=True)
    ]


def _of_duels(facts: DuelFacts) -> dict[str, Any]:
    standings = facts.standings
    models = facts.slots.models
    fail = facts.bands[0]
    groups = (
        [""]
        if facts.slots.definition["constraints"] == "none"
        else [facts.classes.names[g] for g in facts.classes.groups]
    )
    boxes = outcomes.chosen_boxes(models, facts.slots.duels, facts.labelled, facts.values)
    ends = [e for pair in boxes for b in pair if b for e in (b.low, b.high)]
    metric = facts.slots.definition["concordance"]
    ends_of_duels = outcomes.cases(models, facts.slots.duels, facts.slot_values, fail, facts.better)
    return _bands(facts) | {
        "matrices": (
            {n: standing_tables.ratio_matrix(m) for n, m in standings.matrices.items()} if standings else {}
        ),
        "card_groups": card_groups(facts.cards, thirds=facts.bands_of_values),
        "card_place": {card.image: k for k, card in enumerate(facts.cards)},
        "few": _FEW["duels"],
        "correlation": standing_tables.correlation(standings) if standings else None,
        "metric": CALLED.get(metric, metric),
        "boxes": list(zip(models, boxes, strict=True)),
        "box_axis": axis([*ends, 0.0] if ends else [0.0, 1.0]),
        "cases": ends_of_duels,
        "sums": outcomes.sums(ends_of_duels),
        "transfer": outcomes.transfer(models, facts.slots.duels, facts.labelled, facts.values, fail),
        "sizes": size_labels(),
        "constraint_names": CONSTRAINTS,
        "group_place": {g: k for k, g in enumerate(groups)},
        "groups": groups,
        "colours": [*colour_words(facts.classes).items()],
    }


def _of_pairs(facts: PairFacts) -> dict[str, Any]:
    standings = facts.standings
    models = facts.slots.models
    ends = (
        outcomes.pair_cases(models, facts.slots.pairs, facts.labelled, facts.values) if facts.labelled else []
    )
    decided = [pair for pair in ends if pair.total]
    matrices = standings.matrices if standings else {}
    either = either_right(facts.slots.models, facts.slots.pairs, facts.values, facts.labelled, facts.groups)
    points = []
    for pair in decided:
        name = f"{pair.model_a}, {pair.model_b}"
        says = f"{name}: better one {number(pair.better, 2)}, gap {number(pair.gap, 2)}, {pair.total} images"
        points.append(Line(name, (ChartPoint(pair.gap, pair.better, says=says),), kind="cloud"))
    return _class_rows(facts.cards) | {
        "accuracy": standing_tables.accuracy_matrix(matrices["accuracy"]) if "accuracy" in matrices else [],
        "dominance": (
            standing_tables.ratio_matrix(matrices["dominance"]) if "dominance" in matrices else None
        ),
        "contradictions": standing_tables.contradictions(standings) if standings else [],
        "ends": ends,
        "ends_shown": _PAIRS_SHOWN,
        "sums": outcomes.sums(decided),
        "decided": sum(pair.total for pair in decided),
        "points": points,
        "observed": outcomes.observed(ends),
        "oracle": _oracle(either) if either else None,
        "pairs": True,
        "reference_words": "the labels of the two models that disagree most",
    }


def _of_draws(facts: DrawFacts) -> dict[str, Any]:
    metric = "accuracy" if facts.classifies else facts.slots.definition.get("concordance", "miou")
    own = (
        _class_rows(facts.class_cards)
        if facts.classifies
        else _bands(facts)
        | {
            "colours": [*colour_words(facts.classes).items()],
            "card_place": {card.image: k for k, card in enumerate(facts.cards)},
        }
    )
    chance = [row for row in facts.slots.chosen if math.isfinite(row.probability)]
    whole = facts.slots.rows[0].pool if facts.slots.rows else facts.pool
    pool = facts.standings.labels.get("pool", whole) if facts.standings else whole
    more = {"by_chance": bool(chance), "drawn_from": pool, "few": _FEW["draws"], "pairs": False}
    more["reference_words"] = "a model that predicts this class"
    return own | more | {"metric": CALLED.get(metric, metric)}


def _of_points(facts: PointFacts) -> dict[str, Any]:
    one = facts.document
    standings = facts.standings
    later = standings.to_come.get(POINTS) if standings else None
    return {
        "asked": asked_points(one) if one else None,
        "class_table": class_table(one) if one else None,
        "confusions": confusions(one) if one else [],
        "lead": lead_table(standings.rankings[POINTS]) if standings else None,
        "later": standing_tables.rank_table(POINTS, later, facts.slots.models) if later else None,
        "models": len(one["models"]) if one else len(facts.slots.models),
        "own": _own_miou(one) if one else None,
        "few": _FEW["points"],
        "serve": shlex.join(["faultscape", "label", "serve", facts.study, "--selection", facts.selection]),
    }


def _own_miou(one: SetDocument) -> Mark | None:
    """Return the mIoU of the only model; None if there are several."""
    entries = [of["miou"] for of in one["models"].values()]
    return Mark(entries[0]["value"], entries[0]["low"], entries[0]["high"]) if len(entries) == 1 else None


def _class_rows(cards: list[ClassCard]) -> dict[str, Any]:
    """Return the classes that models predict on the cards, with the numbers that the filters use."""
    said = sorted({answer.label for card in cards for answer in card.answers if answer.label})
    said = sorted(
        {
            *said,
            *(label for card in cards for met in card.met for label in (met.slot.label_a, met.slot.label_b)),
        }
    )
    return {
        "labels": said,
        "label_place": {name: k for k, name in enumerate(said)},
        "pictured_cards": [card for card in cards if card.photo],
        "bare_cards": [card for card in cards if not card.photo],
        "card_place": {card.image: k for k, card in enumerate(cards)},
        "few_said": _FEW["said"],
    }


def card_groups(cards: list[Card], *, thirds: bool = False) -> list[tuple[str, list[Card]]]:
    """Return (title, images) by the outcome of each image's shown duel, the most informative first; one group
    without a title if no duel is decided. Where the bands are ``thirds`` of the values, a model in the lowest
    one is lower than others, not poor.
    """
    ended = {card.duels[0].case for card in cards if card.duels}
    if not ended - {""}:
        return [("", cards)] if cards else []
    found = {case: [card for card in cards if card.duels[0].case == case] for case in _ENDS}
    titles = _ENDS | _ENDS_OF_THIRDS if thirds else _ENDS
    return [(titles[case], group) for case, group in found.items() if group]


def _bands(facts: Facts) -> dict[str, Any]:
    """Return the number of values of each model in each band."""
    bands = facts.bands
    counts = outcomes.band_counts(facts.values, bands)
    return {
        "fail": bands[0],
        "band_names": _band_names(bands),
        "band_inks": [f"b{round(4 * k / len(bands))}" for k in range(len(bands) + 1)],
        "band_rows": list(zip(facts.slots.models, counts.tolist(), strict=True)),
        "band_total": counts.sum(0).tolist(),
        "band_line": _line_of_bands(facts, outcomes.telling_bands(facts.values, bands)),
        "usual_bands": _line_of_bands(facts, outcomes.BANDS if facts.bands_of_values else ()),
        "thirds": facts.bands_of_values,
    }


def _line_of_bands(facts: Facts, edges: Sequence[float]) -> str:
    """Return the command that makes the page with other bands; '' without edges."""
    if not edges:
        return ""
    words = [] if facts.selection == MAIN else ["--selection", facts.selection]
    words += [word for edge in edges for word in ("--bands", f"{edge:g}")]
    return shlex.join(["faultscape", "report", facts.study, *words])


def _band_names(bands: tuple[float, ...]) -> list[str]:
    middle = [f"{a:g}–{b:g}" for a, b in itertools.pairwise(bands)]
    return [f"below {bands[0]:g}", *middle, f"{bands[-1]:g} and above"]
