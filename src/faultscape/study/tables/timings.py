"""How long a model takes for one frame: the forward pass, with its labels and scores, and with loading and
writing (Blum et al. 2021, inference time); and how long its methods took to fit.

Conventions: milliseconds per frame, median and quartiles over batches, each batch counted once for every
frame in it; the first batch of a network (warm-up) is left out. If a shard was predicted again, for example
by another network, only the last time counts. If enough frames ran alone, only batches of one frame count, as
in Blum et al. 2021. Loading, the model and writing run in parallel, so that a whole run takes less than their
sum. A method's time of a frame is what it would be if no other method were asked: the forward pass with
labels and scores, and the method with its parts or its backbone; methods that share a search of neighbours
share its time with the first. Times are not covered by the laws on results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

_PARTS = ("model", "score", "fitted", "seconds")
_ALONE = 8  # number of frames that ran alone which are enough


@dataclass(frozen=True)
class FrameTimes:
    """One model on one device: the number of frames measured, their median batch size, and (first quartile,
    median, third quartile) in milliseconds.

    ``scored`` adds labels, scores and fitted methods to the forward pass; for times recorded by an earlier
    version they are only in ``whole``. ``plain`` is without any fitted method, ``methods`` with one of them.
    """

    name: str
    device: str
    frames: int
    batch: int
    model: tuple[float, float, float]
    scored: tuple[float, float, float]
    whole: tuple[float, float, float]
    plain: tuple[float, float, float]
    methods: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)


def frame_times(root: Path) -> list[FrameTimes]:
    """Return the times of each network of a study and device, in the order in which they first ran; empty if
    nothing was measured.
    """
    latest: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in _rows(root):
        if row["stage"] == "predict":  # comes before the batches of its shard
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
        model, score, fitted, whole = (
            np.array([row.get(key) or 0.0 for row in mine]) / frames * 1000 for key in _PARTS
        )
        plain = model + score
        spread = [_quartiles(values, frames) for values in (model, plain + fitted, whole, plain)]
        costs = [dict(row.get("methods") or ()) for row in mine]
        methods = dict[str, tuple[float, float, float]]()
        for word in dict.fromkeys(word for cost in costs for word in cost):
            asked = np.array([word in cost for cost in costs])
            added = np.array([cost[word] for cost in costs if word in cost]) / frames[asked] * 1000
            methods[word] = _quartiles(plain[asked] + added, frames[asked])
        out.append(
            FrameTimes(name, device, int(frames.sum()), int(np.median(frames)), *spread, methods=methods)
        )
    return out


def fit_minutes(root: Path, model: str) -> dict[str, float]:
    """Return {method: minutes} of the last fit of each method of a model, in the run that ended it."""
    ending = f"/{model}"
    return {
        row["name"].removesuffix(ending): row["seconds"] / 60
        for row in _rows(root)
        if row["stage"] == "fit" and row["name"].endswith(ending)
    }


def _rows(root: Path) -> list[dict[str, Any]]:
    path = root / "timings.parquet"
    try:
        return pq.read_table(path).to_pylist() if path.exists() else []
    except (OSError, ValueError, KeyError):  # times are for information: they never stop a run
        return []


def _quartiles(values: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    """Return the quartiles of values, each weighted by its number of frames."""
    spread = np.repeat(values, weights)
    first, median, third = np.quantile(spread, [0.25, 0.5, 0.75])
    return float(first), float(median), float(third)
