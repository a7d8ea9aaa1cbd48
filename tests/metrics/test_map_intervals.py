"""Metrics of arrays with their intervals: the numbers that measure gives folders of the same maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.classes.class_lists import read
from faultscape.errors import LabelMapError


def test_numbers_and_intervals_of_arrays_are_those_of_folders(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=8, models=2)
    folders = {"model-1": corpus.models["model-1"]}
    measured = fs.measure(
        corpus.truth, folders, classes=corpus.classes, output=tmp_path / "measured", engine="local"
    )
    classes = read(corpus.classes)
    found = fs.metrics.measure_maps(corpus.truths, corpus.maps["model-1"], classes)
    assert {"miou", "rom", "rum", "boundary_f"} <= set(found)
    for name, interval in found.items():
        row = measured.models["model-1"][name]
        told = np.array([row[key] for key in ("value", "low", "high")], float)  # None is NaN
        np.testing.assert_allclose(interval, told, rtol=1e-9, err_msg=name)


def test_images_of_a_group_are_redrawn_together() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, (24, 8, 8))
    prediction = np.where(rng.random(truth.shape) < np.repeat(rng.random(8) / 2, 3)[:, None, None], 0, truth)
    alone = fs.metrics.measure_maps(truth, prediction, 3)["miou"]
    drives = fs.metrics.measure_maps(truth, prediction, 3, groups=[f"drive-{k // 3}" for k in range(24)])[
        "miou"
    ]
    assert drives.value == alone.value
    assert drives.high - drives.low > alone.high - alone.low


def test_fewer_than_six_images_have_a_value_and_no_interval() -> None:
    truth = np.random.default_rng(0).integers(0, 3, (5, 8, 8))
    value, low, high = fs.metrics.measure_maps(truth, truth, 3)["miou"]
    assert value == 1
    assert np.isnan([low, high]).all()


def test_maps_may_differ_in_size_from_image_to_image() -> None:
    maps = [np.random.default_rng(k).integers(0, 3, (8, 8 + k)) for k in range(7)]
    assert fs.metrics.measure_maps(maps, maps, 3)["miou"] == (1, 1, 1)


ONE = np.zeros((7, 4, 4), np.uint8)


@pytest.mark.parametrize(
    ("truth", "prediction", "groups", "words"),
    [
        (ONE, ONE[:6], None, "there are 7 true maps and 6 predicted ones; give one for one"),
        (ONE[:0], ONE[:0], None, "truth: holds no map; give one for each image, I x H x W"),
        (ONE, ONE, ["a"], "there are 7 images and 1 group; give one for one"),
        (ONE, ONE[:, :3], None, "prediction, image 0: is 4 x 3 pixels and its truth 4 x 4"),
        (ONE + 3, ONE, None, "truth, image 0: holds the value 3; allowed are"),
    ],
)
def test_maps_that_do_not_fit_are_refused(
    truth: np.ndarray, prediction: np.ndarray, groups: list[str] | None, words: str
) -> None:
    with pytest.raises(LabelMapError, match=words):
        fs.metrics.measure_maps(truth, prediction, 3, groups=groups)
