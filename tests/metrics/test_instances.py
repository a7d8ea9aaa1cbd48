"""Instances: their code, their shared pixels, PQ and COCO's AP of masks against the rules written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faultscape as fs
from faultscape.errors import FaultscapeError, LabelMapError
from faultscape.maps import array_codes, instances
from faultscape.metrics.instances import mask_precision
from faultscape.metrics.intervals.left_out import leave_out, student_of_left_out
from faultscape.metrics.intervals.units import units_of
from papers.coco_reference import Mask, average_precision, iou, panoptic
from refusals import refused

MASK = np.ones((1, 2, 2), bool)


def masks_of(rng: np.random.Generator, n: int | np.integer, size: tuple[int, int] = (12, 15)) -> np.ndarray:
    """Boxes, some with holes, that overlap."""
    out = np.zeros((int(n), *size), bool)
    for k in range(int(n)):
        top, left = rng.integers(0, size[0] - 2), rng.integers(0, size[1] - 2)
        out[k, top : top + rng.integers(1, 7), left : left + rng.integers(1, 9)] = True
        out[k] &= rng.random(size) < rng.choice([1.0, 1.0, 0.8])
    return out


def made(seed: int, images: int = 6) -> tuple[list[Mask], list[Mask]]:
    """True masks, and the same masks moved, left out and invented, with scores of which some are equal."""
    rng = np.random.default_rng(seed)
    truths, said = [], []
    for image in range(images):
        for mask in masks_of(rng, rng.integers(0, 5)):
            class_ = int(rng.integers(0, 3))
            if not mask.any():
                continue
            truths.append(Mask(image, class_, mask, crowd=rng.random() < 0.2))
            for _ in range(rng.integers(0, 3)):
                moved = np.roll(mask, rng.integers(-1, 2), rng.integers(0, 2)) | (
                    rng.random(mask.shape) < 0.01
                )
                said.append(Mask(image, class_, moved, float(rng.integers(1, 9)) / 8))
        said += [
            Mask(image, int(rng.integers(0, 4)), mask, float(rng.random()))
            for mask in masks_of(rng, rng.integers(0, 3))
            if mask.any()
        ]
    return truths, said


def lists_of(truths: list[Mask], said: list[Mask], images: int = 6) -> tuple[list, ...]:
    """The arguments of `mask_average_precision`."""

    def by_image(masks: list[Mask], of: str) -> list:
        return [[getattr(m, of) for m in masks if m.image == k] for k in range(images)]

    none = np.zeros((0, 12, 15), bool)
    true, other = ([np.array(e) if e else none for e in by_image(m, "pixels")] for m in (truths, said))
    classes = by_image(truths, "class_"), by_image(said, "class_")
    return true, other, *classes, by_image(said, "score"), by_image(truths, "crowd")


def precision_of(truths: list[Mask], said: list[Mask]) -> fs.metrics.MaskPrecision:
    *given_, crowds = lists_of(truths, said)
    return fs.metrics.mask_average_precision(*given_, crowds=crowds)


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_average_precision_is_that_of_the_rules_written_out(seed: int) -> None:
    truths, said = made(seed)
    found = precision_of(truths, said)
    each = [average_precision(truths, said, min(t, 1 - 1e-10)) for t in np.linspace(0.5, 0.95, 10)]
    if not each[0]:
        assert np.isnan(found.ap)
        return
    assert found.ap == pytest.approx(np.mean(each), abs=1e-9)
    assert found.ap50 == pytest.approx(np.mean(each[0]), abs=1e-9)
    assert found.ap75 == pytest.approx(np.mean(each[5]), abs=1e-9)


def test_an_image_of_weight_two_counts_as_if_it_were_there_twice() -> None:
    truths, said = made(3)
    again = [m._replace(image=6) for m in said if m.image == 2]
    true_again = [m._replace(image=6) for m in truths if m.image == 2]
    *lists, crowds = lists_of(truths, said)
    images = [
        (
            instances.make((12, 15), [instances.runs_of_mask(m) for m in true], c, crowd=w),
            instances.make((12, 15), [instances.runs_of_mask(m) for m in other], d, scores=s),
        )
        for true, other, c, d, s, w in zip(*lists, crowds, strict=True)
    ]
    judged = [mask_precision.judge(*pair, range(4)) for pair in images]
    parts = [mask_precision.matches_of(some, range(4)) for some in (judged[:2], judged[2:])]
    weighted = mask_precision.precisions(mask_precision.joined(parts), np.array([1, 1, 2, 1, 1, 1]))
    *twice, crowds = lists_of([*truths, *true_again], [*said, *again], 7)
    repeated = fs.metrics.mask_average_precision(*twice, crowds=crowds)
    assert mask_precision.mean(weighted) == pytest.approx(repeated.ap, abs=1e-9)


def segments(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, dict[int, int]]:
    """A map of segment ids, 0 for none, and the class of each."""
    ids = rng.choice(np.arange(1, 400), 7, replace=False)
    coarse = rng.choice([0, *ids], (4, 5))
    numbers = np.kron(coarse, np.ones((3, 3), int))[: shape[0], : shape[1]]
    noise = rng.random(numbers.shape) < 0.1
    numbers = np.where(noise, rng.choice(ids, numbers.shape), numbers)
    return numbers, {int(k): int(rng.integers(0, 3)) for k in np.unique(numbers) if k}


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_panoptic_quality_is_that_of_the_reference_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truths, said, of_truth, of_said, crowds = [], [], [], [], []
    for _ in range(3):
        truth, classes = segments(rng, (12, 15))
        guess = np.where(rng.random(truth.shape) < 0.2, np.roll(truth, 1, 1), truth)
        truths.append(truth)
        said.append(guess)
        of_truth.append(classes)
        of_said.append({int(k): classes.get(int(k), 0) for k in np.unique(guess) if k})
        # the reference knows one crowd a class
        crowds.append({next(iter(classes))} if rng.random() < 0.7 else set())
    known = panoptic(truths, said, of_truth, of_said, crowds)
    found = fs.metrics.panoptic(truths, said, of_truth, of_said, crowds=[list(c) for c in crowds])
    values = []
    for class_, (iou_sum, right, missed, invented) in known.items():
        mine = found.per_class[class_]
        assert [mine[name] for name in ("found", "missed", "invented")] == [right, missed, invented]
        values.append(iou_sum / (right + missed / 2 + invented / 2))
    assert found.pq == pytest.approx(np.mean(values), abs=1e-12)


def test_one_segment_a_class_is_the_quality_of_connected_maps() -> None:
    truth = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 2, 2]])
    said = np.array([[0, 0, 0, 1], [0, 0, 1, 1], [2, 2, 2, 0]])
    one = {k: k for k in range(3)}
    connected = fs.metrics.regions(truth, said, classes=3, connectivity=4)
    assert fs.metrics.panoptic(truth, said, one, one).per_class[1]["pq"] == connected.per_class["pq"][1]


def test_instances_come_back_as_they_were() -> None:
    rng = np.random.default_rng(0)
    masks = masks_of(rng, 9)
    masks[4] = False
    runs = [instances.runs_of_mask(mask) for mask in masks]
    scores = [0.1, np.nan, 1 / 3, *rng.random(6)]
    one = instances.make(
        (12, 15), runs, rng.integers(0, 1 << 40, 9), ids=rng.integers(0, 1 << 50, 9), scores=scores
    )
    again = instances.decode(instances.encode(one))
    for name in ("ids", "classes", "scores", "crowd"):
        np.testing.assert_array_equal(getattr(again, name), getattr(one, name))
    assert again.size == (12, 15)
    assert (np.stack([again.mask(k) for k in range(9)]) == masks).all()
    none = instances.make((3, 4), [], [])
    assert len(instances.decode(instances.encode(none))) == 0


def test_damaged_instances_are_refused() -> None:
    code = array_codes.decode(instances.encode(instances.make((2, 3), [np.array([1, 2, 3])], [7])))
    longer = code.copy()
    longer[-12] += 1  # a run longer than its image
    for wrong in (code[:-1], code[:5], np.concatenate((code, code[:4])), code[::-1], longer):
        with refused(LabelMapError, "instances is damaged"):
            instances.decode(array_codes.encode(wrong))


def test_shared_pixels_and_painting() -> None:
    rng = np.random.default_rng(5)
    masks, others = masks_of(rng, 8), masks_of(rng, 6)
    masks[3] = False
    one = instances.make((12, 15), [instances.runs_of_mask(m) for m in masks], [1] * 8, scores=rng.random(8))
    two = instances.make((12, 15), [instances.runs_of_mask(m) for m in others], [1] * 6)
    expected = (masks[:, None] & others).sum((2, 3))
    assert (instances.intersections(one, two) == expected).all()
    drawn = np.full((12, 15), -1)
    for k in np.argsort(one.scores):
        drawn[masks[k]] = k
    assert (instances.paint(one) == drawn).all()
    numbers = instances.paint(two)
    again = instances.of_numbers(numbers, np.arange(6), [1] * 6)
    assert all((again.mask(k) == (numbers == k)).all() for k in range(6))
    assert iou(Mask(0, 0, masks[0]), Mask(0, 0, masks[0])) == 1


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        (([MASK], [], [[0]], [], []), "one list for each image"),
        (([MASK], [MASK], [[0]], [[0]], [[np.nan]]), "a score is not a number"),
        (([MASK], [MASK], [[0]], [[0, 1]], [[1]]), "1 masks and 2 classes"),
        (([MASK], [MASK[:, :, 1:]], [[0]], [[0]], [[1]]), "must be of one size"),
    ],
)
def test_lists_of_masks_that_do_not_fit_are_refused(given_: tuple, says: str) -> None:
    with refused(FaultscapeError, says):
        fs.metrics.mask_average_precision(*given_)


def test_maps_of_segments_that_do_not_fit_are_refused() -> None:
    with refused(LabelMapError, "expected whole numbers, H x W"):
        fs.metrics.panoptic([MASK[0]], [MASK[0].astype(float)], {}, {})
    with refused(LabelMapError, "one for each image"):
        fs.metrics.panoptic([np.ones((2, 2), int)], [], {}, {})


def test_of_two_true_masks_that_fit_alike_the_last_is_taken() -> None:
    columns = np.arange(15)
    first, last, between = (np.tile((columns >= k) & (columns < k + 6), (12, 1)) for k in (0, 2, 1))
    truths = [Mask(0, 1, first), Mask(0, 1, last)]
    said = [Mask(0, 1, between, 0.9), Mask(0, 1, first, 0.5)]
    assert average_precision(truths, said, 0.7) == [1.0]
    assert precision_of(truths, said).ap == pytest.approx(
        np.mean([average_precision(truths, said, t) for t in np.linspace(0.5, 0.95, 10)])
    )


def test_a_segment_with_exactly_half_of_its_pixels_in_void_counts() -> None:
    found = fs.metrics.panoptic(np.array([[1, 1, 0]]), np.array([[0, 5, 5]]), {1: 0}, {5: 0})
    assert found.per_class[0]["invented"] == 1
    within = fs.metrics.panoptic(np.array([[1, 1, 0, 0]]), np.array([[0, 5, 5, 5]]), {1: 0}, {5: 0})
    assert within.per_class[0]["invented"] == 0


def test_many_units_are_left_out_in_blocks_of_whole_units() -> None:
    units = units_of([f"g{k // 2}" for k in range(30)])
    weights = leave_out(units, np.arange(30)[::-1], most=4)
    assert weights.shape == (5, 30)
    assert (weights[0] == 1).all()
    assert (30 - weights[1:].sum(0) == 30 - 3).all()  # each image is left out once
    assert (weights[:, ::2] == weights[:, 1::2]).all()
    assert sorted((30 - weights[1:].sum(1)).tolist()) == [6, 8, 8, 8]


def test_an_interval_needs_six_units_and_a_value_without_each() -> None:
    values = np.array([3.5, 4.0, 3.8, 3.6, 3.4, 3.2, 3.0])
    assert np.isnan(student_of_left_out(values, 5)).all()
    assert np.isnan(student_of_left_out(np.append(values, np.nan), 6)).all()
