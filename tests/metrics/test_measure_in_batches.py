"""A Measure over the batches of a loop: the numbers of all images at once, whatever the batches were, wherever
they were counted, and however they came together.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import children
import faultscape as fs
from faultscape.errors import FaultscapeError, LabelMapError, MetricError, OptionError
from faultscape.maps.tensors import is_tensor
from faultscape.metrics.batches import device_counts
from faultscape.metrics.batches.measure import Measure
from faultscape.metrics.catalogue import METRICS
from refusals import refused

OF_MAPS = [metric.name for metric in METRICS if not metric.of_scores]
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 4, (13, 8, 10)).repeat(2, 1).repeat(2, 2).astype(np.uint8)
PREDICTION = np.where(RNG.random(TRUTH.shape) < 0.2, RNG.integers(0, 3, TRUTH.shape), TRUTH).astype(np.uint8)
TRUTH[TRUTH == 3] = 255
PREDICTION[PREDICTION == 3] = 255
DRIVES = [f"drive-{k // 2}" for k in range(13)]
SIZES = (4, 4, 1, 4)


def batches(size: tuple[int, ...] = SIZES) -> Iterator[slice]:
    start = 0
    for count in size:
        yield slice(start, start + count)
        start += count


def same(one: Any, other: Any) -> bool:
    """To the last digit; NaN is NaN."""
    return one.keys() == other.keys() and all(
        np.array_equal(np.array(one[name]), np.array(other[name]), equal_nan=True) for name in one
    )


def counted(metrics: list[str] | tuple[str, ...] = ("miou",), **choices: Any) -> Measure:
    measure = Measure(3, metrics, void=255, **choices)
    for part in batches():
        measure.update(TRUTH[part], PREDICTION[part], DRIVES[part])
    return measure


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return fs.metrics.measure_maps(TRUTH, PREDICTION, 3, void=255, metrics=OF_MAPS, groups=DRIVES)


def test_batches_give_the_numbers_of_all_images_at_once(whole: dict[str, Any]) -> None:
    assert same(counted(OF_MAPS).compute(), whole)


@pytest.mark.parametrize("name", OF_MAPS)
def test_a_metric_alone_has_the_value_that_it_has_among_all(name: str, whole: dict[str, Any]) -> None:
    assert same(counted([name]).compute(), {name: whole[name]})


@pytest.mark.parametrize("choices", [{"connectivity": 4}, {"pooling": "cells"}, {"pooling": "per_image"}])
def test_definitions_are_those_of_measure_maps(choices: dict[str, Any]) -> None:
    found = counted(OF_MAPS, **choices).compute()
    wanted = fs.metrics.measure_maps(
        TRUTH, PREDICTION, 3, void=255, metrics=OF_MAPS, groups=DRIVES, **choices
    )
    assert same(found, wanted)
    assert not same(found, counted(OF_MAPS).compute())


def test_given_regions_have_the_classes_of_their_divisor() -> None:
    measure = Measure(3, ["pq"], regions="given", divisor=1000)
    ids = np.array([[1000, 1000, 1001], [2000, 2001, 2001]])
    measure.update(ids, np.where(ids == 2001, 2000, ids))
    assert measure.compute()["pq"].value == pytest.approx((1.0 + 2 / 3 / 1.5) / 2)
    with refused(MetricError, "'miou' is not defined for maps of given regions"):
        Measure(3, ["miou"], regions="given")
    with refused(OptionError, "divisor is a whole number, 1 or more, of regions='given'; got 1000"):
        Measure(3, ["pq"], divisor=1000)


def test_scores_in_a_tensor_are_told_what_to_do_with_tensors() -> None:
    import torch

    truth, prediction = torch.from_numpy(TRUTH), torch.from_numpy(PREDICTION)
    with refused(LabelMapError, r"prediction: .* got float32 of shape .*; convert labels with .long\(\)"):
        Measure(3, void=255).update(truth, prediction.float())
    with refused(
        LabelMapError, r"got float32 of shape \(13, 3, 16, 20\); of scores, give the class of the la"
    ):
        Measure(3, ["pq"], void=255).update(truth, torch.rand(13, 3, 16, 20))


def test_tensors_of_any_integer_type_and_lists_of_them_give_the_same() -> None:
    import torch

    wanted = counted().compute()
    truth, prediction = (torch.from_numpy(maps) for maps in (TRUTH, PREDICTION))
    for kind in (torch.uint8, torch.int16, torch.int64):
        measure = Measure(3, ["miou"], void=255)
        measure.update(truth.to(kind), prediction.to(kind), DRIVES)
        assert same(measure.compute(), wanted)
    lists = Measure(3, ["miou"], void=255)
    lists.update([*truth], [*PREDICTION], DRIVES)
    assert same(lists.compute(), wanted)


def test_what_a_device_counts_is_what_the_kernels_count() -> None:
    import torch

    known = Measure(3, void=255)
    known.update(TRUTH, PREDICTION)
    for convert in (
        torch.from_numpy,
        lambda maps: torch.from_numpy(maps).long(),
        lambda maps: [*torch.from_numpy(maps)],
    ):
        found = device_counts.of_batch(convert(TRUTH), convert(PREDICTION), known.classes)
        assert not found.pop("unknown").any()
        stats = known.statistics()
        assert found.keys() == stats.keys()
        for name, values in found.items():
            assert values.dtype == torch.int64
            assert (values.numpy() == stats[name]).all()
    one = device_counts.of_batch(torch.from_numpy(TRUTH[0]), torch.from_numpy(PREDICTION[0]), known.classes)
    assert (one["both"].numpy() == known.statistics()["both"][:1]).all()


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors are taken for those of another device."""
    monkeypatch.setattr("faultscape.metrics.batches.measure._is_elsewhere", is_tensor)


