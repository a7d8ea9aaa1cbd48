"""parquet: plain tables. images.parquet has a row an image, with its maps as PNG of ids; models.parquet a row
a model; classes.json what the ids mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from faultscape.formats.png import encode_index
from faultscape.verbs.export import tables
from faultscape.verbs.export.contents import Contents, ExportedImage
from faultscape.verbs.export.form import ExportFormat
from faultscape.verbs.export.image_files import write_image

IMAGES = "images"


def write(folder: Path, contents: Contents) -> None:
    """Write the tables, and images beside them."""

    def rows() -> Iterator[dict[str, Any]]:
        for row in contents.each():
            path = write_image(row.image, folder, IMAGES, contents.image_files)
            yield {**tables.image_values(row, contents), "path": path or None, **_seen(row, contents)}

    about = {b"faultscape": tables.about_bytes(contents)}
    schema = pa.schema(
        [*tables.image_fields(contents), pa.field("path", pa.string()), *_seen_fields(contents)], about
    )
    tables.write_rows(lambda _: folder / "images.parquet", schema, rows())
    pq.write_table(tables.model_table(contents), folder / "models.parquet", compression="zstd")
    (folder / "classes.json").write_bytes(tables.about_bytes(contents))


def _seen_fields(contents: Contents) -> list[pa.Field]:
    truth = pa.list_(pa.string()) if contents.classifies else pa.binary()
    found = [pa.field("truth", truth)] if contents.truth else []
    for model in contents.models:
        if contents.classifies:
            found += [
                pa.field(f"class_{model}", pa.string()),
                pa.field(f"probability_{model}", pa.float32()),
            ]
        else:
            found.append(pa.field(f"map_{model}", pa.binary()))
    return found


def _seen(row: ExportedImage, contents: Contents) -> dict[str, Any]:
    """Return what models and labels say about an image."""
    if contents.classifies:
        said = tables.class_answers(row, contents)
        none = (None, None)
        found: dict[str, Any] = {"truth": tables.true_classes(row, contents)} if contents.truth else {}
        for model in contents.models:
            found[f"class_{model}"], found[f"probability_{model}"] = said.get(model, none)
        return found
    found = {"truth": _png(contents.truth_of(row.image))} if contents.truth else {}
    return found | {f"map_{model}": _png(contents.map_of(model, row.image)) for model in contents.models}


def _png(ids: np.ndarray | None) -> bytes | None:
    return None if ids is None else encode_index(ids)


PARQUET = ExportFormat(
    "parquet",
    title="plain tables, a row an image and a row a model, with maps as PNG",
    write=write,
    opens='pandas.read_parquet({out} + "/images.parquet")',
)
