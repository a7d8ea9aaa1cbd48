"""Boxes of a class: what they leave open, against all truths that fit, one by one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultscape.errors import LabelMapError, MetricError
from faultscape.maps.boxes import Box, boxes_of_mask, covered, fault_of, scaled
from faultscape.maps.resize import nearest
from faultscape.metrics.boxes.bounds import (
    BOX_METRICS,
    BoxMetric,
    box_bounds,
    certain_errors,
    difference_bounds,
)
from faultscape.metrics.boxes.counts import box_counts, stacked
from faultscape.metrics.boxes.intervals import interval_of_bounds, left_out_errors

SHAPE = (3, 4)


def fitting(boxes: list[Box], least: float = 0.0) -> np.ndarray:
    """All truths (N, H, W) that fit boxes, and cover so many pixels."""
    inside = covered(boxes, SHAPE)
    number = int(inside.sum())
    truths = np.zeros((1 << number, *SHAPE), bool)
    truths[:, inside] = (np.arange(1 << number)[:, None] >> np.arange(number)) & 1
    good = truths.sum((1, 2)) >= least
    for left, top, right, bottom, whole in boxes:
        of = truths[:, top:bottom, left:right]
        if whole:
            for side in (of[:, 0], of[:, -1], of[:, :, 0], of[:, :, -1]):
                good &= side.any(1)
    return truths[good]


def values(prediction: np.ndarray, truths: np.ndarray, metric: str) -> np.ndarray:
    hit = (prediction & truths).sum((1, 2)).astype(float)
    found, there = prediction.sum(), truths.sum((1, 2))
    of = {"precision": found + 0 * hit, "recall": there, "iou": found + there - hit}[metric]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(of > 0, hit / of, np.nan)


def some_box(rng: np.random.Generator) -> Box:
    left, top = int(rng.integers(0, 4)), int(rng.integers(0, 3))
    right, bottom = int(rng.integers(left + 1, 5)), int(rng.integers(top + 1, 4))
    return Box(left, top, right, bottom, bool(rng.random() < 0.8))


def meet(boxes: list[Box]) -> bool:
    return any(covered([one], SHAPE)[covered([other], SHAPE)].any() for one, other in combinations(boxes, 2))


@pytest.mark.parametrize("fill", [0.0, 0.6])
def test_bounds_are_the_extremes_over_all_truths_that_fit(fill: float) -> None:
    rng = np.random.default_rng(3)
    tight = 0
    for _ in range(60):
        boxes = [some_box(rng) for _ in range(int(rng.integers(1, 3)))]
        maps = (rng.random((2, *SHAPE)) < rng.choice([0.3, 0.6, 0.9])).astype(int)
        truths = fitting(boxes, fill * covered(boxes, SHAPE).sum())
        counts = box_counts(maps, boxes, 1)
        for metric in BOX_METRICS:
            bounds = box_bounds(counts, metric, fill)
            both = [values(one == 1, truths, metric) for one in maps]
            for model in (0, 1):
                if np.isnan(both[model]).all():
                    assert np.isnan(bounds[model]).all()
                    continue
                low, high = np.nanmin(both[model]), np.nanmax(both[model])
                assert bounds[model, 0] <= low + 1e-9
                assert high <= bounds[model, 1] + 1e-9
                if not fill and not meet(boxes):
                    assert bounds[model] == pytest.approx((low, high)), (boxes, maps, metric)
                    tight += 1
            gaps = both[0] - both[1]
            ends = difference_bounds(counts, metric, fill)[0, 1]
            if not np.isnan(gaps).all():
                assert ends[0] <= np.nanmin(gaps) + 1e-9
                assert np.nanmax(gaps) <= ends[1] + 1e-9
    assert tight > 50 or fill


@pytest.mark.parametrize("metric", BOX_METRICS)
def test_differences_are_tight_where_no_side_is_touched_and_pixels_are_many(metric: BoxMetric) -> None:
    """Without sides, cells are free: a box of many pixels gives the extremes of a grid over the cells."""
    rng = np.random.default_rng(5)
    for fill in (0.0, 0.7):
        maps = (rng.random((2, 40, 50)) < np.array([0.6, 0.3])[:, None, None]).astype(int)
        maps[:, :, :3] = rng.random((2, 40, 3)) < 0.4
        box = Box(3, 0, 50, 40, whole=False)
        counts = box_counts(maps, [box], 1)
        inside = maps[:, covered([box], (40, 50))].astype(bool)
        cells = [(a & b).sum() for a in (inside[0], ~inside[0]) for b in (inside[1], ~inside[1])]
        steps = [np.linspace(0, number, 41) for number in cells]
        x_ab, x_a, x_b, x_0 = (x.ravel() for x in np.meshgrid(*steps, indexing="ij"))
        ok = x_ab + x_a + x_b + x_0 >= max(fill * counts.covered, 1)
        first, second = maps.sum((1, 2))
        with np.errstate(invalid="ignore", divide="ignore"):
            gaps = {
                "precision": (x_ab + x_a) / first - (x_ab + x_b) / second,
                "recall": (x_a - x_b) / (x_ab + x_a + x_b + x_0),
                "iou": (x_ab + x_a) / (first + x_b + x_0) - (x_ab + x_b) / (second + x_a + x_0),
            }[metric][ok]
        ends = difference_bounds(counts, metric, fill)[0, 1]
        assert ends[0] <= gaps.min() + 1e-9
        assert gaps.max() <= ends[1] + 1e-9
        assert ends == pytest.approx((gaps.min(), gaps.max()), abs=0.02)


@pytest.mark.parametrize("metric", BOX_METRICS)
@given(st.integers(0, 10_000))
def test_boxes_of_a_full_mask_give_bounds_that_hold_its_value(metric: BoxMetric, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truths = [rng.random((9, 11)) < rng.uniform(0.05, 0.9) for _ in range(3)]
    maps = [rng.integers(0, 2, (2, 9, 11)) for _ in truths]
    pairs = zip(maps, truths, strict=True)
    counts = stacked(box_counts(m, boxes_of_mask(truth), 1) for m, truth in pairs).summed()
    fill = sum(int(truth.sum()) for truth in truths) / max(1, int(counts.covered))
    for known in (0.0, fill):
        of = np.concatenate(truths)[None]
        value = [values(np.concatenate([m[j] for m in maps]) == 1, of, metric)[0] for j in (0, 1)]
        bounds = box_bounds(counts, metric, known)
        if not np.isnan(value).any():
            assert (bounds[:, 0] <= np.array(value) + 1e-9).all()
            assert (np.array(value) <= bounds[:, 1] + 1e-9).all()
            low, high = difference_bounds(counts, metric, known)[0, 1]
            assert low - 1e-9 <= value[0] - value[1] <= high + 1e-9


def test_what_is_certainly_wrong_is_counted() -> None:
    maps = np.array([[[1, 0, 0, 0], [0, 0, 0, 1]], [[0, 0, 0, 0], [0, 0, 0, 0]]])
    counts = box_counts(maps, [Box(0, 0, 2, 1), Box(1, 1, 3, 2), Box(0, 1, 1, 2, whole=False)], 1)
    outside, missed = certain_errors(counts)
    assert outside[0] == 0.5
    assert np.isnan(outside[1])
    assert missed.tolist() == [0.5, 1.0]


def test_a_class_without_a_box_is_absent() -> None:
    counts = box_counts(np.array([[[1, 1]], [[0, 0]]]), [], 1)
    assert box_bounds(counts, "iou")[0].tolist() == [0, 0]
    assert box_bounds(counts, "precision")[0].tolist() == [0, 0]
    assert np.isnan(box_bounds(counts, "recall")).all()


@given(st.integers(0, 10_000))
def test_boxes_at_another_size_hold_the_mask_at_that_size(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = rng.random((7, 9)) < 0.2
    to = int(rng.integers(1, 15)), int(rng.integers(1, 15))
    boxes = scaled(boxes_of_mask(mask), (9, 7), to)
    width, height = to
    assert not (nearest(mask.astype(np.uint8), to).astype(bool) & ~covered(boxes, (height, width))).any()
    assert to == (9, 7) or not any(box.whole for box in boxes)


def test_bad_input_is_refused_in_one_line() -> None:
    with pytest.raises(LabelMapError, match="lies outside of its image of 2 x 1"):
        box_counts(np.zeros((1, 1, 2), int), [Box(0, 0, 3, 1)], 1)
    assert fault_of(Box(3, 0, 3, 1), (5, 5)) == "has no area: columns 3 to 3, rows 0 to 1"
    counts = box_counts(np.zeros((1, 1, 2), int), [], 1)
    with pytest.raises(MetricError, match="boxes bound precision, recall, iou"):
        box_bounds(counts, "dice")  # type: ignore[arg-type]
    with pytest.raises(MetricError, match=r"fill must be a share from 0 to 1; got 1\.5"):
        box_bounds(counts, "iou", 1.5)


@pytest.mark.slow
def test_intervals_cover_the_value_wherever_it_lies_between_its_bounds() -> None:
    """Images are drawn from a world of discs in boxes; the value is that of the whole world."""
    rng = np.random.default_rng(11)
    truths, counts = [], []
    rows, columns = np.mgrid[:24, :24]
    for _ in range(400):
        middle, radius = rng.uniform(6, 18, 2), rng.uniform(2, 6)
        truth = (rows - middle[0]) ** 2 + (columns - middle[1]) ** 2 < radius**2
        moved = np.roll(truth, rng.integers(-4, 5, 2), (0, 1)) | (rng.random((24, 24)) < rng.uniform(0, 0.1))
        counts.append(box_counts(moved[None].astype(int), boxes_of_mask(truth), 1))
        truths.append(((moved & truth).sum(), moved.sum(), (moved | truth).sum()))
    of = {"precision": (0, 1), "iou": (0, 2)}
    everything, pixels = stacked(counts), np.array(truths)
    for metric, (above, below) in of.items():
        value = pixels[:, above].sum() / pixels[:, below].sum()
        ends = box_bounds(everything.summed(), metric)[0]  # type: ignore[arg-type]
        held = {"value": 0, "low": 0, "high": 0}
        for _ in range(500):
            some = rng.integers(0, 400, 40)
            mine = stacked(counts[k] for k in some)
            bounds = box_bounds(mine.summed(), metric)[0]  # type: ignore[arg-type]
            errors = left_out_errors(box_bounds(mine.without(np.arange(40)), metric)[:, 0])  # type: ignore[arg-type]
            low, high = interval_of_bounds(bounds, errors)
            for name, true in (("value", value), ("low", ends[0]), ("high", ends[1])):
                held[name] += low <= true <= high
        assert held["value"] >= 0.95 * 500
        assert min(held["low"], held["high"]) >= 0.91 * 500  # one-sided, at their own ends: 95 %
