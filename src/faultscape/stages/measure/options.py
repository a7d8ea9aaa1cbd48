"""What a line of `measure` asks for, in groups: what is measured, how files are read, by which definitions, with which intervals, and where the work runs.

Conventions: light, as the command line reads it; None where nothing was asked, so that a preset or the class list decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

WORST = 3  # pictures of the worst images for each kind of error


@dataclass(frozen=True)
class Inputs:
    """What is measured: a folder of truth or of masks, or a study, with its ``models``; or a list of data sets."""

    source: str | None = None
    models: tuple[Any, ...] = ()
    classes: Any = None
    truth: str | None = None
    datasets: str | None = None


@dataclass(frozen=True)
class Scores:
    """Folders of scores, of one kind each: NAME=FOLDER words, or dicts."""

    anomaly: Any = None
    confidence: Any = None
    doubt: Any = None
    probabilities: Any = None


@dataclass(frozen=True)
class Files:
    """How the files of folders are matched, which values are void or background, and which images belong together."""

    images: str | None = None
    pattern: str | None = None
    ignore: Sequence[int] = ()
    background: int | None = None
    group: Any = None
    block: int | None = None


@dataclass(frozen=True)
class Choices:
    """The definitions that the literature leaves open, as `metrics.definitions.define` takes them."""

    preset: str | None = None
    regions: str | None = None
    connectivity: int | None = None
    void: str | None = None
    absent: str | None = None
    scale: str | None = None
    match: str | None = None
    per: str | None = None
    over: str | None = None
    pooling: str | None = None
    fpr_rule: str | None = None
    curve: str | None = None
    track: str | None = None
    tolerance: float | None = None
    band: float | None = None
    bins: int | None = None
    window: int | None = None
    certain: float | None = None
    accurate: float | None = None

    @property
    def given(self) -> dict[str, Any]:
        """{name: value} of what stands in place of the preset's."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "preset"}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Reading:
    """What else statistics follow from: boundary metrics, the divisor of region ids, the scale of score pictures, maps of another size."""

    boundaries: bool = True
    divisor: int | None = None
    score_scale: float | None = None
    resize_maps: bool = False


@dataclass(frozen=True)
class Intervals:
    """How often images are drawn anew, and from which seed."""

    resamples: int = 1000
    seed: int = 0


@dataclass(frozen=True)
class Running:
    """Where the work runs, and which share of it."""

    engine: str = "processes"
    workers: int | None = None
    shard: str | None = None


@dataclass(frozen=True)
class MeasureOptions:
    """All that a line of `measure` says."""

    inputs: Inputs = field(default_factory=Inputs)
    scores: Scores = field(default_factory=Scores)
    files: Files = field(default_factory=Files)
    choices: Choices = field(default_factory=Choices)
    reading: Reading = field(default_factory=Reading)
    intervals: Intervals = field(default_factory=Intervals)
    running: Running = field(default_factory=Running)
    metrics: tuple[str, ...] = ()  # one's own, file.py:NAME
    output: str | None = None
    skip: bool = False
    worst: int = WORST

    @property
    def arguments(self) -> dict[str, Any]:
        """{option: value} of what was given and can change measures of a study, as JSON holds it."""
        groups = [self.scores, self.files, self.choices, self.reading, self.intervals]
        given = {"truth": self.inputs.truth, "skip": self.skip or None, "worst": self.worst if self.worst != WORST else None}
        for group in groups:
            given |= {f.name: getattr(group, f.name) for f in fields(group) if getattr(group, f.name) != f.default}
        return {name: _plain(value) for name, value in given.items() if value is not None and value != ()}


def _plain(value: Any) -> Any:
    """Return a value as a command line would repeat it: {name: folder} as NAME=FOLDER words."""
    if isinstance(value, Mapping):
        return [f"{name}={folder}" for name, folder in value.items()]
    return list(value) if isinstance(value, tuple) else value
