"""The page of the reliability card: the document of reliability.json in, one self-contained HTML file out.

Conventions: as in the page of `measure`: the page contains its style and script, Jinja2 escapes all inserted
values, unknown numbers are a dash, and the same facts give the same bytes. Any part of a document may be
missing; its section is then left out. Sentences claim only what paired intervals allow (`questions`).
Source: Buchanan et al. 2022, Fig. 1, Tables 2 and 3; Blum et al. 2021, Figs. 2, 5 and 6, Tables 1 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from faultscape.metrics.scorers import ORDER
from faultscape.reporting import anomaly_frames
from faultscape.reporting.anomaly_frames import FrameCard
from faultscape.reporting.reliability import cautions, conclusions, views
from faultscape.reporting.reliability.document import (
    Card,
    first_holdout,
    in_distribution_text,
    pixels_words,
)
from faultscape.reporting.reliability.questions import CardIndex, best_value, headline, questions, verdict
from faultscape.reporting.template import template


@dataclass(frozen=True)
class Facts:
    """What the page shows besides the document: frames with their images, how many did not fit, notes on
    images, and the (class, CSS colour) of predictions.
    """

    frames: Sequence[FrameCard] = ()
    left_out: int = 0
    notes: Sequence[str] = ()
    colours: Sequence[tuple[str, str]] = field(default_factory=tuple)


def card_page(card: Card, facts: Facts | None = None) -> str:
    """Return the HTML of a card."""
    shown = facts or Facts()
    return template("reliability/page.html.jinja").render(**_context(_whole(card), shown))


def _whole(card: Card) -> Card:
    """Return a card in which missing lists are empty."""
    lists: dict[str, Any] = {
        key: [] for key in ("models", "conditions", "cells", "objects", "paired", "gaps", "times", "notes")
    }
    return {**lists, **card}  # type: ignore[typeddict-item]


def _context(card: Card, facts: Facts) -> dict[str, Any]:
    index = CardIndex(card)
    standings = [index.stand(question) for question in questions(card)]
    told = verdict if (decided := any(standing.decided for standing in standings)) else best_value
    claims = (
        [(standing.question.title, told(standing)) for standing in standings] if len(index.models) > 1 else []
    )
    sets = views.anomaly_sets(card, index)
    named = {one["name"] for one in sets}
    frames = anomaly_frames.by_set(frame for frame in facts.frames if not frame.of_errors)
    return {
        "card": card,
        "f": facts,
        "severity_axis": views.SEVERITIES,
        "headline": headline(index, standings),
        "claims": claims,
        "undecided": len(index.models) > 1 and not decided,
        "pixels": pixels_words(card, first_holdout(card)),
        "in_distribution": in_distribution_text(card),
        "keys": _keys(card),
        "models": list(enumerate(index.models)),
        "front": views.front(card, index),
        "severities": views.severities(card, index),
        "classes": views.classes(card),
        "sets": sets,
        "stray": [name for name in frames if name not in named],
        "frames": frames,
        "wrong_frames": anomaly_frames.by_set(frame for frame in facts.frames if frame.of_errors),
        "ramp": anomaly_frames.ramp(),
        "using": conclusions.using(card, index),
        "required": conclusions.required(card),
        "errors": views.error_sets(card, index),
        "calibration": views.calibration(card, index),
        "ranking": views.without_labels(card, index),
        "differences": views.differences(card, index, standings),
        "times": views.times(card, index),
        "training": views.training(card),
        "finders": cautions.finders(card, index),
        "guards": cautions.guards(card, index),
        "presets": cautions.presets(card),
        "submissions": cautions.submissions(card),
        "defined": views.definitions(card),
        "order": ORDER,
        "units": units_words(card.get("units") or {}),
        "titles": _titles(card),
        "notes": [*card.get("notes", []), *facts.notes],
    }


def _keys(card: Card) -> list[tuple[str, str]]:
    """Return what the card covers, in numbers."""
    conditions = card["conditions"]
    clean = next((c for c in conditions if c["kind"] == "clean"), None)
    corrupted = [c for c in conditions if c["kind"] == "corrupted"]
    out = [("models", str(len(card["models"])))]
    if clean is not None:
        out.append((f"images of {clean['name']}", f"{clean.get('images', 0):,}"))
    if corrupted:
        kinds = len({c.get("corruption", "") for c in corrupted})
        out += [("corruptions", str(kinds)), ("corrupted sets", str(len(corrupted)))]
    for kind, title in (
        ("natural", "natural shifts"),
        ("foggy", "foggy sets"),
        ("anomaly", "sets with anomalies"),
    ):
        if several := sum(c["kind"] == kind for c in conditions):
            out.append((title, str(several)))
    return out


def _titles(card: Card) -> dict[str, str]:
    """Return {word: title} of all scorers of a card."""
    return {word: views.scorer_title(word) for one in card["models"] for word in one.get("scorers", [])}


def units_words(units: Mapping[str, Any]) -> str:
    """Return a sentence on what intervals resample.

    >>> units_words({"drawn": "images", "count": 24})
    '24 images are resampled, each with everything made from it'
    """
    if not units.get("count"):
        return ""
    what = "groups of images" if units.get("drawn") == "groups" else "images"
    return f"{units['count']:,} {what} are resampled, each with everything made from it"
