"""How many points each question needs, beside whole maps: from what models say at each pixel, and from the
answers so far.

Conventions: the selection of points with most answers that was drawn from the current study speaks; without
one, points are as `select --points` would draw them. Answers to points say how far apart models are in pooled
mIoU, and labels of images how far in the mean over images: neither changes the numbers of the other. What is
next of points is what `status` says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from faultscape.errors import RankingError, SelectionError, counted
from faultscape.ranking.planning.label_needs import apart_needed
from faultscape.ranking.planning.label_variances import Curve
from faultscape.ranking.planning.point_needs import (
    BOXED,
    many_points,
    measured_covariance,
    point_curve,
    point_worlds,
)
from faultscape.ranking.points.estimates import point_scores
from faultscape.ranking.points.intervals import pool_spread
from faultscape.reading.boxes.evidence import boxes_of
from faultscape.reading.label_counts import labelled_number
from faultscape.reading.points.evidence import (
    PointEvidence,
    points_of_a_look,
    read_point_evidence,
    totals_of,
)
from faultscape.reading.points.needs import sampled_covariance
from faultscape.reading.points.pool import drawable
from faultscape.reading.points.truths import with_maps
from faultscape.reading.points.tuples import Scope
from faultscape.reading.study import Study
from faultscape.selection.catalogue import POINTS
from faultscape.selection.points.probabilities import PointGoal
from faultscape.standings import FEW_POINTS, MOST_POINTS
from faultscape.terminal_lines import duration
from faultscape.verbs.plan.advice import WIDE, Drawn
from faultscape.verbs.plan.forecast import Forecast, needed, needed_row
from faultscape.verbs.plan.open_question import more_points
from faultscape.verbs.plan.prices import price
from faultscape.verbs.plan.result import Apart, BoxesThere, PointNumbers, Recommended
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.rank.open_selections import open_points
from faultscape.verbs.select.points import NUMBER, usual_definition

APART = (1.0, 1.5, 2.0, 3.0, 5.0)  # differences of two models, of 100 points of mIoU
SAID = 1.5  # the one that a recommendation is about


@dataclass(frozen=True, eq=False)
class LookedPoints:
    """How much single points vary: a covariance (J, J) of the scores for draws that tell models apart, and
    the variances (J,) of draws for each model's ``own`` score. ``points`` of selection ``name`` are drawn so
    far ('' for none), ``answered``, ``masked`` of them by masks, or ``waiting``. ``score`` (J,) is known from
    them, or None. ``images`` count and have no mask, some of them boxes (``boxed``).
    """

    name: str
    points: int
    answered: int
    masked: int
    waiting: int
    covariance: np.ndarray
    own: np.ndarray
    score: np.ndarray | None
    images: int
    boxed: int

    @property
    def by_people(self) -> int:
        """How many points people answered."""
        return self.answered - self.masked

    def curve(self, kept: list[int]) -> Curve:
        """Return how the variances of the models ``kept`` fall with the number of points."""
        found = point_curve(self.covariance[np.ix_(kept, kept)])
        return replace(found, models=np.tile(self.own[kept], (2, 1)))

    def worlds(self, found: Forecast, seed: int) -> np.ndarray:
        """Return the losses (W, J) of the models kept that the answers leave possible."""
        if self.score is None:
            return found.before
        some = np.ix_(found.kept, found.kept)
        return point_worlds(self.score[found.kept], self.covariance[some], self.answered, seed)


def look_at_points(
    study: Study, models: tuple[str, ...], truth: str, goal: PointGoal, *, engine: str, named: str = ""
) -> LookedPoints | None:
    """Return how much points vary, by the answers of the selection ``named``, or of that with most; None
    where no pixel is left to ask about. SelectionError if the one named does not fit the study as it is.
    """
    names = _drawn_from_now(study, models)
    if named and named not in names:
        raise SelectionError(
            f"selection {named!r} was drawn from other images or for other models than the study has now;"
            f" leave --selection out, or draw points again with `faultscape select {study.place} --points N`"
        )
    name = named or max(names, key=lambda name: study.label_count(name, truth).labelled, default="")
    found = _evidence(study, name, truth, engine) if name else None
    if found is not None and (found.models != models or not found.pool.size):
        return None
    drawn = len(study.selections[name].slots.points) if found is not None else 0
    answered = 0 if found is None else found.told
    masked = 0 if found is None else found.masked
    waiting = 0 if found is None else found.waiting
    if found is not None and answered >= FEW_POINTS:
        totals = totals_of(found, study.classes)
        scores = point_scores(totals)
        if not np.isnan(scores.score).any():
            each = points_of_a_look(study.selections[name].slots.definition)
            covariance = each * measured_covariance(scores, pool_spread(totals, scores))  # of one point
            own = np.diagonal(covariance)
            left = int((found.pool.counted & ~found.pool.labelled).sum())
            there = (left, found.pool.boxed_number)
            return LookedPoints(name, drawn, answered, masked, waiting, covariance, own, scores.score, *there)
    define = usual_definition() if found is None else study.selections[name].slots.definition
    without = with_maps(study, (images := drawable(study, models, define)), truth) | {*study.discarded}
    images = [image for image in images if image not in without]
    if not images:
        return None
    scope = Scope(models, truth, define.get("border", 0), models)
    covariance = sampled_covariance(study, scope, images, goal)
    own = np.diagonal(sampled_covariance(study, scope, images, "values"))
    name = "" if found is None else name
    there = (len(images), len(boxes_of(study, truth).keys() & set(images)))
    return LookedPoints(name, drawn, answered, masked, waiting, covariance, own, None, *there)


def _drawn_from_now(study: Study, models: tuple[str, ...]) -> list[str]:
    """Return the selections of points that were drawn from the current study."""
    return [
        name
        for name, made in study.selections.items()
        if made.slots.points
        and set(made.slots.models) <= set(models)
        and made.drawn_from == study.pool_key(made.slots)
    ]


def _evidence(study: Study, name: str, truth: str, engine: str) -> PointEvidence | None:
    """Return what is known of the points of a selection; None if its images changed, as `rank` says."""
    try:
        return read_point_evidence(study, name, truth, engine=engine)
    except RankingError:
        return None


def point_numbers(
    looked: LookedPoints,
    found: Forecast,
    by: str,
    within: float,
    costs: dict[str, float],
    seed: int,
) -> PointNumbers | None:
    """Return how many points each question needs, and for models that differ by so much, how many points and
    how many maps that the selector ``by`` draws; None for fewer than two different models.
    """
    if len(found.kept) < 2:
        return None
    curve = looked.curve(found.kept)
    each = needed(looked.worlds(found, seed), curve, within)
    questions = {name: needed_row(numbers, curve.pool, name) for name, numbers in each.items()}
    for row in questions.values():
        price(row, row.pop("units"), costs["point"], None)
    apart: list[Apart] = []
    for distance in APART:
        points = int(apart_needed(distance / 100, curve))
        maps = int(apart_needed(distance / 100, found.curves[by])) if by in found.curves else None
        apart.append(
            {
                "apart": distance,
                "points": points,
                "point_hours": points * costs["point"] / 3600,
                "maps": maps,
                "map_hours": None if maps is None else maps * costs["mask"] / 3600,
            }
        )
    return {
        "answered": looked.by_people,
        "selection": looked.name or None,
        "maps_by": by,
        "questions": questions,
        "apart": apart,
        "boxes": _boxes(looked, next(row["points"] for row in apart if row["apart"] == SAID), costs),
    }


def _boxes(looked: LookedPoints, points: int, costs: dict[str, float]) -> BoxesThere:
    """Return what boxes there are, and when they would pay beside so many ``points``."""
    saved = min(points, MOST_POINTS) * (1 - BOXED) * costs["point"]
    objects = None
    if not looked.boxed and costs["box"] > 0:
        objects = round(saved / costs["box"] / looked.images, 1)
    return {"images": looked.images, "boxed": looked.boxed, "objects": objects}


def advise_points(
    study: Study,
    looked: LookedPoints,
    numbers: PointNumbers,
    drawn: Drawn,
    of_images: Recommended | None,
    goal: str,
    asked: str | None,
) -> Recommended | None:
    """Return what to do next: with points where they were begun, or where no images are drawn or have a mask
    and points are quicker; otherwise the recommendation ``of_images``, which then says if points are quicker.
    """
    begun = looked.answered or (looked.name and not drawn.images)
    cheaper = quicker(numbers)
    masks = drawn.images or labelled_number(study, study.likely_truth)
    if drawn.labels or not (begun or (cheaper and not masks)):
        if of_images is None or of_images["instead"] or of_images["verb"] == "rank" or not cheaper:
            return of_images
        line = f"faultscape select {study.place} --points {NUMBER}"
        instead = f"Points are quicker: {cheaper} tell two models {SAID:g} of 100 points apart: `{line}`."
        return {**of_images, "instead": instead}
    verb, number, why = _next(study, looked, numbers)
    if verb == "rank" and STANDINGS.is_done(study, looked.name):
        return None  # the verdict says what they show
    return {
        "verb": verb,
        "question": goal,
        "selection": looked.name or POINTS,
        "selector": POINTS,
        "temperature": None,
        "goal": asked,
        "budget": None if looked.name else number,
        "round": number if looked.name and verb == "select" else None,
        "begun": bool(looked.name),
        "why": why,
        "instead": None,
    }


def quicker(numbers: PointNumbers) -> str:
    """Return how long points take to tell two close models apart, and how long masks, if these take at least
    twice as long; '' otherwise.
    """
    row = next(row for row in numbers["apart"] if row["apart"] == SAID)
    if row["map_hours"] is None or row["map_hours"] < WIDE * row["point_hours"]:
        return ""
    points = f"{many_points(row['points'])} points ({duration(row['point_hours'])})"
    return f"{points} or {counted(row['maps'] or 0, 'mask')} ({duration(row['map_hours'])})"


def _next(
    study: Study, looked: LookedPoints, numbers: PointNumbers
) -> tuple[Literal["rank", "label", "select"], int, str]:
    """Return the verb of the next command, how many points it draws, and why."""
    name = looked.name
    if not name:
        why = (
            f"Why: to tell two models apart that differ by {SAID:g} of 100 points of mIoU takes about"
            f" {quicker(numbers)}. Models that close stay open until then. Masks also train models and show"
            " where they fail; points only say which is better. Answer these, then follow `status`."
        )
        return "select", NUMBER, why
    if looked.waiting:
        drawn = counted(looked.points, "drawn point")
        return "label", 0, f"{looked.waiting:,} of {drawn} are not answered yet: answer them, then rank."
    if name in open_points(study):
        more = more_points(study, name)
        why = (
            f"all {looked.by_people:,} answers of {name} are ranked, and do not tell which model is best:"
            f" draw {more:,} more points, answer them, then rank again. Each step at most doubles the points,"
            " because what few answers predict is rough."
        )
        return "select", more, why
    return "rank", 0, f"All {counted(looked.points, 'point')} of {name} are answered."
