"""Outlines of COCO: run lengths as text and as numbers, polygons by the centres of pixels, and none of them
believed before it is looked at.
"""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.errors import LabelMapError
from faultscape.formats.coco import mask_of, runs_of_text
from refusals import refused

MASKS = st.tuples(
    st.integers(1, 9), st.integers(1, 40), st.integers(0, 2**32 - 1), st.sampled_from([0.02, 0.5, 0.98])
)


def made(of: tuple[int, int, int, float]) -> np.ndarray:
    height, width, seed, share = of
    return np.random.default_rng(seed).random((height, width)) < share


def runs_of(mask: np.ndarray) -> list[int]:
    """Run lengths down the columns, that of pixels outside first, counted pixel by pixel."""
    runs, inside = [0], False
    for pixel in mask.T.ravel().tolist():
        if pixel != inside:
            runs.append(0)
            inside = pixel
        runs[-1] += 1
    return runs


def text_of(runs: list[int]) -> str:
    """COCO's text of run lengths: from the fourth on differences, in digits of five bits with the lowest
    first, until only the sign is left.
    """
    text = ""
    for k, run in enumerate(runs):
        rest = run - runs[k - 2] if k > 2 else run
        more = True
        while more:
            digit, rest = rest & 31, rest >> 5
            more = rest != (-1 if digit & 16 else 0)
            text += chr(48 + digit + 32 * more)
    return text


@given(MASKS)
def test_run_lengths_as_text_and_as_numbers_are_the_mask_that_they_were_made_of(
    of: tuple[int, int, int, float],
) -> None:
    mask = made(of)
    for counts in (runs_of(mask), text_of(runs_of(mask))):
        assert (mask_of({"size": [*mask.shape], "counts": counts}, mask.shape) == mask).all()


def test_long_runs_have_several_digits() -> None:
    runs = [5, 70_000, 3, 1_000_000, 1, 33, 32, 17, 16, 15]
    assert runs_of_text(text_of(runs), 2_000_000).tolist() == runs


@pytest.mark.parametrize("text", [text_of([4, -2, 4]), text_of([0, 0, 0, 0, 7, -1]), "V" + 20 * "P" + "0"])
def test_runs_below_0_and_numbers_of_many_digits_are_refused(text: str) -> None:
    with refused(LabelMapError, "damaged"):
        mask_of({"size": [2, 3], "counts": text}, (2, 3))


@given(st.text(st.characters(codec="ascii"), max_size=12), st.integers(1, 6), st.integers(1, 6))
def test_any_text_is_a_mask_of_the_image_or_is_refused(text: str, height: int, width: int) -> None:
    said = "run lengths"
    try:
        assert mask_of({"size": [height, width], "counts": text}, (height, width)).shape == (height, width)
    except LabelMapError as error:
        said = str(error)
    assert "run lengths" in said


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-64, 640), st.integers(-64, 640)), min_size=3, max_size=8))
def test_a_pixel_is_inside_where_a_ray_from_its_centre_crosses_the_polygon_an_odd_number_of_times(
    corners: list[tuple[int, int]],
) -> None:
    """Corners at 32nds of a pixel off its centres, so that no ray meets a corner."""
    xy = [(x / 32 + 1 / 64, y / 32 + 1 / 64) for x, y in corners]
    mask = mask_of([[v for point in xy for v in point]], (18, 17))
    for y in range(18):
        for x in range(17):
            crossings = [
                x0 + (x1 - x0) * (y + 0.5 - y0) / (y1 - y0)
                for (x0, y0), (x1, y1) in zip(xy, [*xy[1:], xy[0]], strict=True)
                if (y0 > y + 0.5) != (y1 > y + 0.5)
            ]
            if all(abs(crossing - x - 0.5) > 1e-9 for crossing in crossings):
                # no edge goes through the centre
                assert mask[y, x] == sum(crossing < x + 0.5 for crossing in crossings) % 2


def test_pixels_of_a_polygon_are_these_on_every_machine() -> None:
    corners = np.random.default_rng(0).uniform(-20, 220, (50, 2))
    mask = mask_of([corners.ravel().tolist()], (200, 180))
    assert hashlib.blake2b(np.packbits(mask).tobytes(), digest_size=8).hexdigest() == "b0e61243293a539f"


def test_polygons_of_an_object_add_up_and_one_outside_adds_nothing() -> None:
    square = [1, 1, 3, 1, 3, 3, 1, 3]
    mask = mask_of(
        [square, square, [4, 0, 5, 0, 5, 1, 4, 1], [90, 90, 95, 90, 95, 95], [-9, -9, -5, -9, -5, -5]], (4, 5)
    )
    assert mask.astype(int).tolist() == [[0, 0, 0, 0, 1], [0, 1, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("outline", "says"),
    [
        (None, "neither polygons nor run lengths"),
        ([], "neither polygons nor run lengths"),
        ({"counts": [6], "size": [3, 2]}, r"have the size \[3, 2\], its image \[2, 3\]"),
        ({"counts": [5], "size": [2, 3]}, "cover 5 pixels, its image has 6"),
        ({"counts": [10**15], "size": [2, 3]}, "must be text or whole numbers"),
        ({"counts": [-1, 7], "size": [2, 3]}, "must be text or whole numbers"),
        ({"counts": [True] * 6, "size": [2, 3]}, "must be text or whole numbers"),
        ({"counts": "ooooooo0", "size": [2, 3]}, "damaged"),
        ({"counts": "o", "size": [2, 3]}, "damaged"),
        ({"counts": "6\x00", "size": [2, 3]}, "damaged"),
        ({"counts": "é", "size": [2, 3]}, "damaged"),
        ({"counts": "0" * 10**6, "size": [2, 3]}, "damaged"),
        ({"counts": "", "size": [2, 3]}, "cover 0 pixels"),
        ([[0, 0, 1, 1]], "three or more pairs"),
        ([[0, 0, 1, 1, 2]], "three or more pairs"),
        ([[0, 0, 1, 1, 2, float("nan")]], "finite numbers"),
        ([[0, 0, 1, 1, 2, 10**400]], "finite numbers"),
        ([["0", 0, 1, 1, 2, 2]], "finite numbers"),
        (["0, 0, 1, 1"], "three or more pairs"),
    ],
)  # fmt: skip
def test_a_damaged_outline_is_refused_in_one_line(outline: object, says: str) -> None:
    with refused(LabelMapError, says):
        mask_of(outline, (2, 3))


def test_polygons_that_would_take_too_long_are_refused_before_they_are_drawn() -> None:
    comb = [v for k in range(25_000) for v in (k % 7, 1_000 * (k % 2))]
    with refused(LabelMapError, "would take too long"):
        mask_of([comb], (1_000, 10))
