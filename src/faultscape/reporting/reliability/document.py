"""reliability.json: every number of the card in one flat list of cells, from which the page and tables are
made.

Conventions: a cell is a number of a model, or of a model and scorer, under one condition or over all
corrupted ones; undefined is null, intervals are 95 %. Differences are over the images that both have. Missing
numbers are listed, with the command that makes them. A cell or difference with a ``holdout`` is in
distribution: over the classes that the holdout keeps, without the pixels of those that it withholds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from faultscape.errors import shortened
from faultscape.nouns import JsonObject

CORRUPTED = "all corruptions"  # the condition of means over corruptions
RANDOM = "random"
RETRAINED = "retrained"  # the flag of a model that needs its own training for its doubt
TRAINED_WITH_OOD = (  # begins the flag of a model that saw unknown objects in training
    "trained-with-ood"
)
ALL_OBJECTS = "all objects"
FOUND_AT = ("found_1", "found_5", "found_10")  # metrics: objects found at these percents of false alarms


@dataclass(frozen=True)
class CardMetric:
    """A metric of the card: its ``title``, whether high or low is better, and its definition in a
    sentence.
    """

    name: str
    title: str
    better: Literal["high", "low"]
    says: str
    of: Literal["maps", "errors", "anomalies"]
    short: str = ""


CARD_METRICS: tuple[CardMetric, ...] = (
    CardMetric(
        "miou",
        "mIoU",
        "high",
        "mean over classes of intersection over union, pooled over images (Yan et al. 2021, eq. 7); of all"
        " corruptions the mean over severities, then over corruptions",
        "maps",
    ),
    CardMetric(
        "relative_drop",
        "Relative drop",
        "low",
        "share of the clean mIoU that is lost, 1 - corrupted / clean",
        "maps",
        "drop",
    ),
    CardMetric(
        "corruption_error",
        "Corruption error",
        "low",
        "errors 1 - mIoU summed over severities, divided by those of the reference model, mean over"
        " corruptions (Hendrycks and Dietterich 2019)",
        "maps",
        "mCE",
    ),
    CardMetric(
        "consistency",
        "Consistency",
        "high",
        "mIoU of the model's maps of corrupted images with its own maps of the clean ones: no labels are used"
        " (arXiv 2503.00450)",
        "maps",
    ),
    CardMetric(
        "ece",
        "ECE",
        "low",
        "expected calibration error of the largest probability, 15 bins of equal width",
        "maps",
    ),
    CardMetric(
        "error_auroc",
        "Calibration AUROC",
        "high",
        "AUROC of doubt at finding wrong pixels among the known ones (the calibration AUC of Buchanan et al."
        " 2022); it depends on which pixels are wrong, so compare models of similar accuracy",
        "errors",
        "cal. AUROC",
    ),
    CardMetric(
        "error_ap",
        "AP of errors",
        "high",
        "average precision of doubt at finding wrong pixels; not comparable between models of unequal"
        " accuracy",
        "errors",
        "AP errors",
    ),
    CardMetric(
        "error_fpr95",
        "FPR95 of errors",
        "low",
        "share of right pixels that are doubted as much when 95 % of the wrong ones are found",
        "errors",
        "FPR95 errors",
    ),
    CardMetric(
        "average_precision",
        "AP",
        "high",
        "average precision of doubt at finding anomalous pixels, all pixels pooled, step sum (Blum et al."
        " 2021, section 3.3)",
        "anomalies",
    ),
    CardMetric("auroc", "AUROC", "high", "area under the ROC curve of anomalous pixels", "anomalies"),
    CardMetric(
        "fpr95",
        "FPR95",
        "low",
        "share of known pixels that are doubted as much when 95 % of the anomalous ones are found",
        "anomalies",
    ),
    *(
        CardMetric(
            name,
            f"Objects found at {name.removeprefix('found_')} %",
            "high",
            "share of the anomalous objects of which at least half of the pixels are flagged, where"
            f" {name.removeprefix('found_')} % of the known pixels are",
            "anomalies",
            f"objects@{name.removeprefix('found_')}%",
        )
        for name in FOUND_AT
    ),
    CardMetric(
        "component_f1",
        "Component F1",
        "high",
        "F1 of anomalous objects at the threshold of the best pixel F1, mean over sIoU thresholds"
        " .25:.05:.75, size limits by --track (SegmentMeIfYouCan); of doubt that is stored",
        "anomalies",
    ),
)
TITLES = {metric.name: metric for metric in CARD_METRICS}
FIRST_SCORER = "msp"


def own_scorer(scorers: Sequence[str]) -> str:
    """Return the scorer of a model's own row, from those that were counted: max probability if counted, else
    the first; '' without any.

    >>> own_scorer(["entropy", "msp"]), own_scorer(["energy"]), own_scorer([])
    ('msp', 'energy', '')
    """
    return FIRST_SCORER if FIRST_SCORER in scorers else scorers[0] if scorers else ""


class CardCell(TypedDict, total=False):
    """One number of the card; ``holdout`` is set if it is in distribution."""

    model: str
    scorer: str
    condition: str
    metric: str
    holdout: str
    value: float | None
    low: float | None
    high: float | None
    images: int


class CardDifference(TypedDict, total=False):
    """The difference of two rows, first minus second, in one number, over the images that both have;
    ``second_scorer`` is set if the second model's scorer differs, ``holdout`` if it is in distribution.
    """

    metric: str
    condition: str
    holdout: str
    scorer: str
    second_scorer: str
    first: str
    second: str
    difference: float | None
    low: float | None
    high: float | None
    images: int


class CardGap(TypedDict):
    """What a model lacks: for which scorers ('' means its maps) and conditions, and the command that makes it
    ('' if none helps).
    """

    model: str
    scorers: list[str]
    conditions: list[str]
    why: str
    line: str


class CardClass(TypedDict, total=False):
    """The IoU of one class under a condition, or over the severities of a corruption (`of_severities`) or all
    corruptions; ``holdout`` is set if it is in distribution.
    """

    model: str
    class_: str
    condition: str
    holdout: str
    value: float | None
    low: float | None
    high: float | None


class CardObjects(TypedDict, total=False):
    """Results for some anomalous objects under one condition: the AP of their pixels, the mean share of their
    pixels that is found at 5 % false alarms, and the share of objects found at 1, 5 and 10 %.
    """

    model: str
    scorer: str
    condition: str
    objects: str
    count: int
    average_precision: float | None
    recall: float | None
    found_1: float | None
    found_5: float | None
    found_10: float | None


class CardRequirement(TypedDict):
    """A requirement of a model's number: ``above`` or below a bound, the number with its interval, whether it
    is met, missed or not known, and ``why`` it is not known.
    """

    requirement: str
    model: str
    scorer: str
    condition: str
    metric: str
    holdout: str
    above: bool
    bound: float
    value: float | None
    low: float | None
    high: float | None
    standing: Literal["met", "missed", "not known"]
    why: str


class CardRecommended(TypedDict):
    """The scorer recommended for a model, chosen by its mean AP on ``sets``, which are for validation; '' and
    ``why`` where none can be. The ``difference`` is that from the scorer of the model's own row.
    """

    model: str
    scorer: str
    sets: list[str]
    average_precision: float | None
    instead_of: str
    difference: float | None
    low: float | None
    high: float | None
    why: str


class CardFlagged(TypedDict):
    """What a threshold flags under a condition: shares of known pixels (false alarms), of anomalous pixels
    and of objects.
    """

    condition: str
    false_alarms: float | None
    pixels: float | None
    objects: float | None


class CardThreshold(TypedDict):
    """The lowest ``score`` of a scorer at which no more than a ``rate`` of the known pixels of its validation
    ``images`` is flagged, and what it flags elsewhere.
    """

    model: str
    scorer: str
    rate: float
    score: float | None
    images: int
    on: list[CardFlagged]


class CardGuard(TypedDict, total=False):
    """A guard of a blended set: ``pasted``, how well a scorer separates pasted known objects from all other
    known pixels (AUROC, .5 if it cannot), or ``difference``, what the cheat |image - base| gains in clear or
    foggy images.
    """

    kind: str
    condition: str
    model: str
    scorer: str
    weather: str
    images: int
    auroc: float | None
    low: float | None
    high: float | None
    average_precision: float | None
    fpr95: float | None
    share: float | None


class CardFinder(TypedDict, total=False):
    """The share of a model's failures, the tenth of images on which it is worst, that a finder (``doubt`` or
    ``disagreement``) has found after a tenth and a fifth of the labels. ``p_value`` is from a sign test of
    the two over units, after a fifth; ``units_ahead`` counts the units in which this one has found more.
    """

    model: str
    finder: str
    images: int
    failures: int
    found_tenth: float | None
    found_fifth: float | None
    auroc: float | None
    p_value: float | None
    units_ahead: int


class CardCondition(TypedDict, total=False):
    """A condition: its kind, its number of images, how made sets were made, the classes that a holdout
    withholds, the family of its unknown objects, if it shows any, and whether it is for ``validation``, on
    which scorers are chosen, or for ``training``.
    """

    name: str
    kind: str
    images: int
    sets: list[str]
    holdout: str
    withheld: list[str]
    corruption: str
    severity: int
    of: str
    edition: str
    family: str
    validation: bool
    training: bool
    anomalous: float | None


class CardPreset(TypedDict):
    """A model's numbers under another evaluation protocol, {name: number}: for each set, and means
    over them.
    """

    sets: dict[str, dict[str, float | None]]
    means: dict[str, float | None]


class CardClaim(TypedDict):
    """A submission's claim about a set, what is measured there, and whether the claim is accepted ('' or why
    not).
    """

    condition: str
    average_precision: float
    fpr95: float
    measured_average_precision: float | None
    measured_fpr95: float | None
    accepted: bool
    why: str


class CardTraining(TypedDict):
    """How a model was trained: network and loss, number of images and steps, the classes that it did not
    learn, the unknown objects that taught it and their family ('' for none), the flags of the network that it
    started from, the minutes of training, [step, loss], and validation results [step, mIoU, NLL].
    """

    backbone: str
    head: str
    loss: str
    images: int
    withheld: list[str]
    negatives: str
    family: str
    inherited: list[str]
    steps: int
    batch: int
    rate: float
    minutes: float
    losses: list[list[float]]
    watched: list[list[float]]


class CardMethod(TypedDict):
    """A fitted method among the scorers of a model: the layers that it taps, its options, its flags, the set
    that it was tuned on and the set of unknown objects that taught it ('' for none), their family, and the
    minutes of its last fit, if these are known.
    """

    scorer: str
    layers: list[str]
    options: dict[str, bool | int | float | str]
    flags: list[str]
    validation: str
    negatives: str
    family: str
    minutes: float | None


class CardModel(TypedDict, total=False):
    """A model: its scorers, the fitted methods among them, members and flags, how it was trained here, and
    its speed; for a submission also what it declared, what was hidden from it and open to it, and its claims.
    """

    name: str
    kind: str
    members: list[str]
    flags: list[str]
    scorers: list[str]
    methods: list[CardMethod]
    declared: str
    publication: str
    hidden: list[str]
    open: list[str]
    claims: list[CardClaim]
    training: CardTraining


class Card(TypedDict, total=False):
    """The content of reliability.json."""

    requirements: list[CardRequirement]
    study: str
    truth: str
    reference: str
    recommended: list[CardRecommended]
    thresholds: list[CardThreshold]
    models: list[CardModel]
    conditions: list[CardCondition]
    cells: list[CardCell]
    classes: list[CardClass]
    objects: list[CardObjects]
    paired: list[CardDifference]
    gaps: list[CardGap]
    guards: list[CardGuard]
    finders: list[CardFinder]
    ranking: JsonObject
    presets: dict[str, dict[str, CardPreset]]
    times: list[Any]
    units: JsonObject
    notes: list[str]
    provenance: JsonObject


def of_severities(corruption: str) -> str:
    """Return the condition of means over the severities of a corruption."""
    return f"{corruption}, all severities"


def recommended_scorer(card: Card, model: str) -> str:
    """Return the scorer that a card recommends for a model; '' for none."""
    return next((one["scorer"] for one in card.get("recommended", []) if one["model"] == model), "")


def flags_of_score(card: Card, model: str, scorer: str) -> list[str]:
    """Return the flags of a model's scorer: those of the model, and its own if it is a fitted method."""
    own = [flag for one in card["models"] if one["name"] == model for flag in one.get("flags", [])]
    return list(dict.fromkeys([*own, *method_flags(card, model, scorer)]))


