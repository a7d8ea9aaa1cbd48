"""Faultscape reads what `datasets` and WebDataset write, and what they hold is the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.corpus import photos
from faultscape.corpus.sources import MAP_ENDINGS, find

IMAGES = [np.random.default_rng(k).integers(0, 256, (12, 16, 3), np.uint8) for k in range(6)]
MASKS = [np.full((12, 16), k, np.uint8) for k in range(6)]


def found(argument: object, *, maps: bool = False) -> dict[str, str]:
    more = {"endings": MAP_ENDINGS} if maps else {"stores": True}
    return {row.id: row.path for row in find([str(argument)], strip=False, say=lambda _: None, **more)}


def check(images: dict[str, str], masks: dict[str, str]) -> None:
    assert [*images] == [*masks]
    for source, image in zip(images.values(), IMAGES, strict=True):
        assert (photos.read_source(source) == image).all()
    for source, mask in zip(masks.values(), MASKS, strict=True):
        assert (fs.formats.read_map(source) == mask).all()


@pytest.mark.parametrize("way", ["folder", "files", "splits", "parquet"])
def test_a_saved_data_set(way: str, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: make test-consumers")
    columns = {"image": [Image.fromarray(i) for i in IMAGES], "mask": [Image.fromarray(m) for m in MASKS]}
    features = datasets.Features({"image": datasets.Image(), "mask": datasets.Image()})
    held = datasets.Dataset.from_dict(columns, features=features)
    place = tmp_path / "saved"
    if way == "splits":
        halves = {"a": held.select(range(3)), "b": held.select(range(3, 6))}
        datasets.DatasetDict(halves).save_to_disk(place)
    elif way == "parquet":
        place = tmp_path / "saved.parquet"
        held.to_parquet(place)
    else:
        held.save_to_disk(place, num_shards=2 if way == "files" else 1)
    check(found(f"{place}:image"), found(f"{place}:mask", maps=True))


def test_a_shard_of_webdataset(tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset", reason="webdataset is not installed")
    with webdataset.TarWriter(str(tmp_path / "a.tar")) as writer:
        for k, (image, mask) in enumerate(zip(IMAGES, MASKS, strict=True)):
            writer.write({"__key__": f"drive.1/{k}", "png": image, "seg.png": mask, "json": {"k": k}})
    check(found(tmp_path / "a.tar"), found(f"{tmp_path}/a.tar:seg.png", maps=True))
    keys = [
        sample["__key__"] for sample in webdataset.WebDataset(str(tmp_path / "a.tar"), shardshuffle=False)
    ]
    assert [*found(tmp_path / "a.tar")] == keys
