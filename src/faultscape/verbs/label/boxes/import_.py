"""Import boxes around objects, as what they are: everything outside all boxes of a class is not that class.

Conventions: the boxes of an image are used all or none, since a missing one would say that nothing is there;
an image of which one cannot be used becomes a row of failures.csv. Classes that a file lists were boxed in
its images alone. Files about one image are joined, unless they contradict each other about a class. Boxes of
classes that the study lacks say nothing about its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from faultscape.errors import LabellingError, OptionError, counted, shortened
from faultscape.formats.label_tools.boxes import voc
from faultscape.formats.label_tools.boxes.catalogue import BOX_FORMATS, BoxFormat
from faultscape.formats.label_tools.boxes.said_boxes import BoxFile, SaidBoxes
from faultscape.formats.labelme import wrong_size
from faultscape.maps.boxes import Box, fault_of
from faultscape.reading.boxes.evidence import box_answers
from faultscape.reading.study import Study
from faultscape.study.answers.boxes import BoxAnswer, text_of
from faultscape.study.folder import refuse_twin
from faultscape.study.tables.corpus import Image
from faultscape.study.tables.logs import log_import
from faultscape.verbs.label.boxes.result import BoxesImported
from faultscape.verbs.label.tool_files import classes_meant, images_named, joined_answers, keep_failures
from faultscape.verbs.options import LabelImportOptions

_STAGE = "label boxes"
_INNER = ("Annotations", "annotations")  # where VOC, and COCO, keep them
_MOST_FILES = 200_000
_ENDINGS = frozenset({".json", ".xml", ".zip"})


def import_boxes(study: Study, options: LabelImportOptions) -> BoxesImported:
    """Import the boxes of a file, or of all files of a folder; LabellingError if none can be used."""
    for name in ("format", "labels"):
        if getattr(options, name) is not None:
            raise OptionError(f"--{name} applies to masks; files of boxes show their format: leave it out")
    if study.classifies:
        raise OptionError("--boxes applies to label maps; the models of this study are classifiers")
    source, truth = options.source, options.truth
    found = _files_of(Path(source))
    if not found:
        known = ", ".join(form.title for form in BOX_FORMATS)
        raise LabellingError(f"{source}: no file of boxes is there; expected one of {known}")
    with study.writing():
        if truth in study.models:
            raise OptionError(f"{truth!r} is the name of a model; choose another name with --truth NAME")
        refuse_twin(truth, study.truths, "truth")
        read = [(path, form.read(path)) for path, form in found]
        used = Counter(name for _, file in read for image in file.images for name, _ in image.boxes)
        listed = {name for _, file in read for name in file.classes}
        names = classes_meant(study, source, used, listed, "box", "boxes")
        if not names:
            raise LabellingError(
                f"{source}: no image in it has a box, and nothing in it says which classes were to be boxed"
            )
        answers, wrong = _answers(study, options, read, names)
        failures = keep_failures(study, _STAGE, truth, wrong, (one.image for one in answers))
        if not answers:
            why = f"the first: {wrong[0][1]}" if wrong else "no image of the study is in it"
            raise LabellingError(f"{source}: no box could be used; {why}")
        _tell_replaced(study, answers)
        new = box_answers(study).add_all(answers, source)
        log_import(study.root, source, truth=truth)
    _tell_left_out([file for _, file in read])
    number = sum(len(one.boxes) for one in answers)
    images = len({one.image for one in answers})
    boxed = tuple(sorted({name for one in answers for name in one.boxed}))
    return BoxesImported(
        truth, images, new, number, boxed, len(failures), failures[0].reason if failures else ""
    )


def holds_boxes_alone(source: Path) -> bool:
    """Whether a file, or the first XML file of a folder, is of a format that has nothing but boxes."""
    folder = next((source / name for name in _INNER if (source / name).is_dir()), source)
    first = min(folder.glob("*.xml"), default=source) if folder.is_dir() else source
    return voc.recognise(first)


def _files_of(source: Path) -> list[tuple[Path, BoxFormat]]:
    if source.is_file():
        there = [source]
    else:
        folder = next((source / name for name in _INNER if (source / name).is_dir()), source)
        there = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _ENDINGS)
    if len(there) > _MOST_FILES:
        raise LabellingError(f"{source}: holds {len(there):,} files; at most {_MOST_FILES:,} are read")
    found = ((path, next((form for form in BOX_FORMATS if form.recognise(path)), None)) for path in there)
    return [(path, form) for path, form in found if form]


def _named(source: Path, path: Path, image: str) -> str:
    """Return the name of an image in a file; the folders of the file lead to it where it names none.

    >>> _named(Path("in"), Path("in/night/3.xml"), "3.jpg"), _named(Path("in"), Path("in/3.xml"), "a/3.jpg")
    ('night/3.jpg', 'a/3.jpg')
    """
    inside = path.parent.relative_to(source) if source in path.parents else Path()
    inner = Path(*inside.parts[1:]) if inside.parts[:1] and inside.parts[0] in _INNER else inside
    return image if "/" in image else (inner / image).as_posix()


def _answers(
    study: Study,
    options: LabelImportOptions,
    read: Sequence[tuple[Path, BoxFile]],
    names: Mapping[str, str],
) -> tuple[list[BoxAnswer], list[tuple[str, str]]]:
    """Return the boxes of each person and image that can be used, and (image, why) of those that cannot."""
    rows = study.image_rows
    source = Path(options.source)
    appear = {word for _, file in read if not file.classes for one in file.images for word, _ in one.boxes}
    said = [(path, one, {*file.classes} or appear) for path, file in read for one in file.images]
    called = [_named(source, path, one.image) for path, one, _ in said]
    mine = dict[tuple[str, str], list[tuple[SaidBoxes, set[str]]]]()
    for place, id_ in images_named(source, called, rows, options.pattern).items():
        _, one, asked = said[place]
        mine.setdefault((id_, one.annotator), []).append((one, asked))
    answers, wrong = list[BoxAnswer](), list[tuple[str, str]]()
    for (id_, annotator), parts in mine.items():
        faults = (_fault(one, rows[id_], asked) for one, asked in parts)
        told, clash = joined_answers((one.where, _by_class(one, asked, names)) for one, asked in parts)
        if clash:
            clash += "; give all boxes of a class in an image in one place"
        if why := next(filter(None, faults), clash):
            wrong.append((id_, why))
        else:
            boxes = [(name, box) for name, of in told.items() for box in of]
            answers.append(BoxAnswer(id_, text_of(told, boxes), annotator, options.truth))
    return answers, wrong


def _fault(said: SaidBoxes, image: Image, asked: Collection[str]) -> str:
    """Return what is wrong with the boxes of an image, '' for nothing."""
    size = (image.width, image.height)
    if said.wrong:
        return said.wrong
    if said.size not in (None, size):
        return f"{said.where}: {wrong_size(said.size, size)}"
    for number, (name, box) in enumerate(said.boxes):
        if fault := fault_of(box, size):
            return f"{said.where}: box {number} ({name[:40]}) {fault}"
        if name not in asked:
            return f"{said.where}: box {number} is of {name[:40]!r}, which the labels of the file lack"
    return ""


def _by_class(said: SaidBoxes, asked: Collection[str], names: Mapping[str, str]) -> dict[str, set[Box]]:
    """Return {class of the study that was boxed: its boxes}."""
    out = {names[word]: set[Box]() for word in asked if word in names}
    for word, box in said.boxes:
        if word in names:
            out.setdefault(names[word], set()).add(box)
    return out


def _tell_replaced(study: Study, answers: Sequence[BoxAnswer]) -> None:
    """Report earlier boxes of classes that are not boxed any more."""
    new = {(one.image, one.annotator): one.boxed for one in answers}
    held = box_answers(study).answers(answers[0].truth)
    lost = [{*one.boxed}.difference(new.get((one.image, one.annotator), one.boxed)) for one in held]
    if number := sum(map(bool, lost)):
        print(
            f"{counted(number, 'image loses its', 'images lose their')} earlier boxes of"
            f" {shortened(sorted(set().union(*lost)))}, since the latest boxes of an image count; to keep"
            " both, import the files together, as one folder"
        )


def _tell_left_out(files: Sequence[BoxFile]) -> None:
    """Report images without a box, which say that nothing is there, and those that nobody may have seen."""
    if number := sum(not image.boxes and not image.wrong for file in files for image in file.images):
        print(f"{counted(number, 'image has', 'images have')} no box: none of the boxed classes is in them")
    if number := sum(file.untouched for file in files):
        print(f"{counted(number, 'image is', 'images are')} not labelled yet: no shape is drawn on them")
