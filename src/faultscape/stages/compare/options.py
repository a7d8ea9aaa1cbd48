"""What a line of `compare` asks for, as its verb hands it to the stage."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CompareOptions:
    """The study, where the work is done, and which share of it (PART/PARTS) this job of an array does."""

    study: str
    engine: str = "processes"
    workers: int | None = None
    shard: str | None = None
