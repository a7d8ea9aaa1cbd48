"""Studies of any size from a few made pictures and maps, used again and again: as files to collect and predict from, or as predict would leave them.

Conventions: a picture's file is a link to one of ``KINDS`` files, so that a million of them take a million names and no more. Every image is of the pool and a
near-duplicate of none; ids are ``FOLDER/NUMBER``, a thousand a folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from made_maps import maps

from faultscape.corpus.classes import resolve
from faultscape.maps import runs
from faultscape.study import label_maps
from faultscape.study.corpus import Image, part_name, write_corpus
from faultscape.study.parts import Part, write_manifest
from faultscape.study.settings import ModelSettings, Settings, class_settings, write_settings

CLASSES, SHARD, KINDS = 12, 1024, 50


def names(models: int) -> tuple[str, ...]:
    """Return the models' names."""
    return tuple(f"model-{k}" for k in range(models))


def stacks(models: int, side: int) -> np.ndarray:
    """Return (J, KINDS, side, side): each model's maps."""
    return np.stack([maps("web", models, side, CLASSES, seed) for seed in range(KINDS)], axis=1)


def identity(number: int) -> str:
    """Return the id of an image."""
    return f"{number // 1000:06d}/{number:09d}"


def write_files(folder: Path, images: int, models: int, side: int) -> None:
    """Write ``photos`` and ``maps/NAME`` below a folder."""
    rng = np.random.default_rng(0)
    photos = np.stack([cv2.resize(rng.integers(0, 256, (8, 8, 3), np.uint8), (side, side)) for _ in range(KINDS)])
    rooms = {"photos": photos} | {f"maps/{name}": stack for name, stack in zip(names(models), stacks(models, side), strict=True)}
    for room, pictures in rooms.items():
        kinds = [folder / ".kinds" / room / f"{k}.png" for k in range(KINDS)]
        kinds[0].parent.mkdir(parents=True)
        for kind, picture in zip(kinds, pictures, strict=True):
            cv2.imwrite(str(kind), picture)
        for first in range(0, images, 1000):
            (folder / room / f"{first // 1000:06d}").mkdir(parents=True)
        for k in range(images):
            os.link(kinds[k % KINDS], folder / room / f"{identity(k)}.png")


def write_collected(root: Path, images: int, side: int, files: Path | None = None) -> None:
    """Write a study as collect would leave it; without ``files`` its pictures are not there."""
    root.mkdir()
    write_settings(root, Settings(classes=class_settings(resolve(CLASSES)), shard=SHARD))
    kinds = [files / ".kinds/photos" / f"{k}.png" for k in range(KINDS)] if files else []
    digests = [hashlib.sha256(kind.read_bytes()).hexdigest() for kind in kinds] or [f"{k:064x}" for k in range(KINDS)]
    photos = files / "photos" if files else Path("/photos")

    def rows() -> Iterator[Image]:
        for k in range(images):
            id_ = identity(k)
            yield Image(
                id_, f"{photos}/{id_}.png", "main", "pool", "clean", "", side, side, digests[k % KINDS], k, id_, k // SHARD
            )

    write_corpus(root, list(rows()))


def write_predicted(root: Path, images: int, models: int, side: int) -> None:
    """Write a study as collect and predict would leave it, maps through the store."""
    write_collected(root, images, side)
    settings = Settings(classes=class_settings(resolve(CLASSES)), shard=SHARD)
    settings.models = {name: ModelSettings(source=".", kind="folder") for name in names(models)}
    write_settings(root, settings)
    for name, stack in zip(names(models), stacks(models, side), strict=True):
        where, codes, parts = label_maps.predictions(root, name), [runs.encode(m) for m in stack], {}
        for shard, first in enumerate(range(0, images, SHARD)):
            numbers = range(first, min(images, first + SHARD))
            stored = [label_maps.StoredMap(identity(k), codes[k % KINDS]) for k in numbers]
            parts[part_name(shard)] = Part(label_maps.put_maps(where, shard, stored), len(stored), "")
        write_manifest(where, parts)
