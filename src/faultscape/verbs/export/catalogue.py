"""EXPORTS: the formats of `export`, each in a file of its own."""

from __future__ import annotations

from faultscape.errors import OptionError, closest
from faultscape.verbs.export.form import ExportFormat
from faultscape.verbs.export.formats.coco import COCO
from faultscape.verbs.export.formats.croissant import CROISSANT
from faultscape.verbs.export.formats.every_eval_ever import EVERY_EVAL_EVER
from faultscape.verbs.export.formats.fiftyone import FIFTYONE
from faultscape.verbs.export.formats.hf import HF
from faultscape.verbs.export.formats.model_card import MODEL_CARD
from faultscape.verbs.export.formats.parquet import PARQUET

EXPORTS: tuple[ExportFormat, ...] = (PARQUET, HF, COCO, FIFTYONE, MODEL_CARD, CROISSANT, EVERY_EVAL_EVER)


def find_export(name: str, task: str) -> ExportFormat:
    """Return the format of that name; OptionError for an unknown one, or one of another task.

    >>> find_export("hf", "segmentation").name
    'hf'
    """
    known = [form.name for form in EXPORTS]
    form = next((form for form in EXPORTS if form.name == name), None)
    if form is None:
        raise OptionError(f"--format {name!r} is not known; use {', '.join(known)}.{closest(name, known)}")
    if task not in form.tasks:
        fitting = ", ".join(form.name for form in EXPORTS if task in form.tasks)
        raise OptionError(
            f"--format {name} is of label maps, and this study is of classifiers; use {fitting}"
        )
    return form
