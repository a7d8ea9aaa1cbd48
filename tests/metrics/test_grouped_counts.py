"""Pixels by score and by what they are: exact, coded and read back the same, and the numbers and slopes that
follow.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student_t

from faultscape.errors import LabelMapError, MetricError
from faultscape.metrics.intervals.slopes import student_interval
from faultscape.metrics.intervals.units import Units, draw_units, units_of
from faultscape.metrics.scores import bootstrap, grouped_counts, rank_slopes
from faultscape.metrics.scores.bootstrap import SparseHistogram
from faultscape.metrics.scores.detection import detection
from faultscape.metrics.scores.grouped_counts import (
    GroupedCounts,
    count_groups,
    decode_counts,
    encode_counts,
    group_pixels,
    of_anomaly,
    of_errors,
    of_pasted,
    with_void,
)
from faultscape.metrics.scores.histogram import SIZE, VALUES
from faultscape.metrics.scores.rank_slopes import average_precision_of, rank_images
from refusals import refused


def frame(
    seed: int, objects: int = 3, *, classes: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Scores float16 (24, 40), labels of anomaly with void, and which known pixels are wrong."""
    rng = np.random.default_rng(seed)
    anomaly = np.zeros((24, 40), np.uint8)
    for _ in range(objects):
        y, x = rng.integers(0, 18), rng.integers(0, 32)
        anomaly[y : y + rng.integers(1, 6), x : x + rng.integers(1, 8)] = 1
    anomaly[:2] = 255
    wrong = (rng.random(anomaly.shape) < 0.2).astype(np.uint8)
    wrong[:, :3] = 255  # no class is known there
    score = (rng.normal(size=anomaly.shape) * 2 + 2 * (anomaly == 1) + wrong % 2).astype(np.float16)
    return score, anomaly, wrong if classes else None


def same(one: GroupedCounts, other: GroupedCounts) -> bool:
    rows = all((a == c).all() and (b == d).all() for (a, b), (c, d) in zip(one.rows, other.rows, strict=True))
    return rows and bool(
        (one.objects.pixels == other.objects.pixels).all() and (one.objects.down == other.objects.down).all()
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 5), st.booleans())
def test_counts_are_those_of_the_pixels_and_survive_their_code(
    seed: int, objects: int, classes: bool
) -> None:
    score, anomaly, wrong = frame(seed, objects, classes=classes)
    groups, held = group_pixels(anomaly, wrong)
    counts = count_groups(score, groups, held)
    assert same(counts, decode_counts(encode_counts(counts)))
    known = anomaly == 0
    assert sum(int(of.sum()) for _, of in counts.rows) == anomaly.size
    assert counts.rows[3][1].sum() == (anomaly == 255).sum()
    assert counts.objects.pixels.sum() == (anomaly == 1).sum()
    histogram = of_anomaly(counts)
    assert histogram.known.sum() == known.sum()
    exact = detection(score[anomaly != 255], anomaly[anomaly != 255])
    if exact.positives:
        found = rank_images([histogram])
        assert float(found.average_precision.value) == pytest.approx(exact.average_precision, abs=1e-12)
        assert float(found.auroc.value) == pytest.approx(exact.auroc, abs=1e-12)
        assert float(found.fpr.value) == pytest.approx(exact.fpr95, abs=1e-12)
        assert average_precision_of(*dense(histogram)) == pytest.approx(exact.average_precision, abs=1e-12)
    if wrong is not None:
        judged = known & (wrong != 255)
        errors = detection(score[judged], wrong[judged])
        assert float(rank_images([of_errors(counts)]).auroc.value) == pytest.approx(errors.auroc, abs=1e-12)


def dense(histogram: SparseHistogram) -> tuple[np.ndarray, np.ndarray]:
    out = np.zeros((2, 65536), np.int64)
    out[:, histogram.places] = histogram.known, histogram.anomalous
    return out[0], out[1]


def test_the_compiled_count_equals_its_plain_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    score, anomaly, wrong = frame(7)
    groups, held = group_pixels(anomaly, wrong)
    mine = count_groups(score, groups, held)
    monkeypatch.setattr(grouped_counts, "counting_kernels", lambda: None)
    assert same(mine, count_groups(score, groups, held))


