"""FORMATS: how images go out to people who label, and how labels come back.

Conventions: an entry is complete; `label export`, `label import`, their help and messages read it. Masks of label maps and
questions of classifiers are two classes of entries. Ids are those of the class list that people see; sizes are (width, height). A
person's own entry comes from ``file.py:NAME`` (`find_format`).
Source: PNG masks as data sets bring them, LabelMe's JSON, CSV as spreadsheets write it; questions: S2 2.1, 3.1.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from faultscape import plug
from faultscape.corpus.sources import MAP_ENDINGS
from faultscape.errors import FaultscapeError, LabellingError, LabelMapError, OptionError, closest, said_by
from faultscape.formats import labelme, png
from faultscape.labelling import answers, label_tables
from faultscape.labelling.label_tables import Lines
from faultscape.nouns import Classes


@dataclass(frozen=True)
class MaskFormat:
    """Label maps for a tool that draws.

    ``photo(folder, id)`` and ``label(folder, id)`` say where the files of an image lie.
    ``write(label, photo, size, ids, classes)`` returns the bytes of one label, of which ``ids`` (H, W) is what a model filled in,
    or None; without bytes no file is written. ``prepare(classes)`` returns {file of the folder: bytes} of what the tool must know
    of the classes. ``recognise(path)`` says whether a file with one of the ``endings`` is a label that somebody drew, one still
    empty, or something else; ``read(path, classes, size)`` returns its (H, W) ids, and raises LabelMapError or LabellingError.
    ``says`` is what to do with what was written, {folder} being its folder ``labels``, which is made where ``listed``: there
    masks may also come from a data set, with ids of another class list, which names and values tell.
    """

    name: str
    title: str
    says: str
    endings: frozenset[str]
    photo: Callable[[Path, str], Path]
    label: Callable[[Path, str], Path]
    write: Callable[[Path, Path, tuple[int, int], np.ndarray | None, Classes], bytes | None]
    prepare: Callable[[Classes], dict[str, bytes]]
    recognise: Callable[[str], str]
    read: Callable[[str, Classes, tuple[int, int]], np.ndarray]
    listed: bool = False
    task: Literal["segmentation"] = "segmentation"


@dataclass(frozen=True)
class QuestionFormat:
    """Questions about classes, and what people say in answer.

    ``write(questions, glosses)`` returns the text of a file of questions (image, class); ``filled(path)`` how many lines of such
    a file somebody filled in, and LabellingError where it is another; ``read(path, column)`` what a file says, with labels from
    the ``column`` where one is named. ``says`` is what to do with what was written.
    """

    name: str
    title: str
    says: str
    ending: str
    write: Callable[[Iterable[tuple[str, str]], Mapping[str, str]], str]
    filled: Callable[[Path], int]
    read: Callable[[Path, str], Lines]
    task: Literal["classification"] = "classification"


def _write_png(label: Path, _photo: Path, _size: tuple[int, int], ids: np.ndarray | None, classes: Classes) -> bytes | None:
    return None if ids is None else png.encode(ids, classes, label)


def _prepare_png(classes: Classes) -> dict[str, bytes]:
    entries = [
        {"index": i, "name": n, "color": list(c)} for n, i, c in zip(classes.names, classes.ids, classes.colours, strict=True)
    ]
    listed = {"classes": entries, "void": list(classes.void), "background": classes.background}
    return {"classes.json": (json.dumps(listed, indent=1, ensure_ascii=False) + "\n").encode()}


def _prepare_labelme(classes: Classes) -> dict[str, bytes]:
    """Return labels.txt, such a list as LabelMe reads; classes.json could be an image's own file there."""
    return {"labels.txt": "".join(f"{name}\n" for name in classes.names).encode()}


