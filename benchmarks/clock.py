"""Processor seconds of this thread, the least of several goes, and the machine: what the benchmarks are made of."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable

os.environ.setdefault("FAULTSCAPE_NUMBA", "1")  # else the first goes are those of the plain kernels

Work = Callable[[], object]


def machine() -> str:
    """Return what ratios depend on: the kind of processor, its cores, and the load of the last minutes."""
    from llvmlite.binding import get_host_cpu_name

    kind = f"{platform.machine()} ({get_host_cpu_name()})"
    return (
        f"{kind}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}, Python {platform.python_version()}"
    )


def best(work: Work, goes: int = 5) -> float:
    """Return the least processor seconds of several goes."""
    taken = []
    for _ in range(goes):
        start = time.thread_time()
        work()
        taken.append(time.thread_time() - start)
    return min(taken)


def in_turns(ours: Work, peer: Work, times: int = 4, goes: tuple[int, int] = (3, 3)) -> tuple[float, float]:
    """Return the least processor seconds of each, some ``goes`` of each in turns: a machine that is slow for
    a while is slow for both.
    """
    both = [(best(ours, goes[0]), best(peer, goes[1])) for _ in range(times)]
    return min(a for a, _ in both), min(b for _, b in both)
