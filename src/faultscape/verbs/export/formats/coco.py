"""coco: COCO's masks as run lengths, which pycocotools reads, and its panoptic format, for the labels and for
each model.

Conventions: truth/ and models/NAME/ hold instances.json (run lengths, a mask a class), panoptic.json and
panoptic/ (PNG of segments); a model also results.json, the list that ``COCO.loadRes`` takes, of the labelled
images alone, because pycocotools refuses results of others. An image has the same number in all files, and
its ``file_name`` is relative to images/. Masks of a model have the score 1. The background, or else void, has
no mask; in the panoptic format void alone has no segment.
Source: the data format of Lin et al. 2014, Microsoft COCO; the panoptic task's, Kirillov et al. 2019.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from faultscape.corpus.parquet_rows import row_of
from faultscape.formats.label_tools import coco_masks, coco_panoptic
from faultscape.formats.label_tools.tool_labels import DrawnImage
from faultscape.progress import progress
from faultscape.study.tables.corpus import Image
from faultscape.verbs.export import tables
from faultscape.verbs.export.contents import Contents
from faultscape.verbs.export.form import ExportFormat
from faultscape.verbs.export.image_files import file_name, write_image

IMAGES = "images"
Read = Callable[[Image], np.ndarray | None]


def write(folder: Path, contents: Contents) -> None:
    """Write the files of the labels and of each model, the images, and the two tables."""
    files = [_place_of(row.image, folder, contents) for row in contents.each("export images")]
    labelled = frozenset[int]()
    if contents.truth:
        labelled = _write_masks(folder / "truth", contents, files, contents.truth_of, "labels", score=None)
    for model in contents.models:
        where = folder / "models" / model

        def read(image: Image, model: str = model) -> np.ndarray | None:
            return contents.map_of(model, image)

        _write_masks(where, contents, files, read, model, score=1.0, labelled=labelled)
    (folder / "images.csv").write_bytes(tables.image_csv(contents))
    (folder / "models.csv").write_bytes(tables.model_csv(contents))
    (folder / "classes.json").write_bytes(tables.about_bytes(contents))


def _place_of(image: Image, folder: Path, contents: Contents) -> str:
    """Write the file of an image, and return its path relative to images/."""
    written = write_image(image, folder, IMAGES, contents.image_files)
    if not written:  # named as where it was collected, so that it is found in that folder
        ending = "" if row_of(image.source) else os.path.splitext(image.source)[1]
        written = file_name(image.id, IMAGES, ending if ending.isascii() and "/" not in ending else "")
    return posixpath.relpath(written, IMAGES)


def _write_masks(
    where: Path,
    contents: Contents,
    files: list[str],
    read: Read,
    whose: str,
    *,
    score: float | None,
    labelled: frozenset[int] = frozenset(),
) -> frozenset[int]:
    """Write the files of one model, or of the labels, and return the numbers of the images that it has."""
    where.mkdir(parents=True)

    def drawn(what: str) -> Iterator[DrawnImage]:
        with progress(f"export {what} of {whose}", len(files)) as tick:
            for image, file in zip(contents.images, files, strict=True):
                yield DrawnImage(image.id, file, (image.width, image.height), read(image))
                tick(1)

    found = coco_masks.files_of(drawn("masks"), contents.classes, score=score, judged=labelled)
    (where / "instances.json").write_bytes(found.instances)
    if found.results:  # pycocotools fails on an empty list
        (where / "results.json").write_bytes(found.results)
    for path, data in coco_panoptic.write(where, drawn("segments"), contents.classes):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return found.numbers


COCO = ExportFormat(
    "coco",
    title="COCO masks as run lengths, and COCO panoptic, of the labels and of each model",
    write=write,
    opens='pycocotools.coco.COCO({out} + "/{first}/instances.json")',
    tasks=("segmentation",),
)
