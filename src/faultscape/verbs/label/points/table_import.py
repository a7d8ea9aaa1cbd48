"""Import a table of answers to points.

Conventions: only pixels that a selection of points drew are answered. A line that cannot be used becomes a
row of failures.csv; the others are imported.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.classes.mapping import class_named
from faultscape.corpus.id_lists import ids_meant
from faultscape.errors import LabellingError, OptionError, counted
from faultscape.labelling.catalogue import Format
from faultscape.labelling.point_tables import SaidPoint, is_point_table
from faultscape.reading.study import Study
from faultscape.study.answers.points import BORDER, CANNOT_TELL, VOID, PointAnswer
from faultscape.study.folder import refuse_twin
from faultscape.study.settings import Settings
from faultscape.study.tables.logs import Failure, log_import, read_failures, replace_failures
from faultscape.verbs.label.points.result import PointsAnswered
from faultscape.verbs.label.points.table_export import TABLE

if TYPE_CHECKING:
    from faultscape.study.tables.corpus import Image

_WORDS = (VOID, CANNOT_TELL)


def table_of(source: str) -> Path | None:
    """Return the table of points that a source is, or holds as `label export` wrote it; None without one."""
    path = Path(source) / TABLE if Path(source).is_dir() else Path(source)
    return path if path.suffix.lower() in (".csv", ".tsv") and is_point_table(path) else None


def import_(study: Study, source: str, table: Path, truth: str, form: Format) -> PointsAnswered:
    """Import the answers of a table; LabellingError if no line of it can be used."""
    root = study.root
    with study.writing():
        if truth in study.models:
            raise OptionError(f"{truth!r} is the name of a model; choose another name with --truth NAME")
        refuse_twin(truth, study.truths, "truth")
        lines = form.read(table)
        images = study.image_rows
        drawn = {
            (point.image, point.row, point.column)
            for slots in (*(made.slots for made in study.selections.values()), *study.removed_selections)
            for point in slots.points
        }
        meant = ids_meant([one.image for _, one in lines.answers], images)
        read = [(line, one._replace(image=meant[one.image])) for line, one in lines.answers]
        wrong = [*lines.wrong]
        found: dict[tuple[str, int, int, str], list[tuple[int, str]]] = {}
        for line, one in read:
            problem, answer = _answer(one, images, drawn, study.settings)
            if problem:
                wrong.append((line, one.image, problem))
            else:
                found.setdefault(one[:4], []).append((line, answer))
        answers: list[PointAnswer] = []
        for (image, row, column, by), said in found.items():
            if len({answer for _, answer in said}) > 1:
                listed = " and ".join(str(line) for line, _ in said)
                why = f"row {row}, column {column} has different answers in lines {listed}"
                wrong += [(said[0][0], image, why)]
            else:
                answers.append(PointAnswer(image, row, column, said[0][1], by, truth))
        failures = [
            Failure("label", truth, image, f"{table.name}, line {line}: {why}")
            for line, image, why in sorted(wrong)
        ]
        rest = [
            f
            for f in read_failures(root)
            if (f.stage, f.name) == ("label", truth) and not f.reason.startswith(f"{table.name}, line ")
        ]
        replace_failures(root, "label", truth, rest + failures)
        if not answers:
            more = f" ({counted(len(failures), 'line')} in failures.csv)" if failures else ""
            why = f"the first: {failures[0].reason}{more}" if failures else "no line is filled in"
            raise LabellingError(f"{source}: no line could be used; {why}")
        new = study.point_answers.add_all(answers, source)
        log_import(root, source, truth=truth)
    return PointsAnswered(truth, new, len(failures), failures[0].reason if failures else "")


def _answer(
    said: SaidPoint,
    images: dict[str, Image],
    drawn: set[tuple[str, int, int]],
    settings: Settings,
) -> tuple[str, str]:
    """Return what is wrong with an answer, or '' and the answer as it is stored."""
    image = images.get(said.image)
    if image is None:
        return f"{said.image!r} is not an image of the study", ""
    if not (said.row < image.height and said.column < image.width):
        size = f"{image.height} rows and {image.width} columns"
        return f"row {said.row}, column {said.column} lies outside of {said.image!r}, which has {size}", ""
    if said[:3] not in drawn:
        return (
            f"row {said.row}, column {said.column} of {said.image!r} was not drawn: no selection has it",
            "",
        )
    return seen_in(said.answer, settings)


def seen_in(text: str, settings: Settings) -> tuple[str, str]:
    """Return what is wrong with the text of an answer, or '' and the answer as it is stored: with the current
    names of classes.
    """
    problem, name = class_named(text, settings)
    if not problem:
        return "", name
    if text.strip().lower() in _WORDS:
        return "", text.strip().lower()
    for place, letter in enumerate(text):
        if letter == BORDER:
            both = [class_named(part.strip(), settings) for part in (text[:place], text[place + 1 :])]
            if not any(why for why, _ in both) and both[0][1] != both[1][1]:
                return "", BORDER.join(name for _, name in both)
    return f"{problem} Or answer {VOID}, {CANNOT_TELL}, or A{BORDER}B on a border", ""