def test_coarse_counts_keep_one_place_of_sixteen_and_the_order() -> None:
    score, _, wrong = frame(3)
    groups, held = group_pixels(None, wrong)
    fine, coarse = (count_groups(score, groups, held, coarse=of) for of in (False, True))
    for (places, of), (few, less) in zip(fine.rows, coarse.rows, strict=True):
        assert less.sum() == of.sum()
        assert set(few // 16) == set(places // 16)
    assert float(rank_images([of_errors(coarse)]).auroc.value) == pytest.approx(
        float(rank_images([of_errors(fine)]).auroc.value), abs=5e-3
    )


def test_objects_say_where_they_are() -> None:
    anomaly = np.zeros((10, 20), np.uint8)
    anomaly[8:10, :2], anomaly[0, 19] = 1, 1
    _, objects = group_pixels(anomaly, None)
    assert objects.pixels.tolist() == [1, 4]
    assert objects.down.tolist() == [0.05, 0.9]
    assert objects.right.tolist() == [0.975, 0.05]


def test_void_pixels_change_nothing_whatever_stands_there() -> None:
    score, anomaly, wrong = frame(4)
    groups, held = group_pixels(anomaly, wrong)
    before = count_groups(score, groups, held)
    score[anomaly == 255] = np.nan
    after = count_groups(score, groups, held)
    assert of_anomaly(after).known.sum() == of_anomaly(before).known.sum()
    assert all(
        (a[1] == b[1]).all() for k, (a, b) in enumerate(zip(before.rows, after.rows, strict=True)) if k != 3
    )
    score[5, 5] = np.inf
    with refused(
        MetricError,
        "a.png: 1 scores are NaN or infinite; expected finite numbers in all pixels that are not void",
    ):
        count_groups(score, groups, held, where="a.png")


def test_minus_zero_is_zero() -> None:
    groups, held = group_pixels(None, np.zeros((1, 2), np.uint8))
    (places, of), *_ = count_groups(np.array([[0.0, -0.0]], np.float16), groups, held).rows
    assert (VALUES[places].tolist(), of.tolist()) == ([0.0], [2])


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c[:-3],
        lambda c: b"XX" + c[2:],
        lambda c: c[:8],
        lambda c: c[:2] + b"\xff\xff" + c[4:],
        lambda _: b"",
    ],
)
def test_damaged_codes_are_refused(change: object) -> None:
    score, anomaly, wrong = frame(5)
    code = encode_counts(count_groups(score, *group_pixels(anomaly, wrong)))
    with refused(LabelMapError, "the code of counts is damaged"):
        decode_counts(change(code))


@pytest.mark.parametrize("steps", [SIZE, 2048])
def test_slopes_are_what_a_number_loses_without_a_unit(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_slopes, "_STEPS", steps)
    monkeypatch.setattr(rank_slopes, "_FEWEST", steps)
    images = [
        of_anomaly(count_groups(score, *group_pixels(anomaly, wrong)))
        for score, anomaly, wrong in map(frame, range(18))
    ]
    of = np.arange(18) % 9
    draws = draw_units(units_of(9), 40, 3)
    found = rank_images(images, of, draws)
    without = np.array(
        [bootstrap.replicates(images, (of != unit)[None].astype(float))[0] for unit in range(9)]
    )
    jackknife = 8 / 9 * (without.mean(0) - without)
    within = 1e-12 if steps == SIZE else 0.1 * np.abs(jackknife).max()  # of few thresholds they are near
    assert np.abs(found.average_precision.slopes - jackknife[:, 0]).max() <= within
    assert np.abs(found.auroc.slopes - jackknife[:, 1]).max() <= within
    drawn = bootstrap.replicates(images, draws.weights[1:41][:, of].astype(float))[:, 2]
    assert np.abs(found.fpr.replicates - drawn).max() <= (1e-12 if steps == SIZE else 0.1)
    spread = float(((without[:, 0] - without[:, 0].mean()) ** 2).sum() * 8 / 9)
    low, high = student_interval(found.average_precision, Units(np.arange(9), 9))
    assert (high - low) / 2 == pytest.approx(
        student_t.ppf(0.975, 8) * np.sqrt(spread), rel=1e-9 if steps == SIZE else 0.1
    )


