"""label: what people say of the chosen images, out to a labelling tool and back."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from faultscape.errors import LabellingError, OptionError, closest, counted

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
    from faultscape.study.folder import existing
    from faultscape.study.settings import read_settings
    from faultscape.verbs import label_answers, label_masks, labelled

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
    known = labelled.truths(root)
    if truth not in (*known, labelled.LABELS):
        have = f"there are {', '.join(known)}.{closest(truth, known)}" if known else "there are no labels yet."
        raise LabellingError(f"there is no truth {truth!r}; {have} Leave --truth out to write all images without a label")
    if classifies:
        return label_answers.export(root, str(study), out, selection, truth, again=again)
    if again:
        raise OptionError(
            "--again is for questions about classes; a mask that is to be drawn anew is imported again, and replaces the first"
        )
    if Path(out).suffix.lower() == ".csv" and not Path(out).is_dir():
        raise OptionError(
            f"{out}: photos and masks (--format png or labelme) go to a folder, for example {Path(out).with_suffix('')}; a table of questions is for classifiers"
        )
    return label_masks.export(root, str(study), out, form, selection, truth, prefill)


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
    from faultscape.study.folder import existing
    from faultscape.study.settings import read_settings
    from faultscape.study.store import is_address
    from faultscape.verbs import label_answers, label_masks

    root, path = existing(study), Path(source)
    classifies = read_settings(root).classifies
    file, column = label_answers.part_of(source) if classifies else (source, "")
    if not Path(file).exists():
        more = "; labels are read from folders of this machine; copy them here first" if is_address(source) else ""
        raise LabellingError(f"{file}: there is no such {'file' if Path(file).suffix else 'folder'}{more}")
    if (path / "study.toml").is_file():
        raise LabellingError(f"{source}: is a study, and no labels; name {_EXPECTED[classifies]}")
    if not classifies and path.is_file() and is_id_list(source):
        raise LabellingError(f"{source}: is a table, and the labels of this study are label maps; name {_EXPECTED[False]}")
    if not classifies:
        return label_masks.import_(root, source, truth, pattern)
    if pattern is not None:
        raise OptionError("--pattern is for files of masks; a CSV file says itself which image a line is of")
    return label_answers.import_(root, file, column, truth)


def current(root: Path, selection: str, discarded: Any) -> Any:
    """Return a selection as it counts now: without the images that were discarded or left the corpus, spares moved up."""
    from faultscape.selection.spares import effective
    from faultscape.study.corpus import read_ids
    from faultscape.study.selections import read_selection

    slots, _ = read_selection(root, selection)
    gone = {row.image for row in slots.rows} - read_ids(root)
    return effective(slots, {**dict(discarded), **dict.fromkeys(gone, "left the corpus")})


def discards_told(slots: Any, now: Any, discarded: Collection[str]) -> str:
    """Return how many images that a selection chose are discarded, and how many spares take their places; nothing where none is.

    ``now`` is the selection as it counts now. Of images drawn for all models at once no other takes the place.
    """
    from faultscape.nouns import Draw

    gone = set(slots.images) & set(discarded)
    if not gone:
        return ""
    if isinstance(slots.chosen[0], Draw):
        return f"{counted(len(gone), 'drawn image is', 'drawn images are')} discarded, and no other takes the place"
    spares, short = len(set(now.images) - set(slots.images)), len(slots.chosen) - len(now.chosen)
    moved = f"{counted(spares, 'spare image moves', 'spare images move')} up" if spares else "no spare image moves up"
    left = f"; {counted(short, 'slot has', 'slots have')} no spare left" if short else ""
    return f"{counted(len(gone), 'chosen image is', 'chosen images are')} discarded, and {moved}{left}"


def tell_discards(root: Path, images: Collection[str]) -> None:
    """Say of each selection that chose one of the images just discarded how it counts now."""
    from faultscape.study.answers import Answers
    from faultscape.study.selections import names, read_selection

    discarded = Answers(root).discarded() if images else {}
    for name in names(root) if images else ():
        slots = read_selection(root, name)[0]
        if not set(slots.images).isdisjoint(images):
            print(f"selection {name}: {discards_told(slots, current(root, name, discarded), discarded)}")
