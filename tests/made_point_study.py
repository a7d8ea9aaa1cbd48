"""A study whose points are drawn, and people who answer them in a table."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import faultscape as fs
import made
from faultscape.maps.boxes import Box, boxes_of_mask
from faultscape.nouns import Point
from faultscape.reading.boxes.evidence import box_answers
from faultscape.reading.study import Study
from faultscape.study.answers.boxes import BoxAnswer, text_of
from golden import STUDY, copied

POINTS = 150


def compared(
    folder: Path,
    corpus: made.Corpus,
    models: Mapping[str, Path | str] | None = None,
    *,
    photos: Path | None = None,
    shard_size: int = 4,
    **options: Any,
) -> str:
    """Make a study of a corpus, or of other photos, with its models or others, and draw nothing."""
    study = str(folder)
    storage = fs.options.Storage(shard_size=shard_size)
    fs.collect(study, str(photos or corpus.photos), classes=str(corpus.classes), storage=storage, **options)
    with_models(study, corpus.models if models is None else models)
    return study


def some(corpus: made.Corpus, *names: str) -> dict[str, Path]:
    return {name: corpus.models[name] for name in names}


def with_models(study: str, models: Mapping[str, Path | str], **options: Any) -> None:
    """Add models to a study, and compare them with those that it has."""
    fs.predict(study, models, engine="local", **options)
    fs.compare(study, engine="local")


def draw_points(study: str, points: int, **how: Any) -> tuple[Point, ...]:
    return fs.select(study, sampling=fs.options.Sampling(points=points, **how), engine="local").points


def group_images(study: str) -> None:
    """Make each image a group of its own, by its number."""
    fs.collect(study, grouping=fs.options.Grouping(group="*photo {group}"))


def take_classes(study: str, classes: Path) -> None:
    """Give a study another list of classes."""
    fs.collect(study, classes=str(classes))


def _make(folder: Path) -> made.Corpus:
    corpus = made.corpus(folder / "corpus", images=10, models=4)
    draw_points(compared(folder / STUDY, corpus, some(corpus, "model-0", "model-1", "model-2")), POINTS)
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
    photos = shutil.copytree(corpus.photos, folder / "photos")
    study = compared(folder / "moving", corpus, some(corpus, "model-0", "model-2"), photos=photos)
    draw_points(study, points)
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


def boxes_of(truth: np.ndarray) -> list[tuple[str, Box]]:
    """A box around each piece of each class but the last, which nobody boxed."""
    return [(name, box) for k, name in enumerate(made.NAMES[:-1]) for box in boxes_of_mask(truth == k)]


def put_boxes(study: str, corpus: made.Corpus, number: int) -> None:
    """Have a person box all classes but the last in so many images."""
    truths = zip(corpus.ids[:number], corpus.truths, strict=False)
    rows = [BoxAnswer(id_, text_of(made.NAMES[:-1], boxes_of(of)), "bo") for id_, of in truths]
    box_answers(Study(study)).add_all(rows, "made")
