"""Draw the scenes that `demo` collects: photos with their truth, and masks of others to learn the usual sizes of classes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2

from faultscape import engine as engines
from faultscape.progress import progress
from faultscape.scenes import street as drawing
from faultscape.study.folder import put


def draw_scenes(folder: Path, number: int, training: int, engine: str) -> None:
    """Draw the scenes of the demo that are not there yet, and the masks of ``training`` others."""
    for name in ("images", "truth", "training"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    calls = [
        {"folder": str(folder), "first": first, "last": min(first + 25, total), "training": only_mask}
        for only_mask, total in ((False, number), (True, training))
        for first in range(0, total, 25)
    ]
    with progress("draw", number + training) as tick:
        for _ in engines.run("faultscape.stages.demo:draw", calls, engine=engine, tick=tick):
            pass


def draw(folder: str, first: int, last: int, training: bool, tick: Any) -> None:
    """Draw the scenes first..last - 1, or their training counterparts of which only the masks are kept."""
    for index in range(first, last):
        name = f"scene-{index:04d}.png"
        target = Path(folder) / ("training" if training else "images") / name
        if not target.exists():
            scene = drawing.training_scene(index) if training else drawing.corpus_scene(index)
            if not training:
                put(Path(folder) / "truth" / name, cv2.imencode(".png", scene.truth)[1].tobytes())
            pixels = scene.truth if training else cv2.cvtColor(scene.image, cv2.COLOR_RGB2BGR)
            put(target, cv2.imencode(".png", pixels, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes())
        tick(1)
