"""Label maps as PNG for other tools: plain numbers, or class colours; both are read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import faultscape as fs
from faultscape.errors import LabelMapError
from faultscape.formats import png
from faultscape.nouns import Classes
from refusals import refused

SAME_FOLDER = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def opened(path: Path) -> tuple[str, list[object]]:
    with Image.open(path) as picture:
        return picture.mode, np.asarray(picture).tolist()


@given(seed=st.integers(0, 10_000), most=st.sampled_from([2, 255, 256, 65_535]))
@SAME_FOLDER
def test_plain_numbers_are_the_values_of_the_pixels(tmp_path: Path, seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, most, rng.integers(1, 9, 2), endpoint=True)
    ids[0, 0] = most
    (tmp_path / "m.png").write_bytes(png.encode_index(ids))
    assert opened(tmp_path / "m.png") == ("L" if most < 256 else "I;16", ids.tolist())
    assert png.read(tmp_path / "m.png").tolist() == ids.tolist()


@given(
    seed=st.integers(0, 10_000),
    world=st.sampled_from(
        [("voc", (0, 3, 20, 255)), ("camvid", (0, 4, 10, 11)), ("cityscapes", (0, 18, 255))]
    ),
)
@SAME_FOLDER
def test_class_colours_are_read_back_as_ids_void_too(
    tmp_path: Path, seed: int, world: tuple[str, tuple[int, ...]]
) -> None:
    rng, classes = np.random.default_rng(seed), fs.classes.resolve(world[0])
    ids = rng.choice(world[1], rng.integers(1, 9, 2))
    (tmp_path / "m.png").write_bytes(png.encode_colours(ids, classes))
    assert png.read(tmp_path / "m.png", classes).tolist() == ids.tolist()
    mode, pixels = opened(tmp_path / "m.png")
    assert mode == "RGB"
    colours = dict(zip(classes.ids, classes.colours, strict=True))
    for row, coloured in zip(ids.tolist(), pixels, strict=True):
        for id_, colour in zip(row, coloured, strict=True):  # type: ignore[call-overload]
            assert tuple(colour) == colours.get(id_, (0, 0, 0) if world[0] != "voc" else (224, 224, 192))


BLACK, CREAM = (0, 0, 0), (224, 224, 192)


@pytest.mark.parametrize(
    ("colours", "ids", "says"),
    [
        (
            ((1, 2, 3), (1, 2, 3)),
            [[0]],
            r"'a' and 'b' have the same colour, \(1, 2, 3\); give each class its own",
        ),
        ((BLACK, CREAM), [[0, 255]], "void has no colour, because 'a' and 'b' use its two"),
        ((BLACK, CREAM), [[0, 1], [9, 0]], "the value 9 at column 0, row 1 is neither a class nor void"),
        ((BLACK, CREAM), [[-1]], "whole numbers 0-65535"),
    ],
)
def test_colours_that_cannot_be_told_apart_are_refused(
    colours: tuple[tuple[int, int, int], ...], ids: list[list[int]], says: str
) -> None:
    with refused(LabelMapError, f"^m.png: .*{says}"):
        png.encode_colours(np.array(ids), Classes(("a", "b"), (0, 1), colours, (255,)), "m.png")


def test_classes_in_both_colours_of_void_are_written_where_no_pixel_is_void(tmp_path: Path) -> None:
    classes = Classes(("a", "b"), (0, 1), (BLACK, CREAM), (255,))
    (tmp_path / "m.png").write_bytes(png.encode_colours(np.array([[0, 1]]), classes))
    assert png.read(tmp_path / "m.png", classes).tolist() == [[0, 1]]


def test_all_void_ids_become_one_colour_and_the_first_when_read(tmp_path: Path) -> None:
    classes = Classes(("a",), (300,), ((9, 9, 9),), (7, 65_535))
    (tmp_path / "m.png").write_bytes(png.encode_colours(np.array([[300, 7, 65_535]]), classes))
    assert png.read(tmp_path / "m.png", classes).tolist() == [[300, 7, 7]]


def test_plain_numbers_out_of_range_are_refused() -> None:
    for bad in (np.full((2, 2), -1), np.full((2, 2), 70_000), np.zeros((2, 2)), np.zeros(3, int)):
        with refused(LabelMapError, "m.png: expected whole numbers 0-65535"):
            png.encode_index(bad, "m.png")
