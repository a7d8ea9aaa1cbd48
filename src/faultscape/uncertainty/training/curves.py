"""log.csv of a network: one row per step, with the validation results.

Conventions: during training the log is next to the checkpoints, under the training's key, so that a network
keeps its old log until the new one is complete; after a killed run, rows after the checkpoint are rewritten.
Seconds are not covered by any law.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from faultscape.study.folder import put

LOG = "log.csv"
COLUMNS = ("step", "loss", "rate", "gradient_norm", "seconds", "validation_miou", "validation_nll")


@dataclass(frozen=True)
class Row:
    """One step: loss, rate, the gradient norm before clipping, seconds, and the validation results after it
    (NaN if there was no validation).
    """

    step: int
    loss: float
    rate: float
    gradient_norm: float
    seconds: float
    validation_miou: float = math.nan
    validation_nll: float = math.nan


def log_of(folder: Path, key: str = "") -> Path:
    """Return the path of the log in a network's folder, or, with a key, of the log during training."""
    return folder / "checkpoint" / f"log-{key[:12]}.csv" if key else folder / LOG


def read_rows(folder: Path, key: str = "") -> list[Row]:
    """Return the rows of a network's log, or of the log with this key; empty if there is none. Damaged rows
    are left out.
    """
    try:
        held = list(csv.DictReader(log_of(folder, key).read_text(encoding="utf-8").splitlines()))
    except OSError:
        return []
    rows = []
    for line in held:
        try:
            values = [float(line[name] or "nan") for name in COLUMNS[1:]]
            rows.append(Row(int(line["step"]), *values))
        except (KeyError, ValueError, TypeError):
            continue
    return rows


def write_rows(folder: Path, rows: Sequence[Row], key: str = "") -> None:
    """Write the log of a network, or, with a key, the log during training."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(COLUMNS)
    for row in rows:
        out.writerow(
            [
                row.step,
                *("" if math.isnan(value := getattr(row, name)) else f"{value:.8g}" for name in COLUMNS[1:]),
            ]
        )
    path = log_of(folder, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, text.getvalue().encode())
