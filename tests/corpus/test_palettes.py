"""A palette decides what a value means where it shows the classes' own colours at other values, and nowhere
else.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import lying_masks
from faultscape import errors
from faultscape.classes.class_lists import palette, parse, resolve
from faultscape.classes.palettes import coded_by_palette
from faultscape.classes.placed_maps import PlacedMaps
from faultscape.corpus.layouts import masks
from faultscape.formats import png
from faultscape.nouns import Classes

CLASSES = parse(
    {
        "classes": [
            {"name": "road", "id": 0, "colour": "#804080"},
            {"name": "car", "id": 1, "colour": "#00008e"},
            {"name": "sky", "id": 2, "colour": "#4682b4"},
        ],
        "void": [255],
    }
)
PLACES = np.array([[0, 1, 1, 2], [3, 3, 2, 0]], np.uint8)  # 3: void
ROAD, CAR, SKY = CLASSES.colours
BLACK = (0, 0, 0)
PINK = (255, 0, 255)  # of no class
SHUFFLED = [BLACK, SKY, CAR, ROAD]


def written(path: Path, colours: list[tuple[int, int, int]], of_places: list[int]) -> Path:
    """Write the map with this value for each place, and this palette."""
    return lying_masks.png(path, np.array(of_places, np.uint8)[PLACES], 8, colours)


@pytest.mark.parametrize("ending", ["png", "gif", "tif", "bmp"])
def test_colours_decide_where_each_is_that_of_a_class_or_void(ending: str, tmp_path: Path) -> None:
    path = written(tmp_path / "map.png", SHUFFLED, [3, 2, 1, 0])
    other = tmp_path / f"other.{ending}"
    with Image.open(path) as image:
        image.save(other)
    assert np.array_equal(PlacedMaps(CLASSES).read(other), PLACES)


@pytest.mark.parametrize(
    ("what", "classes", "colours", "values"),
    [
        ("colours at their own ids", CLASSES, [ROAD, CAR, SKY], [0, 1, 2, 255]),
        ("colours of no class", CLASSES, [PINK, (1, 2, 3), (9, 9, 9)], [0, 1, 2, 255]),
        ("black first, as most palettes", CLASSES, [BLACK, CAR, SKY], [0, 1, 2, 255]),
        ("PASCAL VOC's palette", resolve("camvid"), [BLACK, *palette(255)], [3, 7, 1, 11]),
        ("a class list without colours", resolve(3, void=255), [BLACK, *palette(255)], [0, 1, 2, 255]),
        ("colours at the values of a label mapping", CLASSES, [PINK, ROAD, CAR, SKY], [1, 2, 3, 0]),
    ],
)
def test_values_stay_ids_where_colours_do_not_contradict(
    what: str, classes: Classes, colours: list[tuple[int, int, int]], values: list[int], tmp_path: Path
) -> None:
    labels = {"0": "void", "1": "road", "2": "car", "3": "sky"} if "mapping" in what else None
    path = written(tmp_path / "map.png", colours, values)
    assert np.array_equal(PlacedMaps(classes, labels).values(path), np.array(values)[PLACES])


def test_labels_that_a_person_gave_hold_whatever_the_palette_shows(tmp_path: Path) -> None:
    path = written(tmp_path / "map.png", SHUFFLED, [3, 2, 1, 0])
    labels = {"0": "road", "1": "car", "2": "sky", "3": "void"}
    assert np.array_equal(PlacedMaps(CLASSES, labels, given=True).read(path), 3 - PLACES)


def test_a_palette_of_classes_and_other_colours_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "map.png", [BLACK, SKY, PINK, ROAD], [3, 2, 1, 0])
    with pytest.raises(
        errors.LabelMapError,
        match=r"map\.png: its palette gives the value 1 the colour of 'sky', but the value 2 the colour"
        r" \(255, 0, 255\) of no class; save it as plain ids",
    ):
        PlacedMaps(CLASSES).read(path)


def test_a_folder_of_both_codings_is_refused_and_one_of_either_is_not(tmp_path: Path) -> None:
    colours = [str(written(tmp_path / f"colours-{k}.png", SHUFFLED, [3, 2, 1, 0])) for k in range(2)]
    ids = [str(written(tmp_path / f"ids-{k}.png", [PINK, BLACK], [0, 1, 2, 255])) for k in range(2)]
    same = tmp_path / "same.png"
    same.write_bytes(png.encode(np.array([0, 1, 2, 255], np.uint8)[PLACES], CLASSES))
    assert coded_by_palette([*colours, str(same)], CLASSES)
    assert not coded_by_palette([*ids, str(same)], CLASSES)
    with pytest.raises(
        errors.LabelMapError, match=r"colours-0\.png: its palette shows .* in .*ids-0\.png the values are"
    ):
        coded_by_palette([*ids, *colours, str(same)], CLASSES)


def test_labels_of_a_data_set_in_colours_may_have_a_palette(tmp_path: Path) -> None:
    known = resolve("camvid32")
    path = lying_masks.png(tmp_path / "a_L.png", PLACES, 8, [known.colours[k] for k in (5, 0, 9, 3)])
    assert np.array_equal(masks.colours(str(path), "camvid32"), np.array(known.ids)[[5, 0, 9, 3]][PLACES])
