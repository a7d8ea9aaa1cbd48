"""Which files an argument means, and to which image a map or label belongs: whole names before shortened
ones, nothing left out in silence.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import made
from faultscape.corpus.matches import match
from faultscape.corpus.sources import find, path_below
from faultscape.errors import CorpusError, ImageError, LabelMapError
from faultscape.formats.label_maps import read_map
from faultscape.formats.pictures import read_rgb
from refusals import refused

GREY = np.zeros((4, 5), np.uint8)


def maps(folder: Path, *names: str) -> Path:
    for name in names:
        made.write(folder / f"{name}.png", GREY)
    return folder


def test_a_whole_name_goes_before_one_without_the_suffix_that_all_share(tmp_path: Path) -> None:
    folder = maps(tmp_path, "a_day", "b_day")
    matched = match(folder, ["a", "a_day", "b", "b_day"])
    assert {id_: Path(path).stem for id_, path in matched.items()} == {"a_day": "a_day", "b_day": "b_day"}


def test_labels_of_some_images_are_found_though_their_names_share_an_ending(tmp_path: Path) -> None:
    folder = maps(tmp_path, "street1_day", "street2_day")
    assert set(match(folder, ["street1_day", "street2_day", "street3_night"])) == {
        "street1_day",
        "street2_day",
    }
    assert set(match(folder, ["test/street1_day", "test/street3_night"])) == {"test/street1_day"}


def test_a_shared_suffix_is_left_out_where_no_whole_name_fits_and_that_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    folder = maps(tmp_path, "x_1_pred", "x_2_pred")
    assert set(match(folder, ["x_1", "x_2"], say=said.append)) == {"x_1", "x_2"}
    assert "'_pred'" in said[0]


@given(
    st.lists(st.sampled_from(["a", "b", ".", "..", ".c", ""]), min_size=1, max_size=5).map("/".join),
    st.sampled_from(["", ".", "a", "a/", "a/b", "/", "/a", "./a"]),
)
def test_what_a_path_is_below_a_folder_is_what_the_system_says(path: str, folder: str) -> None:
    try:
        expected = os.path.relpath(path, folder)
    except ValueError:  # an empty path
        return
    if path.rstrip("/") != folder.rstrip("/"):
        assert path_below(path, folder) == expected


def test_ids_never_lead_out_of_a_folder(tmp_path: Path) -> None:
    maps(tmp_path / "elsewhere", "x", "deep/y")
    (tmp_path / "lists").mkdir()
    listed = tmp_path / "lists" / "some.txt"
    listed.write_text(f"../elsewhere/x.png\n{tmp_path}/elsewhere/deep/y.png\n")
    said: list[str] = []
    assert [f.id for f in find([listed], say=said.append)] == ["deep/y", "x"]
    assert "relative to" in said[0]


def test_a_link_that_leads_back_is_walked_once(tmp_path: Path) -> None:
    maps(tmp_path, "a", "sub/b")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    assert [f.id for f in find([tmp_path])] == ["a", "sub/b"]


def test_files_whose_names_begin_with_a_dot_are_files(tmp_path: Path) -> None:
    assert [f.id for f in find([maps(tmp_path, ".hidden", "seen")])] == [".hidden", "seen"]


def test_what_is_no_regular_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    with refused(ImageError, "is not a regular file"):
        read_rgb(tmp_path / "pipe.png")
    with refused(LabelMapError, "is not a regular file"):
        read_map(tmp_path / "pipe.png")


def test_maps_that_fit_no_image_name_both(tmp_path: Path) -> None:
    with refused(CorpusError, "the first map is 'q', the first image 'a'"):
        match(maps(tmp_path, "q"), ["a"])


def test_links_that_are_no_loop_are_all_followed(tmp_path: Path) -> None:
    maps(tmp_path / "real", "1")
    for link in ("in/p/x", "in/q/y"):
        (tmp_path / link).parent.mkdir(parents=True)
        (tmp_path / link).symlink_to(tmp_path / "real")
    assert [f.id for f in find([tmp_path / "in"])] == ["p/x/1", "q/y/1"]
