"""What `compare` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from faultscape.errors import ResultError, counted, in_shards
from faultscape.nouns import Agreement
from faultscape.results.result import Result
from faultscape.results.table import Column, Rows

if TYPE_CHECKING:
    from faultscape.results.plots import Axes


@dataclass(frozen=True, eq=False)
class Compared(Result):
    """What `compare` counted, and how far the models agree: None after a partial run, or without a pool. The
    table is that of the agreement.
    """

    columns: ClassVar[tuple[Column, ...]] = Agreement.columns

    study: str
    models: int  # how many models
    pairs: int  # how many pairs of models, J (J - 1) / 2
    truths: tuple[str, ...]  # names of the truths that each model is also compared with
    shards_counted: int  # shards with missing counts
    parts_made: int  # counts added to the study, one a shard and pair; 0 when none was missing
    classifies: bool = False  # whether the models are classifiers; nothing is counted for them
    agreement: Agreement | None = None  # how far models agree; None with --shard, or without a pool

    def __repr__(self) -> str:
        return "\n".join(
            [self._counted(), *(_agreement_lines(self.agreement) if self.agreement is not None else [])]
        )

    def _says(self) -> str:
        return "\n".join([self._counted(), *(self.agreement.warnings if self.agreement else ())])

    def _rows(self) -> Rows:
        return self.agreement.pairs() if self.agreement else []

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean agreement of every two models, on ``ax`` or new Axes; ResultError without one."""
        if self.agreement is None:
            raise ResultError("there is nothing to plot: the agreement of the models is not known")
        return self.agreement.plot(ax)

    def _counted(self) -> str:
        if self.classifies:
            return (
                f"{self.study}: {counted(self.pairs, 'pair')} of {self.models} classifiers; nothing to "
                "count: their answers are compared directly"
            )
        truths = f", each also against truth {', '.join(self.truths)}" if self.truths else ""
        made = (
            f"; {counted(self.parts_made, 'count')} made{in_shards(self.shards_counted)}"
            if self.parts_made
            else ""
        )
        return f"{self.study}: {counted(self.pairs, 'pair')} of {self.models} models{truths}{made}"


def _agreement_lines(agreement: Agreement) -> list[str]:
    """Return the table of mean agreement and the warnings."""
    from faultscape.comparison.agreement import table_text
    from faultscape.verbs.compare.agreement import warning_lines

    return [table_text(agreement), *warning_lines(agreement)]
