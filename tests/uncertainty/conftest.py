"""torch, for the tests of its room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def torch() -> Any:
    """The library, whose random numbers begin anew."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch


@pytest.fixture
def no_gradients(torch: Any) -> Iterator[None]:
    with torch.set_grad_enabled(False):
        yield
