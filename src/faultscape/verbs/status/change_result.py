"""What a command that takes something back reports: what it did, what became stale, and what to run next.

Conventions: light, because verbs name it in their signatures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Changed:
    """What a command took back or removed, what became stale, and what to run next; with ``dry_run`` what it
    would do.
    """

    study: str
    done: str
    stale: tuple[str, ...]
    next: str
    dry_run: bool = False
    stuck: bool = False

    def __repr__(self) -> str:
        lines = [f"{self.study}: {self.done}", *stale_lines(self.stale)]
        last = (
            "--dry-run: nothing was changed"
            if self.dry_run
            else f"next: {next_words(self.next, stuck=self.stuck)}"
        )
        return "\n".join([*lines, last])


def next_words(line: str, *, stuck: bool) -> str:
    """Return the text about the next command; without one, whether all is done or someone must act first.

    >>> next_words("", stuck=False), next_words("", stuck=True)
    ('nothing; all is done', 'no command helps; `faultscape status` shows what to fix by hand')
    """
    waits = "no command helps; `faultscape status` shows what to fix by hand"
    return line or (waits if stuck else "nothing; all is done")


def stale_lines(stale: Iterable[str]) -> list[str]:
    """Return the text about artefacts that are no longer done, one per line.

    >>> stale_lines(["standings of main: labels changed"]), stale_lines([])
    (['  stale  standings of main: labels changed'], ['  nothing else becomes stale'])
    """
    return [f"  stale  {words}" for words in stale] or ["  nothing else becomes stale"]
