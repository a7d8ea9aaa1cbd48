"""Studies of any size from a few made pictures and maps, used again and again: as files to collect and
predict from, or as predict or compare would leave them.

Conventions: a picture's file is a link to one of some files, so that a million of them take a million names
and no more: as many maps as a shard has images (fewer of large ones), cut from some scenes, so that nothing
in a shard compresses because it is there twice. Every image is of the pool and a near-duplicate of none; ids
are ``FOLDER/NUMBER``, a thousand a folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
from made_maps import maps

from faultscape.classes.class_lists import resolve
from faultscape.maps import runs
from faultscape.reading.pairs import count_shard, wanted
from faultscape.reading.study import opened
from faultscape.study.parts import Part, write_manifest
from faultscape.study.settings import ModelSettings, Settings, class_settings, write_settings
from faultscape.study.tables import label_maps, pairs
from faultscape.study.tables.corpus import part_name, put_tables
from faultscape.study.tables.removed_images import whole_shard

CLASSES, SHARD, SCENES = 12, 1024, 40
_AT_ONCE = 1 << 16


def names(models: int) -> tuple[str, ...]:
    """Return the models' names."""
    return tuple(f"model-{k}" for k in range(models))


def stacks(models: int, side: int, shard: int = SHARD) -> np.ndarray:
    """Return (J, kinds, side, side): each model's maps."""
    rng, kinds, wide = np.random.default_rng(1), shard if side <= 128 else 128, side * 3 // 2
    scenes = [maps("web", models, wide, CLASSES, seed) for seed in range(SCENES)]
    corners = rng.integers(0, wide - side + 1, (kinds, 2))
    return np.stack(
        [scenes[k % SCENES][:, y : y + side, x : x + side] for k, (y, x) in enumerate(corners)], axis=1
    )


def identity(number: int) -> str:
    """Return the id of an image."""
    return f"{number // 1000:06d}/{number:09d}"


def write_files(
    folder: Path, images: int, models: int, side: int, *, photos: bool = True, flat: bool = False
) -> None:
    """Write ``maps/NAME`` below a folder, and ``photos`` unless these are not asked for; ``flat``: a model's
    maps lie in one folder.
    """
    rng, made = np.random.default_rng(0), stacks(models, side)
    rooms = {f"maps/{name}": list(stack) for name, stack in zip(names(models), made, strict=True)}
    if photos:
        rooms["photos"] = [
            cv2.resize(rng.integers(0, 256, (8, 8, 3), np.uint8), (side, side)) for _ in made[0]
        ]
    for room, pictures in rooms.items():
        kinds = [folder / ".kinds" / room / f"{k}.png" for k in range(len(pictures))]
        kinds[0].parent.mkdir(parents=True)
        for kind, picture in zip(kinds, pictures, strict=True):
            cv2.imwrite(str(kind), picture)
        for first in range(0, images, 1000):
            (folder / room / f"{first // 1000:06d}").mkdir(parents=True)
        for k in range(images):
            name = f"{k:09d}" if flat else identity(k)
            os.link(kinds[k % len(kinds)], folder / room / f"{name}.png")


def write_collected(
    root: Path, images: int, side: int, shard: int = SHARD, *, classes: int = CLASSES
) -> None:
    """Write a study as collect would leave it, of pictures that are not there."""
    root.mkdir()
    write_settings(root, Settings(classes=class_settings(resolve(classes)), shard=shard))
    rng = np.random.default_rng(0)

    def tables() -> Iterator[pa.Table]:
        for first in range(0, images, _AT_ONCE):
            numbers = range(first, min(images, first + _AT_ONCE))
            ids = [identity(k) for k in numbers]
            same = {"set": "main", "role": "pool", "condition": "clean", "parent": "", "group": ""}
            yield pa.table(
                {
                    **{name: pa.array([word] * len(ids)) for name, word in same.items()},
                    "id": pa.array(ids),
                    "near_duplicate_of": pa.array(ids),
                    "source": pa.array([f"/data/photos/{id_}.png".encode() for id_ in ids]),
                    "width": pa.array([side] * len(ids), pa.int32()),
                    "height": pa.array([side] * len(ids), pa.int32()),
                    "digest": pa.array([hashlib.sha256(b"%d" % k).hexdigest() for k in numbers]),
                    "dhash": pa.array(rng.integers(-(2**63), 2**63, len(ids))),
                    "shard": pa.array([k // shard for k in numbers], pa.int32()),
                }
            )

    put_tables(root / "corpus.parquet", tables())


def write_predicted(root: Path, images: int, models: int, side: int, shard: int = SHARD) -> None:
    """Write a study as collect and predict would leave it, maps through the store."""
    write_collected(root, images, side, shard)
    settings = Settings(classes=class_settings(resolve(CLASSES)), shard=shard)
    settings.models = {name: ModelSettings(source=".", kind="folder") for name in names(models)}
    write_settings(root, settings)
    for name, stack in zip(names(models), stacks(models, side, shard), strict=True):
        where, codes, parts = label_maps.predictions(root, name), [runs.encode(m) for m in stack], {}
        for number, first in enumerate(range(0, images, shard)):
            places = range(first, min(images, first + shard))
            stored = [label_maps.StoredMap(identity(k), codes[k % len(codes)]) for k in places]
            parts[part_name(number)] = Part(label_maps.put_maps(where, number, stored), len(stored), "")
        write_manifest(where, parts)


def write_compared(root: Path, images: int, models: int, side: int, shard: int = SHARD) -> None:
    """Write a study as compare would leave it: the counts of one shard, through the kernels, serve for all,
    whose maps are the same.
    """
    write_predicted(root, images, models, side, shard)
    study = opened(root)
    parts = wanted(study, sorted(study.shard_sizes), [])
    maps = {name: study.manifest(label_maps.predictions(root, name)) for name in names(models)}
    first = [part for part in parts if part.shard == 0]
    digests = {name: manifest[part_name(0)].sha256 for name, manifest in maps.items()}
    made = count_shard(
        root, study.settings, whole_shard(root, 0), first, digests, {}, lambda _: None, lambda _: None
    )
    codes = {
        part.name: pairs.read_counts(pairs.folder(root, part.name), part, made[part.name, part.part])[1]
        for part in first
    }
    manifests: dict[str, dict[str, Part]] = {name: {} for name in codes}
    for part in parts:
        ids = [identity(k) for k in range(part.shard * shard, min(images, (part.shard + 1) * shard))]
        counts = codes[part.name].slice(0, len(ids)).to_pylist()
        sha = pairs.put_counts(pairs.folder(root, part.name), part, ids, counts)
        manifests[part.name][part.part] = Part(sha, len(ids), part.key)
    for name, manifest in manifests.items():
        write_manifest(pairs.folder(root, name), manifest)
