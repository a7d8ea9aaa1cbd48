"""The jobs of measuring as any worker can do them: one of a shard's statistics, or of one model's scores.

Conventions: a source is one side's maps and scores, truth or model, an entry an image, None where there is
none. Of files an entry is a path; of what a study keeps beside its labels it is (shard, image id). By a job's
``against``, ``number`` and ``name`` the engine calls it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from faultscape.metrics.definitions import Definitions
from faultscape.nouns import Classes
from faultscape.study.settings import ClassSettings, Settings

Place = str | tuple[int, str]  # a path, or (shard, image id)


@dataclass(frozen=True)
class Source:
    """One side's maps and scores: ``files`` of maps, or those stored in a ``study``; ``scores`` {kind:
    places}; ``labels`` its label mapping, None without maps.

    ``source`` is what was given. Of a study ``kind`` says whose maps they are, and ``state`` is a digest of
    what is kept beside them.
    """

    source: str
    labels: Mapping[str, str] | None = None
    files: Sequence[str | None] | None = None
    study: str = ""
    kind: Literal["", "truth", "model"] = ""
    name: str = ""
    set: str = ""  # made by `stress`, whose labels a truth is
    scores: Mapping[str, Sequence[Place | None]] = field(default_factory=dict)
    state: str = ""

    @property
    def has_maps(self) -> bool:
        """Whether there are label maps; a model of anomaly scores has none."""
        return self.files is not None or bool(self.study)

    @property
    def paths(self) -> Sequence[str | None]:
        """The files of maps; none of a study."""
        return self.files or ()

    def place(self, kind: str, k: int) -> Place | None:
        """Return where the k-th image's scores of a kind lie."""
        return self.scores[kind][k] if self.scores.get(kind) else None

    def part(self, low: int, high: int) -> Source:
        """Return what statistics read of one shard: maps and confidence."""
        files = None if self.files is None else self.files[low:high]
        return replace(
            self, files=files, scores={k: v[low:high] for k, v in self.scores.items() if k == "confidence"}
        )


@dataclass(frozen=True)
class Images:
    """The images of a job: ids in corpus order, the (width, height) at which stored maps are compared (empty:
    the truth's own), and the shard of each in its study.

    ``labels`` (shard, id) say where the label of each lies in its truth, where that is not its own place: a
    corrupted image has the label of its parent.
    """

    ids: Sequence[str]
    sizes: Sequence[Sequence[int]]
    shards: Sequence[int]
    labels: Sequence[tuple[int, str]] = ()

    def size(self, k: int) -> tuple[int, int] | None:
        """Return (width, height) of the k-th image, None for that of its truth."""
        return (self.sizes[k][0], self.sizes[k][1]) if self.sizes else None


@dataclass(frozen=True)
class ShardJob:
    """The statistics of one shard of the models whose parts are missing or stale; ``keys`` {NAME: key} are
    those of the new parts.
    """

    out: str
    against: str
    number: int
    images: Images
    truth: Source
    models: Mapping[str, Source]
    keys: Mapping[str, str]
    classes: ClassSettings
    with_classes: bool
    definitions: Definitions
    metrics: Sequence[str]  # one's own, file.py:NAME
    boundaries: bool
    divisor: int | None
    score_scale: float | None
    resize_maps: bool


@dataclass(frozen=True)
class ScoreJob:
    """The scores of one kind of one model; ``key`` is that of its result."""

    out: str
    against: str
    name: str
    kind: str
    key: str
    images: Images
    truth: Source
    model: Source
    classes: ClassSettings
    definitions: Definitions
    metrics: Sequence[str]  # one's own of scores, file.py:NAME
    score_scale: float | None
    resize_maps: bool


@dataclass(frozen=True)
class MeasuredPart:
    """One model's part of a shard's statistics: its checksum, rows and key, and (image, why) of what could
    not be measured.
    """

    sha256: str
    rows: int
    key: str
    failures: tuple[tuple[str, str], ...]


def classes_of(written: ClassSettings) -> Classes:
    """Return the classes that study.toml's form says."""
    return Settings(classes=written, shard=1).class_list
