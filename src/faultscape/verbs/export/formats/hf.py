"""hf: a folder that `datasets.load_dataset` and the viewer of the Hugging Face Hub read: Parquet files in
data/ with images and maps, and a data set card, README.md.

Conventions: what a column is stands in the metadata of the schema, as `datasets` itself writes it, so nothing
but Arrow is needed to write. Maps are PNG of plain ids, 8 or 16 bits, so that they open as the ids. The only
split is ``test``: images to judge models by.
Source: the documentation of `datasets` (structure of a repository; features Image, ClassLabel, List).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from faultscape.formats.png import encode_index
from faultscape.verbs.export import tables
from faultscape.verbs.export.contents import Contents, ExportedImage
from faultscape.verbs.export.form import ExportFormat
from faultscape.verbs.export.formats.hf_card import card
from faultscape.verbs.export.image_files import file_name, image_bytes

_SPLIT = "test"
_FILE_BYTES = 500 << 20  # of one file of a data set, as `datasets` cuts them
_IMAGE = pa.struct({"bytes": pa.binary(), "path": pa.string()})
_NAMES = {pa.string(): "string", pa.int32(): "int32", pa.float32(): "float32"}
_NAMES |= {pa.float64(): "float64", pa.bool_(): "bool"}
Feature = dict[str, Any]


def write(folder: Path, contents: Contents) -> None:
    """Write the files of the data set and its card."""
    fields: list[pa.Field] = []
    features: dict[str, Feature] = {}
    for field, feature in _columns(contents):
        fields.append(field)
        features[field.name] = feature
    schema = pa.schema(fields, {b"huggingface": json.dumps({"info": {"features": features}}).encode()})
    data = folder / "data"
    data.mkdir()
    rows = _rows(contents)
    written = tables.write_rows(lambda number: data / f"{number}.parquet", schema, rows, _FILE_BYTES)
    for number, path in enumerate(written):
        path.rename(data / f"{_SPLIT}-{number:05d}-of-{len(written):05d}.parquet")
    (folder / "README.md").write_bytes(card(contents, _SPLIT).encode())


def _columns(contents: Contents) -> Iterator[tuple[pa.Field, Feature]]:
    """Yield each column and its feature, the image first, as the viewer shows them."""
    image = {"_type": "Image"}
    if contents.image_files != "none":
        yield pa.field("image", _IMAGE), image
    for field in tables.image_fields(contents):
        yield field, {"dtype": _NAMES[field.type], "_type": "Value"}
    if not contents.classifies:
        seen = ["truth"] if contents.truth else []
        for name in (*seen, *(f"map_{model}" for model in contents.models)):
            yield pa.field(name, _IMAGE), image
        return
    label = {"names": list(contents.study.classes.names), "_type": "ClassLabel"}
    if contents.truth:
        yield pa.field("truth", pa.list_(pa.int64())), {"feature": label, "_type": "List"}
    for model in contents.models:
        yield pa.field(f"class_{model}", pa.int64()), label
        yield pa.field(f"probability_{model}", pa.float32()), {"dtype": "float32", "_type": "Value"}


def _rows(contents: Contents) -> Iterator[dict[str, Any]]:
    for row in contents.each():
        found = tables.image_values(row, contents)
        if contents.image_files != "none":
            data, ending, _ = image_bytes(row.image)
            found["image"] = {"bytes": data, "path": file_name(row.image.id, "images", ending)}
        yield found | (_answers(row, contents) if contents.classifies else _maps(row, contents))


def _maps(row: ExportedImage, contents: Contents) -> dict[str, Any]:
    found = {f"map_{model}": contents.map_of(model, row.image) for model in contents.models}
    found |= {"truth": contents.truth_of(row.image)} if contents.truth else {}
    return {name: _png(ids, row.image.id, name) for name, ids in found.items()}


def _png(ids: np.ndarray | None, id_: str, name: str) -> dict[str, Any] | None:
    return None if ids is None else {"bytes": encode_index(ids), "path": file_name(id_, name, ".png")}


def _answers(row: ExportedImage, contents: Contents) -> dict[str, Any]:
    found: dict[str, Any] = {"truth": contents.true_places.get(row.image.id)} if contents.truth else {}
    for model, answers in contents.answers.items():
        place, sure = answers.get(row.image.id, (None, float("nan")))
        found |= {f"class_{model}": place, f"probability_{model}": tables.known(sure)}
    return found


HF = ExportFormat(
    "hf",
    title="a folder that `datasets.load_dataset` reads, with images and a data set card",
    write=write,
    opens="datasets.load_dataset({out})",
    image_files=("copy", "none"),
    no_ways="which holds the images in its files",
)
