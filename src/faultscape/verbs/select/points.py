"""Draw points: single pixels of label maps, each with a known probability; a new selection, or more points
for one.

Conventions: as in ``reading.points.pool``. Draws are independent, with replacement. Draw m uses the m-th
number of the seed's stream whatever came before; each round has its own probabilities, which may use the
answers to earlier rounds. A mask answers every point in its image, so that a round draws among the images
that have none by then; what had one is recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from faultscape.errors import FixedSelectionError, OptionError, SelectionError, counted
from faultscape.nouns import Definition, Point, Slots
from faultscape.ranking.planning.label_needs import apart_needed
from faultscape.ranking.planning.point_needs import many_points, point_curve, points_for_score
from faultscape.ranking.points.answers import GONE, PointAnswers
from faultscape.ranking.points.totals import PointTotals
from faultscape.reading import evidence
from faultscape.reading.label_counts import refuse_waiting, tell_waiting
from faultscape.reading.points.evidence import points_of_a_look, totals_from
from faultscape.reading.points.needs import sampled_covariance
from faultscape.reading.points.places import place_in_image
from faultscape.reading.points.pool import StoredPool, drawable, read_point_pool
from faultscape.reading.points.truths import point_truth, with_maps
from faultscape.reading.points.tuples import Scope, forget_others
from faultscape.reading.study import Study
from faultscape.selection.catalogue import POINTS
from faultscape.selection.definitions import STREAM, stream
from faultscape.selection.points.probabilities import PointGoal, point_allocation
from faultscape.study.tables import selections
from faultscape.ties import RULE
from faultscape.verbs.select.options import ONLY_MAPS, check_points
from faultscape.verbs.select.replacement import existing_selection, put_selection

if TYPE_CHECKING:
    from faultscape.verbs.options import SelectOptions

NUMBER = 300
WIDEST = 100  # pixels of a border
MOST_OF_IMAGE = 50  # points of an image that are drawn together
_TOLD = (1.5, 5.0)  # differences of two models, of 100 points of mIoU
_TOLD_SCORE = 3.0  # half of an interval of a score, of 100 points of mIoU


def draw_points(study: Study, name: str, given: dict[str, Any], options: SelectOptions) -> Slots:
    """Draw, extend or redraw a selection of points of a study, or in a dry run of a copy of it."""
    selections.path(study.root, name)
    number = _number(given)
    if study.classifies:
        raise OptionError(ONLY_MAPS)
    with study.writing():
        models = study.models
        old = existing_selection(study, name, anew=options.replace, least=1)
        if old is None and "more" in given:
            raise SelectionError(
                f"there is no selection {name!r} to draw more of; make it with --points {number}"
            )
        held = () if old is None else old.slots.points
        goal = "order" if len(models) > 1 else "values"  # one model has no order
        define = _definition(name, given, None if old is None else old.slots.definition, goal)
        if old is not None:
            models = tuple(model for model in old.slots.models if model in study.models)
            if old.slots.models != models or old.gone or old.drawn_from != study.pool_key(old.slots):
                what = "models" if old.slots.models != models else "images"
                raise FixedSelectionError(
                    f"{what} changed since selection {name!r} was drawn, so that no more can be added; redraw"
                    " it with --selector points --replace, or draw another with --as NAME (an answer counts"
                    " wherever its pixel is drawn again)"
                )
            if not {"more", "points"} & set(given):
                number = len(held)  # no more were requested
        number -= 0 if "more" in given else len(held)
        if number <= 0 and old is not None:
            print(f"selection {name!r} has {counted(len(held), 'point')}; --more N adds to them")
            return old.slots
        if held and "more" in given:
            refuse_waiting(study, name, number)
        if held:
            tell_waiting(study, name, given.get("truth"), learns=True)
        truth = given.get("truth") or study.likely_truth
        masked = with_maps(study, drawable(study, models, define), truth)
        if masked:
            define = define.copy()
            define["masked"] = sorted(masked.union(define.get("masked", ())))
        run = {"engine": options.engine, "workers": options.workers}
        rows = next_points(study, Slots(models, define, held), number, truth=truth, masked=masked, **run)
        for note in evidence.trained_notes(study, models, evidence.pool_that_trained(study, models), "image"):
            print(f"{note}; no point lies there")
        result = Slots(models, define, (*held, *rows))
        about = {key: value for key, value in define.items() if key != "masked"}
        put_selection(study, name, result, anew=options.replace, number=len(rows), **about)
    return result


def _number(given: Mapping[str, Any]) -> int:
    """Return how many points are asked for: in all, or how many more."""
    if "more" in given and "points" in given:
        raise OptionError("--points is the total number of points, --more how many to add; give one of them")
    number = given.get("more", given.get("points", NUMBER))
    check_points(number, "more" if "more" in given else "points")
    border = given.get("border", 0)
    if not 0 <= border <= WIDEST:
        raise OptionError(f"--border must be 0 to {WIDEST} pixels; got {border}")
    each = given.get("per_image", 1)
    if not 1 <= each <= MOST_OF_IMAGE:
        raise OptionError(f"--per-image must be 1 to {MOST_OF_IMAGE} points; got {each}")
    return number


def usual_definition() -> Definition:
    """Return the definition of a selection of points for which no option is given."""
    return _definition(POINTS, {}, None, "order")


def _definition(name: str, given: Mapping[str, Any], was: Definition | None, goal: PointGoal) -> Definition:
    """Return the definition of a selection of points, drawn for a ``goal`` unless another was given;
    FixedSelectionError if it differs from that of the existing selection.
    """
    usual: dict[str, Any] = {
        "goal": goal,
        "seed": 0,
        "border": 0,
        "per_image": 1,
        "keep_duplicates": False,
        "ties": RULE,
    }
    asked = {key: given[key] for key in usual if key in given}
    if was is None:
        return cast("Definition", {"selector": POINTS, **usual, **STREAM, **asked})
    fixed = "its definition is fixed: use --as NAME for another, or --replace to redraw it"
    if was["selector"] != POINTS:
        raise FixedSelectionError(
            f"selection {name!r} was drawn by {was['selector']}, not by {POINTS}; {fixed}"
        )
    for key, value in asked.items():
        if was.get(key, usual[key]) != value:
            raise FixedSelectionError(
                f"selection {name!r} was drawn with {key} {was.get(key, usual[key])}, not {value}; {fixed}"
            )
    return was


def next_points(
    study: Study,
    so_far: Slots,
    number: int,
    *,
    truth: str,
    masked: Collection[str],
    engine: str,
    workers: int | None,
) -> tuple[Point, ...]:
    """Return the ``number`` points, or a few more to make looks whole, that follow those of a selection
    ``so_far``, given the answers to these under a truth, in images other than those ``masked``, which have a
    map of it; SelectionError if no pixel can be drawn.
    """
    models = so_far.models
    define = so_far.definition
    held = so_far.points
    each = points_of_a_look(define)
    number = each * -(-number // each)  # whole looks
    run = {"engine": engine, "workers": workers}
    images = drawable(study, models, define)
    scope = Scope(models, truth, define.get("border", 0), models)
    forget_others(study, scope)
    pool = read_point_pool(study, scope, images, points=held, **run)
    if not pool.size:
        if len(masked) == len(images) > 0:
            raise SelectionError(
                f"every image has a mask in truth {truth!r}, so that no point needs an answer"
            )
        where = f" that is more than {define['border']} pixels from a border" if define.get("border") else ""
        raise SelectionError(
            f"no pixel{where} has a prediction of every model, so that no point can be drawn"
        )
    if len(held) + number > pool.size:
        raise SelectionError(
            f"{len(held) + number:,} points are more than the {pool.size:,.0f} pixels that can be drawn; draw"
            " fewer"
        )
    if not held:
        among = [image for image in images if image not in masked]
        _tell_needs(sampled_covariance(study, scope, among, goal_of(define)), goal_of(define))
    by = point_allocation(_so_far(study, pool, held, define, truth), goal_of(define))
    numbers = np.random.default_rng(stream(define)).random(len(held) + number)[len(held) :]
    drawn = pool.draw(by, numbers.reshape(-1, each))
    rows = study.corpus.by_id({image for image, _, _ in drawn})
    working = study.settings.working_size
    round_ = max((point.round for point in held), default=0) + 1
    whole = int(pool.pixels.sum())
    return tuple(
        Point(
            POINTS,
            round_,
            len(held) + step,
            image,
            *place_in_image(rows[image], working, pixel),
            pixel,
            0,
            float(f"{one:.12g}"),
            whole,
        )
        for step, (image, pixel, one) in enumerate(drawn, 1)
    )


def _tell_needs(covariance: np.ndarray, goal: PointGoal) -> None:
    """Say before anybody answers how many points close models need, or their scores."""
    if goal == "values":
        points = many_points(points_for_score(covariance, _TOLD_SCORE / 100))
        print(f"note: each mIoU is known to about ±{_TOLD_SCORE:g} points of 100 from {points} answers on")
        return
    curve = point_curve(covariance)
    close, far = (many_points(int(apart_needed(distance / 100, curve))) for distance in _TOLD)
    print(
        f"note: two models {_TOLD[0]:g} points of mIoU apart stay open until some {close} points are"
        f" answered, {_TOLD[1]:g} points apart until {far}"
    )


def goal_of(define: Definition) -> PointGoal:
    """Return what the points of a selection are drawn for."""
    return define.get("goal", "order")


def _so_far(
    study: Study, pool: StoredPool, held: Sequence[Point], define: Definition, truth: str
) -> PointTotals:
    """Return the confusion counts of the pool as masks and the answers to earlier draws show them."""
    known = point_truth(study, held, truth)
    told = np.flatnonzero(known.labelled | known.known)
    chance = np.array([point.probability for point in held])
    place = np.where(known.labelled[told], GONE, told)
    look = told // points_of_a_look(define)
    return totals_from(pool, PointAnswers(place, chance[told], known.shares[told], look), study.classes)