@pytest.mark.usefixtures("elsewhere")
def test_a_device_refuses_a_value_that_is_no_class_when_numbers_are_computed() -> None:
    import torch

    measure = Measure(3, ["miou"], void=255)
    for part in batches():
        measure.update([*torch.from_numpy(TRUTH[part])], torch.from_numpy(PREDICTION[part]), DRIVES[part])
    assert all(is_tensor(values) for batch in measure._batches for values in batch.values())
    assert same(measure.compute(), counted().compute())
    wrong = torch.from_numpy(PREDICTION).long()
    wrong[5, 0, :3] = torch.tensor([7, -1, 70_000])
    measure.update(torch.from_numpy(TRUTH), wrong)
    with refused(LabelMapError, r"prediction, image 18 since reset: 3 pixels hold .*; allowed are 0-2, 255"):
        measure.compute()
    for bad, words in (
        (wrong.float(), r"prediction: .* got float32 of shape \(13, 16, 20\); convert labels with .long\(\)"),
        (wrong[:, None].float(), "got float32 .*; of scores, give the class of the largest: .argmax"),
        (wrong[:4], "give one for one, of one size"),
        (PREDICTION, "expected a tensor as the other is; got ndarray"),
        ([PREDICTION], "there are 13 true maps and 1 predicted ones"),
        ([*PREDICTION], "prediction, image 0: expected a tensor; got ndarray"),
        (wrong[:0], "give one for one"),
    ):
        with refused(LabelMapError, words):
            measure.update(torch.from_numpy(TRUTH), bad)


def test_measures_of_parts_merge_into_that_of_the_whole(whole: dict[str, Any]) -> None:
    first, second = (Measure(3, OF_MAPS, void=255) for _ in range(2))
    first.update(TRUTH[:5], PREDICTION[:5], DRIVES[:5])
    second.update(TRUTH[5:], PREDICTION[5:], DRIVES[5:])
    first.merge(second)
    assert first.images == 13
    assert same(first.compute(), whole)
    assert second.images == 8
    for other, words in (
        (Measure(4, OF_MAPS, void=255), r"merge: the other has classes .* make both alike"),
        (Measure(3, ["miou"], void=255), r"the other has metrics \['miou'\] and this"),
        (Measure(3, OF_MAPS, void=255, connectivity=4), "the other has definitions"),
        ({}, "expected a Measure; got dict"),
    ):
        with refused(MetricError, words):
            first.merge(other)  # pyright: ignore[reportArgumentType]


def test_a_state_is_saved_and_gone_on_with(whole: dict[str, Any]) -> None:
    import torch

    first = Measure(3, OF_MAPS, void=255)
    first.update(torch.from_numpy(TRUTH[:5]), torch.from_numpy(PREDICTION[:5]), DRIVES[:5])
    held = io.BytesIO()
    torch.save(first.state_dict(), held)
    held.seek(0)
    state = torch.load(held, weights_only=True)
    then = Measure(3, OF_MAPS, void=255)
    then.load_state_dict(state)
    then.update(TRUTH[5:], PREDICTION[5:], DRIVES[5:])
    assert same(then.compute(), whole)
    with refused(MetricError, "load_state_dict: groups, statistics missing; give what state_dict returned"):
        then.load_state_dict(then.about())
    with refused(MetricError, "load_state_dict: the other has void"):
        Measure(3, OF_MAPS).load_state_dict(state)


def test_arrays_keep_a_state_of_arrays_and_an_empty_one_is_a_state_too() -> None:
    assert all(isinstance(values, np.ndarray) for values in counted().state_dict()["statistics"].values())
    empty = Measure(3, void=255)
    again = counted(empty.metrics and [metric.name for metric in empty.metrics])
    again.load_state_dict(empty.state_dict())
    assert again.images == 0


