"""Measured ratios of `measure` against named peers, all in one run: ``make bench`` writes
docs/benchmarks/measure.md.

Conventions: those of run.py, whose table this one stands beside; what the rows are made of stands in
regions.py and detection.py.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import detection
import numpy as np
import regions
from clock import in_turns, machine
from made_maps import maps
from page_text import speed_page

from faultscape.maps.regions import overlaps
from faultscape.metrics.overlaps import region_counts

ROOT = Path(__file__).parents[1]
LIBRARIES = (
    "numpy",
    "numba",
    "scipy",
    "scikit-learn",
    "opencv-python-headless",
    "connected-components-3d",
    "torchmetrics",
    "scikit-image",
)


def thresholds() -> Iterator[regions.Row]:
    """Yield how much 100 confidence thresholds cost beside one, the table of overlaps included (S1 III-B)."""
    many, one = np.linspace(0, 1, 100), np.zeros(1)
    for kind in ("web", "hard"):
        truth, prediction = maps(kind, 2)
        confidence = np.random.default_rng(0).random(truth.shape, dtype=np.float32)

        def curve(at: np.ndarray, pair: tuple[np.ndarray, ...] = (truth, prediction, confidence)) -> object:
            return region_counts.count_above(
                overlaps(pair[0], pair[1], regions.C, confidence=pair[2]), regions.C, at
            )

        single, hundred = in_turns(lambda c=curve: c(one), lambda c=curve: c(many), 5, regions.GOES)
        yield (
            f"ROM and RUM at 100 thresholds, {kind}: times one threshold",
            f"{hundred / single:.1f}x ({hundred * 1e3:.2f} ms)",
            "<= 3x",
        )


def installed(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return ""


def main() -> None:
    lines = []
    for what, measured, target in [*regions.rows(), *thresholds()]:
        print(f"{what:<96} {measured:<28} {target}", flush=True)
        lines.append(f"| {what} | {measured} | {target} |")
    for what, ours, peer, ratio, target in detection.rows():
        measured = ", ".join(
            part for part in (ratio, f"ours {ours}" if peer else ours, f"peer {peer}" if peer else "") if part
        )
        print(f"{what:<96} {measured:<28} {target}", flush=True)
        lines.append(f"| {what} | {measured} | {target} |")
    libraries = ", ".join(found for name in LIBRARIES if (found := installed(name)))
    head = f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, {machine()}, {libraries}"
    made = (
        "Made by `make bench`: one run, processor time of one thread, best of several in turns with the peer."
    )
    notes = ROOT / "benchmarks" / "measure-notes.md"
    text = speed_page("How fast is `measure`?", notes, "measure", f"{made}\n\n{head}.", lines)
    (ROOT / "docs" / "benchmarks" / "measure.md").write_text(text)


if __name__ == "__main__":
    main()
