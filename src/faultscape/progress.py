"""Progress of anything long, as a bar on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tick = Callable[[int], None]


@contextmanager
def progress(what: str, total: int) -> Iterator[Tick]:
    """Show a bar on standard error while the block runs, and nothing when that is not a terminal; yields
    ``tick(n)``.
    """
    if total == 0 or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task(what, total=total)
        yield lambda n: bar.update(job, advance=n)
