"""What a person may ask of `plan`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PlanOptions:
    """Which labels count, what labels cost, and what is asked: see `plan`."""

    cost: Any = None  # mask=5400,choice=10 or a dict: see costs.read_costs
    wage: float | None = None
    within: float = 1.0
    goal: str | None = None
    selection: str | None = None
    truth: str | None = None
    seed: int = 0
    engine: str = "processes"
    workers: int | None = None
