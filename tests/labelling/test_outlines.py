"""A label map as polygons gives the same map again, whichever of two rules says what a polygon covers."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import faultscape as fs
from faultscape.errors import LabellingError
from faultscape.formats import coco, labelme
from faultscape.formats.label_tools import outlines as module
from faultscape.formats.label_tools.outlines import nested_outlines, outlines
from refusals import refused

IN_ONE_FOLDER = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
Polygons = list[tuple[int, list[tuple[float, float]]]]


def by_pillow(polygons: Polygons, shape: tuple[int, int], nothing: int) -> np.ndarray:
    size = shape[::-1]
    drawn = [
        labelme.checked({"shape_type": "polygon", "points": [[*p] for p in corners]}, value, size, "a")
        for value, corners in polygons
    ]
    return labelme.painted(drawn, size, nothing)


def by_centres(polygons: Polygons, shape: tuple[int, int], nothing: int) -> np.ndarray:
    ids = np.full(shape, nothing)
    for value, corners in polygons:
        ids[coco.mask_of([[v for corner in corners for v in corner]], shape)] = value
    return ids


@st.composite
def maps(draw: st.DrawFn) -> np.ndarray:
    """Noise, noise in blocks, or discs and strokes one over the other."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    kind, values = draw(st.sampled_from(["noise", "blocks", "discs", "strokes"])), draw(st.integers(1, 4))
    if kind in {"noise", "blocks"}:
        noise = rng.integers(0, values, rng.integers(1, 13, 2))
        return noise if kind == "noise" else noise.repeat(rng.integers(1, 5), 0).repeat(rng.integers(1, 5), 1)
    ids = np.zeros((30, 44), np.uint8)
    for _ in range(9):
        x, y, r, value = (int(v) for v in rng.integers(0, [44, 30, 14, values]))
        if kind == "discs":
            cv2.circle(ids, (x, y), r, value, -1)
        else:
            cv2.line(ids, (x, y), tuple(rng.integers(0, 44, 2).tolist()), value, int(rng.integers(1, 6)))
    return ids.astype(np.int64)


@given(maps(), st.sampled_from([0.0, module.EXACT]), st.sampled_from([0, 3]))
def test_polygons_give_the_map_again_pixel_by_pixel(ids: np.ndarray, tolerance: float, nothing: int) -> None:
    polygons = outlines(ids, nothing, tolerance=tolerance)
    assert by_centres(polygons, ids.shape, nothing).tolist() == ids.tolist()
    assert by_pillow(polygons, ids.shape, nothing).tolist() == ids.tolist()


@given(maps())
def test_polygons_of_one_depth_do_not_overlap(ids: np.ndarray) -> None:
    times: dict[int, np.ndarray] = {}
    for depth, _, corners in nested_outlines(ids, 0):
        inside = coco.mask_of([[v for corner in corners for v in corner]], ids.shape)
        times[depth] = times.get(depth, np.zeros(ids.shape, int)) + inside
    assert all(count.max() <= 1 for count in times.values())
    for depth in range(1, len(times)):
        assert not (times[depth].astype(bool) & ~times[depth - 1].astype(bool)).any()


def test_what_lies_in_a_hole_is_painted_later_and_so_is_a_hole_of_nothing() -> None:
    ids = np.zeros((9, 9), int)
    ids[1:8, 1:8] = 5
    ids[2:7, 2:7] = 0
    ids[4, 4] = 7
    assert [(depth, value) for depth, value, _ in nested_outlines(ids, 0)] == [(0, 5), (1, 0), (2, 7)]
    assert [value for value, _ in outlines(ids, 9)] == [0, 5, 0, 7]


def test_a_tolerance_saves_corners_and_costs_some_pixels() -> None:
    ids = cv2.circle(np.zeros((80, 80), np.uint8), (40, 40), 31, 1, -1).astype(int)
    ((_, every),), ((_, exact),), ((_, coarse),) = (
        outlines(ids, 0, tolerance=t) for t in (0.0, module.EXACT, 1.0)
    )
    assert len(every) > len(exact) > 2 * len(coarse)
    assert 0 < np.count_nonzero(ids != by_centres([(1, coarse)], ids.shape, 0)) < 100
    line = np.pad(np.ones((1, 30), int), 3)
    # too thin to lose a corner
    assert by_centres(outlines(line, 0, tolerance=5), line.shape, 0).tolist() == line.tolist()


def test_more_patches_than_anybody_draws_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 7)
    with refused(LabellingError, "4 x 4 pixels has more than 7 patches.*write masks"):
        outlines(np.indices((4, 4)).sum(0) % 2, 0)
    monkeypatch.setattr(module, "MOST", 16)
    assert len(outlines(np.indices((4, 4)).sum(0) % 2, 0)) == 8


@given(
    maps(),
    st.sampled_from([("voc", (0, 3, 20, 255)), ("camvid", (0, 4, 10, 11)), ("ade20k", (0, 1, 150, 7))]),
)
@IN_ONE_FOLDER
def test_labelme_with_polygons_goes_out_and_comes_back(
    tmp_path: Path, ids: np.ndarray, world: tuple[str, tuple[int, ...]]
) -> None:
    classes, ids = fs.classes.resolve(world[0]), np.array(world[1], np.uint16)[ids]
    size = (ids.shape[1], ids.shape[0])
    (tmp_path / "m.json").write_bytes(labelme.encode("m.png", size, ids, classes, outlines=True))
    kinds = {shape["shape_type"] for shape in json.loads((tmp_path / "m.json").read_bytes())["shapes"]}
    assert kinds <= {"polygon"}
    assert labelme.read(tmp_path / "m.json", classes)[0].tolist() == ids.tolist()
