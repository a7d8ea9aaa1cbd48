"""The labels of a study, to be used elsewhere: as arrays, and as a folder of masks.

Conventions: masks are (H, W) ids of the study's class list at the size of the image, void ids where nothing
is said. Images are in corpus order; those that left the corpus are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.errors import LabellingError, OptionError, StudyError
from faultscape.labelling.answers import majority
from faultscape.labelling.catalogue import FORMATS, Format
from faultscape.labelling.format_calls import places_of, prepared_files, write_label
from faultscape.maps import runs
from faultscape.nouns import MAIN
from faultscape.progress import progress
from faultscape.reading.answers import read_label_sets
from faultscape.reading.maps import StoredLabels
from faultscape.reading.study import Study, opened
from faultscape.study.folder import put
from faultscape.study.tables import label_maps
from faultscape.verbs.label.result import MasksWritten, import_line

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelExportOptions


def held_labels(place: str, truth: str | None) -> Mapping[str, np.ndarray] | dict[str, str]:
    """Return the labels of a study by image; StudyError if there are none under this name."""
    study = opened(place)
    truth = study.truth(truth)
    return _classes_of(study, truth) if study.classifies else _masks(study, truth)


def _masks(study: Study, truth: str) -> Mapping[str, np.ndarray]:
    """Return {image id: (H, W) ids} of a truth; each mask is read when it is asked for."""
    if truth not in study.label_folders:
        points = truth in study.point_answers.truths()
        what = "answers to points" if points else "choices between two models"
        raise StudyError(f"truth {truth!r} holds {what}, and no mask")
    return StoredLabels(study, label_maps.truth(study.root, truth), runs.decode)


def _classes_of(study: Study, truth: str) -> dict[str, str]:
    """Return {image: its class}, as a table of labels names it: several joined by |, none for none of the
    classes; of answers, the classes that more people answered with yes than with no.
    """
    names = study.classes.names
    said: dict[str, set[str]] = {}
    for (image, class_), verdict in majority(study.answers.answers(truth)).items():
        if verdict:
            said.setdefault(image, set()).add(class_)
    out = {}
    for image, places in zip(study.images, read_label_sets(study, truth, study.images), strict=True):
        found = {names[place] for place in places} if places is not None else said.get(image)
        if found is not None:
            out[image] = "|".join(name for name in names if name in found) or "none"
    return out


def export_done(study: Study, options: LabelExportOptions, form: Format) -> MasksWritten:
    """Write every mask of a truth to OUT/labels, with classes.json, as `label import` reads them; OptionError
    for options that ask for images to label, LabellingError for a file with other contents.
    """
    listed = ", ".join(one.name for one in FORMATS if one.listed)
    if not form.listed:
        raise OptionError(f"--done writes masks, one file an image; formats for that: {listed}")
    about_todo = {
        "--selection": options.selection != MAIN,
        "--prefill": options.prefill is not None,
        "--again": options.again,
        "--anyway": options.anyway,
        "--outlines": options.outlines,
        "--annotators": bool(options.sessions.people),
    }
    if wrong := next((flag for flag, given in about_todo.items() if given), ""):
        raise OptionError(f"{wrong} is about images to label; --done writes every label that is there")
    folder = Path(options.out)
    truth = study.truth(options.truth)
    held = _masks(study, truth)
    images = study.corpus.images(held)
    with progress("export", len(images)) as tick:
        for image in images:
            photo, target = places_of(form, folder, image.id)
            ids = held[image.id]
            data = write_label(form, target, photo, ids.shape[::-1], ids, study.classes)
            _put_new(target, data or b"")
            tick(1)
    for path, data in prepared_files(form, folder, study.classes).items():
        _put_new(path, data)
    then = import_line("STUDY", options.out, truth)
    return MasksWritten(str(folder / "labels"), len(images), form.name, truth, then)


def _put_new(path: Path, data: bytes) -> None:
    if path.exists() and path.read_bytes() != data:
        raise LabellingError(
            f"{path}: already exists with other contents and is never overwritten; give another folder"
        )
    put(path, data)
