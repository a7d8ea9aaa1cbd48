"""Sizes and places of blended objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.stressors import (
    Cutout,
    Placement,
    chance_of_lower_half,
    coverage,
    drawn_cutout,
    drawn_cutouts,
    plan_blend,
)
from faultscape.stressors.placement import _nearest, draw_box, own_box
from faultscape.stressors.streams import Stream
from refusals import refused

FRAME = (256, 512)


def box(class_: str = "box", height: int = 20, width: int = 30) -> Cutout:
    return Cutout(
        np.zeros((height, width, 3), np.uint8), np.full((height, width), 255, np.uint8), class_, class_
    )


def placed(
    cutouts: Sequence[Cutout], count: int, forbidden: np.ndarray | None = None
) -> list[tuple[Cutout, Placement]]:
    plans = [
        plan_blend(FRAME, cutouts, "fishyscapes-v2", seed=0, key=str(k), forbidden=forbidden)
        for k in range(count)
    ]
    return [pair for plan in plans for pair in plan.placed(cutouts)]


def test_default_sizes_give_fs_static_s_share_of_anomalous_pixels() -> None:
    """4.5e7 anomalous pixels in 1,000 frames of 1024 x 2048."""
    pairs = placed(drawn_cutouts(1), 500)
    share = coverage(pairs, FRAME).sum() / (len(pairs) * FRAME[0] * FRAME[1])
    assert share == pytest.approx(4.5e7 / (1000 * 1024 * 2048), rel=0.1)


def test_sizes_and_places_are_like_those_of_real_frames(data: Path) -> None:
    shares, middles = [], []
    for path in (data / "anomaly" / "fs_static" / "masks").iterdir():
        anomalous = np.asarray(Image.open(path)) == 1
        if anomalous.any():
            shares.append(anomalous.mean())
            middles.append(np.nonzero(anomalous)[0].mean() / anomalous.shape[0])
    pairs = placed(drawn_cutouts(1), 300)
    ours = [
        cutout.area * p.width * p.height / (cutout.alpha.size * FRAME[0] * FRAME[1]) for cutout, p in pairs
    ]
    assert np.quantile(ours, [0.25, 0.5, 0.75]) == pytest.approx(
        np.quantile(shares, [0.25, 0.5, 0.75]), abs=0.008
    )
    assert np.mean(middles) > 0.5, "in real frames too, objects lie rather low"


@pytest.mark.parametrize(
    ("class_", "low"),
    [("horse", 0.8), ("Dog", 0.8), ("bird", 0.2), ("aeroplane", 0.2), ("sofa", 0.5), ("", 0.5)],
)
def test_mammals_lie_rather_low_and_fliers_rather_high(class_: str, low: float) -> None:
    assert chance_of_lower_half(class_) == low
    middles = [p.y + p.height / 2 for _, p in placed([box(class_)], 400)]
    assert np.mean(np.array(middles) > FRAME[0] / 2) == pytest.approx(low, abs=0.07)


def test_every_pixel_away_from_the_border_is_covered_about_as_often() -> None:
    pairs = placed([box("sofa")], 3000)
    counts = coverage(pairs, FRAME)
    height, width = FRAME
    cells = counts.reshape(8, height // 8, 16, width // 16).mean((1, 3))
    inside = cells[2:-2, 2:-2]
    assert inside.min() > 0.6 * inside.mean()
    assert inside.max() < 1.4 * inside.mean()
    assert cells[0, 0] > 0.12 * inside.mean(), "corners are covered too, if less"


def test_objects_lie_wholly_inside_and_never_on_forbidden_pixels() -> None:
    ego = np.zeros(FRAME, bool)
    ego[200:, 100:400] = True
    pairs = placed([box("horse"), drawn_cutout("cat")], 150, ego)
    assert all(0 <= p.x <= FRAME[1] - p.width and 0 <= p.y <= FRAME[0] - p.height for _, p in pairs)
    assert not (coverage(pairs, FRAME) * ego).any()
    assert coverage(pairs, FRAME)[200:, :100].any(), "what is beside the vehicle is free"


def test_an_object_shrinks_until_it_fits_and_is_refused_where_nothing_is_free() -> None:
    free = np.ones(FRAME, bool)
    free[100:130, 200:240] = False
    x, y, width, height = draw_box(box(), FRAME, Stream(0, "a"), forbidden=free)
    assert width <= 40
    assert not free[y : y + height, x : x + width].any()
    with refused(
        fs.errors.OptionError, "no place for box in a frame of 512 x 256: forbidden pixels leave no room"
    ):
        draw_box(box(), FRAME, Stream(0, "a"), forbidden=np.ones(FRAME, bool))
    with refused(fs.errors.OptionError, r"forbidden pixels have shape \(2, 2\), the frame \(256, 512\)"):
        plan_blend(FRAME, [box()], "fishyscapes-v2", seed=0, key="a", forbidden=np.ones((2, 2), bool))


def test_objects_larger_than_the_frame_are_made_to_fit() -> None:
    x, y, width, height = draw_box(box(height=900, width=1500), (48, 64), Stream(0, "a"))
    assert 0 <= x <= 64 - width
    assert 0 <= y <= 48 - height


def test_transparent_objects_are_refused() -> None:
    faint = Cutout(np.zeros((5, 5, 3), np.uint8), np.full((5, 5), 90, np.uint8), "mist")
    with refused(fs.errors.ImageError, "mist: none of its pixels is more than half opaque"):
        draw_box(faint, FRAME, Stream(0, "a"))


def test_known_objects_stand_at_their_own_place_at_any_size_of_frame() -> None:
    car = Cutout(
        np.zeros((40, 80, 3), np.uint8),
        np.full((40, 80), 255, np.uint8),
        "car",
        "car",
        use="known",
        corner=(100, 120),
        frame=(256, 512),
    )
    assert own_box(car, (256, 512)) == (100, 120, 80, 40)
    assert own_box(car, (512, 1024)) == (200, 240, 160, 80)
    with refused(fs.errors.ImageError, "box: its original place is unknown"):
        own_box(box(), FRAME)


def test_coverage_counts_the_mask_and_not_the_box() -> None:
    ring = np.full((9, 9), 255, np.uint8)
    ring[3:6, 3:6] = 0
    cutout = Cutout(np.zeros((9, 9, 3), np.uint8), ring, "ring")
    counts = coverage([(cutout, Placement(cutout.digest, "ring", "", "anomaly", -3, 0, 9, 9))] * 2, (10, 10))
    assert counts.max() == 2
    assert counts[4, 0] == counts[4, 2] == 0
    assert counts.sum() == 2 * (9 * 6 - 9)
    assert _nearest(ring, 9, 9) is not ring
