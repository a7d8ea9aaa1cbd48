"""The part of select that draws images for all models at once, with known probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faultscape.nouns import Slots


def draw(root: Path, name: str, selector: str, given: dict[str, Any], *, engine: str, workers: int | None) -> Slots:
    """Draw or extend a selection of a study."""
    raise NotImplementedError
