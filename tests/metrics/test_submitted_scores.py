"""Scores of which nobody says what they are: rounded to 16 bits in their order, and near enough for numbers
that are compared within .01.
"""

from __future__ import annotations

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import OptionError
from faultscape.metrics.scorers import SCORERS, SUBMITTED, check_scorers, rounded, scorer_named
from faultscape.metrics.scores.submissions import offset_of_submitted, round_submitted
from refusals import refused

KINDS = {
    "energy": lambda z: -12 + 2 * z,
    "saturated": lambda z: 1 / (1 + np.exp(-8 * z + 2)),
    "max probability": lambda z: 1 / (1 + np.exp(-2 * z + 6)),
    "odin": lambda z: 0.9474 + 0.0005 * np.tanh(z / 3),
    "likelihoods": lambda z: 1e6 * np.exp(z),
    "tiny": lambda z: 1e-8 * np.exp(z),
    "tiny, of either sign": lambda z: 1e-8 * z,
    "below one end": lambda z: -np.exp(-z),
}


@pytest.fixture(scope="module")
def pixels() -> tuple[np.ndarray, np.ndarray]:
    """Labels of anomaly, 2 % of them 1, and normal scores that are larger there."""
    rng = np.random.default_rng(0)
    anomaly = (rng.random((100, 500)) < 0.02).astype(np.uint8)
    return anomaly, rng.normal(size=anomaly.shape) + 1.7 * anomaly


def numbers(score: np.ndarray, anomaly: np.ndarray) -> tuple[float, float]:
    found = fs.metrics.detection(score.astype(np.float32), anomaly)
    return found.average_precision, found.fpr95


@pytest.mark.parametrize("kind", KINDS)
def test_rounding_keeps_the_order_and_the_numbers(kind: str, pixels: tuple[np.ndarray, np.ndarray]) -> None:
    anomaly, z = pixels
    score = KINDS[kind](z).astype(np.float32)
    offset = offset_of_submitted(score[:20])  # as of the first image
    half = round_submitted(score, offset)
    assert half.dtype == np.float16
    assert (np.diff(half.ravel()[np.argsort(score, axis=None)].astype(float)) >= 0).all()
    assert np.abs(np.subtract(numbers(half, anomaly), numbers(score, anomaly))).max() < 0.003


@pytest.mark.parametrize(("kind", "other"), [("saturated", 0.01), ("odin", None)])
def test_one_rounding_for_all_kinds_would_not_do(
    kind: str, other: float | None, pixels: tuple[np.ndarray, np.ndarray]
) -> None:
    anomaly, z = pixels
    score = KINDS[kind](z).astype(np.float32)
    assert (offset_of_submitted(score) is None) != (other is None)
    wrong = numbers(round_submitted(score, other), anomaly)
    assert np.abs(np.subtract(wrong, numbers(score, anomaly))).max() > 0.01


def test_what_the_first_image_did_not_show_keeps_its_order_beyond_the_ends() -> None:
    score = np.array([-1e9, -40, -1.5, -2e-2, 0, 1e-7, 0.5, 1 - 6e-8, 1, 1.02, 33, 34, 1e9], np.float32)
    assert (np.diff(round_submitted(score, None).astype(float)) > 0).all()
    assert (np.diff(round_submitted(score, 0.25).astype(float)) > 0)[[0, 1, 2, 3, 5, 6, 8, 9, 10, 11]].all()
    assert round_submitted(np.array([0.25, -0.25], np.float32), 0.25).tolist()[0] == 0.0


def test_it_is_no_entry_of_the_catalogue_and_no_network_is_asked_for_it() -> None:
    assert SUBMITTED not in SCORERS
    assert scorer_named("submitted") is SUBMITTED
    assert rounded(SUBMITTED, np.array([0.5], np.float32), 19, None).tolist() == [0.0]
    with refused(OptionError, "--scorer submitted is written by a submission itself"):
        check_scorers(["submitted"])
