"""Maps of region ids are read as they are, and no file can be waited for, blow up, or change its ids in
silence.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from faultscape.classes.placed_maps import read_ids
from faultscape.errors import LabelMapError
from faultscape.formats import guard
from refusals import refused


@pytest.mark.parametrize("name", ["ids.png", "ids.npy"])
def test_a_pipe_is_no_map_of_region_ids(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with refused(LabelMapError, "is not a regular file"):
        read_ids(tmp_path / name)


@pytest.mark.parametrize("form", ["JPEG", "WEBP"])
def test_region_ids_are_not_read_from_what_changes_them(form: str, tmp_path: Path) -> None:
    with (tmp_path / "ids.png").open("wb") as file:
        Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8)).save(file, form)
    with refused(LabelMapError, f"{form} changes region ids"):
        read_ids(tmp_path / "ids.png")


def test_pictures_of_region_ids_have_the_same_bound_as_maps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.arange(12, dtype=np.uint8).reshape(3, 4)
    Image.fromarray(values).save(tmp_path / "ids.png")
    monkeypatch.setattr(guard, "MAX_PIXELS", 12)
    assert read_ids(tmp_path / "ids.png").tolist() == values.tolist()
    monkeypatch.setattr(guard, "MAX_PIXELS", 11)
    with refused(LabelMapError, "4 x 3 is more than 11 pixels"):
        read_ids(tmp_path / "ids.png")


def test_a_file_that_cannot_be_read_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "gone.png").symlink_to("nowhere")
    (tmp_path / "junk.png").write_bytes(b"junk")
    for name, said in (("gone.png", "No such file or directory"), ("junk.png", "it is not a readable image")):
        with refused(LabelMapError) as told:
            read_ids(tmp_path / name)
        assert str(told.value) == f"{tmp_path / name}: {said}"
