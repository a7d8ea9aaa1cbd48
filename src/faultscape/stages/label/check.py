"""Whether a labelling tool will take a file: asked before somebody uploads it, of the file alone."""

from __future__ import annotations

from pathlib import Path

from faultscape.errors import LabellingError, OptionError
from faultscape.labelling.catalogue import FORMATS, Format, MaskFormat, QuestionFormat, find_format
from faultscape.labelling.format_calls import check_file, recognises
from faultscape.stages.label.result import Checked


def check(file: str, format: str | None) -> Checked:
    """Return what a tool would say of a file or folder; LabellingError where it is of no format that is known, or cannot be read."""
    path = Path(file)
    if not path.exists():
        raise LabellingError(f"{file}: there is no such {'file' if path.suffix else 'folder'}")
    form = _recognised(path) if format is None else _named(format)
    if isinstance(form, MaskFormat):
        return Checked(file, form.title, tuple(check_file(form, path)))
    there = [one for one in _files(path) if recognises(form, one)] or [path]
    return Checked(file, form.title, tuple(problem for one in there for problem in check_file(form, one)))


def _named(name: str) -> Format:
    """Return the format of a name; OptionError for one of which nothing is known."""
    form = find_format(name, next((entry.task for entry in FORMATS if entry.name == name), "segmentation"))
    if isinstance(form, QuestionFormat) or form.check is None:
        raise OptionError(f"--format {name}: nothing is known of what a tool takes of it; use {', '.join(_names())}")
    return form


def _names() -> list[str]:
    return [entry.name for entry in FORMATS if not isinstance(entry, QuestionFormat) and entry.check]


def _recognised(path: Path) -> Format:
    """Return the format that a file, or what lies in a folder, is of."""
    there = _files(path)
    for form in FORMATS:
        if not isinstance(form, QuestionFormat) and form.check and any(recognises(form, file) for file in there):
            return form
    raise LabellingError(
        f"{path}: is of no format of a labelling tool that is known ({', '.join(_names())}); name one with --format"
    )


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(p for p in path.iterdir() if p.is_file())
