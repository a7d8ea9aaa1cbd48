"""How long a model takes for one frame: the forward pass, with its labels and scores, and with loading and
writing (Blum et al. 2021, inference time).

Conventions: milliseconds a frame, median and quartiles over batches, each batch counted once for every frame
in it; a batch that was the first its network saw (warm-up) is left out. Of a shard that was predicted again,
by another network say, only the last time counts. Where some ran alone, batches of one frame count and no
others, as Blum et al. 2021 time them. Loading, the model and writing run side by side, so that a whole run
takes less than their sum. Times lie outside every law.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

_PARTS = ("model", "score", "seconds")
_ALONE = 8  # frames that ran alone, from which on they are enough


@dataclass(frozen=True)
class FrameTimes:
    """One model on one device: frames measured, in batches of how many (their median), and (first quartile,
    median, third quartile) in milliseconds.

    ``scored`` adds labels and scores to the forward pass; of times that an earlier version noted they are in
    ``whole`` alone.
    """

    name: str
    device: str
    frames: int
    batch: int
    model: tuple[float, float, float]
    scored: tuple[float, float, float]
    whole: tuple[float, float, float]


def frame_times(root: Path) -> list[FrameTimes]:
    """Return the times of each network of a study and device, in the order in which they first ran; none
    where nothing was measured.
    """
    path = root / "timings.parquet"
    try:
        rows = pq.read_table(path).to_pylist() if path.exists() else []
    except (OSError, ValueError, KeyError):  # times are for information: they never stop a run
        return []
    latest: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        if row["stage"] == "predict":  # stands before the batches of its shard
            latest[row["name"], row["shard"]] = []
        elif row["stage"] == "inference" and row["warm"] and row["items"]:
            latest.setdefault((row["name"], row["shard"]), []).append(row)
    kept = [row for mine in latest.values() for row in mine]
    out = []
    for name, device in dict.fromkeys((row["name"], row["device"]) for row in kept):
        mine = [row for row in kept if (row["name"], row["device"]) == (name, device)]
        alone = [row for row in mine if row["items"] == 1]
        mine = alone if len(alone) >= _ALONE else mine
        frames = np.array([row["items"] for row in mine])
        model, score, whole = (
            np.array([row.get(key) or 0.0 for row in mine]) / frames * 1000 for key in _PARTS
        )
        spread = [_quartiles(values, frames) for values in (model, model + score, whole)]
        out.append(FrameTimes(name, device, int(frames.sum()), int(np.median(frames)), *spread))
    return out


def _quartiles(values: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    """Return the quartiles of values that each stand for several frames."""
    spread = np.repeat(values, weights)
    first, median, third = np.quantile(spread, [0.25, 0.5, 0.75])
    return float(first), float(median), float(third)
