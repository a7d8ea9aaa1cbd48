"""Options of `compare`, as its verb passes them to the stage."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.verbs.given_options import refuse_empty


@dataclass(frozen=True)
class CompareOptions:
    """The study, the engine that does the work, and this array job's share of it (PART/PARTS)."""

    study: str
    engine: str = "processes"
    workers: int | None = None
    shard: str | None = None

    def __post_init__(self) -> None:
        refuse_empty(self)
