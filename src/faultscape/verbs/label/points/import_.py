"""Import answers to points, from a table or from a labelling tool.

Conventions: only pixels that a selection of points drew are answered. An answer that cannot be used becomes a
row of failures.csv; the others are imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.classes.mapping import class_named, plain_name
from faultscape.corpus.id_lists import ids_meant
from faultscape.errors import LabellingError, OptionError, closest, counted
from faultscape.formats.label_tools.point_labels import PointLines, SaidPoint
from faultscape.formats.labelme import wrong_size
from faultscape.labelling.catalogue import POINT_FORMATS, POINTS, Format
from faultscape.nouns import BORDER, CANNOT_TELL, VOID
from faultscape.reading.study import Study
from faultscape.study.answers.points import PointAnswer
from faultscape.study.folder import refuse_twin
from faultscape.study.settings import Settings
from faultscape.study.tables.logs import Failure, log_import, read_failures, replace_failures
from faultscape.verbs.label.points.result import PointsAnswered
from faultscape.verbs.label.tool_files import images_meant

if TYPE_CHECKING:
    from faultscape.study.tables.corpus import Image

_WORDS = (VOID, CANNOT_TELL)
_MOST_FILES = 1000  # most files of a folder to open
_WHOLE = re.compile(r"([0-9]+)\.0+")  # an id of a class as programs write it where others are missing
Pixel = tuple[str, int, int]
Place = tuple[int, int]


@dataclass
class _Read:
    """The contents of the files of one import: who answered what at which pixel, {answer: its first place},
    and what cannot be used, (place, image, why). A place is (number of the file, number in it).
    """

    said: dict[tuple[Pixel, str], dict[str, Place]] = field(default_factory=dict)
    wrong: list[tuple[Place, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class _Known:
    """What answers are checked against: the images, their drawn pixels, and the classes."""

    images: Mapping[str, Image]
    drawn: Mapping[str, set[tuple[int, int]]]
    settings: Settings


def files_of(study: Study, source: str, name: str | None) -> list[tuple[Path, Format]]:
    """Return the files of answers to points that a source is, or that are in its folder, each with its
    format: that of this ``name``, or any. LabellingError for a folder that holds masks, too.
    """
    forms = [form for form in POINT_FORMATS if name in (None, form.name)]
    if not any(slots.points for slots in study.drawn):
        forms = [form for form in forms if form is POINTS]  # files of tools are of masks
    path = Path(source)
    if path.is_file():
        return _recognised([path], forms)
    there = sorted(file for file in path.iterdir() if file.is_file())[:_MOST_FILES]
    # other tables may be of anything
    found = _recognised(
        [file for file in there if file.suffix.lower() not in POINTS.endings or file.name == POINTS.returned],
        forms,
    )
    masks = path / "labels"
    if found and masks.is_dir() and any(masks.iterdir()):
        raise LabellingError(
            f"{source}: holds masks (in labels/) and answers to points ({found[0][0].name}); import each by"
            f" itself: {masks}, and {found[0][0]}"
        )
    return found


def _recognised(files: Sequence[Path], forms: Sequence[Format]) -> list[tuple[Path, Format]]:
    found = []
    for file in files:
        for form in forms:
            if file.suffix.lower() in form.endings and form.recognise and form.recognise(file) is not None:
                found.append((file, form))
                break
    return found


def import_(
    study: Study,
    source: str,
    files: Sequence[tuple[Path, Format]],
    truth: str,
    pattern: str | None = None,
) -> PointsAnswered:
    """Import the answers of files; LabellingError if none of them can be used."""
    root = study.root
    with study.writing():
        if truth in study.models:
            raise OptionError(f"{truth!r} is the name of a model; choose another name with --truth NAME")
        refuse_twin(truth, study.truths, "truth")
        drawn: dict[str, set[tuple[int, int]]] = {}
        for slots in study.drawn:
            for point in slots.points:
                drawn.setdefault(point.image, set()).add((point.row, point.column))
        known = _Known(study.image_rows, drawn, study.settings)
        read = _Read()
        units = list[str]()
        for nth, (file, form) in enumerate(files):
            lines = form.read(file)
            units.append(f"{file.name}, {lines.unit}")
            _add(lines, nth, _meant(file, lines, known.images, pattern), known, read)
        answers: list[PointAnswer] = []
        for ((image, row, column), by), said in read.said.items():
            if len(said) > 1:
                (first, place), *others = said.items()
                more = ", ".join(f"{answer!r} in {units[nth]} {k}" for answer, (nth, k) in others)
                why = f"row {row}, column {column} has different answers: {first!r} here, {more}"
                read.wrong.append((place, image, why))
            else:
                answers.append(PointAnswer(image, row, column, next(iter(said)), by, truth))
        failures = [
            Failure("label", truth, image, f"{units[nth]} {number}: {why}")
            for (nth, number), image, why in sorted(read.wrong)
        ]
        again = tuple(f"{file.name}, " for file, _ in files)
        rest = [
            f
            for f in read_failures(root)
            if (f.stage, f.name) == ("label", truth) and not f.reason.startswith(again)
        ]
        replace_failures(root, "label", truth, rest + failures)
        if not answers:
            more = f" ({counted(len(failures), 'answer')} in failures.csv)" if failures else ""
            why = f"the first: {failures[0].reason}{more}" if failures else "no point is answered"
            raise LabellingError(f"{source}: no answer could be used; {why}")
        new = study.point_answers.add_all(answers, source)
        log_import(root, source, truth=truth)
    return PointsAnswered(truth, new, len(failures), failures[0].reason if failures else "")


def _meant(file: Path, lines: PointLines, images: Mapping[str, Image], pattern: str | None) -> dict[str, str]:
    """Return {name of an image in a file: its id}."""
    if lines.sizes is None:
        return ids_meant([one.image for _, one in lines.answers], images)
    names = list(lines.sizes)
    return {names[place]: id_ for id_, place in images_meant(file, names, images, pattern).items()}


def _add(lines: PointLines, nth: int, meant: Mapping[str, str], known: _Known, out: _Read) -> None:
    """Add the contents of a file."""
    for number, image, why in lines.wrong:
        out.wrong.append(((nth, number), meant.get(image, image), why))
    for number, one in lines.answers:
        said = one._replace(image=meant.get(one.image, one.image))
        place = nth, number
        try:
            pixel = _pixel(said, known, lines.off, (lines.sizes or {}).get(one.image))
            answer = seen_in(said.answer, known.settings)
        except LabellingError as error:
            out.wrong.append((place, said.image, str(error)))
        else:
            out.said.setdefault((pixel, said.annotator), {}).setdefault(answer, place)


def _pixel(said: SaidPoint, known: _Known, off: float, size: tuple[int, int] | None) -> Pixel:
    """Return the drawn pixel that an answer is about, which may be ``off`` by so many; LabellingError if
    there is none, or if the tool had the image in another ``size``.
    """
    image = known.images.get(said.image)
    drawn = known.drawn.get(said.image, set[tuple[int, int]]())
    at = f"row {said.row:g}, column {said.column:g}"
    if image is None:
        raise LabellingError(f"{said.image!r} is not an image of the study")
    own = image.width, image.height
    if size not in (None, own):
        raise LabellingError(f"{said.image!r}: {wrong_size(size, own)}")
    if not (-off <= said.row < image.height + off and -off <= said.column < image.width + off):
        has = f"{image.height} rows and {image.width} columns"
        raise LabellingError(f"{at} lies outside of {said.image!r}, which has {has}")
    far = {
        max(abs(row - said.row), abs(column - said.column)): (row, column) for row, column in sorted(drawn)
    }
    near = min(far, default=off + 1)
    if near <= off:
        return said.image, *far[near]
    if off and drawn:
        row, column = far[near]
        raise LabellingError(
            f"the point at {at} of {said.image!r} was moved: the nearest drawn one, row {row}, column"
            f" {column}, is {near:.1f} pixels away; put it back"
        )
    raise LabellingError(f"{at} of {said.image!r} was not drawn: no selection has it")


def seen_in(text: str, settings: Settings) -> str:
    """Return the text of an answer as it is stored, with the current names of classes; LabellingError if it
    means nothing.
    """
    whole = _WHOLE.fullmatch(text.strip())
    problem, name = class_named(whole[1] if whole else text, settings)
    if not problem:
        return name
    if (word := plain_name(text)) in _WORDS:
        return word
    for place, letter in enumerate(text):
        if letter == BORDER:
            both = [class_named(part.strip(), settings) for part in (text[:place], text[place + 1 :])]
            if not any(why for why, _ in both) and both[0][1] != both[1][1]:
                return BORDER.join(name for _, name in both)
            if text.count(BORDER) == 1:  # else a class has one in its name
                half = both[0][0] or both[1][0]
                problem = f"{text!r}: {half}" if half else f"{text!r} names one class twice."
    if BORDER not in text:
        problem = _other_answer(text, problem, settings.class_list.names)
    raise LabellingError(f"{problem} Or answer {VOID}, {CANNOT_TELL}, or A{BORDER}B on a border")


def _other_answer(text: str, problem: str, names: Sequence[str]) -> str:
    """Return what is wrong with an answer that is not a class, with the one that was probably meant: a border
    where it has the names of two classes, or a word that is spelled otherwise.

    >>> _other_answer("road/car", "No. Did you mean 'road'?", ("road", "car"))
    "'road/car' is not an answer. Did you mean 'road|car'?"
    >>> _other_answer("cant tell", "No.", ("road", "car"))
    "'cant tell' is not an answer. Did you mean 'cannot tell'?"
    """
    plain = plain_name(re.sub(r"\W", " ", text))
    rest = f" {plain} "
    at = dict[int, str]()
    for name in sorted(names, key=len, reverse=True):
        words = f" {plain_name(name)} "
        if (place := rest.find(words)) >= 0:
            at[place] = name
            rest = rest.replace(words, f" {'|' * (len(words) - 2)} ", 1)
    if len(at) == 2:
        return f"{text!r} is not an answer. Did you mean {BORDER.join(at[place] for place in sorted(at))!r}?"
    meant = "" if "Did you mean" in problem else closest(text.strip().casefold(), _WORDS)
    return f"{text!r} is not an answer.{meant}" if meant else problem
