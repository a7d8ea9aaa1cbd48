"""Parts and their manifest: one Parquet file per shard, and the list of those that count.

Conventions: ``FOLDER/manifest.json`` maps the name of a part to its checksum, number of rows, the key of what
it was made from, and its failures. A part is stored in ``NAME-CHECKSUM.parquet``, so a new one never
overwrites the one that counts; it counts once its entry is written, and only then is the old one removed. A
manifest depends only on the content, so it is byte-identical however the parts were made.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from faultscape.errors import StudyChangedError, StudyError
from faultscape.study.json_text import read_object
from faultscape.study.part_folders import MANIFEST, files

ROWS_IN_GROUP = 64  # so that one map can be read without its whole shard


@dataclass(frozen=True)
class Part:
    """An entry of a manifest: ``failures`` are (image id, reason)."""

    sha256: str
    rows: int
    key: str
    failures: tuple[tuple[str, str], ...] = ()


def read_manifest(folder: Path) -> dict[str, Part]:
    """Return the parts that count, by name; empty if there is no manifest yet."""
    held = files(folder)
    try:
        text = held.read(MANIFEST)
    except FileNotFoundError:
        return {}
    try:
        return dict(_parsed(text))
    except (ValueError, KeyError, TypeError, AttributeError):
        whole = held.where("").rstrip("./")
        raise StudyError(
            f"{held.where(MANIFEST)} is damaged; {_remedy(folder, f'the folder {whole}')}"
        ) from None


ManifestReader = Callable[[Path], Mapping[str, Part]]


def there(
    folder: Path, only: Iterable[str] | None = None, parts: Mapping[str, Part] | None = None
) -> dict[str, Part]:
    """Return the parts that count and whose files exist; with ``only``, just these names are looked for.
    ``parts`` are those of the manifest, if it was read already.
    """
    names = None if only is None else list(dict.fromkeys(only))
    before = None
    parts = read_manifest(folder) if parts is None else parts
    while True:
        asked = parts if names is None else {name: parts[name] for name in names if name in parts}
        found = _with_files(folder, asked, one_by_one=names is not None)
        if len(found) == len(asked) or parts == before:
            return found
        # a writer may just have replaced the parts
        parts, before = read_manifest(folder), parts


def _with_files(folder: Path, parts: Mapping[str, Part], *, one_by_one: bool) -> dict[str, Part]:
    held = files(folder)
    if one_by_one:
        return {name: part for name, part in parts.items() if held.has(_file(name, part.sha256))}
    names = held.names() if parts else set()
    return {name: part for name, part in parts.items() if _file(name, part.sha256) in names}


def write_manifest(folder: Path, parts: dict[str, Part]) -> None:
    """Write the manifest of a folder, and remove the files of parts that it no longer names."""
    held = files(folder)
    before = read_manifest(folder)
    held.put(MANIFEST, _written(parts))
    for name, part in before.items():
        if name not in parts or parts[name].sha256 != part.sha256:
            held.delete(_file(name, part.sha256))


@lru_cache(maxsize=32)
def _parsed(text: bytes) -> dict[str, Part]:
    """Return the entries of a manifest; cached, since a run reads it again for each of its shards."""
    return {
        name: _part(e["sha256"], e["rows"], e["key"], e["failures"])
        for name, e in cast("dict[str, Any]", read_object(text)).items()
    }


def _part(sha256: Any, rows: Any, key: Any, failures: Any) -> Part:
    """Return an entry of a manifest; TypeError or ValueError for wrong types."""
    found = Part(sha256, rows, key, tuple((image, why) for image, why in failures))
    if (
        not all(isinstance(word, str) for word in (sha256, key, *itertools.chain(*found.failures)))
        or type(rows) is not int
        or rows < 0
    ):
        raise TypeError
    return found


def _written(parts: dict[str, Part]) -> bytes:
    """Return the bytes of a manifest, equal to ``json.dumps`` with an indent of 1, whose plain Python takes
    ten times as long for thousands of parts.
    """
    if not parts:
        return b"{}\n"
    word = json.encoder.encode_basestring
    entries = []
    for name, part in sorted(parts.items()):
        failed = (
            json.dumps(part.failures, indent=1, ensure_ascii=False).replace("\n", "\n  ")
            if part.failures
            else "[]"
        )
        entries.append(
            f' {word(name)}: {{\n  "sha256": {word(part.sha256)},\n  "rows": {part.rows},\n  "key":'
            f' {word(part.key)},\n  "failures": {failed}\n }}'
        )
    return ("{\n" + ",\n".join(entries) + "\n}\n").encode()


def sweep(folder: Path, keep: Collection[str] = (), manifest: ManifestReader = read_manifest) -> None:
    """Remove the files of parts that the manifest does not name, left by a killed writer; needs an exclusive
    hold of the study.

    ``keep`` are the first 16 digits of checksums of parts that are still to be entered.
    """
    held = files(folder)
    names = held.names()
    if not names:
        return
    try:
        named = {_file(name, part.sha256) for name, part in manifest(folder).items()}
    except StudyError:  # the next reader of these parts reports it; nothing is removed meanwhile
        return
    for name in names - named:
        if (part := re.fullmatch(r".+-([0-9a-f]{16})\.parquet", name)) and part[1] not in keep:
            held.delete(name)


def put_part(
    folder: Path, name: str, table: pa.Table, *, compression: str = "none", group: int = ROWS_IN_GROUP
) -> str:
    """Write one part atomically and return its SHA-256."""
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        row_group_size=group,
        compression=compression,
        use_dictionary=False,
        write_statistics=False,
    )
    data = sink.getvalue().to_pybytes()
    checksum = hashlib.sha256(data).hexdigest()
    files(folder).put(_file(name, checksum), data)
    return checksum


def read_part(folder: Path, name: str, part: Part, columns: list[str] | None = None) -> pa.Table:
    """Return the table of one part; StudyError if its checksum is not the manifest's, StudyChangedError if
    the manifest now names another part.
    """
    held = files(folder)
    file = _file(name, part.sha256)
    try:
        data = held.read(file)
    except FileNotFoundError:
        data = b""
    if hashlib.sha256(data).hexdigest() != part.sha256:
        now = read_manifest(folder).get(name)
        if now is None or now.sha256 != part.sha256:
            raise StudyChangedError(
                f"{held.where('').rstrip('./')} changed while it was read; run the command again"
            )
        raise StudyError(
            f"{held.where(file)} is missing or damaged; {_remedy(folder, 'it, if it is there,')}"
        )
    with pq.ParquetFile(
        pa.BufferReader(data)
    ) as opened:  # read_table takes eight times as long for a small part
        return opened.read(columns=columns, use_threads=len(data) > 1 << 20)


def is_whole(folder: Path, name: str, sha256: str) -> bool:
    """Return whether the file of a part exists with this checksum."""
    try:
        return hashlib.sha256(files(folder).read(_file(name, sha256))).hexdigest() == sha256
    except FileNotFoundError:
        return False


def read_schema(folder: Path, name: str, part: Part) -> pa.Schema:
    """Return the schema of one part, without its rows; errors as read_part."""
    try:
        return pq.read_schema(files(folder).open(_file(name, part.sha256)))
    except (OSError, ValueError):
        return read_part(folder, name, part).schema  # reports what is wrong


def read_small(folder: Path, name: str, part: Part, columns: list[str]) -> pa.Table:
    """Return those of some small columns that a part has, without reading the others and so without checking
    its checksum; errors as read_part.
    """
    try:
        with pq.ParquetFile(files(folder).open(_file(name, part.sha256))) as opened:
            return opened.read(columns=[column for column in columns if column in opened.schema_arrow.names])
    except (OSError, ValueError):
        whole = read_part(folder, name, part)  # reports what is wrong
        return whole.select([column for column in columns if column in whole.column_names])


def read_cell(folder: Path, name: str, part: Part, id_: str, column: str) -> bytes | None:
    """Return the value of a column of bytes for an id, reading only that row's group and so without checking
    the checksum; None if there is no such row. Errors as read_part.
    """
    try:
        with pq.ParquetFile(files(folder).open(_file(name, part.sha256))) as opened:
            row = opened.read(columns=["id"])["id"].to_pylist().index(id_)
            for group in range(opened.num_row_groups):
                rows = opened.metadata.row_group(group).num_rows
                if row < rows:
                    return opened.read_row_group(group, [column])[column][row].as_py()
                row -= rows
    except (OSError, KeyError, pa.ArrowException):
        held = read_part(folder, name, part, ["id", column]).to_pydict()  # reports what is wrong
        return dict(zip(held["id"], held[column], strict=True)).get(id_)
    except ValueError:  # no such id
        pass
    return None


def _remedy(folder: Path, what: str) -> str:
    """Return what to do about damage: labels cannot be made again, everything else can."""
    if folder.parent.name == "truth":
        return "put it back from a copy; the parts beside its manifest hold the labels"
    kept = folder.parent.parent.name == "predictions"  # confidence and the like, beside a model's labels
    verb = {"predictions": "predict", "pairs": "compare"}.get(
        folder.parent.parent.name if kept else folder.parent.name, "the same line"
    )
    return f"delete {what} and run {verb} again"


def _file(name: str, checksum: str) -> str:
    return f"{name}-{checksum[:16]}.parquet"


def key_of(*what: Any) -> str:
    """Return a short digest of what a part was made from (anything that JSON can hold).

    >>> key_of("a", 1) == key_of("a", 1), key_of("a", 1) == key_of("a", 2)
    (True, False)
    """
    return hashlib.sha256(
        json.dumps(what, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogateescape")
    ).hexdigest()[:32]
