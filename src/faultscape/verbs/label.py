"""label: hand images to a labelling tool, and take the labels in."""

from __future__ import annotations

from faultscape.arguments import Place, needed_text, place_text, several
from faultscape.errors import OptionError
from faultscape.stages.change_result import Changed
from faultscape.stages.label.crowd.result import Consensus, SessionsExported, SessionsImported
from faultscape.stages.label.options import (
    ConsensusOptions,
    ExportOptions,
    ImportOptions,
    RemoveOptions,
    SessionRules,
)
from faultscape.stages.label.result import (
    Answered,
    AnswersTaken,
    AnswersWritten,
    Asked,
    Checked,
    ChecksTaken,
    ChoicesTaken,
    Exported,
    Forgotten,
    Imported,
    Invited,
)
from faultscape.stages.serve.options import CampaignRules, Served, ServeOptions


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
    outlines: bool = False,
    sessions: SessionRules = SessionRules(),  # noqa: B008 - frozen
) -> Exported | Asked | SessionsExported:
    """Write the images of a selection that have no label yet to a folder for a labelling tool, or of
    classifiers the questions that are still open.

    png: OUT gets images/ID.png (the original, upright), classes.json, and labels/ for masks ID.png. labelme:
    OUT gets ID.png, ID.json beside it, and labels.txt. csv: OUT gets questions.csv (or is that file): image,
    class, gloss; "does the image show such a thing?" Of other tools OUT gets images/, and the files that the
    tool takes; label-studio-pairs asks which of two models' maps is better.

    Parameters
    ----------
    study
        The study folder.
    out
        The folder to write to; images and labels already there are left alone. Of classifiers a CSV file,
        which is not written over once anything is filled in.
    format
        png (a folder of palette masks; default), png-index, png-colours, labelme, cvat, cvat-masks,
        label-studio, label-studio-bitmask, coco-panoptic, coco, or label-studio-pairs; of classifiers csv
        (yes/no questions) or label-studio-questions. Or file.py:NAME, a format of your own.
    selection
        Which selection's images.
    truth
        Images that have a label under this name, which the study has to have, are not written again; default:
        labels, or the only one there is.
    prefill
        Name of a model whose maps are filled in; they bias whoever labels, so the default is empty.
    again
        Of classifiers: also the questions that answers left undecided, at a tie or with everybody unsure.
    anyway
        Write the images of a stale selection too: of one that another is to replace, or that is to be
        extended first.
    outlines
        Write what --prefill fills in as polygons, which people can move, in place of masks; how many pixels
        these differ from the maps is said.
    sessions
        How images are shared among several people: `SessionRules(annotators=...)`.
    """
    from faultscape.stages.label.exchange import export_labels

    return export_labels(
        needed_text(study, "study"),
        ExportOptions(
            needed_text(out, "out"), format, selection, truth, prefill, again, anyway, outlines, sessions
        ),
    )


def import_(
    study: Place,
    source: Place,
    *,
    truth: str = "labels",
    pattern: str | None = None,
    format: str | None = None,
) -> Imported | Answered | AnswersTaken | ChoicesTaken | ChecksTaken | SessionsImported:
    """Take in labels: a folder of masks or of LabelMe files, and its discard.csv (image, reason); a labelling
    tool's file; of classifiers CSV files. Run it again to add or replace.

    Masks must have their photo's size. A later import adds, and replaces image by image. Where a tool says
    who drew, each person's labels are a truth of their own, TRUTH-PERSON. A file of JSON lines (.jsonl) is
    what `label answers` wrote. Of a folder of sessions (`label export --annotators`) all people's labels are
    taken in at once, and what they drew of training images is compared with the known labels.

    Parameters
    ----------
    study
        The study folder.
    source
        A folder of masks (PNG, npy, class colours) or LabelMe JSON, in the form that `label export` wrote or
        with the images' names. Of classifiers a CSV file: image, label (several joined by |, none for none of
        the classes; FILE.csv:COLUMN takes another column for labels), or image, class, annotator, answer
        (yes, no, unsure), or image, reason.
    truth
        Name under which the labels are kept.
    pattern
        How file names make ids, for example {id}_gtFine_labelIds.png.
    format
        png, png-index, png-colours, labelme, cvat, cvat-masks, label-studio, label-studio-bitmask,
        coco-panoptic, coco, label-studio-pairs, csv, label-studio-questions, or file.py:NAME, a format of
        your own; default: as the files show.
    """
    from faultscape.stages.label.exchange import import_labels

    return import_labels(
        needed_text(study, "study"), ImportOptions(needed_text(source, "source"), truth, pattern, format)
    )


def check(file: Place, *, format: str | None = None) -> Checked:
    """Say whether a labelling tool will take a file, and what of it not, before somebody uploads it; the line
    ends with exit status 1 where it will not take all.

    Parameters
    ----------
    file
        A file of a labelling tool, or the folder that it lies in.
    format
        Its format; default: as the file shows.
    """
    from faultscape.stages.label.check import check as check_file

    return check_file(needed_text(file, "file"), place_text(format, "format"))


