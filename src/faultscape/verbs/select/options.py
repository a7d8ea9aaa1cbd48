"""Options of `select`, as its verb passes them to the stage: in groups, as the help shows them.

Conventions: imports are light, because the command line reads this file. None is an option that was not
given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from faultscape import plug
from faultscape.arguments import Place, ScaleFile
from faultscape.choices import CapRule, Constraints, Discrepancy, Goal, Over
from faultscape.verbs.given_options import refuse_empty


@dataclass(frozen=True)
class MapRules:
    """How label maps are compared and constrained.

    Parameters
    ----------
    concordance
        Label maps only: one of miou, fwiou, mpa, pixel_accuracy, dice, or file.py:function; default: miou.
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
    """How images are taken, for label maps and classifiers.

    Parameters
    ----------
    temperature
        With --selector mad: draw in proportion to discrepancy^(1 / temperature) instead of taking the
        largest, so that scores can be estimated.
    spares
        Images ranked behind the chosen ones, to replace discarded ones (default 3;
        for classifiers 10).
    keep_duplicates
        Allow near-duplicate images in one cell.
    """

    temperature: float | None = None
    spares: int | None = None
    keep_duplicates: bool | None = None


@dataclass(frozen=True)
class Printing:
    """Printed output.

    Parameters
    ----------
    list_
        Print the chosen images, one a line: path, number of duels, reason; messages go to standard error.
    """

    list_: bool = False


@dataclass(frozen=True)
class SelectOptions:
    """All options of `select`."""

    study: str
    as_: str | None = None
    selector: str | None = None
    goal: Goal | None = None
    budget: int | None = None
    more: int | None = None
    per_class: int | None = None
    top: int | None = None
    seed: int | None = None
    truth: str | None = None
    replace: bool = False
    remove: str | None = None
    dry_run: bool = False
    maps: MapRules = MapRules()
    classifiers: ClassifierRules = ClassifierRules()
    sampling: Sampling = Sampling()
    engine: str = "processes"
    workers: int | None = None
    printing: Printing = Printing()

    def __post_init__(self) -> None:
        refuse_empty(self)

    def in_any_folder(self) -> SelectOptions:
        """Return the options with absolute paths, as recorded: the selection may be extended from a different
        folder.
        """
        concordance = None if self.maps.concordance is None else plug.absolute(self.maps.concordance)
        selector = None if self.selector is None else plug.absolute(self.selector)
        return replace(self, selector=selector, maps=replace(self.maps, concordance=concordance))


def given(options: SelectOptions) -> dict[str, Any]:
    """Return {option: value} of the given options that decide what is chosen."""
    flat = {
        "goal": options.goal,
        **vars(options.maps),
        "per_class": options.per_class,
        **vars(options.classifiers),
        "top": options.top,
        **vars(options.sampling),
    }
    flat |= {"budget": options.budget, "more": options.more, "seed": options.seed, "truth": options.truth}
    return {name: value for name, value in flat.items() if value is not None}
