"""The verdict on a study: which model to use, and what else the labels say. Light: `status` needs it at once.

Conventions: `verdict_lines` makes it from standings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from faultscape.errors import counted
from faultscape.results.result import Result
from faultscape.results.table import Column, Rows, ends_of
from faultscape.standings import FEW, Failing, Gap, Standings, labelled_words


class PairNeed(NamedTuple):
    """How many labels in all two models are expected to need until they are told apart, and the range; NaN
    where that cannot be predicted.
    """

    labels: float
    low: float
    high: float


class Work(NamedTuple):
    """What to do next: a command, '' for none, and the hours of labelling that it asks for, None if none."""

    line: str = ""
    hours: float | None = None


@dataclass(frozen=True, eq=False)
class Verdict(Result):
    """Which model to use, and what else the labels say, in at most six lines.

    ``models`` is the one to use if ``decided``, else those between which the labels do not decide, the leader
    first; () if none can be named. The table has one row.

    >>> Verdict(("a", "b"), False, "The labels do not decide", ()).to_arrow()["models"].to_pylist()
    [['a', 'b']]
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("headline", "text", "the verdict's first sentence", aside=True),
        Column("decided", "flag", "whether the labels decide which model is best"),
        Column("models", "texts", "the model to use if decided, else those that could be best, leader first"),
        Column("selection", "text", "the selection whose labels it rests on"),
        Column("population", "text", "the images that it speaks of: pool, future, same-groups or chosen"),
        Column("metric", "text", "the metric of the lead"),
        Column("leader", "text", "the model that is ahead"),
        Column("runner_up", "text", "the next model"),
        Column("lead", "number", "how far the leader's score is ahead of the next model's"),
        Column("lead_low", "number", "lower end of the lead's 95 % interval, for all pairs at once"),
        Column("lead_high", "number", "upper end of the lead's 95 % interval, for all pairs at once"),
        Column("fails_on", "text", "the class on which the leader is worst"),
        Column("fails_score", "number", "its score on that class: IoU, or for classifiers the share right"),
        Column("taken_for", "text", "the class that it is mistaken for most often"),
        Column("next", "text", "the command to run next; null if none would change the verdict", aside=True),
        Column("labelling_hours", "number", "the labelling that this command asks for", "hours"),
    )

    models: tuple[str, ...]
    decided: bool
    headline: str  # the first line, without its full stop
    lines: tuple[str, ...]  # sentences, the first one the headline; without the next command
    selection: str = ""  # the selection that speaks; '' if none does
    population: str = ""  # of what: pool, future, same-groups, or the chosen images; '' if of nothing
    metric: str = ""  # the metric of the difference
    lead: Gap | None = None  # how far the leader is ahead of the next model; None if that cannot be said
    failing: Failing | None = None  # where the leader fails
    next: str = ""  # the command to run next; '' if nothing is left that would change the verdict
    hours: float | None = None  # of labelling that it asks for

    def __repr__(self) -> str:
        following = [f"next: {self.next}{hours_words(self.hours, self.next)}"] if self.next else []
        return "\n".join([*self.lines, *following])

    def _says(self) -> str:
        return repr(self)

    def _rows(self) -> Rows:
        lead = self.lead
        fails = self.failing
        return [
            (
                self.headline or None,
                self.decided,
                self.models,
                self.selection or None,
                self.population or None,
                self.metric or None,
                lead.model if lead else None,
                lead.other if lead else None,
                lead.difference if lead else None,
                *ends_of(lead.interval if lead else None),
                fails.worst if fails else None,
                fails.score if fails else None,
                (fails.taken_for or None) if fails else None,
                self.next or None,
                self.hours,
            )
        ]


NOTHING = Verdict((), False, "", ())


def hours_words(hours: float | None, line: str = "") -> str:
    """Return the hours of labelling that a command ``line`` asks for, as a comment behind it; '' for none. Of
    images that are yet to be drawn, some may have labels.

    >>> hours_words(None), hours_words(0.2), hours_words(30.0, "faultscape select STUDY --goal order")
    ('', '  # about 12 minutes of labelling', '  # at most 30 hours of labelling')
    """
    if hours is None:
        return ""
    time = counted(round(60 * hours), "minute") if hours < 2 else counted(round(hours), "hour")
    how = "at most" if line.startswith("faultscape select") else "about"
    return f"  # {how} {time} of labelling"


def nothing_said(
    first: Standings | None,
    models: Sequence[str],
    labelled: int,
    work: Work,
    why_not: str = "",
    answered: int = 0,
    *,
    of_points: bool = False,
) -> Verdict:
    """Return the verdict where no standings say who could be best; ``first`` are some that there are, and
    ``why_not`` says why these have no intervals. ``labelled`` images have a label, ``answered`` points an
    answer; without either it says so ``of_points``, if only points are drawn.
    """
    if len(models) < 2:
        alone = f"{models[0]} is the only model: there is nothing to choose" if models else ""
        head = alone or "There is no model yet"
        return Verdict(tuple(models), False, head, (f"{head}.",), next=work.line, hours=work.hours)
    head = f"No one can say yet which of the {len(models)} models is best"
    if first is None:
        points = [f"{counted(answered, 'point is', 'points are')} answered"] if answered else []
        images = [f"{counted(labelled, 'image is', 'images are')} labelled"] if labelled else []
        why = (
            f"{' and '.join([*images, *points])}, and nothing is ranked yet."
            if images or points
            else f"No {'point is answered' if of_points else 'image is labelled'}."
        )
    elif first.labels.get("used", FEW) < FEW:
        why = f"{labelled_words(first.labels)}, and at least {FEW} are needed."
    else:
        why = f"The standings carry no intervals. {why_not}"
    return Verdict((), False, head, (f"{head}.", why), next=work.line, hours=work.hours)