FORMATS: tuple[MaskFormat | QuestionFormat, ...] = (
    MaskFormat(
        name="png",
        title="mask",
        says="put each mask into {folder}, named as its image",
        endings=MAP_ENDINGS,
        photo=lambda folder, image: folder / "images" / f"{image}.png",
        label=lambda folder, image: folder / "labels" / f"{image}.png",
        write=_write_png,
        prepare=_prepare_png,
        recognise=lambda _: "drawn",
        read=lambda path, classes, _: png.read(path, classes),
        listed=True,
    ),
    MaskFormat(
        name="labelme",
        title="LabelMe",
        says="draw the shapes in LabelMe",
        endings=frozenset({".json"}),
        photo=lambda folder, image: folder / f"{image}.png",
        label=lambda folder, image: folder / f"{image}.json",
        write=lambda _, photo, size, ids, classes: labelme.encode(photo.name, size, ids, classes),
        prepare=_prepare_labelme,
        recognise=labelme.state,
        read=lambda path, classes, size: labelme.read(path, classes, size)[0],
    ),
    QuestionFormat(
        name="csv",
        title="CSV",
        says="fill in annotator and answer (yes, no, unsure)",
        ending=".csv",
        write=answers.question_table,
        filled=label_tables.filled,
        read=label_tables.read_lines,
    ),
)
_NAMED = {entry.name: entry for entry in FORMATS}
_TASKS = {
    "segmentation": ("label maps", "people draw masks"),
    "classification": ("classifiers", "people answer yes/no questions"),
}


@contextmanager
def plain_errors(form: MaskFormat | QuestionFormat, path: str | Path) -> Iterator[None]:
    """Say in one line, as LabellingError, how a format fails that does not raise our errors: a person's own may raise any."""
    try:
        yield
    except (FaultscapeError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise LabellingError(f"{path}: format {form.name}: {said_by(error)}") from error


def places_of(form: MaskFormat, folder: Path, image: str) -> tuple[Path, Path]:
    """Return where a format keeps the photo and the label of an image; LabellingError where a person's own fails, or names a place outside the ``folder``.

    >>> [path.name for path in places_of(FORMATS[1], Path("out"), "a")]
    ['a.png', 'a.json']
    """
    with plain_errors(form, folder):
        found = form.photo(folder, image), form.label(folder, image)
    for path in found:
        if not isinstance(path, Path):
            raise LabellingError(f"{folder}: format {form.name}: photo and label must return paths; got {type(path).__name__}")
        if not Path(os.path.normpath(path)).is_relative_to(os.path.normpath(folder)):
            raise LabellingError(f"{folder}: format {form.name}: photo and label must lie in the folder; got {path} for {image}")
    return found


def write_label(
    form: MaskFormat, label: Path, photo: Path, size: tuple[int, int], ids: np.ndarray | None, classes: Classes
) -> bytes | None:
    """Return the bytes of one label of an image of (width, height), or None where the format writes no file without ``ids`` (H, W); LabellingError where a person's own format fails."""
    with plain_errors(form, label):
        data = form.write(label, photo, size, ids, classes)
    if data is not None and not isinstance(data, bytes):
        raise LabellingError(f"{label}: format {form.name}: write must return bytes or None; got {type(data).__name__}")
    return data


def read_label(form: MaskFormat, path: str, classes: Classes, size: tuple[int, int]) -> np.ndarray:
    """Return the ids (H, W) of a label of a photo of (width, height); LabelMapError for another size, LabellingError where a person's own format fails or returns no ids."""
    with plain_errors(form, path):
        ids = form.read(path, classes, size)
    if not isinstance(ids, np.ndarray) or ids.ndim != 2 or ids.dtype.kind not in "iu":
        got = f"{ids.dtype} of shape {ids.shape}" if isinstance(ids, np.ndarray) else type(ids).__name__
        raise LabellingError(f"{path}: format {form.name}: read must return whole numbers, H x W; got {got}")
    if (found := ids.shape[::-1]) != size:
        raise LabelMapError(f"{path}: {labelme.wrong_size(found, size)}")
    if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) <= 65535:
        raise LabellingError(f"{path}: format {form.name}: ids are 0-65535; got {int(ids.min())} to {int(ids.max())}")
    return ids


def prepared_files(form: MaskFormat, folder: Path, classes: Classes) -> dict[Path, bytes]:
    """Return {path: bytes} of what a tool must know of the classes; LabellingError where a person's own format fails, or names a place outside the ``folder``."""
    with plain_errors(form, folder):
        found = {Path(os.path.normpath(folder / name)): data for name, data in form.prepare(classes).items()}
    for path, data in found.items():
        if not isinstance(data, bytes) or not path.is_relative_to(os.path.normpath(folder)):
            raise LabellingError(
                f"{folder}: format {form.name}: prepare must return bytes by the names of files in the folder; got {type(data).__name__} for {path}"
            )
    return found


