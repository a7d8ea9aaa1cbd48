"""What is known of a selection of points, as an estimate takes it: the pixels of the images that count, and
the draws.

Conventions: M draws count. Images with a map of the truth are known in full (``labelled``), and the draws
speak about the others (``unlabelled``): a draw that lies in an image with a map, or in one that does not
count, was drawn all the same, and adds nothing there. Draws are independent, so the first ones are a fair
sample however many follow: those after the last one with an answer do not count, and of those before at most
a twentieth may lack one, as if missing at random.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import RankingError, counted
from faultscape.nouns import Classes
from faultscape.ranking.points.answers import GONE, PointAnswers
from faultscape.ranking.points.pool import PointPool
from faultscape.ranking.points.totals import PointTotals, point_totals
from faultscape.reading.points.pool import PixelTuples, drawable, lacking_maps, read_point_pool, sum_values
from faultscape.reading.points.truths import point_truth, with_maps
from faultscape.reading.study import Study
from faultscape.standings import SKIPPED


@dataclass(frozen=True, eq=False)
class PointEvidence:
    """The pixels of the ``images`` that count, and of M draws the labels ``said`` (J, M) of the models, the
    ``shares`` (M, C + 1) of the classes and void there, 0 where nobody can tell, the ``chance`` (M,) of the
    pixel at that draw, whether it lies ``inside`` (M,) the unlabelled images, and its image (``drawn_in``).

    ``told`` is how many of the draws have an answer, or a map of their image; ``late`` are the models that
    are left out because they lack maps. ``waiting`` is how many points have no answer yet, ``after`` how many
    answers come after one of these and do not count, and ``untold`` how many of the draws nobody can tell.
    """

    models: tuple[str, ...]
    images: tuple[str, ...]
    unlabelled: PixelTuples
    labelled: PixelTuples
    said: np.ndarray
    shares: np.ndarray
    chance: np.ndarray
    inside: np.ndarray
    drawn_in: tuple[str, ...]
    told: int
    late: tuple[str, ...]
    waiting: int
    after: int
    untold: int

    @property
    def answered(self) -> np.ndarray:
        """Which draws (M,) say something about the unlabelled images."""
        return self.inside & (self.shares.sum(1) > 0)


def read_point_evidence(
    study: Study,
    name: str,
    truth: str,
    where: Collection[str] | None = None,
    without: Collection[str] = (),
    *,
    engine: str,
) -> PointEvidence:
    """Return what is known of a selection of points under a truth, on all its images or those of ``where``,
    without the answers of some people; RankingError if its images are no longer those that it was drawn from.
    """
    made = study.selection(name)
    slots = made.slots
    points = slots.points
    define = slots.definition
    _refuse_gone_images(study, name, {point.image for point in points})
    left = tuple(model for model in slots.models if model in study.models)
    pool = drawable(study, left, define)
    missing = lacking_maps(study, [m for m in study.models if m not in left], pool)
    models = tuple(model for model in (*left, *study.models) if model not in missing)
    models = tuple(dict.fromkeys(models))
    covered = [image for image in pool if where is None or image in where]
    images = [image for image in covered if image not in study.discarded]
    _refuse_lost_maps(study, name, images, truth)
    found = read_point_pool(study, models, define, images, truth=truth, points=points, engine=engine)
    _refuse_other_pool(study, name, left, pool, images, found.unlabelled, found.labelled, engine)
    known = point_truth(study, points, truth, found.shown, without)
    inside = np.isin([point.image for point in points], images) & ~known.labelled
    done = known.done | ~inside
    number = _counted(done)
    kept = slice(0, number)
    return PointEvidence(
        models,
        tuple(images),
        found.unlabelled,
        found.labelled,
        found.said[:, kept],
        known.shares[kept],
        np.array([point.probability for point in points[kept]]),
        inside[kept],
        tuple(point.image for point in points[kept]),
        int((known.known & np.isin([point.image for point in points], images))[kept].sum()),
        tuple(missing),
        int((~done).sum()),
        int((known.asked & inside)[number:].sum()),
        int((known.untold & inside)[kept].sum()),
    )


def totals_of(found: PointEvidence, classes: Classes) -> PointTotals:
    """Return the confusion counts of the images that count, as the points so far show them."""
    # without any answer there, draws say nothing about these images
    kept = slice(0, len(found.inside) if found.answered.any() else 0)
    return totals_from(
        (found.unlabelled, found.labelled),
        found.said[:, kept],
        found.chance[kept],
        found.shares[kept],
        found.inside[kept],
        classes,
    )


def totals_from(
    pool: tuple[PixelTuples, PixelTuples],
    said: np.ndarray,
    chance: np.ndarray,
    shares: np.ndarray,
    inside: np.ndarray,
    classes: Classes,
) -> PointTotals:
    """Return the confusion counts of a pool, its pixels without a map of the truth and those with one, from M
    draws as `PointEvidence` describes them. The truth may be void if the class list, a map or an answer says
    so.
    """
    unlabelled, labelled = pool
    c = len(classes)
    known = np.zeros((len(said), c + 1, c + 1))
    if len(labelled.pixels):
        *labels, truth = labelled.labels.astype(np.int64)
        each = [np.bincount(own * (c + 1) + truth, labelled.pixels, (c + 1) ** 2) for own in labels]
        known = np.array(each).reshape(known.shape)
    place = np.full(len(inside), GONE)
    place[inside] = unlabelled.places(said[:, inside], c + 1)
    void = bool(classes.void) or bool(shares[:, -1].any()) or bool(known[:, :, -1].any())
    points = PointPool(unlabelled.labels, unlabelled.pixels, c, known)
    return point_totals(points, PointAnswers(place, chance, shares), void=void)


def added_by_image(
    study: Study,
    name: str,
    truth: str,
    found: PointEvidence,
    totals: PointTotals,
    slopes: np.ndarray,
    *,
    engine: str,
) -> np.ndarray:
    """Return (J, I) what each of the images that count adds to the change of a score with these ``slopes``
    (J, C + 1, C + 1): its pixels by what is expected of them, or by its map, and its points.
    """
    define = study.selection(name).slots.definition
    expected = totals.belief.slopes(found.unlabelled.labels, slopes)
    *labels, true = found.labelled.labels.astype(np.int64)
    known = np.array([table[own, true] for table, own in zip(slopes, labels, strict=True)])
    sums = sum_values(
        study,
        found.models,
        define,
        found.images,
        (found.unlabelled, expected),
        (found.labelled, known),
        truth=truth,
        engine=engine,
    )
    place = {image: k for k, image in enumerate(found.images)}
    at = [place[image] for image, yes in zip(found.drawn_in, found.answered.tolist(), strict=True) if yes]
    for own, added in zip(sums, totals.by_point(slopes) / max(totals.draws, 1), strict=True):
        np.add.at(own, at, added)
    return sums


def _counted(done: np.ndarray) -> int:
    """Return how many of the first draws count, of which (M,) some are ``done``.

    >>> _counted(np.array([True, True, False, True])), _counted(np.array([True] * 30 + [False, True, False]))
    (2, 32)
    """
    if done.all():
        return len(done)
    ends = np.flatnonzero(done) + 1
    waiting = np.cumsum(~done)
    fair = [int(end) for end in ends if waiting[end - 1] <= SKIPPED * end]
    return max(fair, default=0)


def _refuse_gone_images(study: Study, name: str, images: Collection[str]) -> None:
    """Raise RankingError if drawn images left the corpus: their pixels are no longer known."""
    if gone := sorted(image for image in images if image not in study.ids):
        raise RankingError(
            f"points of {name!r} were drawn in {counted(len(gone), 'image')} that left the corpus ({gone[0]}):"
            f" redraw them with `faultscape select {study.place} --selector points --as {name} --replace`"
            " (answers count for both); an image that is discarded instead leaves the others' points as they are"
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
            f" {have}: import it again, discard the image, or redraw the points with `faultscape select"
            f" {study.place} --selector points --as {name} --replace` (answers count for both)"
        )


def _refuse_other_pool(
    study: Study,
    name: str,
    models: tuple[str, ...],
    pool: list[str],
    images: list[str],
    unlabelled: PixelTuples,
    labelled: PixelTuples,
    engine: str,
) -> None:
    """Raise RankingError if the pixels that could be drawn are not as many as when they were."""
    slots = study.selection(name).slots
    size = int(unlabelled.pixels.sum() + labelled.pixels.sum())
    if others := [image for image in pool if image not in set(images)]:
        rest = read_point_pool(study, models, slots.definition, others, engine=engine)
        size += int(rest.unlabelled.pixels.sum())
    if size != slots.points[0].pool:
        raise RankingError(
            f"selection {name!r} was drawn from {slots.points[0].pool:,} pixels of maps, and the study has"
            f" {size:,} now, in {counted(len(pool), 'image')}: redraw it with `faultscape select"
            f" {study.place} --selector points --as {name} --replace` (answers count for both)"
        )
