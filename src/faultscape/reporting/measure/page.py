"""The page of `measure`: measure.json in, one self-contained HTML file out.

Conventions: the page contains its style and script, Jinja2 escapes all inserted values, unknown numbers are a
dash, and the same facts give the same bytes. Any part of a document may be missing; its section is then left
out. Values come first, as the terminal prints them; below them all metrics are errors: 0 is best.
Source: Zhang et al. 2021, Table I, Figs. 2, 5 and 7.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from faultscape.metrics.catalogue import METRICS
from faultscape.reporting import anomaly_frames
from faultscape.reporting.anomaly_frames import FrameCard
from faultscape.reporting.measure import views
from faultscape.reporting.measure.document import Document, SetDocument
from faultscape.reporting.measure.gap_sentences import sentence
from faultscape.reporting.measure.leaders import errors, standings
from faultscape.reporting.measure.point_views import asked_points, class_table
from faultscape.reporting.measure.tables import TITLES, saturated, sets_of, tables, value_name, values_table
from faultscape.reporting.template import template
from faultscape.reporting.view import listed, number

HEADLINES = {
    metric.name: value_name(metric.name)
    for metric in sorted(METRICS, key=lambda metric: metric.headline)
    if metric.headline
}  # {metric: its name} for the heading, the first that distinguishes models


@dataclass(frozen=True)
class Card:
    """One of the worst images: the ``metric`` and model, its images as data URIs, ``bars`` {metric: its
    error}, and a text on what is marked.
    """

    data_set: str
    model: str
    image: str
    metric: str
    truth: str
    predicted: str
    photo: str = ""
    width: int = 4
    height: int = 3
    bars: Mapping[str, float] = field(default_factory=dict)
    says: str = ""


@dataclass(frozen=True)
class Facts:
    """What the page shows besides the document: ``left_out`` cards, and ``photos_left_out`` images of other
    cards, did not fit; ``unreadable`` image files were missing or unreadable; ``colours`` {data set: [(class,
    CSS colour)]} are those of the drawings; ``frames`` are those of anomaly scores, of which
    ``frames_left_out`` did not fit.
    """

    title: str = "measured"
    worst: tuple[Card, ...] | list[Card] = ()
    left_out: int = 0
    photos_left_out: int = 0
    unreadable: int = 0
    colours: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    frames: Sequence[FrameCard] = ()
    frames_left_out: int = 0


def page(document: Document, facts: Facts) -> str:
    """Return the page as HTML."""
    return template("measure/measures.html.jinja").render(**_context(document, facts))


def _context(document: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    named = sets_of(document)
    defined = definitions(named)
    sets = [_set(name, one) for name, one in named.items()]
    whole = cast("SetDocument", document)  # only a document of a single set is of points
    return {
        "f": facts,
        "headline": headline(document),
        "several": len(named) > 1,
        "pointed": asked_points(whole),
        "present": "present" in whole,
        "class_table": class_table(whole),
        "sets": sets,
        "models": list(dict.fromkeys(model for one in named.values() for model in one.get("models", {}))),
        "tables": tables(named),
        "values": values_table(named),
        "titles": {m: words[0] for m, words in TITLES.items()},
        "images": _range(
            [n for one in named.values() for n in [max(one.get("images", {}).values(), default=0)] if n]
        ),
        "classes": _range([n for one in named.values() for n in [len(one.get("classes", ()))] if n]),
        "intervals": any(
            e.get("low") is not None
            for one in named.values()
            for of in one.get("models", {}).values()
            for e in of.values()
        ),
        "chosen": any(one.get("chosen") for one in named.values()),
        "grouped": any((one.get("units") or {}).get("drawn") == "groups" for one in named.values()),
        "same_groups": any((one.get("units") or {}).get("same_groups") for one in named.values()),
        "settings": settings(document.get("provenance") or {}, defined),
        "kinds": _kinds(facts.worst, len(named) > 1),
        "provenance": document.get("provenance", {}),
        "definitions": defined,
        "ramp": anomaly_frames.ramp(),
        "frame_sets": anomaly_frames.by_set(facts.frames),
    }


def headline(document: Mapping[str, Any]) -> str:
    """Return a heading that claims no more than the paired intervals allow.

    >>> headline({"models": {"a": {"miou": {"value": 0.5, "better": "high"}}}})
    'a, measured'
    """
    named = sets_of(document)
    models = list(dict.fromkeys(model for one in named.values() for model in one.get("models", {})))
    if len(named) > 1:
        return f"{len(models)} model{'s' * (len(models) != 1)} on {len(named)} data sets"
    (one,) = named.values()
    if len(models) < 2:
        return f"{models[0]}, measured" if models else "Nothing was measured"
    if one.get("chosen"):
        return f"{len(models)} models, measured on images that were chosen because models differ"
    titles = {"presence_f1": "F1 of presence"} if "present" in one else HEADLINES
    for metric, title in titles.items():
        found = standings(one, metric)
        if found:
            leaders = list(found)
            found_errors = errors(one, metric)
            entry = one["models"][leaders[0]][metric]
            where = (
                ""
                if found_errors[leaders[0]] == min(found_errors.values())
                else " where models can be compared"
            )
            most = "highest" if entry["better"] == "high" else "lowest"
            value = f": {_with_interval(entry)}" if len(leaders) == 1 and not where else ""
            pooled = "pooled " if "points" in one else ""
            return f"{listed(leaders, 'or')} has the {most} {pooled}{title}{where}{value}"
    return f"{len(models)} models, measured"


def settings(provenance: Mapping[str, Any], metrics: Collection[str]) -> str:
    """Return a text with the definitions that these metrics depend on.

    >>> settings({"definitions": {"void": "cut", "pooling": "pooled", "curve": "step"}}, {"miou": ""})
    'pooling pooled'
    """
    made = provenance.get("definitions") or {}
    of_regions = (
        ("regions", "absent", "scale", "match", "per")
        if made.get("regions") == "given"
        else ("regions", "connectivity", "void", "absent", "scale", "match", "per")
    )
    regional = of_regions if "rom" in metrics else ()
    ranked = ("fpr_rule", "curve", "thresholds") if {"auroc", "calibration_auroc"} & set(metrics) else ()
    wanted = ("preset", *regional, *(("over",) if "dice" in metrics else ()), "pooling", *ranked)
    words = [f"{key.replace('_', ' ')} {made[key]}" for key in wanted if made.get(key)]
    return ", ".join(words)


def definitions(named: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return {metric: its definition} for all data sets and models."""
    out: dict[str, str] = {}
    for one in named.values():
        for of in one.get("models", {}).values():
            for metric, entry in of.items():
                out.setdefault(metric, entry.get("definition", ""))
    return out


