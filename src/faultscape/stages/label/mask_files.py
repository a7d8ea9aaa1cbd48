"""Labels with one file per image in a folder: which file belongs to which image, which files are still empty,
and how each is read.

Conventions: a reader returns (H, W) ids of the study's class list, at the image's size, counts the shapes
without an area, by their kind, in the Counter it is given, and raises LabelMapError or LabellingError.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.classes.mapping import of_label_ids
from faultscape.corpus.matches import fit, one_kind
from faultscape.corpus.photos import read_photo
from faultscape.corpus.sources import find
from faultscape.errors import CorpusError, ImageError, counted
from faultscape.formats.pictures import read_rgb
from faultscape.labelling.catalogue import MaskFormat
from faultscape.labelling.format_calls import plain_errors, read_label
from faultscape.nouns import Classes
from faultscape.prediction.sources.folder import check_values
from faultscape.study.tables.corpus import Image

Reader = Callable[[Counter[str]], np.ndarray]


def readers(
    path: Path,
    images: Mapping[str, Image],
    pattern: str | None,
    formats: Sequence[MaskFormat],
    classes: Classes,
) -> tuple[dict[str, Reader], int]:
    """Return {image id: reader of its label} for a folder, and how many files are still empty; files that
    match no image are reported.
    """
    files, empty = _label_files(path, images, pattern, formats)
    mapping = of_label_ids(classes, {id_: file for id_, (file, form) in files.items() if form.listed})
    places, words = table(classes, mapping), allowed(classes, mapping)
    read = {
        id_: partial(_read_label, *found, classes, images[id_], places, words, mapping)
        for id_, found in files.items()
    }
    return read, empty


def _label_files(
    path: Path, images: Mapping[str, Image], pattern: str | None, formats: Sequence[MaskFormat]
) -> tuple[dict[str, tuple[str, MaskFormat]], int]:
    """Return {image id: file and its format}, and how many files are still empty; files that match no image
    are reported.

    Formats recognised by content are tried before masks, because a mask can be any image: the image of a
    LabelMe file lies next to it.
    """
    masks = path / "labels" if (path / "labels").is_dir() else path
    files: dict[str, tuple[str, MaskFormat]] = {}
    problems, states, beside = list[tuple[MaskFormat, CorpusError]](), {}, set()
    for form in sorted(formats, key=lambda form: form.listed):
        say = print if form.listed else lambda _: None
        where = masks if form.listed else path
        there = find([where], endings=form.endings, pattern=pattern, strip=False, some_or_none=True, say=say)
        with plain_errors(form, path):
            states |= {f.path: form.recognise(f.path) for f in there}
        kind = [f for f in there if states[f.path] != "other" and os.path.splitext(f.path)[0] not in beside]
        kind = one_kind(kind, print) if form.listed else kind
        beside |= set() if form.listed else {os.path.splitext(f.path)[0] for f in kind}
        try:
            fitting = (
                fit(
                    str(path),
                    kind,
                    [image.id for image in images.values() if not image.parent],
                    pattern=pattern,
                )
                if kind
                else {}
            )
        except CorpusError as error:
            problems.append((form, error))
            continue
        if rest := sorted({f.path for f in kind} - set(fitting.values())):
            print(
                f"{counted(len(rest), 'file matches', 'files match')} no image of the study and"
                f" {'is' if len(rest) == 1 else 'are'} skipped; the first: {rest[0]}"
            )
        files = {id_: (file, form) for id_, file in fitting.items()} | files
    if problems and not files:
        raise problems[0][1]
    empty = {id_ for id_, (file, _) in files.items() if states[file] == "empty"}
    if beside and masks is path:  # images are next to files of shapes
        empty |= {id_ for id_, (file, form) in files.items() if form.listed and _is_photo(file, images[id_])}
    drawn = {id_: found for id_, found in files.items() if id_ not in empty}
    _tell_kinds([form for _, form in drawn.values()], problems)
    return drawn, len(empty)


def _tell_kinds(read: Sequence[MaskFormat], problems: Sequence[tuple[MaskFormat, CorpusError]]) -> None:
    """Print which kinds of file count as labels where a folder holds several."""
    kinds = Counter(form.title for form in read)
    if len(kinds) > 1 or problems:
        what = " and ".join(counted(number, f"{title} file") for title, number in kinds.items()) or "no files"
        print(f"labels come from {what}")
    for form, problem in problems:
        print(f"{form.title} files are ignored: {problem}")


def _is_photo(file: str, image: Image) -> bool:
    """Return whether a file shows the same pixels as the image itself."""
    try:
        return bool((read_rgb(file) == read_photo(image)[0]).all())
    except (ImageError, ValueError):
        return False


def _read_label(
    path: str,
    form: MaskFormat,
    classes: Classes,
    image: Image,
    places: np.ndarray,
    words: str,
    mapping: dict[str, str],
    left_out: Counter[str],
) -> np.ndarray:
    """Return one label at the image's size in the study's ids; LabelMapError or LabellingError otherwise."""
    photo = (image.width, image.height)
    label_map = read_label(form, path, classes, photo, left_out)
    if not form.listed:  # already in the study's own ids
        mapping, places = {}, table(classes)
    check_values(path, np.unique(label_map), places, words)
    if mapping:
        ids = np.array([*classes.ids, classes.void[0] if classes.void else 0], np.uint16)
        label_map = ids[places[label_map]]
    return label_map
