"""A study whose points are drawn, and people who answer them in a table."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import faultscape as fs
import made
from faultscape.nouns import Point
from faultscape.reading.study import Study
from golden import STUDY, copied

POINTS = 150


def _make(folder: Path) -> made.Corpus:
    corpus = made.corpus(folder / "corpus", images=10, models=4)
    study = str(made.collected(corpus, folder / STUDY, shard_size=4))
    first = {name: source for name, source in corpus.models.items() if name != "model-3"}
    fs.predict(study, first, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, sampling=fs.Sampling(points=POINTS), engine="local")
    return corpus


def pointed(to: Path) -> tuple[str, made.Corpus]:
    """Return a copy of a study of three models whose points are drawn, and what it was made of, a fourth model
    too.
    """
    return copied("points", _make, to)


def with_own_photos(corpus: made.Corpus, folder: Path, points: int) -> tuple[str, Path]:
    """Draw the points of two models in a study of a copy of the photos, which a test may change; return the
    study and that copy.
    """
    study = str(folder / "moving")
    photos = shutil.copytree(corpus.photos, folder / "photos")
    fs.collect(study, str(photos), classes=str(corpus.classes))
    fs.predict(study, {name: corpus.models[name] for name in ("model-0", "model-2")}, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, sampling=fs.Sampling(points=points), engine="local")
    return study, photos


def points_of(study: str, name: str = "points") -> tuple[Point, ...]:
    return Study(study).selection(name).slots.points


def lines(table: Path) -> list[dict[str, str]]:
    with table.open(newline="") as file:
        return list(csv.DictReader(file))


def put_lines(table: Path, rows: list[dict[str, str]]) -> Path:
    with table.open("w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    return table


def fill(table: Path, answer: Callable[[Mapping[str, str]], str]) -> list[dict[str, str]]:
    """Answer every line of a table of points, and return its lines."""
    rows = lines(table)
    for row in rows:
        row["answer"] = answer(row)
    put_lines(table, rows)
    return rows


def by_truth(corpus: made.Corpus) -> Callable[[Mapping[str, str]], str]:
    """What the truth shows at the pixel of a line."""
    maps = dict(zip(corpus.ids, corpus.truths, strict=True))
    return lambda row: made.NAMES[maps[row["image"]][int(row["row"]), int(row["column"])]]


def answer_all(study: str, corpus: made.Corpus, folder: Path, name: str = "points") -> Path:
    """Answer by the truth whatever is open, through a table."""
    fs.label.export(study, str(folder), selection=name)
    fill(folder / "points.csv", by_truth(corpus))
    fs.label.import_(study, str(folder))
    return folder
