"""croissant: the tables of parquet, and croissant.json, which describes them in MLCommons' Croissant 1.0, as
mlcroissant and data set catalogues read it.

Conventions: files are named relative to croissant.json, with their SHA-256. No licence, citation or address
is named: those of the images are theirs.
Source: MLCommons, Croissant format specification 1.0.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from faultscape.errors import counted
from faultscape.verbs.export.contents import Contents
from faultscape.verbs.export.form import ExportFormat
from faultscape.verbs.export.formats import parquet

# all that the specification's own context names, or mlcroissant warns that it is another
_WORDS = (
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes"
    " isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace"
    " samplingRate separator source subField transform"
)
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in _WORDS.split()},
}
_KINDS = (
    (pa.types.is_boolean, "sc:Boolean"),
    (pa.types.is_integer, "sc:Integer"),
    (pa.types.is_floating, "sc:Float"),
    (pa.types.is_binary, "sc:ImageObject"),
)


def write(folder: Path, contents: Contents) -> None:
    """Write the tables, and the file that describes them."""
    parquet.write(folder, contents)
    name = contents.study.root.resolve().name
    tables = ("images", "models")
    about = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": name,
        "description": (
            f"{counted(len(contents.images), 'image')} of a Faultscape study with the predictions of"
            f" {counted(len(contents.models), 'model')}"
        ),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "distribution": [_file(folder / f"{table}.parquet") for table in tables],
        "recordSet": [_records(folder / f"{table}.parquet") for table in tables],
    }
    (folder / "croissant.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _file(path: Path) -> dict[str, str]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "contentUrl": path.name,
        "encodingFormat": "application/x-parquet",
        "sha256": digest,
    }


def _records(path: Path) -> dict[str, Any]:
    """Return the record set of a table: a field a column."""
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{path.stem}/{column.name}",
            "name": column.name,
            "source": {"fileObject": {"@id": path.name}, "extract": {"column": column.name}},
            **_kind(column.type),
        }
        for column in pq.read_schema(path)
    ]
    return {"@type": "cr:RecordSet", "@id": path.stem, "name": path.stem, "field": fields}


def _kind(of: pa.DataType) -> dict[str, Any]:
    if pa.types.is_list(of):
        return {**_kind(of.value_type), "repeated": True}
    return {"dataType": next((kind for fits, kind in _KINDS if fits(of)), "sc:Text")}


CROISSANT = ExportFormat(
    "croissant",
    title="the tables of `parquet`, described in MLCommons' Croissant",
    write=write,
    opens='mlcroissant.Dataset({out} + "/croissant.json")',
)
