"""What lies over a photo, pixel by pixel against plain loops, and as PNG."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from faultscape.errors import LabelMapError
from faultscape.nouns import Classes
from faultscape.web import overlays
from refusals import refused

C = 3
CLASSES = Classes(("a", "b", "c"), (0, 1, 2), ((10, 20, 30), (40, 50, 60), (70, 80, 90)))
CLEAR = [0, 0, 0, 0]


@st.composite
def stacks(draw: st.DrawFn, number: int) -> list[np.ndarray]:
    """Some maps of one size, with void in them."""
    height, width = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    seed = draw(st.integers(0, 2**32 - 1))
    return list(np.random.default_rng(seed).integers(0, C + 1, (number, height, width), np.uint8))


def painted(overlay: overlays.Overlay) -> list[list[list[int]]]:
    return overlay.colours[overlay.codes].tolist()


@given(stacks(1))
def test_areas_have_the_colours_of_their_classes_and_void_is_clear(stack: list[np.ndarray]) -> None:
    want = [[[*CLASSES.colours[v], 255] if v < C else CLEAR for v in row] for row in stack[0].tolist()]
    assert painted(overlays.fill(stack[0], CLASSES)) == want


@given(stacks(1))
def test_a_line_runs_on_both_sides_of_every_border_with_a_rim_that_is_seen_on_its_colour(
    stack: list[np.ndarray],
) -> None:
    rows = stack[0].tolist()
    height, width = stack[0].shape

    def near(y: int, x: int) -> list[tuple[int, int]]:
        found = [(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)]
        return [(j, i) for j, i in found if 0 <= j < height and 0 <= i < width]

    def line(y: int, x: int) -> bool:
        return rows[y][x] < C and any(rows[j][i] != rows[y][x] for j, i in near(y, x))

    def seen(y: int, x: int) -> list[int]:
        if line(y, x):
            return [*two.colours[rows[y][x]], 255]
        rim = overlays.DARK_RIM if rows[y][x] == 0 else overlays.LIGHT_RIM  # within void too
        return [*rim] if any(line(j, i) for j, i in near(y, x)) else CLEAR

    two = Classes(("a", "b", "c"), (0, 1, 2), ((240, 240, 30), (40, 50, 60), (70, 80, 90)))
    assert painted(overlays.outline(stack[0], two)) == [
        [seen(y, x) for x in range(width)] for y in range(height)
    ]


def test_what_is_too_small_to_be_seen_is_grown_before_it_is_marked_and_nothing_else_is() -> None:
    area = np.zeros((300, 400), bool)
    assert not overlays.large_enough(area).any()
    area[0, 399] = area[150, 200] = True
    grown = overlays.large_enough(area)
    assert grown[150 - 4 : 150 + 5, 200 - 4 : 200 + 5].all()
    assert grown.sum() == 9 * 9 + 5 * 5  # as far as the picture goes
    area[:10, :10] = True
    assert overlays.large_enough(area) is area


@given(stacks(2))
def test_right_and_wrong_are_told_where_the_truth_decides(stack: list[np.ndarray]) -> None:
    found, truth = stack
    want = [
        [0 if t == C else 1 if v == t else 2 for v, t in zip(*rows, strict=True)]
        for rows in zip(found.tolist(), truth.tolist(), strict=True)
    ]
    overlay = overlays.correctness(found, truth, CLASSES)
    assert overlay.codes.tolist() == want
    assert overlay.colours[0].tolist() == CLEAR


@given(stacks(3))
def test_of_two_maps_that_differ_it_is_told_which_is_wrong(stack: list[np.ndarray]) -> None:
    def code(a: int, b: int, t: int) -> int:
        if a == b or t == C:
            return 0
        return 3 if t not in (a, b) else 1 if a != t else 2

    lists = [m.tolist() for m in stack]
    want = [[code(*values) for values in zip(*rows, strict=True)] for rows in zip(*lists, strict=True)]
    overlay = overlays.verdict(*stack, CLASSES)
    assert overlay.codes.tolist() == want
    flat = [value for row in want for value in row]
    assert overlay.shares() == pytest.approx([flat.count(k) / len(flat) for k in range(4)])
    differ = overlays.difference(stack[0], stack[1])
    assert differ.codes.tolist() == [
        [int(a != b) for a, b in zip(*rows, strict=True)] for rows in zip(*lists[:2], strict=True)
    ]


@given(stacks(1))
def test_a_png_holds_what_was_painted(stack: list[np.ndarray]) -> None:
    overlay = overlays.fill(stack[0], CLASSES)
    found = np.asarray(Image.open(io.BytesIO(overlays.png(overlay))).convert("RGBA")).tolist()
    assert found == painted(overlay)


def test_more_colours_than_a_palette_holds_are_kept_too() -> None:
    many = Classes(
        tuple(f"c{k}" for k in range(400)),
        tuple(range(400)),
        tuple((k % 256, k // 256, 9) for k in range(400)),
    )
    overlay = overlays.fill(np.arange(401, dtype=np.uint16).reshape(1, -1), many)
    found = np.asarray(Image.open(io.BytesIO(overlays.png(overlay))).convert("RGBA"))
    assert found.tolist() == painted(overlay)
    assert found[0, 399].tolist() == [143, 1, 9, 255]


def test_maps_of_two_sizes_are_refused() -> None:
    small, large = np.zeros((2, 3), np.uint8), np.zeros((2, 4), np.uint8)
    for call in (
        lambda: overlays.difference(small, large),
        lambda: overlays.correctness(small, large, CLASSES),
        lambda: overlays.verdict(small, small, large, CLASSES),
    ):
        with refused(LabelMapError, "maps of 3 x 2 and 4 x 2 pixels cannot be compared"):
            call()
