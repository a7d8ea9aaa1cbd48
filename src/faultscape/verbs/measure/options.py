"""Options of `measure` in groups: which part of a study, folders of scores, how files are read, definitions.

Conventions: imports are light, because the command line reads this file and shows the groups in its help.
None is an option that was not given, so that a preset or the class list decides.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from faultscape.arguments import GroupRule, LabelMeanings, Place, Sources
from faultscape.choices import (
    Absent,
    Connectivity,
    Curve,
    FprRule,
    Match,
    Over,
    Per,
    Pooling,
    RegionKind,
    RegionScale,
    Track,
    VoidRule,
)

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
    """

    set_: list[str] | None = None
    holdout: str | None = None

    @property
    def given(self) -> bool:
        """Whether only a part of the study is measured."""
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


@dataclass(frozen=True)
class Choices:
    """Definitions that the literature leaves open.

    Parameters
    ----------
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    divisor
        With given regions and classes: class = id // divisor; without it the id is the class.
    connectivity
        8 (default) or 4.
    void
        cut (default: pixels void in the truth go before regions are made) or bridge (after).
    absent
        nan (default) or zero: ROM, RUM, ROR, RUR and AP of a class without regions on one side.
    all_unknown
        zero (default) or nan: ROM and RUM of a class whose regions are all below the confidence threshold, in
        their curves.
    scale
        tanh (default), sigmoid or none, in ROM and RUM.
    match
        iou (default) or dice: the overlap at which AP counts a region as found.
    per
        truth (default) or prediction: over which regions PE-OS and PE-US are means.
    over
        Classes that mIoU, Dice and MPA are means over: union (those of truth or prediction; default), truth,
        or all (an absent class counts 0). MPA has a value only for classes of the truth, so union and truth
        are the same there.
    pooling
        How pixels and scores of several images are combined: pooled (default), per_image (a mean over
        images), or cells (a mean over all cells of an image and a class; metrics without classes as
        per_image).
    fpr_rule
        first (default: the first threshold with recall of .95) or closest (the lowest of all thresholds
        closest to it).
    curve
        step (default) or trapezoid: the area under precision and recall.
    fpr_limit
        AUPRO: the false positive rate up to which the area is measured (default 0.3).
    alarm
        Recall of anomalous objects by size: the false positive rate of its
        threshold (default 0.05).
    covered
        The same: the share of an object's pixels above the threshold for it to count as found (default 0.5).
    track
        anomaly or obstacle: size limits of SegmentMeIfYouCan's component metrics; default none.
    tolerance
        Boundary F-score: pixels if 1 or more, else a share of the diagonal (default 0.0075).
    band
        Boundary IoU: width of the band, in the same units (default 0.02).
    bins
        Bins of ECE and the reliability diagram (default 15).
    window
        Side of PAvPU's windows, in pixels (default 2).
    certain
        PAvPU: a window is certain up to this mean doubt (default 0.5).
    accurate
        PAvPU: a window is accurate above this share of right pixels (default 0.5).
    boundaries
        Compute boundary metrics too; they take longer than all others together.
    """

    regions: RegionKind | None = None
    divisor: int | None = None
    connectivity: Connectivity | None = None
    void: VoidRule | None = None
    absent: Absent | None = None
    all_unknown: Absent | None = None
    scale: RegionScale | None = None
    match: Match | None = None
    per: Per | None = None
    over: Over | None = None
    pooling: Pooling | None = None
    fpr_rule: FprRule | None = None
    curve: Curve | None = None
    fpr_limit: float | None = None
    alarm: float | None = None
    covered: float | None = None
    track: Track | None = None
    tolerance: float | None = None
    band: float | None = None
    bins: int | None = None
    window: int | None = None
    certain: float | None = None
    accurate: float | None = None
    boundaries: bool = True

    @property
    def given(self) -> dict[str, str | float]:
        """{name: value} of the definitions that override the preset."""
        named = {
            f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("divisor", "boundaries")
        }
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Reading:
    """Other options that affect statistics: boundary metrics, the divisor of region ids, the scale of score
    images, maps of a different size.
    """

    boundaries: bool = True
    divisor: int | None = None
    score_scale: float | None = None
    resize_maps: bool = False
