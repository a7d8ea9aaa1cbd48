"""FORMATS: how images are exported to people who label, and how labels are imported.

Conventions: an entry is complete; `label export`, `label import`, their help and messages read it. Those of
tools stand at the end of their codec's file. Ids are those of the class list that people see; sizes are
(width, height). Your own entry comes from ``file.py:NAME`` (`find_format`).
Source: PNG masks as data sets bring them, LabelMe's JSON, CSV as spreadsheets write it; questions: Wang et
al. 2020, section 2.1, 3.1.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np

from faultscape import plug
from faultscape.corpus.sources import MAP_ENDINGS
from faultscape.errors import OptionError, closest
from faultscape.formats import labelme, png
from faultscape.formats.label_tools import coco_masks, coco_panoptic, cvat_images, cvat_masks, label_studio
from faultscape.formats.label_tools.cvat_points import CVAT_POINTS
from faultscape.formats.label_tools.label_studio_points import LABEL_STUDIO_POINTS
from faultscape.formats.label_tools.tool_labels import Format, Kind
from faultscape.labelling import answers, label_tables
from faultscape.labelling.point_tables import POINTS
from faultscape.nouns import Classes


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


def _write_plain(
    label: Path, _photo: Path, _size: tuple[int, int], ids: np.ndarray | None, _classes: Classes
) -> bytes | None:
    return None if ids is None else png.encode_index(ids, label)


def _write_colours(
    label: Path, _photo: Path, _size: tuple[int, int], ids: np.ndarray | None, classes: Classes
) -> bytes | None:
    return None if ids is None else png.encode_colours(ids, classes, label)


PNG = Format(
    "png",
    title="mask",
    says="put each mask into {folder}, named as its image",
    kind="masks",
    write=_write_png,
    read=lambda path, classes, _: png.read(path, classes),
    endings=MAP_ENDINGS,
    label="labels/{image}.png",
    prepare=_prepare_png,
    listed=True,
)
CSV = Format(
    "csv",
    title="CSV",
    says="fill in annotator and answer (yes, no, unsure)",
    kind="questions",
    write=answers.question_table,
    read=label_tables.read_lines,
    recognise=label_tables.filled,
    endings=frozenset({".csv"}),
)
FORMATS: tuple[Format, ...] = (
    PNG,
    replace(PNG, name="png-index", title="mask of plain ids", write=_write_plain, same_as="png"),
    replace(PNG, name="png-colours", title="mask in class colours", write=_write_colours, same_as="png"),
    labelme.LABELME,
    cvat_images.CVAT,
    cvat_masks.CVAT_MASKS,
    label_studio.LABEL_STUDIO,
    label_studio.LABEL_STUDIO_BITMASK,
    coco_panoptic.COCO_PANOPTIC,
    coco_masks.COCO,
    POINTS,
    CSV,
)
POINT_FORMATS: tuple[Format, ...] = (POINTS, CVAT_POINTS, LABEL_STUDIO_POINTS)  # of selections of points
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
            raise OptionError(f"format {name}: expected a Format; got {type(form).__name__}")
        if form.kind not in get_args(Kind):
            raise OptionError(f"format {name}: kind is {', '.join(get_args(Kind))}; got {form.kind!r}")
        if form.kind != "masks" and form.recognise is None:
            raise OptionError(f"format {name}: a format of the kind {form.kind} needs `recognise`")
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


def point_format(form: Format, selection: str) -> Format:
    """Return the format in which a tool is asked about the points of a ``selection``; OptionError for one
    that cannot ask about points.
    """
    found = next((entry for entry in POINT_FORMATS if entry.name == form.name), None)
    if found is None:
        names = " or ".join(", ".join(entry.name for entry in POINT_FORMATS).rsplit(", ", 1))
        raise OptionError(
            f"selection {selection!r} asks about points, with --format {names}; --format {form.name} does not"
            " fit it"
        )
    return found
