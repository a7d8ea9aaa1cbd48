"""What a line of `select` asks for, as its verb hands it to the stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_ABOUT_THE_LINE = ("study", "as_", "selector", "engine", "workers")


@dataclass(frozen=True)
class SelectOptions:
    """All that a line of `select` says; None is what it leaves open."""

    study: str
    as_: str | None = None
    selector: str | None = None
    goal: str | None = None
    concordance: str | None = None
    over: str | None = None
    per_class: int | None = None
    constraints: str | None = None
    scale: Any = None
    distance: str | None = None
    hierarchy: str | None = None
    discrepancy: str | None = None
    top: int | None = None
    confidence: float | None = None
    cap: int | None = None
    cap_rule: str | None = None
    without: tuple[str, ...] | None = None
    spares: int | None = None
    keep_duplicates: bool | None = None
    budget: int | None = None
    more: int | None = None
    temperature: float | None = None
    seed: int | None = None
    truth: str | None = None
    engine: str = "processes"
    workers: int | None = None

    @property
    def given(self) -> dict[str, Any]:
        """Return the options that say what is chosen, those that were given, in the order of the line."""
        return {
            name: value
            for name in self.__dataclass_fields__
            if name not in _ABOUT_THE_LINE and (value := getattr(self, name)) is not None
        }
