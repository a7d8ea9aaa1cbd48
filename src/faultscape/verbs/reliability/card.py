"""Compute the numbers of the reliability card from the counts of all models.

Conventions: as in reporting.reliability.document. The clean condition comes first; means are over its
corrupted conditions. Two models are compared on the images that both have.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from faultscape.metrics.intervals.evidence import Drawn, Ratios
from faultscape.metrics.intervals.robustness import corruption_error, mean_corrupted, relative_drop
from faultscape.metrics.intervals.units import Units as Drawable
from faultscape.metrics.scorers import scorer_named
from faultscape.metrics.scores.rank_slopes import Ranked
from faultscape.ranking.agreement import spearman
from faultscape.reporting.measure.document import number
from faultscape.reporting.reliability.document import (
    CORRUPTED,
    FOUND_AT,
    RANDOM,
    CardCell,
    CardDifference,
    CardObjects,
)
from faultscape.verbs.reliability.conditions import Condition, LabelledStudy, Units
from faultscape.verbs.reliability.numbers import ModelNumbers, ScoreNumbers

Evidence = Ratios | Drawn
EvidenceKey = tuple[str, str, str, str]  # model, scorer or '', condition, metric
_RANGES = {"relative_drop": (-math.inf, 1.0), "corruption_error": (0.0, math.inf)}  # others 0 to 1
_OF_ERRORS = ("clean", "corrupted", "foggy", "natural", "misclassified")
_WITH_LABELS = ("clean", "corrupted", "foggy", "natural", "anomaly")


@dataclass(frozen=True, eq=False)
class Judgement:
    """All results: evidence by (model, scorer, condition, metric), the images behind each number, the full
    numbers of scorers (``scores``), and the conditions where a scorer is constant. ``holdout`` is the one
    whose withheld classes are left out of all of them, '' for none.
    """

    evidence: dict[EvidenceKey, Evidence]
    images: dict[tuple[str, str, str], tuple[str, ...]]
    scores: dict[tuple[str, str, str], ScoreNumbers]
    constant: dict[tuple[str, str], list[str]]
    holdout: str = ""


def judge(
    labelled: LabelledStudy,
    models: Sequence[ModelNumbers],
    conditions: Sequence[Condition],
    reference: str,
    holdout: str = "",
) -> Judgement:
    """Return the numbers of all models under all conditions; with a ``holdout``, these are conditions in
    distribution (`conditions.in_distribution`).
    """
    withheld = labelled.withheld
    found = Judgement({}, {}, {}, {}, holdout)
    for model in models:
        _judge_maps(model, conditions, withheld, found)
        for scorer in model.scorers:
            _judge_scores(model, scorer, conditions, found)
    of_corruptions = {model.name: by_corruption(found, model.name, conditions) for model in models}
    for model in models:
        mine = of_corruptions[model.name]
        if not mine:
            continue
        found.evidence[model.name, "", CORRUPTED, "miou"] = mean_corrupted(mine)
        (drop,), _ = _drops(labelled, found, [model], conditions)
        if drop is not None:
            found.evidence[model.name, "", CORRUPTED, "relative_drop"] = drop
        if of_corruptions.get(reference):
            other = next(one for one in models if one.name == reference)
            both, _ = _both_corrupted(found, (model, other), conditions, "miou", ("", ""), withheld)
            error = corruption_error(*both)
            if not math.isnan(error.value):
                found.evidence[model.name, "", CORRUPTED, "corruption_error"] = error
    for model in models:
        for metric, scorers in (
            ("consistency", [""]),
            ("error_auroc", list(model.scorers.values())),
            ("error_ap", list(model.scorers.values())),
        ):
            for scorer in scorers:
                held = by_corruption(found, model.name, conditions, metric, scorer)
                if held:
                    found.evidence[model.name, scorer, CORRUPTED, metric] = mean_corrupted(held)
    return found


def by_corruption(
    found: Judgement, model: str, conditions: Sequence[Condition], metric: str = "miou", scorer: str = ""
) -> dict[tuple[str, int], Ratios]:
    """Return {(corruption, severity): number} over the corrupted conditions of the clean set that a model
    has.
    """
    out = {}
    for condition in _corrupted(conditions):
        held = found.evidence.get((model, scorer, condition.name, metric))
        if isinstance(held, Ratios) and not math.isnan(held.value):
            out[condition.corruption, condition.severity] = held
    return out


def _corrupted(conditions: Sequence[Condition]) -> list[Condition]:
    """Return the corrupted conditions of the clean set, or, without one, of the first corrupted set."""
    clean = (c.sets[0] for c in conditions if c.kind == "clean")
    base = next(clean, next((c.of for c in conditions if c.kind == "corrupted"), ""))
    return [c for c in conditions if c.kind == "corrupted" and c.of == base]


Corrupted = dict[tuple[str, int], Ratios]


def _both_corrupted(
    found: Judgement,
    models: tuple[ModelNumbers, ModelNumbers],
    conditions: Sequence[Condition],
    metric: str,
    scorers: tuple[str, str],
    withheld: Mapping[str, np.ndarray],
) -> tuple[tuple[Corrupted, Corrupted], set[str]]:
    """Return a number of each of two models by corruption and severity, over the conditions and images that
    both have, and these images.
    """
    out = (Corrupted(), Corrupted())
    seen = set[str]()
    for condition in _corrupted(conditions):
        asked = list(zip(models, scorers, strict=True))
        evidence = [
            found.evidence.get((model.name, scorer, condition.name, metric)) for model, scorer in asked
        ]
        if not all(isinstance(one, Ratios) and not math.isnan(one.value) for one in evidence):
            continue
        common, equal = _common(found, models, condition, metric, scorers)
        held = (
            evidence
            if equal
            else [_over(model, condition, metric, scorer, common, withheld) for model, scorer in asked]
        )
        if all(isinstance(one, Ratios) and not math.isnan(one.value) for one in held):
            for mine, one in zip(out, held, strict=True):
                assert isinstance(one, Ratios)
                mine[condition.corruption, condition.severity] = one
            seen |= set(common)
    return out, seen


def _common(
    found: Judgement,
    models: tuple[ModelNumbers, ModelNumbers],
    condition: Condition,
    metric: str,
    scorers: tuple[str, str],
) -> tuple[tuple[str, ...], bool]:
    """Return the images of a condition for which both models have a number, and whether neither has more."""
    mine, theirs = (_behind(found, *of, condition, metric) for of in zip(models, scorers, strict=True))
    others = set(theirs)
    return (mine, True) if mine == theirs else (tuple(id_ for id_ in mine if id_ in others), False)


def _behind(
    found: Judgement, model: ModelNumbers, scorer: str, condition: Condition, metric: str
) -> tuple[str, ...]:
    """Return the images behind a number of a model."""
    return (
        model.compared(condition.images)
        if metric == "consistency"
        else found.images.get((model.name, scorer, condition.name), ())
    )


def _judge_maps(
    model: ModelNumbers, conditions: Sequence[Condition], withheld: Mapping[str, np.ndarray], found: Judgement
) -> None:
    for condition in conditions:
        key = (model.name, "", condition.name)
        if condition.kind in _WITH_LABELS:
            images = model.counted(condition)
            found.images[key] = images
            if (miou := model.miou(images, withheld.get(condition.holdout))) is not None and not math.isnan(
                miou.value
            ):
                found.evidence[*key, "miou"] = miou
            if (
                condition.holdout == found.holdout
                and (ece := model.ece(images, withheld.get(condition.holdout))) is not None
            ):
                found.evidence[*key, "ece"] = ece
        if (
            not found.holdout  # consistency is with the model's own maps, whatever the labels
            and condition.kind in ("corrupted", "foggy")
            and (consistency := model.consistency(condition.images)) is not None
        ):
            found.evidence[*key, "consistency"] = consistency


def _judge_scores(
    model: ModelNumbers, folder: str, conditions: Sequence[Condition], found: Judgement
) -> None:
    word = model.scorers[folder]
    tells = scorer_named(word).tells_errors
    for condition in conditions:
        images = model.counted(condition, folder)
        if not images:
            continue
        key = (model.name, word, condition.name)
        found.images[key] = images
        if condition.kind in _OF_ERRORS and tells:
            labelled = set(model.counted(condition))
            with_labels = tuple(id_ for id_ in images if id_ in labelled)
            if with_labels:
                errors = model.errors(folder, with_labels, condition.holdout)
                _enter(found, key, errors, ("error_ap", "error_auroc", "error_fpr95"))
        if condition.with_anomalies:
            numbers = model.anomalies(folder, condition, images)
            _enter(found, key, numbers, ("average_precision", "auroc", "fpr95"))
            if not numbers.ranked.undefined:
                found.evidence.update(
                    ((*key, name), of) for name, of in zip(FOUND_AT, numbers.found, strict=True)
                )
            found.scores[key] = numbers


def _enter(
    found: Judgement, key: tuple[str, str, str], numbers: ScoreNumbers, names: tuple[str, str, str]
) -> None:
    ranked: Ranked = numbers.ranked
    if ranked.values == 1:
        found.constant.setdefault(key[:2], []).append(key[2])
    if not ranked.undefined:
        numbers_of = Ratios(ranked.average_precision, None), Ratios(ranked.auroc, None), ranked.fpr
        found.evidence.update(((*key, name), of) for name, of in zip(names, numbers_of, strict=True))


def cells(
    found: Judgement, units: Units, models: Sequence[ModelNumbers], conditions: Sequence[Condition]
) -> list[CardCell]:
    """Return the cells of the card, including those of a random score, whose average precision is the share
    of anomalous pixels.
    """
    out: list[CardCell] = []
    numbers = {model.name: model for model in models}
    named = {condition.name: condition for condition in conditions}
    for (model, scorer, condition, metric), evidence in found.evidence.items():
        low, high = (_within(metric, end) for end in interval_of(evidence, units))
        about = _corrupted(conditions) if condition == CORRUPTED else [named[condition]]
        images = {id_ for one in about for id_ in _behind(found, numbers[model], scorer, one, metric)}
        cell: CardCell = {
            "model": model,
            "scorer": scorer,
            "condition": condition,
            "metric": metric,
            "value": number(evidence.value),
            "low": low,
            "high": high,
            "images": len(images),
        }
        out.append(cell | {"holdout": found.holdout} if found.holdout else cell)
    for condition in conditions:
        if (share := anomalous_share(found, condition.name)) is not None:
            for metric, value in (("average_precision", share), ("auroc", 0.5), ("fpr95", 0.95)):
                out.append(
                    {
                        "model": RANDOM,
                        "scorer": RANDOM,
                        "condition": condition.name,
                        "metric": metric,
                        "value": number(value),
                        "low": None,
                        "high": None,
                        "images": len(condition.images),
                    }
                )
    return out


def _within(metric: str, end: float | None) -> float | None:
    """Return an end of an interval, clipped to the metric's range."""
    least, most = _RANGES.get(metric, (0.0, 1.0))
    return None if end is None else min(max(end, least), most)