def write_questions(form: QuestionFormat, path: Path, questions: Iterable[tuple[str, str]], glosses: Mapping[str, str]) -> bytes:
    """Return the bytes of a file of questions; LabellingError where a person's own format fails."""
    with plain_errors(form, path):
        text = form.write(questions, glosses)
        if isinstance(text, str):
            return text.encode()
    raise LabellingError(f"{path}: format {form.name}: write must return text; got {type(text).__name__}")


def count_filled(form: QuestionFormat, path: Path) -> int:
    """Return how many lines of a file of questions somebody filled in; LabellingError where it is another file, or a person's own format fails."""
    with plain_errors(form, path):
        number = form.filled(path)
    if not isinstance(number, int):
        raise LabellingError(
            f"{path}: format {form.name}: filled must return how many lines are filled in; got {type(number).__name__}"
        )
    return number


_SHAPES = {  # what Lines hold
    "labels": ((int, (str, str)), "(line, (image, labels joined by |))"),
    "answers": ((int, (str, str, str, str)), "(line, (image, class, annotator, answer))"),
    "discards": ((str, str), "(image, reason)"),
    "wrong": ((int, str, str), "(line, image, what is wrong)"),
}


def read_questions(form: QuestionFormat, path: Path, column: str) -> Lines:
    """Return what a file of labels, answers or discards says; LabellingError where a person's own format fails or returns something else than `Lines`."""
    with plain_errors(form, path):
        lines = form.read(path, column)
    if any(form is entry for entry in FORMATS):
        return lines
    if not isinstance(lines, Lines):
        raise LabellingError(
            f"{path}: format {form.name}: read must return faultscape.labelling.Lines; got {type(lines).__name__}"
        )
    for name, (shape, words) in _SHAPES.items():
        held = getattr(lines, name)
        odd = [held] if not isinstance(held, list) else [item for item in held if not _has_shape(item, shape)]
        if odd:
            raise LabellingError(f"{path}: format {form.name}: {name} is a list of {words}; got {odd[0]!r:.80}")
    for line, (*_, answer) in lines.answers:
        if answer not in answers.WORDS:
            raise LabellingError(
                f"{path}: format {form.name}: an answer is {', '.join(answers.WORDS)}; got {answer!r:.80} in line {line}"
            )
    return lines


def _has_shape(item: object, shape: type | tuple[Any, ...]) -> bool:
    """Whether something is a tuple of words and numbers as ``shape`` has them.

    >>> _has_shape((3, ("a", "b")), (int, (str, str))), _has_shape((3, "a"), (int, (str, str)))
    (True, False)
    """
    if isinstance(shape, type):
        return isinstance(item, shape)
    return isinstance(item, tuple) and len(item) == len(shape) and all(map(_has_shape, item, shape))


def find_format(name: str | None, task: str) -> MaskFormat | QuestionFormat:
    """Return the format of that name, or that ``file.py:NAME`` holds, for a task; None is the first of the task.

    OptionError for an unknown one, and for one of another task.

    >>> find_format(None, "classification").name
    'csv'
    """
    fitting = [entry for entry in FORMATS if entry.task == task]
    if name is None:
        return fitting[0]
    if name.rpartition(":")[0].endswith(".py"):
        form = plug.load("format", name)
        if not isinstance(form, MaskFormat | QuestionFormat):
            raise OptionError(f"format {name}: is neither a MaskFormat nor a QuestionFormat")
    elif name in _NAMED:
        form = _NAMED[name]
    else:
        raise OptionError(
            f"format {name!r} is not known; use {', '.join(_NAMED)}, or file.py:NAME, a format of your own.{closest(name, list(_NAMED))}"
        )
    if form.task != task:
        what, people = _TASKS[task]
        raise OptionError(
            f"--format {name} does not fit a study of {what}; use {' or '.join(entry.name for entry in fitting)}: {people}"
        )
    return form
