"""The labels of a study, to be used elsewhere: as arrays, and as a folder of masks.

Conventions: masks are (H, W) ids of the study's class list at the size of the image, void ids where nothing
is said. Images are in corpus order; those that left the corpus are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.errors import LabellingError, OptionError, StudyError
from faultscape.labelling.answers import majority
from faultscape.labelling.catalogue import FORMATS, Format
from faultscape.labelling.format_calls import places_of, prepared_files, write_label
from faultscape.maps import runs
from faultscape.progress import progress
from faultscape.reading.answers import read_label_sets
from faultscape.reading.evidence import choose_truth
from faultscape.reading.study import Study
from faultscape.study.answers.labels import Answers
from faultscape.study.folder import existing, put
from faultscape.study.parts import read_manifest
from faultscape.study.settings import Settings, read_settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name, read_columns, read_corpus
from faultscape.study.tables.selections import MAIN
from faultscape.verbs.label.result import MasksWritten, import_line

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelExportOptions


class HeldMasks(Mapping[str, np.ndarray]):
    """{image id: (H, W) ids} of a truth; each mask is read when it is asked for."""

    def __init__(self, root: Path, truth: str) -> None:
        self._where = label_maps.truth(root, truth)
        self.truth = truth
        self._parts = read_manifest(self._where)
        held = {
            id_
            for name, part in self._parts.items()
            for id_ in label_maps.read_ids(self._where, int(name), part)
        }
        corpus = read_columns(root, ["id", "shard"])
        rows = zip(corpus["id"].to_pylist(), corpus["shard"].to_pylist(), strict=True)
        self._shards = {id_: shard for id_, shard in rows if id_ in held}

    def __getitem__(self, image: str) -> np.ndarray:
        shard = self._shards[image]
        code = label_maps.read_map(self._where, shard, self._parts[part_name(shard)], image)
        assert code is not None
        return runs.decode(code)

    def __iter__(self) -> Iterator[str]:
        return iter(self._shards)

    def __len__(self) -> int:
        return len(self._shards)

    def __repr__(self) -> str:
        return f"{len(self)} masks of truth {self.truth}"


def held_labels(study: str, truth: str | None) -> Mapping[str, np.ndarray] | dict[str, str]:
    """Return the labels of a study by image; StudyError if there are none under this name."""
    root = existing(study)
    settings = read_settings(root)
    truth = choose_truth(root, truth)
    return _classes_of(root, settings, truth) if settings.classifies else _masks(root, truth)


def _masks(root: Path, truth: str) -> HeldMasks:
    if truth not in label_maps.truths(root):
        raise StudyError(f"truth {truth!r} holds choices between two models, and no mask")
    return HeldMasks(root, truth)


def _classes_of(root: Path, settings: Settings, truth: str) -> dict[str, str]:
    """Return {image: its class}, as a table of labels names it: several joined by |, none for none of the
    classes; of answers, the classes that more people answered with yes than with no.
    """
    names = settings.classes.names
    said: dict[str, set[str]] = {}
    for (image, class_), verdict in majority(Answers(root).answers(truth)).items():
        if verdict:
            said.setdefault(image, set()).add(class_)
    images = read_columns(root, ["id"])["id"].to_pylist()
    out = {}
    for image, places in zip(images, read_label_sets(Study(root), truth, images), strict=True):
        found = {names[place] for place in places} if places is not None else said.get(image)
        if found is not None:
            out[image] = "|".join(name for name in names if name in found) or "none"
    return out


def export_done(root: Path, options: LabelExportOptions, form: Format) -> MasksWritten:
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
    settings = read_settings(root)
    folder = Path(options.out)
    held = _masks(root, choose_truth(root, options.truth))
    images = [image for image in read_corpus(root) if image.id in held]
    with progress("export", len(images)) as tick:
        for image in images:
            photo, target = places_of(form, folder, image.id)
            ids = held[image.id]
            data = write_label(form, target, photo, ids.shape[::-1], ids, settings.class_list)
            _put_new(target, data or b"")
            tick(1)
    for path, data in prepared_files(form, folder, settings.class_list).items():
        _put_new(path, data)
    then = import_line("STUDY", options.out, held.truth)
    return MasksWritten(str(folder / "labels"), len(images), form.name, held.truth, then)


def _put_new(path: Path, data: bytes) -> None:
    if path.exists() and path.read_bytes() != data:
        raise LabellingError(
            f"{path}: already exists with other contents and is never overwritten; give another folder"
        )
    put(path, data)
