"""Yes/no questions about classes, asked in an external tool: images and tasks are exported, answers
imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from faultscape.corpus.photos import read_photo
from faultscape.errors import LabellingError
from faultscape.formats import png
from faultscape.formats.label_tools.label_studio_choices import Question
from faultscape.labelling import answers as said
from faultscape.labelling.catalogue import TaskFormat
from faultscape.labelling.format_calls import checked_files, places_of, plain_errors
from faultscape.progress import progress
from faultscape.reading import evidence
from faultscape.reading.label_counts import question_glosses, questions
from faultscape.study.answers.labels import Answers
from faultscape.study.folder import put
from faultscape.study.lock import writing
from faultscape.study.settings import read_settings
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.logs import Failure, log_import, read_failures, replace_failures
from faultscape.verbs.label.options import ExportOptions, ImportOptions
from faultscape.verbs.label.questions import still_difficult
from faultscape.verbs.label.result import Answered, Asked, import_line, returned_to, steps_text


def export(root: Path, study: str, options: ExportOptions, form: TaskFormat) -> Asked:
    """Write the questions of a selection that no one has answered yet, each with its image."""
    settings, held, truth, folder = (
        read_settings(root),
        Answers(root),
        options.truth or evidence.LABELS,
        Path(options.out),
    )
    slots = evidence.current(root, options.selection, held.discarded())
    images = {image.id: image for image in read_corpus(root)}
    wanted, verdicts = questions(root, settings, slots, truth), said.majority(held.answers(truth))
    asked = [question for question, settled in wanted.items() if not settled]
    undecided = [question for question in asked if verdicts.get(question, True) is None]
    todo = [q for q in asked if q[0] in images and (q not in verdicts or (options.again and q in undecided))]
    photos = {image: places_of(form, folder, image)[0] for image, _ in todo}
    with progress("export", len(photos)) as tick:
        for image, path in photos.items():
            if not path.exists():
                put(path, png.encode_pixels(read_photo(images[image])[0]))
            tick(1)
    rows = [Question(image, photos[image].relative_to(folder).as_posix(), class_) for image, class_ in todo]
    for path, data in (
        checked_files(form, folder, lambda: form.write(folder, rows, question_glosses(settings)))
        if todo
        else ()
    ):
        if path.exists() and path.read_bytes() != data:
            raise LabellingError(
                f"{path}: already exists with other contents and is never overwritten; give another folder"
            )
        put(path, data)
    then = import_line(study, returned_to(options.out, form.returned), truth, options.format)
    return Asked(
        options.out,
        len(todo),
        len(photos),
        len(wanted) - len(todo),
        len(undecided),
        options.again,
        then,
        steps_text(form.says, options.out, form.returned),
    )


def import_(root: Path, options: ImportOptions, form: TaskFormat, files: Sequence[Path]) -> Answered:
    """Import the answers from a tool's files; LabellingError if none can be used."""
    truth = options.truth
    with writing(root):
        settings, held = read_settings(root), Answers(root)
        ids = {image.id for image in read_corpus(root)}
        found, wrong = list[said.Answer](), list[tuple[str, str]]()
        for file in files:
            with plain_errors(form, file):
                rows, sentences = form.read(file)
            wrong += [("", sentence) for sentence in sentences]
            for row in rows:
                why = (
                    f"{row.image[:80]!r} is not an image of the study"
                    if row.image not in ids
                    else (
                        f"{row.class_[:80]!r} is not a class of the study"
                        if row.class_ not in settings.classes.names
                        else ""
                    )
                )
                wrong += [(row.image, f"{row.where}: {why}")] if why else []
                found += [] if why else [(row.image, row.class_, row.annotator or "somebody", row.answer)]
        failures = [Failure("label", truth, image, why) for image, why in wrong]
        touched = {row[0] for row in found}
        rest = [
            f
            for f in read_failures(root)
            if (f.stage, f.name) == ("label", truth) and f.image and f.image not in touched
        ]
        replace_failures(root, "label", truth, rest + failures)
        if not found:
            raise LabellingError(
                f"{options.source}: no answer could be used;"
                f" {f'the first: {wrong[0][1]}' if wrong else 'it has no answers yet'}"
            )
        before = {row[:3]: row[3] for row in held.answers(truth)}
        anew = {row[0] for row in said.latest(found) if before.get(row[:3]) != row[3]}
        new = held.answer(found, options.source, truth)
        everything = held.answers(truth)
        difficult = said.difficult(row for row in everything if row[0] in touched)
        thrown = still_difficult(held, difficult, anew)
        discarded = held.discard(thrown, options.source)
        log_import(root, options.source, truth=truth)
    evidence.tell_discards(root, {image for image, _ in thrown})
    ties = sum(verdict is None for verdict in said.majority(everything).values())
    return Answered(truth, 0, 0, new, ties, discarded, len(failures), failures[0].reason if failures else "")
