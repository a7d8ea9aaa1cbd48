"""The laws of measuring: order of models; counts that merge in any order and pass what 32 bits hold.

Engines and kills: test_engines.py. Another processor, and no numba: test_elsewhere.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.metrics import summary
from faultscape.metrics.catalogue import METRICS
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.overlaps import regions


@pytest.mark.slow
def test_models_in_another_order_have_the_same_numbers(tmp_path: Path) -> None:
    """Of two shards, of 64 images and 2, with a confidence for every image."""
    corpus = made.corpus(tmp_path / "corpus", images=66, models=2, shape=(24, 32))
    sure = made.confidences(corpus)
    found = [
        fs.measure(
            corpus.truth,
            {name: str(corpus.models[name]) for name in names},
            classes=corpus.classes,
            output=tmp_path / names[0],
            resamples=50,
            scores=fs.options.ScoreFolders(confidence=dict.fromkeys(names, sure)),
            engine="local",
        ).models
        for names in ([*corpus.models], [*corpus.models][::-1])
    ]
    assert {name: found[1][name] for name in corpus.models} == found[0]


def counts(images: int = 12) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, (images, 9, 9))
    prediction = np.where(rng.random(truth.shape) < 0.6, truth, rng.integers(0, 3, truth.shape))
    found = fs.metrics.regions(truth, prediction, 3).counts
    pairs = fs.comparison.count({"m": prediction}, 3, truth=truth)
    return found | {
        "both": pairs.both[0],
        "truth_pixels": pairs.rows[0],
        "predicted_pixels": pairs.columns[0],
    }


def test_counts_merge_in_any_order() -> None:
    stats = counts()
    order = np.random.default_rng(1).permutation(12)
    one = summary.summarise(stats, Definitions(), (0, 1, 2), np.ones(12, bool))
    other = summary.summarise(
        {name: values[order] for name, values in stats.items()}, Definitions(), (0, 1, 2), np.ones(12, bool)
    )
    assert set(one) >= {"miou", "rom", "pq"}
    for name, found in one.items():
        assert found.value == pytest.approx(other[name].value, rel=1e-12), name
        assert found.undefined == other[name].undefined
    for name in ("miou", "fwiou", "mpa", "pixel_accuracy", "dice"):  # of whole numbers alone: to the last bit
        assert one[name].value == other[name].value


def test_images_left_out_count_for_nothing() -> None:
    stats, used = counts(), np.arange(12) % 3 > 0
    found = summary.summarise(stats, Definitions(), (0, 1, 2), used)
    kept = {name: values[used] for name, values in stats.items()}
    again = summary.summarise(kept, Definitions(), (0, 1, 2), np.ones(8, bool))
    for name, entry in found.items():
        assert entry.value == pytest.approx(again[name].value, rel=1e-12), name
        assert np.isnan(entry.evidence.linear.slopes[~used]).all(), name
        assert entry.evidence.linear.slopes[used] == pytest.approx(
            again[name].evidence.linear.slopes, rel=1e-8, abs=1e-12
        ), name


def test_slopes_say_how_a_number_moves_with_an_image() -> None:
    """An image that counts twice moves a mean by its slope n / (n + 1), a number made of sums by its slope to
    first order.
    """
    stats, n = counts(400), 400
    found = summary.summarise(stats, Definitions(), (0, 1, 2), np.ones(n, bool))
    cells = {metric.name for metric in METRICS if metric.join == "cells"}
    for place in (0, 7):
        twice = {name: np.concatenate([values, values[[place]]]) for name, values in stats.items()}
        again = summary.summarise(twice, Definitions(), (0, 1, 2), np.ones(n + 1, bool))
        for name, entry in found.items():
            slope = float(entry.evidence.linear.slopes[place])
            moved = again[name].value - entry.value
            exact = slope * n / (n + 1)
            assert moved == pytest.approx(exact, abs=1e-12 if name in cells else 4 * abs(slope) / n + 1e-9), (
                name
            )


def test_counts_beyond_2_to_the_31_are_right() -> None:
    stats = {
        name: values.astype(np.int64) * (1 << 33) if values.dtype.kind == "i" else values * float(1 << 33)
        for name, values in counts().items()
    }
    large = summary.summarise(stats, Definitions(), (0, 1, 2), np.ones(12, bool))
    small = summary.summarise(counts(), Definitions(), (0, 1, 2), np.ones(12, bool))
    for name in ("miou", "fwiou", "mpa", "pixel_accuracy", "dice", "pq", "sq", "rq"):
        assert large[name].value == pytest.approx(small[name].value, rel=1e-12), name
    assert stats["both"].max() > 1 << 33


def test_a_table_of_one_huge_region_does_not_overflow() -> None:
    """IoU and Dice thresholds are compared in whole numbers: regions of 2^31 - 1 pixels times 20 must still
    fit.
    """
    from faultscape.maps.regions import Overlaps
    from faultscape.metrics.overlaps import region_counts

    n = np.array([2**31 - 1], np.int64)
    zero = np.zeros(1, np.int32)
    table = Overlaps(zero, n, zero, n, np.zeros(1, np.int64), zero, zero, n)
    for match in ("iou", "dice"):
        assert [int(v[0]) for v in region_counts.count_matches(table, 1, match=match).values()] == [1] * 10
    assert region_counts.count_quality(table, 1)["pq_iou_sum"] == [1.0]
    assert float(regions.measure(regions.count([table, table], 1, "iou"))["rom"][0]) == 0
