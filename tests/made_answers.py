"""Small studies of classifiers for tests: ids without pictures, and tables of what made-up models say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import golden
from golden import STUDY, Goldens

NAMES = ("cat", "dog", "car", "boat", "tree")


@dataclass(frozen=True)
class Answers:
    study: str
    images: list[str]
    truth: np.ndarray
    labels: dict[str, np.ndarray]
    tables: dict[str, str]


def study(
    root: Path,
    images: int = 60,
    errors: tuple[float, ...] = (0.1, 0.3, 0.5),
    seed: int = 5,
    sure: bool = False,
) -> Answers:
    """A study with one table a model, whose errors fall by chance; with ``sure`` tables say probabilities,
    higher where right. It is made once a run, and copied.
    """
    if not may_move(root):
        return _made(root, images, errors, seed, sure)
    name = f"answers-{images}-{'-'.join(map(str, errors))}-{seed}-{sure}"
    return moved(name, lambda folder: _made(folder, images, errors, seed, sure), root)


def may_move(root: Path) -> bool:
    """Whether a study that is made once may be copied to a place, as texts in it can name the place."""
    plain = str(root).isascii() and not set(str(root)) & set("\"\\'")
    return Goldens.root is not None and plain and not (root / STUDY).exists()


def moved(name: str, make: Callable[[Path], Answers], root: Path) -> Answers:
    """Return a copy of the study that ``make(folder)`` makes."""
    _, it = golden.moved(name, make, root)
    tables = {model: str(root / Path(table).name) for model, table in it.tables.items()}
    return replace(it, study=str(root / STUDY), tables=tables)


def _made(root: Path, images: int, errors: tuple[float, ...], seed: int, sure: bool) -> Answers:
    import faultscape as fs

    rng = np.random.default_rng(seed)
    names = [f"set{k % 2}/{k:03d}" for k in range(images)]
    truth = rng.integers(0, len(NAMES), images)
    labels, tables = {}, {}
    root.mkdir(parents=True, exist_ok=True)
    (root / "classes.txt").write_text("\n".join(NAMES))
    (root / "ids.csv").write_text("image\n" + "\n".join(names) + "\n")
    for m, share in enumerate(errors):
        said = np.where(rng.random(images) < share, rng.integers(0, len(NAMES), images), truth)
        how = np.clip(rng.normal(np.where(said == truth, 0.9, 0.7), 0.1), 0.01, 1).round(4)
        lines = [
            f"{n},{NAMES[k]}" + (f",{p}" if sure else "")
            for n, k, p in zip(names, said.tolist(), how.tolist(), strict=True)
        ]
        path = root / f"model-{m}.csv"
        path.write_text("image,label" + (",probability" if sure else "") + "\n" + "\n".join(lines) + "\n")
        labels[f"model-{m}"], tables[f"model-{m}"] = said, str(path)
    at = str(root / "study")
    fs.collect(at, str(root / "ids.csv"), task="classification", classes=str(root / "classes.txt"))
    fs.predict(at, tables)
    return Answers(at, names, truth, labels, tables)


def import_labels(made: Answers, images: list[str] | None = None) -> None:
    """Take in the true label of some images, of all by default."""
    import faultscape as fs

    rows = [
        f"{n},{NAMES[k]}"
        for n, k in zip(made.images, made.truth.tolist(), strict=True)
        if images is None or n in images
    ]
    path = Path(made.study).parent / "labels.csv"
    path.write_text("image,label\n" + "\n".join(rows) + "\n")
    fs.label.import_(made.study, str(path))
