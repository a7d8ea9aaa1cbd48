"""The numbers of a model, as `measure` and the reliability card found them.

Conventions: a number that is undefined is left out; stale ones are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from faultscape.errors import StudyError
from faultscape.metrics.catalogue import named
from faultscape.reading.artefact import Artefact
from faultscape.reading.study import Study
from faultscape.reporting.measure.document import Document
from faultscape.reporting.reliability.document import TITLES, Card
from faultscape.verbs import graph
from faultscape.verbs.measure.artefact import MEASURES
from faultscape.verbs.reliability.artefact import RELIABILITY


@dataclass(frozen=True)
class ModelNumber:
    """One number of a model, and under which condition it holds."""

    condition: str  # the truth that `measure` compared with, or a condition of the card
    metric: str
    title: str
    value: float
    low: float | None  # 95 %
    high: float | None
    scorer: str  # that of doubt; '' for maps
    images: int | None
    says: str  # its definition
    less_is_better: bool = False
    least: float | None = None  # ends of its range; None where they are not known
    most: float | None = None


@dataclass(frozen=True)
class Measures:
    """What a study's models were measured by; None for what was not done."""

    measured: Document | None
    card: Card | None

    @classmethod
    def of(cls, study: Study) -> Measures:
        """Return what a study holds; StudyError if it is out of date."""
        measured = cast("Document | None", _document(study, MEASURES))
        return cls(measured, cast("Card | None", _document(study, RELIABILITY)))

    def __bool__(self) -> bool:
        return self.measured is not None or self.card is not None

    def numbers(self, model: str) -> list[ModelNumber]:
        """Return the numbers of a model, those of `measure` first."""
        return [*_measured(self.measured, model), *of_card(self.card, model)]


def nothing_measured(study: Study) -> StudyError:
    """Return the error for a study of which nothing is measured yet."""
    labels = "" if study.truths else f"`faultscape label import {study.place} LABELS`, then "
    verb = "rank" if study.classifies else "measure"
    return StudyError(
        f"{study.called}: nothing is measured yet; run {labels}`faultscape {verb} {study.place}`, then"
        " this line again"
    )


def _document(study: Study, artefact: Artefact) -> object:
    """Return what an artefact holds, or None if it does not exist; StudyError if it is stale."""
    if not artefact.instances(study) or not artefact.exists(study, ""):
        return None
    made = graph.node(study, artefact, "")
    if made.state == "stale":
        again = f"run `{made.line}`, then this line again" if made.line else "make it again"
        raise StudyError(
            f"{study.called}: what {artefact.verb} wrote is out of date: {', '.join(made.why)}; {again}"
        )
    return study.document(artefact.path(study))


def _measured(document: Document | None, model: str) -> Iterator[ModelNumber]:
    """Yield what `measure` found, in its order."""
    if document is None:
        return
    known = named()
    provenance = document.get("provenance", {})
    definitions = provenance.get("definitions")
    scale = definitions.get("scale") if isinstance(definitions, Mapping) else None
    for metric, entry in document["models"].get(model, {}).items():
        if (value := entry["value"]) is None:
            continue
        of = known.get(metric)
        # a title is that of the error, which is not the value where more is better
        own = entry.get("title", metric) if entry["better"] == "low" else metric
        yield ModelNumber(
            str(provenance.get("truth", "labels")),
            metric,
            of.called if of else own,
            value,
            entry.get("low"),
            entry.get("high"),
            "",
            document.get("images", {}).get(model),
            entry.get("definition", ""),
            entry["better"] == "low",
            of.least if of else None,
            (math.inf if of.bounded and scale not in of.bounded else of.most) if of else None,
        )


def of_card(document: Card | None, model: str) -> Iterator[ModelNumber]:
    """Yield the cells of the reliability card, in its order."""
    if document is None:
        return
    for cell in document["cells"]:
        value = cell.get("value")
        if cell.get("model") != model or value is None or cell["metric"] not in TITLES:
            continue
        metric = TITLES[cell["metric"]]
        holdout = cell.get("holdout")
        yield ModelNumber(
            cell["condition"] + (f", without {holdout}" if holdout else ""),
            metric.name,
            metric.title,
            value,
            cell.get("low"),
            cell.get("high"),
            cell.get("scorer", ""),
            cell.get("images"),
            metric.says,
            metric.better == "low",
        )
