"""status: report what is done, stale and missing, and the next command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultscape.arguments import Place
from faultscape.reporting.verdict import NOTHING, Verdict, hours_words
from faultscape.results.result import Result
from faultscape.results.table import Column, Rows
from faultscape.terminal_lines import wrapped
from faultscape.verbs.status.change_result import next_words
from faultscape.verbs.verb import verb


@dataclass(frozen=True, eq=False)
class Status(Result):
    """How far a study is: each stage with its state and a sentence, and the next command. The table has a row
    a stage.

    ``next`` is '' when all is done, or, if stuck, when someone must fix something first, as the sentences
    explain. ``more``, where nothing is next, is the command that adds images because too few are labelled to
    rank the models, or for another round of `loop`; else ''.
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("verb", "text", "the verb that makes the stage"),
        Column("state", "text", "done, stale, missing or damaged"),
        Column("says", "text", "what it is, and why it is not done"),
    )

    study: str  # the study folder, as it was given
    stages: tuple[tuple[str, str, str], ...]  # (verb, state, sentence); states: done, stale, missing, damaged
    next: str
    stuck: bool = False  # whether someone must fix something first
    instead: str = ""  # an alternative to the next command, or ''
    more: str = ""
    about: str = ""  # what the next command is for, or ''
    verdict: Verdict = NOTHING  # which model to use, and what else the labels say
    warnings: tuple[str, ...] = ()  # what is odd about the models: maps of another class list, images shifted

    def __repr__(self) -> str:
        width = max(8, *(len(stage) for stage, _, _ in self.stages)) if self.stages else 8
        rows = [f"  {stage:<{width}} {state:<8} {words}" for stage, state, words in self.stages]
        return "\n".join([*self._head(), *rows, *self._next()])

    def _says(self) -> str:
        return "\n".join([*self._head(), *self._next()])

    def _rows(self) -> Rows:
        return self.stages

    def _head(self) -> list[str]:
        return [*self.verdict.lines, *([""] if self.verdict.lines else []), f"{self.study}"]

    def _next(self) -> list[str]:
        """Return the lines below the stages."""
        line = self.more or next_words(self.next, stuck=self.stuck)
        if (
            not (self.next or self.more or self.stuck or self.verdict.decided)
            and len(self.verdict.models) > 1
        ):
            line = "nothing" if self.about else "nothing; no label of these images would tell more"
        lines = [line for words in self.warnings for line in wrapped(f"warning: {words}", "", "  ")]
        lines += [f"next: {line}{hours_words(self.verdict.hours, line)}"]
        lines += wrapped(self.about, " " * 6, " " * 6)
        return [*lines, f"or:   {self.instead}"] if self.instead else lines


@verb("faultscape.verbs.status.work:study_status")
def status(study: Place) -> Status:
    """Report which stages of a study are done, stale or missing, and the next command.

    Parameters
    ----------
    study
        The study folder.

    >>> fs.status("study").next
    'faultscape report study --selection order'
    """
    ...


def verdict(study: Place) -> Verdict:
    """Return which model to use, by how much, what is not settled, where it fails, and what to do next.

    Parameters
    ----------
    study
        The study folder.

    >>> fs.verdict("study")
    Use unet.
    ...
    """
    return status(study).verdict
