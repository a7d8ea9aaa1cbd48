"""Two yes/no questions per image: "does x contain an f_i(x)?", "does x contain an f_j(x)?": the table of
questions, and people's answers (Wang et al. 2020, section 2.1, 3.1).

Conventions: CSV in UTF-8 with a header line. Questions have the columns image, class, gloss, and annotator
and answer to fill in; answers use image, class, annotator and answer (yes, no or unsure); a line without an
answer is an open question. A cell that a spreadsheet would run is marked (`guarded`), and read without its
mark. A person's latest answer to a question counts.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from faultscape.errors import LabellingError, counted, reason
from faultscape.formats.label_tools.point_labels import Unusable
from faultscape.study.tables.logs import bare, csv_text, guarded

QUESTIONS = ("image", "class", "gloss", "annotator", "answer")
ANSWERS = ("image", "class", "annotator", "answer")
WORDS = ("yes", "no", "unsure")
DIFFICULT = 3  # if more annotators, and more than three of five, were unsure, the image is discarded (S2 3.1)

_MARKS = {",": "comma", ";": "semicolon", "\t": "tab"}  # between cells
_LONGEST = 1 << 20  # characters of a line
_TIE = 1e-9
_NO_TEXT = "cannot be read as text in UTF-8; save the table as CSV in UTF-8"

Answer = tuple[str, str, str, str]  # image, class, annotator, answer


def columns(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the first line of a CSV or TSV file in lower case; LabellingError if it cannot be read."""
    with _lines_of(path) as lines:
        return tuple(word.strip().lower() for word in next(lines, []))


def rows(
    path: str | os.PathLike[str], wanted: Sequence[str]
) -> tuple[list[tuple[int, tuple[str, ...]]], list[Unusable]]:
    """Return (line, the wanted columns) of a CSV file, and its lines with more or fewer columns than the
    first; LabellingError if it lacks a column.
    """
    head = columns(path)
    if missing := [name for name in wanted if name not in head]:
        raise LabellingError(f"{path}: expected the columns {', '.join(wanted)}; {missing[0]!r} is missing")
    if twice := [name for name in wanted if head.count(name) > 1]:
        raise LabellingError(f"{path}: has the column {twice[0]!r} twice; leave one of them")
    at = [head.index(name) for name in wanted]
    out = []
    wrong = []
    with _lines_of(path) as lines:
        next(lines)
        for row in lines:
            if row and len(row) != len(head):
                why = (
                    f"has {counted(len(row), 'column')}, the first line {len(head)}; quote cells that hold a"
                    f" {_MARKS[lines.dialect.delimiter]}"
                )
                wrong.append((lines.line_num, row[at[0]].strip() if at[0] < len(row) else "", why))
            elif row:
                out.append((lines.line_num, tuple(bare(row[k].strip()) for k in at)))
    return out, wrong


