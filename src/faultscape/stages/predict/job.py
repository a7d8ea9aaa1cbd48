"""What a worker of `predict` is told of a shard, and what it says it made.

Conventions: frozen dataclasses; they are JSON only on their way through the engine (stages.fill).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from faultscape.prediction.source import Opening
from faultscape.stages.fill import CHANGES_NOTHING
from faultscape.stages.pixel_counts import CountedPart, Counting
from faultscape.stages.statistics import MadeStatistics
from faultscape.study.tables.outputs import KeptPart


@dataclass(frozen=True)
class Job:
    """One shard of one model: which it is, how it is to be stored, and the model with the shard's files or
    rows.
    """

    study: str = field(metadata=CHANGES_NOTHING)
    name: str
    number: int
    images: int
    stamp: str
    key: str
    opening: Opening
    files: dict[str, str] = field(default_factory=dict)
    against: str = ""  # the truth that maps are measured against while they are made
    drop: tuple[str, ...] = ()  # what is measured and not kept
    counting: Counting | None = None  # what is counted of pixels while maps are made
    count_kinds: tuple[str, ...] = ()  # of its counts, those that are to be made
    counts_key: str = ""  # of the labels that they are counted by
    lanes: int = field(default=1, metadata=CHANGES_NOTHING)  # batches that one process runs at the same time


@dataclass(frozen=True)
class Times:
    """How long one batch of so many images took; ``warm`` is false of those that began before one was
    done.
    """

    images: int
    load: float
    model: float
    score: float
    write: float
    warm: bool


@dataclass(frozen=True)
class Made:
    """A finished part that does not count yet: its checksum, what failed, what was kept beside it, and how
    long it took.

    ``resized`` of its maps differ in size from their images, ``example`` (width, height) of one of them
    and of its image. ``statistics`` are those made beside it.
    """

    sha256: str
    rows: int
    failures: tuple[tuple[str, str], ...]
    kept: dict[str, list[KeptPart]]
    times: tuple[Times, ...]
    device: str
    resized: int
    example: tuple[int, ...]
    statistics: MadeStatistics | None
    counted: CountedPart | None
    seconds: float
