"""The page of `measure`: measure.json in, one HTML file out, with nothing loaded from anywhere.

Conventions: as pages - templates, style and script lie beside this file and travel inside the page, Jinja2 escapes whatever is inserted, unknown numbers are
a dash, the same facts give the same bytes. Any part of a document may be missing; its section is then left out. Errors stand everywhere: 0 is best.
Source: S1 Table I, Figs. 2, 5 and 7.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faultscape.reporting import figures, measure_figures, unbeaten
from faultscape.reporting.gap_sentences import sentence
from faultscape.reporting.measure_figures import Dot
from faultscape.reporting.measure_tables import cell, saturated, sets_of, standings, tables
from faultscape.reporting.pages import number

HEADLINES = {"miou": "IoU error", "average_precision": "AP error", "pq": "PQ error", "partition_distance": "partition distance", "rom": "ROM", "auroc": "AUROC error"}


@dataclass(frozen=True)
class Card:
    """One of the worst images: by which ``metric`` of which model, its pictures as data URIs, ``bars`` {metric: its error}, and a word on what was marked."""

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
    """What the page shows besides the document; ``left_out`` pictures did not fit."""

    title: str = "measured"
    worst: tuple[Card, ...] | list[Card] = ()
    left_out: int = 0


def page(document: Mapping[str, Any], facts: Facts) -> str:
    """Return the page as HTML."""
    return _template().render(**_context(document, facts))


@functools.cache
def _template() -> Any:
    import jinja2

    about = jinja2.Environment(
        loader=jinja2.PackageLoader("faultscape.reporting", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    about.filters |= {"number": number}
    return about.get_template("measures.html.jinja")


def _context(document: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    from importlib.metadata import version

    named = sets_of(document)
    sets = [_set(name, one) for name, one in named.items()]
    return {
        "f": facts,
        "fig": figures,
        "draw": measure_figures,
        "version": version("faultscape"),
        "headline": headline(document),
        "several": len(named) > 1,
        "sets": sets,
        "models": list(dict.fromkeys(model for one in named.values() for model in one.get("models", {}))),
        "tables": tables(named),
        "provenance": document.get("provenance", {}),
        "definitions": definitions(named),
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
    for metric, title in HEADLINES.items():
        found = standings(one, metric)
        if found:
            leaders = list(found)
            known = one["models"][leaders[0]][metric].get("low") is not None
            verb = "has" if len(leaders) == 1 else "share"
            return f"{_listed(leaders)} {verb} the least {title}" + ("" if known else ", without intervals")
    return f"{len(models)} models, measured"


def definitions(named: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return {metric: its definition} over all data sets and models."""
    out: dict[str, str] = {}
    for one in named.values():
        for of in one.get("models", {}).values():
            for metric, entry in of.items():
                out.setdefault(metric, entry.get("definition", ""))
    return out


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _set(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of one data set."""
    models = list(one.get("models", {}))
    points = unbeaten.errors(one)
    return {
        "name": name,
        "models": models,
        "images": one.get("images", {}),
        "classes": one.get("classes", []),
        "notes": one.get("notes", []),
        "failures": one.get("failures", 0),
        "sentences": [said for model in models if (said := sentence(one, model))],
        "saturated": saturated(one),
        "dots": _dots(one),
        "pareto": _pareto(one, points),
    }


def _dots(one: Mapping[str, Any]) -> list[Dot]:
    """Return a dot a model: ROM across, RUM up."""
    out = []
    for place, (model, of) in enumerate(one.get("models", {}).items()):
        if "rom" not in of or "rum" not in of:
            continue
        x, y = cell(of["rom"]), cell(of["rum"])
        if x.value is not None and y.value is not None:
            spans = [None if c.low is None or c.high is None else (c.low, c.high) for c in (x, y)]
            out.append(Dot(model, x.value, y.value, *spans, place))
    return out


def _pareto(one: Mapping[str, Any], points: Mapping[str, tuple[float, ...]]) -> dict[str, Any]:
    """Return the rows of the three-way view, unbeaten models first, and an axis a column."""
    rows = []
    for model in points:
        cells = [cell(one["models"][model][m]) for m in unbeaten.THREE]
        rows.append({"model": model, "cells": cells, "by": unbeaten.beaten_by(points, model)})
    rows.sort(key=lambda row: (bool(row["by"]), row["cells"][0].value))
    axes = [figures.axis([v for row in rows for v in (row["cells"][k].value, row["cells"][k].low, row["cells"][k].high)], at_most=3) for k in range(3)]
    return {"rows": rows, "axes": axes, "unbeaten": [row["model"] for row in rows if not row["by"]]}
