"""What a line of `predict` asks for, as its verb hands it to the stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class PredictOptions:
    """All that a line of `predict` says; ``of_models`` is what was said of how they see images and what is kept of them, by the names of study.toml."""

    study: str
    models: tuple[Any, ...] = ()
    engine: str = "processes"
    workers: int | None = None
    shard: str | None = None
    labels: str | None = None
    measure: bool = False
    truth: str | None = None
    device: str = ""
    rename: Sequence[str] | Mapping[str, str] | str | None = None
    remove: Sequence[str] | str | None = None
    of_models: dict[str, Any] = field(default_factory=dict)
