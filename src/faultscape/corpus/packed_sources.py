"""Images and masks within other files: WebDataset's tars, folders that `datasets` saved, and columns of
Parquet and Arrow files.

Conventions: an argument is the file, a glob of such files, or the folder, and after a colon what is meant in
it: ``train.parquet:mask``, ``saved/:image``, ``shards-*.tar:seg.png``. Ids of rows are those in ``id``,
``key``, ``image_id`` or ``__key__``, else the paths that the column of images holds, without extension, else
the number of the row, nine digits: in a folder over all its files, else within its file. The ids of a mask
are those of its image, because both are made from the same columns. The id of a member of a tar is its path
up to the first dot of its name, as in WebDataset. Nothing is unpacked, and only files on this machine are
read.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from faultscape.corpus.parquet_rows import IDS, IMAGES
from faultscape.errors import CorpusError, counted, library_text
from faultscape.formats.guard import parse_json, read_bytes
from faultscape.formats.packed.names import is_inside
from faultscape.formats.packed.tables import arrow_column, columns_of, is_arrow
from faultscape.formats.packed.tars import members

_TAR = re.compile(r"\.(tar(\.\w+)?|tgz)$", re.IGNORECASE)  # compressed ones are refused, and say why
_FILES = re.compile(r"\.(tar(\.\w+)?|tgz|parquet|pq|arrow)$", re.IGNORECASE)
_TABLES = (".parquet", ".pq", ".arrow")
_KEY = re.compile(r"((?:.*/)?[^./][^./]*)\.([^/]+)", re.DOTALL)  # as WebDataset splits a name
_STATE = "state.json"
_SPLITS = "dataset_dict.json"
_JSON = 1 << 24  # bytes of a description of a data set
_DIGITS = 9
Say = Callable[[str], None]
Pair = tuple[str, str]  # an id, and where it is


def split_column(argument: str) -> tuple[str, str]:
    """Return the file, glob or folder of an argument, and what follows its colon; '' if nothing does.

    >>> split_column("a.parquet:mask"), split_column("a.tar"), split_column("s3://b/c.tar")
    (('a.parquet', 'mask'), ('a.tar', ''), ('s3://b/c.tar', ''))
    """
    place, colon, column = argument.rpartition(":")
    if not colon or not column or "/" in column or os.path.exists(argument):
        return argument, ""
    return (place, column) if _FILES.search(place) or is_saved(place) else (argument, "")


def is_packed(argument: str) -> bool:
    """Whether an argument names tars, Arrow files, a column of Parquet files, or a folder that `datasets`
    saved.

    >>> is_packed("a-*.tar"), is_packed("a.parquet:mask"), is_packed("a.parquet"), is_packed("images/")
    (True, True, False, False)
    """
    if "://" in argument:
        return False
    place, column = split_column(argument)
    if os.path.isdir(place):
        return is_saved(place)
    ending = os.path.splitext(place)[1].lower()
    return bool(_TAR.search(place)) or ending == ".arrow" or (ending in _TABLES and bool(column))


def is_there(argument: str) -> bool:
    """Whether there is a file, or a folder, that an argument names."""
    place, _ = split_column(argument)
    return os.path.exists(place) or (glob.has_magic(place) and bool(glob.glob(place, recursive=True)))


def kept_as(argument: str) -> str:
    """Return an argument with an absolute path."""
    place, column = split_column(argument)
    return os.path.abspath(place) + (f":{column}" if column else "")


def is_saved(folder: str) -> bool:
    """Whether a folder is one that `save_to_disk` of `datasets` writes."""
    return os.path.isfile(os.path.join(folder, _SPLITS)) or (
        os.path.isfile(os.path.join(folder, _STATE))
        and os.path.isfile(os.path.join(folder, "dataset_info.json"))
    )


def instead_of(folder: str, *, wants_maps: bool = False) -> str:
    """Return the advice for a folder that holds tars or tables instead of images, or results of tools instead
    of label maps; '' for any other.

    >>> instead_of("no such folder")
    ''
    """
    for above, _, names in os.walk(folder):
        for name in sorted(names):
            ending = os.path.splitext(name)[1].lower()
            if ending in (".tar", ".parquet"):
                return f"; its images are within files: give {shlex.quote(os.path.join(above, f'*{ending}'))}"
            if wants_maps and ending == ".json":
                return (
                    f"; results and labels of COCO are a file: give {shlex.quote(os.path.join(above, name))}"
                )
            if wants_maps and ending == ".txt" and "labels" in Path(folder).parts:
                return "; outlines of ultralytics are read from the folder that has labels/"
    return ""


def find_packed(argument: str, endings: frozenset[str], say: Say) -> list[Pair]:
    """Return (id, source) of what an argument names, of files in tars only those with these ``endings``;
    CorpusError in one sentence if it names nothing, or more than one thing.
    """
    place, column = split_column(argument)
    wants_maps = ".jpg" not in endings
    if is_saved(place):
        return _of_saved(place, column, wants_maps)
    paths = [place]
    if glob.has_magic(place) and not os.path.isfile(place):
        paths = sorted(glob.glob(place, recursive=True))
    if not paths or not os.path.isfile(paths[0]):
        raise CorpusError(f"{argument}: there is no file {place}")
    if _TAR.search(place):
        return _of_tars(argument, paths, column, endings, say)
    found = []
    above = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])
    for path in paths:
        name = os.path.splitext(os.path.relpath(path, above).replace(os.sep, "/"))[0]
        chosen = column or _only_column(path, path, wants_maps)
        found += _of_table(path, chosen, f"{name}/", 0)
    return found


def _of_saved(folder: str, column: str, wants_maps: bool) -> list[Pair]:
    """Return the rows of a folder of `datasets`, all splits of it."""
    splits = os.path.join(folder, _SPLITS)
    names = _json(splits).get("splits") if os.path.isfile(splits) else [""]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CorpusError(f"{splits}: has no list `splits`; save the data set again with save_to_disk")
    found = []
    for split in names:
        if split and ("/" in split or not is_inside(split)):
            raise CorpusError(f"{splits}: names the split {split[:80]!r}, which leads out of the folder")
        state = os.path.join(folder, split, _STATE)
        files = _json(state).get("_data_files")
        if not isinstance(files, list) or not files:
            raise CorpusError(f"{state}: names no files; save the data set again with save_to_disk")
        listed = [file.get("filename") if isinstance(file, dict) else None for file in files]
        first = 0
        for name in listed:
            if not isinstance(name, str) or "/" in name or not is_inside(name):
                raise CorpusError(f"{state}: names the file {str(name)[:80]!r}, which is not in its folder")
            path = os.path.join(folder, split, name)
            chosen = column or _only_column(path, folder, wants_maps)
            rows = _of_table(path, chosen, "", first, f"{split}/" if split else "")
            first += len(rows)
            found += rows
    return found


def _json(path: str) -> dict[str, Any]:
    data = read_bytes(path, CorpusError, limit=_JSON)
    held = parse_json(data, path, "a description of `datasets`", CorpusError)
    if not isinstance(held, dict):
        raise CorpusError(f"{path}: does not describe a data set; save it again with save_to_disk")
    return held


def _schema(path: str) -> pa.Schema:
    try:
        return columns_of(path)
    except OSError as fault:
        raise CorpusError(f"{path}: {fault.strerror or library_text(fault)}") from None
    except Exception as fault:  # noqa: BLE001 - a damaged file may raise nearly anything
        raise CorpusError(f"{path}: cannot be read: {library_text(fault)}") from None


def _only_column(path: str, named: str, wants_maps: bool) -> str:
    """Return the column of images in a file that was ``named`` without one; CorpusError if that is not
    certain.
    """
    schema = _schema(path)
    held = [name for name in schema.names if _holds_bytes(schema.field(name).type)]
    known = next((name for name in IMAGES if name in held), "")
    if known and not wants_maps:
        return known
    some = " or ".join(f"{named}:{name}" for name in held[:4])
    what = "label maps" if wants_maps else "images"
    if not held:
        known = ", ".join(schema.names[:8]) or "none"
        raise CorpusError(
            f"{path}: has no column of {what}, only {known}; expected the Image of `datasets`, or bytes"
        )
    raise CorpusError(f"{named}: name the column of {what} after a colon: {some}")


def _holds_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return "bytes" in [field.name for field in kind]
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _of_table(path: str, column: str, name: str, first: int, split: str = "") -> list[Pair]:
    """Return the rows of one file; numbers in ids begin at ``first``, after its ``name``, and every id with
    that of its ``split``.
    """
    schema = _schema(path)
    if column not in schema.names:
        raise CorpusError(
            f"{path}: has no column {column!r}; it has {', '.join(map(repr, schema.names[:12])) or 'none'}"
        )
    if not _holds_bytes(kind := schema.field(column).type):
        raise CorpusError(
            f"{path}: column {column!r} holds {str(kind)[:80]}; expected images or masks as bytes: with"
            f" `datasets`, cast_column({column!r}, Image())"
        )
    named = next((name for name in IDS if name in schema.names and _is_id(schema.field(name).type)), "")
    of_image = next((name for name in IMAGES if name in schema.names), column)
    count, values = _values(path, schema, named, of_image)
    ids = [
        split + (value if value and is_inside(value) else f"{name}{first + row:0{_DIGITS}}")
        for row, value in enumerate(values or [None] * count)
    ]
    return [(id_, f"{path}:{column}#{row}") for row, id_ in enumerate(ids)]


def _values(path: str, schema: pa.Schema, named: str, of_image: str) -> tuple[int, list[str | None]]:
    """Return the number of rows, and the names that they give their images, if they give any."""
    kind = schema.field(of_image).type
    has_path = pa.types.is_struct(kind) and "path" in [field.name for field in kind]
    source = named or (of_image if has_path else "")
    try:
        if is_arrow(path):
            held = arrow_column(path, source or of_image)
            for chunk in held.chunks:
                chunk.validate(full=True)
        else:
            file = pq.ParquetFile(path)
            if not source:
                return file.metadata.num_rows, []
            held = file.read(columns=[named or f"{of_image}.path"]).column(0)
        if not source:
            return len(held), []
        if named:
            return len(held), [None if value is None else str(value) for value in held.to_pylist()]
        places = [chunk.field("path") for chunk in held.chunks]
        values = [value for chunk in places for value in chunk.to_pylist()]
    except Exception as fault:  # noqa: BLE001 - a damaged file may raise nearly anything
        raise CorpusError(f"{path}: cannot be read: {library_text(fault)}") from None
    return len(held), [os.path.splitext(value)[0] if value else None for value in values]


def _is_id(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)


def _of_tars(
    argument: str, paths: Sequence[str], ending: str, endings: frozenset[str], say: Say
) -> list[Pair]:
    """Return the members of tars that have an ``ending``; without one, that of the only kind of images."""
    found: list[tuple[str, str, str]] = []
    keys: set[str] = set()
    for path in paths:
        for name in members(path, CorpusError):
            if match := _KEY.fullmatch(name.removeprefix("./")):
                keys.add(match[1])
                found.append((match[1], match[2], f"{path}#{name}"))
    kinds = Counter(kind for _, kind, _ in found)
    if ending and ending not in kinds:
        known = ", .".join(list(kinds)[:8])
        raise CorpusError(f"{argument}: no file in it ends in .{ending}; there are .{known}")
    chosen = ending or _kind_of_tars(argument, kinds, endings)
    pairs = [(key, source) for key, kind, source in found if kind == chosen]
    if missing := len(keys) - len(pairs):
        few = counted(missing, "of its samples has", "of its samples have")
        say(f"{argument}: {few} no .{chosen}, left out")
    return pairs


def _kind_of_tars(argument: str, kinds: Counter[str], endings: frozenset[str]) -> str:
    able = [kind for kind in kinds if f".{kind.rpartition('.')[2].lower()}" in endings]
    plain = [kind for kind in able if "." not in kind]
    what = "label maps" if ".jpg" not in endings else "images"
    if not able:
        known = ", ".join(f".{kind}" for kind in list(kinds)[:8]) or "nothing"
        raise CorpusError(f"{argument}: holds no {what}, only {known}; expected {' '.join(sorted(endings))}")
    if len(able) == 1:
        return able[0]
    if len(plain) == 1 and what == "images":
        return plain[0]
    words = " or ".join(f"{Path(argument).name}:{kind}" for kind in able[:4])
    raise CorpusError(f"{argument}: holds several kinds of {what}; name one after a colon: {words}")
