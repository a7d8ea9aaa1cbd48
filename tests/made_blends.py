"""Studies that objects are blended into, for tests: small photos with void, cut-outs that are squares, and
lines that blend them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.maps import runs
from faultscape.stressors.objects.drawn import drawn_cutouts
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, read_corpus
from faultscape.study.tables.stress_sets import labels_folder
from faultscape.verbs.stress.blends import objects

SMALL = fs.options.Blending(smallest=20)


def corpus_with_void(root: Path) -> made.Corpus:
    """Photos of 96 x 128 with a void border below, where the ego vehicle would be."""
    found = made.corpus(root, images=5, models=2, shape=(96, 128))
    for k, id_ in enumerate(found.ids):
        truth = found.truths[k].copy()
        truth[-12:] = 255
        made.write(found.truth / f"{id_}.png", truth)
        photo = np.random.default_rng(k).integers(0, 256, (24, 32, 3), np.uint8).repeat(4, 0).repeat(4, 1)
        made.write(found.photos / f"{id_}.png", photo)
    (root / "mine.py").write_text("def dark(photo):\n    return (photo[..., 0] < 128).astype('uint8')\n")
    return found


def squares(folder: Path, *classes: str) -> Path:
    """A folder of four cut-outs, by turns of the classes."""
    for k in range(4):
        rgba = np.zeros((60, 60, 4), np.uint8)
        rgba[10:50, 10:50, :3] = (200, 60 * k, 20)
        rgba[10 + k : 50, 10:50, 3] = 255
        made.write(folder / classes[k % len(classes)] / f"{k}.png", rgba)
    return folder


def study_of(corpus: made.Corpus, folder: Path) -> str:
    """A study of the corpus with its labels."""
    place = str(made.collected(corpus, folder / "study", shard_size=4))
    fs.label.import_(place, str(corpus.truth))
    return place


def few_objects() -> Iterator[None]:
    """One variant of each drawn object and split, while this is held."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            objects, "drawn_cutouts", lambda variants=3, seed=0: drawn_cutouts(min(variants, 2), seed)
        )
        yield


def blended(study: str, preset: str = "fishyscapes-v2", **more: object) -> object:
    return fs.stress.blend(study, preset=preset, engine="local", **{"blending": SMALL, **more})


def rows(study: str, name: str) -> list[Image]:
    return [image for image in read_corpus(Path(study)) if image.set == name]


def maps_of(study: str, name: str, kind: str = "") -> dict[str, np.ndarray]:
    folder = labels_folder(Path(study), name)
    folder = folder / kind if kind else folder
    return {
        id_: runs.decode(code)
        for shard in {i.shard for i in rows(study, name)}
        for id_, code in label_maps.read_maps(folder, shard).items()
    }
