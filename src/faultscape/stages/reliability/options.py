"""What a line of `reliability` asks for, as its verb hands it to the stage."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.stages.given_options import refuse_empty


@dataclass(frozen=True)
class ReliabilityOptions:
    """All that a line of `reliability` says."""

    study: str
    models: tuple[str, ...] = ()
    truth: str | None = None
    natural: tuple[str, ...] = ()
    misclassified: tuple[str, ...] = ()
    reference: str | None = None
    output: str | None = None
    worst: int = 2
    resamples: int = 200
    seed: int = 0
    engine: str = "processes"
    workers: int | None = None

    def __post_init__(self) -> None:
        refuse_empty(self)
