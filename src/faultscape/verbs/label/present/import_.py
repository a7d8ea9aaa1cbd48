"""Import which classes people say are in images: answers of yes and no to whether an image shows a class, as
classifiers have them.

Conventions: a class that was asked about and is not named as present is not in the image; others are unknown.
What a person says about an image in several lines is joined; where lines contradict each other, none is used.
Classes that the study lacks say nothing about its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from faultscape.errors import LabellingError, OptionError, counted
from faultscape.formats.label_tools import label_studio_choices
from faultscape.formats.label_tools.label_studio_choices import PresentFile, SaidPresent
from faultscape.labelling import present_tables
from faultscape.labelling.answers import Answer
from faultscape.reading.study import Study
from faultscape.study.folder import refuse_twin
from faultscape.study.tables.logs import log_import
from faultscape.verbs.label.present.result import PresentImported
from faultscape.verbs.label.tool_files import classes_meant, images_named, joined_answers, keep_failures
from faultscape.verbs.options import LabelImportOptions

_STAGE = "label present"
_TABLES = (".csv", ".tsv")
_HOW = "name all classes of an image in one line, joined by |, or in a column `asked` what each line is about"


def import_present(study: Study, options: LabelImportOptions) -> PresentImported:
    """Import the classes present in the images of a file; LabellingError if no line can be used."""
    for name in ("format", "labels"):
        if getattr(options, name) is not None:
            raise OptionError(f"--{name} applies to masks; with --present classes have names: leave it out")
    if study.classifies:
        raise OptionError(
            "--present applies to label maps; the models of this study are classifiers, whose labels are"
            " imported without it"
        )
    source, truth = Path(options.source), options.truth
    with study.writing():
        if truth in study.models:
            raise OptionError(f"{truth!r} is the name of a model; choose another name with --truth NAME")
        refuse_twin(truth, study.truths, "truth")
        file = _read(source)
        used = Counter(word for one in file.images for word in one.present)
        listed = {*file.asked, *(word for one in file.images for word in one.asked)}
        names = classes_meant(study, str(source), used, listed, "answer", "answers")
        usual = sorted({names[word] for word in file.asked or {*used, *listed} if word in names})
        rows = study.image_rows
        named = images_named(source, [one.image for one in file.images], rows, options.pattern)
        mine = dict[tuple[str, str], list[SaidPresent]]()
        for place, image in named.items():
            mine.setdefault((image, file.images[place].annotator), []).append(file.images[place])
        answers, wrong = list[Answer](), [*file.wrong]
        for (image, annotator), said in mine.items():
            told, why = joined_answers((one.where, _answers(one, names, usual)) for one in said)
            wrong += [(image, f"{why}; {_HOW}")] if why else []
            answers += [(image, name, annotator, answer) for name, answer in told.items()]
        failures = keep_failures(study, _STAGE, truth, wrong, (row[0] for row in answers))
        if not answers:
            why = (
                f"the first: {failures[0].reason}" if failures else "no image of the study is answered in it"
            )
            raise LabellingError(f"{source}: no line could be used; {why}")
        new = study.answers.answer(answers, str(source), truth)
        log_import(study.root, str(source), truth=truth)
    if file.untouched:
        print(f"{counted(file.untouched, 'image is', 'images are')} not answered yet")
    return PresentImported(
        truth,
        len({row[0] for row in answers}),
        new,
        len({row[:2] for row in answers if row[3] == "yes"}),
        tuple(sorted({row[1] for row in answers})),
        len(failures),
        failures[0].reason if failures else "",
    )


def names_present(source: Path) -> bool:
    """Whether a file is a table with a column of classes present."""
    return source.suffix.lower() in _TABLES and source.is_file() and present_tables.names_present(source)


def _read(source: Path) -> PresentFile:
    if source.suffix.lower() in _TABLES:
        return present_tables.read(source)
    if source.suffix.lower() == ".json":
        return label_studio_choices.read(source)
    raise LabellingError(
        f"{source}: expected a CSV file (image, present) or Label Studio's JSON with choices"
    )


def _answers(said: SaidPresent, names: Mapping[str, str], usual: list[str]) -> dict[str, str]:
    """Return {class of the study: what a person says about it}, of all that were asked about; ``usual`` are
    those of the file.
    """
    yes, unsure = ({names[word] for word in words if word in names} for words in (said.present, said.unsure))
    asked = {names[word] for word in said.asked if word in names} if said.asked else {*usual}
    return {
        name: "yes" if name in yes else "unsure" if name in unsure else "no" for name in sorted(asked | yes)
    }
