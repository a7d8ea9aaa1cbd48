"""The tables of an export: a row an image and a row a model, as Arrow or CSV, with one name a column in all
formats.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from faultscape import __version__
from faultscape.results.table import csv_text
from faultscape.verbs.export.contents import Contents, ExportedImage, ModelRank

BATCH_BYTES = 64 << 20  # of maps and images, which one row group of a table holds
_BATCH_ROWS = 1024
_TYPES: dict[str, pa.DataType] = {
    "model": pa.string(),
    "ranking": pa.string(),
    "rank": pa.int32(),
    "rank_low": pa.int32(),
    "rank_high": pa.int32(),
    "score": pa.float64(),
    "score_low": pa.float64(),
    "score_high": pa.float64(),
    "could_be_best": pa.bool_(),
}


def image_fields(contents: Contents) -> list[pa.Field]:
    """Return the columns that describe an image, without what was seen in it."""
    texts = ("id", "set", "role", "condition", "group")
    numbers = [pa.field(name, pa.int32()) for name in ("width", "height")]
    scores = [pa.field(f"{contents.metric}_{model}", pa.float64()) for model in _scored(contents)]
    return [
        *(pa.field(name, pa.string()) for name in texts),
        *numbers,
        pa.field("chosen", pa.bool_()),
        pa.field("why", pa.string()),
        pa.field("disagreement", pa.float64()),
        *scores,
    ]


def image_values(row: ExportedImage, contents: Contents) -> dict[str, Any]:
    """Return the values of `image_fields`; None for what is not known."""
    image = row.image
    texts = {name: getattr(image, name) for name in ("id", "set", "role", "condition", "group")}
    scores = {
        f"{contents.metric}_{model}": known(row.scores.get(model, math.nan)) for model in _scored(contents)
    }
    about = {"chosen": row.chosen, "why": row.why, "disagreement": known(row.disagreement)}
    return {**texts, "width": image.width, "height": image.height, **about, **scores}


def _scored(contents: Contents) -> tuple[str, ...]:
    """Return the models whose scores are columns: none without labels."""
    return contents.models if contents.truth else ()


def known(value: float) -> float | None:
    """Return a number, None for NaN, to 12 digits.

    >>> known(1 / 3), known(math.nan)
    (0.333333333333, None)
    """
    return float(f"{value:.12g}") if math.isfinite(value) else None


def class_answers(row: ExportedImage, contents: Contents) -> dict[str, tuple[str, float | None]]:
    """Return {model: (class, probability)} of the classifiers that have an answer for an image."""
    names = contents.study.classes.names
    found = {model: answers.get(row.image.id) for model, answers in contents.answers.items()}
    return {model: (names[said[0]], known(said[1])) for model, said in found.items() if said is not None}


def true_classes(row: ExportedImage, contents: Contents) -> list[str] | None:
    """Return the names of the classes that an image shows; None without a label."""
    names = contents.study.classes.names
    places = contents.true_places.get(row.image.id)
    return None if places is None else [names[place] for place in places]


def write_rows(
    path_of: Callable[[int], Path], schema: pa.Schema, rows: Iterator[dict[str, Any]], most: float = math.inf
) -> list[Path]:
    """Write rows to Parquet files of about ``most`` bytes, with few rows in memory, and return their paths,
    ``path_of`` their numbers from 0 on.
    """
    paths = list[Path]()
    writer: pq.ParquetWriter | None = None
    written = 0
    try:
        for held, size in _batches(rows):
            if writer is None:
                paths.append(path_of(len(paths)))
                writer = pq.ParquetWriter(paths[-1], schema, compression="zstd")
            writer.write_table(pa.Table.from_pylist(held, schema))
            written += size
            if written >= most:
                writer.close()
                writer = None
                written = 0
    finally:
        if writer is not None:
            writer.close()
    return paths


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """Yield rows in row groups, with the bytes of their maps and images."""
    held: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        held.append(row)
        size += sum(_bytes_of(value) for value in row.values())
        if size >= BATCH_BYTES or len(held) >= _BATCH_ROWS:
            yield held, size
            held = []
            size = 0
    if held:
        yield held, size


def _bytes_of(value: Any) -> int:
    if isinstance(value, dict):
        return sum(_bytes_of(one) for one in value.values())
    return len(value) if isinstance(value, bytes) else 0


def model_table(contents: Contents) -> pa.Table:
    """Return the table of models: their ranks and scores in the recommended ranking."""
    rows = contents.ranks
    names = [field.name for field in fields(ModelRank)]
    return pa.table({name: pa.array([getattr(row, name) for row in rows], _TYPES[name]) for name in names})


def model_csv(contents: Contents) -> bytes:
    """Return the table of models as CSV."""
    table = model_table(contents)
    return csv_text(table.column_names, [list(row.values()) for row in table.to_pylist()]).encode()


def image_csv(contents: Contents) -> bytes:
    """Return the table of images as CSV, without maps."""
    names = [field.name for field in image_fields(contents)]
    return csv_text(names, [list(image_values(row, contents).values()) for row in contents.rows]).encode()


def about_bytes(contents: Contents) -> bytes:
    """Return, as JSON, what a reader needs to know about the classes and the numbers."""
    about = {"faultscape": __version__, **contents.about()}
    return (json.dumps(about, ensure_ascii=False, indent=1) + "\n").encode()