def _with_interval(entry: Mapping[str, Any]) -> str:
    """Return a value with its interval.

    >>> _with_interval({"value": 0.448, "low": 0.4191, "high": 0.47})
    '0.448 (0.419 to 0.470)'
    """
    low = entry.get("low")
    high = entry.get("high")
    ends = "" if low is None or high is None else f" ({number(low)} to {number(high)})"
    return f"{number(entry['value'])}{ends}"


def _set(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows for one data set."""
    models = list(one.get("models", {}))
    dots = views.dots(one)
    return {
        "name": name,
        "models": models,
        "key": [(model, place) for place, model in enumerate(models)],
        "notes": one.get("notes", []),
        "failures": one.get("failures", 0),
        "anomalous": _share(one.get("anomalous", {})),
        "sentences": [said for model in models if (said := sentence(cast("SetDocument", one), model))],
        "saturated": (full := saturated(one)),
        # a single dot says no more than the table
        "dots": dots if full or len(dots) > 1 else [],
        "front": views.front(one),
        "by_class": [] if "points" in one else views.by_class(one),  # points have a table of classes
        "confusions": views.confusions(one),
        "differences": views.differences(one),
        "curves": (curves := views.curves(one)),
        "has_curves": bool(curves["precision_recall"] or curves["roc"] or curves["reliability"]),
    }


def _kinds(cards: Sequence[Card], several: bool) -> list[tuple[str, str, list[tuple[str, list[Card]]]]]:
    """Return the cards by kind of error and model: (name, meaning, [(model, cards)]), in the given order."""
    found: dict[str, dict[str, list[Card]]] = {}
    for card in cards:
        name = f"{card.model} on {card.data_set}" if several else card.model
        found.setdefault(card.metric, {}).setdefault(name, []).append(card)
    return [(*TITLES.get(metric, (metric, metric)), list(of.items())) for metric, of in found.items()]


def _share(shares: Mapping[str, float]) -> str:
    """Return the share of anomalous pixels in per cent; the range if models have different images.

    >>> _share({"a": 0.0221}), _share({"a": 0.02, "b": 0.03}), _share({})
    ('2.21 %', '2.00–3.00 %', '')
    """
    texts = [f"{100 * share:.2f}" for share in sorted(shares.values())]
    return "" if not texts else f"{texts[0]} %" if texts[0] == texts[-1] else f"{texts[0]}–{texts[-1]} %"


def _range(numbers: Sequence[int]) -> str:
    """Return one number, the range if data sets differ, or '' without any."""
    return (
        ""
        if not numbers
        else f"{numbers[0]:,}"
        if min(numbers) == max(numbers)
        else f"{min(numbers):,}–{max(numbers):,}"
    )
