"""What a line of `compare` asks for, as its verb hands it to the stage."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.stages.given_options import refuse_empty


@dataclass(frozen=True)
class CompareOptions:
    """The study, where the work is done, and which share of it (PART/PARTS) this job of an array does."""

    study: str
    engine: str = "processes"
    workers: int | None = None
    shard: str | None = None

    def __post_init__(self) -> None:
        refuse_empty(self)
