"""Cases that break the law of hostile files, each in its own way, and one that keeps it: they show that the
law is looked after.
"""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

import hostile_cases
from hostile_cases import Case
from refusals import refused

hostile_cases.SECONDS = 1  # whole seconds are counted: of 0 a case may have none left


def _nothing(_: Path) -> None:
    """Write nothing."""


def _endless(_: Path) -> str:
    return str(sum(itertools.count()))


def _killed(_: Path) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def _taken(_: Path) -> str:
    with refused():
        pass
    return ""


CASES = (
    Case("a traceback", _nothing, lambda _: "a" + 1, ""),  # type: ignore[operator]
    Case("four gigabytes", _nothing, lambda _: str(len(bytearray(4 << 30))), ""),
    Case("no end", _nothing, _endless, ""),
    Case("a death", _nothing, _killed, ""),
    Case("two lines", _nothing, lambda _: "one\ntwo", ""),
    Case("other words", _nothing, lambda _: "that", "this"),
    Case("taken as if it were good", _nothing, _taken, ""),
    Case("as it should be", _nothing, lambda _: "this", "this"),
)
