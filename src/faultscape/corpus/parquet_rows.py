"""Corpora that are Parquet files: a column of image bytes, or of image paths and addresses.

Conventions: bytes are in ``image``, ``bytes``, ``jpg``, ``jpeg`` or ``png``, as binary or as a struct {bytes,
path}; places are in ``uri``, ``url``, ``path``, ``image_path`` or ``file_name``, relative to the file's
folder; a file in a store cannot name files of this machine. Ids are in ``id``, ``key``, ``image_id`` or
``__key__``, else they are places without extension, else ``FILE/ROW`` with nine digits, so that ids sort like
rows and stay the same when a file grows. The source of a row that holds bytes is ``FILE.parquet#ROW``. Rows
are streamed, a few at a time: a file whose ids sort like its rows is read once in corpus order.
"""

from __future__ import annotations

import glob
import itertools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from faultscape.corpus.store_pictures import find_objects, relative
from faultscape.errors import CorpusError, FaultscapeError, shortened
from faultscape.study import store

PARQUET = frozenset((".parquet", ".pq"))
IMAGES = ("image", "bytes", "jpg", "jpeg", "png")
_PLACES = ("uri", "url", "path", "image_path", "file_name")
IDS = ("id", "key", "image_id", "__key__")
_DIGITS = 9
_ROW = re.compile(r"(.+\.(?:parquet|pq)(?:\?[^#]*)?)#(\d+)", re.IGNORECASE | re.DOTALL)


def is_parquet(argument: str) -> bool:
    """Whether an argument names Parquet files, as a path or a glob.

    >>> is_parquet("train-*.parquet"), is_parquet("s3://b/x.parquet?region=eu-west-1"), is_parquet("images/")
    (True, True, False)
    """
    key = store.parse(argument, CorpusError).key if store.is_address(argument) else argument
    return os.path.splitext(key)[1].lower() in PARQUET


def row_of(source: str) -> tuple[str, int] | None:
    """Return the file and the row that a source means, or None for any other source.

    >>> row_of("a/b.parquet#12"), row_of("a/b.png")
    (('a/b.parquet', 12), None)
    """
    match = _ROW.fullmatch(source)
    return (match[1], int(match[2])) if match else None


def find_rows(argument: str, say: Callable[[str], None]) -> list[tuple[str, str]]:
    """Return (id, source) of every row of the Parquet files that an argument names; CorpusError for files
    without images.
    """
    if store.is_address(argument):
        above, paths, _ = find_objects(argument, PARQUET)
        names = relative([*paths, f"{above.split('?')[0].rstrip('/')}/x"])[:-1] if paths else []
    else:
        paths = (
            sorted(glob.glob(argument, recursive=True))
            if glob.has_magic(argument) and not os.path.isfile(argument)
            else [argument]
        )
        above = (
            os.path.dirname(re.split(r"[*?\[]", argument)[0])
            if len(paths) != 1
            else os.path.dirname(argument)
        )
        names = [os.path.relpath(path, above or ".").replace(os.sep, "/") for path in paths]
    if not paths:
        raise CorpusError(f"{argument}: contains no Parquet files")
    rows: list[tuple[str, str]] = []
    for path, name in zip(paths, names, strict=True):
        rows += _rows_of(path, os.path.splitext(name)[0], say)
    if not rows:
        raise CorpusError(f"{argument}: has no rows")
    return rows


def open_file(path: str, error: type[FaultscapeError] = CorpusError) -> tuple[pq.ParquetFile, str]:
    """Return an open Parquet file and its state, a text that changes with the file; ``error`` with a
    one-sentence message if it cannot be opened.
    """
    try:
        if store.is_address(path):
            place = store.parse(path, error)
            with store.told(place, error):
                opened = store.open_object(place)
            return pq.ParquetFile(opened.file, buffer_size=1 << 23), opened.tag
        about = os.stat(path)
        return (
            pq.ParquetFile(path, memory_map=False, buffer_size=1 << 23),
            f"{about.st_size}-{about.st_mtime_ns}",
        )
    except (OSError, pa.ArrowException) as fault:
        raise error(f"{path}: {_reason(fault)}") from None


def image_column(schema: pa.Schema, path: str) -> tuple[str | None, str | None]:
    """Return the column of bytes and the column of places; CorpusError if there is neither, or one has the
    wrong type.
    """
    text, binary = _kinds()
    inside = None
    places = None
    for name in (name for name in IMAGES if name in schema.names):
        kind = schema.field(name).type
        if pa.types.is_struct(kind) and "bytes" in [f.name for f in kind]:
            inside = f"{name}.bytes"
            places = f"{name}.path" if "path" in [f.name for f in kind] else None
        elif binary(kind):
            inside = name
        elif text(kind):
            places = name
        else:
            raise CorpusError(
                f"{path}: column {name!r} holds {kind}; expected image bytes, or paths or addresses of images"
            )
        break
    if places is None:
        places = next(
            (name for name in _PLACES if name in schema.names and text(schema.field(name).type)), None
        )
    if inside is None and places is None:
        known = shortened(schema.names) or "none"
        raise CorpusError(
            f"{path}: has no image column, only {known}; expected bytes in {', '.join(IMAGES)}, or paths"
            f" in {', '.join(_PLACES)}; name another column of bytes after a colon ({path}:COLUMN); to"
            " collect ids without image files (for classifiers), give a .csv file with a column image"
        )
    return inside, places


