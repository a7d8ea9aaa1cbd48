"""Small made corpora for tests: photos, truth, and models that err in different ways."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

NAMES = ("sky", "road", "car", "person", "tree")


@dataclass(frozen=True)
class Corpus:
    root: Path
    photos: Path
    truth: Path
    classes: Path
    models: dict[str, Path]
    maps: dict[str, np.ndarray]
    truths: np.ndarray
    ids: tuple[str, ...]


def blobs(rng: np.random.Generator, shape: tuple[int, int], classes: int = 5) -> np.ndarray:
    """A label map of a few rectangles."""
    h, w = shape
    out = np.zeros(shape, np.uint8)
    out[h // 2 :] = 1
    for _ in range(5):
        y, x = rng.integers(0, h - 4), rng.integers(0, w - 4)
        out[y : y + rng.integers(3, h // 2), x : x + rng.integers(3, w // 2)] = rng.integers(0, classes)
    return out


def disturbed(rng: np.random.Generator, label_map: np.ndarray, times: int) -> np.ndarray:
    """The same map with some wrong rectangles."""
    out = label_map.copy()
    h, w = out.shape
    for _ in range(times):
        y, x = rng.integers(0, h - 3), rng.integers(0, w - 3)
        out[y : y + rng.integers(2, h // 3), x : x + rng.integers(2, w // 3)] = rng.integers(0, 5)
    return out


def corpus(
    root: Path, images: int = 24, models: int = 4, shape: tuple[int, int] = (36, 48), seed: int = 7
) -> Corpus:
    """Write a corpus of photos with truth and models' maps; every id has a folder in it."""
    rng = np.random.default_rng(seed)
    ids = tuple(f"part{k % 2}/photo {k:03d}" for k in range(images))
    truths = np.stack([blobs(rng, shape) for _ in ids])
    maps = {f"model-{m}": np.stack([disturbed(rng, t, 1 + 2 * m) for t in truths]) for m in range(models)}
    for k, id_ in enumerate(ids):
        blocks = max(9, -(-shape[0] // 4)), max(12, -(-shape[1] // 4)), 3
        photo = rng.integers(0, 256, blocks, np.uint8).repeat(4, 0).repeat(4, 1)[: shape[0], : shape[1]]
        write(root / "photos" / f"{id_}.png", photo)
        write(root / "truth" / f"{id_}.png", truths[k])
        for name, stack in maps.items():
            write(root / "maps" / name / f"{id_}.png", stack[k])
    entries = [{"index": k, "name": n, "color": [40 * k, 255 - 40 * k, 7 * k]} for k, n in enumerate(NAMES)]
    parents = {"ground": ["road"], "things": ["car", "person"]}
    (root / "classes.json").write_text(
        json.dumps({"ignore_index": 255, "classes": entries, "parents": parents})
    )
    sources = {name: root / "maps" / name for name in maps}
    return Corpus(root, root / "photos", root / "truth", root / "classes.json", sources, maps, truths, ids)


def collected(corpus: Corpus, study: str | Path, shard_size: int) -> Path:
    """A study of which only the images are known."""
    import faultscape as fs

    fs.collect(
        study, corpus.photos, classes=corpus.classes, storage=fs.options.Storage(shard_size=shard_size)
    )
    return Path(study)


def compared_study(corpus: Corpus, study: str | Path, shard_size: int = 1024) -> str:
    """A study of a corpus and its models, whose pairs are counted."""
    import faultscape as fs

    place = str(collected(corpus, Path(study), shard_size))
    fs.predict(place, corpus.models, engine="local")
    fs.compare(place, engine="local")
    return place


def compared(folder: Path) -> Corpus:
    """A corpus, and a study of it in folder/study, with the disagreement of its three models."""
    made = corpus(folder, models=3)
    compared_study(made, folder / "study")
    return made


def predicted(study: str, models: dict[str, Any]) -> None:
    """Predict models of a study, in files or in memory."""
    import faultscape as fs

    fs.predict(study, models)


def with_validation(
    root: Path, images: tuple[int, int], shape: tuple[int, int] = (36, 48), role: str = "pool"
) -> str:
    """A study of so many ``images`` with a ``role``, and of others, the set val, of role validation; masks of all
    lie in ``root / "labels"``.
    """
    import faultscape as fs

    place = str(root / "study")
    roles = {"main": role, "val": "validation"}
    for seed, (name, number) in enumerate(zip(roles, images, strict=True), 1):
        held = corpus(root / name, images=number, models=1, shape=shape, seed=seed)
        own = {"classes": str(held.classes)} if name == "main" else {"set_": name}
        fs.collect(place, str(held.photos), role=roles[name], **own)
        shutil.copytree(held.truth, root / "labels" / ("" if name == "main" else name), dirs_exist_ok=True)
    return place


def confidences(corpus: Corpus) -> str:
    """A folder with a made confidence for every image, whose path is returned."""
    rng = np.random.default_rng(0)
    for id_, truth in zip(corpus.ids, corpus.truths, strict=True):
        path = corpus.root / "sure" / f"{id_}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, rng.random(truth.shape).astype(np.float32))
    return str(corpus.root / "sure")


def tie(key: str, seed: int = 0) -> bytes:
    """What orders images that are equally good."""
    return hashlib.blake2b(f"{seed} {key}".encode(), digest_size=8).digest()


def write(path: Path, values: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(values).save(path)


def bytes_under(root: Path, *names: str) -> dict[str, bytes]:
    """All files that the law of engines covers."""
    files = [
        p
        for name in names
        for p in sorted((root / name).rglob("*") if (root / name).is_dir() else root.glob(name))
    ]
    return {
        str(p.relative_to(root)): p.read_bytes() for p in files if p.is_file() and not p.name.startswith(".")
    }


def states(study: str) -> dict[str, str]:
    """What `status` says of each stage."""
    import faultscape as fs

    return {stage: state for stage, state, _ in fs.status(study).stages}


def classes_with(corpus: Corpus, change: dict[str, dict[str, object]]) -> Path:
    raw = json.loads(corpus.classes.read_text())
    raw["classes"] = [entry | change.get(entry["name"], {}) for entry in raw["classes"]]
    raw["parents"] = {}
    corpus.classes.write_text(json.dumps(raw))
    return corpus.classes
