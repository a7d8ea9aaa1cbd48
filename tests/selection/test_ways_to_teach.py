"""The ways of choosing that benchmarks/loop.py compares choose what they say."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("loop")


def maps() -> dict[str, np.ndarray]:
    """Maps of three networks: on image 4 two of them differ everywhere, on 2 in a quarter, elsewhere nowhere."""
    said = {name: np.tile(np.arange(4, dtype=np.uint8), (6, 4, 1)) for name in ("unet", "dilated", "third")}
    said["dilated"][4] = 5
    said["dilated"][2, 0] = 6
    return said


def test_uniform_follows_from_its_seed_and_takes_each_image_once(loop: ModuleType) -> None:
    first = loop.choose_uniform(30, 12, (1, 10))
    assert (first == loop.choose_uniform(30, 12, (1, 10))).all()
    assert (first != loop.choose_uniform(30, 12, (2, 10))).any()
    assert len({*first.tolist()}) == 12


def test_entropy_takes_the_largest(loop: ModuleType) -> None:
    assert loop.choose_entropy(np.array([0.2, 0.9, 0.1, 0.4]), 2).tolist() == [1, 3]


def test_core_set_takes_what_is_farthest_from_all_that_is_held(loop: ModuleType) -> None:
    features = np.array([[0.0], [1.0], [6.0], [10.0], [9.5]])
    # 10 is farthest from 0; then 6, at 4 from 10, before 9.5 beside it
    assert loop.choose_core_set(features, np.array([[0.0]]), 3).tolist() == [3, 2, 1]


def test_duels_take_the_largest_discrepancy_first(loop: ModuleType) -> None:
    assert loop.choose_duels(maps(), 2).tolist() == [4, 2]


def test_draws_take_only_images_on_which_networks_differ(loop: ModuleType) -> None:
    assert sorted(loop.choose_draws(maps(), 2, (0, 10)).tolist()) == [2, 4]


def test_images_needed_are_read_off_a_curve_made_monotone(loop: ModuleType) -> None:
    curve = np.array([0.1, 0.2, 0.4, 0.3, 0.5])  # after 0, 10, 20, 40 and 80 images
    assert loop.needed(curve, 0.35) == pytest.approx(20)
    assert loop.needed(curve, 0.425) == pytest.approx(60)
    assert loop.needed(curve, 0.05) == 0
    assert loop.needed(curve, 0.6) == float("inf")
