"""label: what people say of the chosen images, out to a labelling tool and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faultscape.errors import LabellingError, OptionError, closest

FORMATS = ("png", "labelme", "csv")
_EXPECTED = {
    True: "a CSV file of labels (image, label) or of answers (image, class, annotator, answer), or a folder of these",
    False: "a folder of masks or of LabelMe files, named as the images",
}


def export(
    study: str,
    out: str,
    *,
    format: str | None = None,
    selection: str = "main",
    truth: str = "labels",
    prefill: str | None = None,
    again: bool = False,
) -> Any:
    """Write the images of a selection that have no label yet to a folder for a labelling tool, or of classifiers the questions that are still open.

    png: OUT gets images/ID.png (the original, upright), classes.json, and labels/ for masks ID.png. labelme: OUT gets ID.png, ID.json beside it, and labels.txt.
    csv: OUT gets questions.csv (or is that file): image, class, gloss; "does the image show such a thing?"

    Parameters
    ----------
    study
        The study folder.
    out
        The folder to write to; images and labels already there are left alone. Of classifiers a CSV file, which is not written over once anything is filled in.
    format
        png (a folder of palette masks; default) or labelme (one JSON an image, mask shapes); of classifiers csv (yes/no questions).
    selection
        Which selection's images.
    truth
        Images that have a label under this name, which the study has to have, are not written again.
    prefill
        Name of a model whose maps are filled in; they bias whoever labels, so the default is empty.
    again
        Of classifiers: also the questions that answers left undecided, at a tie or with everybody unsure.
    """
    from faultscape.stages import evidence
    from faultscape.stages.label import masks, questions
    from faultscape.study.folder import existing
    from faultscape.study.settings import read_settings

    root = existing(study)
    classifies = read_settings(root).classifies
    form = format or ("csv" if classifies else "png")
    if form not in FORMATS:
        raise OptionError(f"format {form!r} is not known; use {', '.join(FORMATS)}")
    if classifies != (form == "csv"):
        fitting = "csv: people answer yes/no questions" if classifies else "png or labelme: people draw masks"
        what = "classifiers" if classifies else "label maps"
        raise OptionError(f"--format {form} does not fit a study of {what}; use {fitting}")
    if classifies and prefill is not None:
        raise OptionError("--prefill fills maps in; questions about classes are asked without an answer")
    known = evidence.truths(root)
    if truth not in (*known, evidence.LABELS):
        have = f"there are {', '.join(known)}.{closest(truth, known)}" if known else "there are no labels yet."
        raise LabellingError(f"there is no truth {truth!r}; {have} Leave --truth out to write all images without a label")
    if classifies:
        return questions.export(root, str(study), out, selection, truth, again=again)
    if again:
        raise OptionError(
            "--again is for questions about classes; a mask that is to be drawn anew is imported again, and replaces the first"
        )
    if Path(out).suffix.lower() == ".csv" and not Path(out).is_dir():
        raise OptionError(
            f"{out}: photos and masks (--format png or labelme) go to a folder, for example {Path(out).with_suffix('')}; a table of questions is for classifiers"
        )
    return masks.export(root, str(study), out, form, selection, truth, prefill)


def import_(study: str, source: str, *, truth: str = "labels", pattern: str | None = None) -> Any:
    """Take in labels: a folder of masks or of LabelMe files, and its discard.csv (image, reason); of classifiers CSV files. Run it again to add or replace.

    Masks must have their photo's size. A later import adds, and replaces image by image.

    Parameters
    ----------
    study
        The study folder.
    source
        A folder of masks (PNG, npy, class colours) or LabelMe JSON, in the form that `label export` wrote or with the images' names. Of classifiers a CSV file:
        image, label (several joined by |, none for none of the classes; FILE.csv:COLUMN takes another column for labels), or image, class, annotator, answer (yes,
        no, unsure), or image, reason.
    truth
        Name under which the labels are kept.
    pattern
        How file names make ids, for example {id}_gtFine_labelIds.png.
    """
    from faultscape.corpus.id_lists import is_id_list
    from faultscape.stages.label import masks, questions
    from faultscape.study.folder import existing
    from faultscape.study.settings import read_settings
    from faultscape.study.store import is_address

    root, path = existing(study), Path(source)
    classifies = read_settings(root).classifies
    file, column = questions.part_of(source) if classifies else (source, "")
    if not Path(file).exists():
        more = "; labels are read from folders of this machine; copy them here first" if is_address(source) else ""
        raise LabellingError(f"{file}: there is no such {'file' if Path(file).suffix else 'folder'}{more}")
    if (path / "study.toml").is_file():
        raise LabellingError(f"{source}: is a study, and no labels; name {_EXPECTED[classifies]}")
    if not classifies and path.is_file() and is_id_list(source):
        raise LabellingError(f"{source}: is a table, and the labels of this study are label maps; name {_EXPECTED[False]}")
    if not classifies:
        return masks.import_(root, source, truth, pattern)
    if pattern is not None:
        raise OptionError("--pattern is for files of masks; a CSV file says itself which image a line is of")
    return questions.import_(root, file, column, truth)
