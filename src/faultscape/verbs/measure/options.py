"""Options of `measure` in groups: which part of a study, folders of scores, how files are read, definitions.

Conventions: imports are light, because the command line reads this file and shows the groups in its help.
None is an option that was not given, so that a preset or the class list decides.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any, TypeVar, cast

from faultscape.arguments import GroupRule, LabelMeanings, Place, Sources
from faultscape.metrics import definitions

Group = TypeVar("Group")
WORST = 3  # number of worst images shown for each kind of error


@dataclass(frozen=True)
class StudyPart:
    """Which part of a study is measured.

    Parameters
    ----------
    set_
        A set, for example fog-3, which `stress` made; repeat it for more, each measured by itself. Default:
        all images that were collected. OUT is then STUDY/measures-sets.
    holdout
        A holdout of `stress holdout`: the mean is over the kept classes, and withheld pixels are ignored.
    selection
        A selection of points: what its answers say about all images that could be drawn. OUT is then
        STUDY/measures-points/NAME.
    boxes
        What boxes around objects say (`label import --boxes`): bounds on each class's precision, recall and
        IoU. OUT is then STUDY/measures-boxes/TRUTH.
    present
        Whether maps contain the classes that images show, as people say (`label import --present`) or masks
        do: precision, recall and F1 of each class. OUT is then STUDY/measures-present/TRUTH.
    """

    set_: list[str] | None = None
    holdout: str | None = None
    selection: str | None = None
    boxes: bool = False
    present: bool = False

    @property
    def given(self) -> bool:
        """Whether only some sets or classes of the study are measured."""
        return bool(self.set_) or self.holdout is not None


@dataclass(frozen=True)
class ScoreFolders:
    """Folders of scores, of one kind each.

    Parameters
    ----------
    anomaly
        NAME=SCORES, folders of one score a pixel, large = anomalous: .npy, .npz, float TIFF, 16-bit PNG.
        Repeat it for more. In Python a dict.
    confidence
        NAME=FOLDER of the winning class's probability, .npy or 8-bit images (value / 255). Repeat it for
        more.
    doubt
        NAME=FOLDER of one number a pixel, large = doubtful. Repeat it for more.
    probabilities
        NAME=FOLDER of .npy or .npz, C x H x W in the order of the class list. Repeat it for more.
    """

    anomaly: Sources | None = None
    confidence: Sources | None = None
    doubt: Sources | None = None
    probabilities: Sources | None = None


@dataclass(frozen=True)
class FileRules:
    """How the files of folders are read.

    Parameters
    ----------
    images
        The images themselves, shown in the report.
    pattern
        Which files are truth and what their ids are, for example {id}_gtFine_labelIds.png; or, if it fits no
        file of the truth, those of the other folders: pred_{id}.png.
    ignore
        Further values that are void, besides those of the class list. Repeat it for more.
    labels
        What values of maps mean besides the class list's ids: 255=car, 255=void, several joined by commas; a
        JSON or TOML file with a class for each value; or for Cityscapes label-ids or train-ids. With
        --anomaly, what values of masks mean: 255=anomaly, 0=known.
    background
        The id of the class that forms no regions, unless the class list names it.
    group
        Which images belong together (drive, sequence, city, patient), so that intervals draw whole groups: a
        pattern of ids with {group}, such as "{group}_*", or a CSV file with columns id and group. A study has
        its own, from collect.
    block
        Cut groups (or all images, if there are none) into runs of this many consecutive images; useful if
        groups are too few.
    score_scale
        The divisor of integer scores in image files; default 255 or 65535.
    resize_maps
        Resize maps to the size of their truth, by nearest neighbour.
    """

    images: Place | None = None
    pattern: str | None = None
    ignore: list[int] | None = None
    labels: LabelMeanings | None = None
    background: int | None = None
    group: GroupRule | None = None
    block: int | None = None
    score_scale: float | None = None
    resize_maps: bool = False


def _left_open(of: type[Group]) -> type[Group]:
    """Return a group in which every definition may be left open, None, so that a preset decides it."""
    inherited = {f.name for f in fields(definitions.Definitions)}
    named: list[tuple[str, Any, Any]] = []
    for one in fields(cast("Any", of)):
        if one.name not in inherited:
            named.append((one.name, one.type, field(default=one.default)))
        elif one.name not in ("thresholds", "rounding"):  # of presets alone
            kind = str(one.type).replace(" | Literal['']", "")  # '' is none of an option's words
            named.append((one.name, f"{kind} | None", field(default=None)))
    _, _, rows = inspect.cleandoc(definitions.Definitions.__doc__ or "").partition("----------\n")
    about = {
        "__doc__": f"{inspect.cleandoc(of.__doc__ or '')}\n{rows}",
        "__module__": definitions.__name__,  # where the annotations can be read
    }
    return cast("type[Group]", make_dataclass(of.__name__, named, namespace=about, frozen=True))


@_left_open
@dataclass(frozen=True)
class Definitions(definitions.Definitions):
    """Definitions that the literature leaves open.

    Parameters
    ----------
    divisor
        With given regions and classes: class = id // divisor; without it the id is the class.
    boundaries
        Compute boundary metrics too; they take longer than all others together.
    """

    divisor: int | None = None
    boundaries: bool = True


def definitions_given(group: Definitions) -> dict[str, Any]:
    """Return {name: value} of the definitions that override the preset."""
    named = {name: value for name, value in vars(group).items() if name not in ("divisor", "boundaries")}
    return {name: value for name, value in named.items() if value is not None}
