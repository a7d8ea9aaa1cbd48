"""A driver for the laws of engines, run as a program: one study's line, in which each call takes long enough
to be interrupted.

Run as ``slowly.py STUDY PHOTOS CLASSES ENGINE SECONDS VERBS NAME=MAPS...``; the engine's log goes to
standard error. With FATAL, a folder, the worker of every twelfth call of a verb, from call 6 on, kills itself
once.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from faultscape import engine


def call(
    task: str,
    given: dict[str, Any],
    place: int,
    seconds: float,
    fatal: str,
    tick: Callable[[int], None],
    attempt: int,
) -> Any:
    """Do one call of a verb, later."""
    time.sleep(seconds)
    if (
        fatal
        and place % 12 == 6
        and not (mark := Path(fatal, f"{task.split(':', maxsplit=1)[0]}-{place}")).exists()
    ):
        mark.write_text("killed")
        os.kill(os.getpid(), signal.SIGKILL)
    return engine.perform(task, given, attempt, tick)


def main(study: str, photos: str, classes: str, where: str, seconds: str, verbs: str, *models: str) -> None:
    import faultscape as fs

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    run = engine.run

    def slow(task: str, calls: list[dict[str, Any]], **options: Any) -> Iterator[tuple[int, Any]]:
        more = {"seconds": float(seconds), "fatal": os.environ.get("FATAL", "")}
        told = [{"task": task, "given": c, "place": k, **more} for k, c in enumerate(calls)]
        # calls die here, and workers are what is tried
        return run("slowly:call", told, **options | {"begin_here": False})

    if not Path(study, "study.toml").exists():
        fs.collect(study, photos, classes=classes, storage=fs.options.Storage(shard_size=1))
    workers = 2 if where == "processes" else None
    engine.run = slow
    if "predict" in verbs:
        fs.predict(study, *models, engine=where, workers=workers)
    if "compare" in verbs:
        fs.compare(study, engine=where, workers=workers)


if __name__ == "__main__":
    main(*sys.argv[1:])