def test_a_reset_forgets_and_one_process_gathers_itself() -> None:
    measure = counted()
    assert same(measure.gather().compute(), measure.compute())
    assert measure.gather() is not measure
    measure.reset()
    with refused(MetricError, "there is no image to compute metrics of; call update first"):
        measure.compute()
    assert measure.gather().images == 0
    assert repr(measure) == "Measure(miou; 3 classes, 0 images)"


def test_a_batch_that_is_refused_leaves_nothing_behind() -> None:
    measure = counted()
    for arrays, groups, words in (
        ((TRUTH, PREDICTION[:4]), None, "13 true maps and 4 predicted"),
        ((TRUTH, PREDICTION), ["a"], "13 images and 1 group;"),
        ((TRUTH, PREDICTION), "drive-1", "13 images and 1 group;"),
        ((TRUTH, PREDICTION + 5), None, "prediction, image 0: holds the value"),
        ((TRUTH, PREDICTION / 2), None, r"convert labels with .astype\(int\)"),
        ((TRUTH, np.eye(3)[PREDICTION % 3]), None, "of scores, give the class of the largest"),
    ):
        with refused(LabelMapError, words):
            measure.update(*arrays, groups)
        assert measure.images == 13
    measure.update(TRUTH[0], PREDICTION[0], "drive-1")  # one map, and its group
    assert measure.images == 14


def test_metrics_that_no_map_has_are_refused() -> None:
    with refused(MetricError, "metric 'fpr95' is computed from scores, not from label maps"):
        Measure(3, ["fpr95"])
    with refused(MetricError, "metric 'miuo' is not known; .* Did you mean"):
        Measure(3, ["miuo"])
    with refused(MetricError, "metrics: give one or more of miou"):
        Measure(3, [])
    with refused(OptionError, "'overr' is not a choice"):
        Measure(3, overr="all")  # pyright: ignore[reportCallIssue]


ODD: tuple[Callable[[Any], Any], ...] = (
    lambda t: t.float(),
    lambda t: t.bfloat16(),
    lambda t: t.to_sparse(),
    lambda t: t.bool(),
    lambda t: t[None],
    lambda t: t[0],
    lambda t: t[:0],
    lambda t: t.to("meta"),
    lambda t: t.cfloat(),
    lambda t: [*t, None],
    lambda _: None,
)


@pytest.mark.parametrize("number", range(len(ODD)))
def test_an_odd_tensor_is_counted_or_refused_in_one_line(number: int) -> None:
    import torch

    odd = ODD[number](torch.from_numpy(PREDICTION).long())
    for pair in ((torch.from_numpy(TRUTH), odd), (odd, PREDICTION)):
        said = ""
        try:
            Measure(3, ["miou", "rom"], void=255).update(*pair)
        except FaultscapeError as error:
            said = str(error)
        assert "\n" not in said


RANK = """
import sys
import numpy as np
import torch
import torch.distributed as dist
import faultscape as fs

rank, meeting, maps = int(sys.argv[1]), sys.argv[2], np.load(sys.argv[3])
dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
names = [metric.name for metric in fs.metrics.METRICS if not metric.of_scores]
for cut in (5, 13):  # the second rank has eight images, then none
    measure = fs.metrics.Measure(3, names, void=255)
    part = (slice(0, cut), slice(cut, 13))[rank]
    groups = [f"drive-{k // 2}" for k in range(13)][part]
    if groups:
        measure.update(*(torch.from_numpy(maps[side][part]) for side in ("truth", "prediction")), groups)
    whole = measure.gather()
    assert whole.images == 13 and measure.images == len(groups)
    found = whole.compute()
    known = fs.metrics.measure_maps(
        maps["truth"], maps["prediction"], 3, void=255, metrics=names, groups=[f"drive-{k // 2}" for k in range(13)]
    )
    assert found.keys() == known.keys()
    for name in known:
        assert np.array_equal(found[name], known[name], equal_nan=True), name
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_ranks_gather_the_numbers_of_one_process_to_the_last_digit(tmp_path: Path) -> None:
    np.savez(tmp_path / "maps.npz", truth=TRUTH, prediction=PREDICTION)
    meeting = tmp_path / "meeting"
    ranks = [
        children.start([sys.executable, "-c", RANK, f"{k}", f"{meeting}", f"{tmp_path}/maps.npz"])
        for k in range(2)
    ]
    for rank in ranks:
        assert rank.wait(timeout=300) == 0


@pytest.mark.slow
def test_arrays_never_load_torch() -> None:
    code = """if True:
        import sys, numpy as np, faultscape as fs
        measure = fs.metrics.Measure(3, ["miou", "rom", "boundary_f"])
        measure.update(np.zeros((2, 4, 4), int), np.ones((2, 4, 4), int))
        measure.gather().state_dict()
        assert measure.compute()["miou"].value == 0
        assert "torch" not in sys.modules"""
    assert children.start([sys.executable, "-c", code]).wait(timeout=100) == 0
