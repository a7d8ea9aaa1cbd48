"""The content of a CSV file of labels, answers or discards, line by line.

Conventions: the first line shows what a file holds: image, label; image, class, annotator, answer; or image,
reason. The image column of labels may have any name that tables of answers use (`corpus.sources.HEADS`); a
file called .tsv has tabs. Text is returned unchanged: the caller checks whether its images and classes exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from faultscape.corpus.id_lists import called
from faultscape.corpus.sources import HEADS
from faultscape.errors import LabellingError, closest
from faultscape.formats.tables import parted_otherwise
from faultscape.labelling import answers
from faultscape.labelling.answers import Answer, Unusable

# columns of labels; a prediction column is never a label column, unless you name it
LABELS = ("label", "class")


@dataclass(frozen=True)
class Lines:
    """The content of one file: labels, answers or discards, and the lines that cannot be read.

    ``labels`` are (line, (image, labels joined by |)). ``answers`` are (line, (image, class, annotator, yes,
    no or unsure)). ``discards`` are (image, reason). ``wrong`` are (line, image, what is wrong with it).
    """

    labels: list[tuple[int, tuple[str, str]]] = field(default_factory=list)
    answers: list[tuple[int, Answer]] = field(default_factory=list)
    discards: list[tuple[str, str]] = field(default_factory=list)
    wrong: list[Unusable] = field(default_factory=list)
    notes: tuple[str, ...] = ()  # which columns were used, if their names are unusual


def read_lines(path: Path, column: str = "") -> Lines:
    """Return the content of a CSV file, with labels from a ``column`` of another name if given;
    LabellingError if it holds neither labels, nor answers, nor discards.
    """
    head = answers.columns(path)
    asks = not {"annotator", "answer", "reason"}.isdisjoint(head)
    label = column.strip().lower() or ("label" if asks else called(LABELS, head)) or "label"
    name = called(HEADS, head) or "image"
    if {"annotator", "answer"} <= set(head) and not column:
        said, wrong = answers.read(path)
        return Lines(answers=said, wrong=wrong)
    if label in head and name in head and label != name:
        lines, wrong = answers.rows(path, (name, label))
        taken = {"images": name, "labels": label}
        plain = name in HEADS[:2] and (column or label == "label")
        notes = (
            () if plain else (f"{path}: {', '.join(f'{what} from {one!r}' for what, one in taken.items())}",)
        )
        return Lines(
            labels=[(line, (image, words)) for line, (image, words) in lines], wrong=wrong, notes=notes
        )
    if "reason" in head and not column:
        lines, wrong = answers.rows(path, ("image", "reason"))
        return Lines(discards=[(image, reason) for _, (image, reason) in lines], wrong=wrong)
    raise LabellingError(f"{path}: {_columns_wanted(path, label, column, head)}")


def filled(path: Path) -> int:
    """Return how many lines of a table of questions are filled in or changed; LabellingError for any other
    table.
    """
    if not set(answers.ANSWERS) <= set(answers.columns(path)):
        raise LabellingError(f"{path}: already exists and is not a table of questions; give another file")
    lines, wrong = answers.rows(path, ("annotator", "answer"))
    return sum(any(cells) for _, cells in lines) + len(wrong)


def _columns_wanted(file: Path, label: str, column: str, head: tuple[str, ...]) -> str:
    """Return which columns a file has, and which it should have."""
    known = f"{', '.join(head[:8])}{f' and {len(head) - 8} more' if len(head) > 8 else ''}" or "none"
    near = closest(label, head)
    if other := parted_otherwise(head, tabs=file.suffix.lower() == ".tsv"):
        return other
    if column and called(HEADS, head):
        return f"has no column {column!r}; it has {known}{near and '.'}{near}"
    if called(HEADS, head) and len(head) > 1:
        return (
            f"has no column `label`; name the one with the labels as {file}:COLUMN; it has {known} (answers:"
            " image, class, annotator, answer; discards: image, reason)"
        )
    return (
        "expected the columns image, label, or image, class, annotator, answer, or image, reason; it has"
        f" {known}"
    )
