"""Metrics of two partitions: hand examples, brute force over pixels and assignments, and the laws that
distances obey.
"""

from __future__ import annotations

from itertools import permutations, product

import figure_3
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.errors import MetricError, OptionError
from faultscape.metrics.overlaps import partition
from refusals import refused

Table = tuple[np.ndarray, np.ndarray, np.ndarray]
ERRORS = (
    partition.gce,
    partition.lce,
    partition.partition_distance,
    partition.variation_of_information,
    partition.adapted_rand,
)
SYMMETRIC = (*ERRORS, partition.rand_index)
BINARY = np.array([[90, 0], [10, 0]])


def table(truth: np.ndarray, prediction: np.ndarray) -> Table:
    pairs, pixels = np.unique(np.stack([truth.ravel(), prediction.ravel()]), axis=1, return_counts=True)
    return pairs[0], pairs[1], pixels


def partitions(seed: int, pixels: int = 12, regions: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, int(rng.integers(1, regions + 1)), pixels)
    prediction = np.where(rng.random(pixels) < rng.random(), truth, rng.integers(0, regions, pixels))
    return truth, prediction


def refinement(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """S1 eq. 1 pixel by pixel: the share of a pixel's true region that is not in its predicted one."""
    return np.array(
        [
            ((truth == t) & (prediction != p)).sum() / (truth == t).sum()
            for t, p in zip(truth, prediction, strict=True)
        ]
    )


def most_kept(truth: np.ndarray, prediction: np.ndarray) -> int:
    """The most pixels that stay under any renaming of the predicted regions, all of them tried."""
    names = np.unique(np.concatenate([truth, prediction])).tolist()
    places = [names.index(p) for p in prediction.tolist()]
    return max(
        sum(order[p] == t for p, t in zip(places, truth.tolist(), strict=True))
        for order in permutations(names)
    )


def test_one_region_cut_in_two_halves() -> None:
    half = (np.array([0, 0]), np.array([0, 1]), np.array([6, 6]))
    assert partition.variation_of_information_parts(*half) == (1.0, 0.0)  # one bit more in the prediction
    assert partition.variation_of_information(*half) == 1.0
    assert partition.partition_distance(*half) == 0.5
    assert partition.gce(*half) == partition.lce(*half) == 0.0  # a refinement is not an error
    assert partition.adapted_rand_parts(*half) == (1.0, 60 / 132)  # ordered pairs: 2 * 6 * 5 of 12 * 11
    assert partition.adapted_rand_parts(*half, pairs="all") == (1.0, 0.5)
    assert partition.rand_index(*half) == pytest.approx(60 / 132)


def test_the_best_assignment_is_not_the_greedy_one() -> None:
    overlaps = (np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([10, 9, 8]))
    # 9 + 8 stay; the largest overlap alone keeps 10
    assert partition.partition_distance(*overlaps) == pytest.approx(10 / 27)
    dearer = (np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([20, 9, 8]))
    assert partition.partition_distance(*dearer) == pytest.approx(17 / 37)


@given(st.integers(0, 100_000))
@settings(max_examples=150)
def test_all_equal_what_pixels_say(seed: int) -> None:
    truth, prediction = partitions(seed)
    pairs, n = table(truth, prediction), len(truth)
    over, under = refinement(truth, prediction), refinement(prediction, truth)
    assert partition.gce(*pairs) == pytest.approx(min(over.sum(), under.sum()) / n, abs=1e-12)
    assert partition.lce(*pairs) == pytest.approx(np.minimum(over, under).sum() / n, abs=1e-12)
    assert partition.partition_distance(*pairs) == pytest.approx(
        1 - most_kept(truth, prediction) / n, abs=1e-12
    )
    same = [
        (truth[a] == truth[b], prediction[a] == prediction[b])
        for a, b in product(range(n), repeat=2)
        if a != b
    ]
    assert partition.rand_index(*pairs) == pytest.approx(np.mean([t == p for t, p in same]), abs=1e-12)
    assert partition.adapted_rand_parts(*pairs) == pytest.approx(
        (share(t for t, p in same if p), share(p for t, p in same if t)), abs=1e-12, nan_ok=True
    )
    parts = [
        -np.mean(
            [
                np.log2(((truth == t) & (prediction == p)).sum() / (region == own).sum())
                for t, p, own in zip(truth, prediction, region, strict=True)
            ]
        )
        for region in (truth, prediction)
    ]
    assert partition.variation_of_information_parts(*pairs) == pytest.approx(parts, abs=1e-12)


def share(values: object) -> float:
    found = list(values)  # pyright: ignore[reportArgumentType]
    return float(np.mean(found)) if found else np.nan


@given(st.integers(0, 100_000), st.integers(1, 60), st.integers(1, 60), st.sampled_from([2, 4, 1000]))
@settings(max_examples=60)
def test_peeling_and_the_sparse_solver_equal_the_dense_one(
    seed: int, true: int, predicted: int, largest: int
) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.integers(1, largest, (true, predicted)) * (
        rng.random((true, predicted)) < rng.choice([0.05, 0.2, 0.9])
    )
    cells[0, 0] = 3
    overlaps = partition.confusion_table(cells)
    dense = partition.partition_distance(*overlaps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "_DENSE", 0)
        assert partition.partition_distance(*overlaps) == pytest.approx(dense, abs=1e-12)


def test_what_is_forced_leaves_little_to_assign() -> None:
    rng = np.random.default_rng(3)
    truth = np.arange(30).repeat(30)
    prediction = np.where(rng.random(900) < 0.2, rng.integers(0, 60, 900), truth)
    t, p, n = table(truth, prediction)
    kept, rest = partition._forced(t, p, n.astype(float))
    assert len(rest) == 0
    assert 1 - kept / 900 == pytest.approx(partition.partition_distance(t, p, n))


@given(st.integers(0, 100_000))
def test_a_partition_is_no_distance_from_itself_and_names_do_not_matter(seed: int) -> None:
    truth, prediction = partitions(seed, 40)
    for error in ERRORS:
        assert error(*table(truth, 7 - truth)) == pytest.approx(0, abs=1e-12)
        assert error(*table(truth * 1000 - 5, prediction)) == pytest.approx(
            error(*table(truth, 9 - prediction)), abs=1e-12
        )
    assert partition.rand_index(*table(truth, truth + 3)) == 1


@given(st.integers(0, 100_000))
def test_swapping_the_two_changes_only_which_part_is_which(seed: int) -> None:
    truth, prediction = partitions(seed, 40)
    there, back = table(truth, prediction), table(prediction, truth)
    for metric in SYMMETRIC:
        assert metric(*there) == pytest.approx(metric(*back), abs=1e-12)
    assert partition.variation_of_information_parts(*there) == pytest.approx(
        partition.variation_of_information_parts(*back)[::-1], abs=1e-12
    )
    assert partition.adapted_rand_parts(*there) == pytest.approx(
        partition.adapted_rand_parts(*back)[::-1], abs=1e-12
    )


@given(st.integers(0, 100_000))
def test_order_of_rows_and_empty_pairs_change_nothing_and_lce_is_never_above_gce(seed: int) -> None:
    t, p, n = table(*partitions(seed, 30))
    mixed = np.random.default_rng(seed).permutation(len(n))
    more = np.append(t[mixed], 91), np.append(p[mixed], 17), np.append(n[mixed], 0)
    for metric in SYMMETRIC:
        assert metric(*more) == pytest.approx(metric(t, p, n), abs=1e-12)
    assert partition.lce(t, p, n) <= partition.gce(t, p, n) + 1e-12


@given(st.integers(0, 100_000))
def test_confusion_matrices_give_the_class_partition_and_each_class_by_itself(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # three images, four classes, void in the prediction
    cells = rng.integers(0, 9, (3, 4, 5)) * (rng.random((3, 4, 5)) < 0.6)
    for one in cells:
        pairs = partition.confusion_table(one)
        for of_cells, of_table in (
            (partition.gce_cells, partition.gce),
            (partition.lce_cells, partition.lce),
        ):
            assert of_cells(one) == pytest.approx(of_table(*pairs), abs=1e-12, nan_ok=True)
    binary = partition.binary_cells(cells)
    assert binary.shape == (3, 4, 2, 2)
    for k in range(4):
        merged = np.stack([cells.sum(1) - cells[:, k], cells[:, k]], 1)
        merged = np.stack([merged.sum(2) - merged[:, :, k], merged[:, :, k]], 2)
        assert (binary[:, k] == merged).all()
    assert partition.gce_cells(cells) == pytest.approx(
        [partition.gce_cells(one) for one in cells], nan_ok=True
    )


def test_gce_of_figure_3_is_that_of_the_binary_class_partition() -> None:
    for place, (letter, (truth, prediction)) in enumerate(figure_3.panels().items()):
        value = partition.gce(*table(truth, prediction))
        if letter in figure_3.HAND_SET:
            assert value == 0.0  # printed 1.00
            continue
        assert round(value, 2) == figure_3.PRINTED["gce"][place], letter
        assert value == pytest.approx(figure_3.EXACT[letter][1], abs=5.1e-5)
        tp, fn = (truth & prediction).sum(), (truth & ~prediction & 1).sum()
        fp = (prediction & ~truth & 1).sum()
        assert partition.gce_cells(np.array([[10_000 - tp - fn - fp, fp], [fn, tp]])) == pytest.approx(
            value, abs=1e-12
        )


def test_all_errors_at_once_are_each_by_itself() -> None:
    pairs = table(*partitions(11, 60))
    assert partition.consistency_errors(*pairs) == (partition.gce(*pairs), partition.lce(*pairs))
    assert partition.partition_errors(*pairs) == {error.__name__: error(*pairs) for error in ERRORS}


def test_nothing_is_not_zero() -> None:
    empty = np.zeros(0, np.int64)
    for metric in SYMMETRIC:
        assert np.isnan(metric(empty, empty, empty))
    assert np.isnan(partition.variation_of_information_parts(empty, empty, empty)).all()
    one = (np.array([0]), np.array([0]), np.array([1]))  # one pixel: no pair of pixels
    assert np.isnan(partition.rand_index(*one))
    assert np.isnan(partition.adapted_rand(*one))
    assert partition.adapted_rand(*one, pairs="all") == 0
    assert partition.partition_distance(*one) == 0
    assert np.isnan(partition.gce_cells(np.zeros((2, 3, 3), int))).all()
    assert np.isnan(list(partition.partition_errors(empty, empty, empty).values())).all()


def test_counts_beyond_32_bits() -> None:
    big = (np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 1, 1]) * 3_000_000_000)
    assert partition.gce(*big) == 0.25
    assert partition.lce_cells(np.array([[2, 1], [0, 1]]) * 3_000_000_000) == 0.125
    assert partition.partition_distance(*big) == 0.25
    assert partition.adapted_rand(*big) == pytest.approx(0.3333333333, abs=1e-9)
    assert partition.adapted_rand(*big, pairs="all") == pytest.approx(1 / 3, abs=1e-12)


def test_what_is_no_table_is_said() -> None:
    some = np.array([0, 1])
    with refused(MetricError, r"three arrays of one length; got \(2,\), \(1,\), \(2,\)"):
        partition.gce(some, some[:1], some)
    with refused(MetricError, "integers; got int64, int64, float64"):
        partition.lce(some, some, some * 0.5)
    with refused(MetricError, "holds -1 pixels"):
        partition.partition_distance(some, some, some - 1)
    with refused(MetricError, "is listed twice"):
        partition.rand_index(some * 0, some * 0, some + 1)
    with refused(MetricError, "fewer columns than rows"):
        partition.binary_cells(np.zeros((3, 2), int))
    with refused(OptionError, "pairs='two' is not known; use distinct, all"):
        partition.adapted_rand(some, some, some, pairs="two")
