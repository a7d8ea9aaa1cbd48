"""The options of `select` that belong together, in groups, as the help shows them.

Conventions: imports are light, because the command line reads this file. None is an option that was not
given.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.arguments import Place, ScaleFile
from faultscape.choices import CapRule, Constraints, Discrepancy, Over
from faultscape.errors import OptionError

MOST_POINTS = 100_000
ONLY_MAPS = (
    "points are pixels of label maps, which a study of classifiers has not: use --goal order, for images"
)


def check_points(number: int, option: str = "points") -> None:
    """Raise OptionError for a number of points that cannot be drawn."""
    if not 1 <= number <= MOST_POINTS:
        raise OptionError(f"--{option} must be 1 to {MOST_POINTS:,} points; got {number}")


@dataclass(frozen=True)
class MapRules:
    """How label maps are compared and constrained.

    Parameters
    ----------
    concordance
        Label maps only: one of miou, fwiou, mpa, pixel_accuracy, dice, or file.py:function; default: miou.
        Several, such as miou+regions: their mean rank chooses, the first scores models. regions is 1 - ROM -
        RUM.
    over
        Classes that a mean is over: union (of both maps; default), all (an absent class counts 0), or truth
        (of the defender's map). mpa has a value only for classes of the defender's map, so union and truth
        are the same there; fwiou and pixel_accuracy are not means over classes.
    constraints
        none, class (the defender predicts the class) or class+scale (in its usual size); default:
        class+scale with --scale, else class.
    scale
        The file that `faultscape scale` wrote; in Python also a Scale.
    """

    concordance: str | None = None
    over: Over | None = None
    constraints: Constraints | None = None
    scale: ScaleFile | None = None


@dataclass(frozen=True)
class ClassifierRules:
    """How answers of classifiers are compared and constrained.

    Parameters
    ----------
    distance
        Classifiers only: how far apart two classes are: wordnet (default where classes have WordNet
        ids), path, hops, 01 (default elsewhere, and with --temperature), or a file.
    hierarchy
        The hierarchy above the classes: a table of parents (CSV or JSON), or a folder
        of WordNet; default: the bundled WordNet hierarchy of ImageNet's classes.
    discrepancy
        top1 (default): between the most likely classes; expected: the expectation over
        the probabilities of both models, calibrated once there are 20 labels.
    confidence
        Both models must be at least this confident (default 0.8); ignored for models
        without probabilities.
    cap
        At most this many images of a pair with the same predicted label of a model (default 3).
    cap_rule
        What the cap counts: accepted (images taken, as in Wang et al. 2020;
        default) or scanned (all images looked at, as in the authors' code).
    without
        Leave out images predicted as this class; repeat it for more.
    """

    distance: Place | None = None
    hierarchy: Place | None = None
    discrepancy: Discrepancy | None = None
    confidence: float | None = None
    cap: int | None = None
    cap_rule: CapRule | None = None
    without: list[str] | None = None


@dataclass(frozen=True)
class Sampling:
    """How images are taken, for label maps and classifiers, or pixels of label maps.

    Parameters
    ----------
    points
        Draw this many pixels instead of images, about each of which a person says what it shows (default
        300): scores are then pooled mIoU.
    temperature
        With --selector mad: draw in proportion to discrepancy^(1 / temperature) instead of taking the
        largest, so that scores can be estimated.
    spares
        Images ranked behind the chosen ones, to replace discarded ones (default 3;
        for classifiers 10).
    keep_duplicates
        Allow near-duplicate images in one cell.
    border
        With --points: draw no pixel that has another label at most this many rows and columns away in any
        model's map (default 0); scores are then about the interiors of regions.
    per_image
        With --points: draw this many pixels of each image that is drawn (default 1), so that a person looks
        at it once.
    """

    points: int | None = None
    temperature: float | None = None
    spares: int | None = None
    keep_duplicates: bool | None = None
    border: int | None = None
    per_image: int | None = None


@dataclass(frozen=True)
class Printing:
    """Printed output.

    Parameters
    ----------
    list_
        Print the chosen images, one a line: path, number of duels, reason; messages go to standard error.
    """

    list_: bool = False
