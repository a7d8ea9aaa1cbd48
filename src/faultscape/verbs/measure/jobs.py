"""Jobs of `measure` that any worker can run: the statistics of one shard, or the scores of one model.

Conventions: a source holds the maps and scores of one side, truth or model, with one entry per image, None if
missing. An entry is a path for files, and (shard, image id) for outputs that a study stores besides labels.
The engine names a job by its ``against``, ``number`` and ``name``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from faultscape.metrics.definitions import Definitions
from faultscape.nouns import Classes
from faultscape.study.settings import ClassSettings, Settings
from faultscape.verbs.predict.statistics import Reading

Place = str | tuple[int, str]  # a path, or (shard, image id)


@dataclass(frozen=True)
class Source:
    """One side's maps and scores: ``files`` of maps, or ``maps`` {shard: checksum} stored in a ``study``;
    ``scores`` {kind: places}; ``labels`` is its label mapping, None without maps.

    ``source`` is as given. For a study, ``kind`` says whose maps they are, and ``state`` is a digest of the
    other stored outputs.
    """

    source: str
    labels: Mapping[str, str] | None = None
    files: Sequence[str | None] | None = None
    study: str = ""
    kind: Literal["", "truth", "model"] = ""
    name: str = ""
    set: str = ""  # the set made by `stress` whose labels are the truth
    maps: Mapping[int, str] = field(default_factory=dict)
    scores: Mapping[str, Sequence[Place | None]] = field(default_factory=dict)
    state: str = ""
    given: bool = False  # a person gave the labels, so they hold whatever a palette shows
    trained: Sequence[str] = ()  # those that trained the model, or resemble these: they do not judge it

    @property
    def has_maps(self) -> bool:
        """Whether there are label maps; a model with only anomaly scores has none."""
        return self.files is not None or bool(self.study)

    @property
    def paths(self) -> Sequence[str | None]:
        """The files of maps; none for a study."""
        return self.files or ()

    def place(self, kind: str, k: int) -> Place | None:
        """Return where the k-th image's scores of a kind are stored."""
        return self.scores[kind][k] if self.scores.get(kind) else None

    def part(self, low: int, high: int, shards: Collection[int]) -> Source:
        """Return what statistics read for one shard: maps, stored in these ``shards``, and confidence."""
        files = None if self.files is None else self.files[low:high]
        scores = {k: v[low:high] for k, v in self.scores.items() if k == "confidence"}
        maps = {shard: self.maps[shard] for shard in shards if shard in self.maps}
        return replace(self, files=files, maps=maps, scores=scores)


@dataclass(frozen=True)
class Images:
    """The images of a job: ids in corpus order, the (width, height) at which stored maps are compared (empty
    for the truth's own size), and the shard of each in its study.

    ``labels`` holds the (shard, id) of each label in its truth if that differs from the image's own place: a
    corrupted image has the label of its parent.
    """

    ids: Sequence[str]
    sizes: Sequence[Sequence[int]]
    shards: Sequence[int]
    labels: Sequence[tuple[int, str]] = ()

    def size(self, k: int) -> tuple[int, int] | None:
        """Return (width, height) of the k-th image; None for the size of its truth."""
        return (self.sizes[k][0], self.sizes[k][1]) if self.sizes else None


@dataclass(frozen=True)
class ShardJob:
    """The statistics of one shard, for the models whose parts are missing or stale; ``keys`` {NAME: key}
    belong to the new parts.
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
    metrics: Sequence[str]  # custom, file.py:NAME
    reading: Reading


@dataclass(frozen=True)
class ScoreJob:
    """The scores of one kind of one model; ``key`` identifies its result."""

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
    metrics: Sequence[str]  # custom, for scores, file.py:NAME
    reading: Reading


@dataclass(frozen=True)
class MeasuredPart:
    """One model's part of a shard's statistics: its checksum, rows and key, and (image, why) for images that
    could not be measured.
    """

    sha256: str
    rows: int
    key: str
    failures: tuple[tuple[str, str], ...]


def classes_of(written: ClassSettings) -> Classes:
    """Return classes from their form in study.toml."""
    return Settings(classes=written, shard=1).class_list
