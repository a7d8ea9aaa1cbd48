"""What is known of a selection of points, as an estimate takes it: the pixels of the images that count, and
the draws.

Conventions: M draws count. Images with a map of the truth are known in full (``labelled``), and the draws
speak about the others (``unlabelled``): a draw that lies in an image with a map, or in one that does not
count, was drawn all the same, and adds nothing there. Boxes narrow what is expected of the unlabelled images
(`box_states`); a map of an image says all that its boxes do. Draws are independent, so the first ones are a
fair sample however many follow: those after the last one with an answer do not count, and of those before at
most a twentieth may lack one, as if missing at random.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import RankingError, counted
from faultscape.nouns import Classes, Definition
from faultscape.ranking.points.answers import GONE, PointAnswers
from faultscape.ranking.points.box_states import SHUT
from faultscape.ranking.points.pool import Pool
from faultscape.ranking.points.totals import PointTotals, point_totals
from faultscape.reading.choices import EVERYBODY, Voices
from faultscape.reading.points.pool import StoredPool, drawable, lacking_maps, read_point_pool
from faultscape.reading.points.truths import point_truth, with_maps
from faultscape.reading.points.tuples import Scope, forget_others
from faultscape.reading.study import Study
from faultscape.standings import SKIPPED


@dataclass(frozen=True, eq=False)
class PointEvidence:
    """The ``pool`` of the ``images`` that count, which knows what the ``models`` say at the points, and of M
    draws the ``shares`` (M, C + 1) of the classes and void there, 0 where nobody can tell, the ``chance``
    (M,) of the pixel at that draw, whether it lies ``inside`` (M,) the unlabelled images, and its image
    (``drawn_in``); those with the same ``look`` (M,) were drawn together.

    ``told`` is how many of the draws have an answer, or a map of their image, as ``masked`` have; ``late``
    are the models that are left out because they lack maps. ``waiting`` is how many points have no answer
    yet, ``after`` how many answers come after one of these and do not count, ``untold`` how many of the
    draws nobody can tell, and ``unboxed`` how many show only classes that boxes shut out. ``weights`` are
    those of the people's answers, None if all count the same.
    """

    models: tuple[str, ...]
    images: tuple[str, ...]
    pool: StoredPool
    shares: np.ndarray
    chance: np.ndarray
    look: np.ndarray
    inside: np.ndarray
    drawn_in: tuple[str, ...]
    told: int
    masked: int
    late: tuple[str, ...]
    waiting: int
    after: int
    untold: int
    unboxed: int
    weights: Mapping[str, float] | None

    @property
    def answered(self) -> np.ndarray:
        """Which draws (M,) say something about the unlabelled images."""
        return self.inside & (self.shares.sum(1) > 0)


def read_point_evidence(
    study: Study,
    name: str,
    truth: str,
    where: Collection[str] | None = None,
    voices: Voices = EVERYBODY,
    *,
    engine: str,
) -> PointEvidence:
    """Return what is known of a selection of points under a truth, on all its images or those of ``where``
    that trained none of its models, by the answers of ``voices``; RankingError if its images are no longer
    those that it was drawn from.
    """
    made = study.selection(name)
    slots = made.slots
    points = slots.points
    define = slots.definition
    _refuse_changed_images(study, name)
    left = tuple(model for model in slots.models if model in study.models)
    everything = drawable(study, left, define)
    missing = lacking_maps(study, [m for m in study.models if m not in left], everything)
    models = tuple(model for model in (*left, *study.models) if model not in missing)
    models = tuple(dict.fromkeys(models))
    trained = (study.trained_on(model) for model in models)
    covered = set(everything if where is None else where).difference(study.discarded, *trained)
    counts = np.array([image in covered for image in everything], bool)
    images = tuple(image for image in everything if image in covered)
    _refuse_lost_maps(study, name, images, truth)
    scope = Scope(models, truth, define.get("border", 0), left)
    forget_others(study, scope)
    pool = read_point_pool(study, scope, everything, counts, points=points, engine=engine)
    _refuse_other_pool(study, name, pool)
    known = point_truth(study, points, truth, pool.shown, voices)
    there = np.isin([point.image for point in points], images)
    inside = there & ~known.labelled
    done = known.done | ~inside
    number = _counted(done, inside)
    kept = slice(0, number)
    return PointEvidence(
        models,
        images,
        pool,
        known.shares[kept],
        np.array([point.probability for point in points[kept]]),
        np.arange(len(points[kept])) // points_of_a_look(define),
        inside[kept],
        tuple(point.image for point in points[kept]),
        int((known.known & there)[kept].sum()),
        int((known.labelled & there)[kept].sum()),
        tuple(missing),
        int((~done).sum()),
        int((known.asked & inside)[number:].sum()),
        int((known.untold & inside)[kept].sum()),
        _unboxed(pool, known.shares[kept], inside[kept]),
        known.weights,
    )


def _unboxed(pool: StoredPool, shares: np.ndarray, inside: np.ndarray) -> int:
    """Return how many of the first draws with answers ``shares`` (M, C + 1) show only classes that boxes shut
    out.
    """
    if pool.boxes is None:
        return 0
    shut = pool.boxes.states[pool.boxes.place[: len(shares)]] == SHUT
    return int((inside & ((shares[:, :-1] * shut).sum(1) >= 1)).sum())


def totals_of(found: PointEvidence, classes: Classes) -> PointTotals:
    """Return the confusion counts of the images that count, as the points so far show them."""
    return totals_from(found.pool, answers_of_draws(found), classes)


def answers_of_draws(found: PointEvidence) -> PointAnswers:
    """Return what is known of the draws, as answers about the pool."""
    place = np.where(found.inside, np.arange(len(found.inside)), GONE)
    # without any answer there, draws say nothing about these images
    kept = slice(0, len(place) if found.answered.any() else 0)
    return PointAnswers(place[kept], found.chance[kept], found.shares[kept], found.look[kept])


def points_of_a_look(define: Definition) -> int:
    """Return how many points of an image are drawn together, as one draw, in a selection of points."""
    return define.get("per_image", 1)


def totals_from(pool: Pool, answers: PointAnswers, classes: Classes) -> PointTotals:
    """Return the confusion counts of a pool from answers. The truth may be void if the class list, a map or
    an answer says so.
    """
    void = bool(classes.void) or bool(answers.shares[:, -1].any()) or bool(pool.known[:, :, -1].any())
    return point_totals(pool, answers, void=void)


def added_by_image(found: PointEvidence, totals: PointTotals, slopes: np.ndarray) -> np.ndarray:
    """Return (J, I) what each of the images that count adds to the change of a score with these ``slopes``
    (J, C + 1, C + 1): its pixels by what is expected of them, or by its map, and its points.
    """
    sums = found.pool.slopes(totals.belief, slopes)
    place = {image: k for k, image in enumerate(found.images)}
    at = [place[image] for image, yes in zip(found.drawn_in, found.answered.tolist(), strict=True) if yes]
    for own, added in zip(sums, totals.by_point(slopes) / max(totals.draws, 1), strict=True):
        np.add.at(own, at, added)
    return sums


def _counted(done: np.ndarray, inside: np.ndarray) -> int:
    """Return how many of the first draws count, of which (M,) some are ``done``; of those ``inside`` (M,) the
    images that people are asked about few may lack an answer, and the last one has one.

    >>> every = np.ones(33, bool)
    >>> _counted(np.array([True, True, False, True]), every[:4])
    2
    >>> _counted(np.array([True] * 30 + [False, True, False]), every)
    32
    >>> _counted(np.array([True] * 5 + [False] + [True] * 27), np.arange(33) < 7)  # 26 others do not help
    5
    """
    if done.all():
        return len(done)
    ends = np.flatnonzero(done & inside) + 1
    waiting = np.cumsum(~done)
    asked = np.cumsum(inside)
    last = max((int(end) for end in ends if waiting[end - 1] <= SKIPPED * asked[end - 1]), default=0)
    # those outside say nothing, and are no end
    rest = np.flatnonzero(inside[last:])
    return last + int(rest[0]) if len(rest) else len(done)


def _refuse_changed_images(study: Study, name: str) -> None:
    """Raise RankingError if drawn images left the corpus or have another size: their points are unknown."""
    if gone := study.selection(name).gone:
        image, how = min(gone.items())
        raise RankingError(
            f"points of {name!r} were drawn in image {image!r}, which {how}: {_drawn_again(study, name)}"
        )


def _refuse_lost_maps(study: Study, name: str, images: Sequence[str], truth: str) -> None:
    """Raise RankingError if images have no map of a truth now that had one when points were drawn: these were
    drawn among the others, and say nothing about them.
    """
    had = set(study.selection(name).slots.definition.get("masked", ())).intersection(images)
    lost = sorted(had - with_maps(study, sorted(had), truth))
    if lost:
        have = f"{counted(len(lost), 'image has', 'images have')} none in truth {truth!r} ({lost[0]})"
        raise RankingError(
            f"points of {name!r} were drawn among the images without a mask, and of those that had one then"
            f" {have}: import it again, discard the image, or {_drawn_again(study, name)}"
        )


def _refuse_other_pool(study: Study, name: str, pool: StoredPool) -> None:
    """Raise RankingError if the pixels that could be drawn are not as many as when they were."""
    slots = study.selection(name).slots
    size = int(pool.pixels.sum())
    if size != slots.points[0].pool:
        raise RankingError(
            f"points of {name!r} were drawn from {slots.points[0].pool:,} pixels of maps, and the study has"
            f" {size:,} now, in {counted(len(pool.images), 'image')}: {_drawn_again(study, name)}"
        )


def _drawn_again(study: Study, name: str) -> str:
    """Return how a selection of points is drawn again."""
    return (
        f"redraw them with `faultscape select {study.place} --selector points --as {name} --replace` (an"
        " answer counts wherever its pixel is drawn again)"
    )
