"""A made reliability.json with every part filled in and hostile names."""

from __future__ import annotations

import itertools
from typing import Any

from faultscape.reporting.reliability.document import CORRUPTED, RANDOM, Card

HOSTILE = "<script>alert('x')</script>\"&amp;{}"
SCORERS = ("msp", "energy")


def card(
    models: int = 3,
    *,
    gap: float = 0.05,
    half: float = 0.02,
    corruptions: tuple[str, ...] = ("fog", "snow"),
    intervals: bool = True,
    in_distribution: bool = False,
) -> Card:
    """A card on which each model is ``gap`` better than the next in everything, by paired intervals of
    ``half`` width; the second model's name is hostile. With ``in_distribution``, numbers without the class
    ``thing`` are there too, larger by .1.
    """
    names = ["unet", HOSTILE, *(f"model {k}" for k in range(2, models))][:models]
    conditions: list[dict[str, Any]] = [{"name": "main", "kind": "clean", "images": 24, "sets": ["main"]}]
    conditions += [
        {
            "name": f"{name}-{s}",
            "kind": "corrupted",
            "images": 24,
            "sets": [f"{name}-{s}"],
            "corruption": name,
            "severity": s,
            "of": "main",
        }
        for name in corruptions
        for s in (1, 3, 5)
    ]
    conditions += [
        {
            "name": "blended",
            "kind": "anomaly",
            "images": 24,
            "sets": ["blended"],
            "edition": HOSTILE,
            "anomalous": 0.02,
            "of": "main",
        },
        {
            "name": "things",
            "kind": "anomaly",
            "images": 24,
            "sets": ["main"],
            "holdout": "things",
            "withheld": ["thing"],
            "anomalous": 0.05,
        },
    ]
    cells: list[dict[str, Any]] = []
    paired: list[dict[str, Any]] = []

    def enter(
        condition: str, metric: str, value: float, better: int, scorers: tuple[str, ...] = ("",)
    ) -> None:
        for scorer in scorers:
            for k, name in enumerate(names):
                x = round(value - better * gap * k, 12)
                ends = (round(x - 0.03, 12), round(x + 0.03, 12)) if intervals else (None, None)
                cells.append(
                    {
                        "model": name,
                        "scorer": scorer,
                        "condition": condition,
                        "metric": metric,
                        "value": x,
                        "low": ends[0],
                        "high": ends[1],
                        "images": 24,
                    }
                )
            if metric in (
                "miou",
                "relative_drop",
                "consistency",
                "error_auroc",
                "average_precision",
                "auroc",
            ):
                for (i, first), (j, second) in itertools.combinations(enumerate(names), 2):
                    d = round(better * gap * (j - i), 12)
                    paired.append(
                        {
                            "metric": metric,
                            "condition": condition,
                            "scorer": scorer,
                            "first": first,
                            "second": second,
                            "difference": d,
                            "low": d - half if intervals else None,
                            "high": d + half if intervals else None,
                            "images": 24,
                        }
                    )

    enter("main", "miou", 0.7, 1)
    enter("main", "ece", 0.01, -1)
    for metric in ("error_auroc", "error_ap", "error_fpr95"):
        enter("main", metric, 0.8, -1 if metric.endswith("fpr95") else 1, SCORERS)
    for condition in conditions:
        if condition["kind"] == "corrupted":
            enter(condition["name"], "miou", 0.7 - 0.08 * condition["severity"], 1)
            enter(condition["name"], "ece", 0.03 * condition["severity"], -1)
    if corruptions:
        enter(CORRUPTED, "miou", 0.46, 1)
        enter(CORRUPTED, "relative_drop", 0.34, -1)
        enter(CORRUPTED, "consistency", 0.6, 1)
        enter(CORRUPTED, "error_auroc", 0.75, 1, SCORERS)
    for set_, chance in (("blended", 0.02), ("things", 0.05)):
        for metric in ("average_precision", "auroc", "fpr95"):
            enter(set_, metric, 0.4, -1 if metric == "fpr95" else 1, SCORERS)
        for k, metric in enumerate(("found_1", "found_5", "found_10")):
            enter(set_, metric, 0.4 + 0.1 * k, 1, SCORERS)
        for metric, value in (("average_precision", chance), ("auroc", 0.5), ("fpr95", 0.95)):
            cells.append(
                {
                    "model": RANDOM,
                    "scorer": RANDOM,
                    "condition": set_,
                    "metric": metric,
                    "value": value,
                    "low": None,
                    "high": None,
                    "images": 24,
                }
            )
    if in_distribution:
        for rows in (cells, paired):
            kept = [row for row in rows if row["metric"] in ("miou", "relative_drop", "ece", "error_auroc")]
            rows += [row | {"holdout": "things"} for row in kept]
        for cell in (cell for cell in cells if "holdout" in cell):
            cell |= {key: cell[key] + 0.1 for key in ("value", "low", "high") if cell[key] is not None}
    objects = [
        {
            "model": name,
            "scorer": scorer,
            "condition": "blended",
            "objects": kind,
            "count": 6,
            "average_precision": 0.1,
            "recall": 0.4 if kind != "lower third" else None,
            "found_1": 0.1,
            "found_5": 0.3 if kind != "lower third" else None,
            "found_10": 0.6,
        }
        for name in names
        for scorer in SCORERS
        for kind in (
            "all objects",
            "smallest quarter",
            "second quarter",
            "third quarter",
            "largest quarter",
            "upper third",
            "middle third",
            "lower third",
        )
    ]
    made: dict[str, Any] = {
        "study": HOSTILE,
        "truth": "labels",
        "reference": names[0],
        "recommended": [
            {
                "model": name,
                "scorer": "energy" if k < 2 else "",
                "sets": [HOSTILE] if k < 2 else [],
                "average_precision": 0.5 if k < 2 else None,
                "instead_of": "msp" if k < 2 else "",
                "difference": 0.1 if k < 2 else None,
                "low": 0.05 if k < 2 else None,
                "high": 0.15 if k < 2 else None,
                "why": "" if k < 2 else "it has no average precision on a set for validation",
            }
            for k, name in enumerate(names)
        ],
        "thresholds": [
            {
                "model": name,
                "scorer": scorer,
                "rate": rate,
                "score": -12.5 - rate,
                "images": 30,
                "on": [
                    {"condition": set_, "false_alarms": 1.2 * rate, "pixels": 0.4, "objects": objects_}
                    for set_, objects_ in (("blended", 0.25), ("things", None))
                ],
            }
            for name in names
            for scorer in SCORERS
            for rate in (0.01, 0.05, 0.1)
        ],
        "models": [
            {"name": name, "kind": "onnx", "members": [], "flags": [], "scorers": list(SCORERS)}
            for name in names
        ],
        "conditions": conditions,
        "cells": cells,
        "classes": [
            {
                "model": name,
                "class_": class_,
                "condition": condition,
                "value": value,
                "low": None,
                "high": None,
            }
            for name in names
            for class_, kept in (("road", 0.9), (HOSTILE, 0.25), ("gone", 0.0))
            for condition, value in (
                ("main", 0.8 if class_ != "gone" else 0.0),
                *((f"{corruption}, all severities", 0.8 * kept) for corruption in corruptions),
                *([("all corruptions", 0.8 * kept)] if corruptions else []),
            )
        ],
        "objects": objects,
        "paired": paired,
        "gaps": [
            {
                "model": names[0],
                "scorers": ["energy"],
                "conditions": ["fog-1", HOSTILE],
                "why": "energy was not counted",
                "line": f"faultscape predict STUDY '{HOSTILE}' --measure",
            }
        ],
        "ranking": (
            {
                "order": names,
                "models": models,
                "labelled": 24,
                "agreement": {"clean": 1.0, "corrupted": 0.5} if models > 2 else {},
            }
            if corruptions and models > 1
            else {}
        ),
        "times": [
            {
                "model": name,
                "device": "made device",
                "frames": 24,
                "batch": 8,
                "model_ms": [1.0, 2.0, 3.0],
                "scored_ms": [2.0, 3.0, 4.0],
                "whole_ms": [4.0, 5.0, 6.0],
                "plain_ms": [2.0, 3.0, 4.0],
                "methods_ms": {},
            }
            for name in names
        ],
        "guards": [
            {
                "kind": "pasted",
                "condition": "blended",
                "model": names[0],
                "scorer": "msp",
                "weather": "clear",
                "images": 24,
                "auroc": 0.62,
                "low": 0.55,
                "high": 0.69,
            },
            {
                "kind": "difference",
                "condition": "blended",
                "weather": "clear",
                "images": 24,
                "auroc": 0.99,
                "average_precision": 0.97,
                "fpr95": 0.001,
                "share": 0.02,
            },
        ],
        "finders": [
            {
                "model": name,
                "finder": finder,
                "images": 60,
                "failures": 6,
                "found_tenth": 2 / 6,
                "found_fifth": found / 6,
                "auroc": 0.7,
                "p_value": 0.03 if k == 0 else 0.6,
                "units_ahead": 1 if finder == "doubt" else 9,
            }
            for k, name in enumerate(names)
            for finder, found in (("doubt", 3), ("disagreement", 5))
        ],
        "presets": {
            "bravo-2024": {
                names[0]: {
                    "sets": {HOSTILE: {"miou": 0.41234, "ood_fpr95": 0.3}},
                    "means": {"semantic_hmean": 0.5, "ood_hmean": 0.25, "bravo_index": 1 / 3},
                }
            }
        },
        "units": {"drawn": "images", "count": 24},
        "notes": [f"a note on {HOSTILE}"],
        "provenance": {"faultscape": "0", "arguments": {"seed": 1}},
    }
    return made  # type: ignore[return-value]


def with_requirements(card: Card) -> Card:
    """The same card with requirements that are met, missed and not known."""
    name = card["models"][-1]["name"]
    row: dict[str, Any] = {"model": name, "scorer": "msp", "condition": "blended", "metric": "fpr95"}
    row |= {"holdout": "", "above": False, "bound": 0.5, "value": 0.4, "low": 0.37, "high": 0.43}
    met = row | {"requirement": "fpr95<=.5", "standing": "met", "why": ""}
    missed = row | {"requirement": f"{HOSTILE}: fpr95<=.3", "standing": "missed", "why": ""}
    unknown = row | {"requirement": "fpr95<=.4", "standing": "not known"}
    unknown |= {"why": "the interval includes the bound"}
    none = unknown | {"value": None, "low": None, "high": None, "why": "it was not measured"}
    return {**card, "requirements": [met, missed, unknown, none]}  # type: ignore[typeddict-item]


def without_sets(card: Card, model: str, *, keep: int) -> Card:
    """The same card without a model's numbers of all corrupted sets but the first ``keep``."""
    names = [one["name"] for one in card["conditions"] if one["kind"] == "corrupted"][keep:]
    card["cells"] = [c for c in card["cells"] if not (c["model"] == model and c["condition"] in names)]
    return card
