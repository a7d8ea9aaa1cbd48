"""Region metrics: their laws, brute force, and the plain twin of their counts (S1 III; Kirillov et al. for
PQ).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faultscape as fs
from faultscape.errors import FaultscapeError, LabelMapError
from faultscape.maps.regions import number, overlaps
from faultscape.metrics import image_statistics, summary
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.kernels import plain_region_counts
from faultscape.metrics.overlaps import over_under, region_counts
from faultscape.metrics.overlaps import regions as region_set
from refusals import refused

METRICS = ("rom", "rum", "ror", "rur", "pe_os", "pe_us", "ap50", "ap75", "ap", "pq", "sq", "rq")


@st.composite
def two_maps(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Maps of three classes and void (3), some of them blocks and some noise."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    block, high = draw(st.integers(1, 4)), draw(st.integers(3, 4))
    size = draw(st.integers(4, 16))
    one, other = (
        rng.integers(0, high, (size, size + 3)).repeat(block, 0).repeat(block, 1)[:size, : size + 3]
        for _ in range(2)
    )
    return one.astype(np.uint8), np.where(rng.random(one.shape) < 0.5, one, other).astype(np.uint8)


def regions(truth: np.ndarray, prediction: np.ndarray, **options: Any) -> fs.metrics.regions:
    return fs.metrics.regions(truth, prediction, classes=3, void=options.pop("void", 3), **options)


def same(one: Any, other: Any) -> None:
    for name in METRICS:
        assert one.per_image[name] == pytest.approx(other.per_image[name], nan_ok=True), name


def by_hand(truth: np.ndarray, prediction: np.ndarray, class_: int) -> dict[str, float]:
    """S1 eq. 5-10 word by word, on masks of regions."""
    prediction = np.where(truth == 3, 4, prediction)
    g = [
        number(np.where(truth == class_, 1, 0).astype(np.uint8), none=0)[0] == k
        for k in range(int((number((truth == class_).astype(np.uint8), none=0)[0]).max()) + 1)
    ]
    s = [
        number((prediction == class_).astype(np.uint8), none=0)[0] == k
        for k in range(int((number((prediction == class_).astype(np.uint8), none=0)[0]).max()) + 1)
    ]
    if not g or not s:
        return {"rom": np.nan, "rum": np.nan, "pe_os": np.nan if not g else 1.0}
    touch = np.array([[(a & b).any() for b in s] for a in g])
    g_o, s_o = (touch.sum(1) > 1).sum(), (touch[touch.sum(1) > 1].any(0)).sum()
    s_u, g_u = (touch.sum(0) > 1).sum(), (touch[:, touch.sum(0) > 1].any(1)).sum()
    m_o, m_u = np.maximum(touch.sum(1) - 1, 0).sum(), np.maximum(touch.sum(0) - 1, 0).sum()
    area = np.array([[(a & b).sum() / a.sum() for b in s] for a in g])
    n = len(g) * len(s)
    return {
        "rom": np.tanh(g_o * s_o / n * m_o),
        "rum": np.tanh(g_u * s_u / n * m_u),
        "pe_os": float((1 - area.max(1)).mean()),
    }


@settings(max_examples=60)
@given(two_maps())
def test_rom_rum_and_pe_os_are_what_their_equations_say(maps: Any) -> None:
    found = regions(*maps)
    for class_ in range(3):
        for name, value in by_hand(*maps, class_).items():
            assert found.per_image[name][0, class_] == pytest.approx(value, nan_ok=True), (name, class_)


@settings(max_examples=60)
@given(two_maps())
def test_rum_of_a_pair_is_rom_of_the_pair_turned_round(maps: Any) -> None:
    truth, prediction = (np.minimum(m, 2) for m in maps)
    forth, back = fs.metrics.regions(truth, prediction, 3), fs.metrics.regions(prediction, truth, 3)
    for one, other in (("rom", "rum"), ("rum", "rom"), ("ror", "rur")):
        assert forth.per_image[one] == pytest.approx(back.per_image[other], nan_ok=True)


@pytest.mark.slow
@settings(max_examples=40)
@given(two_maps(), st.permutations([0, 1, 2]), st.sampled_from([4, 8]))
def test_permuting_labels_flipping_and_enlarging_change_nothing(
    maps: Any, order: list[int], connectivity: int
) -> None:
    truth, prediction = maps
    found = regions(truth, prediction, connectivity=connectivity)
    same(found, regions(truth[::-1], prediction[::-1], connectivity=connectivity))
    same(found, regions(truth[:, ::-1], prediction[:, ::-1], connectivity=connectivity))
    same(found, regions(truth.T, prediction.T, connectivity=connectivity))
    same(found, regions(*(m.repeat(3, 0).repeat(3, 1) for m in maps), connectivity=connectivity))
    table = np.array([*order, 3])
    renamed = regions(table[truth], table[prediction], connectivity=connectivity)
    for name in METRICS:
        assert renamed.per_image[name][:, order] == pytest.approx(found.per_image[name], nan_ok=True), name


def test_moving_an_edge_by_a_pixel_leaves_rom_and_rum_as_they_are() -> None:
    truth, prediction = np.zeros((2, 40, 40), np.uint8)
    truth[5:35, 5:35] = prediction[6:34, 6:18] = prediction[6:34, 22:34] = (
        1  # S1 III-C: one region in two pieces
    )
    moved = prediction.copy()
    moved[5:35, 5:6] = 1  # the left piece grows by a pixel
    before, after = (fs.metrics.regions(truth, p, 2, background=0) for p in (prediction, moved))
    assert (after.rom, after.rum) == (before.rom, before.rum)
    assert after.pe_os != before.pe_os
    assert before.rom > 0


def test_an_isolated_false_region_multiplies_the_argument_of_tanh_by_m_over_m_plus_1() -> None:
    truth, prediction = np.zeros((2, 20, 40), np.uint8)
    truth[2:18, 2:20] = prediction[2:18, 2:8] = prediction[2:18, 10:20] = 1
    more = prediction.copy()
    more[5:9, 30:34] = 1
    before, after = (fs.metrics.regions(truth, p, 2, background=0, scale="none") for p in (prediction, more))
    assert after.rom == pytest.approx(before.rom * 2 / 3)
    assert fs.metrics.regions(truth, more, 2, background=0).rom == pytest.approx(np.tanh(after.rom))
    assert fs.metrics.regions(truth, more, 2, background=0, scale="sigmoid").rom == pytest.approx(
        1 / (1 + np.exp(-after.rom))
    )


@settings(max_examples=60)
@given(two_maps(), st.sampled_from(["iou", "dice"]))
def test_counts_equal_their_plain_twin(maps: Any, match: str) -> None:
    table = overlaps(*maps, 3, void="bridge")
    alive = np.arange(len(table.prediction_label)) % 3 > 0
    found = (
        region_counts.count_regions(table, 3, alive=alive)
        | region_counts.count_matches(table, 3, match=match)
        | region_counts.count_quality(table, 3)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(region_counts, "_kernels", lambda *_: plain_region_counts)
        plain = (
            region_counts.count_regions(table, 3, alive=alive)
            | region_counts.count_matches(table, 3, match=match)
            | region_counts.count_quality(table, 3)
        )
    for name, values in plain.items():
        assert found[name] == pytest.approx(values), name


@settings(max_examples=40)
@given(two_maps())
def test_counts_above_a_threshold_are_those_of_the_regions_that_are_left(maps: Any) -> None:
    confidence = np.random.default_rng(1).random(maps[0].shape)
    table = overlaps(*maps, 3, confidence=confidence)
    thresholds = np.array([0.0, 0.3, 0.5, 0.52, 1.0])
    counts, both, predicted = region_counts.count_above(table, 3, thresholds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(region_counts, "_kernels", lambda *_: plain_region_counts)
        plain = region_counts.count_above(table, 3, thresholds)
    assert np.array_equal(both, plain[1])
    assert np.array_equal(predicted, plain[2])
    for i, threshold in enumerate(thresholds):
        alone = region_counts.count_regions(table, 3, alive=table.confidence >= threshold)
        for name in region_counts.WHOLE:
            assert np.array_equal(counts[name][i], alone[name]), name
            assert np.array_equal(plain[0][name][i], alone[name]), name
        kept = table.confidence[table.prediction] >= threshold
        inside = kept & (table.truth_label[table.truth] == table.prediction_label[table.prediction])
        expected = np.bincount(
            table.truth_label[table.truth][inside], weights=table.pixels[inside], minlength=4
        )[:3]
        assert np.array_equal(both[i], expected)


def panoptic_by_the_reference(
    truth: np.ndarray, prediction: np.ndarray, classes: int
) -> dict[str, list[float]]:
    """The published rule, segment by segment: union without void, predictions that are mostly void left
    out.
    """
    out = {"iou": [0.0] * classes, "tp": [0] * classes, "fp": [0] * classes, "fn": [0] * classes}
    segments = []
    for label_map in (truth, prediction):
        numbers, labels, _ = number(label_map)
        segments.append([(int(labels[k]), numbers == k) for k in range(len(labels)) if labels[k] < classes])
    void = truth == classes
    matched: set[int] = set()
    for class_, g in segments[0]:
        hit = False
        for k, (other, s) in enumerate(segments[1]):
            both = (g & s).sum()
            either = g.sum() + s.sum() - both - (s & void).sum()
            if other == class_ and both / either > 0.5:
                out["tp"][class_] += 1
                out["iou"][class_] += both / either
                matched.add(k)
                hit = True
        out["fn"][class_] += not hit
    for k, (class_, s) in enumerate(segments[1]):
        if k not in matched and (s & void).sum() / s.sum() <= 0.5:
            out["fp"][class_] += 1
    return out


@settings(max_examples=60)
@given(two_maps())
def test_panoptic_quality_is_the_reference_rule_with_void_on_both_sides(maps: Any) -> None:
    expected = panoptic_by_the_reference(*maps, 3)
    found = regions(*maps).counts
    for name, key in (("pq_found", "tp"), ("pq_invented", "fp"), ("pq_missed", "fn"), ("pq_iou_sum", "iou")):
        assert found[name][0] == pytest.approx(expected[key]), name


def test_calling_the_rest_of_a_segment_void_is_not_rewarded() -> None:
    truth, prediction = np.zeros((10, 10), np.uint8), np.zeros((10, 10), np.uint8)
    prediction[6:] = 1  # 60 % of the segment, and unknown on the rest
    assert fs.metrics.regions(truth, prediction, 1, void=1).pq == pytest.approx(0.6)


def test_the_background_forms_no_region_and_void_ids_are_not_the_rule_for_void() -> None:
    truth = np.array([[0, 1, 0, 2]])
    found = fs.metrics.regions(truth, truth, 2, background=0, void=2)
    assert np.isnan(found.per_class["rom"][0])
    assert found.per_class["rom"][1] == 0
    assert found.definition["void"] == "cut"


def test_persello_per_region_of_the_truth_or_of_the_prediction() -> None:
    truth = np.array([[1] * 10 + [0] * 4 + [1] * 6])
    prediction = np.array([[1] * 6 + [0] + [1] * 5 + [0] * 8])
    of_truth = fs.metrics.regions(truth, prediction, 2, background=0)
    # the largest piece has 6 of 10 pixels; the second region has none
    assert of_truth.pe_os == pytest.approx((0.4 + 1) / 2)
    # of that piece all lies inside; what nothing touches is left out
    assert of_truth.pe_us == pytest.approx(0.0)
    of_prediction = fs.metrics.regions(truth, prediction, 2, background=0, per="prediction")
    assert of_prediction.pe_os == pytest.approx((0.4 + 0.7) / 2)
    assert of_prediction.pe_us == pytest.approx((0 + 0.4) / 2)


def test_true_regions_that_nothing_touches_are_no_part_of_the_mean_of_under_segmentation() -> None:
    truth, prediction = np.array([[1, 1, 0, 0, 1, 1]]), np.array([[1, 1, 1, 0, 0, 0]])
    # not half of it: one of two is missed
    assert fs.metrics.regions(truth, prediction, 2, background=0).pe_us == pytest.approx(1 / 3)


def test_persello_of_predictions_leaves_out_those_that_touch_nothing() -> None:
    truth, prediction = np.array([[1, 1, 0, 0, 0, 0]]), np.array([[1, 0, 0, 1, 0, 1]])
    r = fs.metrics.regions(truth, prediction, classes=2, background=0, per="prediction")
    # half of the one true region found; two predictions of three in nothing
    assert (r.pe_os, r.pe_us) == (0.5, pytest.approx(2 / 3))


def test_missed_and_invented_regions_weigh_half_in_panoptic_quality() -> None:
    truth, prediction = np.array([[1, 1, 1, 0, 0, 0, 0]]), np.array([[1, 1, 0, 0, 1, 0, 1]])
    r = fs.metrics.regions(truth, prediction, classes=2, background=0)
    assert (r.sq, r.rq, r.pq) == (pytest.approx(2 / 3), 0.5, pytest.approx(1 / 3))  # one found, two invented
    turned = fs.metrics.regions(prediction, truth, classes=2, background=0)
    assert (turned.sq, turned.rq, turned.pq) == (r.sq, r.rq, r.pq)  # one found, two missed


def test_a_region_as_sure_as_the_threshold_is_kept() -> None:
    one = np.zeros((1, 2), np.uint8)
    table = overlaps(one, one, 1, confidence=np.full((1, 2), 0.5))
    for kernels in (region_counts._kernels(table), plain_region_counts):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(region_counts, "_kernels", lambda *_, kernels=kernels: kernels)
            counts, both, _ = region_counts.count_above(table, 1, np.array([0.5, 0.75]))
        assert (counts["predicted_regions"].ravel().tolist(), both.ravel().tolist()) == ([1, 0], [2, 0])


def test_absent_classes_are_undefined_counted_and_zero_when_asked() -> None:
    truth, prediction = np.array([[0, 0, 1]]), np.array([[0, 0, 0]])
    found = fs.metrics.regions(truth, prediction, 3)
    assert np.isnan(found.per_image["rom"][0]).tolist() == [False, True, True]
    assert found.undefined["rom"] == 1  # class 2 is on neither side and is not a cell
    zero = fs.metrics.regions(truth, prediction, 3, absent="zero")
    assert zero.per_image["rom"][0, 1] == zero.per_image["ap50"][0, 1] == 0
    assert np.isnan(zero.per_image["rom"][0, 2])
    assert (
        fs.metrics.regions(truth, prediction, 3, absent="zero", scale="sigmoid").per_image["rom"][0, 1] == 0
    )


def test_several_images_are_averaged_after_their_classes() -> None:
    truth = np.array([[[1, 1, 1, 2]], [[1, 1, 1, 1]]])
    prediction = np.array([[[1, 0, 1, 2]], [[1, 1, 1, 1]]])
    found = fs.metrics.regions(truth, prediction, 3, background=0)
    assert found.rom == pytest.approx((np.tanh(2 / 2 * 1) / 2 + 0) / 2)
    assert found.per_image["rom"].shape == (2, 3)


def test_given_regions_keep_their_ids_and_classes() -> None:
    truth = np.array([[1000, 1000, 1001, 1001, 255]])
    prediction = np.array([[1000, 1001, 1001, 1001, 1002]])
    found = fs.metrics.regions(truth, prediction, 2, regions="given", divisor=1000, void=255)
    assert found.counts["truth_regions"].tolist() == [[0, 2]]
    assert found.counts["predicted_regions"].tolist() == [[0, 2]]  # 1002 lies in void alone
    assert found.rom == found.rum == pytest.approx(np.tanh(1 * 2 / 4 * 1))
    small = np.array([[0, 1, 1]], np.uint8)  # ids of 8 bits and a divisor that these cannot hold
    assert fs.metrics.regions(small, small, 2, regions="given", divisor=1000).counts[
        "truth_regions"
    ].tolist() == [[1, 1]]
    free = fs.metrics.regions(np.array([[7, 7, 9]]), np.array([[3, 4, 4]]), regions="given")
    assert free.counts["torn_truth"].tolist() == [[1]]


@pytest.mark.slow
def test_on_human_segmentations_ror_and_pe_say_what_rom_and_rum_no_longer_can(data: Any) -> None:
    from PIL import Image

    found = {}
    for level in ("60", "05"):
        pairs = [
            (path, data / "bsds" / "machine" / f"{path.stem.rsplit('_', 1)[0]}_ucm{level}.png")
            for path in sorted((data / "bsds" / "human").glob("*.png"))
        ]
        human, machine = ([np.asarray(Image.open(pair[k])) for pair in pairs] for k in (0, 1))
        assert len(human) == 161
        found[level] = fs.metrics.regions(human, machine, regions="given")
    coarse, fine = found["60"], found["05"]
    assert [round(coarse.ror, 2), round(coarse.pe_os, 2), round(coarse.rur, 2), round(coarse.pe_us, 2)] == [
        0.55,
        0.06,
        0.94,
        0.72,
    ]
    assert [round(fine.ror, 2), round(fine.pe_os, 2), round(fine.rur, 2), round(fine.pe_us, 2)] == [
        0.89,
        0.45,
        0.39,
        0.29,
    ]
    assert min(coarse.rom, coarse.rum, fine.rom, fine.rum) > 0.9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"regions": "cut"}, "connected or given"),
        ({"void": "drop"}, "void='drop'"),
        ({"absent": "one"}, "absent='one'"),
        ({"scale": "relu"}, "scale='relu'"),
        ({"match": "giou"}, "match='giou'"),
        ({"per": "image"}, "per='image'"),
        ({"connectivity": 5}, "4 .sides."),
    ],
)
def test_a_choice_that_is_not_known_is_refused_with_those_that_are(
    options: dict[str, Any], words: str
) -> None:
    with refused(FaultscapeError, words):
        fs.metrics.regions(np.zeros((2, 2), int), np.zeros((2, 2), int), **({"classes": 2} | options))


def test_wrong_maps_are_refused() -> None:
    with refused(LabelMapError, "there is no map"):
        fs.metrics.regions([], [], 2)
    good = np.zeros((2, 3), int)
    for bad, words in (
        (np.zeros((3, 2), int), "3 x 2 pixels"),
        (good + 9, "image 0: holds the value 9"),
        (good * 1.0, "whole numbers"),
        (np.ma.masked_equal(good, 1), "masked"),
    ):
        with refused(FaultscapeError, words):
            fs.metrics.regions(good, bad, classes=2)
    with refused(FaultscapeError, "give classes, or regions='given'"):
        fs.metrics.regions(good, good)
    with refused(FaultscapeError, "2 true maps and 1 predicted"):
        fs.metrics.regions([good, good], [good], 2)


def test_overlaps_that_are_not_counted_cannot_be_asked_for() -> None:
    counts = region_set.count(
        [overlaps(np.zeros((1, 2), np.uint8), np.zeros((1, 2), np.uint8), 1)] * 2, 1, "iou"
    )
    with refused(FaultscapeError, r"overlap=0.4 is not counted; use one of 0.5, 0.55"):
        over_under.average_precision_of_regions(counts, 0.4)


def test_the_background_is_not_counted_as_undefined_by_pooled_region_metrics() -> None:
    one = np.array([[0, 0, 1, 1]], np.uint8)
    classes = region_set.resolve(3, background=0)  # class 2 is on neither side
    stats, _ = image_statistics.of_maps(one, one, classes, Definitions())
    found = summary.summarise(
        {k: np.asarray(v)[None] for k, v in stats.items()}, Definitions(), classes.groups, np.ones(1, bool)
    )
    assert [found[name].undefined for name in ("pq", "boundary_iou", "miou")] == [1, 1, 1]


def test_a_class_all_of_whose_regions_are_unknown_counts_0_or_is_undefined_by_choice() -> None:
    """S1 III-B and Fig. 5, which leave it open. Class 1 is torn and unsure, class 2 torn and sure."""
    from faultscape.metrics import image_statistics
    from faultscape.metrics.definitions import define

    truth = np.zeros((9, 20), np.uint8)
    truth[1:4, 1:19], truth[5:8, 1:19] = 1, 2
    prediction = truth.copy()
    prediction[:, 9:11] = 0
    sure = np.where(prediction == 1, 0.2, 0.9).astype(np.float32)
    classes = fs.classes.resolve(3)
    torn = np.tanh(1 * 2 / (1 * 2))  # one true region, two pieces, one too many
    found = {}
    for choice in ("zero", "nan"):
        stats, _ = image_statistics.of_maps(
            truth, prediction, classes, define(all_unknown=choice), confidence=sure, boundaries=False
        )
        found[choice] = stats["curve_rom"][[0, 30, 95]]
    first = found["zero"][0]
    assert first == found["nan"][0]  # all regions count
    background = 3 * first - 2 * torn
    assert found["zero"][1] == pytest.approx((background + torn) / 3)
    assert found["nan"][1] == pytest.approx((background + torn) / 2)
    assert found["zero"][2] == 0
    assert np.isnan(found["nan"][2])
