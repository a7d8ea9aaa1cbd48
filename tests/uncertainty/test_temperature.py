"""Temperature scaling: the least likelihood's, by a grid; void and unknown pixels never count; members keep
their mean.
"""

from __future__ import annotations

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import MetricError
from faultscape.uncertainty import temperature
from faultscape.uncertainty.temperature import surprise
from faultscape.verbs.fit.fit_temperature import ece_of


def made(
    temperature: float, count: int = 20_000, classes: int = 4, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Logits whose softmax at a temperature says how often each class is the label."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, (count, classes))
    shares = np.exp(logits / temperature)
    labels = (rng.random((count, 1)) > np.cumsum(shares / shares.sum(1, keepdims=True), axis=1)).sum(1)
    return logits, labels


@pytest.mark.parametrize("drawn_at", [0.5, 1.0, 2.5])
def test_the_temperature_that_labels_were_drawn_at_is_found(drawn_at: float) -> None:
    found = fs.uncertainty.fit_temperature(*made(drawn_at))
    assert found.values[0] == pytest.approx(drawn_at, rel=0.05)
    assert found.after <= found.before


def test_it_is_the_least_of_a_grid() -> None:
    logits, labels = made(1.7, 2000)
    found = fs.uncertainty.fit_temperature(logits, labels)
    grid = np.geomspace(0.1, 10, 400)
    plain = [surprise(logits[:, None], labels, t) for t in grid]
    assert found.after <= min(plain) + 1e-9
    assert found.values[0] == pytest.approx(grid[int(np.argmin(plain))], rel=0.02)


def test_a_temperature_a_class_is_no_worse_and_classes_without_pixels_keep_that_of_all() -> None:
    logits, labels = made(1.5)
    logits[:, 2] *= 3  # one class speaks too loudly
    keep = labels != 3
    one = fs.uncertainty.fit_temperature(logits[keep], labels[keep])
    each = fs.uncertainty.fit_temperature(logits[keep], labels[keep], per_class=True)
    assert each.after < one.after
    assert each.values[2] > 2 * each.values[0]
    assert each.values[3] == pytest.approx(one.values[0])


def test_of_members_the_mean_probability_counts() -> None:
    logits, labels = made(1.0, 5000)
    # alike, so that they are one network at half the temperature
    members = np.stack([logits * 2, logits * 2], axis=1)
    assert fs.uncertainty.fit_temperature(members, labels).values[0] == pytest.approx(
        2 * fs.uncertainty.fit_temperature(logits, labels).values[0], rel=1e-3
    )


def test_the_likelihood_is_that_of_plain_numpy() -> None:
    rng = np.random.default_rng(1)
    members, labels = rng.normal(size=(50, 3, 5)), rng.integers(0, 5, 50)
    shares = np.exp(members / 1.3)
    shares = (shares / shares.sum(-1, keepdims=True)).mean(1)
    assert surprise(members, labels, 1.3) == pytest.approx(-np.log(shares[np.arange(50), labels]).mean())


def test_pixels_taken_in_parts_say_what_all_of_them_say(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    members, labels = rng.normal(size=(50, 2, 5)).astype(np.float32), rng.integers(0, 5, 50)
    whole = surprise(members, labels, 0.7), ece_of(members, labels, 0.7)
    monkeypatch.setattr(temperature, "_AT_ONCE", 70)  # seven pixels, and one at the end
    assert (surprise(members, labels, 0.7), ece_of(members, labels, 0.7)) == pytest.approx(whole, rel=1e-12)


def test_nothing_to_fit_to_is_refused() -> None:
    with pytest.raises(MetricError, match="no labelled pixels"):
        fs.uncertainty.fit_temperature(np.zeros((0, 3)), np.zeros(0, int))
    with pytest.raises(MetricError, match="must be finite"):
        fs.uncertainty.fit_temperature(np.full((2, 3), np.nan), np.zeros(2, int))


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (
            np.array([0, -1]),
            r"labels are whole numbers from 0 to 2; got int64 from -1 to 0 \(leave void pixels out\)",
        ),
        (np.array([0, 255]), "from 0 to 255"),
        (np.array([0.0, 1.0]), "got float64"),
        (
            np.array([0, 1, 2]),
            (
                r"logits are \(n, C\) or \(n, T, C\) and labels \(n,\), one row per pixel; got \(2, 1, 3\) and"
                r" \(3,\)"
            ),
        ),
    ],
)
def test_labels_that_are_no_places_of_classes_are_refused(labels: np.ndarray, why: str) -> None:
    with pytest.raises(MetricError, match=why):
        fs.uncertainty.fit_temperature(np.zeros((2, 3)), labels)
