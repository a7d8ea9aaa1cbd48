"""Options of `plan`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from faultscape.arguments import Costs
from faultscape.choices import Goal
from faultscape.nouns import JsonObject
from faultscape.verbs.given_options import given_options, number_word, refuse_empty


@dataclass(frozen=True)
class PlanOptions:
    """Which labels count, what labels cost, and which questions to answer: see `plan`."""

    cost: Costs | None = None  # mask=5400,choice=10 or a dict: see costs.read_costs
    wage: float | None = None
    within: float = 1.0
    goal: Goal | None = None
    selection: str | None = None
    truth: str | None = None
    seed: int = 0
    engine: str = "processes"
    workers: int | None = None

    def __post_init__(self) -> None:
        refuse_empty(self)

    @property
    def arguments(self) -> JsonObject:
        """{option: value} of the given options that can change a plan, as the command line spells them;
        without the truth, which a plan names anyway.
        """
        cost = (
            ",".join(f"{name}={number_word(value)}" for name, value in self.cost.items())
            if isinstance(self.cost, Mapping)
            else self.cost
        )
        return given_options(replace(self, cost=cost), but=("truth", "engine", "workers"))
