"""What is known about a model of the study that `train` made: how it was trained, and its training curves,
for pages and flags.

Conventions: losses are means over equal stretches of steps, up to a maximum number. A folder that is gone or
damaged yields nothing.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

from faultscape.errors import FaultscapeError
from faultscape.prediction.sources.network_folder import folder_of
from faultscape.reporting.reliability.document import RETRAINED, TRAINED_WITH_OOD, CardTraining
from faultscape.study.json_text import read_object
from faultscape.study.settings import ModelSettings
from faultscape.uncertainty.training.curves import Row, read_rows

POINTS = 120


def training_of(about: ModelSettings) -> CardTraining | None:
    """Return how a model was trained; None if `train` did not make it, or its folder has no record."""
    return read_training(folder_of(about.source)) if about.kind == "trained" else None


def read_training(folder: Path) -> CardTraining | None:
    """Return how the network in a folder of `train` was trained, or None without a record."""
    try:
        held = read_object((folder / "network.json").read_bytes())
        network, provenance, plan = (
            cast("dict[str, Any]", held[key]) for key in ("network", "provenance", "plan")
        )
        arguments = provenance["arguments"]
        made = cast("dict[str, Any]", held.get("training", {}))
        rows = read_rows(folder)
        return {
            "backbone": str(network["backbone"]),
            "head": str(network["head"]),
            "loss": str(arguments.get("loss", "ce")),
            "images": int(provenance["images"]),
            "withheld": [str(name) for name in provenance["withheld"]],
            "steps": rows[-1].step if rows else 0,
            "batch": int(plan["batch"]),
            "rate": float(plan["rate"]),
            "inherited": [str(flag) for flag in provenance.get("flags", [])],
            "negatives": str(arguments.get("negatives", "")),
            "family": str(provenance.get("family", "")),
            "minutes": float(made.get("seconds", sum(row.seconds for row in rows))) / 60,
            "losses": losses_of(rows),
            "watched": [
                [row.step, row.validation_miou, row.validation_nll]
                for row in rows
                if row.validation_miou == row.validation_miou
            ],
        }
    except (OSError, ValueError, KeyError, TypeError, FaultscapeError):
        return None


def seconds_of_training(folder: Path) -> float:
    """Return the seconds in which the network in a folder was trained, or NaN if they are not known."""
    training = read_training(folder)
    return math.nan if training is None else round(60 * training["minutes"], 1)


def flags_of(training: CardTraining | None) -> list[str]:
    """Return the flags of a model from how it, and the network that it started from, were trained: Table 1 of
    Blum et al. 2021 marks methods that need their own training, and those that saw unknown objects.
    """
    if training is None:
        return []
    own = training["head"] != "linear" or training["loss"] != "ce"
    mine = {
        *training["inherited"],
        *([RETRAINED] if own else []),
        *([TRAINED_WITH_OOD] if training["loss"] != "ce" else []),
    }
    return [flag for flag in (RETRAINED, TRAINED_WITH_OOD) if flag in mine]


def losses_of(rows: list[Row]) -> list[list[float]]:
    """Return [step, mean loss] of equal stretches of steps.

    >>> losses_of([Row(1, 4.0, 0.1, 1.0, 1.0), Row(2, 2.0, 0.1, 1.0, 1.0)])
    [[1, 4.0], [2, 2.0]]
    """
    count = min(POINTS, len(rows))
    out = []
    for k in range(count):
        part = rows[k * len(rows) // count : (k + 1) * len(rows) // count]
        out.append([part[-1].step, sum(row.loss for row in part) / len(part)])
    return out
