"""Many scores come into ascending order, by whichever code."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.metrics.kernels import order as compiled
from faultscape.metrics.scores import inputs

RNG = np.random.default_rng(0)
NUMBERS = {
    "both signs, and infinities": np.concatenate([RNG.normal(size=20_000), [np.inf, -np.inf, 0.0, -0.0]]),
    "ties": RNG.integers(0, 5, 20_000) / 8,
    "all alike": np.full(20_000, 0.5),
    "an odd number of bytes differs": 1 + RNG.integers(0, 1 << 15, 20_000) / (1 << 23),
    "tiny": RNG.normal(size=20_000) * 1e-40,
    "few": np.array([0.5, 0.25]),
    "one": np.array([0.5]),
    "none": np.array([]),
}


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.uint32])
@pytest.mark.parametrize("name", NUMBERS)
def test_the_compiled_order_is_that_of_numpy(name: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_FEW", 1)
    monkeypatch.setattr(compiled, "is_numpy_fast", lambda: False)
    monkeypatch.setattr(inputs._ORDER, "_chosen", compiled)
    values = NUMBERS[name].astype(np.float32)
    given = values.view(np.uint32) if kind is np.uint32 else values.astype(kind)
    ordered = given.copy()
    inputs.sort(ordered)
    np.testing.assert_array_equal(ordered, np.sort(given))


def test_nan_of_either_sign_is_at_an_end() -> None:
    values = np.linspace(-1, 1, 1000, dtype=np.float32)
    values[[3, 500]] = np.nan, -np.nan
    compiled.sort(values.view(np.uint32), np.empty(1000, np.uint32), True)
    assert np.isnan(values[[0, -1]]).all()
    assert (np.diff(values[1:-1]) > 0).all()


@pytest.mark.parametrize("kind", [np.int64, np.uint16, np.float16])
def test_other_kinds_of_numbers_are_sorted_too(kind: type) -> None:
    values = RNG.integers(0, 2000, 20_000).astype(kind)
    ordered = values.copy()
    inputs.sort(ordered)
    np.testing.assert_array_equal(ordered, np.sort(values))
