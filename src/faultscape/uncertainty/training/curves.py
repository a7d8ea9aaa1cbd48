"""log.csv of a network: a row a step, with what validation found.

Conventions: while training lasts the log lies beside the checkpoints, under the key of what is trained, so
that a network keeps its own until another one is whole; after a run that was killed rows behind the
checkpoint are written again. Seconds lie outside every law.
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
    """One step: loss, rate, the norm of the gradients before it was bounded, seconds, and what validation
    found after it (NaN where it did not look).
    """

    step: int
    loss: float
    rate: float
    gradient_norm: float
    seconds: float
    validation_miou: float = math.nan
    validation_nll: float = math.nan


def log_of(folder: Path, key: str = "") -> Path:
    """Return where the log of a network's folder lies, or while training lasts that of what has this key."""
    return folder / "checkpoint" / f"log-{key[:12]}.csv" if key else folder / LOG


def read_rows(folder: Path, key: str = "") -> list[Row]:
    """Return the rows of a network's log, or of that of what has this key; none where there is none, and none
    that is damaged.
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
    """Put the log of a network, or while training lasts that of what has this key."""
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