def anomalous_share(found: Judgement, condition: str) -> float | None:
    """Return the share of anomalous pixels of a condition, from the first scorer that was counted there; None
    without one.
    """
    for (_, _, name), numbers in found.scores.items():
        if name == condition and numbers.ranked.positives and numbers.ranked.negatives:
            return numbers.ranked.share
    return None


def objects(found: Judgement) -> list[CardObjects]:
    """Return the results for anomalous objects, by size and position."""
    return [
        {
            "model": model,
            "scorer": scorer,
            "condition": condition,
            "objects": some.called,
            "count": some.objects,
            "average_precision": number(some.average_precision),
            "recall": number(some.recall),
            **dict(zip(FOUND_AT, map(number, some.found), strict=True)),  # type: ignore[typeddict-item]
        }
        for (model, scorer, condition), numbers in found.scores.items()
        for some in numbers.objects
    ]


def differences(
    labelled: LabelledStudy,
    found: Judgement,
    units: Units,
    models: Sequence[ModelNumbers],
    conditions: Sequence[Condition],
) -> list[CardDifference]:
    """Return the differences of every pair of models: of maps in mIoU and metrics derived from it; of every
    shared scorer, and of the scorers of their own rows, in AP, AUROC and the calibration AUROC.
    """
    withheld = labelled.withheld
    out = list[CardDifference]()
    by_name = {model.name: model for model in models}
    for first, second in combinations(by_name, 2):
        pair = (by_name[first], by_name[second])
        for condition, metric, scorers in _asked(found, pair):
            if condition == CORRUPTED:
                if metric == "relative_drop":
                    (one, other), common = _drops(labelled, found, pair, conditions)
                else:
                    held, common = _both_corrupted(found, pair, conditions, metric, scorers, withheld)
                    one, other = (mean_corrupted(of) if of else None for of in held)
            else:
                about = next(c for c in conditions if c.name == condition)
                common, equal = _common(found, pair, about, metric, scorers)
                one, other = (
                    found.evidence[model.name, scorer, condition, metric] if equal
                    else _over(model, about, metric, scorer, common, withheld) if common else None
                    for model, scorer in zip(pair, scorers, strict=True)
                )  # fmt: skip
            gap = one.common(other) if isinstance(one, Ratios) and isinstance(other, Ratios) else None
            if gap is None or math.isnan(gap.value):
                continue
            low, high = interval_of(gap, units)
            row: CardDifference = {
                "metric": metric,
                "condition": condition,
                "scorer": scorers[0],
                "first": first,
                "second": second,
                "difference": number(gap.value),
                "low": low,
                "high": high,
                "images": len(common),
            }
            if scorers[1] != scorers[0]:
                row["second_scorer"] = scorers[1]
            if found.holdout:
                row["holdout"] = found.holdout
            out.append(row)
    return out


