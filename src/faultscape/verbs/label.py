"""label: what people say of the chosen images, out to a labelling tool and back."""

from __future__ import annotations

from faultscape.arguments import Place, needed_text, several
from faultscape.stages.change_result import Changed
from faultscape.stages.label.options import ExportOptions, ImportOptions, RemoveOptions
from faultscape.stages.label.result import Answered, Asked, Exported, Imported


def export(
    study: Place,
    out: Place,
    *,
    format: str | None = None,
    selection: str = "main",
    truth: str | None = None,
    prefill: str | None = None,
    again: bool = False,
    anyway: bool = False,
) -> Exported | Asked:
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
        png (a folder of palette masks; default) or labelme (one JSON an image, mask shapes); of classifiers csv (yes/no questions). Or file.py:NAME, a format of your own.
    selection
        Which selection's images.
    truth
        Images that have a label under this name, which the study has to have, are not written again; default: labels, or the only one there is.
    prefill
        Name of a model whose maps are filled in; they bias whoever labels, so the default is empty.
    again
        Of classifiers: also the questions that answers left undecided, at a tie or with everybody unsure.
    anyway
        Write the images of a stale selection too: of one that another is to replace, or that is to be extended first.
    """
    from faultscape.stages.label.exchange import export_labels

    return export_labels(
        needed_text(study, "study"), ExportOptions(needed_text(out, "out"), format, selection, truth, prefill, again, anyway)
    )


def import_(
    study: Place, source: Place, *, truth: str = "labels", pattern: str | None = None, format: str | None = None
) -> Imported | Answered:
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
    format
        png, labelme, csv, or file.py:NAME, a format of your own; default: as the files show.
    """
    from faultscape.stages.label.exchange import import_labels

    return import_labels(needed_text(study, "study"), ImportOptions(needed_text(source, "source"), truth, pattern, format))


def remove(
    study: Place,
    *images: str,
    selection: str | None = None,
    truth: str | None = None,
    class_: list[str] | None = None,
    by: list[str] | None = None,
    discards: bool = False,
    all_: bool = False,
    dry_run: bool = False,
) -> Changed:
    """Take labels, answers or discards back. Nothing that people said is deleted; it counts nowhere until it is imported again.

    Parameters
    ----------
    study
        The study folder.
    images
        Ids of images, patterns of ids in quotes ("night/*"), or lists of ids (.txt or .csv).
    selection
        Instead of images: all that a selection of this name holds, spares too.
    truth
        The name that the labels are kept under; default: labels, or the only one.
    class_
        Of classifiers: only answers about this class; repeat it for more.
    by
        Of classifiers: only answers of this annotator; repeat it for more.
    discards
        Take back that these images were discarded, and leave labels as they are.
    all_
        Instead of images: every image of the study.
    dry_run
        Say what becomes stale, and change nothing.
    """
    from faultscape.stages.label.removal import remove_labels

    return remove_labels(
        needed_text(study, "study"),
        RemoveOptions(several(images), selection, truth, several(class_), several(by), discards, all_, dry_run),
    )
