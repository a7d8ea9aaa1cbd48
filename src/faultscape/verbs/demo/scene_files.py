"""Draw the scenes that `demo` collects: images with their truth, and other masks that show the usual sizes of
classes.

Conventions: workers import this file, so it imports little.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2

from faultscape.progress import Tick
from faultscape.reading import fill
from faultscape.reading.fill import task
from faultscape.scenes import street as drawing
from faultscape.study.folder import put


@dataclass(frozen=True)
class DrawJob:
    """The scenes first..last - 1, or their ``training`` counterparts, which are only stored as masks."""

    folder: str
    first: int
    last: int
    training: bool


def draw_scenes(folder: Path, number: int, training: int, engine: str, *, begin: int = 0) -> None:
    """Draw the missing scenes of the demo, numbered from ``begin``, and the masks of ``training`` others."""
    for name in ("images", "truth", "training"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    jobs = [
        DrawJob(str(folder), first, min(first + 25, end), training=only_mask)
        for only_mask, start, end in ((False, begin, begin + number), (True, 0, training))
        for first in range(start, end, 25)
    ]
    for _ in fill.do(
        "faultscape.verbs.demo.scene_files:draw",
        jobs,
        type(None),
        title="draw",
        items=number + training,
        engine=engine,
    ):
        pass


@task(DrawJob)
def draw(job: DrawJob, tick: Tick) -> None:
    """Draw the missing scenes of a job."""
    folder = Path(job.folder)
    training = job.training
    for index in range(job.first, job.last):
        name = f"scene-{index:04d}.png"
        target = folder / ("training" if training else "images") / name
        if not target.exists():
            if training:
                pixels = drawing.training_truth(index)
            else:
                scene = drawing.corpus_scene(index)
                put(folder / "truth" / name, cv2.imencode(".png", scene.truth)[1].tobytes())
                pixels = cv2.cvtColor(scene.image, cv2.COLOR_RGB2BGR)
            put(target, cv2.imencode(".png", pixels, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes())
        tick(1)