def _drops(
    labelled: LabelledStudy, found: Judgement, models: Sequence[ModelNumbers], conditions: Sequence[Condition]
) -> tuple[list[Ratios | None], Collection[str]]:
    """Return each model's drop relative to the clean set, over the clean images for which all models have
    every corrupted version that counts, and these images.
    """
    images = labelled.study.image_rows
    clean = next((c for c in conditions if c.kind == "clean"), None)
    seen = [c for c in _corrupted(conditions) if all(_has_miou(found, model, c) for model in models)]
    if clean is None or not seen or not all(_has_miou(found, model, clean) for model in models):
        return [None] * len(models), ()

    def base(id_: str, condition: Condition) -> str:
        return id_ if condition is clean else images[id_].parent

    held = {(m.name, c.name): found.images[m.name, "", c.name] for m in models for c in (clean, *seen)}
    common = set[str].intersection(
        *({base(id_, c) for id_ in held[m.name, c.name]} for m in models for c in (clean, *seen))
    )

    def miou(model: ModelNumbers, condition: Condition) -> Ratios | None:
        mine = held[model.name, condition.name]
        kept = tuple(id_ for id_ in mine if base(id_, condition) in common)
        whole = found.evidence[model.name, "", condition.name, "miou"]
        if len(kept) == len(mine) and isinstance(whole, Ratios):
            return whole
        return model.miou(kept, labelled.withheld.get(found.holdout))

    out: list[Ratios | None] = []
    for model in models:
        after = {(c.corruption, c.severity): one for c in seen if (one := miou(model, c)) is not None}
        before = miou(model, clean)
        out.append(
            relative_drop(before, mean_corrupted(after))
            if before is not None and len(after) == len(seen)
            else None
        )
    return out, common


