"""Which answers are the cheapest for a question: points alone, masks alone, or masks and choices; and what
the answers so far were worth.

Conventions: hours are those of `--cost`. Points say how models compare in pooled mIoU, masks and choices in
the mean over images, which are two numbers, so nothing is added up. A mix that costs as much as masks alone
is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from faultscape.metrics.intervals.units import LEVEL
from faultscape.ranking.drawn.estimate_intervals import difference_intervals
from faultscape.ranking.drawn.estimates import Estimates
from faultscape.ranking.drawn.gaps import level_of_all
from faultscape.ranking.drawn.scores import WITH_CHOICES, unusable
from faultscape.ranking.planning.choice_needs import assumed, cheapest_mix, explained_by
from faultscape.reading.study import Study
from faultscape.verbs.options import RankOptions
from faultscape.verbs.plan.facts import Measured
from faultscape.verbs.plan.points import SAID, LookedPoints
from faultscape.verbs.plan.result import MixNumbers, MixRow, PointNumbers, Questions, Worth
from faultscape.verbs.rank.draws import estimates_of_draws
from faultscape.verbs.rank.labelled_selection import labelled_selection

APART = "apart"  # beside the questions of a plan: two models that differ by `SAID`


@dataclass(frozen=True, eq=False)
class AnsweredDraws:
    """The masks of drawn images that count, and the choices beside them: how many people made (``made``), on
    how many ``images``; the estimates from masks alone and, where choices count, from both.
    """

    masks: int
    made: int
    images: int
    pool: int
    alone: Estimates
    both: Estimates | None


def look_at_choices(study: Study, used: Measured | None, truth: str) -> AnsweredDraws | None:
    """Return what masks and choices of the selection ``used`` say; None where too few have a label."""
    if used is None:
        return None
    asked = RankOptions(study=str(study.root), selection=used.selection, truth=truth)
    known = labelled_selection(study, used.selection, truth, None)
    counted, choices, found = estimates_of_draws(known, asked)
    alone = found.estimates.get("prediction_powered", found.estimates.get("lure"))
    if alone is None or unusable(alone):
        return None
    return AnsweredDraws(
        len(counted.columns),
        sum(len(people) for people in known.votes.values()),
        choices.images,
        counted.pool,
        alone,
        found.estimates.get(WITH_CHOICES),
    )


def mix_numbers(
    questions: Questions,
    points: PointNumbers,
    answered: AnsweredDraws | None,
    looked: LookedPoints,
    *,
    asked: str,
    pool: int,
    costs: dict[str, float],
) -> MixNumbers:
    """Return what two close models, the question ``asked`` (order or best) and scores take by each kind of
    answer, and what the answers so far were worth. ``pool`` is how many images can be drawn.
    """
    models = len(looked.covariance)
    pairs = models - 1
    explained = None
    if answered is not None:
        pairs = _left_open(answered.both or answered.alone, asked) or pairs
        if answered.both is not None:
            gain = answered.both.gain
            explained = explained_by(gain, answered.masks, answered.images, answered.pool)
    rows = list[MixRow]()
    by = points["maps_by"]
    for name in (APART, f"{asked}_proved", "scores"):
        apart = next(row for row in points["apart"] if row["apart"] == SAID)
        needed = {"points": apart["points"], "masks": apart["maps"]}
        if name != APART:
            own, maps = points["questions"][name], questions[name].get(by)
            if not own["predictable"] or maps is None or not maps["predictable"]:
                continue
            needed = {"points": own["labels"], "masks": maps["labels"]}
        share = assumed(models) if explained is None else explained
        rows.append(_row(name, needed, pairs, share, pool, costs))
    return {
        "explained": explained,
        "assumed": assumed(models),
        "pairs": pairs,
        "rows": rows,
        "worth": _worth(answered, looked, costs),
    }


def _left_open(found: Estimates, asked: str) -> int:
    """Return how many pairs of models that the question is about the labels do not tell apart: the leader and
    others for the best, neighbors for the order.
    """
    bounds = difference_intervals(found, level_of_all(len(found.loss)))
    order = np.argsort(found.loss, kind="stable").tolist()
    pairs = [(order[0], other) for other in order[1:]] if asked == "best" else [*pairwise(order)]
    return sum(bool(bounds[other, first, 0] <= 0) for first, other in pairs)


def _row(
    name: str, needed: dict[str, int | None], pairs: int, explained: float, pool: int, costs: dict[str, float]
) -> MixRow:
    """Return what one question takes by points alone, by masks alone, and by masks and choices."""
    points, masks = needed["points"], needed["masks"]
    found = None
    # choices compare models: a score of one is as well known without them
    if masks is not None and name != "scores":
        found = cheapest_mix(masks, pool, explained, costs["mask"], pairs * costs["choice"])
    hours = {
        "points": None if points is None else points * costs["point"] / 3600,
        "masks": None if masks is None else masks * costs["mask"] / 3600,
        "mix": (
            None
            if found is None
            else (found.masks * costs["mask"] + found.images * pairs * costs["choice"]) / 3600
        ),
    }
    return {
        "question": name,
        "points": points,
        "point_hours": hours["points"],
        "masks": masks,
        "mask_hours": hours["masks"],
        "mix_masks": None if found is None else found.masks,
        "mix_choices": None if found is None else found.images * pairs,
        "mix_hours": hours["mix"],
        "cheapest": min((key for key in hours if hours[key] is not None), key=lambda key: hours[key] or 0.0),
    }


def _worth(answered: AnsweredDraws | None, looked: LookedPoints, costs: dict[str, float]) -> list[Worth]:
    """Return what the answers of each kind cost, and how well they tell the difference of two models."""
    out = list[Worth]()
    if answered is not None:
        hours = answered.masks * costs["mask"] / 3600
        half = _half_width(answered.alone.covariance, answered.alone.freedom)
        out.append(
            {"kind": "mask", "answers": answered.masks, "hours": hours, "half_width": half, "masks": None}
        )
        if answered.made:
            both = answered.both
            worth = answered.masks * (max(both.gain, 1.0) if both else 1.0)
            half = _half_width(both.covariance, both.freedom) if both and both.gain > 1 else half
            spent = answered.made * costs["choice"] / 3600
            out.append(
                {
                    "kind": "choice",
                    "answers": answered.made,
                    "hours": spent,
                    "half_width": half,
                    "masks": worth,
                }
            )
    if looked.score is not None:
        hours = looked.by_people * costs["point"] / 3600
        half = _half_width(looked.covariance / looked.answered, looked.answered - 1)
        out.append(
            {"kind": "point", "answers": looked.by_people, "hours": hours, "half_width": half, "masks": None}
        )
    return out


def _half_width(covariance: np.ndarray, freedom: int) -> float:
    """Return the mean half-width of the 95 % intervals of differences, one at a time, of 100 points."""
    from scipy.special import stdtrit

    first, second = np.triu_indices(len(covariance), 1)
    own = np.diagonal(covariance)
    spread = np.sqrt(np.maximum(own[first] + own[second] - 2 * covariance[first, second], 0))
    return float(100 * stdtrit(freedom, (1 + LEVEL) / 2) * spread.mean())
