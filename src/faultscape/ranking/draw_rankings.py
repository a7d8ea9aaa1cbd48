"""Who wins, from images that were drawn for all models at once: two rankings of re-used labels, margins, and unbiased scores where draws have probabilities.

Conventions: ``accuracy`` (J, I) is each model's concordance with the truth, or 1 and 0 of classifiers, NaN where unknown. ``lure`` weighs every label by how (un)likely
it was to be drawn, ``prediction_powered`` adds what the models themselves say of the images that nobody labelled. Both are scores on the pool that was drawn from; ``corpus`` adds the
images on which no two models differ, from labels drawn there. ``margins``, which stands first, is how far a model lies above the others, damped and with the same control variate:
nearest to the ranking by all labels at equal numbers of labels (docs/benchmarks-labels.md). Scores of 0 and 1 are weighed for it as by ``lure``; graded ones are taken as they come,
while intervals and ranks are of the weighted estimate. Of a selector that draws nothing by chance all are taken as they come, and intervals are those of re-use. Which draws count:
``drawn_steps``.
Source: Farquhar et al. 2021; Angelopoulos et al. 2023 (prediction-powered inference).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from faultscape.errors import RankingError
from faultscape.nouns import Draw, Standings
from faultscape.ranking import drawn_estimates, estimate_intervals, replicated
from faultscape.ranking.agreement import compare_benchmark
from faultscape.ranking.drawn_estimates import MARGINS
from faultscape.ranking.drawn_steps import steps
from faultscape.ranking.intervals import LEVEL


def draw_rankings(
    models: Sequence[str],
    rows: Sequence[Draw],
    accuracy: Any,
    images: Sequence[str],
    *,
    proxy: Any = None,
    pool: Sequence[str] | None = None,
    rest: tuple[Any, int] | None = None,
    lost: Collection[str] = (),
    elsewhere: Collection[str] = (),
    resamples: int = 1000,
    seed: int = 0,
    all_labels: bool = False,
    benchmark: Mapping[str, float] | None = None,
    discarded: int = 0,
    definitions: Mapping[str, Any] | None = None,
) -> Standings:
    """Return the standings from (J, I) scores of the models on the labelled ``images``.

    ``rows`` are the draws in order. ``proxy`` (J, N) is the loss of each model to expect on each image of the ``pool``, for the control variate. ``rest`` are scores (J, n) on
    images drawn evenly from those on which no two models differ, and how many such images there are. ``lost`` and ``elsewhere``: see ``drawn_steps``.
    Errors: RankingError for shapes that do not fit, or no labelled draw; OptionError for negative resamples.

    >>> rows = [Draw("random", 1, k, image, 1.0, 1 / (5 - k), 4) for k, image in enumerate("abc", 1)]
    >>> table = draw_rankings(["unet", "fcn"], rows, [[1, 1, 0], [0, 1, 0]], ["a", "b", "c"], resamples=0)
    >>> {model: round(score, 6) for model, score in table.rankings["lure"]["scores"].items()}
    {'unet': 0.666667, 'fcn': 0.333333}
    """
    models, images, accuracy = replicated.checked(models, images, accuracy, resamples, "scores")
    mine = {row.image for row in rows}
    labelled = ~np.isnan(accuracy).all(0)
    chosen = labelled & np.array([image in mine for image in images], bool)
    if not (number := int(chosen.sum())):
        raise RankingError(f"not one of the {len(rows)} drawn images has a label; label them, then rank")
    used = np.flatnonzero(chosen | (all_labels & labelled))
    weights = replicated.image_weights(chosen[used], resamples, seed)
    scores, errors, fits = replicated.reuse(models, accuracy[:, used], weights)
    notes = [f"{number} of {len(rows)} drawn images are labelled" + (f", {discarded} are discarded" if discarded else "")]
    if extra := len(used) - number:
        notes.append(f"{extra} labelled images outside the selection count in the re-use rankings")
    counted, found = None, {}
    if all(math.isfinite(row.probability) for row in rows):
        counted = steps(rows, images, accuracy, lost=lost, elsewhere=elsewhere)
        found, said = drawn_estimates.unbiased(counted, images, accuracy, proxy, pool, rest)
    else:
        said = [f"{rows[0].selector} draws nothing by chance: no unbiased score can be estimated from its images"]
        if proxy is not None and pool is not None:
            known = [images[k] for k in used.tolist()]
            scores = drawn_estimates.reused_margins(accuracy[:, used], known, weights, proxy, pool) | scores
    decided = (~np.isnan(accuracy[:, used])).sum(1)
    whole = replicated.table(models, {}, scores, errors, fits, dict.fromkeys(scores, len(used)), notes, decided)
    rng = np.random.default_rng(seed)
    replicates, rankings, points = dict(whole.replicates), {}, dict(whole.scores)
    for name, estimate in found.items():
        best = 0.0 if name == MARGINS else 1.0  # a score is 1 - loss; a margin has no largest value
        points[name], replicates[name] = best - estimate.loss, best - drawn_estimates.as_drawn(estimate, resamples, rng)
        whole_pool = estimate.unit == 0
        rankings[name] = replicated.ranking(models, points[name], replicates[name], estimate.freedom + 1, exact=whole_pool)
        if estimate.order is not None:
            points[name] = best - estimate.order
            first = np.argsort(estimate.order, kind="stable").tolist()
            rankings[name] |= {
                "scores": dict(zip(models, points[name].tolist(), strict=True)),
                "order": [models[k] for k in first],
            }
        around = estimate_intervals.margin_intervals if name == MARGINS else estimate_intervals.loss_intervals
        bounds = best - around(estimate)[:, ::-1]
        bounds = (
            np.stack([np.fmin(bounds[:, 0], points[name]), np.fmax(bounds[:, 1], points[name])], 1)
            if estimate.order is not None
            else bounds
        )
        rankings[name]["score_interval"] = dict(zip(models, bounds.tolist(), strict=True))
    own = {
        "resamples": resamples,
        "seed": seed,
        "all_labels": all_labels,
        "level": LEVEL,
        "pseudo_count": replicated.PSEUDO_COUNT,
        "interval": _intervals_are(list(found)),
    }
    labels = {"used": len(used), "slots": len(rows), "discarded": discarded, "missing": len(rows) - number - discarded}
    if counted is not None:
        labels |= {"counted": len(counted.columns), "pool": counted.pool}
    return Standings(
        models=models,
        labels=labels,
        matrices={},
        rankings=rankings | whole.rankings,
        definitions={**(definitions or {}), **own},
        benchmark={} if benchmark is None else compare_benchmark(models, benchmark, points, replicates),
        notes=(*whole.notes, *said),
    )


def _intervals_are(unbiased: list[str]) -> str:
    wilson = ", ".join([*(name for name in unbiased if name != MARGINS), "reuse_mean"])
    return (
        "percentile bootstrap over images; of "
        + ("margins Student's t, of " if MARGINS in unbiased else "")
        + f"{wilson} Wilson's"
    )