def _has_miou(found: Judgement, model: ModelNumbers, condition: Condition) -> bool:
    held = found.evidence.get((model.name, "", condition.name, "miou"))
    return isinstance(held, Ratios) and not math.isnan(held.value)


def _asked(
    found: Judgement, pair: tuple[ModelNumbers, ModelNumbers]
) -> Iterator[tuple[str, str, tuple[str, str]]]:
    """Yield (condition, metric, scorers of the two) for each comparison of two models: by the same scorer,
    and by the scorers of their own rows if these differ.
    """
    compared = ("miou", "relative_drop", "consistency", "error_auroc", "average_precision", "auroc")
    first, second = pair
    own = first.own_scorer[1], second.own_scorer[1]
    for model, scorer, condition, metric in found.evidence:
        if model == first.name and metric in compared:
            for other in dict.fromkeys((scorer, own[1] if scorer and scorer == own[0] else scorer)):
                if (second.name, other, condition, metric) in found.evidence:
                    yield condition, metric, (scorer, other)


def _over(
    model: ModelNumbers,
    condition: Condition,
    metric: str,
    scorer: str,
    images: tuple[str, ...],
    withheld: Mapping[str, np.ndarray],
) -> Ratios | None:
    """Return a model's value of a metric over some images of a condition."""
    if metric == "miou":
        return model.miou(images, withheld.get(condition.holdout))
    if metric == "consistency":
        return model.consistency(images)
    folder = next(folder for folder, word in model.scorers.items() if word == scorer)
    numbers = (
        model.errors(folder, images, condition.holdout)
        if metric == "error_auroc"
        else model.anomalies(folder, condition, images)
    )
    ranked = numbers.ranked
    return Ratios(ranked.average_precision if metric == "average_precision" else ranked.auroc, None)


def ranking_without_labels(
    found: Judgement, labelled: Judgement, models: Sequence[str], clean: str
) -> dict[str, Any]:
    """Return the ranking of models by consistency, which needs no labels, and its agreement with the ranking
    by the mIoU of ``labelled`` (Spearman), clean and corrupted, with how many clean images are labelled for
    all of them; {} if fewer than two models have one.
    """
    held = {name: found.evidence.get((name, "", CORRUPTED, "consistency")) for name in models}
    known = {name: number.value for name, number in held.items() if number is not None}
    if len(known) < 2:
        return {}
    order = sorted(known, key=lambda name: -known[name])
    checked = min(len(labelled.images.get((name, "", clean), ())) for name in known)
    out: dict[str, Any] = {"order": order, "models": len(known), "labelled": checked, "agreement": {}}
    for condition, called in ((clean, "clean"), (CORRUPTED, "corrupted")):
        truth = {
            name: of.value
            for name in known
            if (of := labelled.evidence.get((name, "", condition, "miou"))) is not None
        }
        if len(truth) == len(known) >= 3:
            out["agreement"][called] = number(spearman([known[n] for n in known], [truth[n] for n in known]))
    return out


def interval_of(evidence: Evidence, units: Units) -> tuple[float | None, float | None]:
    """Return the ends of a number's 95 % interval, over resampled units."""
    if isinstance(evidence, Ratios) and not evidence.linear.slopes.size:
        return None, None
    low, high = evidence.interval(Drawable(np.arange(units.count), units.count))
    return number(low), number(high)
