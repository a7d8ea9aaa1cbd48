"""How long a model takes for one frame: within the model alone, and with loading and writing (S4, inference time).

Conventions: milliseconds a frame, median and quartiles over batches, each batch counted once for every frame in it; a batch that was the first its network saw (warm-up)
is left out. Loading, the model and writing run side by side, so that a whole run takes less than their sum. Times lie outside every law.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from faultscape.study.tables.logs import TIMINGS


@dataclass(frozen=True)
class FrameTimes:
    """One model on one device: frames measured, and (first quartile, median, third quartile) in milliseconds."""

    name: str
    device: str
    frames: int
    model: tuple[float, float, float]
    whole: tuple[float, float, float]


def frame_times(root: Path) -> list[FrameTimes]:
    """Return the times of each network of a study and device, in the order in which they first ran; none where nothing was measured."""
    path = root / "timings.parquet"
    try:
        rows = pq.read_table(path, columns=list(TIMINGS)).to_pylist() if path.exists() else []
    except (OSError, ValueError, KeyError):  # times are for information: they never stop a run
        return []
    kept = [row for row in rows if row["stage"] == "inference" and row["warm"] and row["items"]]
    out = []
    for name, device in dict.fromkeys((row["name"], row["device"]) for row in kept):
        mine = [row for row in kept if (row["name"], row["device"]) == (name, device)]
        frames = np.array([row["items"] for row in mine])
        model, whole = (np.array([row[key] for row in mine]) / frames * 1000 for key in ("model", "seconds"))
        out.append(FrameTimes(name, device, int(frames.sum()), _quartiles(model, frames), _quartiles(whole, frames)))
    return out


def _quartiles(values: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    """Return the quartiles of values that each stand for several frames."""
    spread = np.repeat(values, weights)
    first, median, third = np.quantile(spread, [0.25, 0.5, 0.75])
    return float(first), float(median), float(third)
