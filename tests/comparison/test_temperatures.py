"""Temperatures: against a search in steps over a plain likelihood, and whatever the order of the images."""

from __future__ import annotations

import math

import numpy as np
import pytest

from faultscape.comparison import fit_temperature


def plain_loss(rows: list[tuple[dict[int, float], set[int]]], classes: int, t: float) -> float:
    """Minus the log of the prior and of the likelihood, image by image and class by class."""
    out = math.log(t) ** 2 / 2
    for named, right in rows:
        rest = (1 - sum(named.values())) / max(classes - len(named), 1)
        weights = [max(named.get(c, rest), 1e-7) ** (1 / t) for c in range(classes)]
        out -= math.log(sum(weights[c] for c in right) / sum(weights))
    return out


@pytest.mark.parametrize("kept", [1, 3, 7])
@pytest.mark.parametrize("true", [0.4, 1.0, 3.0])
def test_a_temperature_is_the_best_of_many(kept: int, true: float) -> None:
    rng = np.random.default_rng(kept)
    logits = rng.normal(0, 3, (60, 7))
    says, means = (np.exp(z) / np.exp(z).sum(1, keepdims=True) for z in (logits, logits / true))
    order = np.argsort(-says, axis=1)[:, :kept]
    shares = np.take_along_axis(says, order, 1)
    truths = [{int(rng.choice(7, p=row))} for row in means]
    truths[5] |= {0, 3}
    rows = [
        (dict(zip(o.tolist(), s.tolist(), strict=True)), t)
        for o, s, t in zip(order, shares, truths, strict=True)
    ]
    found = fit_temperature(order, shares, truths, 7)
    assert found is not None
    steps = np.exp(np.linspace(-2.5, 2.5, 501))
    assert plain_loss(rows, 7, found) <= min(plain_loss(rows, 7, t) for t in steps) + 1e-9
    turned = rng.permutation(60)
    assert fit_temperature(order[turned], shares[turned], [truths[k] for k in turned], 7) == found


@pytest.mark.slow
def test_the_temperature_of_a_sharpened_model_comes_back() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (4000, 5))
    says, means = (np.exp(z) / np.exp(z).sum(1, keepdims=True) for z in (logits, logits / 2))
    truths = [{int(rng.choice(5, p=row))} for row in means]
    assert fit_temperature(np.tile(np.arange(5), (4000, 1)), says, truths, 5) == pytest.approx(2, rel=0.06)


def test_below_twenty_images_that_say_something_there_is_none() -> None:
    labels, shares = np.tile([0, 1], (21, 1)), np.tile([0.8, 0.2], (21, 1))
    truths: list[set[int] | None] = [{0}] * 21
    truths[0] = None
    assert fit_temperature(labels, shares, truths, 2) is not None
    truths[1] = set()  # none of the classes
    assert fit_temperature(labels, shares, truths, 2) is None
    shares[3] = np.nan  # no probabilities
    assert fit_temperature(labels, shares, [{0}] * 20 + [None], 2) is None
