"""status: report what is done, stale and missing, and the next command."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.arguments import Place
from faultscape.reporting.verdict import NOTHING, Verdict, hours_words
from faultscape.terminal_lines import wrapped
from faultscape.verbs.status.change_result import next_words
from faultscape.verbs.verb import verb


@dataclass(frozen=True)
class Status:
    """How far a study is: each stage with its state and a sentence, and the next command.

    ``next`` is '' when all is done, or, if stuck, when someone must fix something first, as the sentences
    explain. ``more``, where nothing is next, is the command that adds images because too few are labelled to
    rank the models; else ''.
    """

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
        lines = [*self.verdict.lines, *([""] if self.verdict.lines else []), f"{self.study}"]
        width = max(8, *(len(stage) for stage, _, _ in self.stages)) if self.stages else 8
        lines += [f"  {stage:<{width}} {state:<8} {words}" for stage, state, words in self.stages]
        line = self.more or next_words(self.next, stuck=self.stuck)
        if (
            not (self.next or self.more or self.stuck or self.verdict.decided)
            and len(self.verdict.models) > 1
        ):
            line = "nothing" if self.about else "nothing; no label of these images would tell more"
        lines += [line for words in self.warnings for line in wrapped(f"warning: {words}", "", "  ")]
        lines += [f"next: {line}{hours_words(self.verdict.hours, line)}"]
        lines += wrapped(self.about, " " * 6, " " * 6)
        return "\n".join([*lines, f"or:   {self.instead}"] if self.instead else lines)


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
