"""Parts and their manifest: one Parquet file a shard, and the list of those that count.

Conventions: ``FOLDER/manifest.json`` maps the name of a part to its checksum, number of rows, the key of what it was made from, and what
failed in it. A part lies in ``NAME-CHECKSUM.parquet``, so a new one never overwrites the one that counts; it counts once its entry is written, and only
then is the old one removed. Everything in a manifest follows from the content, so it is byte-identical however the parts were made.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape.errors import StudyError
from faultscape.study.folder import put

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_IN_GROUP = 64  # so that one map can be read without its whole shard


@dataclass(frozen=True)
class Part:
    """An entry of a manifest: ``failures`` are (image id, reason)."""

    sha256: str
    rows: int
    key: str
    failures: tuple[tuple[str, str], ...] = ()


def read_manifest(folder: Path) -> dict[str, Part]:
    """Return the parts that count, by name; none when there is no manifest yet."""
    path = folder / "manifest.json"
    if not path.exists():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: Part(e["sha256"], e["rows"], e["key"], tuple((image, why) for image, why in e["failures"]))
            for name, e in entries.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StudyError(f"{path} is damaged; {_remedy(folder, f'the folder {folder}')}") from None


def there(folder: Path) -> dict[str, Part]:
    """Return the parts that count and whose files are there."""
    files = {file.name for file in folder.glob("*.parquet")}
    return {name: part for name, part in read_manifest(folder).items() if _file(folder, name, part.sha256).name in files}


def write_manifest(folder: Path, parts: dict[str, Part]) -> None:
    """Put the manifest of a folder, and remove the files of parts that it no longer names."""
    before = read_manifest(folder)
    entries = {name: asdict(parts[name]) for name in sorted(parts)}
    put(folder / "manifest.json", (json.dumps(entries, indent=1, ensure_ascii=False) + "\n").encode())
    for name, part in before.items():
        if name not in parts or parts[name].sha256 != part.sha256:
            _file(folder, name, part.sha256).unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove the files of parts that the manifest does not name: those of a writer that was killed. For who holds the study alone."""
    try:
        named = {_file(folder, name, part.sha256).name for name, part in read_manifest(folder).items()}
    except StudyError:  # who needs these parts will say it; nothing is removed meanwhile
        return
    for file in folder.glob("*.parquet"):
        if re.fullmatch(r".+-[0-9a-f]{16}\.parquet", file.name) and file.name not in named:
            file.unlink(missing_ok=True)


def put_part(folder: Path, name: str, table: pa.Table, *, compression: str = "none", group: int = ROWS_IN_GROUP) -> str:
    """Write one part atomically and return its SHA-256."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression=compression, row_group_size=group, use_dictionary=False, write_statistics=False)
    data = sink.getvalue().to_pybytes()
    return put(_file(folder, name, hashlib.sha256(data).hexdigest()), data)


def read_part(folder: Path, name: str, part: Part, columns: list[str] | None = None) -> pa.Table:
    """Return the table of one part; StudyError when its checksum is not the manifest's."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = _file(folder, name, part.sha256)
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    if hashlib.sha256(data).hexdigest() != part.sha256:
        raise StudyError(f"{path} is missing or damaged; {_remedy(folder, 'it, if it is there,')}")
    return pq.read_table(pa.BufferReader(data), columns=columns)


def read_schema(folder: Path, name: str, part: Part) -> pa.Schema:
    """Return the schema of one part, without its rows; StudyError where the file is gone or damaged."""
    import pyarrow.parquet as pq

    path = _file(folder, name, part.sha256)
    try:
        return pq.read_schema(path)
    except (OSError, ValueError):
        raise StudyError(f"{path} is missing or damaged; {_remedy(folder, 'it, if it is there,')}") from None


def _remedy(folder: Path, what: str) -> str:
    """Return what to do about damage: labels cannot be made again, all else can."""
    if folder.parent.name == "truth":
        return "put it back from a copy; the parts beside its manifest hold the labels"
    verb = {"predictions": "predict", "pairs": "compare"}.get(folder.parent.name, "the same line")
    return f"delete {what} and run {verb} again"


def _file(folder: Path, name: str, checksum: str) -> Path:
    return folder / f"{name}-{checksum[:16]}.parquet"


def key_of(*what: Any) -> str:
    """Return a short digest of what a part was made from (anything that JSON can hold).

    >>> key_of("a", 1) == key_of("a", 1), key_of("a", 1) == key_of("a", 2)
    (True, False)
    """
    return hashlib.sha256(json.dumps(what, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:32]
