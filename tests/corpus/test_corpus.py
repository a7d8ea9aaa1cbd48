"""Which images exist: sources, ids, upright pictures, near-duplicates, classes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import faultscape as fs
import made
from faultscape.classes import built_in
from faultscape.classes import class_lists as classes
from faultscape.corpus import matches, sources
from faultscape.corpus.duplicates import DISTANCE, Groups
from faultscape.errors import ClassesError, CorpusError, LabelMapError, OptionError
from faultscape.maps.resize import nearest
from refusals import refused

QUIET = {"say": lambda _: None}


def touch(root: Path, *names: str) -> Path:
    for name in names:
        made.write(root / name, np.zeros((4, 4), np.uint8))
    return root


def ids(found: list[sources.Found]) -> list[str]:
    return [f.id for f in found]


def test_ids_are_paths_without_extension_relative_to_folder_glob_or_list(tmp_path: Path) -> None:
    touch(tmp_path, "a/x.png", "a/b/y.png", "c/z.png")
    assert ids(sources.find([tmp_path], **QUIET)) == ["a/b/y", "a/x", "c/z"]
    assert ids(sources.find([f"{tmp_path}/a/**/*.png"], **QUIET)) == ["b/y", "x"]
    (tmp_path / "list.txt").write_text("a/x.png truth/x.png\n# a remark\n\nc/z.png\n")
    assert ids(sources.find([tmp_path / "list.txt"], **QUIET)) == ["a/x", "c/z"]
    (tmp_path / "list.txt").write_text("a/none.png\n")
    with refused(CorpusError, r"line 1: 'a/none\.png' is not a file"):
        sources.find([tmp_path / "list.txt"], **QUIET)


def test_a_suffix_that_all_share_is_left_out_and_said(tmp_path: Path) -> None:
    touch(tmp_path, "a/u_1_leftImg8bit.png", "a/u_2_leftImg8bit.png")
    said: list[str] = []
    assert ids(sources.find([tmp_path], say=said.append)) == ["a/u_1", "a/u_2"]
    assert "_leftImg8bit" in said[0]
    assert ids(sources.find([tmp_path], pattern="a/u_{id}_leftImg8bit.png", **QUIET)) == ["1", "2"]
    with refused(OptionError, r"must hold \{id\} once"):
        sources.find([tmp_path], pattern="x", **QUIET)
    with refused(CorpusError, "no file matches the pattern"):
        sources.find([tmp_path], pattern="{id}_right.png", **QUIET)


def test_maps_are_matched_whole_or_by_the_end_of_the_path(tmp_path: Path) -> None:
    touch(tmp_path, "x.png", "y.png")
    assert matches.match(tmp_path, ["test/x", "test/y", "test/z"], **QUIET).keys() == {"test/x", "test/y"}
    with refused(CorpusError, "matches several images"):
        matches.match(tmp_path, ["a/x", "b/x"], **QUIET)
    with refused(CorpusError, "none of its 2 maps is named as an image"):
        matches.match(tmp_path, ["q"], **QUIET)
    found = [sources.Found("a/x", "maps/a/x.png"), sources.Found("b/x", "maps/b/x.png")]
    with refused(CorpusError, "maps/a/x.png and maps/b/x.png both match image 'x'"):
        matches.fit("maps", found, ["x"], **QUIET)


def test_of_a_data_sets_mixed_files_the_label_maps_are_taken(tmp_path: Path) -> None:
    touch(tmp_path, *(f"a/u_{k}_gtFine_{kind}.png" for k in (1, 2) for kind in ("labelIds", "instanceIds")))
    found = matches.match(tmp_path, ["a/u_1", "a/u_2"], **QUIET)
    assert {Path(p).name for p in found.values()} == {"u_1_gtFine_labelIds.png", "u_2_gtFine_labelIds.png"}


@pytest.mark.parametrize("turn", range(1, 9))
def test_every_exif_orientation_is_read_upright(tmp_path: Path, turn: int) -> None:
    upright = np.zeros((40, 64, 3), np.uint8)
    upright[:20, :32] = 255
    undo = {1: None, 2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}[turn]
    picture = Image.fromarray(upright)
    picture = picture if undo is None else picture.transpose(Image.Transpose(undo))
    exif = Image.Exif()
    exif[0x0112] = turn
    picture.save(tmp_path / "p.jpg", exif=exif, quality=95)
    read = fs.formats.read_rgb(tmp_path / "p.jpg")
    assert read.shape == (40, 64, 3)
    assert np.abs(read.astype(int) - upright).mean() < 3
    probed = fs.formats.probe(tmp_path / "p.jpg")
    assert (probed.width, probed.height) == (64, 40)


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1", "I;16", "LA"])
def test_every_mode_of_picture_becomes_rgb(tmp_path: Path, mode: str) -> None:
    grey = np.linspace(0, 255, 48, dtype=np.uint8).reshape(6, 8)
    picture = (
        Image.fromarray(grey.astype(np.uint16) * 257)
        if mode == "I;16"
        else Image.fromarray(grey).convert(mode)
    )
    path = tmp_path / ("p.tif" if mode == "CMYK" else "p.png")
    picture.save(path)
    read = fs.formats.read_rgb(path)
    assert read.shape == (6, 8, 3)
    if mode in ("L", "I;16"):
        assert np.abs(read[..., 0].astype(int) - grey).max() <= 1


@pytest.mark.slow
@given(st.lists(st.integers(0, 2**64 - 1), max_size=12), st.data())
@settings(max_examples=60)
def test_near_duplicates_equal_a_search_of_all(hashes: list[int], data: st.DataObject) -> None:
    for k in range(len(hashes)):  # bring some close to others
        if data.draw(st.booleans()):
            flips = data.draw(st.lists(st.integers(0, 63), max_size=6, unique=True))
            hashes.append(hashes[k] ^ sum(1 << f for f in flips))
    groups, firsts = Groups(), []
    for value in hashes:
        want = next((k for k, first in enumerate(firsts) if (first ^ value).bit_count() <= DISTANCE), None)
        assert groups.nearest(value) == want
        if want is None:
            groups.add(value)
            firsts.append(value)


def test_near_duplicates_do_not_chain_and_not_in_keeps_them_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    photo = rng.integers(0, 255, (9, 9, 3), np.uint8).repeat(8, 0).repeat(8, 1)
    made.write(tmp_path / "pool" / "a.png", photo)
    made.write(tmp_path / "pool" / "b.png", np.clip(photo.astype(int) + 3, 0, 255).astype(np.uint8))
    made.write(tmp_path / "pool" / "c.png", rng.integers(0, 255, (72, 72, 3), np.uint8))
    made.write(tmp_path / "training" / "t.png", photo[::-1, ::-1][::-1, ::-1])
    (tmp_path / "classes.json").write_text(json.dumps({"classes": list(made.NAMES)}))
    assert (
        fs.collect(tmp_path / "s", tmp_path / "pool", classes=tmp_path / "classes.json").near_duplicates == 1
    )
    for name in ("x", "y"):
        (tmp_path / "training" / f"{name}.png").write_bytes(b"no picture")
    capsys.readouterr()
    left = fs.collect(
        tmp_path / "t",
        tmp_path / "pool",
        classes=tmp_path / "classes.json",
        not_in=[str(tmp_path / "training")],
    )
    assert (left.images, left.failures) == (1, 2)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "--not-in" in line]
    assert line.startswith(
        "note: --not-in: 2 images cannot be read and keep no near-duplicate out: x, y; the first: "
    )


def test_built_in_classes_are_those_of_the_data_sets(data: Path) -> None:
    assert classes.read(data / "camvid" / "classes.json") == built_in.camvid()
    voc = classes.read(data / "voc2012" / "classes.json")
    assert (voc.names, voc.ids, voc.colours, voc.void) == tuple(
        getattr(built_in.voc(), k) for k in ("names", "ids", "colours", "void")
    )
    assert classes.allowed(built_in.ade20k()) == "1-150, 0 (void)"
    assert len(built_in.cityscapes()) == 19
    assert built_in.voc().groups == tuple(range(1, 21))
    for make in built_in.BUILT_IN.values():
        assert classes.checked(make(), "built in")


def test_cityscapes_label_ids_become_train_ids() -> None:
    table = classes.table(built_in.cityscapes(), built_in.cityscapes_label_ids())
    assert [int(table[v]) for v in (7, 8, 11, 33, 0, 30)] == [0, 1, 2, 18, 19, 19]
    assert table[34] == classes.UNKNOWN


def test_a_mapping_refuses_what_it_cannot_map() -> None:
    five = classes.parse({"classes": list(made.NAMES)})
    with refused(ClassesError, "Did you mean 'road'"):
        classes.table(five, {"0": "raod"})
    assert classes.table(five, {"7": "car", "8": "car", "9": "void"})[[7, 8, 9, 0]].tolist() == [
        2,
        2,
        5,
        classes.UNKNOWN,
    ]


def test_toml_and_json_class_files_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(
        'void = [9]\nbackground = 0\n[[classes]]\nname = "a"\nid = 0\n[[classes]]\nname = "b"\nid = 3\ncolour'
        ' = "#010203"\n'
    )
    (tmp_path / "c.json").write_text(
        json.dumps(
            {
                "void": 9,
                "background": "a",
                "classes": [{"name": "a", "index": 0}, {"name": "b", "id": 3, "color": [1, 2, 3]}],
            }
        )
    )
    assert classes.read(tmp_path / "c.toml") == classes.read(tmp_path / "c.json")
    assert classes.read(tmp_path / "c.toml").groups == (1,)


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(1, 30),
    st.integers(1, 30),
    st.sampled_from([np.uint8, np.uint16, np.float32, bool]),
)
@settings(max_examples=40)
def test_nearest_takes_the_pixel_under_the_centre(
    h: int, w: int, height: int, width: int, kind: type
) -> None:
    label_map = np.arange(h * w).reshape(h, w).astype(kind)
    got = nearest(label_map, (width, height))
    want = [
        [label_map[(2 * y + 1) * h // (2 * height), (2 * x + 1) * w // (2 * width)] for x in range(width)]
        for y in range(height)
    ]
    assert got.dtype == label_map.dtype
    assert got.tolist() == np.array(want).tolist()
    assert nearest(nearest(label_map, (3 * w, 5 * h)), (w, h)).tolist() == label_map.tolist()


def test_npy_maps_of_a_wrong_kind_are_refused(tmp_path: Path) -> None:
    for values in (
        np.zeros((2, 3)),
        np.zeros((2, 3, 4), int),
        np.full((2, 2), -1),
        np.full((2, 2), 70_000),
        np.array([[object()]], object),
    ):
        np.save(tmp_path / "m.npy", values, allow_pickle=True)
        with refused(LabelMapError) as told:
            fs.formats.read_map(tmp_path / "m.npy")
        assert "allow_pickle" not in str(told.value)
