"""status: report what is done, stale and missing, and the next command."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.arguments import Place, needed_text
from faultscape.stages.change_result import next_words
from faultscape.terminal_lines import wrapped


@dataclass(frozen=True)
class Status:
    """Each stage with its state and a sentence, and the next command: '' when all is done, or, if ``stuck``,
    when someone must fix something first, as the sentences explain. ``instead`` is an alternative command, or
    ''; ``more``, where nothing is next, the command that adds images because too few are labelled to rank the
    models, or ''; ``about`` says what the command is for, if that needs words.
    """

    study: str
    stages: tuple[tuple[str, str, str], ...]
    next: str
    stuck: bool = False
    instead: str = ""
    more: str = ""
    about: str = ""

    def __repr__(self) -> str:
        lines = [f"{self.study}"]
        width = max(8, *(len(stage) for stage, _, _ in self.stages)) if self.stages else 8
        lines += [f"  {stage:<{width}} {state:<8} {words}" for stage, state, words in self.stages]
        lines += [f"next: {self.more or next_words(self.next, stuck=self.stuck)}"]
        lines += wrapped(self.about, " " * 6, " " * 6)
        return "\n".join([*lines, f"or:   {self.instead}"] if self.instead else lines)


def status(study: Place) -> Status:
    """Report which stages of a study are done, stale or missing, and the next command.

    Parameters
    ----------
    study
        The study folder.
    """
    from faultscape.stages.status import read_status
    from faultscape.study.folder import existing

    study = needed_text(study, "study")
    return Status(study, *read_status(existing(study), study))
