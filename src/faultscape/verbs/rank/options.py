"""Options of `rank`."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from faultscape import plug
from faultscape.choices import Population
from faultscape.errors import OptionError
from faultscape.verbs.given_options import refuse_empty


@dataclass(frozen=True)
class VoteRules:
    """How people's answers count.

    Parameters
    ----------
    weight_annotators
        Weight people's answers and choices by estimated accuracy p (Dawid and Skene's one-coin model): by
        log(p / (1 - p)), with p from 0.5 to 0.95; people whose accuracy is unknown count like the mean of the
        others.
    """

    weight_annotators: bool = False


@dataclass(frozen=True)
class RankOptions:
    """Which labels of which selection count, and how: see `rank`. ``epsilon`` applies to label maps,
    ``laplace`` to classifiers; None is the default of the task.
    """

    selection: str = "main"
    truth: str | None = None
    against: tuple[str, ...] = ()
    benchmark: str | None = None
    epsilon: float | None = None
    laplace: float | None = None
    resamples: int = 1000
    seed: int = 0
    all_labels: bool = False
    population: Population = "pool"
    ranking: tuple[str, ...] = ()  # file.py:name of custom rankings
    where: tuple[str, ...] = ()  # KEY=VALUE, which images are ranked on
    output: str | None = None  # the file of a part's standings
    weight_annotators: bool = False  # by estimated accuracy
    engine: str = "processes"

    def __post_init__(self) -> None:
        refuse_empty(self)
        if self.output and not self.where:
            raise OptionError(
                "--output is for --where; standings of a whole selection are written to standings.json"
            )

    def of_other(self, selection: str) -> RankOptions:
        """Return the options for another selection to compare these standings with: without intervals, on its
        own pool.
        """
        return replace(self, selection=selection, benchmark=None, resamples=0, population="pool")

    def in_any_folder(self) -> RankOptions:
        """Return the options with absolute paths, as recorded: the command may be rerun in a different
        folder.
        """
        closed = os.path.abspath(self.benchmark) if self.benchmark else None
        return replace(
            self, benchmark=closed, ranking=tuple(plug.absolute(source) for source in self.ranking)
        )

    @property
    def added_epsilon(self) -> float:
        """The term added to numerator and denominator of the ratios (Yan et al. 2021, eqs. 3 and 5)."""
        return 0.01 if self.epsilon is None else self.epsilon

    @property
    def added_laplace(self) -> float:
        """The term added to the right and wrong answers of each pair."""
        return 1.0 if self.laplace is None else self.laplace

    def recorded(self, *, classifies: bool) -> dict[str, float | int | bool | str]:
        """Return the options that standings record, so that they can be reproduced."""
        own = {"laplace": self.added_laplace} if classifies else {"epsilon": self.added_epsilon}
        rest = {
            "resamples": self.resamples,
            "seed": self.seed,
            "all_labels": self.all_labels,
            "population": self.population,
        }
        weighted = {"weight_annotators": True} if self.weight_annotators else {}
        return {**own, **rest, **weighted}
