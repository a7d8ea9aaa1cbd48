"""Quartiles of shares: of all pixels of a mask, void included, over the masks that hold the class."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made

VOID = 255
# sky in 2, 4, 6 and 8 of 8 pixels; road in the first mask alone; person in none; what is left is void
MASKS = np.array(
    [[0] * k + [1] * (k == 2) + [VOID] * (8 - k - (k == 2)) for k in (2, 4, 6, 8)], np.uint8
).reshape(4, 2, 4)


def test_void_counts_in_the_denominator_of_shares() -> None:
    scale = fs.selection.scale(MASKS, fs.classes.resolve(3, void=VOID))
    assert scale.n_images == (4, 1, 0)
    assert scale.t_min[:2] == (0.4375, 0.125)  # between 1/4 and 2/4; 1/8
    assert scale.t_max[:2] == (0.8125, 0.125)  # between 3/4 and 4/4
    assert math.isnan(scale.t_min[2])
    assert math.isnan(scale.t_max[2])


def test_the_scale_file_of_a_folder_holds_the_same_numbers(tmp_path: Path) -> None:
    for k, mask in enumerate(MASKS):
        made.write(tmp_path / "masks" / f"{k}.png", mask)
    classes = {"classes": ["sky", "road", "person"], "void": VOID}
    (tmp_path / "classes.json").write_text(json.dumps(classes))
    fs.scale(tmp_path / "masks", classes=tmp_path / "classes.json", output=tmp_path / "scale.json")
    assert json.loads((tmp_path / "scale.json").read_text())["classes"] == {
        "sky": {"n_images": 4, "t_min": 0.4375, "t_max": 0.8125},
        "road": {"n_images": 1, "t_min": 0.125, "t_max": 0.125},
        "person": {"n_images": 0, "t_min": None, "t_max": None},
    }


def test_void_counts_in_the_shares_of_a_models_map_as_well() -> None:
    classes = fs.classes.resolve(3, void=VOID)
    maps = {"a": MASKS, "b": MASKS[:, ::-1]}
    pairs = fs.comparison.count(maps, classes)
    scale = fs.selection.scale(MASKS, classes)
    slots = fs.selection.duels(pairs, scale=scale, spares=9)
    chosen = {
        name: sorted({int(r.image) for r in slots.rows if r.class_ == name})
        for name in ("class-0", "class-1")
    }
    assert chosen == {
        "class-0": [1, 2],
        "class-1": [0],
    }  # 4/8 and 6/8 lie between the quartiles, 2/8 and 8/8 outside


@pytest.mark.parametrize("masks", [MASKS, MASKS[::-1]])
def test_the_order_of_masks_is_no_matter(masks: np.ndarray) -> None:
    scale = fs.selection.scale(masks, fs.classes.resolve(3, void=VOID))
    assert (scale.t_min[0], scale.t_max[0]) == (0.4375, 0.8125)
