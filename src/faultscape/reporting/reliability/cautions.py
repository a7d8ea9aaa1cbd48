"""Cautions on the card: whether doubt or disagreement finds failures sooner, the guards of blended sets, the
numbers of other protocols, and what is known about submissions.

Conventions: as in `views`. A finder is sooner if the document's sign test is significant at .05; otherwise it
is undecided.
Source: Yan et al. 2021, section 3 (disagreement); Blum et al. 2021, 3.1 and 4.3 (guards, submissions).
"""

from __future__ import annotations

from typing import Any

from faultscape.reporting.reliability.document import Card, CardFinder
from faultscape.reporting.reliability.questions import CardIndex
from faultscape.reporting.reliability.views import scorer_title
from faultscape.reporting.reliability.words import claims_text
from faultscape.reporting.view import Column, Mark, Table, TableRow, axis_of

_SURE = 0.05
_PRESET_TITLES = {
    "miou": "mIoU",
    "ece": "ECE",
    "auroc": "AUROC",
    "aupr_success": "AUPR success",
    "aupr_error": "AUPR error",
    "fpr95": "FPR95",
    "ood_auroc": "OOD AUROC",
    "ood_aupr": "OOD AUPR",
    "ood_fpr95": "OOD FPR95",
    "semantic_hmean": "semantic mean",
    "ood_hmean": "OOD mean",
    "bravo_index": "BRAVO index",
    "auroc_void_known": "AUROC, void known",
    "aupr_void_known": "AUPR, void known",
    "auroc_200": "AUROC, 200 bins",
    "aupr_200": "AUPR, 200 bins",
}


def finders(card: Card, index: CardIndex) -> list[dict[str, Any]]:
    """Return one row per model: the failures that doubt and disagreement have found after a tenth and a fifth
    of the labels, and which is sooner.
    """
    held: dict[str, dict[str, CardFinder]] = {}
    for row in card.get("finders", []):
        if row["model"] in index.models:
            held.setdefault(row["model"], {})[row["finder"]] = row
    out = []
    for model, of in held.items():
        first = next(iter(of.values()))
        found = {
            name: [round((row[key] or 0) * row["failures"]) for key in ("found_tenth", "found_fifth")]
            for name, row in of.items()
        }
        p_value = first.get("p_value")
        better = max(of, key=lambda name: of[name].get("units_ahead", 0))
        sooner = None if p_value is None else better if p_value < _SURE else "not decided"
        out.append(
            {
                "model": model,
                "place": index.models.index(model),
                "images": first["images"],
                "failures": first["failures"],
                "found": found,
                "sooner": sooner,
            }
        )
    return out


def guards(card: Card, index: CardIndex) -> dict[str, Any]:
    """Return how well scorers separate pasted known objects from all other known pixels, one row per model,
    scorer and set; and the cheat's numbers on each set.
    """
    pasted = [
        TableRow(
            row["model"],
            (Mark(row["auroc"], row.get("low"), row.get("high")),),
            index.models.index(row["model"]),
            f"{scorer_title(row['scorer'])}, {row['condition']}",
        )
        for row in card.get("guards", [])
        if row["kind"] == "pasted" and row["model"] in index.models
    ]
    cheats = [row for row in card.get("guards", []) if row["kind"] == "difference"]
    if not pasted and not cheats:
        return {}
    on = axis_of([*(row.marks[0] for row in pasted), Mark(0.5)])
    return {"pasted": Table((Column("", on, at=0.5),), tuple(pasted)), "cheats": cheats}


def presets(card: Card) -> list[dict[str, Any]]:
    """Return one table per preset: one row per model and set, and one row of means per model."""
    out = []
    for name, models in (card.get("presets") or {}).items():
        rows = []
        for model, of in models.items():
            rows += [(model, set_, numbers) for set_, numbers in of["sets"].items()]
            rows += [(model, "all sets", of["means"])] if of["means"] else []
        columns = [key for key in _PRESET_TITLES if any(key in numbers for _, _, numbers in rows)]
        if rows:
            out.append(
                {
                    "name": name,
                    "columns": [_PRESET_TITLES[key] for key in columns],
                    "rows": [
                        {"model": model, "set": set_, "values": [numbers.get(key) for key in columns]}
                        for model, set_, numbers in rows
                    ],
                }
            )
    return out


def submissions(card: Card) -> list[dict[str, Any]]:
    """Return what is known about each submission: what was hidden from it and what was open, what it
    declares, and whether its claims were accepted.
    """
    return [
        {
            "model": one["name"],
            "hidden": one.get("hidden", []),
            "open": one.get("open", []),
            "declared": one.get("declared", ""),
            "publication": one.get("publication", ""),
            "confirmed": claims_text(one, accepted=True),
            "refused": claims_text(one, accepted=False),
        }
        for one in card["models"]
        if one.get("kind") == "submission"
    ]
