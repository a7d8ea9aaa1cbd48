"""Whether a labelling tool will accept a file, before anyone uploads it; and labels that are exactly the maps
of a model, pixel by pixel: pre-filled labels that came back, perhaps without corrections.

Conventions: maps are compared at the image's size, in the study's ids, as `label export --prefill` writes
them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.corpus.sources import IMAGE_ENDINGS
from faultscape.errors import FaultscapeError, LabellingError, OptionError, counted
from faultscape.formats.guard import read_bytes
from faultscape.formats.label_tools.named_masks import MOST_BYTES
from faultscape.formats.label_tools.studio.tasks import CONFIG
from faultscape.labelling.catalogue import FORMATS, Format, MaskFormat, QuestionFormat, find_format
from faultscape.labelling.format_calls import check_file, recognises
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image
from faultscape.verbs.label.result import Checked


def check(file: str, format: str | None) -> Checked:
    """Return what a tool would reject in a file or folder; LabellingError if its format is unknown or it
    cannot be read.
    """
    path = Path(file)
    if not path.exists():
        raise LabellingError(f"{file}: no such file or folder")
    form = _recognised(path) if format is None else _named(format)
    if isinstance(form, MaskFormat):
        return Checked(file, form.title, tuple(check_file(form, path)))
    there = [one for one in _files(path) if recognises(form, one)] or [path]
    return Checked(file, form.title, tuple(problem for one in there for problem in check_file(form, one)))


def _named(name: str) -> Format:
    """Return the format of a name; OptionError for a format that cannot be checked."""
    form = find_format(name, next((entry.task for entry in FORMATS if entry.name == name), "segmentation"))
    if isinstance(form, QuestionFormat) or form.check is None:
        raise OptionError(f"--format {name}: this format cannot be checked; use {', '.join(_names())}")
    return form


def _names() -> list[str]:
    return [entry.name for entry in FORMATS if not isinstance(entry, QuestionFormat) and entry.check]


def _recognised(path: Path) -> Format:
    """Return the format of a file, or of the files in a folder."""
    there = _files(path)
    known = [form for form in FORMATS if not isinstance(form, QuestionFormat) and form.check]
    for form in sorted(known, key=lambda form: isinstance(form, MaskFormat)):
        # these formats also claim damaged JSON
        mine = [file for file in there if recognises(form, file)]
        if mine and isinstance(form, MaskFormat) and all(map(_fault_of_json, mine)):
            return _of_place(mine[0])
        if mine:
            return form
    raise LabellingError(
        f"{path}: not recognised as a labelling tool's format ({', '.join(_names())}); name the format with"
        " --format"
    )


def _fault_of_json(file: Path) -> str:
    """Return why a file is not JSON, or ''."""
    try:
        json.loads(read_bytes(file, LabellingError, limit=MOST_BYTES))
    except (ValueError, RecursionError, MemoryError) as error:
        return " ".join(str(error).split())[:200] or "it does not fit into memory"
    except LabellingError:  # cannot be opened, or is too large: the format's own check says so
        return ""
    return ""


def _of_place(file: Path) -> Format:
    """Return the format of a damaged file, judged by its name or the files next to it; LabellingError if they
    do not show it.
    """
    name = file.stem.lower()
    beside = {one.name for one in _files(file.parent)}
    if CONFIG in beside:
        form = "label-studio"
    elif "panoptic" in name:
        form = "coco-panoptic"
    elif "instances" in name:
        form = "coco"
    elif any(f"{file.stem}{ending}" in beside for ending in IMAGE_ENDINGS):
        form = "labelme"
    else:
        raise LabellingError(
            f"{file}: is not valid JSON ({_fault_of_json(file)}); if you know its format, name it with"
            " --format"
        )
    return _named(form)


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(p for p in path.iterdir() if p.is_file())


_FIRST = 8  # labels after which a model without any match is dropped


def map_at_photo_size(code: bytes, settings: Settings, model: str, image: Image) -> np.ndarray:
    """Return the runs of a model's map as (H, W) ids of the study, at the image's size; LabelMapError for
    values that are not classes.
    """
    classes = settings.class_list
    ids = np.array([*classes.ids, classes.void[0] if classes.void else 0], np.uint16)
    return ids[
        nearest(runs.decode(code, table(classes, settings.models[model].labels)), (image.width, image.height))
    ]


class Copies:
    """Counts how many of ``total`` labels equal the maps of one model; a model is dropped once it cannot
    match more than half of them.
    """

    def __init__(self, root: Path, settings: Settings, total: int) -> None:
        self._root, self._settings, self._total = root, settings, total
        self._equal = dict.fromkeys(settings.models, 0)
        self._looked, self._shard = 0, -1
        self._maps: dict[str, dict[str, bytes]] = {}

    def look(self, image: Image, ids: np.ndarray) -> None:
        """Compare the label (H, W) of an image; images come shard by shard."""
        self._looked += 1
        if image.shard != self._shard:
            self._shard = image.shard
            self._maps = {model: self._held(model, image.shard) for model in self._equal}
        for model in [*self._equal]:
            self._equal[model] += self._is_copy(model, image, ids)
            missed = self._looked - self._equal[model]
            if 2 * missed >= self._total or missed == self._looked >= _FIRST:
                del self._equal[model]

    def said(self) -> str:
        """Return which model's maps more than half of the labels equal, or ''."""
        model = max(self._equal, key=lambda name: self._equal[name], default="")
        if not model or 2 * self._equal[model] <= self._looked:
            return ""
        labels = counted(self._looked, "label is", "labels are")
        return f"{self._equal[model]} of {labels} exactly {model}'s maps: were they corrected?"

    def _held(self, model: str, shard: int) -> dict[str, bytes]:
        try:
            return label_maps.read_maps(label_maps.predictions(self._root, model), shard)
        except FaultscapeError:
            return {}  # unreadable maps of a model do not make labels worse

    def _is_copy(self, model: str, image: Image, ids: np.ndarray) -> bool:
        code = self._maps[model].get(image.id)
        try:
            return code is not None and np.array_equal(
                map_at_photo_size(code, self._settings, model, image), ids
            )
        except FaultscapeError:
            return False
