"""Progress of long work, on standard error: a bar on a terminal, an updating line in a notebook, and a line
every 30 seconds elsewhere.

Conventions: ``--progress``, which overrides ``FAULTSCAPE_PROGRESS``, is one of STYLES; ``auto`` detects where
it runs.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Tick = Callable[[int], None]

STYLES = ("auto", "bar", "lines", "off")
VARIABLE = "FAULTSCAPE_PROGRESS"
SECONDS = 30.0  # between two lines when there is no terminal
NOTEBOOK_SECONDS = 0.2
_asked: ContextVar[str] = ContextVar("progress", default="")


@contextmanager
def progress_as(style: str) -> Iterator[None]:
    """Show progress in one style while the block runs; '' means the style of the environment."""
    before = _asked.set(style or _asked.get())
    try:
        yield
    finally:
        _asked.reset(before)


def style_now() -> str:
    """Return how progress is shown: bar, notebook, lines or off.

    >>> with progress_as("off"):
    ...     style_now()
    'off'
    """
    asked = _asked.get() or os.environ.get(VARIABLE, "")
    if asked in STYLES and asked != "auto":
        return asked
    if _in_notebook():
        return "notebook"
    return "bar" if sys.stderr is not None and sys.stderr.isatty() else "lines"


@contextmanager
def progress(what: str, total: int) -> Iterator[Tick]:
    """Show the progress of the block while it runs; yields ``tick(n)``, which reports ``n`` more of ``total``
    as done.
    """
    style = style_now()
    if total == 0 or style == "off":
        yield lambda _: None
    elif style == "bar":
        with _bar(what, total) as tick:
            yield tick
    elif style == "notebook":
        with _notebook(what, total) as tick:
            yield tick
    else:
        yield _lines(what, total)


@contextmanager
def _bar(what: str, total: int) -> Iterator[Tick]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task(what, total=total)
        yield lambda n: bar.update(job, advance=n)


@contextmanager
def _notebook(what: str, total: int) -> Iterator[Tick]:
    """Show one line that updates in place and disappears when the block ends."""
    begun = time.monotonic()
    done = 0
    shown = -1e9
    width = 0

    def tick(n: int) -> None:
        nonlocal done, shown, width
        done += n
        now = time.monotonic()
        if now - shown >= NOTEBOOK_SECONDS:
            text = progress_line(what, done, total, now - begun)
            print(f"\r{text:<{width}}", end="", file=sys.stderr, flush=True)
            shown = now
            width = max(width, len(text))

    try:
        yield tick
    finally:
        print(f"\r{'':<{width}}\r", end="", file=sys.stderr, flush=True)


def _lines(what: str, total: int) -> Tick:
    """Return a tick that prints a line once 30 seconds have passed since the last one, or since the start."""
    begun = last = time.monotonic()
    done = 0

    def tick(n: int) -> None:
        nonlocal done, last
        done += n
        now = time.monotonic()
        if now - last >= SECONDS and sys.stderr is not None:
            print(progress_line(what, done, total, now - begun), file=sys.stderr, flush=True)
            last = now

    return tick


def progress_line(what: str, done: int, total: int, seconds: float) -> str:
    """Return how far something is, and the remaining time at the pace so far.

    >>> progress_line("predict", 120, 480, 60)
    'predict: 120 of 480 (25 %), about 3 min left'
    """
    left = seconds * (total - done) / done if 0 < done < total else 0
    rest = f", about {_time(left)} left" if left else ""
    return f"{what}: {done:,} of {total:,} ({100 * done // total} %){rest}"


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _in_notebook() -> bool:
    """Return whether this runs in a Jupyter kernel."""
    shell = sys.modules.get("IPython")
    kernel = shell.get_ipython() if shell is not None else None
    return type(kernel).__name__ == "ZMQInteractiveShell"
