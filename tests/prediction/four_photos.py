"""Four photos that a person's own code or program segments by their red, and what a study then holds of
them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import faultscape as fs
import made
from faultscape.maps import runs
from faultscape.study.tables import label_maps


def collected(tmp_path: Path) -> Path:
    """A study of four photos, one of which begins with a pixel of 77."""
    rng = np.random.default_rng(2)
    corpus = made.corpus(tmp_path / "corpus", images=1, models=1)
    for k in range(4):
        pixels = rng.integers(80, 256, (20, 24, 3), np.uint8)
        pixels[0, 0, 0] = 77 if k == 2 else 200
        made.write(tmp_path / "photos" / f"p{k}.png", pixels)
    fs.collect(str(tmp_path / "study"), str(tmp_path / "photos"), classes=str(corpus.classes))
    return tmp_path / "study"


def stored(study: Path, name: str) -> dict[str, np.ndarray]:
    folder = label_maps.predictions(study, name)
    return {m.id: runs.decode(m.runs) for m in label_maps.read_stored(folder, 0)}


def red(study: Path) -> dict[str, np.ndarray]:
    return {
        f"p{k}": fs.formats.read_rgb(study.parent / "photos" / f"p{k}.png")[..., 0] > 127 for k in range(4)
    }