def method_flags(card: Card, model: str, scorer: str) -> list[str]:
    """Return the flags of a fitted method among a model's scorers; none for other scorers."""
    methods = [method for one in card["models"] if one["name"] == model for method in one.get("methods", [])]
    return [flag for method in methods if method["scorer"] == scorer for flag in method["flags"]]


def minutes_of_score(card: Card, model: str, scorer: str) -> float | None:
    """Return the minutes in which a fitted method was fitted, or for another scorer those in which its model
    was trained; None where they are not known.
    """
    for one in card["models"]:
        if one["name"] == model:
            own = (method for method in one.get("methods", []) if method["scorer"] == scorer)
            if (method := next(own, None)) is not None:
                return method.get("minutes")
            return one["training"].get("minutes") if "training" in one else None
    return None


def training_sets(card: Card) -> list[str]:
    """Return the names of the conditions that are copies of training images: they may have taught."""
    return [one["name"] for one in card["conditions"] if one.get("training")]


def find_cell(
    card: Card, model: str, condition: str, metric: str, scorer: str = "", holdout: str = ""
) -> CardCell | None:
    """Return a cell of the card, in distribution if a ``holdout`` is named, or None if it is empty."""
    wanted = (model, condition, metric, scorer, holdout)
    for cell in card["cells"]:
        held = (cell["model"], cell["condition"], cell["metric"], cell.get("scorer", ""))
        if (*held, cell.get("holdout", "")) == wanted:
            return cell
    return None


