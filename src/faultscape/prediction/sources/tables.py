"""A classifier that is a table of what it said: CSV, Parquet or NPZ.

Conventions: a line an image: ``image`` (or ``id``, ``filename`` and their kin, or the first column),
``label`` (or ``prediction``, ``class``, ...), and perhaps ``probability`` (or ``confidence``; ``score`` where
it is one), ``label_2``, ``probability_2``, ... the likeliest first; which columns were taken is said where
they are called otherwise. A name with and without the ending of an image is one image. ``FILE.csv:COLUMN``
takes another column for labels, with its probabilities in ``COLUMN_probability`` if that is there, or in the
one column of probabilities where these can only be its own. ``FILE.npz:KEY`` is labels (I,) or probabilities
(I, C), ``FILE.npz:KEY:INDEX`` one column of labels (I, J); its rows are named by an array ``images``, else
they are the study's images in natural order, where no other order is available. A label is a class by name,
id, WordNet id or synonym, a column of probabilities the class at its place; a mapping file goes before all of
these, and may say ``void``: no answer.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faultscape.corpus.id_lists import called, counting, ids_meant, what_is
from faultscape.corpus.sources import HEADS
from faultscape.errors import ModelError, closest, counted
from faultscape.formats import tables
from faultscape.formats.guard import decoding, read_bytes
from faultscape.maps.class_answers import MOST

ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq", ".npz")
TOP = 5  # of all probabilities, those that are kept
_LABELS = ("label", "prediction", "predicted_label", "predicted_class", "predicted", "pred", "class")
_SURE = ("probability", "confidence", "prob", "score")
# what is taken without a word
_PLAIN = frozenset(("image", "id", "label", "prediction", "probability", "confidence"))
UNKNOWN = -2  # instead of the id of a class that the study does not have
_ROUNDING = 2e-3  # probabilities that were written with three digits add up to one within this
_MOST_BYTES = 1 << 33


@dataclass(frozen=True)
class Said:
    """What a table says: ``words`` (I, K) labels as given ("" for none), ``probabilities`` (I, K) or None,
    ``images`` their names or None.

    ``columns`` is how many classes a table of all probabilities has: its words are their places; 0 where
    words are labels.
    """

    images: list[str] | None
    words: np.ndarray
    probabilities: np.ndarray | None
    columns: int = 0
    notes: tuple[str, ...] = ()  # which columns were taken, where they are called otherwise than usual


def split(source: str) -> tuple[str, tuple[str, ...]] | None:
    """Return a table's file and what follows it, separated by colons; None for what is not a table.

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
    path, picked = split(source) or (source, ())
    if not Path(path).is_file():
        raise ModelError(f"{path}: there is no such file")
    if path.lower().endswith(".npz"):
        return _of_arrays(path, picked)
    return _of_columns(path, ":".join(picked))  # the name of a column may hold a colon


def meanings(
    words: Sequence[str], resolve: Callable[[str], str | None], ids: dict[str, int], mapping: dict[str, str]
) -> np.ndarray:
    """Return the class id of each word, -1 for void and UNKNOWN for what is not a class; ``resolve`` finds a
    class name, ``mapping`` goes before it.
    """
    plain = [re.sub(r"(?<=\d)\.0+$", "", word) for word in words]  # numbers with gaps are written as 3.0
    names = [
        mapping.get(word) or resolve(word) or mapping.get(n) or resolve(n)
        for word, n in zip(words, plain, strict=True)
    ]
    return np.array(
        [-1 if name == "void" else UNKNOWN if name is None else ids[name] for name in names], np.int64
    )


def rows_of(
    said: Said, ids: Sequence[str], source: str, *, unclear: str = "", say: Callable[[str], None] = print
) -> tuple[dict[str, int], int]:
    """Return {image id: row} and how many rows belong to no image; ModelError for a table whose rows cannot
    be told apart, or fit nothing.

    ``unclear`` says why the order of the study's images is not one that everybody would take; rows without
    names are refused then.
    """
    if not len(said.words):
        raise ModelError(f"{source}: has no rows")
    if said.images is None:
        if len(said.words) != len(ids):
            raise ModelError(
                f"{source}: has {counted(len(said.words), 'row')} without names, but the study has"
                f" {counted(len(ids), 'image')}; add an array `images` that names them"
            )
        if unclear:
            raise ModelError(
                f"{source}: its rows have no names, and {unclear}; add an array `images` that names the"
                " image of each row"
            )
        order = sorted(ids, key=counting)
        say(
            f"{source}: its rows have no names; assuming the images in natural order, {order[0]!r} first"
            f" and {order[-1]!r} last"
        )
        return {id_: row for row, id_ in enumerate(order)}, 0
    meant = ids_meant(said.images, ids)
    names = [meant[name] for name in said.images]
    place = dict(zip(names, range(len(names)), strict=True))
    if len(place) < len(names):
        _refuse_twice(said.images, names, source)
    found = {id_: place[id_] for id_ in ids if id_ in place}
    if not found:
        raise ModelError(f"{source}: names no image of the study; it has {names[0]!r}, the study {ids[0]!r}")
    return found, len(place) - len(found)


