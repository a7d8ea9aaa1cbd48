"""Redraw objects of planned frames that nearly vanish in their frame or fell into pieces.

Conventions: an object that `blend` flags is redrawn, with another cut-out of its frame, place and
parameters, at most ``MOST`` times; what is flagged even then stays, with its flag. Its plan says how often it
was redrawn, and follows from the frame, the objects and the seed alone, whatever the engine and whatever
was interrupted. A frame that cannot be made here is reported when its labels are made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from faultscape.corpus.photos import parent_of
from faultscape.corpus.stress.recipes import PlanStep, blended, recipe_of
from faultscape.errors import FaultscapeError
from faultscape.reading import fill
from faultscape.reading.fill import task
from faultscape.stressors.blend_plans import BlendPlan, plan_of_text
from faultscape.study.tables.corpus import Image

MOST = 8
_AT_ONCE = 16  # frames of a job
_FEW = 32  # frames for which no processes are started


@dataclass(frozen=True)
class FlagJob:
    """The sources of planned frames."""

    sources: tuple[str, ...]


@dataclass(frozen=True)
class Flagged:
    """The numbers of the flagged objects of each frame of a job."""

    objects: tuple[tuple[int, ...], ...]


def redraw(
    rows: list[Image],
    numbers: Iterable[int],
    again: Callable[[int, tuple[int, ...]], Image],
    *,
    engine: str,
    workers: int | None,
) -> None:
    """Replace those of the ``rows`` with these numbers whose objects are flagged; ``again`` plans one again
    from its number and how often each of its objects is redrawn.
    """
    left = list(numbers)
    for _ in range(MOST):
        if not left:
            return
        flagged = _flagged(
            [rows[number] for number in left], engine if len(left) > _FEW else "local", workers
        )
        left = [number for number, objects in zip(left, flagged, strict=True) if objects]
        for number, objects in zip(left, filter(None, flagged), strict=True):
            times = Counter(dict(enumerate(redrawn_of(rows[number]))))
            times.update(objects)
            rows[number] = again(number, tuple(times[k] for k in sorted(times)))


def plan_of(row: Image) -> BlendPlan:
    """Return the plan of a blended image."""
    recipe = recipe_of(row.source)
    assert recipe is not None
    assert isinstance(recipe.step, PlanStep)
    return plan_of_text(recipe.step.plan)


def redrawn_of(row: Image) -> tuple[int, ...]:
    """Return how often each object of a blended image was redrawn."""
    return tuple(placed.redrawn for placed in plan_of(row).objects)


def _flagged(rows: list[Image], engine: str, workers: int | None) -> list[tuple[int, ...]]:
    """Return the numbers of the flagged objects of each frame."""
    jobs = [
        FlagJob(tuple(row.source for row in rows[first : first + _AT_ONCE]))
        for first in range(0, len(rows), _AT_ONCE)
    ]
    done = fill.do(
        "faultscape.verbs.stress.blends.redrawn:flag_frames",
        jobs,
        Flagged,
        title="look",
        items=len(rows),
        engine=engine,
        workers=workers,
    )
    found = dict(done)
    return [objects for number in range(len(jobs)) for objects in found[number].objects]


@task(FlagJob)
def flag_frames(job: FlagJob, tick: Callable[[int], None]) -> Flagged:
    """Blend some frames and return which of their objects are flagged."""
    found = []
    for source in job.sources:
        found.append(_flags(source))
        tick(1)
    return Flagged(tuple(found))


def _flags(source: str) -> tuple[int, ...]:
    recipe = recipe_of(source)
    assert recipe is not None
    assert isinstance(recipe.step, PlanStep)
    clear = replace(plan_of_text(recipe.step.plan), fog=None)  # flags are of the frame before fog
    try:
        made = blended(replace(recipe.step, plan=clear.text(), void=""), parent_of(recipe))
    except FaultscapeError:
        return ()
    return tuple(sorted({flag.object for flag in made.flags}))
