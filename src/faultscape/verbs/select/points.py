"""Draw points: single pixels of label maps, each with a known probability; a new selection, or more points
for one.

Conventions: as in ``reading.points.pool``. Draws are independent, with replacement. Draw m uses the m-th
number of the seed's stream whatever came before; each round has its own probabilities, which may use the
answers to earlier rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from faultscape.errors import FixedSelectionError, OptionError, SelectionError, counted
from faultscape.nouns import Definition, Point, Slots
from faultscape.ranking.points.answers import PointAnswers
from faultscape.ranking.points.pool import PointPool
from faultscape.ranking.points.totals import PointTotals
from faultscape.reading.label_counts import refuse_waiting, tell_waiting
from faultscape.reading.points.evidence import totals_from
from faultscape.reading.points.pool import (
    PixelPool,
    draw_pixels,
    drawable,
    place_in_image,
    read_point_pool,
)
from faultscape.reading.points.truths import point_truth
from faultscape.reading.study import Study
from faultscape.selection.catalogue import POINTS
from faultscape.selection.definitions import STREAM, stream
from faultscape.selection.points.probabilities import PointGoal, point_probabilities
from faultscape.study.tables import selections
from faultscape.ties import RULE
from faultscape.verbs.select.replacement import existing_selection, put_selection

if TYPE_CHECKING:
    from faultscape.verbs.options import SelectOptions

NUMBER = 300
MOST = 100_000
WIDEST = 100  # pixels of a border
ONLY_MAPS = (
    "points are pixels of label maps, which a study of classifiers has not: use --goal order, for images"
)


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
            if old.slots.models != models or old.drawn_from != study.pool_key(old.slots):
                what = "models" if old.slots.models != models else "images"
                raise FixedSelectionError(
                    f"{what} changed since selection {name!r} was drawn, so that no more can be added; redraw"
                    " it with --selector points --replace, or draw another with --as NAME (answers count for"
                    " both)"
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
        rows = next_points(
            study,
            Slots(models, define, held),
            number,
            truth=given.get("truth") or study.likely_truth,
            engine=options.engine,
            workers=options.workers,
        )
        result = Slots(models, define, (*held, *rows))
        put_selection(study, name, result, anew=options.replace, number=len(rows), **define)
    return result


def _number(given: Mapping[str, Any]) -> int:
    """Return how many points are asked for: in all, or how many more."""
    if "more" in given and "points" in given:
        raise OptionError("--points is the total number of points, --more how many to add; give one of them")
    number = given.get("more", given.get("points", NUMBER))
    if not 1 <= number <= MOST:
        raise OptionError(
            f"--{'more' if 'more' in given else 'points'} must be 1 to {MOST:,} points; got {number}"
        )
    border = given.get("border", 0)
    if not 0 <= border <= WIDEST:
        raise OptionError(f"--border must be 0 to {WIDEST} pixels; got {border}")
    return number


def _definition(name: str, given: Mapping[str, Any], was: Definition | None, goal: PointGoal) -> Definition:
    """Return the definition of a selection of points, drawn for a ``goal`` unless another was given;
    FixedSelectionError if it differs from that of the existing selection.
    """
    usual: dict[str, Any] = {"goal": goal, "seed": 0, "border": 0, "keep_duplicates": False, "ties": RULE}
    asked = {key: given[key] for key in usual if key in given}
    if was is None:
        return cast("Definition", {"selector": POINTS, **usual, **STREAM, **asked})
    fixed = "its definition is fixed: use --as NAME for another, or --replace to redraw it"
    if was["selector"] != POINTS:
        raise FixedSelectionError(
            f"selection {name!r} was drawn by {was['selector']}, not by {POINTS}; {fixed}"
        )
    for key, value in asked.items():
        if was.get(key) != value:
            raise FixedSelectionError(
                f"selection {name!r} was drawn with {key} {was.get(key)}, not {value}; {fixed}"
            )
    return was


def next_points(
    study: Study, so_far: Slots, number: int, *, truth: str, engine: str, workers: int | None
) -> tuple[Point, ...]:
    """Return the ``number`` points that follow those of a selection ``so_far``, given the answers to these
    under a truth; SelectionError if no pixel can be drawn.
    """
    models = so_far.models
    define = so_far.definition
    held = so_far.points
    run = {"engine": engine, "workers": workers}
    images = drawable(study, models, define)
    found = read_point_pool(study, models, define, images, points=held, **run)
    pool = found.unlabelled
    if not (size := int(pool.pixels.sum())):
        where = f" that is more than {define['border']} pixels from a border" if define.get("border") else ""
        raise SelectionError(
            f"no pixel{where} has a prediction of every model, so that no point can be drawn"
        )
    chance = point_probabilities(_so_far(study, found, held, truth), goal_of(define))
    numbers = np.random.default_rng(stream(define)).random(len(held) + number)[len(held) :]
    drawn = draw_pixels(study, models, define, images, pool, chance, numbers, **run)
    rows = study.corpus.by_id({image for image, _, _ in drawn})
    working = study.settings.working_size
    round_ = max((point.round for point in held), default=0) + 1
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
            size,
        )
        for step, (image, pixel, one) in enumerate(drawn, 1)
    )


def goal_of(define: Definition) -> PointGoal:
    """Return what the points of a selection are drawn for."""
    return define.get("goal", "order")


def _so_far(study: Study, found: PixelPool, held: Sequence[Point], truth: str) -> PointTotals:
    """Return the confusion counts of the pool as the answers to earlier draws show them."""
    classes = study.classes
    known = point_truth(study, held, truth)
    told = known.known
    pool = found.unlabelled
    answers = PointAnswers(
        pool.places(found.said[:, told], len(classes) + 1),
        np.array([point.probability for point in held])[told],
        known.shares[told],
    )
    return totals_from(PointPool(pool.labels, pool.pixels, len(classes)), answers, classes)
