"""A classifier that is a table of what it said: CSV, Parquet or NPZ.

Conventions: a line an image: ``image`` (or ``id``), ``label``, and perhaps ``probability`` (or ``confidence``), ``label_2``, ``probability_2``, ... the likeliest first.
``FILE.csv:COLUMN`` takes another column for labels, with its probabilities in ``COLUMN_probability`` if that is there. ``FILE.npz:KEY`` is labels (I,) or
probabilities (I, C), ``FILE.npz:KEY:INDEX`` one column of labels (I, J); its rows are named by an array ``images``, else they are the study's images in the order in
which people count. A label is a class by name, id, WordNet id or synonym; a mapping file goes before all of these, and may say ``void``: no answer.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultscape.errors import ModelError, closest

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".csv", ".csv.gz", ".tsv", ".parquet", ".pq", ".npz")
TOP = 5  # of all probabilities, those that are kept
_IDS, _LABELS, _SURE = ("image", "id"), ("label", "prediction"), ("probability", "confidence")
UNKNOWN = -2  # in place of the id of a class that the study does not have
_ROUNDING = 2e-3  # probabilities that were written with three digits add up to one within this


@dataclass(frozen=True)
class Said:
    """What a table says: ``words`` (I, K) labels as they stand there ("" for none), ``probabilities`` (I, K) or None, ``images`` their names or None."""

    images: list[str] | None
    words: np.ndarray
    probabilities: np.ndarray | None


def split(source: str) -> tuple[str, tuple[str, ...]] | None:
    """Return a table's file and what stands behind it, parted by colons; None for what is no table.

    >>> split("preds.csv:resnet50"), split("p.npz:predictions:3"), split("net.onnx")
    (('preds.csv', ('resnet50',)), ('p.npz', ('predictions', '3')), None)
    """
    for ending in ENDINGS:
        match = re.fullmatch(rf"(.*{re.escape(ending)})((?::[^:]*)*)", source, re.IGNORECASE | re.DOTALL)
        if match:
            return match[1], tuple(match[2].split(":")[1:])
    return None


def read(source: str) -> Said:
    """Return what a table says; ModelError where it cannot be read, or has no such column."""
    found = split(source)
    assert found is not None
    path, picked = found
    if not Path(path).is_file():
        raise ModelError(f"{path}: no such file")
    if path.lower().endswith(".npz"):
        return _of_arrays(path, picked)
    if len(picked) > 1:
        raise ModelError(f"{source}: name one column behind the file, for example {path}:resnet50")
    return _of_columns(path, _table(path), picked[0] if picked else "")


def meanings(
    words: Sequence[str], resolve: Callable[[str], str | None], ids: dict[str, int], mapping: dict[str, str]
) -> np.ndarray:
    """Return the class id of each word, -1 for void and UNKNOWN for what is no class; ``resolve`` finds a class name, ``mapping`` goes before it."""
    names = [mapping.get(word) or resolve(word) for word in words]
    return np.array([-1 if name == "void" else UNKNOWN if name is None else ids[name] for name in names], np.int64)


def rows_of(said: Said, ids: Sequence[str], source: str) -> tuple[dict[str, int], int]:
    """Return {image id: row} and how many rows belong to no image; ModelError for a table whose rows cannot be told apart, or fit nothing."""
    if said.images is None:
        if len(said.words) != len(ids):
            raise ModelError(
                f"{source}: has {len(said.words)} rows without names, the study {len(ids)} images; add an array `images` that names them"
            )
        print(
            f"{source}: its rows have no names; they are taken as the images in the order in which people count, {min(ids, key=_counted)!r} first"
        )
        return {id_: row for row, id_ in enumerate(sorted(ids, key=_counted))}, 0
    wanted = set(ids)
    names = said.images if wanted & set(said.images) else [re.sub(r"\.\w{1,5}$", "", name) for name in said.images]
    place: dict[str, int] = {}
    for row, name in enumerate(names):
        if name in place:
            raise ModelError(f"{source}: has two lines of the image {name!r}; give each image one")
        place[name] = row
    found = {id_: place[id_] for id_ in ids if id_ in place}
    if not found:
        raise ModelError(
            f"{source}: names no image of the study; it has {names[0]!r}, the study {ids[0]!r}"
            if names
            else f"{source}: has no rows"
        )
    return found, len(place) - len(found)


def _of_columns(path: str, table: pa.Table, picked: str) -> Said:
    names = table.column_names
    image = next((name for name in _IDS if name in names), names[0] if names else "")
    label = picked or next((name for name in _LABELS if name in names), "")
    if not image or label not in names or label == image:
        wanted = f"column {picked!r}" if picked else f"column `label`; name one as {path}:COLUMN"
        raise ModelError(f"{path}: has no {wanted}; it has {', '.join(names[:8]) or 'none'}.{closest(picked, names)}")
    labels, sure = (
        [label],
        [
            next(
                (
                    f"{before}{s}"
                    for s in _SURE
                    for before in ([f"{label}_"] if picked else ["", f"{label}_"])
                    if f"{before}{s}" in names
                ),
                "",
            )
        ],
    )
    for k in range(2, 256):
        if f"{label}_{k}" not in names:
            break
        labels.append(f"{label}_{k}")
        sure.append(next((f"{before}{s}_{k}" for s in _SURE for before in ("", f"{label}_") if f"{before}{s}_{k}" in names), ""))
    if any(sure) and not all(sure):
        raise ModelError(
            f"{path}: {labels[sure.index('')]!r} has no column of probabilities, and others have; give all of them one, or none"
        )
    words = np.array([_texts(table[name]) for name in labels], dtype=object).T.reshape(table.num_rows, len(labels))
    if not all(sure):
        return Said(_texts(table[image]), words, None)
    values = np.array([_numbers(path, name, table[name]) for name in sure]).T.reshape(table.num_rows, len(labels))
    _shares(path, values)
    return Said(_texts(table[image]), words, values)


def _of_arrays(path: str, picked: tuple[str, ...]) -> Said:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, MemoryError) as error:
        raise ModelError(f"{path}: cannot be read as arrays: {' '.join(str(error).split())[:200]}") from None
    names = next((arrays[key] for key in ("images", "image", "ids", "id") if key in arrays), None)
    about = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
    key, *index = picked or (next(iter(arrays)) if len(arrays) == 1 else "",)
    if key not in arrays or len(index) > 1 or (index and not index[0].isdecimal()):
        raise ModelError(
            f"{path}: name an array, and of several models' labels a column, as {path}:KEY or {path}:KEY:INDEX; it has {about}"
        )
    array = arrays[key]
    if index and (array.ndim != 2 or int(index[0]) >= array.shape[1]):
        raise ModelError(f"{path}:{key}: has no column {index[0]}; its shape is {array.shape}")
    array = array[:, int(index[0])] if index else array
    images = None if names is None else [str(name) for name in names.ravel()]
    if images is not None and len(images) != len(array):
        raise ModelError(f"{path}: names {len(images)} images, and {key} has {len(array)} rows")
    if array.ndim == 1 and array.dtype.kind in "iuUS":
        return Said(images, array.astype(str).astype(object)[:, None], None)
    if array.ndim != 2 or array.dtype.kind != "f" or array.shape[1] < 2:
        raise ModelError(
            f"{path}:{key}: is {array.dtype} of shape {array.shape}; expected labels (I,), or probabilities (I, C); a column is {path}:{key}:INDEX"
        )
    shares = array.astype(np.float64)
    _shares(f"{path}:{key}", shares)
    if (np.abs(shares.sum(1) - 1) > _ROUNDING).any():
        raise ModelError(
            f"{path}:{key}: are no probabilities: a row adds up to {shares.sum(1)[np.argmax(np.abs(shares.sum(1) - 1))]:.3g}"
        )
    order = np.argsort(-shares, axis=1, kind="stable")[:, : min(TOP, shares.shape[1])]
    words = np.char.add("#", order.astype(str)).astype(object)  # a column is a class by its place
    return Said(images, words, np.take_along_axis(shares, order, 1))


def _table(path: str) -> pa.Table:
    """Return a file of columns as a table; ModelError where it is none."""
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    try:
        if path.lower().endswith((".parquet", ".pq")):
            return pq.read_table(path)
        parted = pc.ParseOptions(delimiter="\t" if ".tsv" in path.lower() else ",", newlines_in_values=True)
        with pc.open_csv(path, parse_options=parted) as first:
            names = first.schema.names
        words = pc.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
        return pc.read_csv(path, parse_options=parted, convert_options=words)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{path}: cannot be read as a table: {' '.join(str(error).split())[:200]}") from None


def _texts(column: Any) -> list[str]:
    return [
        "" if value is None else str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
        for value in column.to_pylist()
    ]


def _numbers(path: str, name: str, column: Any) -> np.ndarray:
    texts = _texts(column)
    try:
        return np.array([float(text) if text else np.nan for text in texts])
    except ValueError as error:
        raise ModelError(f"{path}: column {name!r}: {error}; expected probabilities between 0 and 1") from None


def _shares(where: str, values: np.ndarray) -> None:
    known = values[~np.isnan(values)]
    if len(known) and not (known.min() >= 0 and known.max() <= 1):
        odd = known.max() if known.max() > 1 else known.min()
        raise ModelError(
            f"{where}: probabilities lie between 0 and 1; got {odd:g}{'; divide per cent by 100' if 1 < odd <= 100 else ''}"
        )


def _counted(id_: str) -> list[Any]:
    """Return a key by which image 9 comes before image 10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", id_)]
