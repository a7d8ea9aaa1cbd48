"""Scores from points: what is unbiased, what is exact, and what an interval covers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import OptionError, RankingError
from faultscape.ranking.points import belief as beliefs
from faultscape.ranking.points.answers import GONE, PointAnswers, answer_shares
from faultscape.ranking.points.box_states import BoxStates
from faultscape.ranking.points.estimates import point_scores, shrunk
from faultscape.ranking.points.intervals import (
    Spread,
    better_p_values,
    how_well_known,
    point_difference_intervals,
    point_intervals,
    pool_spread,
    ranks_from_points,
    spread_of_images_to_come,
)
from faultscape.ranking.points.kernels import plain_belief_sums
from faultscape.ranking.points.open_ranges import open_range
from faultscape.ranking.points.pool import PointPool, answered_in_full, find_tuples, mask_counts
from faultscape.ranking.points.scores import POINT_METRICS, Totals, counted_classes, score
from faultscape.ranking.points.totals import PointTotals, point_totals
from made_points import CLASSES, IMAGES, World, unequal, world
from refusals import refused

DRAWS, REPEATS = 200, 100  # 20,000 draws a law
MADE = world()


def standing(counts: np.ndarray, metric: str, over: str = "union") -> np.ndarray:
    """Return what `measure` would print of confusion counts."""
    both = np.diagonal(counts, axis1=1, axis2=2)[:, :-1]
    reference = np.append(counts[:, :, :-1].sum(1), np.zeros((len(counts), 1)), 1)
    prediction = np.append(counts[:, :-1, :-1].sum(2), counts[:, -1:, :-1].sum(2), 1)
    if metric == "dice":
        return fs.metrics.pixel.dice(both, reference, prediction, over=over)
    if metric.startswith("iou"):
        return fs.metrics.pixel.iou_of_classes(both, reference, prediction)[:, int(metric[4:])]
    return getattr(fs.metrics.pixel, metric)(both, reference, prediction, over=over)


def repeated(one: Callable[[np.random.Generator], np.ndarray], repeats: int = REPEATS) -> np.ndarray:
    return np.array([one(np.random.default_rng([7, repeat])) for repeat in range(repeats)])


def assert_unbiased(found: np.ndarray, real: np.ndarray) -> None:
    """The mean over repeats lies within four standard errors, and what never varies is right."""
    error = found.std(0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(0) - real) <= 4 * error + 1e-6 * np.abs(real).max()).all()


def draw(made: World, probability: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(len(made.truth), number, p=probability)


@pytest.mark.slow
def test_totals_are_unbiased_whatever_the_draws_prefer():
    pool, place = MADE.pool()
    probability = unequal(MADE)

    def one(rng: np.random.Generator) -> np.ndarray:
        answers = MADE.answers(place, draw(MADE, probability, DRAWS, rng), probability)
        return point_totals(pool, answers, folds=2).corrected

    found = repeated(one)
    assert_unbiased(found, MADE.confusion)
    assert (found.std(0) > 0).any()
    # each prediction has its known number of pixels, void or not
    assert found.sum(3) == pytest.approx(np.broadcast_to(pool.predicted, found.shape[:3]))


@pytest.mark.slow
def test_rounds_with_probabilities_of_their_own_and_a_model_added_later_stay_unbiased():
    late = world(models=4)
    early = World(late.image, late.truth, late.maps[:3])
    pool, place = late.pool()
    first = unequal(early)

    def one(rng: np.random.Generator) -> np.ndarray:
        before = draw(late, first, DRAWS // 2, rng)
        # the second round asks where the first found void or the rare class: it depends on the answers
        like = np.isin(early.maps[0], early.maps[0][before[early.truth[before] >= 2]])
        second = np.where(like, 2.0, 1.0) / np.where(like, 2.0, 1.0).sum()
        after = draw(late, second, DRAWS // 2, rng)
        shares = np.eye(CLASSES + 1)[late.truth[np.append(before, after)]]
        answers = PointAnswers(
            place[np.append(before, after)], np.append(first[before], second[after]), shares
        )
        return point_totals(pool, answers, folds=2).corrected

    assert_unbiased(repeated(one), late.confusion)


@pytest.mark.slow
def test_images_with_a_mask_are_known_in_full_and_points_that_lay_in_them_speak_of_the_rest():
    masked = np.arange(IMAGES) < 5
    pool, place = MADE.pool(masked)
    probability = unequal(MADE)  # drawn before the masks were there

    def one(rng: np.random.Generator) -> np.ndarray:
        answers = MADE.answers(place, draw(MADE, probability, DRAWS, rng), probability)
        assert (answers.place == GONE).any()
        return point_totals(pool, answers, folds=2).corrected

    found = repeated(one)
    assert_unbiased(found, MADE.confusion)
    assert (
        np.diagonal(found.mean(0), axis1=1, axis2=2) >= 0.99 * np.diagonal(pool.known, axis1=1, axis2=2)
    ).all()


@pytest.mark.slow
def test_rounds_among_images_without_a_mask_are_unbiased_when_masks_arrive_before_and_after():
    early, late = np.arange(IMAGES) < 3, np.arange(IMAGES) < 6
    pool, place = MADE.pool(late)
    first = unequal(MADE)
    second = np.where(early[MADE.image], 0, unequal(MADE, seed=2))  # three images had a mask by then
    second /= second.sum()

    def one(rng: np.random.Generator) -> np.ndarray:
        pixel = np.append(draw(MADE, first, DRAWS // 2, rng), draw(MADE, second, DRAWS // 2, rng))
        chance = np.repeat([first, second], DRAWS // 2, axis=0)[np.arange(DRAWS), pixel]
        shares = np.eye(CLASSES + 1)[MADE.truth[pixel]]
        return point_totals(pool, PointAnswers(place[pixel], chance, shares), folds=2).corrected

    assert_unbiased(repeated(one), MADE.confusion)


@pytest.mark.slow
def test_points_that_share_an_image_are_one_draw():
    pool, place = MADE.pool()
    even = np.full(len(MADE.truth), 1 / len(MADE.truth))
    looks = DRAWS // 5
    of_image = [np.flatnonzero(MADE.image == i) for i in range(IMAGES)]
    share = np.array([len(pixels) for pixels in of_image]) / len(MADE.truth)

    def one(rng: np.random.Generator) -> np.ndarray:
        image = rng.choice(IMAGES, looks, p=share)
        pixel = np.concatenate([rng.choice(of_image[i], 5) for i in image])
        answers = PointAnswers(
            place[pixel], even[pixel], np.eye(CLASSES + 1)[MADE.truth[pixel]], np.repeat(np.arange(looks), 5)
        )
        totals = point_totals(pool, answers)
        assert totals.draws == looks
        found = point_scores(totals, "pixel_accuracy")
        return np.concatenate(
            [totals.corrected.ravel(), found.corrected, pool_spread(totals, found).error ** 2]
        )

    found = repeated(one)
    cells = MADE.confusion.size
    assert_unbiased(found[:, :cells], MADE.confusion.ravel())
    # the variance is that of looks: what it says is what repeats show
    ratio = found[:, cells + 3 :].mean(0) / found[:, cells : cells + 3].var(0)
    assert ((ratio > 0.6) & (ratio < 1.7)).all()


@pytest.mark.parametrize("metric", [*POINT_METRICS, "iou 0", "iou 2"])
@pytest.mark.parametrize("over", ["union", "all", "truth"])
def test_all_images_with_masks_are_measured_exactly(metric: str, over: str):
    blind = World(
        MADE.image, np.where(MADE.truth == 1, 0, MADE.truth), MADE.maps
    )  # a class that is never true
    for made in (MADE, blind):
        pool, _ = made.pool(np.ones(IMAGES, bool))
        assert pool.size == 0
        none = PointAnswers(np.zeros(0, int), np.zeros(0), np.zeros((0, CLASSES + 1)))
        totals = point_totals(pool, none)
        found = point_scores(totals, metric, over=over)
        assert found.score == pytest.approx(standing(made.confusion, metric, over), nan_ok=True, abs=1e-12)
        assert (pool_spread(totals, found).error_of_differences == 0).all()


def test_an_image_whose_every_pixel_is_answered_is_as_good_as_a_mask():
    pixels = np.bincount(MADE.image)
    order = np.random.default_rng(0).permutation(len(MADE.truth))
    twice = np.append(order, order[:50])
    assert answered_in_full(pixels, MADE.image[twice], twice).all()
    full = answered_in_full(pixels, MADE.image[order[1:]], order[1:])
    assert not full[MADE.image[order[0]]]
    assert full.sum() == IMAGES - 1
    pool, place = MADE.pool(full)
    rest = order[place[order] != GONE]
    even = np.full(len(MADE.truth), 1 / len(MADE.truth))
    totals = point_totals(pool, MADE.answers(place, rest, even))
    assert totals.pool.size == pixels[MADE.image[order[0]]]


def test_a_class_that_a_person_calls_void_leaves_the_predicted_pixels():
    pool, place = MADE.pool()
    even = np.full(len(MADE.truth), 1 / len(MADE.truth))
    totals = point_totals(pool, MADE.answers(place, np.arange(len(MADE.truth)), even))
    outside = Totals.of(totals.corrected).predicted
    assert (outside < pool.predicted[:, :-1]).all()
    assert outside == pytest.approx(Totals.of(MADE.confusion).predicted, rel=0.002)
    with refused(RankingError, "some answers are void"):
        point_totals(pool, MADE.answers(place, np.arange(len(MADE.truth)), even), void=False)


def test_cannot_tell_is_left_out_and_what_it_leaves_open_is_reported():
    pool, place = MADE.pool()
    probability = unequal(MADE)
    pixel = draw(MADE, probability, DRAWS, np.random.default_rng(3))
    answers = MADE.answers(place, pixel, probability)
    shares = answers.shares.copy()
    shares[::10] = 0
    told = point_totals(pool, PointAnswers(answers.place, answers.probability, shares))
    kept = np.arange(DRAWS) % 10 > 0
    fewer = point_totals(pool, PointAnswers(answers.place[kept], answers.probability[kept], shares[kept]))
    assert told.draws == fewer.draws == kept.sum()
    assert told.corrected == pytest.approx(fewer.corrected, rel=1e-6)
    found = point_scores(told)
    low, high = open_range(told, found).T
    assert told.draws + told.missing_draws == DRAWS
    assert (low < 0).all()
    assert (high > 0).all()
    assert (open_range(fewer, point_scores(fewer)) == 0).all()
    # whatever the answers had been, the sum of their terms lies in the range
    for c in range(CLASSES + 1):
        other = np.eye(CLASSES + 1)[np.full((~kept).sum(), c)]
        terms = np.array(
            [
                (table[own] * (other - told.belief.probabilities(told.missing))).sum(1) @ told.missing_weight
                for own, table in zip(told.missing, found.slopes, strict=True)
            ]
        )
        assert (low - 1e-12 <= terms / DRAWS).all()
        assert (terms / DRAWS <= high + 1e-12).all()


def test_a_point_that_cannot_be_told_adds_no_draw_to_a_look_with_others():
    pool, place = MADE.pool()
    even = np.full(len(MADE.truth), 1 / len(MADE.truth))
    answers = MADE.answers(place, np.arange(6), even)
    shares = answers.shares.copy()
    shares[[0, 4, 5]] = 0  # one of the first look, and the whole last one
    look = np.repeat(np.arange(3), 2)
    told = point_totals(pool, PointAnswers(answers.place, answers.probability, shares, look))
    assert (told.draws, told.missing_draws) == (2, 1)


def test_a_point_on_a_border_counts_half_for_each_side():
    shares = answer_shares(np.array([0, 2, -1, 3]), CLASSES, np.array([1, -1, -1, 0]))
    assert shares.tolist() == [[0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0.5, 0, 0, 0.5]]
    left_out = answer_shares(np.array([0, 2]), CLASSES, np.array([1, -1]), border="missing")
    assert left_out.tolist() == [[0, 0, 0, 0], [0, 0, 1, 0]]
    pool, place = MADE.pool()
    even = np.full(len(MADE.truth), 1 / len(MADE.truth))
    everything = np.arange(len(MADE.truth))
    half = np.full((len(everything), CLASSES + 1), [0.5, 0.5, 0, 0])
    totals = point_totals(pool, PointAnswers(place, even, half))
    assert totals.corrected.sum(1) == pytest.approx(np.full((3, 4), [2000, 2000, 0, 0]), abs=40)
    with refused(OptionError, "border='quarters' is none of halves, missing"):
        answer_shares(np.array([0]), CLASSES, border="quarters")


@pytest.mark.slow
def test_the_scores_go_from_what_is_believed_to_what_points_say():
    pool, place = MADE.pool()
    probability = unequal(MADE)
    none = PointAnswers(np.zeros(0, int), np.zeros(0), np.zeros((0, CLASSES + 1)))
    before = point_scores(point_totals(pool, none))
    assert before.score.tolist() == before.believed.tolist()
    assert np.isnan(pool_spread(point_totals(pool, none), before).error).all()
    rng = np.random.default_rng(1)
    off = []
    for number in (50, 20_000):
        found = point_scores(
            point_totals(pool, MADE.answers(place, draw(MADE, probability, number, rng), probability))
        )
        off.append(np.abs(found.score - standing(MADE.confusion, "miou")).max())
        low, high = np.sort([found.believed, found.corrected], axis=0)
        if found.weights[0] == found.weights[1]:
            assert ((low - 1e-12 <= found.score) & (found.score <= high + 1e-12)).all()
    assert off[1] < 0.01
    one = point_scores(point_totals(pool, MADE.answers(place, np.array([5]), probability)))
    assert one.score.tolist() == one.believed.tolist()  # a single draw says nothing about its variance


def test_shrinking_gives_level_and_differences_a_weight_each():
    believed = np.array([0.3, 0.4, 0.5])
    noisy = np.eye(3) * 1.0
    near, weights = shrunk(believed, believed + [0.1, 0, -0.1], noisy)
    assert near == pytest.approx(believed, abs=0.001)
    assert max(weights) < 0.01
    known, weights = shrunk(believed, believed + [0.1, 0, -0.1], noisy * 1e-9)
    assert known == pytest.approx(believed + [0.1, 0, -0.1], abs=1e-4)
    together = np.full((3, 3), 0.01) + 1e-9 * np.eye(3)  # the level is poorly known, the differences are not
    moved, weights = shrunk(believed, believed + [0.11, 0.01, -0.09], together)
    assert weights[0] < 0.5
    assert weights[1] > 0.99
    assert moved - moved.mean() == pytest.approx([-0.0, 0.0, 0.0], abs=0.001)
    # the largest variance counts, for the level and for the differences
    widest, weights = shrunk(believed, believed + [0.1, 0, -0.1], noisy * 1e-9, noisy)
    assert widest.tolist() == near.tolist()
    assert max(weights) < 0.01
    part, _ = shrunk(np.array([0.3, np.nan]), np.array([0.4, np.nan]), np.eye(2) * 1e-9)
    assert part == pytest.approx([0.4, np.nan], abs=1e-3, nan_ok=True)


def test_the_belief_expects_the_variance_that_answers_drawn_from_it_have():
    pool, place = MADE.pool()
    probability = unequal(MADE)
    rng = np.random.default_rng(5)
    answers = MADE.answers(place, draw(MADE, probability, DRAWS, rng), probability)
    totals = point_totals(pool, answers)
    found = point_scores(totals)
    values = np.array([table[own] for own, table in zip(totals.said, found.slopes, strict=True)])
    places = np.arange(DRAWS)

    def one(rng: np.random.Generator) -> np.ndarray:
        shown = (rng.random(DRAWS)[:, None] > totals.guess.cumsum(1)[:, :-1]).sum(1)
        return (values[:, places, shown] * totals.weight).sum(1) / DRAWS

    shown = np.cov(repeated(one, 4000).T)
    assert found.expected_covariance == pytest.approx(shown, rel=0.1, abs=0.05 * shown.max())
    # and no interval is narrower, though a sample may show less
    spread = pool_spread(totals, found)
    own = np.diagonal(found.expected_covariance)
    assert (spread.error**2 >= own * (1 - 1e-9)).all()
    apart = own[:, None] + own - 2 * found.expected_covariance
    assert (spread.error_of_differences**2 >= apart * (1 - 1e-9)).all()
    quiet = replace(found, terms=np.zeros((3, DRAWS)), corrected=found.score)
    assert pool_spread(totals, quiet).error == pytest.approx(np.sqrt(own))


@pytest.mark.parametrize("metric", POINT_METRICS)
@pytest.mark.parametrize("pixels", [1e-3, 3.0, 1e6])
def test_what_one_answer_changes_is_first_order_up_to_the_values_of_its_classes(metric: str, pixels: float):
    rng = np.random.default_rng(8)
    there = score(Totals.of(rng.integers(1, 90, (2, 4, 4)).astype(float)), metric, np.ones((2, 3), bool))
    said = rng.integers(0, 4, (2, 5))
    found = there.bounded_changes(said, np.full(5, pixels))
    for model, point, true in np.ndindex(found.shape):
        added = np.zeros((2, 4, 4))
        added[model, said[model, point], true] = pixels
        whole = np.clip(found[model, point, true], -there.value[model], 1 - there.value[model])
        assert there.bounded_change(added)[model] == pytest.approx(whole, abs=1e-12)
        if pixels < 1:
            first_order = pixels * there.slopes()[model, said[model, point], true]
            assert found[model, point, true] == pytest.approx(first_order, abs=1e-12)


def test_one_point_of_a_small_probability_does_not_decide_how_well_scores_are_known():
    pool, place = MADE.pool()
    probability = unequal(MADE)
    answers = MADE.answers(place, draw(MADE, probability, DRAWS, np.random.default_rng(5)), probability)
    totals = point_totals(pool, answers)
    rare = replace(totals, weight=np.where(np.arange(DRAWS) == 7, 1e9, totals.weight))
    more = point_scores(rare).expected_covariance - point_scores(totals).expected_covariance
    assert (np.diagonal(more) <= 1).all()  # an answer moves a score between 0 and 1 by no more


@pytest.mark.slow
def test_ratios_have_a_bias_below_a_tenth_of_their_error_that_falls_with_the_number_of_draws():
    pool, place = MADE.pool()
    probability = unequal(MADE)
    names = ("miou", "dice", "fwiou", "mpa", "iou 1")
    real = np.concatenate([standing(MADE.confusion, name) for name in names])
    bias = {}
    for number in (250, 1000):

        def one(rng: np.random.Generator, number: int = number) -> np.ndarray:
            answers = MADE.answers(place, draw(MADE, probability, number, rng), probability)
            totals = point_totals(pool, answers, folds=2)
            return np.concatenate([point_scores(totals, name).corrected for name in names])

        found = repeated(one, 400)
        spread = found.std(0)
        bias[number] = found.mean(0) - real
        noise = 4 * spread / np.sqrt(400)
        assert (np.abs(bias[number]) <= 0.1 * spread + noise).all()
    assert np.abs(bias[1000]).mean() < 0.7 * np.abs(bias[250]).mean() + 1e-3


@pytest.mark.slow
def test_intervals_hold_the_truth_and_ranks_follow_them():
    pool, place = MADE.pool()
    probability = unequal(MADE)
    real = standing(MADE.confusion, "miou")

    def one(rng: np.random.Generator) -> np.ndarray:
        totals = point_totals(pool, MADE.answers(place, draw(MADE, probability, 300, rng), probability))
        found = point_scores(totals)
        spread = pool_spread(totals, found)
        own = point_intervals(found, spread)
        gap = point_difference_intervals(found, spread)
        ranks = ranks_from_points(found, spread)
        assert gap == pytest.approx(-gap.transpose(1, 0, 2)[..., ::-1])
        assert (ranks[:, 0] <= ranks[:, 1]).all()
        p = better_p_values(found, spread)
        assert p[0, 1] + p[1, 0] == pytest.approx(1)
        inside = (gap[..., 0] <= real[:, None] - real) & (real[:, None] - real <= gap[..., 1])
        return np.append((own[:, 0] <= real) & (real <= own[:, 1]), inside[0, 1:])

    assert repeated(one).mean() == pytest.approx(0.96, abs=0.04)


def test_what_points_for_an_order_know_of_scores_and_of_differences():
    spread = Spread(np.array([0.1, 0.3, 0.2]), np.full(3, 1e9), np.full((3, 3), 0.05), np.full((3, 3), 1e9))
    assert how_well_known(spread) == pytest.approx((0.392, 0.098), abs=1e-3)
    alone = Spread(np.array([0.1]), np.full(1, 1e9), np.zeros((1, 1)), np.full((1, 1), 1e9))
    assert how_well_known(alone) == pytest.approx((0.196, np.nan), abs=1e-3, nan_ok=True)


@pytest.mark.slow
def test_images_to_come_vary_more_than_points_alone():
    """Worlds are drawn again: what the interval for images to come says is how much scores vary over worlds."""
    scores, errors, alone = [], [], []
    for seed in range(60):
        made = world(seed)
        pool, place = made.pool()
        even = np.full(len(made.truth), 1 / len(made.truth))
        pixel = draw(made, even, 400, np.random.default_rng(seed))
        totals = point_totals(pool, made.answers(place, pixel, even))
        found = point_scores(totals, "pixel_accuracy")
        key, count = np.unique(made.image * len(pool.pixels) + place, return_counts=True)
        rows = {"tuples": key % len(pool.pixels), "images": key // len(pool.pixels), "pixels": count}
        where = {"image_of_points": made.image[pixel], "groups": np.arange(IMAGES)}
        spread = spread_of_images_to_come(totals, found, **rows, **where)
        assert (spread.freedom == IMAGES - 1).all()
        few = spread_of_images_to_come(totals, found, **rows, **where | {"groups": np.arange(IMAGES) % 5})
        assert np.isnan(few.error).all()  # below six groups
        scores.append(found.corrected)
        errors.append(spread.error**2)
        alone.append(pool_spread(totals, found).error ** 2)
    ratio = np.mean(errors, axis=0) / np.var(scores, axis=0)
    assert ((ratio > 0.5) & (ratio < 2)).all()
    assert (np.mean(errors, axis=0) > np.mean(alone, axis=0)).all()


def test_slopes_are_derivatives():
    rng = np.random.default_rng(0)
    counts = rng.uniform(1, 9, (2, 4, 4))
    counted = np.array([[True, True, True], [True, True, False]])
    step = 1e-6
    for metric in (*POINT_METRICS, "iou 1"):
        slopes = score(Totals.of(counts), metric, counted).slopes()
        for k in range(4):
            for y in range(4):
                more = counts.copy()
                more[:, k, y] += step
                change = (
                    score(Totals.of(more), metric, counted).value
                    - score(Totals.of(counts), metric, counted).value
                )
                assert change / step == pytest.approx(slopes[:, k, y], abs=1e-6)
    with refused(OptionError, "no score 'iou 3' is estimated from points; known: miou"):
        score(Totals.of(counts), "iou 3", counted)


def test_classes_counted_follow_over():
    predicted = np.array([[3.0, 0, 2]])
    seen = np.array([True, True, False])
    assert counted_classes(predicted, seen, "union").tolist() == [[True, True, True]]
    assert counted_classes(predicted, seen, "truth").tolist() == [[True, True, False]]
    assert counted_classes(predicted, ~seen, "union").tolist() == [[True, False, True]]
    assert counted_classes(predicted, seen, "all").all()
    with refused(OptionError, "over='any' is none of union, all, truth"):
        counted_classes(predicted, seen, "any")


def test_compiled_sums_equal_the_plain_ones(monkeypatch: pytest.MonkeyPatch):
    pool, _ = MADE.pool()
    rng = np.random.default_rng(2)
    table = rng.normal(size=(3, CLASSES + 1, CLASSES + 1))
    belief = beliefs.Belief(table, rng.normal(size=CLASSES + 1), rng.normal(size=(2, CLASSES)))
    boxes = BoxStates(np.array([[0, 0, 0], [1, 2, 0]]), rng.integers(0, 2, len(pool.pixels)))
    slopes = rng.normal(size=table.shape)
    weights = np.array([1.5, 0.0, 0.5])
    area = np.array([50.0, 7.0, 20.0])
    said = np.where(rng.random(pool.said.shape) < 0.1, CLASSES, pool.said).astype(np.uint8)  # some say none
    compiled = belief.confusion(pool.said, pool.pixels), belief.slopes(pool.said, slopes)
    narrowed = belief.confusion(pool.said, pool.pixels, boxes), belief.slopes(pool.said, slopes, boxes)
    assert narrowed[0].sum() == pytest.approx(compiled[0].sum())
    assert narrowed[0] != pytest.approx(compiled[0])
    references = (np.zeros(3), np.array([0.2, 0.3, 0.5]))
    varied = [belief.variance(pool.said, slopes, weights, reference, boxes) for reference in references]
    split = beliefs.kernels().vote_split(said, area)
    monkeypatch.setattr(plain_belief_sums, "_BLOCK", 7)
    monkeypatch.setattr(beliefs, "kernels", lambda: plain_belief_sums)
    assert belief.confusion(pool.said, pool.pixels) == pytest.approx(compiled[0])
    assert belief.slopes(pool.said, slopes) == pytest.approx(compiled[1])
    assert belief.confusion(pool.said, pool.pixels, boxes) == pytest.approx(narrowed[0])
    assert belief.slopes(pool.said, slopes, boxes) == pytest.approx(narrowed[1])
    for reference, found in zip(references, varied, strict=True):
        assert belief.variance(pool.said, slopes, weights, reference, boxes) == pytest.approx(found)
    assert plain_belief_sums.vote_split(said, area) == pytest.approx(split)


def test_a_belief_learns_which_model_is_right_and_which_classes_are_taken_for_which():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 600)
    good = truth
    poor = np.where(rng.random(600) < 0.7, rng.integers(0, 3, 600), truth)
    swaps = np.where(truth == 2, 1, truth)  # calls every 2 a 1
    said = np.array([good, poor, swaps])
    whole, others = beliefs.fit_beliefs(said, np.eye(3)[truth], 3, np.arange(600) % 2)
    assert len(others) == 2
    p = whole.probabilities(np.array([[2], [0], [1]]))
    assert p.argmax(1) == 2
    # the poor model alone says little
    assert whole.probabilities(np.array([[0], [1], [0]]))[0, 0] > 0.9


def test_tuples_join_any_number_of_models_without_overflow():
    rng = np.random.default_rng(0)
    maps = rng.integers(0, 151, (30, 400))  # 151^30 keys would not fit
    maps[:, 200:] = maps[:, :200]
    found = find_tuples(maps, 150)
    assert (found.said[:, found.place] == maps).all()
    assert found.said.shape[1] == len(np.unique(maps, axis=1).T)
    assert found.pixels().sum() == 400


def test_what_cannot_be_is_refused():
    said = np.array([[0, 1]])
    with refused(RankingError, "said: places of classes must lie between 0 and 1"):
        PointPool(np.array([[0, 2]]), np.ones(2), 1)
    with refused(RankingError, "number of pixels for each of 2 tuples"):
        PointPool(said, np.ones(3), 2)
    with refused(RankingError, "pixels: a number of pixels must be finite"):
        PointPool(said, np.array([1, -1]), 2)
    with refused(RankingError, "known: expected confusion counts"):
        PointPool(said, np.ones(2), 2, np.zeros((1, 2, 2)))
    pool = PointPool(said, np.ones(2), 2)
    with refused(RankingError, "probabilities of points must lie above 0"):
        PointAnswers(np.array([0]), np.array([0.0]), np.eye(3)[[0]])
    with refused(RankingError, "shares of true classes"):
        PointAnswers(np.array([0]), np.array([0.5]), np.array([[0.5, 0.2, 0.0]]))
    with refused(RankingError, "the pool has 2"):
        point_totals(pool, PointAnswers(np.array([2]), np.array([0.5]), np.eye(3)[[0]]))
    with refused(RankingError, "answers are about 3 classes, the pool has 2"):
        point_totals(pool, PointAnswers(np.array([1]), np.array([0.5]), np.eye(4)[[0]]))
    with refused(RankingError, "answer: places of classes must lie between 0 and 2"):
        answer_shares(np.array([3]), 2)
    with refused(RankingError, "all models must predict the same pixels"):
        find_tuples([np.zeros(2, int), np.zeros(3, int)], 2)


def test_one_model_has_scores_and_no_differences():
    alone = World(MADE.image, MADE.truth, MADE.maps[:1])
    pool, place = alone.pool()
    even = np.full(len(MADE.truth), 1 / len(MADE.truth))
    totals: PointTotals = point_totals(pool, alone.answers(place, np.arange(0, 4000, 10), even))
    found = point_scores(totals)
    assert found.score == pytest.approx(standing(alone.confusion, "miou"), abs=0.06)
    assert ranks_from_points(found, pool_spread(totals, found)).tolist() == [
        [pytest.approx(np.nan, nan_ok=True)] * 2
    ]
    assert mask_counts(alone.maps, alone.truth, CLASSES).sum() == 4000
