"""Export labels to people and import them: masks for label maps, or questions about classes, by the study's
task.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from faultscape.corpus.id_lists import is_id_list
from faultscape.corpus.packed_sources import is_packed, is_there
from faultscape.errors import LabellingError, OptionError, closest
from faultscape.labelling import discards, point_tables
from faultscape.labelling.catalogue import find_format, point_format
from faultscape.labelling.point_tables import POINTS
from faultscape.reading.study import LABELS, Study, opened
from faultscape.study.store import is_address
from faultscape.study.tables import selections
from faultscape.verbs import graph
from faultscape.verbs.in_memory.labels import as_files
from faultscape.verbs.label import answer_lines, mask_export, masks, questions
from faultscape.verbs.label.boxes.import_ import holds_boxes_alone, import_boxes
from faultscape.verbs.label.boxes.result import BoxesImported, measure_line
from faultscape.verbs.label.crowd import session_export, session_import
from faultscape.verbs.label.crowd.result import SessionsExported, SessionsImported
from faultscape.verbs.label.held_labels import export_done
from faultscape.verbs.label.points import export as point_export
from faultscape.verbs.label.points import import_ as point_import
from faultscape.verbs.label.points.result import PointsAnswered, PointsExported
from faultscape.verbs.label.present.import_ import import_present, names_present
from faultscape.verbs.label.present.result import PresentImported
from faultscape.verbs.label.result import (
    Answered,
    AnswersTaken,
    Asked,
    Exported,
    Imported,
    MasksWritten,
)
from faultscape.verbs.options import LabelExportOptions, LabelImportOptions
from faultscape.verbs.select.artefact import SELECTION, successor

_EXPECTED = {
    True: (
        "a CSV file of labels (image, label) or of answers (image, class, annotator, answer), or a folder of"
        " these"
    ),
    False: (
        "a folder of masks or LabelMe files with the images' names, or a CSV file of answers to points"
        " (image, row, column, answer) or of discards (image, reason)"
    ),
}


def export_labels(
    options: LabelExportOptions,
) -> Exported | Asked | SessionsExported | MasksWritten | PointsExported:
    """Write what needs labels to a folder or a file; LabellingError for an unknown truth, OptionError for
    options that do not fit the study.
    """
    study = opened(options.study)
    classifies = study.classifies
    form = find_format(options.format, study.settings.task)
    if classifies and options.prefill is not None:
        raise OptionError("--prefill applies to masks only; questions about classes are never pre-filled")
    if options.done:
        if classifies:
            raise OptionError(
                "--done writes masks; answers about classes: `faultscape label answers STUDY OUT.jsonl`"
            )
        return export_done(study, options, form)
    options = replace(options, selection=selections.the_name(study.root, options.selection))
    known = study.truths
    if options.truth is None:
        options = replace(options, truth=study.truth() if known else LABELS)
    if (truth := options.truth) is not None and truth not in (*known, LABELS):
        have = (
            f"available: {', '.join(known)}.{closest(truth, known)}" if known else "there are no labels yet."
        )
        raise LabellingError(
            f"there is no truth {truth!r}; {have} Remove --truth to write all images without a label"
        )
    _check_fresh(study, options)
    asks = bool(study.selection(options.selection).slots.points)
    if asks:
        form = POINTS if options.format is None else point_format(form, options.selection)
    elif form.kind == POINTS.kind:
        raise OptionError(
            f"selection {options.selection!r} asks for labels of images; --format {form.name} does not fit it"
        )
    if form.kind in ("questions", POINTS.kind):
        if options.sessions.people:
            raise OptionError(
                "--annotators applies to masks only; share questions with `label serve`, or give everyone"
                " the same file"
            )
        if form.kind == POINTS.kind:
            return point_export.export(study, options, form)
        return questions.export(study, options, form)
    if options.again:
        raise OptionError(
            "--again applies to questions about classes; to redraw a mask, import the new one, which"
            " replaces the first"
        )
    out = Path(options.out)
    if out.suffix.lower() == ".csv" and not out.is_dir():
        raise OptionError(
            f"{options.out}: images and masks (--format png or labelme) need a folder, for example"
            f" {out.with_suffix('')}; question tables are for classifiers"
        )
    if options.sessions.people:
        return session_export.export(study, options, form)
    return mask_export.export(study, options, form)


def _check_fresh(study: Study, options: LabelExportOptions) -> None:
    """Raise LabellingError for a stale selection, unless its images are wanted anyway."""
    if options.anyway or options.selection not in study.selections:
        return
    node = graph.node(study, SELECTION, options.selection)
    if node.state == "stale":
        newer = successor(study, options.selection)
        how = f"run `{node.line}` first, or " if node.line else f"label {newer} instead, or " if newer else ""
        raise LabellingError(
            f"selection {options.selection!r} is stale: {', '.join(node.why)}; {how}add --anyway to label it"
            " as it is"
        )


def import_labels(
    options: LabelImportOptions,
) -> Imported | Answered | AnswersTaken | SessionsImported | PointsAnswered | BoxesImported | PresentImported:
    """Import labels from a folder or a file, and say what comes next; LabellingError for a source that cannot
    contain labels for this study.
    """
    study = opened(options.study)
    if options.boxes or options.present:
        flag = "boxes" if options.boxes else "present"
        if options.boxes and options.present:
            raise OptionError("--boxes and --present read different files; give one of them at a time")
        if not isinstance(options.source, str) or not Path(options.source).exists():
            raise LabellingError(f"{options.source}: no such file or folder; --{flag} reads a file")
        found = import_boxes(study, options) if options.boxes else import_present(study, options)
        return replace(found, then=measure_line(options.study, flag, options.truth))
    if isinstance(options.source, str) and holds_boxes_alone(Path(options.source)):
        raise LabellingError(f"{options.source}: holds boxes of PASCAL VOC, not masks; add --boxes")
    with as_files(study, options.source) as source:
        found = _imported(study, replace(options, source=source))
    # without a selection, what comes next is not to rank
    if not isinstance(found, Imported | Answered | PointsAnswered) or not selections.names(study.root):
        return found
    waiting = [node.line for node in graph.undone(study.reread(), "loop")]
    return replace(found, then=waiting[0] if waiting else shlex.join(["faultscape", "run", options.study]))


def _imported(
    study: Study, options: LabelImportOptions
) -> Imported | Answered | AnswersTaken | SessionsImported | PointsAnswered:
    source = options.source
    if source.lower().endswith(answer_lines.ENDING) and Path(source).is_file():
        _refuse_pattern(options)
        return answer_lines.read_answers(study, source)
    classifies = study.classifies
    form = find_format(options.format, study.settings.task)
    file, column = questions.part_of(source) if classifies else (source, "")
    is_within = not classifies and is_packed(source) and is_there(source)
    if not Path(file).exists() and not is_within:
        more = (
            "; labels are read from local folders only; copy them to this machine first"
            if is_address(source)
            else ""
        )
        raise LabellingError(f"{file}: no such file or folder{more}")
    if (Path(source) / "study.toml").is_file():
        raise LabellingError(f"{source}: is a study, not labels; give {_EXPECTED[classifies]}")
    if not classifies and not is_within and (files := point_import.files_of(study, source, options.format)):
        if not all(one.photo for _, one in files):
            _refuse_pattern(options)
        if options.labels is not None:
            raise OptionError("--labels applies to mask files only; answers to points name their classes")
        return point_import.import_(study, source, files, options.truth, options.pattern)
    if form.kind == POINTS.kind:
        needed = ", ".join(point_tables.NEEDED)
        raise LabellingError(f"{source}: is not a table of points, which needs the columns {needed}")
    if not classifies and Path(source).is_file() and discards.is_table(source):
        _refuse_pattern(options)
        if options.labels is not None or options.format is not None:
            flag = "labels" if options.labels is not None else "format"
            raise OptionError(f"--{flag} applies to labels; {source} holds discards, so leave it out")
        return masks.import_discards(study, options)
    if not classifies and names_present(Path(source)):
        raise LabellingError(f"{source}: says which classes are in images, not where; add --present")
    if not classifies and Path(source).is_file() and is_id_list(source):
        raise LabellingError(
            f"{source}: is a table, but the labels of this study are label maps; give {_EXPECTED[False]}"
        )
    if form.kind != "questions":
        if (Path(source) / session_export.FILE).is_file():
            return session_import.import_(study, options, form if options.format else None)
        return masks.import_(study, options, form if options.format else None)
    _refuse_pattern(options)
    if options.labels is not None:
        raise OptionError("--labels applies to mask files only; in a CSV file classes have names")
    return questions.import_(study, file, column, options.truth, form)


def _refuse_pattern(options: LabelImportOptions) -> None:
    """Raise OptionError if a pattern is given, for a file that names images by their ids."""
    if options.pattern is not None:
        raise OptionError(
            f"--pattern applies to names of masks, and of images in files of masks; {options.source} names"
            " images by their ids, so leave it out"
        )


def import_masks(study: Study, source: Path, truth: str, called: str) -> Imported:
    """Import the masks of one person from a file or a folder as that person's truth, whatever annotator the
    file names. Messages show ``called`` instead of the path ``source``; errors as for `import_labels`.

    The person who draws learns nothing about models; problems with single labels are listed in failures.csv,
    which the page shows.
    """
    options = LabelImportOptions(study=str(study.root), source=str(source), truth=truth)
    return replace(masks.import_(study, options, None, masks.OnePerson(called)), first="", copies=())