def _refuse_twice(given: Sequence[str], names: Sequence[str], source: str) -> None:
    """ModelError for a table in which an image has two lines, by one name or by two, with and without an
    ending.
    """
    (again, _), count = Counter(names).most_common(1)[0], sum(times > 1 for times in Counter(names).values())
    ways = list(dict.fromkeys(said for said, name in zip(given, names, strict=True) if name == again))
    if len(ways) > 1 and again in ways:
        raise ModelError(
            f"{source}: has two rows for {counted(count, 'image')}, named with and without a file extension"
            f" ({ways[0]!r} and {ways[1]!r}); give each image one row"
        )
    raise ModelError(f"{source}: has two rows for the image {again!r}; give each image one row")


def _of_columns(path: str, picked: str) -> Said:
    names = tables.names_of(path)
    image = called(HEADS, names) or (names[0] if names else "")
    label = picked or called(_LABELS, [name for name in names if name != image])
    if not image or label not in names or label == image:
        wanted = f"column of labels {picked!r}" if picked else f"column `label`; name one as {path}:COLUMN"
        near = closest(picked, [name for name in names if name != image]) if picked else ""
        if other := (
            tables.parted_otherwise(names, tabs=".tsv" in path.lower()) if tables.is_text(path) else ""
        ):
            raise ModelError(f"{path}: {other}")
        bare = (
            ""
            if picked or called(HEADS, names) or not tables.is_text(path)
            else ", its first line, which is read as the column names"
        )
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        there = ", ".join(name[:60] for name in names[:8])
        raise ModelError(f"{path}: has no {wanted}; it has {there}{more}{bare}.{near}")
    if (
        tables.is_text(path)
        and what_is(names, _first_cells(path, names), columns=(*HEADS, label.strip().lower())) != "columns"
    ):
        raise ModelError(
            f"{path}: its first line ({', '.join(names)[:80]}) looks like an image, not like column names;"
            " add a header line such as image,label"
        )
    beside = _beside(names, label) if picked else []
    # a column that its probabilities are called after
    own = "" if len(beside) == 1 and _belongs(names, image, label, beside[0]) else picked
    labels = [label]
    sure = [_sure(names, label, "", own)]
    while (more := f"{label}_{len(labels) + 1}") in names and len(labels) < MOST:
        likely = _sure(names, label, f"_{len(labels) + 1}", own)
        if picked and not likely:
            break  # the column of another model
        labels = [*labels, more]
        sure = [*sure, likely]
    if any(sure) and not all(sure):
        raise ModelError(
            f"{path}: {labels[sure.index('')]!r} has no column of probabilities but others do; give all of"
            " them one, or none"
        )
    if twice := next((name for name in (image, *labels, *sure) if names.count(name) > 1), None):
        raise ModelError(f"{path}: has two columns {twice!r}; give each its own name")
    table = tables.read(path, [image, *labels, *filter(None, sure)])
    words = np.array([_texts(table, name).to_pylist() for name in labels], dtype=object)
    words = words.T.reshape(table.num_rows, len(labels))
    images = _texts(table, image).to_pylist()
    notes = _column_notes(path, image, labels, sure, always=bool(picked)) if not own else ()
    if own and beside:
        notes = (
            (
                f"{path}: {', '.join(map(repr, beside))} {'is' if len(beside) == 1 else 'are'} not read,"
                f" since nothing says of which labels; probabilities of {label!r} stand in a column"
                f" `{label}_probability`"
            ),
        )
    if not all(sure):
        return Said(images, words, None, notes=notes)
    values = np.array([_numbers(path, name, table) for name in sure]).T.reshape(words.shape)
    if (
        sure[0] not in ("probability", "confidence")
        and not own
        and (np.nan_to_num(values, nan=0) > 1).any() | (values < 0).any()
    ):
        note = f"{path}: {sure[0]!r} has values outside 0..1, so it is not read as probabilities"
        return Said(images, words, None, notes=(*_column_notes(path, image, labels, [""]), note))
    _shares(path, values)
    if (np.diff(values, axis=1) > 0).any() or (np.nansum(values, 1) > 1 + _ROUNDING).any():
        row = int(
            (
                (np.diff(values, axis=1, prepend=np.inf) > 0).any(1) | (np.nansum(values, 1) > 1 + _ROUNDING)
            ).argmax()
        )
        raise ModelError(
            f"{_line(path, row)}: {images[row]!r} has probabilities"
            f" {', '.join(f'{v:g}' for v in values[row])}; expected the likeliest first and a sum of at"
            " most 1"
        )
    return Said(images, words, values, notes=notes)


