"""Who wins, from images that were drawn for all models at once: two rankings of re-used labels, and unbiased scores where draws have probabilities.

Conventions: ``accuracy`` (J, I) is each model's concordance with the truth, or 1 and 0 of classifiers, NaN where unknown. ``lure`` weighs every label by how (un)likely
it was to be drawn, ``prediction_powered`` adds what the models themselves say of the images that nobody labelled. Both are scores on the pool that was drawn
from. ``margins``, which stands first, is how far a model lies above the others, damped and with the same control variate: nearest to the ranking by all labels at equal numbers of
labels (docs/benchmarks-labels.md). Scores of 0 and 1 are weighed for it as by ``lure``, graded ones taken as they come; their intervals and ranks are of the weighted estimate. A draw without label, or one that does not decide for every model, is taken as if it had never been in the pool: what was lost is lost by chance. Draws behind the last label are
steps not made yet.
Source: Farquhar et al. 2021; Angelopoulos et al. 2023 (prediction-powered inference).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from faultscape.errors import OptionError, RankingError
from faultscape.nouns import Draw, Standings
from faultscape.ranking import estimate_intervals, estimates, replicated
from faultscape.ranking.agreement import compare_benchmark
from faultscape.ranking.intervals import LEVEL

MARGINS = "margins"
Estimate = estimates.Estimates


def draw_rankings(
    models: Sequence[str],
    rows: Sequence[Draw],
    accuracy: Any,
    images: Sequence[str],
    *,
    proxy: Any = None,
    pool: Sequence[str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    all_labels: bool = False,
    benchmark: Mapping[str, float] | None = None,
    discarded: int = 0,
    definitions: Mapping[str, Any] | None = None,
) -> Standings:
    """Return the standings from (J, I) scores of the models on the labelled ``images``.

    ``rows`` are the draws in order. ``proxy`` (J, N) is the loss of each model to expect on each image of the ``pool``, for the ranking ``prediction_powered``.
    Errors: RankingError for shapes that do not fit, or no labelled draw; OptionError for negative resamples.

    >>> rows = [Draw("random", 1, k, image, 1.0, 1 / (5 - k), 4) for k, image in enumerate("abc", 1)]
    >>> table = draw_rankings(["unet", "fcn"], rows, [[1, 1, 0], [0, 1, 0]], ["a", "b", "c"], resamples=0)
    >>> {model: round(score, 6) for model, score in table.rankings["lure"]["scores"].items()}
    {'unet': 0.666667, 'fcn': 0.333333}
    """
    models, images, accuracy = tuple(models), list(images), np.asarray(accuracy, dtype=float)
    if len(models) < 2:
        raise RankingError(f"a ranking needs two models; there is {', '.join(models) or 'none'}")
    if accuracy.shape != (len(models), len(images)):
        raise RankingError(f"scores are {accuracy.shape}; expected {len(models)} models by {len(images)} images")
    if resamples < 0:
        raise OptionError(f"resamples cannot be negative; got {resamples}")
    place = {image: k for k, image in enumerate(images)}
    at = np.array([place.get(row.image, -1) for row in rows], np.intp)
    labelled = np.append(~np.isnan(accuracy).all(0), False)
    chosen = np.zeros(len(images), bool)
    chosen[at[labelled[at]]] = True
    if not chosen.any():
        raise RankingError(f"not one of the {len(rows)} drawn images has a label; label them, then rank")
    used = np.flatnonzero(chosen | (all_labels & labelled[:-1]))
    weights = replicated.image_weights(chosen[used], resamples, seed)
    scores, errors, fits = replicated.reuse(models, accuracy[:, used], weights)
    notes = [
        f"{int(chosen.sum())} of {len(rows)} drawn images are labelled" + (f", {discarded} are discarded" if discarded else "")
    ]
    if extra := len(used) - int(chosen.sum()):
        notes.append(f"{extra} labelled images outside the selection count in the re-use rankings")
    decided = (~np.isnan(accuracy[:, used])).sum(1)
    whole = replicated.table(models, {}, scores, errors, fits, dict.fromkeys(scores, len(used)), notes, decided)
    found, said = _estimates(rows, at, accuracy, proxy, pool)
    rng = np.random.default_rng(seed)
    replicates, rankings, points = dict(whole.replicates), {}, dict(whole.scores)
    for name, estimate in found.items():
        best = 0.0 if name == MARGINS else 1.0  # a score is 1 - loss; a margin has no largest value
        points[name], replicates[name] = best - estimate.loss, best - _drawn(estimate, resamples, rng)
        whole_pool = estimate.unit == 0
        rankings[name] = replicated.ranking(models, points[name], replicates[name], int(chosen.sum()), exact=whole_pool)
        if estimate.order is not None:
            points[name] = best - estimate.order
            first = np.argsort(estimate.order, kind="stable").tolist()
            rankings[name] |= {
                "scores": dict(zip(models, points[name].tolist(), strict=True)),
                "order": [models[k] for k in first],
            }
        around = estimate_intervals.margin_intervals if name == MARGINS else estimate_intervals.loss_intervals
        bounds = best - around(estimate)[:, ::-1]
        rankings[name]["score_interval"] = dict(zip(models, bounds.tolist(), strict=True))
    rankings |= whole.rankings
    own = {
        "resamples": resamples,
        "seed": seed,
        "all_labels": all_labels,
        "level": LEVEL,
        "pseudo_count": replicated.PSEUDO_COUNT,
    }
    own |= {
        "interval": "percentile bootstrap over images; of margins Student's t, of lure, prediction_powered and reuse_mean Wilson's"
    }
    return Standings(
        models=models,
        labels={
            "used": len(used),
            "slots": len(rows),
            "discarded": discarded,
            "missing": len(rows) - int(chosen.sum()) - discarded,
        },
        matrices={},
        rankings=rankings,
        definitions={**(definitions or {}), **own},
        benchmark={} if benchmark is None else compare_benchmark(models, benchmark, points, replicates),
        notes=(*whole.notes, *said),
    )


def _estimates(
    rows: Sequence[Draw], at: np.ndarray, accuracy: np.ndarray, proxy: Any, pool: Sequence[str] | None
) -> tuple[dict[str, Estimate], list[str]]:
    """Return the unbiased estimates that the draws allow, and what to say."""
    if any(np.isnan(row.probability) for row in rows):
        return {}, [f"{rows[0].selector} draws nothing by chance: no unbiased score can be estimated from its images"]
    decided = np.append(~np.isnan(accuracy).any(0), False)[at]
    last = int(np.flatnonzero(decided).max(initial=-1)) + 1
    waiting, rows, at, decided = (
        len(rows) - last,
        rows[:last],
        at[:last],
        decided[:last],
    )  # steps that nobody has come to are not made yet
    kept = np.flatnonzero(decided).tolist()
    if len(kept) < 2:
        return {}, ["fewer than two drawn images are decided for every model: no score can be estimated"]
    probability = remaining(np.array([row.probability for row in rows]), np.array([row.round for row in rows]), decided)
    size = rows[0].pool - (len(rows) - len(kept))
    losses = 1 - accuracy[:, at[kept]]
    found: dict[str, Estimate] = {}
    notes = (
        [f"{len(rows) - len(kept)} draws have no label that decides for every model; they are taken out of the pool"]
        if len(kept) < len(rows)
        else []
    )
    if len(rows) - len(kept):
        notes.append(
            "if what was labelled was not chosen by these draws, such as labels of duels, scores are biased: label draws in their order"
        )
    notes += [f"{waiting} draws behind the last label wait: they change nothing yet"] if waiting else []
    notes.append(f"lure: scores are of the {size} images of the pool that were drawn from")
    if proxy is not None and pool is not None:
        gone = {rows[k].image for k in np.flatnonzero(~decided).tolist()}
        stay = np.array([image not in gone for image in pool], bool)
        place = {image: k for k, image in enumerate(image for image in pool if image not in gone)}
        if stay.sum() == size and all(rows[k].image in place for k in kept):
            drawn, expected = np.array([place[rows[k].image] for k in kept], np.intp), np.asarray(proxy)[:, stay]
            own, said = estimates.margins(losses), estimates.margins(expected)
            found[MARGINS] = estimates.prediction_powered(own, probability, said, drawn)
            if not np.isin(losses, (0, 1)).all():  # what stands first, without weights; how far it may move, with them
                even = estimates.prediction_powered(own, estimates.uniform_steps(len(kept), size), said, drawn)
                found[MARGINS] = replace(found[MARGINS], order=even.loss)
            found["prediction_powered"] = estimates.prediction_powered(losses, probability, expected, drawn)
        else:
            notes.append("margins and prediction_powered are left out: the pool is no longer the one that was drawn from")
    return found | {"lure": estimates.lure(losses, probability, size)}, notes


def remaining(probability: np.ndarray, rounds: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the probabilities (K,) of the draws that are ``kept`` (M,), had the others never been in the pool.

    Within a round q_m = w_m / S_m with S what is left; a draw that is taken out takes its weight out of every S before it. What it weighed in earlier rounds is not known,
    and left in.

    >>> remaining(np.array([0.25, 1 / 3, 0.5]), np.array([1, 1, 1]), np.array([True, False, True])).round(6)
    array([0.333333, 0.5     ])
    """
    out = np.asarray(probability, dtype=float).copy()
    for number in np.unique(rounds):
        steps = np.flatnonzero(rounds == number)
        left, weight, before = 1.0, np.zeros(len(steps)), np.zeros(len(steps))
        for k, step in enumerate(steps):
            before[k], weight[k] = left, probability[step] * left
            left = max(left - weight[k], 0.0)
        gone = np.where(kept[steps], 0.0, weight)
        later = gone[::-1].cumsum()[::-1]  # weight of what is taken out, still in the pool at each step
        out[steps] = np.clip(weight / np.maximum(before - later, np.maximum(weight, 1e-300)), 0, 1)
    return out[kept]


def _drawn(found: Estimate, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Return (B, J) losses as they might have come out, normal around the estimate (ranks are tested by Student's t on top); NaN where nothing says how far they vary."""
    if not np.isfinite(found.covariance).all():
        return np.full((resamples, len(found.loss)), np.nan)
    values, vectors = np.linalg.eigh(found.covariance + found.unseen)
    return found.loss + rng.standard_normal((resamples, len(found.loss))) @ (vectors * np.sqrt(np.maximum(values, 0))).T