@contextmanager
def _lines_of(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open a table, a csv.reader; LabellingError, in one line, for whatever goes wrong until it is closed.

    Cells are separated by tabs in a .tsv file, in others by commas, or else by semicolons or tabs as some
    spreadsheets write them: the first of these that is in the first line.
    """
    lines: Any = None
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            head = file.readline(_LONGEST)
            tabs = os.fspath(path).lower().endswith(".tsv")
            mark = "\t" if tabs else next((one for one in _MARKS if one in head), ",")
            file.seek(0)
            lines = csv.reader(_bounded(file), delimiter=mark)
            yield lines
    except UnicodeDecodeError:
        raise LabellingError(f"{path}{_after(lines, 1)}: {_NO_TEXT}") from None
    except (OSError, csv.Error) as error:
        raise LabellingError(f"{path}{_after(lines, 0)}: cannot be read: {reason(error)}") from None


def _after(lines: Any, more: int) -> str:
    """Return the place in a table that reading has come to, '' in its first line."""
    return f", line {lines.line_num + more}" if lines is not None and lines.line_num else ""


def _bounded(file: TextIO) -> Iterator[str]:
    """Yield lines; csv.Error for one that no person or program writes, before it takes much memory."""
    while line := file.readline(_LONGEST):
        if len(line) == _LONGEST:
            raise csv.Error(f"a line has more than {_LONGEST:,} characters")
        yield line


def read(path: str | os.PathLike[str]) -> tuple[list[tuple[int, Answer]], list[Unusable]]:
    """Return (line, answer) of every line with an answer, and the lines whose answer is not yes, no or
    unsure, or that lack an image, class or annotator; lines without an answer are skipped.
    """
    found, wrong = rows(path, ANSWERS)
    out = []
    for line, (image, class_, annotator, answer) in found:
        if not answer:
            continue
        if answer.lower() not in WORDS:
            wrong.append((line, image, f"the answer {answer!r} is not known; use {', '.join(WORDS)}"))
        elif not image or not class_ or not annotator:
            wrong.append((line, image, "expected an image, a class and an annotator for each answer"))
        else:
            out.append((line, (image, class_, annotator, answer.lower())))
    return out, sorted(wrong)


def question_table(questions: Iterable[tuple[str, str]], glosses: Mapping[str, str]) -> str:
    """Return questions (image, class) as CSV, with the gloss of each class.

    >>> question_table([("x", "drake")], {"drake": "adult male of a duck"}).splitlines()
    ['image,class,gloss,annotator,answer', 'x,drake,adult male of a duck,,']
    >>> question_table([("=1+1/x", "@drake")], {}).splitlines()[1]
    "'=1+1/x,'@drake,,,"
    """
    rows = (
        (guarded(image), guarded(class_), guarded(glosses.get(class_, "")), "", "")
        for image, class_ in questions
    )
    return csv_text([QUESTIONS, *rows])


def majority(
    answers: Iterable[Answer], weights: Mapping[str, float] | None = None
) -> dict[tuple[str, str], bool | None]:
    """Return {(image, class): whether more said yes than no}, None for a tie or if all were unsure. With
    ``weights`` {annotator: weight}, sums of weights are compared; a person without one counts 1.

    >>> said = [
    ...     ("x", "drake", who, answer)
    ...     for who, answer in (("a", "yes"), ("b", "yes"), ("c", "no"), ("d", "unsure"))
    ... ]
    >>> majority([*said, ("x", "coot", "a", "yes"), ("x", "coot", "b", "no")])
    {('x', 'drake'): True, ('x', 'coot'): None}
    >>> majority([("x", "coot", "a", "yes"), ("x", "coot", "b", "no")], {"a": 0.4, "b": 2.9})
    {('x', 'coot'): False}
    """
    counts: dict[tuple[str, str], list[float]] = {}
    for image, class_, who, answer in latest(answers):
        tally = counts.setdefault((image, class_), [0, 0])
        if answer != "unsure":
            tally[answer == "yes"] += 1 if weights is None else weights.get(who, 1.0)
    # sums of the same weights in another order differ in their last digits
    return {key: None if abs(yes - no) < _TIE else yes > no for key, (no, yes) in counts.items()}


def difficult(answers: Iterable[Answer]) -> dict[str, str]:
    """Return {image: reason} of images that more than three annotators, and more than three of five, were
    unsure about.

    >>> said = [("x", "drake", who, "unsure") for who in "abcd"] + [("x", "drake", "e", "yes")]
    >>> difficult(said), difficult(said[1:])
    ({'x': '4 of 5 annotators were unsure'}, {})
    """
    seen: dict[str, set[str]] = {}
    unsure: dict[str, set[str]] = {}
    for image, _, annotator, answer in latest(answers):
        seen.setdefault(image, set()).add(annotator)
        if answer == "unsure":
            unsure.setdefault(image, set()).add(annotator)
    return {
        image: f"{len(who)} of {len(seen[image])} annotators were unsure"
        for image, who in unsure.items()
        if len(who) > DIFFICULT and most(len(who), len(seen[image]))
    }


def most(votes: int, people: int) -> bool:
    """Return whether more than three of five people say so (Wang et al. 2020, section 3.1).

    >>> most(3, 5), most(4, 5)
    (False, True)
    """
    return 5 * votes > 3 * people


def latest(answers: Iterable[Answer]) -> list[Answer]:
    """Return the latest answer per person and question, in the order in which the questions were first
    answered.
    """
    return list({answer[:3]: answer for answer in answers}.values())