def holdouts_of(card: Card) -> list[str]:
    """Return the holdouts for which a card has numbers in distribution."""
    return list(dict.fromkeys(name for cell in card["cells"] if (name := cell.get("holdout", ""))))


def first_holdout(card: Card) -> str:
    """Return the holdout whose numbers in distribution are shown where there is room for one; '' for none."""
    return next(iter(holdouts_of(card)), "")


def pixels_words(card: Card, holdout: str) -> str:
    """Return what a title says about the pixels that a number counts: nothing on a card without holdouts.

    >>> pixels_words({"cells": []}, "")
    ''
    >>> held = {"cells": [{"holdout": "few"}]}
    >>> pixels_words(held, "few"), pixels_words(held, "")
    (' InD', ' all classes')
    """
    there = holdouts_of(card)
    if not holdout:
        return " all classes" if there else ""
    return " InD" if len(there) == 1 else f" InD ({holdout})"


def in_distribution_text(card: Card) -> str:
    """Return what InD means on a card; '' without a holdout."""
    withheld = {c["holdout"]: c.get("withheld", []) for c in card["conditions"] if c.get("holdout")}
    said = [
        f"without {shortened(names)} ({name})" if (names := withheld.get(name, [])) else f"without {name}"
        for name in holdouts_of(card)
    ]
    if not said:
        return ""
    return (
        f"InD: in distribution, {' or '.join(said)}: withheld pixels are left out; all classes: a withheld"
        " class counts like any other, so that a model trained without it cannot be right there"
    )
