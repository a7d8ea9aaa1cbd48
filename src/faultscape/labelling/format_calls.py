"""Calls of formats with checks of their results, since your own may be wrong: they may raise anything, and
name paths anywhere.

Conventions: every failure is a LabellingError in one line that names the file and the format.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import FaultscapeError, LabellingError, LabelMapError, said_by
from faultscape.formats import labelme
from faultscape.formats.label_tools.tool_labels import DrawnImage
from faultscape.labelling import answers
from faultscape.labelling.catalogue import FORMATS, Format
from faultscape.labelling.label_tables import Lines
from faultscape.nouns import Classes


@contextmanager
def plain_errors(form: Format, path: str | Path) -> Iterator[None]:
    """Report in one line, as LabellingError, any error of a format that is not ours: your own may raise
    any.
    """
    try:
        yield
    except (FaultscapeError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise LabellingError(f"{path}: format {form.name}: {said_by(error)}") from error


def places_of(form: Format, folder: Path, image: str) -> tuple[Path, ...]:
    """Return the path that a format uses for the file of an image, and for its mask if it has a file of its
    own; LabellingError if your own format fails, or names a path outside the ``folder``.

    >>> (form,) = (form for form in FORMATS if form.name == "labelme")
    >>> [path.name for path in places_of(form, Path("out"), "a")]
    ['a.png', 'a.json']
    """
    with plain_errors(form, folder):
        texts = (form.photo, form.label) if form.kind == "masks" else (form.photo,)
        found = tuple(folder / text.format(image=image) for text in texts)
    for path in found:
        if path == folder or not _is_inside(path, folder):
            raise LabellingError(
                f"{folder}: format {form.name}: `photo` and `label` must be paths in the folder, such as"
                f" labels/{{image}}.png; got {path} for {image}"
            )
    return found


def _is_inside(path: Path, folder: Path) -> bool:
    return Path(os.path.normpath(path)).is_relative_to(os.path.normpath(folder))


def write_label(
    form: Format,
    label: Path,
    photo: Path,
    size: tuple[int, int],
    ids: np.ndarray | None,
    classes: Classes,
    *,
    outlines: bool = False,
) -> bytes | None:
    """Return the bytes of one label of an image of (width, height), or None if the format writes no file
    without ``ids`` (H, W); LabellingError if your own format fails.
    """
    with plain_errors(form, label):
        data = form.write(label, photo, size, ids, classes, **({"outlines": True} if outlines else {}))
    if data is not None and not isinstance(data, bytes):
        raise LabellingError(
            f"{label}: format {form.name}: write must return bytes or None; got {type(data).__name__}"
        )
    return data


def write_bundle(
    form: Format, folder: Path, images: Iterable[DrawnImage], classes: Classes, *, outlines: bool
) -> Iterator[tuple[Path, bytes]]:
    """Yield (path, bytes) of the files of a bundle; LabellingError if your own format fails, or names a path
    outside the ``folder``.
    """
    with plain_errors(form, folder):
        for path, data in form.write(folder, images, classes, **({"outlines": True} if outlines else {})):
            if not isinstance(path, Path) or not _is_inside(path, folder) or not isinstance(data, bytes):
                raise LabellingError(
                    f"{folder}: format {form.name}: write must yield paths in the folder with bytes; got"
                    f" {path}"
                )
            yield path, data


def recognises(form: Format, path: Path) -> bool:
    """Return whether a file has a format of masks or a bundle; LabellingError if your own format fails."""
    if form.kind == "masks":
        return path.suffix.lower() in form.endings and state_of(form, path) != "other"
    with plain_errors(form, path):
        return form.kind == "bundle" and form.recognise is not None and bool(form.recognise(path))


def state_of(form: Format, path: Path) -> str:
    """Return whether a mask is "drawn", "empty" or a file of something "other"; LabellingError if your own
    format fails.
    """
    with plain_errors(form, path):
        return "drawn" if form.recognise is None else str(form.recognise(path))


def check_file(form: Format, path: Path) -> list[str]:
    """Return what a tool would reject in a file or folder, in sentences; LabellingError if it cannot be read,
    or your own format fails.
    """
    with plain_errors(form, path):
        return [str(problem) for problem in form.check(path)] if form.check else []


def read_label(
    form: Format,
    path: str,
    classes: Classes,
    size: tuple[int, int],
    left_out: Counter[str] | None = None,
) -> np.ndarray:
    """Return the ids (H, W) of a label of an image of (width, height), and count the shapes without an area,
    by their kind, in ``left_out``; LabelMapError for another size, LabellingError if your own format fails or
    returns no ids.
    """
    counted = {"left_out": Counter() if left_out is None else left_out} if form.counts else {}
    with plain_errors(form, path):
        ids = form.read(path, classes, size, **counted)
    if not isinstance(ids, np.ndarray) or ids.ndim != 2 or ids.dtype.kind not in "iu":
        got = f"{ids.dtype} of shape {ids.shape}" if isinstance(ids, np.ndarray) else type(ids).__name__
        raise LabellingError(f"{path}: format {form.name}: read must return whole numbers, H x W; got {got}")
    if (found := ids.shape[::-1]) != size:
        raise LabelMapError(f"{path}: {labelme.wrong_size(found, size)}")
    if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) <= 65535:
        raise LabellingError(
            f"{path}: format {form.name}: ids must be 0-65535; got {int(ids.min())} to {int(ids.max())}"
        )
    return ids


def prepared_files(form: Format, folder: Path, classes: Classes) -> dict[Path, bytes]:
    """Return {path: bytes} of files that tell a tool about the classes; LabellingError if your own format
    fails, or names a path outside the ``folder``.
    """
    with plain_errors(form, folder):
        files = {} if form.prepare is None else form.prepare(classes)
        found = {Path(os.path.normpath(folder / name)): data for name, data in files.items()}
    for path, data in found.items():
        if not isinstance(data, bytes) or not _is_inside(path, folder):
            raise LabellingError(
                f"{folder}: format {form.name}: prepare must return bytes by the names of files in the"
                f" folder; got {type(data).__name__} for {path}"
            )
    return found


def write_questions(
    form: Format, path: Path, questions: Iterable[tuple[str, str]], glosses: Mapping[str, str]
) -> bytes:
    """Return the bytes of a file of questions; LabellingError if your own format fails."""
    with plain_errors(form, path):
        text = form.write(questions, glosses)
        if isinstance(text, str):
            return text.encode()
    raise LabellingError(f"{path}: format {form.name}: write must return text; got {type(text).__name__}")


def count_filled(form: Format, path: Path) -> int:
    """Return how many lines of a file of questions are filled in; LabellingError for any other file, or if
    your own format fails.
    """
    with plain_errors(form, path):
        number = None if form.recognise is None else form.recognise(path)
    if not isinstance(number, int):
        raise LabellingError(
            f"{path}: format {form.name}: recognise must return how many lines are filled in; got"
            f" {type(number).__name__}"
        )
    return number


_SHAPES = {  # what Lines hold
    "labels": ((int, (str, str)), "(line, (image, labels joined by |))"),
    "answers": ((int, (str, str, str, str)), "(line, (image, class, annotator, answer))"),
    "discards": ((str, str), "(image, reason)"),
    "wrong": ((int, str, str), "(line, image, what is wrong)"),
}


def read_questions(form: Format, path: Path, column: str) -> Lines:
    """Return the content of a file of labels, answers or discards; LabellingError if your own format fails or
    returns anything but `Lines`.
    """
    with plain_errors(form, path):
        lines = form.read(path, column)
    if any(form is entry for entry in FORMATS):
        return lines
    if not isinstance(lines, Lines):
        raise LabellingError(
            f"{path}: format {form.name}: read must return faultscape.labelling.Lines; got"
            f" {type(lines).__name__}"
        )
    for name, (shape, words) in _SHAPES.items():
        held = getattr(lines, name)
        odd = [held] if not isinstance(held, list) else [item for item in held if not _has_shape(item, shape)]
        if odd:
            raise LabellingError(
                f"{path}: format {form.name}: {name} must be a list of {words}; got {odd[0]!r:.80}"
            )
    for line, (*_, answer) in lines.answers:
        if answer not in answers.WORDS:
            raise LabellingError(
                f"{path}: format {form.name}: an answer must be {', '.join(answers.WORDS)}; got"
                f" {answer!r:.80} in line {line}"
            )
    return lines


def _has_shape(item: object, shape: type | tuple[Any, ...]) -> bool:
    """Return whether an object is a tuple of words and numbers with the structure of ``shape``.

    >>> _has_shape((3, ("a", "b")), (int, (str, str))), _has_shape((3, "a"), (int, (str, str)))
    (True, False)
    """
    if isinstance(shape, type):
        return isinstance(item, shape)
    return isinstance(item, tuple) and len(item) == len(shape) and all(map(_has_shape, item, shape))
