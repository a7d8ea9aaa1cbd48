"""A table of which classes are in images.

Conventions: CSV with a header line: image, present (classes joined by ``|``, ``none`` for none of those that
were asked about), and optionally asked (the classes that the line is about, joined alike; without the column,
all that the table names) and annotator; or image, class, annotator, answer (yes, no, unsure). A line without
an answer is an open question. Text is returned unchanged: the caller checks images and classes.
"""

from __future__ import annotations

from pathlib import Path

from faultscape.corpus.id_lists import called
from faultscape.corpus.sources import HEADS
from faultscape.errors import LabellingError
from faultscape.formats.label_tools.label_studio_choices import PresentFile, SaidPresent
from faultscape.labelling import answers

NONE = "none"
_EXTRA = ("asked", "annotator")


def read(path: Path) -> PresentFile:
    """Return what a table says; LabellingError if it lacks a column."""
    head = answers.columns(path)
    if set(answers.ANSWERS) <= set(head):
        return _answers(path)
    name = called(HEADS, head)
    if not name or "present" not in head:
        raise LabellingError(
            f"{path}: expected the columns image, present (classes joined by |, or {NONE}), and if you like"
            f" asked and annotator; or {', '.join(answers.ANSWERS)}; it has {', '.join(head[:8]) or 'none'}"
        )
    has = [extra for extra in _EXTRA if extra in head]
    lines, wrong = answers.rows(path, (name, "present", *has))
    images = list[SaidPresent]()
    open_ = 0
    for line, (image, present, *more) in lines:
        extra = dict(zip(has, more, strict=True))
        where = f"{path.name}, line {line}"
        asked = _words(extra.get("asked", ""))
        if not present:
            open_ += 1
        elif "asked" in has and not asked:
            wrong.append((line, image, "names no class that was asked about"))
        elif _words(present) and NONE in present.lower().split("|"):
            wrong.append((line, image, f"names classes and {NONE}; leave out either"))
        else:
            images.append(SaidPresent(image, extra.get("annotator", ""), _words(present), where, asked))
    return PresentFile((), images, open_, _places(path, wrong))


def names_present(path: Path) -> bool:
    """Whether the first line of a table names a column of classes present."""
    return "present" in answers.columns(path)


def _answers(path: Path) -> PresentFile:
    """Return yes/no answers, those of a person about an image together."""
    found, wrong = answers.read(path)
    said = dict[tuple[str, str], dict[str, str]]()
    for _, (image, class_, annotator, answer) in found:
        said.setdefault((image, annotator), {})[class_] = answer
    images = [
        SaidPresent(image, annotator, _with(of, "yes"), path.name, tuple(of), _with(of, "unsure"))
        for (image, annotator), of in said.items()
    ]
    return PresentFile((), images, wrong=_places(path, wrong))


def _with(of: dict[str, str], answer: str) -> tuple[str, ...]:
    return tuple(class_ for class_, said in of.items() if said == answer)


def _words(cell: str) -> tuple[str, ...]:
    """Return the classes of a cell.

    >>> _words("car | person"), _words("none")
    (('car', 'person'), ())
    """
    words = (word.strip() for word in cell.split("|"))
    return tuple(dict.fromkeys(word for word in words if word and word.lower() != NONE))


def _places(path: Path, wrong: list[answers.Unusable]) -> tuple[tuple[str, str], ...]:
    return tuple((image, f"{path.name}, line {line}: {why}") for line, image, why in sorted(wrong))
