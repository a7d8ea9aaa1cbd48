"""Limits on what a network may use of the machine before it is known to work.

Conventions: sizes are bytes. Memory is that of the machine or container. Limits that the system does not
support are not applied.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from faultscape.errors import ModelError

SECONDS = 600.0  # limit for an ONNX network to open, and to run on one image
_CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

Value = TypeVar("Value")


def memory() -> int:
    """Return the total memory available here."""
    found = [sys.maxsize]
    with suppress(ValueError, OSError, AttributeError):  # not on Windows
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in map(Path, _CONTAINER):
        with suppress(ValueError, OSError):  # "max" means no limit
            found.append(int(path.read_text()))
    return min(found)


def check_files(source: str, files: Sequence[tuple[Path, int]]) -> None:
    """Raise ModelError if a network's files, given with their sizes in bytes, exceed the memory; called
    before they are read.
    """
    size = sum(number for _, number in files)
    most = memory()
    if size > most:
        raise ModelError(
            f"{source}: its weights take {size / 1e9:,.1f} GB, and this machine has {most / 1e9:,.1f} GB of"
            " memory; check the file, or run it on a larger machine"
        )


@contextmanager
def bounded(*, when: bool = True) -> Iterator[None]:
    """Limit the block to the memory that is free now, so that larger allocations fail and this process
    survives; Linux only.
    """
    if not when or sys.platform != "linux":
        yield
        return
    import resource

    free = re.search(r"MemAvailable:\s*(\d+)", Path("/proc/meminfo").read_text())
    held = re.search(r"VmData:\s*(\d+)", Path("/proc/self/status").read_text())
    before = resource.getrlimit(resource.RLIMIT_DATA)
    most = min(int(free[1]) << 10 if free else sys.maxsize, memory()) + (int(held[1]) << 10 if held else 0)
    soft = most if before[0] == resource.RLIM_INFINITY else min(most, before[0])
    resource.setrlimit(resource.RLIMIT_DATA, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def within(seconds: float, call: Callable[[], Value]) -> Value:
    """Return the result of a call, or raise TimeoutError if it takes longer; the call is then abandoned in a
    thread that does not delay exit.

    Otherwise a library that ignores interrupts would block this process, and Ctrl-C, for as long as it runs.
    """
    found: Future[Value] = Future()

    def work() -> None:
        try:
            found.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again where the call was made
            found.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return found.result(seconds)
