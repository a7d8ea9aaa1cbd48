"""Which shards of a data set have statistics that are missing or stale, of which models.

Conventions: a part's key changes with the definitions, the classes, and the files' sizes and times, so that only what changed is measured again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from faultscape import plug
from faultscape.metrics.definitions import Definitions
from faultscape.prediction.sources.folder import fingerprint
from faultscape.stages.measure.jobs import ShardJob, Source
from faultscape.stages.measure.options import Reading
from faultscape.stages.measure.sets import DataSet
from faultscape.stages.statistics import WITH_CONFIDENCE, basis
from faultscape.study.parts import key_of
from faultscape.study.settings import class_settings


def shard_jobs(
    out: Path,
    data: DataSet,
    definitions: Definitions,
    reading: Reading,
    metrics: Sequence[str] = (),
    *,
    done: Callable[[str, int], str | None],
) -> list[ShardJob]:
    """Return the jobs of the shards in which a model's part is missing or stale; ``done(NAME, shard)`` is the key of the part that is there."""
    written = class_settings(data.classes)
    common = basis(definitions, data.classes, asdict(reading), with_classes=data.with_classes)
    common += [[word.rpartition(":")[2], plug.digest(word)] for word in metrics]
    todo = []
    for number, (low, high) in data.shards.items():
        wanted, keys = {}, {}
        for name, source in data.models.items():
            if not source.has_maps:
                continue
            key = key_of(common, data.keys.get((name, number)) or _state(data, source, low, high))
            if source.study and any(source.scores.get("confidence", ())[low:high]):
                key += WITH_CONFIDENCE
            fresh = (key, key + WITH_CONFIDENCE * bool(source.study))  # what predict --measure knew of confidence stays
            if done(name, number) not in fresh:
                wanted[name], keys[name] = source.part(low, high), key
        if wanted:
            common_of = (data.truth.part(low, high), wanted, keys, written, data.with_classes, definitions, list(metrics))
            todo.append(ShardJob(str(out), data.name, number, data.images_of(number), *common_of, **asdict(reading)))
    return todo


def _state(data: DataSet, source: Source, low: int, high: int) -> list[Any]:
    """Return what says that the files of a shard are the same: their ids, sizes and times."""
    stamps = [
        fingerprint("/", [str(path or "") for path in s[low:high]])
        for s in (data.truth.paths, source.paths, source.scores.get("confidence", ()))
    ]
    return [list(data.ids[low:high]), *stamps, data.truth.labels, source.labels]
