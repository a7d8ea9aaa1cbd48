"""label: export images to a labelling tool, and import the labels."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from faultscape.arguments import LabelMeanings, Place, PlaceOrMaps, needed_text
from faultscape.errors import OptionError, closest
from faultscape.verbs.label.boxes.result import BoxesImported
from faultscape.verbs.label.crowd.result import Consensus, SessionsExported, SessionsImported
from faultscape.verbs.label.options import SessionRules
from faultscape.verbs.label.points.result import PointsAnswered, PointsExported
from faultscape.verbs.label.present.result import PresentImported
from faultscape.verbs.label.result import (
    Answered,
    AnswersTaken,
    AnswersWritten,
    Asked,
    Checked,
    Exported,
    Forgotten,
    Imported,
    Invited,
    MasksWritten,
)
from faultscape.verbs.serve.options import CampaignRules, Served, origin_of
from faultscape.verbs.status.change_result import Changed
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    import numpy as np

    from faultscape.verbs.options import LabelConsensusOptions, LabelServeOptions


@verb("faultscape.verbs.label.exchange:export_labels", check=lambda options: options.sessions.check())
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
    done: bool = False,
    sessions: SessionRules = SessionRules(),  # noqa: B008 - frozen
) -> Exported | Asked | SessionsExported | MasksWritten | PointsExported:
    """Write the images of a selection that have no label yet to a folder for a labelling tool; for
    classifiers, the questions that are still open. With --done, the masks of everything that is labelled.

    png: OUT gets images/ID.png (the original, upright), classes.json, and labels/ for masks ID.png. labelme:
    OUT gets ID.png, ID.json next to it, and labels.txt. csv: OUT gets questions.csv (or is that file): image,
    class, gloss; "does the image show such a thing?" points: OUT gets points.csv and crops/, a cut of the
    image around each point. For other tools OUT gets images/ and the files that the tool imports.

    Parameters
    ----------
    study
        The study folder.
    out
        The folder to write to; images and labels that are already there stay as they are. For classifiers a
        CSV file; it, or the table of points, is never overwritten once it contains answers.
    format
        One of png, png-index, png-colours, labelme, cvat, cvat-masks, label-studio, label-studio-bitmask,
        coco-panoptic, coco, points, csv, or file.py:NAME, a format of your own; default: png (a folder of
        palette masks), for classifiers csv (yes/no questions). For a selection of points: points (a table,
        the default), cvat, label-studio.
    selection
        The selection whose images are written; main stands for the only one too.
    truth
        Skip images that have a label under this name, which must exist in the study; default: labels, or the
        only one.
    prefill
        Fill in the maps of this model. Filled-in maps bias annotators, so by default nothing is filled in.
    again
        For classifiers: also write the questions that answers left undecided (a tie, or everyone unsure).
    anyway
        Also write the images of a stale selection: one that should be replaced, or extended first.
    outlines
        Write what --prefill fills in as polygons, which people can move, instead of masks; the result says by
        how many pixels they differ from the maps.
    done
        Instead of images to label, write the masks of all labelled images to OUT/labels/, in the ids of the
        class list and at the size of their image, with classes.json. `label import` reads them back exactly.
    sessions
        How images are shared among several people: `SessionRules(annotators=...)`.

    >>> fs.label.export("study", "masks/", done=True).masks
    12
    """
    ...


@verb("faultscape.verbs.label.exchange:import_labels")
def import_(
    study: Place,
    source: PlaceOrMaps,
    *,
    truth: str = "labels",
    pattern: str | None = None,
    format: str | None = None,
    labels: LabelMeanings | None = None,
    boxes: bool = False,
    present: bool = False,
) -> Imported | Answered | AnswersTaken | SessionsImported | PointsAnswered | BoxesImported | PresentImported:
    """Import labels: a folder of masks or LabelMe files with its discard.csv (image, reason), such a table of
    discards alone, a file from a labelling tool, or, for classifiers, CSV files. Run it again to add or
    replace labels; what was taken back of a folder's discards stays so.

    Masks must have the size of their image. A later import adds to earlier ones and replaces them image by
    image. If a tool records who drew, each person's labels become a truth of their own, TRUTH-PERSON. A file
    of JSON lines (.jsonl) is one that `label answers` wrote. From a folder of sessions (`label export
    --annotators`), the labels of all people are imported at once, and what they drew on training images is
    compared with the known labels.

    Parameters
    ----------
    study
        The study folder.
    source
        A folder of masks (PNG, npy, class colours) or LabelMe JSON files, as `label export` wrote it or with
        the images' names, or a tool's file. For points also a CSV file: image, row, column, answer (a class,
        void, cannot tell, or A|B on a border). For classifiers a CSV file: image, label (several joined by |;
        none for none of the classes; FILE.csv:COLUMN reads labels from another column), or image, class,
        annotator, answer (yes, no, unsure), or image, reason. In Python also masks in memory, {ID: mask},
        pairs (ID, mask) or one for each image in order, for classifiers class ids.
    truth
        Name to keep the labels under.
    pattern
        How file names become ids, for example {id}_gtFine_labelIds.png; for a tool's file, how the names of
        its images do: {id}_png.rf.*.jpg.
    format
        One of png, png-index, png-colours, labelme, cvat, cvat-masks, label-studio, label-studio-bitmask,
        coco-panoptic, coco, points, csv, or file.py:NAME, a format of your own; default: detected from the
        files.
    labels
        What values of masks mean besides the class list's ids: 255=car, 255=void, several joined by commas; a
        JSON or TOML file with a class for each value; or for Cityscapes label-ids or train-ids. Later masks
        of the truth are read alike.
    boxes
        Read boxes around objects (COCO, CVAT, Label Studio, LabelMe, VOC XML), a file or a folder, as what
        they are: outside all boxes of a class nothing is of it, inside is unknown. `measure --boxes` says
        what follows.
    present
        Read which classes are in images: a CSV file with the columns image and present (classes joined by |;
        none), and if you like asked (the classes that were asked about) and annotator; or Label Studio's JSON
        with choices. `measure --present` says what follows.

    >>> fs.label.import_("study", "truth/", truth="second").new
    12
    """
    ...


def labels(study: Place, *, truth: str | None = None) -> Mapping[str, np.ndarray] | Mapping[str, str]:
    """Return the labels of a study by image, in the order of its images: (H, W) ids of the class list, with
    its void ids where nothing is said; for classifiers the name of the class.

    Masks have the size of their image, and each is read when it is asked for. Several classes of an image are
    joined by |, and none stands for none of the classes; of yes/no answers it is what more people answered
    with yes than with no.

    Parameters
    ----------
    study
        The study folder.
    truth
        The labels; default: labels, or the only ones.

    >>> labels = fs.labels("study")
    >>> labels["street-00"].shape
    (48, 64)
    """
    from faultscape.verbs.label.held_labels import held_labels

    return held_labels(needed_text(study, "study"), truth)


@verb("faultscape.verbs.label.tool_check:check_upload")
def check(file: Place, *, format: str | None = None) -> Checked:
    """Check a file before you upload it to a labelling tool: report what the tool would reject. The exit
    status is 1 if it would reject anything.

    Parameters
    ----------
    file
        A file from a labelling tool, or the folder that contains it.
    format
        Its format; default: detected from the file.

    >>> models = {"unet": "maps/unet/", "fcn": "maps/fcn/"}
    >>> ran = fs.run("new", "images/", models, classes="classes.json", engine="local")
    >>> written = fs.label.export("new", "to-label/", format="labelme")
    >>> fs.label.check("to-label/").problems
    ()
    """
    ...


def _check_serving(options: LabelServeOptions) -> None:
    if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "itsdangerous")):
        raise OptionError("label serve needs packages that are not installed: pip install 'faultscape[app]'")
    options.campaign.check()
    if options.address is not None:
        origin_of(options.address)


@verb("faultscape.verbs.serve.server:serve_labels", check=_check_serving)
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
    """Let people answer in their browsers: which of two maps is better, whether an image shows a class, or
    what a pixel shows. Press Ctrl-C to stop.

    On this machine alone, anyone who opens the page enters a name and starts. With another host, an address,
    or --invites, people need links, which an organiser makes on the page People.

    Parameters
    ----------
    study
        The study folder.
    host
        The address to listen on; any address other than this machine's own lets others in, by invite links.
    port
        The port; if it is taken, the next free one; 0 for any.
    database
        Where answers are kept: postgresql://USER@HOST/NAME; default: answers.sqlite in the study. The address
        is stored in study.toml without a password; libpq reads that from PGPASSWORD or its password file.
    selection
        The selection whose images are shown; main stands for the only one too.
    truth
        Name to keep the answers under.
    forced
        Offer only left or right, as Yan et al. 2021 do.
    invites
        Admit people by invite link only, on this machine too.
    address
        The address that people open, such as https://label.example.org, if the server runs behind a proxy;
        people then need invite links.
    seed
        Decides the order of items, and which items are repeated; sides are random.
    campaign
        How items are shared among annotators: `CampaignRules(overlap=...)`.

    >>> fs.label.serve("study")  # until Ctrl-C  # doctest: +SKIP
    """
    ...


@verb("faultscape.verbs.serve.people:invite_person")
def invite(study: Place, name: str, *, organiser: bool = False) -> Invited:
    """Make a link that lets one person answer in `label serve`. Inviting the same person again makes a new
    link; the old one stops working.

    Parameters
    ----------
    study
        The study folder.
    name
        The name that the organisers know the person by; answers carry only a pseudonym.
    organiser
        Let the person see results and invite others.

    >>> fs.label.invite("study", "ann").name
    'ann'
    """
    ...


@verb("faultscape.verbs.serve.people:forget_person")
def forget(study: Place, name: str, *, answers: bool = False) -> Forgotten:
    """Forget who an annotator is: delete the name and the link, and keep the answers under a pseudonym that
    no longer belongs to anyone.

    Parameters
    ----------
    study
        The study folder.
    name
        The person's name or pseudonym.
    answers
        Also take back what the person answered: choices, yes/no answers, tags, and votes to discard. Masks,
        findings in others' masks, and decided discards stay.

    >>> invited = fs.label.invite("study", "ann")
    >>> fs.label.forget("study", "ann").taken_back
    """
    ...


@verb("faultscape.verbs.label.answer_lines:write_answers")
def answers(study: Place, out: Place) -> AnswersWritten:
    """Write everything that people answered, except masks, as JSON lines: choices, answers, points, discards,
    tags and checks, with people's pseudonyms. `label import` reads them back.

    Parameters
    ----------
    study
        The study folder.
    out
        A file that ends in .jsonl.

    >>> fs.label.answers("study", "answers.jsonl").path
    'answers.jsonl'
    """
    ...


def _check_consensus(options: LabelConsensusOptions) -> None:
    ties = ("void", "skill")  # as in labelling.people.mask_consensus, which is too heavy to import here
    if options.tie not in ties:
        raise OptionError(
            f"--tie {options.tie!r} is not known; use {' or '.join(ties)}.{closest(options.tie, ties)}"
        )
    if options.least < 1:
        raise OptionError(f"--least must be 1 or more people; got {options.least}")


@verb("faultscape.verbs.label.crowd.consensus:join_labels", check=_check_consensus)
def consensus(
    study: Place, *, of: list[str], truth: str = "labels", tie: str = "void", least: int = 2
) -> Consensus:
    """Merge the masks of several annotators into one truth by a majority vote on each pixel, and list the
    images on which they disagree most.

    Parameters
    ----------
    study
        The study folder.
    of
        The truths of the annotators' labels, as `label import` named them: two or more, or one whose masks
        others checked.
    truth
        Name to keep the consensus under.
    tie
        What a pixel becomes if no class has more than half of the votes: void, or skill: the vote of the
        annotator who agrees most with the others.
    least
        How many annotators must have labelled an image, or checked a mask of it on which no mark is open;
        images with fewer are left out.

    >>> for name in ("ann", "ben"):
    ...     imported = fs.label.import_("study", "truth/", truth=f"labels-{name}")
    >>> fs.label.consensus("study", of=["labels-ann", "labels-ben"], truth="joined").truth
    'joined'
    """
    ...


@verb("faultscape.verbs.label.removal:remove_labels")
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
    """Take back labels, answers or discards. Nothing is deleted: what you take back no longer counts until
    you import it again.

    Parameters
    ----------
    study
        The study folder.
    images
        Ids of images, patterns of ids in quotes ("night/*"), or lists of ids (.txt or .csv). Their masks are
        taken back; answers to points in them stay, as choices between maps do.
    selection
        Instead of images: every image of this selection, spares included; of a selection of points only the
        answers to its points.
    truth
        Name that the labels are kept under; default: labels, or the only one.
    class_
        Only answers about whether images show this class. Repeatable.
    by
        Only answers and boxes of this annotator. Repeatable.
    discards
        Take back only the discards of these images; their labels stay.
    all_
        Instead of images: every image of the study, with all answers to points.
    dry_run
        Report what would become stale, and change nothing.

    >>> fs.label.remove("study", "street-00")
    study: 1 label removed from truth 'labels' ...
    """
    ...
