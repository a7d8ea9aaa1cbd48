"""Run one function over many shards: in this process, in local worker processes, or on a Ray cluster.

Conventions: a task is the dotted name ``module:function`` and a list of JSON objects, one call each. The
function takes the object's keys as keyword arguments and ``tick``, which it calls with the number of items
done, and returns something JSON can hold. One that also takes ``attempt`` gets the number of times its worker
died since this call last made progress. It must be safe to run again and write the same files wherever it
runs (DESIGN, the engines law): workers share only the study folder. Workers receive JSON on their standard
input, so nothing is pickled and a script needs no ``__main__`` guard; they end with their parent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from faultscape import errors
from faultscape.engine.tasks import find as find
from faultscape.engine.tasks import perform
from faultscape.nouns import Json, JsonObject
from faultscape.progress import Tick

ENGINES = ("local", "processes", "ray", "ray://HOST:PORT")


def run(
    task: str,
    calls: Sequence[JsonObject],
    *,
    engine: str = "local",
    workers: int | None = None,
    tick: Tick | None = None,
    gpus: float = 0,
    apart: bool = False,
    begin_here: bool = False,
) -> Iterator[tuple[int, Json]]:
    """Yield (number of the call, its result) as calls finish.

    ``gpus`` is how many GPUs a worker needs on Ray. ``apart`` runs even a single call in a process of its
    own, so that a crash is survived. ``begin_here`` begins in this process and starts workers only if enough
    is left for them to pay off: for calls that read only what the study wrote, since their crash would be
    this process's. A user error in a worker is raised here as the same FaultscapeError. If a worker dies
    (killed, out of memory, its node lost), its call is given to a new one; StudyError after five such deaths
    in a row without progress.
    """
    check(engine, workers)
    tick = tick or (lambda _: None)
    if engine.startswith("ray") and calls:
        from faultscape.engine.ray import run_on_ray

        yield from run_on_ray(task, calls, "" if engine == "ray" else engine, workers, tick, gpus)
    elif engine == "local" or (min(workers or cores(), len(calls)) <= 1 and not apart) or not calls:
        for number, call in enumerate(calls):
            yield number, perform(task, call, 0, tick)
    else:
        from faultscape.engine.processes import run_in_processes

        yield from run_in_processes(
            task, calls, min(workers or cores(), len(calls)), tick, begin_here=begin_here
        )


def check(engine: str, workers: int | None) -> None:
    """Raise OptionError for an unknown engine, or fewer than one worker."""
    if engine not in ENGINES[:3] and not engine.removeprefix("ray://").partition(":")[2].isdecimal():
        raise errors.OptionError(
            f"engine {engine!r} is not known; use {', '.join(ENGINES[:-1])} or {ENGINES[-1]}"
        )
    if workers is not None and workers < 1:
        raise errors.OptionError(f"workers must be 1 or more; got {workers}")


def cores() -> int:
    """Return how many cores this process may use: those of its job, if a scheduler assigned some."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