def test_fewer_than_six_units_with_anomalies_carry_no_interval() -> None:
    def of_frames(objects: int) -> list[bootstrap.SparseHistogram]:
        frames = [frame(k, objects=3 if k < objects else 0) for k in range(20)]
        return [
            of_anomaly(count_groups(score, *group_pixels(anomaly, wrong))) for score, anomaly, wrong in frames
        ]

    units, draws = Units(np.arange(20), 20), draw_units(units_of(20), 30, 0)
    some, few = (rank_images(of_frames(objects), None, draws) for objects in (6, 5))
    assert 0 < few.average_precision.value < 1
    for number in (few.average_precision, few.auroc):
        assert np.isnan(student_interval(number, units)).all()
    assert np.isnan(few.fpr.interval(units)).all()
    assert not np.isnan(student_interval(some.auroc, units)).any()
    assert not np.isnan(some.fpr.interval(units)).any()


def test_images_without_anomalies_count_and_sets_without_any_have_no_number() -> None:
    score, anomaly, wrong = frame(1, objects=0)
    found = rank_images([of_anomaly(count_groups(score, *group_pixels(anomaly, wrong)))])
    assert np.isnan(found.average_precision.value)
    assert found.undefined == "no pixel is anomalous"
    score_2, anomaly_2, wrong_2 = frame(2)
    other = of_anomaly(count_groups(score_2, *group_pixels(anomaly_2, wrong_2)))
    both = rank_images([other, of_anomaly(count_groups(score, *group_pixels(anomaly, wrong)))])
    assert both.negatives > rank_images([other]).negatives


@pytest.mark.slow
def test_intervals_cover_the_number_of_all_images_about_as_often_as_they_say() -> None:
    """95 % intervals of AP, AUROC and FPR95 over 40 images drawn from 600 of unequal difficulty, 300
    times.
    """
    rng = np.random.default_rng(0)
    images = []
    for k in range(600):
        shift = rng.normal() * 0.7
        anomaly = np.zeros((12, 20), np.uint8)
        anomaly[: rng.integers(1, 5), :5] = 1
        score = (
            rng.normal(size=anomaly.shape)
            + shift
            + 1.5 * (anomaly == 1)
            + rng.normal() * 0.5 * (anomaly == 1)
        ).astype(np.float16)
        images.append(of_anomaly(count_groups(score, *group_pixels(anomaly, None), where=str(k))))
    whole, units, draws = rank_images(images), Units(np.arange(40), 40), draw_units(units_of(40), 200, 1)
    hit = np.zeros(3)
    for _ in range(300):
        some = rank_images([images[k] for k in rng.choice(600, 40, replace=False)], None, draws)
        intervals = (
            student_interval(some.average_precision, units),
            student_interval(some.auroc, units),
            some.fpr.interval(units),
        )
        for place, ((low, high), truth) in enumerate(
            zip(intervals, (whole.average_precision, whole.auroc, whole.fpr), strict=True)
        ):
            hit[place] += low <= float(truth.value) <= high
    assert (hit / 300 > 0.9).all(), hit / 300
    assert (hit / 300 < 0.995).all(), hit / 300


def test_known_objects_that_were_pasted_in_are_known_pixels_and_can_be_told_apart() -> None:
    score, anomaly, wrong = frame(8, objects=1)
    pasted = np.zeros_like(anomaly)
    pasted[10:14, 20:26] = 1
    groups, objects = group_pixels(anomaly, wrong, pasted)
    counts = count_groups(score, groups, objects)
    assert objects.pasted.tolist() == [False, True]
    assert same(counts, decode_counts(encode_counts(counts)))
    inside = (pasted == 1) & (anomaly == 0)
    assert of_pasted(counts).anomalous.sum() == inside.sum()
    assert of_anomaly(counts).known.sum() == (anomaly == 0).sum()
    assert with_void(counts).known.sum() == (anomaly != 1).sum()