def _rows_of(path: str, name: str, say: Callable[[str], None]) -> list[tuple[str, str]]:
    """Return (id, source) of the rows of one file, without reading images."""
    file, _ = open_file(path)
    schema = file.schema_arrow
    text, _binary = _kinds()
    inside, places = image_column(schema, path)
    named = next(
        (
            c
            for c in IDS
            if c in schema.names and (text(schema.field(c).type) or pa.types.is_integer(schema.field(c).type))
        ),
        None,
    )
    count = file.metadata.num_rows
    try:
        read = {c: _flat(file.read(columns=[c]), c) for c in (named, places) if c}
    except (OSError, pa.ArrowException, UnicodeDecodeError) as fault:
        raise CorpusError(f"{path}: {_reason(fault)}") from None
    given = [None if value is None else str(value) for value in read[places]] if places else [None] * count
    sources = [f"{path}#{row}" if inside else _resolved(path, row, given[row]) for row in range(count)]
    said = read[named] if named else _without_extensions(given) if any(given) else [None] * count
    ids = [
        str(id_) if id_ is not None and _safe(str(id_)) else f"{name}/{row:0{_DIGITS}}"
        for row, id_ in enumerate(said)
    ]
    if unusable := sum(id_ is not None and not _safe(str(id_)) for id_ in said):
        say(f"{path}: {unusable} of its ids cannot be file names; these images are named FILE/ROW")
    if inside and any(one > other for one, other in itertools.pairwise(ids)):
        say(
            f"{path}: its rows are not sorted by id, so that parts of it are read repeatedly; sort the"
            " file by id to read it once"
        )
    return list(zip(ids, sources, strict=True))


def _resolved(path: str, row: int, value: str | None) -> str:
    """Return the path or address of a row's image; a row without one becomes a source that cannot be read."""
    if not value or "\0" in value:
        return f"{path}#{row}"
    if re.match(r"https?://", value):
        raise CorpusError(
            f"{path}, row {row}: {value[:200]} is on the web; `faultscape collect STUDY --urls FILE`"
            " downloads such images politely"
        )
    if store.is_address(value):
        place = store.parse(value, CorpusError)
        allowed = store.parse(path).options if store.is_address(path) else place.options
        if any(name != "region" and (name, word) not in allowed for name, word in place.options):
            # it would see credentials
            raise CorpusError(
                f"{path}, row {row}: {value[:200]} names its own server; only an address that you give"
                " may do so"
            )
        return str(place)
    if re.match(r"[a-zA-Z][a-zA-Z0-9+]+://", value) and not value.startswith("file://"):
        raise CorpusError(f"{path}, row {row}: {value[:200]} is neither a path nor an s3:// or gs:// address")
    local = value.startswith("file://")
    value = value.removeprefix("file://")
    if store.is_address(path):
        place = store.parse(path)
        key = os.path.normpath(os.path.join(os.path.dirname(place.key), value))
        if local or key.split("/")[0] in ("", ".."):
            raise CorpusError(
                f"{path}, row {row}: {value[:200]} is on this machine or outside the bucket; a file in a"
                " store may only name images in stores, by address or by relative path"
            )
        return str(replace(place, key=key))
    return os.path.join(os.path.dirname(path), value)


def _without_extensions(places: list[str | None]) -> list[str | None]:
    """Return places without extension, relative to their common folder unless they are already relative."""
    found = [p for p in places if p]
    if all(store.is_address(p) for p in found):
        names = relative(found)
    elif any(p.startswith(("/", "file://", "s3:", "gs:")) or ".." in p.split("/") for p in found):
        plain = [os.path.normpath(re.sub(r"^\w+://", "/", p)) for p in found]
        above = os.path.commonpath([os.path.dirname(os.path.abspath(p)) for p in plain])
        names = [os.path.relpath(os.path.abspath(p), above).replace(os.sep, "/") for p in plain]
    else:
        names = found
    stems = iter(os.path.splitext(os.path.normpath(name))[0] for name in names)
    return [next(stems) if p else None for p in places]


def _safe(id_: str) -> bool:
    """Whether an id can become a file name that stays inside a folder."""
    parts = id_.split("/")
    return (
        len(id_.encode("utf-8", "surrogateescape")) <= 500
        and id_.isprintable()
        and "\\" not in id_
        and not {"", ".", ".."} & set(parts)
    )


def _flat(table: pa.Table, column: str) -> list[Any]:
    """Return one column, which may be a field of a struct, as a list."""
    outer, _, inner = column.partition(".")
    values = table[outer].to_pylist()
    return (
        [None if value is None else value.get(inner) for value in values]
        if inner and outer in table.column_names
        else values
    )


def _kinds() -> tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], bool]]:
    """Return the predicates for text types and for bytes types; either may be dictionary-encoded."""

    def plain(kind: pa.DataType) -> pa.DataType:
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    t = pa.types
    return (
        lambda k: t.is_string(plain(k)) or t.is_large_string(plain(k)) or t.is_string_view(plain(k)),
        lambda k: (
            t.is_binary(plain(k))
            or t.is_large_binary(plain(k))
            or t.is_binary_view(plain(k))
            or t.is_fixed_size_binary(plain(k))
        ),
    )


def _reason(fault: BaseException) -> str:
    words = str(fault).splitlines()[0][:200] if str(fault) else type(fault).__name__
    return getattr(fault, "strerror", None) or f"cannot be read as Parquet: {words}"


def passing(file: pq.ParquetFile, group: int, column: str, size: int) -> Iterator[list[bytes | None]]:
    """Yield the values of one column of a row group, ``size`` at a time."""
    for batch in file.iter_batches(batch_size=size, row_groups=[group], columns=[column], use_threads=False):
        outer, _, inner = column.partition(".")
        values = batch.column(0).to_pylist()
        yield [None if v is None else v[inner] for v in values] if inner and outer else values
