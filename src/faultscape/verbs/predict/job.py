"""What a worker of `predict` receives for a shard, and what it reports back.

Conventions: frozen dataclasses, serialized as JSON only inside the engine (reading.fill).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from faultscape.prediction.source import Opening
from faultscape.reading.fill import CHANGES_NOTHING
from faultscape.study.tables.outputs import KeptPart
from faultscape.verbs.predict.pixel_counts import CountedPart, Counting
from faultscape.verbs.predict.statistics import MadeStatistics


@dataclass(frozen=True)
class Job:
    """One shard of one model: its number, how it is stored, and the model with the shard's files or rows."""

    study: str = field(metadata=CHANGES_NOTHING)
    name: str
    number: int
    images: int
    stamp: str
    key: str
    opening: Opening
    files: dict[str, str] = field(default_factory=dict)
    against: str = ""  # the truth that maps are measured against while they are made, if any
    drop: tuple[str, ...] = ()  # what is measured and not kept
    counting: Counting | None = None  # what is counted of pixels while maps are made
    count_kinds: tuple[str, ...] = ()  # kinds of counts to make
    counts_key: str = ""  # identifies the labels that are counted against
    lanes: int = field(default=1, metadata=CHANGES_NOTHING)  # batches that one process runs concurrently


@dataclass(frozen=True)
class Times:
    """How long one batch took, and its number of images; ``warm`` is false if it began before any batch was
    done.
    """

    images: int
    load: float
    model: float
    score: float
    write: float
    warm: bool
    fitted: float
    methods: dict[str, float]


@dataclass(frozen=True)
class Made:
    """A finished part that is not yet in the manifest: its checksum, failures, files kept with it, and
    duration.

    ``resized`` counts the maps that differ in size from their images; ``example`` holds (width, height) of
    one such map and of its image. ``statistics`` are those computed with the part.
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
