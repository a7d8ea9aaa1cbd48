"""Regions and their overlaps: the compiled path equals its plain twin, SciPy, and brute force."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from faultscape.errors import LabelMapError, OptionError
from faultscape.maps import regions
from faultscape.maps.regions import Overlaps, number, overlaps
from refusals import refused


@st.composite
def two_maps(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    n = draw(st.integers(1, 4))
    shape = draw(st.tuples(st.integers(1, 24), st.integers(1, 140)))
    kind = draw(st.sampled_from([np.uint8, np.uint16]))
    seed, block = draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 6))
    rng = np.random.default_rng(seed)
    small = tuple(-(-size // block) for size in shape)
    maps = [
        rng.integers(0, n + 1, small).astype(kind).repeat(block, 0).repeat(block, 1)[: shape[0], : shape[1]]
        for _ in range(2)
    ]
    return np.ascontiguousarray(maps[0]), np.ascontiguousarray(maps[1]), n


def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "_kernels", lambda *_, **__: None)


def equal(one: Overlaps, other: Overlaps) -> None:
    for f in fields(Overlaps):
        a, b = getattr(one, f.name), getattr(other, f.name)
        assert (a is b is None) or np.allclose(a, b), f.name


@pytest.mark.skipif(regions._kernels() is None, reason="without numba there is only the plain path")
@settings(max_examples=60, deadline=None)
@given(two_maps(), st.sampled_from([4, 8]), st.sampled_from(["cut", "bridge"]), st.booleans())
def test_the_compiled_table_equals_its_plain_twin(
    maps: Any, connectivity: int, void: str, given_: bool
) -> None:
    truth, prediction, n = maps
    confidence = np.random.default_rng(0).random(truth.shape).astype(np.float32)
    options: dict[str, Any] = {
        "connectivity": connectivity,
        "void": void,
        "given": given_,
        "confidence": confidence,
    }
    fast = overlaps(truth, prediction, n, **options)
    with pytest.MonkeyPatch.context() as patch:
        plain(patch)
        equal(fast, overlaps(truth, prediction, n, **options))
        numbers, labels, areas = number(truth, connectivity=connectivity)
    again = number(truth, connectivity=connectivity)
    assert all(np.array_equal(a, b) for a, b in zip(again, (numbers, labels, areas), strict=True))


@pytest.mark.skipif(regions._kernels() is None, reason="without numba there is only the plain path")
@pytest.mark.parametrize(("size", "few"), [(8, True), (60, False)])
def test_few_regions_and_many_are_counted_in_two_ways_with_one_result(size: int, few: bool) -> None:
    truth, prediction = np.random.default_rng(size).integers(0, 4, (2, size, size)).astype(np.uint8)
    fast = overlaps(truth, prediction, 3, connectivity=4)
    assert (len(fast.truth_area) * len(fast.prediction_area) <= regions._kernels()._DENSE) == few
    with pytest.MonkeyPatch.context() as patch:
        plain(patch)
        equal(fast, overlaps(truth, prediction, 3, connectivity=4))


@settings(max_examples=40, deadline=None)
@given(two_maps(), st.sampled_from([4, 8]))
def test_regions_are_those_that_a_flood_fill_finds(maps: Any, connectivity: int) -> None:
    label_map = maps[0][:12, :16]
    numbers, labels, areas = number(label_map, connectivity=connectivity)
    steps = [(0, 1), (1, 0), (0, -1), (-1, 0)] + (
        [(1, 1), (1, -1), (-1, 1), (-1, -1)] if connectivity == 8 else []
    )
    seen = np.full(label_map.shape, -1)
    count = 0
    for start in np.ndindex(label_map.shape):
        if seen[start] >= 0:
            continue
        stack = [start]
        seen[start] = count
        while stack:
            y, x = stack.pop()
            for dy, dx in steps:
                at = (y + dy, x + dx)
                if (
                    0 <= at[0] < label_map.shape[0]
                    and 0 <= at[1] < label_map.shape[1]
                    and seen[at] < 0
                    and label_map[at] == label_map[start]
                ):
                    seen[at] = count
                    stack.append(at)
        assert labels[count] == label_map[start]
        assert areas[count] == (seen == count).sum()
        count += 1
    assert np.array_equal(seen, numbers)


@settings(max_examples=40, deadline=None)
@given(two_maps(), st.sampled_from(["cut", "bridge"]))
def test_void_pixels_of_the_truth_count_nowhere(maps: Any, void: str) -> None:
    truth, prediction, n = maps
    table = overlaps(truth, prediction, n, void=void)
    inside = truth < n
    assert table.truth_area.sum() == table.prediction_area.sum() == table.pixels.sum() == inside.sum()
    assert (table.truth_label < n).all()
    if void == "cut":
        changed = np.where(inside, prediction, (prediction + 1) % (n + 1)).astype(prediction.dtype)
        equal(table, overlaps(truth, changed, n, void=void))


def test_a_void_line_parts_a_predicted_region_or_is_bridged() -> None:
    truth, prediction = np.array([[0, 1, 0]], np.uint8), np.zeros((1, 3), np.uint8)
    assert overlaps(truth, prediction, 1, void="cut").prediction_area.tolist() == [1, 1]
    bridged = overlaps(truth, prediction, 1, void="bridge")
    assert (bridged.prediction_area.tolist(), bridged.void_area.tolist()) == ([2], [1])


def test_a_region_that_lies_in_void_alone_does_not_exist() -> None:
    truth, prediction = np.array([[2, 2, 0]], np.uint8), np.array([[1, 1, 0]], np.uint8)
    for rule in ("cut", "bridge"):
        assert overlaps(truth, prediction, 2, void=rule).prediction_label.tolist() == [0]


def test_corners_join_at_8_and_not_at_4() -> None:
    corner = np.array([[1, 0], [0, 1]], np.uint8)
    assert (len(number(corner, connectivity=8)[1]), len(number(corner, connectivity=4)[1])) == (2, 4)


def test_confidence_is_averaged_over_what_is_not_void() -> None:
    truth, prediction = np.array([[0, 0, 1]], np.uint8), np.zeros((1, 3), np.uint8)
    confidence = np.array([[0.2, 0.4, 0.9]])
    for rule in ("cut", "bridge"):
        assert overlaps(truth, prediction, 1, void=rule, confidence=confidence).confidence == pytest.approx(
            [0.3]
        )


@pytest.mark.parametrize("kind", ["<f2", ">f2", ">f4", ">f8", "u1", "?"])
def test_confidence_may_be_of_any_kind_of_number(kind: str) -> None:
    one = np.zeros((2, 3), np.uint8)
    assert overlaps(one, one, 1, confidence=np.ones((2, 3), kind)).confidence == pytest.approx([1.0])


def test_void_at_the_last_number_of_a_byte_is_not_the_label_after_it() -> None:
    for n in (253, 254, 255):
        truth, prediction = np.array([[0, n, 0]], np.uint8), np.array([[n - 1, n - 1, n]], np.uint8)
        table = overlaps(truth, prediction, n)
        assert (table.prediction_label.tolist(), table.prediction_area.tolist()) == ([n - 1, n], [1, 1])


def test_what_cannot_be_compared_is_refused() -> None:
    one = np.zeros((2, 3), np.uint8)
    with refused(LabelMapError, "the truth is 3 x 2 pixels and the prediction 2 x 3"):
        overlaps(one, one.T.copy(), 1)
    with refused(LabelMapError, "the prediction holds the label 4"):
        overlaps(one, one + 4, 2)
    # counts by label would be written outside their array
    below = np.array([[0, -5, 1], [0, 0, 0]], np.int32)
    with refused(LabelMapError, "the prediction holds the label -5"):
        overlaps(one, below, 2)
    with refused(LabelMapError, "the truth holds the label -5"):
        overlaps(below, one, 2, given=True)
    with refused(LabelMapError, "masked"):
        number(np.ma.masked_equal(one, 0))
    with refused(OptionError, "connectivity"):
        number(one, connectivity=6)
    with refused(OptionError, "void"):
        overlaps(one, one, 1, void="fill")
    with refused(LabelMapError, "confidence"):
        overlaps(one, one, 1, confidence=np.zeros((3, 3)))


def test_with_given_regions_a_number_is_one_region_wherever_it_lies() -> None:
    table = overlaps(np.array([[0, 1, 0]], np.uint8), np.array([[1, 1, 2]], np.uint8), 3, given=True)
    assert table.truth_area.tolist() == [2, 1]
    assert list(zip(table.truth.tolist(), table.prediction.tolist(), table.pixels.tolist(), strict=True)) == [
        (0, 0, 1),
        (0, 1, 1),
        (1, 0, 1),
    ]


@given(hnp.arrays(np.uint8, (3, 5), elements=st.integers(0, 2)))
def test_a_map_overlaps_itself_region_by_region(label_map: np.ndarray) -> None:
    table = overlaps(label_map, label_map, 3)
    assert np.array_equal(table.truth, table.prediction)
    assert np.array_equal(table.pixels, table.truth_area)


@pytest.mark.parametrize("compiled", [True, False])
def test_the_regions_of_a_truth_are_found_once_for_several_predictions(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        plain(monkeypatch)
    rng = np.random.default_rng(0)
    truth, *maps = rng.integers(0, 4, (4, 6, 9)).astype(np.uint8).repeat(3, 1).repeat(2, 2)
    apart = [overlaps(truth, one, 3) for one in maps]
    found = list[int]()
    number_runs = regions._runs

    def counted(labels: np.ndarray, *args: Any, **options: Any) -> Any:
        found.append(1)
        return number_runs(labels, *args, **options)

    monkeypatch.setattr(regions, "_runs", counted)
    for one, other in zip(regions.overlaps_of_each(truth, maps, 3), apart, strict=True):
        equal(one, other)
    assert len(found) == 1 + len(maps)
    assert regions.overlaps_of_each(truth, [], 3) == []
