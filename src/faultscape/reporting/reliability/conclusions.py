"""What a card concludes, as its page shows it: requirements, the scorer to use, and from which score on."""

from __future__ import annotations

from typing import Any

from faultscape.reporting.reliability.document import Card
from faultscape.reporting.reliability.questions import CardIndex
from faultscape.reporting.reliability.tables import conditions_of, scorer_to_use
from faultscape.reporting.reliability.views import scorer_title
from faultscape.reporting.reliability.words import requirements_counted, score_text


def required(card: Card) -> dict[str, Any] | None:
    """Return the requirements of a card, and how many of them are met."""
    rows = card.get("requirements", [])
    return {"rows": rows, "counted": requirements_counted(rows)} if rows else None


def using(card: Card, index: CardIndex) -> dict[str, Any] | None:
    """Return the scorer recommended for each model, and the thresholds of that scorer, or of the model's own
    row, and of the others; None without sets with anomalies.
    """
    sets = list(dict.fromkeys(on["condition"] for row in card.get("thresholds", []) for on in row["on"]))
    if not conditions_of(card, "anomaly") or not card.get("recommended"):
        return None
    places = {name: place for place, name in enumerate(index.models)}
    told = [
        {
            **one,
            "place": places.get(one["model"]),
            "title": scorer_title(one["scorer"]) if one["scorer"] else "",
            "own": scorer_title(one["instead_of"]) if one["instead_of"] else "",
        }
        for one in card.get("recommended", [])
    ]
    main, others = list[dict[str, Any]](), list[dict[str, Any]]()
    before = ("", "")
    for row in card.get("thresholds", []):
        about = row["model"], row["scorer"]
        on = {one["condition"]: one for one in row["on"]}
        shown = {
            "model": row["model"],
            "place": places.get(row["model"]),
            "title": scorer_title(row["scorer"]),
            "rate": row["rate"],
            "score": score_text(row["score"]),
            "cells": [on.get(name) for name in sets],
            "first": about != before,
        }
        before = about
        (main if row["scorer"] == scorer_to_use(card, row["model"]) else others).append(shown)
    return {"recommended": told, "sets": sets, "main": main, "others": others}
