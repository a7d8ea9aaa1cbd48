"""Evaluation presets that reproduce published protocols: the BRAVO challenge of 2024, and the code of
Buchanan et al. 2022.

Conventions: ``bravo-2024``: doubt is 1 - max probability. Every labelled set except the clean one has mIoU,
ECE, AUROC, AUPR of right and of wrong pixels, and FPR95 with *right* pixels as positives, over valid pixels;
every anomaly set has AUROC, AUPR and FPR95. ``semantic_hmean`` and ``ood_hmean`` are harmonic means of all of
these, with 1 - ECE and 1 - FPR95, and ``bravo_index`` is the harmonic mean of both. The challenge samples
100,000 pixels per frame; here all count. ``s3-code``: void pixels count as known, and areas come from 200
equal thresholds; ``predict --input-size`` or ``--window`` shows the network 768 x 768.
Source: bravo_challenge, eval_script (2024); uncertainty-baselines, robust_segvit
(docs/explanation/errata.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import harmonic_mean
from typing import Any

import numpy as np
from scipy.special import expit

from faultscape.choices import CardPreset as PresetWord
from faultscape.metrics.scores.bootstrap import SparseHistogram
from faultscape.metrics.scores.curves import KERAS_THRESHOLDS, keras_areas
from faultscape.metrics.scores.grouped_counts import with_void
from faultscape.metrics.scores.histogram import SIZE, VALUES
from faultscape.metrics.scores.rank_slopes import rank_images
from faultscape.prediction.keep import doubt_folder
from faultscape.reporting.measure.document import number
from faultscape.reporting.reliability.document import CardPreset
from faultscape.verbs.reliability.card import Judgement
from faultscape.verbs.reliability.conditions import Condition
from faultscape.verbs.reliability.numbers import ModelNumbers

MSP = doubt_folder("msp")
_LESS_IS_BETTER = ("ece", "fpr95", "ood_fpr95")


def preset_numbers(
    preset: PresetWord, found: Judgement, models: Sequence[ModelNumbers], conditions: Sequence[Condition]
) -> tuple[dict[str, CardPreset], list[str]]:
    """Return {model: numbers} of a preset, and notes about models that lack what it needs."""
    lacking = [model.name for model in models if MSP not in model.scorers]
    notes = (
        [f"--preset {preset} needs --scorer msp, which was not counted for {', '.join(lacking)}"]
        if lacking
        else []
    )
    able = [model for model in models if MSP in model.scorers]
    made = _bravo if preset == "bravo-2024" else _code_of_s3
    return {model.name: made(found, model, conditions) for model in able}, notes


def _bravo(found: Judgement, model: ModelNumbers, conditions: Sequence[Condition]) -> CardPreset:
    """Return the numbers of each subset and the three means."""
    subsets: dict[str, dict[str, float]] = {}
    for condition in conditions:
        if condition.kind not in ("natural", "anomaly") or condition.holdout:
            continue
        mine: dict[str, float] = {}
        labelled = set(model.counted(condition))
        images = tuple(id_ for id_ in model.counted(condition, MSP) if id_ in labelled)
        if images and (miou := found.evidence.get((model.name, "", condition.name, "miou"))) is not None:
            mine["miou"] = miou.value
            if (ece := model.ece(images)) is not None:
                mine["ece"] = ece.value
            wrong = model.error_histograms(MSP, images)
            errors = rank_images(wrong)
            rights = rank_images([_turned(one) for one in wrong])
            if not errors.undefined:
                mine |= {
                    "auroc": float(errors.auroc.value),
                    "aupr_success": float(rights.average_precision.value),
                }
                mine |= {
                    "aupr_error": float(errors.average_precision.value),
                    "fpr95": float(rights.fpr.value),
                }
        for name, metric in (
            ("ood_auroc", "auroc"),
            ("ood_aupr", "average_precision"),
            ("ood_fpr95", "fpr95"),
        ):
            if (held := found.evidence.get((model.name, "msp", condition.name, metric))) is not None:
                mine[name] = held.value
        if mine:
            subsets[condition.name] = mine
    means = {
        "semantic_hmean": _harmonic(value for of in subsets.values() for value in _good(of, ood=False)),
        "ood_hmean": _harmonic(value for of in subsets.values() for value in _good(of, ood=True)),
    }
    means["bravo_index"] = _harmonic(means.values())
    return {
        "sets": {name: {key: number(value) for key, value in of.items()} for name, of in subsets.items()},
        "means": {name: number(value) for name, value in means.items()},
    }


def _good(of: dict[str, float], *, ood: bool) -> list[float]:
    """Return the numbers of one kind as they enter a mean: larger is better."""
    return [
        1 - value if name in _LESS_IS_BETTER else value
        for name, value in of.items()
        if name.startswith("ood_") == ood
    ]


def _harmonic(values: Any) -> float:
    held = [value for value in values if not math.isnan(value)]
    return harmonic_mean(held) if held and min(held) >= 0 else math.nan


def _turned(one: SparseHistogram) -> SparseHistogram:
    """Return the reversed task: detect right pixels, by the lack of doubt."""
    return SparseHistogram(SIZE - 1 - one.places[::-1], one.anomalous[::-1], one.known[::-1])


def _code_of_s3(found: Judgement, model: ModelNumbers, conditions: Sequence[Condition]) -> CardPreset:
    """Return AUROC and AUPR of anomalies with void counted as known, exact and from 200 thresholds."""
    del found
    out = dict[str, dict[str, float | None]]()
    for condition in conditions:
        images = model.counted(condition, MSP) if condition.with_anomalies else ()
        histograms = [with_void(counts) for counts in model.groups(MSP, condition, images)]
        ranked = rank_images(histograms)
        if images and not ranked.undefined:
            known, anomalous = np.zeros((2, SIZE), np.int64)
            for one in histograms:
                known[one.places] += one.known
                anomalous[one.places] += one.anomalous
            keras = keras_areas(_above(known, anomalous))
            out[condition.name] = {
                "auroc_void_known": number(ranked.auroc.value),
                "aupr_void_known": number(ranked.average_precision.value),
                "auroc_200": number(keras.auroc),
                "aupr_200": number(keras.average_precision),
            }
    return {"sets": out, "means": {}}


def _above(known: np.ndarray, anomalous: np.ndarray) -> np.ndarray:
    """Return (2, T), the pixels above each of T equal thresholds on 0..1, from counts at each place of a
    score's logit.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.nan_to_num(expit(VALUES.astype(np.float64)), nan=0.0)
    edges = np.arange(KERAS_THRESHOLDS) / (KERAS_THRESHOLDS - 1)
    edges[0], edges[-1] = -1e-7, 1 + 1e-7
    at = np.searchsorted(np.maximum.accumulate(scores), edges, "right")
    sums = [np.concatenate([np.cumsum(of[::-1])[::-1], [0]]) for of in (known, anomalous)]
    return np.stack([of[at] for of in sums])
