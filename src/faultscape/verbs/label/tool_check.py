"""Check whether a labelling tool will accept a file, before anyone uploads it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.corpus.sources import IMAGE_ENDINGS
from faultscape.errors import LabellingError, OptionError
from faultscape.formats.guard import load_json
from faultscape.formats.label_tools.studio.tasks import CONFIG
from faultscape.labelling.catalogue import FORMATS, POINT_FORMATS, Format, find_format
from faultscape.labelling.format_calls import check_file, recognises
from faultscape.verbs.label.result import Checked

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelCheckOptions


def check_upload(options: LabelCheckOptions) -> Checked:
    """Return what a tool would reject in a file or folder; LabellingError if its format is unknown or it
    cannot be read.
    """
    file = options.file
    path = Path(file)
    if not path.exists():
        raise LabellingError(f"{file}: no such file or folder")
    if asks := [(one, form) for one in _files(path) if (form := _of_points(one, options.format))]:
        return Checked(file, asks[0][1].title, tuple(p for one, form in asks for p in check_file(form, one)))
    form = _recognised(path) if options.format is None else _named(options.format)
    if form.kind == "masks":
        return Checked(file, form.title, tuple(check_file(form, path)))
    there = [one for one in _files(path) if recognises(form, one)] or [path]
    return Checked(file, form.title, tuple(problem for one in there for problem in check_file(form, one)))


def _of_points(file: Path, name: str | None) -> Format | None:
    """Return the format of a file of a tool that asks about points, None for any other."""
    forms = [form for form in POINT_FORMATS if form.check and name in (None, form.name)]
    with suppress(LabellingError):  # a damaged file is checked as any of its tool
        for form in forms:
            if file.suffix.lower() in form.endings and form.recognise and form.recognise(file) is not None:
                return form
    return None


def _named(name: str) -> Format:
    """Return the format of a name; OptionError for a format that cannot be checked."""
    form = find_format(name, next((entry.task for entry in FORMATS if entry.name == name), "segmentation"))
    if form.check is None:
        raise OptionError(f"--format {name}: this format cannot be checked; use {', '.join(_names())}")
    return form


def _names() -> list[str]:
    return [entry.name for entry in FORMATS if entry.check]


def _recognised(path: Path) -> Format:
    """Return the format of a file, or of the files in a folder."""
    there = _files(path)
    known = [form for form in FORMATS if form.check]
    for form in sorted(known, key=lambda form: form.kind == "masks"):
        # these formats also claim damaged JSON
        mine = [file for file in there if recognises(form, file)]
        if mine and form.kind == "masks" and all(map(_fault_of_json, mine)):
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
        load_json(file, "JSON")
    except LabellingError as error:  # that it cannot be opened, or is too large, its format's own check says
        return str(error).partition(": is not JSON: ")[2]
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