def serve(
    study: Place,
    *,
    host: str = "127.0.0.1",
    port: int = 8760,
    database: str | None = None,
    selection: str = "main",
    truth: str = "labels",
    forced: bool = False,
    invites: bool = False,
    address: str | None = None,
    seed: int = 0,
    campaign: CampaignRules = CampaignRules(),  # noqa: B008 - frozen
) -> Served:
    """Let people answer in their browsers: which of two maps is better, or whether an image shows a class.
    Ends with Ctrl-C.

    On this machine alone whoever opens the page gives a name and begins. With another host, an address, or
    --invites, people come in by links, which an organiser makes on the page People.

    Parameters
    ----------
    study
        The study folder.
    host
        The address to listen at; another than this machine's own lets others in, by invite links.
    port
        The port; where it is taken the next that is free, 0 for any.
    database
        Where answers are kept: postgresql://USER@HOST/NAME; default: answers.sqlite in the study. It is noted
        in study.toml, without a password, which libpq takes from PGPASSWORD or its password file.
    selection
        Which selection's images are asked about.
    truth
        Name under which the answers are kept.
    forced
        Only left or right, as in S0 4.4.
    invites
        Let people in by invite links alone, on this machine too.
    address
        The address that people open, such as https://label.example.org, where a proxy stands before the
        server; people then come in by invite links.
    seed
        Decides the order of items, and which items are repeated; sides are random.
    campaign
        How items are shared among annotators: `CampaignRules(overlap=...)`.
    """
    try:
        from faultscape.stages.label.exchange import import_masks
        from faultscape.stages.rank.live import standings_now
        from faultscape.stages.serve.serve import serve_labels
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in {"fastapi", "uvicorn", "starlette", "itsdangerous"}:
            raise
        raise OptionError("label serve needs what is not installed: pip install 'faultscape[app]'") from None

    options = ServeOptions(
        host,
        port,
        database,
        selection,
        truth,
        forced,
        seed,
        invites,
        place_text(address, "address"),
        campaign,
    )
    return serve_labels(needed_text(study, "study"), options, standings_now, import_masks)


def invite(study: Place, name: str, *, organiser: bool = False) -> Invited:
    """Make a link by which somebody can answer in `label serve`; of who is invited already a new link, and
    the one before lets nobody in any more.

    Parameters
    ----------
    study
        The study folder.
    name
        The name that the organisers know the person by; answers name a pseudonym alone.
    organiser
        Let the person see results and invite others.
    """
    from faultscape.stages.label.people import invite_somebody

    return invite_somebody(needed_text(study, "study"), name, organiser=organiser)


def forget(study: Place, name: str, *, answers: bool = False) -> Forgotten:
    """Forget who an annotator is: the name and the link go, and what was said stays under a pseudonym that
    belongs to nobody any more.

    Parameters
    ----------
    study
        The study folder.
    name
        The person's name or pseudonym.
    answers
        Also take back all that the person said: choices, yes/no answers, tags, and votes to discard. Masks,
        findings in masks of others, and discards that were decided stay.
    """
    from faultscape.stages.label.people import forget_somebody

    return forget_somebody(needed_text(study, "study"), name, answers=answers)


def answers(study: Place, out: Place) -> AnswersWritten:
    """Write all that people said that is not a mask as JSON lines: choices, answers, discards, tags and
    checks, of people by their pseudonyms. `label import` takes them in again.

    Parameters
    ----------
    study
        The study folder.
    out
        A file that ends in .jsonl.
    """
    from faultscape.stages.label.answer_lines import write_answers

    return write_answers(needed_text(study, "study"), needed_text(out, "out"))


def consensus(
    study: Place, *, of: list[str], truth: str = "labels", tie: str = "void", least: int = 2
) -> Consensus:
    """Join the masks of several annotators to one truth, by a vote on each pixel, and say on which images
    they should talk.

    Parameters
    ----------
    study
        The study folder.
    of
        The truths of the annotators' labels, as `label import` made them: name two or more.
    truth
        Name under which the consensus is kept.
    tie
        What a pixel becomes for which no class has more than half of the votes: void, or skill: what the
        annotator says who agrees most with the others.
    least
        How many of them must have labelled an image; those that fewer did are left out.
    """
    from faultscape.stages.label.crowd.consensus import join_labels

    return join_labels(needed_text(study, "study"), ConsensusOptions(several(of), truth, tie, least))


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
    """Take labels, answers or discards back. Nothing that people said is deleted; it counts nowhere until it
    is imported again.

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
        RemoveOptions(
            several(images), selection, truth, several(class_), several(by), discards, all_, dry_run
        ),
    )
