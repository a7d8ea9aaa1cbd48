"""What the card says beside its numbers: whether doubt or disagreement finds failures sooner, what the guards
of blended sets say, what others would count, and what is known of submissions.

Conventions: as `views`. A finder is sooner where the sign test of the document says so at .05; else it is not
decided.
Source: Yan et al. 2021, section 3 (disagreement); Blum et al. 2021, section 4 and 5 (guards, submissions).
"""

from __future__ import annotations

from typing import Any

from faultscape.reporting.reliability.document import Card, CardFinder
from faultscape.reporting.reliability.questions import CardIndex
from faultscape.reporting.reliability.views import Mark, axis_of, scorer_title
from faultscape.reporting.reliability.words import claims_text

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
    """Return a row a model: the failures that doubt and disagreement have found after a tenth and a fifth of
    the labels, and which is sooner.
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
    """Return how far scorers tell known objects that were pasted in from all other known pixels, a row a
    model, scorer and set; and what the cheat reaches on each set.
    """
    pasted = [
        {
            "model": row["model"],
            "place": index.models.index(row["model"]),
            "title": f"{scorer_title(row['scorer'])}, {row['condition']}",
            "mark": Mark(row["auroc"], row.get("low"), row.get("high")),
        }
        for row in card.get("guards", [])
        if row["kind"] == "pasted" and row["model"] in index.models
    ]
    cheats = [row for row in card.get("guards", []) if row["kind"] == "difference"]
    axis = axis_of([*(row["mark"] for row in pasted), Mark(0.5)]) if pasted else None
    return {"pasted": pasted, "axis": axis, "cheats": cheats} if pasted or cheats else {}


def presets(card: Card) -> list[dict[str, Any]]:
    """Return a table a preset: a row a model and set, and of means a row a model."""
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
    """Return what is known of each submission: what it could not see and what it could, what it declares, and
    what became of its claims.
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
