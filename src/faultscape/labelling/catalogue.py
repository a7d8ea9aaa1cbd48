"""FORMATS: how images are exported to people who label, and how labels are imported.

Conventions: an entry is complete; `label export`, `label import`, their help and messages read it. Masks of
label maps and questions of classifiers are two classes of entries. Ids are those of the class list that
people see; sizes are (width, height). Your own entry comes from ``file.py:NAME`` (`find_format`).
Source: PNG masks as data sets bring them, LabelMe's JSON, CSV as spreadsheets write it; questions: Wang et
al. 2020, section 2.1, 3.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from faultscape import plug
from faultscape.corpus.sources import MAP_ENDINGS
from faultscape.errors import OptionError, closest
from faultscape.formats import labelme, png
from faultscape.formats.label_tools import (
    coco_masks,
    coco_panoptic,
    cvat_images,
    cvat_masks,
    label_studio,
    labelme_rules,
)
from faultscape.formats.label_tools.named_ids import name_of_ids
from faultscape.formats.label_tools.tool_labels import ToolLabel
from faultscape.labelling import answers, label_tables
from faultscape.labelling.label_tables import Lines
from faultscape.nouns import Classes


@dataclass(frozen=True)
class MaskFormat:
    """Label maps for a tool that draws.

    ``says`` tells what to do with the exported files, {folder} being the folder ``labels``. ``endings`` are
    those of label files, in lower case, with the dot. ``photo`` takes (folder, image id) and returns the path
    of the file of an image. ``label`` takes the same and returns the path of its label file. ``write`` takes
    (label, image, size, ids, classes) and returns the bytes of one label, whose ids (H, W) a model prefilled,
    or None; if it returns no bytes, no file is written. ``prepare`` takes the classes and returns {file of
    the folder: bytes} that tells the tool about them. ``recognise`` takes the path of a file with one of the
    endings and returns "drawn" for a finished label, "empty" for one without a shape, or "other". ``read``
    takes (path, classes, size) and returns (H, W) ids, or raises LabelMapError or LabellingError.

    ``counts``: `read` also takes ``left_out``, a Counter, and counts in it, by kind, the shapes that it left
    out because they have no area.

    For ``listed`` formats the folder ``labels`` is created: its masks may also come from a data set, with ids
    of another class list, which names and values reveal. ``outlines``: `write` also takes this argument, and
    then writes polygons. ``check`` takes the path of a file, or of a folder of files, and returns what the
    tool would reject, in sentences; None for no check. ``same_as`` is the format that reads what this one
    wrote, '' for itself.
    """

    name: str  # what `--format` takes
    title: str  # its name in messages
    says: str
    endings: frozenset[str]
    photo: Callable[[Path, str], Path]
    label: Callable[[Path, str], Path]
    write: Callable[[Path, Path, tuple[int, int], np.ndarray | None, Classes], bytes | None]
    prepare: Callable[[Classes], dict[str, bytes]]
    recognise: Callable[[str], str]
    read: Callable[..., np.ndarray]
    listed: bool = False
    outlines: bool = False
    counts: bool = False
    check: Callable[[Path], list[str]] | None = None
    same_as: str = ""
    task: Literal["segmentation"] = "segmentation"  # the task of studies that it fits


@dataclass(frozen=True)
class BundleFormat:
    """Label maps for a tool that keeps those of many images in one file, or in files that belong together.

    ``says`` tells what to do with the exported files, {out} being their folder and {export} the file or
    folder ``returned`` in it, to which the tool's export goes; '' if people change the exported files.
    ``says_prefilled`` tells what to do instead if a model's maps are filled in, '' for the same. ``photo``
    takes (folder, image id) and returns the path of the file of an image. ``write`` takes (folder, images,
    classes), the images as `DrawnImage`, and yields (path in the folder, bytes) of all files but the images.
    ``recognise`` takes a path and returns whether it is a file of this format. ``read`` takes its path and
    returns its labels for each image, as `ToolLabel`. ``check`` takes its path and returns what the tool
    would reject, in sentences. ``outlines``: `write` also takes this argument, and then writes polygons.
    """

    name: str  # what `--format` takes
    title: str  # its name in messages
    says: str
    photo: Callable[[Path, str], Path]
    write: Callable[..., Iterable[tuple[Path, bytes]]]
    recognise: Callable[[Path], bool]
    read: Callable[[Path], Iterable[ToolLabel]]
    check: Callable[[Path], list[str]]
    outlines: bool = False
    says_prefilled: str = ""
    returned: str = ""
    task: Literal["segmentation"] = "segmentation"  # the task of studies that it fits


@dataclass(frozen=True)
class QuestionFormat:
    """Questions about classes, and people's answers.

    ``says`` tells what to do with the exported files. ``ending`` is that of a file of questions, with the
    dot. ``write`` takes questions (image, class) and the glosses of classes, and returns the text of a file.
    ``filled`` takes a path and returns how many lines of the file are filled in; LabellingError for any other
    file. ``read`` takes (path, column) and returns the content of a file, with labels from the column if one
    is named.
    """

    name: str  # what `--format` takes
    title: str  # its name in messages
    says: str
    ending: str
    write: Callable[[Iterable[tuple[str, str]], Mapping[str, str]], str]
    filled: Callable[[Path], int]
    read: Callable[[Path, str], Lines]
    task: Literal["classification"] = "classification"  # the task of studies that it fits


def _write_png(
    label: Path, _photo: Path, _size: tuple[int, int], ids: np.ndarray | None, classes: Classes
) -> bytes | None:
    return None if ids is None else png.encode(ids, classes, label)


def _prepare_png(classes: Classes) -> dict[str, bytes]:
    entries = [
        {"index": i, "name": n, "color": list(c)}
        for n, i, c in zip(classes.names, classes.ids, classes.colours, strict=True)
    ]
    listed = {"classes": entries, "void": list(classes.void), "background": classes.background}
    return {"classes.json": (json.dumps(listed, indent=1, ensure_ascii=False) + "\n").encode()}


def _prepare_labelme(classes: Classes) -> dict[str, bytes]:
    """Return labels.txt, the list that LabelMe reads, void included; classes.json could be an image's own
    file there.
    """
    names = dict.fromkeys(name_of_ids(classes).values())
    return {"labels.txt": "".join(f"{name}\n" for name in names).encode()}


def _write_plain(
    label: Path, _photo: Path, _size: tuple[int, int], ids: np.ndarray | None, _classes: Classes
) -> bytes | None:
    return None if ids is None else png.encode_index(ids, label)


def _write_colours(
    label: Path, _photo: Path, _size: tuple[int, int], ids: np.ndarray | None, classes: Classes
) -> bytes | None:
    return None if ids is None else png.encode_colours(ids, classes, label)


def _photo(folder: Path, image: str) -> Path:
    return folder / "images" / f"{image}.png"


def _masks(name: str, title: str, write: Callable[..., bytes | None], same_as: str = "") -> MaskFormat:
    """Return a format of masks with one PNG file each, named as their images."""
    return MaskFormat(
        name=name,
        title=title,
        says="put each mask into {folder}, named as its image",
        endings=MAP_ENDINGS,
        photo=_photo,
        label=lambda folder, image: folder / "labels" / f"{image}.png",
        write=write,
        prepare=_prepare_png,
        recognise=lambda _: "drawn",
        read=lambda path, classes, _: png.read(path, classes),
        listed=True,
        same_as=same_as,
    )


def _bundle(
    name: str,
    title: str,
    says: str,
    module: Any,
    *,
    write: Callable[..., Iterable[tuple[Path, bytes]]],
    outlines: bool = False,
    says_prefilled: str = "",
    returned: str = "",
) -> BundleFormat:
    """Return a format of a tool whose module reads, recognises and checks its files."""
    return BundleFormat(
        name,
        title,
        says,
        _photo,
        write,
        module.recognise,
        module.read,
        module.check,
        outlines,
        says_prefilled,
        returned,
    )


_STUDIO = (
    "make a project in Label Studio with the labelling interface of label_config.xml, serve {out} as local"
    " files, and import tasks.json; export it as JSON to {export}"
)
Format: TypeAlias = MaskFormat | BundleFormat | QuestionFormat
FORMATS: tuple[Format, ...] = (
    _masks("png", "mask", _write_png),
    _masks("png-index", "mask of plain ids", _write_plain, "png"),
    _masks("png-colours", "mask in class colours", _write_colours, "png"),
    MaskFormat(
        name="labelme",
        title="LabelMe",
        says="draw the shapes in LabelMe",
        endings=frozenset({".json"}),
        photo=lambda folder, image: folder / f"{image}.png",
        label=lambda folder, image: folder / f"{image}.json",
        write=lambda _, photo, size, ids, classes, outlines=False: labelme.encode(
            photo.name, size, ids, classes, outlines=outlines
        ),
        prepare=_prepare_labelme,
        recognise=labelme.state,
        read=lambda path, classes, size, left_out: labelme.read(path, classes, size, left_out=left_out)[0],
        outlines=True,
        counts=True,
        check=labelme_rules.check,
    ),
    _bundle(
        "cvat",
        "CVAT for images 1.1",
        "make a task of images/ in CVAT with the labels of labels.json; export it as CVAT for images 1.1"
        " to {export}",
        cvat_images,
        write=cvat_images.write,
        outlines=True,
        says_prefilled="make a task of images/ in CVAT with the labels of labels.json, and upload"
        " annotations.xml; export it as CVAT for images 1.1 to {export}",
        returned="export.zip",
    ),
    _bundle(
        "cvat-masks",
        "CVAT Segmentation mask 1.1",
        "make a task of images/ in CVAT with your classes as labels; export it as Segmentation mask 1.1"
        " to {export}",
        cvat_masks,
        write=cvat_masks.write,
        says_prefilled="make a task of images/ in CVAT with your classes as labels, and upload"
        " cvat-masks.zip; export it as Segmentation mask 1.1 to {export}",
        returned="export.zip",
    ),
    _bundle(
        "label-studio",
        "Label Studio",
        _STUDIO,
        label_studio,
        write=label_studio.write_brush,
        outlines=True,
        returned="export.json",
    ),
    _bundle(
        "label-studio-bitmask",
        "Label Studio with bitmasks",
        _STUDIO,
        label_studio,
        write=label_studio.write_bitmask,
        returned="export.json",
    ),
    _bundle(
        "coco-panoptic",
        "COCO panoptic",
        "draw the segments in a tool that knows COCO's panoptic format; export its JSON and masks to"
        " {export}",
        coco_panoptic,
        write=coco_panoptic.write,
        returned="export/",
    ),
    _bundle(
        "coco",
        "COCO",
        "draw the masks in a tool that knows COCO's format; export its JSON to {export}",
        coco_masks,
        write=coco_masks.write,
        returned="export.json",
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


def find_format(name: str | None, task: str) -> Format:
    """Return the format of that name, or the one in ``file.py:NAME``, for a task; None is the task's first
    format.

    OptionError for an unknown format, or one of another task.

    >>> find_format(None, "classification").name
    'csv'
    """
    fitting = [entry for entry in FORMATS if entry.task == task]
    if name is None:
        return fitting[0]
    if name.rpartition(":")[0].endswith(".py"):
        form = plug.load("format", name)
        if not isinstance(form, Format):
            raise OptionError(f"format {name}: expected a MaskFormat, BundleFormat or QuestionFormat")
    elif name in _NAMED:
        form = _NAMED[name]
    else:
        raise OptionError(
            f"format {name!r} is not known; use {', '.join(_NAMED)}, or file.py:NAME for your"
            f" own.{closest(name, list(_NAMED))}"
        )
    if form.task != task:
        what, people = _TASKS[task]
        names = " or ".join(", ".join(entry.name for entry in fitting).rsplit(", ", 1))
        raise OptionError(f"--format {name} does not fit a study of {what}; use {names}: {people}")
    return form
