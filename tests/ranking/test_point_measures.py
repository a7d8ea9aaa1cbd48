"""Metrics from points, and what answers say about them: how many decide a class, and what borders leave open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from faultscape.errors import OptionError
from faultscape.metrics import pixel
from faultscape.ranking.points.answers import PointAnswers
from faultscape.ranking.points.measures import deciding_points, point_confusion, point_measure
from faultscape.ranking.points.open_ranges import border_range
from faultscape.ranking.points.pool import PointPool
from faultscape.ranking.points.scores import POINT_METRICS
from faultscape.ranking.points.totals import point_totals
from made_points import CLASSES, IMAGES, World, unequal, world


def drawn(of: World, number: int, seed: int = 0) -> tuple[PointPool, PointAnswers, np.ndarray]:
    """A pool, true answers at pixels drawn from it with unequal probabilities, and these pixels."""
    pool, place = of.pool()
    probability = unequal(of)
    pixels = np.random.default_rng(seed).choice(len(probability), number, p=probability)
    return pool, of.answers(place, pixels, probability), pixels


def exactly(of: World, metric: str) -> list[float]:
    """What the shelf of metrics says of each model."""
    inside = of.truth < CLASSES
    found = []
    for said in of.maps:
        cells = np.zeros((CLASSES + 1, CLASSES + 1))
        np.add.at(cells, (of.truth[inside], said[inside]), 1)
        both = np.diagonal(cells)[:-1]
        function = {
            "miou": pixel.miou,
            "fwiou": pixel.fwiou,
            "mpa": pixel.mpa,
            "dice": pixel.dice,
            "pixel_accuracy": pixel.pixel_accuracy,
        }[metric]
        found.append(float(function(both[None], cells.sum(1)[None], cells.sum(0)[None])[0]))
    return found


@pytest.mark.parametrize("metric", POINT_METRICS)
def test_where_every_image_has_a_mask_a_metric_is_that_of_the_masks(metric: str) -> None:
    of = world()
    pool, _ = of.pool(np.ones(IMAGES, bool))
    none = PointAnswers(np.zeros(0, int), np.zeros(0), np.zeros((0, CLASSES + 1)))
    totals = point_totals(pool, none)
    found = point_measure(totals, metric)
    assert found.values == pytest.approx(exactly(of, metric), abs=1e-12)
    assert found.intervals == pytest.approx(np.tile(found.values[:, None], 2))
    assert (point_confusion(totals) == of.confusion).all()


def test_the_value_of_a_class_lies_between_0_and_1_though_its_estimate_may_not() -> None:
    of = world()
    pool, answers, _ = drawn(of, 60)
    found = point_measure(point_totals(pool, answers), "iou 0")
    below = replace(found, found=replace(found.found, score=found.values - 1.01))
    assert (below.values == 0).all()


@pytest.mark.parametrize("metric", POINT_METRICS)
def test_many_points_lead_to_the_metric_of_the_masks(metric: str) -> None:
    of = world(pixels=20_000)
    pool, answers, _ = drawn(of, 6_000)
    found = point_measure(point_totals(pool, answers), metric)
    real = exactly(of, metric)
    assert found.values == pytest.approx(real, abs=0.015)
    low, high = found.intervals.T
    assert ((low <= real) & (real <= high)).sum() >= 2  # of three
    gaps = np.subtract.outer(real, real)
    held = (found.differences[..., 0] <= gaps) & (gaps <= found.differences[..., 1])
    assert held[np.triu_indices(3, 1)].sum() >= 2


def test_another_metric_or_another_mean_is_refused() -> None:
    of = world()
    pool, answers, _ = drawn(of, 50)
    totals = point_totals(pool, answers)
    with pytest.raises(OptionError, match="no score 'rom' is estimated from points"):
        point_measure(totals, "rom")
    with pytest.raises(OptionError, match="over='some'"):
        point_measure(totals, "miou", over="some")  # type: ignore[arg-type]


def test_points_that_decide_a_class_are_those_of_its_sampled_iou() -> None:
    of = world()
    pool, answers, pixels = drawn(of, 400)
    found = deciding_points(pool, answers)
    truth = of.truth[pixels]
    for j, said in enumerate(of.maps[:, pixels]):
        for c in range(CLASSES):
            assert found[j, c] == ((truth == c) | ((said == c) & (truth < CLASSES))).sum()


def test_confusion_counts_follow_the_points_and_are_never_below_zero() -> None:
    of = world(pixels=20_000)
    pool, answers, _ = drawn(of, 6_000)
    found = point_confusion(point_totals(pool, answers))
    assert (found >= 0).all()
    assert np.abs(found - of.confusion).max() < 0.01 * pool.size


def test_the_range_of_borders_holds_what_any_answers_to_them_would_give() -> None:
    """The range is linear, and so is pixel accuracy without void, up to the number of draws."""
    of = world(void=0.0)
    pool, place = of.pool()
    probability = np.full(len(of.truth), 1 / len(of.truth))
    pixels = np.random.default_rng(1).choice(len(of.truth), 600)
    sure = of.answers(place, pixels, probability)
    border = np.arange(0, 600, 12)
    other = (of.truth[pixels[border]] + 1) % CLASSES
    ends = {
        share: np.where(np.arange(CLASSES + 1) == other[:, None], share, (1 - share) * sure.shares[border])
        for share in (0.0, 0.5, 1.0)
    }

    def told(share: float) -> PointAnswers:
        shares = sure.shares.copy()
        shares[border] = ends[share]
        return PointAnswers(sure.place, sure.probability, shares)

    answers = told(0.5)
    totals = point_totals(pool, answers, void=False)
    found = point_measure(totals, "pixel_accuracy").found
    low, high = border_range(totals, answers, found).T
    assert (low < 0).all()
    assert (high > 0).all()
    first, second = (ends[share][np.arange(50), of.maps[:, pixels[border]]] for share in (0.0, 1.0))
    for j in range(3):
        # of each point on a border the end that suits the model, or the other
        suits = np.maximum(first[j], second[j]).sum() - 0.5 * (first[j] + second[j]).sum()
        assert high[j] == pytest.approx(suits / 600, rel=0.05)
        assert low[j] == pytest.approx(-suits / 600, rel=0.05)
    without = point_totals(pool, sure, void=False)
    assert (border_range(without, sure, point_measure(without).found) == 0).all()


def test_points_that_nobody_can_tell_leave_the_range_of_borders_in_their_looks_alone() -> None:
    of = world(void=0.0)
    pool, place = of.pool()
    pixels = np.random.default_rng(2).choice(len(of.truth), 200)
    alone = of.answers(place, pixels, np.full(len(of.truth), 1 / len(of.truth)))
    shares = alone.shares.copy()
    shares[::10, :CLASSES] = 1 / CLASSES
    alone = PointAnswers(alone.place, alone.probability, shares)
    untold = np.stack([shares, np.zeros_like(shares)], 1).reshape(-1, CLASSES + 1)
    looks = np.repeat(np.arange(200), 2)
    together = PointAnswers(np.repeat(alone.place, 2), np.repeat(alone.probability, 2), untold, looks)
    ranges = []
    for answers in (alone, together):
        totals = point_totals(pool, answers, void=False)
        ranges.append(border_range(totals, answers, point_measure(totals, "pixel_accuracy").found))
    assert (ranges[0][:, 1] > 0).all()
    assert np.allclose(*ranges)