def _first_cells(path: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the cells below the first one of a file's first line, which is read when the first of them is
    asked for.
    """
    yield from (
        _texts(tables.read(path, names[:1]), names[0]).to_pylist() if names.count(names[0]) == 1 else ()
    )


def _column_notes(
    path: str, image: str, labels: Sequence[str], sure: Sequence[str], *, always: bool = False
) -> tuple[str, ...]:
    """Return which columns were taken, where one of them is called otherwise than usual, or ``always``."""
    taken = {"images": image, "labels": labels[0], "probabilities": sure[0]}
    if not always and {column for column in taken.values() if column} <= _PLAIN:
        return ()
    return (f"{path}: {', '.join(f'{what} from {column!r}' for what, column in taken.items() if column)}",)


def _beside(names: Sequence[str], label: str) -> list[str]:
    """Return the columns of probabilities that are called after no labels, where a column of labels has none
    that are called after it.

    >>> _beside(["image", "net", "score"], "net"), _beside(["image", "net", "score", "net_score"], "net")
    (['score'], [])
    """
    return (
        [] if _sure(names, label, "", label) else [name for name in names if name in _SURE and name != label]
    )


def _belongs(names: Sequence[str], image: str, label: str, sure: str) -> bool:
    """Whether probabilities can only be those of a column of labels: no other is there, or none of a known
    name where its own is known.
    """
    others = [name for name in names if name not in (image, label, sure)]
    known = label.strip().lower() in _LABELS and not any(name.strip().lower() in _LABELS for name in others)
    return known or not others


def _sure(names: Sequence[str], label: str, behind: str, picked: str) -> str:
    """Return the column with the probabilities of a column of labels, or nothing."""
    before = [f"{label}_"] if picked else ["", f"{label}_"]
    return next((name for sure in _SURE for b in before if (name := f"{b}{sure}{behind}") in names), "")


def _of_arrays(path: str, picked: tuple[str, ...]) -> Said:
    arrays = _arrays(path)
    about = ", ".join(f"{key} {array.shape}" for key, array in arrays.items()) or "none"
    key, *index = picked or (next(iter(arrays)) if len(arrays) == 1 else "",)
    if picked and key not in arrays:
        raise ModelError(f"{path}: has no array {key!r}; it has {about}.{closest(key, tuple(arrays))}")
    if key not in arrays or len(index) > 1 or (index and not re.fullmatch(r"[0-9]{1,9}", index[0])):
        raise ModelError(
            f"{path}: name an array (and a column, for labels of several models), as {path}:KEY or"
            f" {path}:KEY:INDEX; it has {about}"
        )
    array = arrays[key]
    names = next((arrays[k] for k in ("images", "image", "ids", "id") if k in arrays), None)
    if index and (array.ndim != 2 or int(index[0]) >= array.shape[1]):
        raise ModelError(f"{path}:{key}: has no column {index[0]}; its shape is {array.shape}")
    array = array[:, int(index[0])] if index else array
    images = None if names is None else [word.strip() for word in _words(path, names.ravel())]
    if images is not None and (array.ndim == 0 or len(images) != len(array)):
        raise ModelError(f"{path}: names {len(images)} images, and {key} is of shape {array.shape}")
    if array.ndim == 1 and array.dtype.kind in "iuUS":
        return Said(
            images,
            np.array([word.strip() for word in _words(path, array)], dtype=object).reshape(-1, 1),
            None,
        )
    if array.ndim != 2 or array.dtype.kind != "f" or array.shape[1] < 2:
        raise ModelError(
            f"{path}:{key}: is {array.dtype} of shape {array.shape}; expected labels (I,), or probabilities"
            f" (I, C); a column is {path}:{key}:INDEX"
        )
    shares = array.astype(np.float64)
    _shares(path, shares, key)
    off = np.abs(shares.sum(1) - 1)
    if not (off <= _ROUNDING).all():  # NaN among them
        row = int((~(off <= _ROUNDING)).argmax())
        raise ModelError(f"{path}:{key}: are not probabilities: row {row} sums to {shares[row].sum():.3g}")
    order = np.argsort(-shares, axis=1, kind="stable")[:, :TOP]
    return Said(
        images, order.astype(str).astype(object), np.take_along_axis(shares, order, 1), shares.shape[1]
    )


def _arrays(path: str) -> dict[str, np.ndarray]:
    """Return the arrays of an NPZ file; ModelError where it is none, holds objects, or unpacks to more than
    is read.
    """
    data = read_bytes(path, ModelError, limit=_MOST_BYTES)
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise ModelError(f"{path}: is not an NPZ file, or is truncated; write it again with numpy.savez")
    with decoding(path, ModelError):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _MOST_BYTES:
                raise ModelError(f"{path}: unpacks to more than {_MOST_BYTES >> 30} GiB")
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            held = {name: file[name] for name in file.files}
    return {name: array for name, array in held.items() if isinstance(array, np.ndarray)}


def _words(path: str, array: np.ndarray) -> list[str]:
    """Return numbers or words of an array as texts."""
    if array.dtype.kind == "S":
        with decoding(path, ModelError):
            return [word.decode() for word in array.tolist()]
    return [str(word) for word in array.tolist()]


def _texts(table: pa.Table, name: str) -> Any:
    """Return a column as texts without blanks around them, "" for what is missing."""
    texts = table[name].cast(pa.string())
    return pc.call_function("utf8_trim_whitespace", [pc.call_function("coalesce", [texts, pa.scalar("")])])


def _numbers(path: str, name: str, table: pa.Table) -> np.ndarray:
    """Return a column of probabilities, NaN where one is missing."""
    texts = _texts(table, name)
    given = pc.call_function(
        "if_else", [pc.call_function("equal", [texts, ""]), pa.scalar(None, pa.string()), texts]
    )
    try:
        return given.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        row, word = next((row, word) for row, word in enumerate(texts.to_pylist()) if not _is_number(word))
        raise ModelError(
            f"{_line(path, row)}: {name} is {word[:60]!r}; expected a number between 0 and 1, or nothing"
        ) from None


def _is_number(word: str) -> bool:
    """Whether Arrow reads a text as a number, or there is none."""
    try:
        return not word or pa.scalar(word).cast(pa.float64()) is not None
    except pa.ArrowInvalid:
        return False


def _line(path: str, row: int) -> str:
    """Return a file and where a row stands in it: below a first line, but in Parquet and arrays."""
    plain = tables.is_text(path)
    return f"{path}, line {row + 2}" if plain else f"{path}, row {row}"


def _shares(path: str, values: np.ndarray, key: str = "") -> None:
    """ModelError that names the first row whose probabilities (I, K) leave 0..1; those of an array are called
    by its ``key``.
    """
    off = ~np.isnan(values) & ~((values >= 0) & (values <= 1))
    if off.any():
        row = int(off.any(1).argmax())
        raise ModelError(
            f"{_line(path, row)}{key and f' of {key}'}: probabilities lie between 0 and 1; got"
            f" {values[row][off[row]][0]:g}{_cure(values, whole=bool(key))}"
        )


def _cure(values: np.ndarray, *, whole: bool) -> str:
    """Return how to make probabilities of numbers (I, K) that are none: of ``whole`` rows, which hold all
    classes, percentages are told from logits by their sum.

    >>> _cure(np.array([[70.0, 30.0]]), whole=True), _cure(np.array([[7.0, 1.0]]), whole=True)
    ('; divide percentages by 100', '; apply softmax to logits')
    """
    least = np.nanmin(values)
    most = np.nanmax(values)
    if not np.isfinite([least, most]).all():
        return ""
    if least < 0 or most > 100 or (whole and (np.abs(values.sum(1) - 100) > 1).any()):
        return "; apply softmax to logits"
    return "; divide percentages by 100" + ("" if whole else ", or apply softmax to logits")
