"""What one call of a verb costs: wall and processor seconds, and the peak memory of the process that drives
and of the workers that it starts.

Conventions: the verb runs in a process of its own, which tells its own peak (VmHWM: ru_maxrss is inherited
from what started it); workers are asked ten times a second. Processor seconds are those of all these
processes. MiB.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CALL = """
import json, re, sys
import faultscape as fs
name, given, options = json.loads(sys.argv[1])
getattr(fs, name)(*given, **options)
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock and of all processors, MiB of the driver and of the largest worker (0: none was
    started).
    """

    seconds: float
    processor: float
    driver: int
    worker: int


def measure_cost(verb: str, *given: Any, **options: Any) -> Cost:
    """Run a verb and return what it cost; CalledProcessError when it fails."""
    before, start = _processor(), time.perf_counter()
    words = [sys.executable, "-c", _CALL, json.dumps([verb, given, options])]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        worker = 0
        while True:
            worker = max([worker, *(_peak(child) for child in _children(process.pid))])
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
                break
        said = process.stdout.read().split()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return Cost(time.perf_counter() - start, _processor() - before, int(said[-1]) // 1024, worker)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _children(process: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with suppress(OSError):
                found += map(int, Path(f"/proc/{process}/task/{thread}/children").read_text().split())
    return found


def _peak(process: int) -> int:
    with suppress(OSError):
        if match := re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text()):
            return int(match[1]) // 1024
    return 0
