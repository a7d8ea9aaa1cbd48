"""Labels for classifiers: a table of yes/no questions is exported; labels, answers and discards are imported
as CSV.

Conventions: the first line of a CSV file shows what it contains: image, label (several labels joined by |,
``none`` for none of the classes); image, class, annotator, answer; or image, reason. A line that cannot be
used becomes a row of failures.csv; the others are imported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape.classes.mapping import class_named
from faultscape.corpus.id_lists import ids_meant
from faultscape.errors import LabellingError, OptionError, counted
from faultscape.labelling import answers as said
from faultscape.labelling.catalogue import Format
from faultscape.labelling.format_calls import count_filled, read_questions, write_questions
from faultscape.maps import class_answers
from faultscape.reading.evidence import tell_discards
from faultscape.reading.label_counts import question_glosses, questions
from faultscape.reading.study import LABELS, Study
from faultscape.study.answers.labels import Answers
from faultscape.study.folder import local, put, refuse_twin
from faultscape.study.parts import Part, write_manifest
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name
from faultscape.study.tables.logs import Failure, log_import, read_failures, replace_failures
from faultscape.verbs.in_memory.labels import CALLED, was_in_memory
from faultscape.verbs.label.masks import say_both, without_taken_back
from faultscape.verbs.label.result import Answered, Asked, import_line

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelExportOptions

NONE = "none"


@dataclass
class _Read:
    """The contents of the files of one import, line by line."""

    labels: dict[str, list[int]] = field(default_factory=dict)
    answers: list[said.Answer] = field(default_factory=list)
    discards: list[tuple[str, str]] = field(default_factory=list)
    wrong: list[tuple[str, str]] = field(default_factory=list)  # image, why
    discard_file: Path = Path()  # the last one with discards


def part_of(source: str) -> tuple[str, str]:
    """Return the file or folder that a source names, and its column of labels if it names one.

    >>> part_of("gt.csv:truth"), part_of("answers/")
    (('gt.csv', 'truth'), ('answers/', ''))
    """
    match = re.fullmatch(r"(.*\.[ct]sv):(.+)", source, re.IGNORECASE | re.DOTALL)
    return (match[1], match[2]) if match and not Path(source).exists() else (source, "")


def export(study: Study, options: LabelExportOptions, form: Format) -> Asked:
    """Write the questions of a selection that no one has answered yet: for an image of a pair its two labels,
    for an image drawn for all models each label that a model predicts.

    With ``options.again`` also questions whose answers leave them undecided. If no question is open, no file
    is written.
    """
    truth = options.truth or LABELS
    again = options.again
    wanted = questions(study, study.selection(options.selection).now, truth)
    verdicts = said.majority(study.answers.answers(truth))
    asked = [question for question, settled in wanted.items() if not settled]
    undecided = [question for question in asked if verdicts.get(question, True) is None]
    todo = [question for question in asked if question not in verdicts or (again and question in undecided)]
    path = local(options.out, "a question table")
    path = path if path.suffix.lower() == form.ending else path / f"questions{form.ending}"
    if todo:
        _keep_answers(form, path)
        put(path, write_questions(form, path, todo, question_glosses(study.settings)))
    images = len({image for image, _ in todo})
    then = import_line(options.study, str(path), truth, options.format)
    return Asked(
        str(path), len(todo), images, len(wanted) - len(todo), len(undecided), again, then, form.says
    )


def _keep_answers(form: Format, path: Path) -> None:
    """Raise LabellingError if a file to be written already has answers, or is not a table of questions."""
    if not path.is_file() or not path.stat().st_size:
        return
    if number := count_filled(form, path):
        raise LabellingError(
            f"{path}: {counted(number, 'line is', 'lines are')} filled in and never overwritten; give another"
            " file"
        )


def import_(study: Study, source: str, column: str, truth: str, form: Format) -> Answered:
    """Import a file of labels or answers (labels from one of its columns), or all such files of a folder."""
    files = [Path(source)] if Path(source).is_file() else sorted(Path(source).glob(f"*{form.ending}"))
    if not files:
        raise LabellingError(
            f"{source}: contains no {form.title} file; give a CSV file of labels (image, label) or of answers"
            " (image, class, annotator, answer)"
        )
    root = study.root
    with study.writing():
        held = study.answers
        if truth in study.models:
            raise OptionError(f"{truth!r} is the name of a model; choose another name with --truth NAME")
        refuse_twin(truth, study.truths, "truth")
        images = study.image_rows
        before = {row[:3]: row[3] for row in held.answers(truth)}
        read = _Read()
        for file in files:
            _read(form, file, column, images, study.settings, read)
        if unknown := next((image for image, _ in read.discards if image not in images), None):
            raise LabellingError(f"{source}: the discarded {unknown!r} is not an image of the study")
        touched = {answer[0] for answer in read.answers}
        again = tuple(f"{file.name}, line " for file in files)
        done = read.labels.keys() | touched
        rest = [
            f
            for f in read_failures(root)
            if (f.stage, f.name) == ("label", truth)
            and f.image not in done
            and not f.reason.startswith(again)
        ]
        failures = [Failure("label", truth, image, why) for image, why in read.wrong]
        if not read.labels and not read.answers and not read.discards:
            replace_failures(root, "label", truth, rest + failures)
            more = f" ({counted(len(failures), 'line')} in failures.csv)" if failures else ""
            raise LabellingError(
                f"{source}: no line could be used;"
                f" {f'the first: {read.wrong[0][1]}{more}' if read.wrong else 'no line is filled in'}"
            )
        if Path(source).is_dir():
            read.discards = without_taken_back(study, read.discards, str(read.discard_file))
        say_both(
            (read.labels.keys() | {answer[0] for answer in read.answers})
            & {image for image, _ in read.discards}
        )
        new, replaced = _store(study, truth, read.labels, images)
        anew = {row[0] for row in said.latest(read.answers) if before.get(row[:3]) != row[3]}
        held.answer(read.answers, source, truth)
        everything = held.answers(truth)
        difficult = said.difficult(row for row in everything if row[0] in touched)
        thrown = [*read.discards, *still_difficult(held, difficult, anew)]
        discarded = held.discard(thrown, source)
        replace_failures(root, "label", truth, rest + failures)
        log_import(
            root,
            CALLED if was_in_memory(source) else source,
            truth=truth,
            **({"column": column} if column else {}),
        )
    tell_discards(study, {image for image, _ in thrown})
    ties = sum(verdict is None for verdict in said.majority(everything).values())
    fresh = sum(before.get(row[:3]) != row[3] for row in said.latest(read.answers))
    first = failures[0].reason if failures else ""
    return Answered(truth, new, replaced, fresh, ties, discarded, len(failures), first)


def still_difficult(
    held: Answers, difficult: Mapping[str, str], anew: Collection[str]
) -> list[tuple[str, str]]:
    """Return the (image, reason) of images that too many people were unsure about, without those whose
    discard was taken back and about which nobody answered ``anew``.
    """
    gone = held.taken_back_discards() if difficult else set[tuple[str, str]]()
    return [row for row in difficult.items() if row[0] in anew or row not in gone]


def _read(
    form: Format, file: Path, column: str, images: dict[str, Any], settings: Settings, out: _Read
) -> None:
    """Add the contents of one file to ``out``; LabellingError for a file without labels, answers or
    discards.
    """
    lines = read_questions(form, file, column)
    where = f"{file.name}, line"
    for note in lines.notes:
        print(note)
    names = [*(row[0] for _, row in (*lines.answers, *lines.labels)), *(name for name, _ in lines.discards)]
    meant = ids_meant(names, images)
    _refuse_two_names(file, meant, images)
    wrong = list(lines.wrong)
    for line, (name, word, annotator, answer) in lines.answers:
        image = meant[name]
        problem, class_ = _known(image, word, images, settings)
        wrong += [(line, image, problem)] if problem else []
        out.answers += [] if problem else [(image, class_, annotator, answer)]
    mine: dict[str, list[int]] = {}
    for line, (name, words) in lines.labels:
        image = meant[name]
        problem, ids = _labels(image, words, images, settings)
        if not problem and mine.get(image, ids) != ids:
            raise LabellingError(
                f"{file}, line {line}: {image!r} has a different label above; join several by |, or give each"
                " image one line"
            )
        wrong += [(line, image, problem)] if problem else []
        mine |= {} if problem else {image: ids}
    if twice := next((image for image, ids in mine.items() if out.labels.get(image, ids) != ids), ""):
        raise LabellingError(
            f"{file}: {twice!r} has a different label in an earlier file; join several by |, or import one of"
            " the files"
        )
    out.labels |= mine
    out.discards += [(meant[name], why) for name, why in lines.discards]
    out.discard_file = file if lines.discards else out.discard_file
    out.wrong += [(image, f"{where} {line}: {why}") for line, image, why in sorted(wrong)]


def _refuse_two_names(file: Path, meant: Mapping[str, str], images: Collection[str]) -> None:
    """Raise LabellingError for a file that names an image of the study both with and without an extension."""
    ways: dict[str, list[str]] = {}
    for name, id_ in meant.items():
        ways.setdefault(id_, []).append(name)
    if twice := [both for id_, both in ways.items() if len(both) > 1 and id_ in images]:
        first, second = twice[0][:2]
        raise LabellingError(
            f"{file}: names {counted(len(twice), 'image')} both with and without an extension, or with two"
            f" ({first!r} and {second!r}); use one name per image"
        )


def _store(study: Study, truth: str, labels: dict[str, list[int]], images: dict[str, Any]) -> tuple[int, int]:
    """Store label sets, image by image; return how many are new and how many replace others."""
    where = label_maps.truth(study.root, truth)
    new = 0
    replaced = 0
    codes: dict[int, dict[str, bytes]] = {}
    for id_, ids in labels.items():
        codes.setdefault(images[id_].shard, {})[id_] = class_answers.encode(ids or [class_answers.NONE])
    stored = study.manifest(where)
    parts = {}
    others = {}
    for number, mine in sorted(codes.items()):
        there = {m.id: m for m in label_maps.read_stored(where, number, stored)}
        others[number] = [
            there[id_] for id_, code in mine.items() if id_ in there and there[id_].runs != code
        ]
        replaced += len(others[number])
        new += sum(id_ not in there for id_ in mine)
        whole = there | {id_: label_maps.StoredMap(id_, code) for id_, code in mine.items()}
        sha = label_maps.put_maps(where, number, [whole[id_] for id_ in sorted(whole)])
        parts[part_name(number)] = Part(sha, len(whole), "classes")
    label_maps.keep_taken_back(where, others, "classes")
    if parts:
        write_manifest(where, {**stored, **parts})
    return new, replaced


def _labels(image: str, words: str, images: Iterable[str], settings: Settings) -> tuple[str, list[int]]:
    """Return what is wrong with a line of labels, or '' and the sorted ids that it names."""
    ids = dict(zip(settings.classes.names, settings.classes.ids, strict=True))
    if words.strip() == NONE and NONE not in ids:
        return ("", []) if image in images else (f"{image!r} is not an image of the study", [])
    out = set()
    for word in words.split("|"):
        problem, class_ = _known(image, word.strip(), images, settings)
        if problem:
            return problem, []
        out.add(ids[class_])
    return "", sorted(out)


def _known(image: str, word: str, images: Iterable[str], settings: Settings) -> tuple[str, str]:
    """Return what is wrong with an image or a class, or '' and the name of the class."""
    if image not in images:
        return f"{image!r} is not an image of the study", ""
    return class_named(word, settings)
