"""Labels that were given to `label.import_` as arrays, tensors or PIL images.

Conventions: they wait, as the files that people would hand in, in a temporary folder while the verb runs, so
that all is read and refused as files are. Labels belong to images as the maps of a model do.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from faultscape.arguments import shown
from faultscape.errors import LabellingError
from faultscape.formats import from_memory
from faultscape.reading.study import Study
from faultscape.verbs.in_memory.images import images_of

_FOLDER = "labels-in-memory"
CALLED = "memory://labels"  # in messages and in log.jsonl; as an upload, it is no place on this machine


def was_in_memory(source: str) -> bool:
    """Whether a source is the file or folder of labels that were in memory.

    >>> was_in_memory("/tmp/faultscape-1/labels-in-memory"), was_in_memory("labels")
    (True, False)
    """
    return _FOLDER in (Path(source).name, Path(source).parent.name)


@contextmanager
def as_files(study: Study, source: Any) -> Iterator[str]:
    """Yield the name of a file or folder: the source itself, or that of labels in memory; LabellingError for
    labels that do not belong to the images of the study.
    """
    if from_memory.is_place(source):
        yield os.fspath(source)
        return
    if callable(source):
        raise LabellingError(
            "expected a file, a folder or labels in memory (arrays, tensors, PIL images); got"
            f" {shown(source)}"
        )
    with tempfile.TemporaryDirectory(prefix="faultscape-") as folder:
        place = Path(folder, _FOLDER)
        place.mkdir()
        yield str(_answers(study, source, place) if study.classifies else _masks(study, source, place))


def _masks(study: Study, given: Any, place: Path) -> Path:
    """Write masks under the ids of their images, and return their folder."""
    waiting = place.parent / "waiting"
    waiting.mkdir()
    made = from_memory.write_maps(given, waiting, "labels", LabellingError)
    images = _images(study, made.ids, len(made.files), "mask")
    for id_, file in zip(images, made.files, strict=True):
        target = place / f"{id_}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        file.rename(target)
    return place


def _answers(study: Study, given: Any, place: Path) -> Path:
    """Write the classes of images to a table, and return it."""
    ids, classes = from_memory.answers(given, "labels", LabellingError)
    names = dict(zip(study.classes.ids, study.classes.names, strict=True))
    if (odd := next((one for one in classes if one not in names), None)) is not None:
        raise LabellingError(f"labels: {odd} is not the id of a class; ids are 0 to {max(names)}")
    table = place / "labels.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["image", "label"])
        images = _images(study, ids, len(classes), "label")
        rows.writerows(zip(images, map(names.__getitem__, classes), strict=True))
    return table


def _images(study: Study, ids: Sequence[str] | None, number: int, what: str) -> Sequence[str]:
    if not number:
        raise LabellingError(f"labels: got no {what}; give {{id: {what}}}")
    return images_of(study, ids, number, "labels", what, error=LabellingError)
