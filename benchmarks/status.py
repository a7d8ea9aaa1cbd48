"""How long `status` takes: 100,000 images x 10 networks x 98 shards, counted, with one selection of all pairs
and classes. Run: python benchmarks/status.py.

Conventions: wall clock of one call in this process, the median of five after one that warms the files; no
part of maps or counts is opened, so that tiny ones serve.
"""

from __future__ import annotations

import itertools
import os
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import made_study
import pyarrow as pa

import faultscape as fs
from faultscape.nouns import Slot, Slots
from faultscape.reading.pairs import corpus_key, wanted
from faultscape.reading.study import Study
from faultscape.study.parts import Part, put_part, read_manifest, write_manifest
from faultscape.study.settings import read_settings, write_settings
from faultscape.study.tables import label_maps, pairs, selections
from faultscape.study.tables.corpus import each_shard, part_name

IMAGES, MODELS = 100_000, 10


def study(root: Path) -> None:
    """Make a study whose parts all count, whose models are networks, and of which a selection was drawn."""
    made_study.write_predicted(root, IMAGES, MODELS, 16)
    settings = read_settings(root)
    for model in settings.models.values():
        model.kind = "network"
    write_settings(root, settings)
    keys = {part_name(n): label_maps.photos_key(settings.size, images) for n, images in each_shard(root)}
    for name in settings.models:
        folder = label_maps.predictions(root, name)
        write_manifest(
            folder, {part: replace(held, key=keys[part]) for part, held in read_manifest(folder).items()}
        )
    entries: dict[str, dict[str, Part]] = {}
    for part in wanted(Study(root), sorted(Study(root).shard_sizes), []):
        folder = pairs.folder(root, part.name)
        entries.setdefault(part.name, {})[part.part] = Part(
            put_part(folder, part.part, pa.table({"id": ["x"]})), 1, part.key
        )
    for name, parts in entries.items():
        write_manifest(pairs.folder(root, name), parts)
    ids = [image.id for _, images in each_shard(root) for image in images]
    cells = list(itertools.product(itertools.permutations(settings.models, 2), settings.class_list.names))
    rows = [
        Slot("mad", 1, k, i, j, class_, 1, ids[37 * k % len(ids)], 0.3, 1.0, 100)
        for k, ((i, j), class_) in enumerate(cells)
    ]
    define = {
        "selector": "mad",
        "concordance": "miou",
        "per_class": 1,
        "groups": list(range(12)),
        "constraints": "class",
    }
    models = tuple(settings.models)
    selections.write_selection(root, Slots(models, define, tuple(rows)), corpus_key(Study(root), models))


def seconds() -> float:
    """Return what one call of `status` takes."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "study"
        study(root)
        took = []
        for _ in range(6):
            start = time.perf_counter()
            said = fs.status(str(root))
            took.append(time.perf_counter() - start)
        assert [state for _, state, _ in said.stages[:4]] == ["done"] * 4
        return statistics.median(took[1:])


if __name__ == "__main__":
    print(
        f"status of {IMAGES:,} images x {MODELS} networks: {seconds():.2f} s (load {os.getloadavg()[0]:.1f})"
    )
