"""What single layouts do: quirks of names, label tables by the data sets' own papers, depth, overlays and
hostile files; and the samples of real data.
"""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import made_trees
from faultscape.classes.built_in import coco_stuff
from faultscape.classes.road_scenes import mapillary_names, mapillary_to_cityscapes
from faultscape.corpus.layouts import fishyscapes, masks, obstacles, road_views
from faultscape.corpus.layouts.catalogue import entry
from faultscape.corpus.layouts.layout import Frame, check, find_frames
from faultscape.errors import CorpusError, ImageError, LabelMapError, OptionError

# label ids of Cityscapes by name, from the table of its paper: those that are evaluated
EVALUATED = {
    7: "road",
    8: "sidewalk",
    11: "building",
    12: "wall",
    13: "fence",
    17: "pole",
    19: "traffic light",
    20: "traffic sign",
    21: "vegetation",
    22: "terrain",
    23: "sky",
    24: "person",
    25: "rider",
    26: "car",
    27: "truck",
    28: "bus",
    31: "train",
    32: "motorcycle",
    33: "bicycle",
}
PLACES = list(EVALUATED)


def train_id(label: int) -> int:
    return PLACES.index(label) if label in EVALUATED else 255


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def first(name: str, root: Path, split: str) -> Frame:
    return find_frames(entry(name), root, split)[0]


def test_the_34_label_ids_of_cityscapes_become_19_classes_and_void(root: Path) -> None:
    made_trees.cityscapes(root)
    frame = first("cityscapes", root, "val")
    with Image.open(frame.truth) as picture:
        written = np.asarray(picture)
    assert sorted(np.unique(written)) == list(range(34))
    np.testing.assert_array_equal(entry("cityscapes").read_truth(frame), np.vectorize(train_id)(written))


def test_a_byte_of_255_is_the_licence_plate_and_void(root: Path) -> None:
    made_trees.cityscapes(root)
    frame = first("cityscapes", root, "val")
    made_trees.labels(Path(frame.truth), (7, 255))
    assert np.unique(entry("cityscapes").read_truth(frame)).tolist() == [0, 255]


def test_instances_are_numbers_from_1000_on_in_cityscapes_and_from_1_less_the_border_in_voc(
    root: Path,
) -> None:
    made_trees.cityscapes(root)
    made_trees.voc2012(root)
    for name, split, numbers in (
        ("cityscapes", "val", [0, 24_000, 24_001, 26_000]),
        ("voc2012", "val", [0, 1, 2]),
    ):
        assert np.unique(entry(name).read_instances(first(name, root, split))).tolist() == numbers


def test_label_ids_go_before_train_ids_and_train_ids_are_read_where_they_are_alone(root: Path) -> None:
    made_trees.cityscapes(root)
    frame = first("cityscapes", root, "val")
    made_trees.labels(Path(frame.truth.replace("labelIds", "labelTrainIds")), made_trees.TRAIN_IDS)
    assert first("cityscapes", root, "val").truth == frame.truth
    Path(frame.truth).unlink()
    alone = first("cityscapes", root, "val")
    assert alone.truth.endswith("_labelTrainIds.png")
    assert set(np.unique(entry("cityscapes").read_truth(alone))) == set(made_trees.TRAIN_IDS)


def test_archives_unpacked_into_folders_of_their_own_are_found(root: Path) -> None:
    expected = made_trees.cityscapes(root)
    for name, archive in (
        ("leftImg8bit", "leftImg8bit_trainvaltest"),
        ("gtFine", "gtFine_trainvaltest"),
        ("disparity", "disparity_trainvaltest"),
    ):
        (root / archive).mkdir()
        (root / name).rename(root / archive / name)
    found = find_frames(entry("cityscapes"), root, "train")
    assert [frame.id for frame in found] == sorted(expected["train"])
    assert all(frame.truth and frame.depth for frame in found)


def test_depth_is_baseline_times_focal_length_by_disparity_and_never_assumed(root: Path) -> None:
    made_trees.cityscapes(root)
    layout, frame = entry("cityscapes"), first("cityscapes", root, "val")
    depth = layout.read_depth(frame)
    assert depth.dtype == np.float32
    # values 0, 1, 257, 2561: none, 0, 1 and 10 pixels
    np.testing.assert_array_equal(depth[0, :4], [np.nan, np.inf, 500, 50])
    camera = Path(frame.camera)
    for held in ("{", "[]", json.dumps({"extrinsic": {"baseline": 0}, "intrinsic": {"fx": 1}})):
        camera.write_text(held)
        with pytest.raises(ImageError, match="calibration"):
            layout.read_depth(frame)
    camera.unlink()
    with pytest.raises(ImageError, match="calibration"):
        layout.read_depth(first("cityscapes", root, "val"))


def test_derived_images_keep_their_parent_its_labels_and_how_they_were_made(root: Path) -> None:
    made_trees.cityscapes_c(root)
    frame = first("cityscapes-c", root, "val")
    assert (frame.id, frame.parent, frame.condition) == (
        "fog/3/frankfurt/frankfurt_000001_015328", "frankfurt/frankfurt_000001_015328", "fog-3",
    )  # fmt: skip
    assert frame.truth == first("cityscapes", root, "val").truth
    made_trees.foggy_cityscapes(root)
    frame = first("foggy-cityscapes", root, "val")
    assert (frame.parent, frame.condition) == ("frankfurt/frankfurt_000001_015328", "fog-beta-0.005")
    assert frame.depth


def test_labels_of_cityscapes_may_lie_beside_what_is_made_from_it(root: Path) -> None:
    made_trees.cityscapes(root / "cityscapes")
    made_trees.image(root / "cityscapes-c" / "snow" / "5" / "lindau" / "lindau_000000_000019_leftImg8bit.png")
    made_trees.image(root / "cityscapes-c" / "snow" / "5" / "frankfurt_000001_015328.png")
    found = find_frames(entry("cityscapes-c"), root / "cityscapes-c", "val")
    assert [bool(frame.truth) for frame in found] == [True, False]
    assert "1 of 2 images have no labels" in check(entry("cityscapes-c"), found)


def test_a_folder_without_the_right_severity_holds_no_corruptions(root: Path) -> None:
    made_trees.cityscapes(root)
    made_trees.image(root / "fog" / "6" / "frankfurt_000001_015328.png")
    with pytest.raises(CorpusError, match="severities 1-5"):
        find_frames(entry("cityscapes-c"), root, "val")


def test_lists_that_lead_out_of_the_folder_are_refused(root: Path) -> None:
    made_trees.camvid(root)
    made_trees.text(root / "train.txt", "../../secret/0001TP_006690.png ../x.png")
    with pytest.raises(CorpusError, match="leads out of the folder"):
        find_frames(entry("camvid"), root, "train")
    made_trees.voc2012(root)
    made_trees.text(root / "VOCdevkit" / "VOC2012" / "ImageSets" / "Segmentation" / "train.txt", "../../x")
    with pytest.raises(CorpusError, match="leads out of the folder"):
        find_frames(entry("voc2012"), root, "train")


def test_camvid_without_lists_is_read_by_its_folders(root: Path) -> None:
    expected = made_trees.camvid(root)
    for path in root.glob("*.txt"):
        path.unlink()
    assert [frame.id for frame in find_frames(entry("camvid"), root, "train")] == expected["train"]
    assert all(frame.truth for frame in find_frames(entry("camvid"), root, "test"))


def test_a_list_of_ones_own_beside_the_official_ones_is_a_split(root: Path) -> None:
    made_trees.voc2012(root)
    made_trees.text(root / "VOCdevkit" / "VOC2012" / "ImageSets" / "Segmentation" / "mine.txt", "2007_000033")
    (frame,) = find_frames(entry("voc2012"), root, "mine")
    assert (frame.id, frame.role) == ("2007_000033", "pool")


def test_training_and_train_name_one_split_and_others_are_refused_with_the_nearest(root: Path) -> None:
    made_trees.ade20k(root)
    assert find_frames(entry("ade20k"), root, "train") == find_frames(entry("ade20k"), root, "training")
    with pytest.raises(
        OptionError,
        match=r"--split 'trainig': ADE20K has training, validation, test\. Did you mean 'training'\?",
    ):
        find_frames(entry("ade20k"), root, "trainig")


def test_two_images_of_one_id_are_refused(root: Path) -> None:
    made_trees.wilddash2(root)
    made_trees.image(root / "wd_public_02" / "images" / "aa0001_100000.png")
    with pytest.raises(CorpusError, match="two images have the id 'aa0001_100000'"):
        find_frames(entry("wilddash2"), root, "all")


def test_an_overlay_and_its_base_make_the_image_exactly(root: Path) -> None:
    made_trees.fs_static(root)
    layout, frame = entry("fs-static"), first("fs-static", root, "validation")
    with Image.open(frame.image) as picture:
        base = np.asarray(picture).astype(int)
    with np.load(frame.overlay) as held:
        overlay = held["rgb"]
    np.testing.assert_array_equal(layout.read_image(frame), np.minimum(np.maximum(base + overlay, 0), 255))
    wanted = np.random.default_rng(5).integers(0, 256, base.shape)
    np.savez_compressed(frame.overlay, rgb=wanted - base)
    np.testing.assert_array_equal(layout.read_image(frame), wanted)


def npz(**arrays: object) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


class Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("unpickled",)


SHAPE = (made_trees.HEIGHT, made_trees.WIDTH, 3)
HOSTILE = {
    "no archive": (b"no archive", "not a zip"),
    "objects": (npz(rgb=np.array([Harmful()], dtype=object)), "nothing is unpickled"),
    "a pickle": (pickle.dumps([1]), "not a zip"),
    "another name": (npz(image=np.zeros(SHAPE, np.int16)), "expected an overlay, one array named rgb"),
    "fractions": (npz(rgb=np.zeros(SHAPE)), "expected whole numbers"),
    "two dimensions": (npz(rgb=np.zeros(SHAPE[:2], np.int16)), "expected whole numbers"),
    "another size": (npz(rgb=np.zeros((4, 4, 3), np.int16)), "give the overlay made for this image"),
    "another range": (npz(rgb=np.full(SHAPE, 300, np.int16)), "differences of images are -255 to 255"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_an_overlay_of_any_other_kind_is_refused_in_one_line(
    case: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made_trees.fs_static(root)
    frame = first("fs-static", root, "validation")
    held, why = HOSTILE[case]
    Path(frame.overlay).write_bytes(held)
    with pytest.raises(ImageError, match=why) as refused:
        entry("fs-static").read_image(frame)
    assert "\n" not in str(refused.value)
    assert capsys.readouterr().out == ""


def test_an_overlay_that_unpacks_to_more_than_fits_is_refused_before_it_is_unpacked(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rgb.npy", bytes(1 << 20))
    monkeypatch.setattr(fishyscapes, "_MAX_BYTES", 1 << 19)
    with pytest.raises(ImageError, match="unpacks to more than"):
        fishyscapes.read_overlay(str(path))


def test_bases_of_fishyscapes_are_found_beside_the_folder_of_one_version(root: Path) -> None:
    made_trees.cityscapes(root / "cityscapes")
    (root / "fs_val_v3").mkdir()
    made_trees.fs_static(root / "fs_val_v3")
    for path in sorted((root / "fs_val_v3" / "cityscapes").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    frame = first("fs-static", root / "fs_val_v3", "validation")
    assert frame.image == str(
        root / "cityscapes/leftImg8bit/val/frankfurt/frankfurt_000001_015328_leftImg8bit.png"
    )


def test_lost_and_found_is_judged_on_the_road_and_takes_no_train_ids_for_labels(root: Path) -> None:
    made_trees.lost_and_found(root)
    layout, frame = entry("lost-and-found"), first("lost-and-found", root, "train")
    ids = layout.read_truth(frame, "semantic")
    assert sorted(np.unique(ids)) == list(range(44))
    np.testing.assert_array_equal(layout.read_truth(frame), np.where(ids == 0, 255, (ids >= 2).astype(int)))
    Path(frame.truth).unlink()
    assert first("lost-and-found", root, "train").truth == ""


def test_value_2_is_the_anomaly_of_road_anomaly_and_14_that_of_streethazards_where_background_is_known() -> (
    None
):
    assert {value for value, label in obstacles.ROAD_ANOMALY.items() if label == 1} == {2}
    assert {value for value, label in obstacles.STREETHAZARDS.items() if label == 1} == {14}
    assert [obstacles.STREETHAZARDS[value] for value in (0, 1, 2, 13)] == [255, 0, 0, 0]


def test_a_list_of_frames_that_is_no_list_is_refused(root: Path) -> None:
    made_trees.road_anomaly(root)
    for held in ("{}", "[1]", "["):
        (root / "frame_list.json").write_text(held)
        with pytest.raises(CorpusError, match=r"frame_list\.json"):
            find_frames(entry("road-anomaly"), root, "test")
    (root / "frame_list.json").unlink()
    assert len(find_frames(entry("road-anomaly"), root, "test")) == 2


def test_anomaly_masks_with_three_equal_channels_are_read_and_those_in_colour_are_refused(root: Path) -> None:
    made_trees.road_anomaly21(root)
    frame = first("road-anomaly21", root, "validation")
    before = entry("road-anomaly21").read_truth(frame)
    grey = np.array(Image.open(frame.truth))
    Image.fromarray(np.dstack([grey] * 3)).save(frame.truth)
    np.testing.assert_array_equal(entry("road-anomaly21").read_truth(frame), before)
    made_trees.image(Path(frame.truth))
    with pytest.raises(LabelMapError, match="image in colour"):
        entry("road-anomaly21").read_truth(frame)


def test_the_five_further_labels_of_wilddash_2_follow_its_authors() -> None:
    meaning = masks.cityscapes_meaning(road_views.WILDDASH2)
    assert [meaning[label] for label in range(34, 39)] == [14, 13, 255, 255, 0]
    assert [meaning[label] for label in range(34)] == [train_id(label) for label in range(34)]


def test_wilddash_2_reads_its_labels_so(root: Path) -> None:
    made_trees.wilddash2(root)
    truth = entry("wilddash2").read_truth(first("wilddash2", root, "all"))
    assert truth.ravel()[34:39].tolist() == [14, 13, 255, 255, 0]


def test_mapillary_maps_every_label_to_a_class_of_cityscapes_or_to_void() -> None:
    for version, number in (("1.2", 66), ("2.0", 124)):
        mapping = mapillary_to_cityscapes(version)
        assert list(mapping) == [str(label) for label in range(number)]
        assert set(EVALUATED.values()) <= set(mapping.values()) <= {*EVALUATED.values(), "void"}
        names = mapillary_names(version)
        assert all(mapping[str(k)] == "road" for k, name in enumerate(names) if name.startswith("marking"))
        assert all(
            mapping[str(k)] == "void" for k, name in enumerate(names) if name.startswith(("animal", "void"))
        )
        assert all(
            mapping[str(k)] == "rider" for k, name in enumerate(names) if name.startswith("human--rider")
        )
    both = set(mapillary_names("1.2")) & set(mapillary_names("2.0"))
    one, two = (
        dict(zip(mapillary_names(v), mapillary_to_cityscapes(v).values(), strict=True))
        for v in ("1.2", "2.0")
    )
    assert len(both) > 40
    assert {name: one[name] for name in both} == {name: two[name] for name in both}


def test_mapillarys_first_release_has_labels_without_a_folder_of_the_version_and_2_0_has_not(
    root: Path,
) -> None:
    made_trees._mapillary(root, "", range(66))
    assert first("mapillary-1.2", root, "validation").truth == str(
        root / "validation/labels/_1Gn_xkw7sa_i9GU4mkxxQ.png"
    )
    with pytest.raises(CorpusError, match=r"v2\.0/labels"):
        find_frames(entry("mapillary-2.0"), root, "validation")


def test_instances_of_mapillary_are_those_of_people_vehicles_and_animals(root: Path) -> None:
    made_trees.mapillary_v12(root)
    layout, frame = entry("mapillary-1.2"), first("mapillary-1.2", root, "training")
    instances, truth = layout.read_instances(frame), layout.read_truth(frame)
    things = {
        k
        for k, name in enumerate(mapillary_names("1.2"))
        if name.split("--")[0] in ("animal", "human") or "--vehicle--" in name
    }
    assert set(np.unique(truth[instances > 0])) == things


def test_ids_of_coco_stuff_are_those_of_coco_less_1_and_eleven_things_have_none() -> None:
    classes = coco_stuff()
    names = dict(zip(classes.ids, classes.names, strict=True))
    assert {id_: names[id_] for id_ in (0, 9, 10, 12, 89, 91, 105, 148, 178, 181)} == {
        0: "person", 9: "traffic light", 10: "fire hydrant", 12: "stop sign", 89: "toothbrush",
        91: "banner", 105: "clouds", 148: "road", 178: "waterdrops", 181: "wood",
    }  # fmt: skip
    assert set(range(182)) - set(names) == {11, 25, 28, 29, 44, 65, 67, 68, 70, 82, 90}
    members = [name for group in classes.parents.values() for name in group]
    assert sorted(members) == sorted(classes.names)
    assert (
        sum(
            name in classes.names[:80]
            for group in list(classes.parents)[:12]
            for name in classes.parents[group]
        )
        == 80
    )
    assert classes.parents["food"][-1] == "cake"
    assert classes.parents["food-stuff"] == ("food-other", "fruit", "salad", "vegetable")


def test_a_thing_that_nobody_segmented_stands_in_no_label_map_of_coco_stuff(root: Path) -> None:
    made_trees.coco_stuff(root)
    frame = first("coco-stuff", root, "val2017")
    made_trees.labels(Path(frame.truth), (0, 11))
    with pytest.raises(
        LabelMapError, match="holds the value 11 at column 1, row 0; labels of COCO-Stuff are 0-10, 12-24,"
    ):
        entry("coco-stuff").read_truth(frame)


def test_coco_stuff_is_read_as_its_readme_file_unpacks_it_and_beside_coco_itself(root: Path) -> None:
    made_trees.coco_stuff(root / "dataset")
    (root / "dataset" / "annotations" / "stuff_val2017.json").unlink()
    (root / "dataset" / "stuffthingmaps" / "val2017").rename(root / "dataset" / "annotations" / "val2017")
    frame = first("coco-stuff", root, "val2017")
    assert frame.truth == str(root / "dataset/annotations/val2017/000000000139.png")
    for split in ("train2017", "val2017"):
        (root / "dataset" / "images" / split).rename(root / "dataset" / split)
    assert first("coco-stuff", root / "dataset", "val2017").truth == frame.truth
    frame = first("coco-stuff", root / "dataset", "train2017")
    assert (frame.image, frame.role) == (str(root / "dataset/train2017/000000000009.jpg"), "train")
    assert frame.truth == str(root / "dataset/stuffthingmaps/train2017/000000000009.png")


def test_dark_zurich_has_labels_of_val_alone_and_says_the_time_of_day(root: Path) -> None:
    made_trees.dark_zurich(root)
    assert [(frame.condition, frame.role) for frame in find_frames(entry("dark-zurich"), root, "train")] == [
        ("day", "train"), ("night", "train"), ("twilight", "train"),
    ]  # fmt: skip
    frame = first("dark-zurich", root, "val")
    assert (frame.condition, frame.role, frame.group) == ("night", "validation", "night/GOPR0356")
    by_day = first("dark-zurich", root, "val_ref")
    assert (by_day.id, by_day.condition, by_day.role) == (
        "day/GOPR0356_ref/GOPR0356_frame_000321",
        "day",
        "validation",
    )
    made_trees.labels(Path(frame.truth.replace("labelTrainIds", "labelIds")), made_trees.CITYSCAPES)
    frame = first("dark-zurich", root, "val")
    assert frame.truth.endswith("_gt_labelIds.png")
    assert set(np.unique(entry("dark-zurich").read_truth(frame))) == set(made_trees.TRAIN_IDS)


def test_reference_images_of_acdc_are_splits_in_good_conditions_and_half_of_them_have_labels(
    root: Path,
) -> None:
    made_trees.acdc(root)
    for archive, part in (("gt_trainval", "val"), ("gt_trainval_ref", "val_ref")):
        for condition in ("fog", "night", "rain", "snow"):
            (root / archive / "gt" / condition).mkdir(parents=True)
            (root / "gt" / condition / part).rename(root / archive / "gt" / condition / part)
    layout, bad = entry("acdc"), find_frames(entry("acdc"), root, "val")
    good = find_frames(layout, root, "val_ref")
    assert [frame.id for frame in good] == [frame.id for frame in bad]
    assert {frame.condition for frame in good} == {"clean"}
    assert {frame.role for frame in good} == {"validation"}
    assert [Path(frame.truth).name for frame in (bad[0], good[0])] == [
        "GP010476_frame_000041_gt_labelIds.png", "GP010476_frame_000041_gt_ref_labelIds.png",
    ]  # fmt: skip
    Path(good[0].truth).unlink()
    assert "1 of 4 images have no labels" in check(layout, find_frames(layout, root, "val_ref"))


def test_254_is_the_anomaly_of_issu_and_void_among_its_classes(root: Path) -> None:
    made_trees.issu(root)
    layout, frame = entry("issu"), first("issu", root, "test_static")
    with Image.open(frame.truth) as picture:
        written = np.asarray(picture)
    np.testing.assert_array_equal(layout.read_truth(frame), np.where(written == 254, 255, written))
    expected = np.where(written == 254, 1, np.where(written == 255, 255, 0))
    np.testing.assert_array_equal(layout.read_truth(frame, "anomaly"), expected)
    made_trees.labels(Path(frame.truth), (0, 19))
    for kind in layout.truth_kinds:
        with pytest.raises(LabelMapError, match="holds the value 19"):
            layout.read_truth(frame, kind)


def test_images_of_issu_say_the_weather_and_may_be_jpeg_under_another_name(root: Path) -> None:
    made_trees.issu(root)
    found = find_frames(entry("issu"), root / "ISSU_datasets", "test_static")
    assert [(frame.id, frame.condition) for frame in found] == [("0/009599", "clean"), ("fog/00131", "fog")]
    Image.new("RGB", (17, 16), (10, 20, 30)).save(found[0].image, format="JPEG")
    assert entry("issu").read_image(found[0]).shape == (16, 17, 3)


def test_the_benchmarks_own_tree_of_issu_has_the_same_frames(root: Path) -> None:
    made_trees.issu(root)
    composed = {split: find_frames(entry("issu"), root, split) for split in ("test_static", "test_temporal")}
    track = root / "track" / "dataset_ISSUTrack"
    for split, frames in composed.items():
        for frame in frames:
            name = f"{split.removeprefix('test_')}_{frame.id.replace('/', '_')}.png"
            for kind, path in (("images", frame.image), ("labels_masks", frame.truth)):
                (track / kind).mkdir(parents=True, exist_ok=True)
                Path(path).rename(track / kind / name)
    for place in (track, track.parent):
        for split, frames in composed.items():
            found = find_frames(entry("issu"), place, split)
            assert [(frame.id, frame.group, frame.condition) for frame in found] == [
                (frame.id, frame.group, frame.condition) for frame in frames
            ]
            assert all(Path(frame.truth).parent.name == "labels_masks" for frame in found)
    with pytest.raises(CorpusError, match="found dataset_ISSUTrack/"):
        find_frames(entry("issu"), track.parent, "train")


def test_invalid_pixels_of_bravo_are_those_above_0_where_labels_are_not_void(root: Path) -> None:
    made_trees.bravo_unknown(root)
    layout = entry("bravo-unknown")
    for split, mask in (("synflare", "_gt_invIds.png"), ("synobjs", "_mask.png")):
        frame = first("bravo-unknown", root, split)
        assert layout.read_truth(frame, "anomaly").ravel()[:5].tolist() == [0, 1, 0, 1, 0]
        made_trees.labels(Path(frame.truth), (255, 255, 3, 3, 255))
        assert layout.read_truth(frame, "anomaly").ravel()[:5].tolist() == [255, 255, 0, 1, 255]
        file = Path(root / f"bravo_{split}" / f"{frame.id}{mask}")
        Image.fromarray(np.zeros((3, 4), np.uint8)).save(file)
        with pytest.raises(LabelMapError, match="is 4 x 3 pixels, its labels 17 x 16"):
            layout.read_truth(frame, "anomaly")
        file.unlink()
        with pytest.raises(LabelMapError, match=mask):
            layout.read_truth(frame, "anomaly")


def test_frames_of_bravo_say_what_was_done_to_which_image_and_have_no_labels_where_none_were_handed_out(
    root: Path,
) -> None:
    made_trees.bravo_unknown(root)
    made_trees.bravo(root)
    frame = first("bravo-unknown", root, "synrain")
    assert (frame.condition, frame.parent, frame.role) == (
        "synrain",
        "frankfurt/frankfurt_000001_046272",
        "test",
    )
    frame = first("bravo-unknown", root, "synobjs")
    assert (frame.condition, frame.parent) == ("synobjs", "")
    assert [frame.condition for frame in find_frames(entry("bravo"), root, "ACDC")] == ["fog", "snow"]
    for path in [*root.rglob("*_gt*.png"), *root.rglob("*_mask.png")]:
        path.unlink()
    for name in ("bravo", "bravo-unknown"):
        for split in entry(name).splits:
            assert {frame.truth for frame in find_frames(entry(name), root, split)} == {""}


def test_a_subset_of_bravo_that_another_layout_has_is_refused_with_those_of_this_one(root: Path) -> None:
    made_trees.bravo(root)
    with pytest.raises(
        OptionError, match=r"--split 'synobjs': BRAVO \(known classes\) has ACDC, outofcontext\."
    ):
        find_frames(entry("bravo"), root, "synobjs")


def test_bdd100k_of_its_first_release_is_read(root: Path) -> None:
    made_trees.image(root / "seg" / "images" / "val" / "7d06fefd-f7be05a6.jpg")
    made_trees.labels(
        root / "seg" / "labels" / "val" / "7d06fefd-f7be05a6_train_id.png", made_trees.TRAIN_IDS
    )
    frame = first("bdd100k", root, "val")
    assert set(np.unique(entry("bdd100k").read_truth(frame))) == set(made_trees.TRAIN_IDS)


def test_a_layout_of_ones_own_is_named_by_its_file(root: Path) -> None:
    own = root / "own.py"
    own.write_text(
        "from faultscape.corpus import Frame, Layout\n"
        "def find(root, split):\n"
        "    return [Frame(path.stem, str(path), split=split) for path in root.glob('*.png')]\n"
        "MINE = Layout('mine', 'Mine', ('all',), 'voc', 'semantic', find, 'any *.png', 'me')\n"
    )
    made_trees.image(root / "x.png")
    assert [frame.id for frame in find_frames(entry(f"{own}:MINE"), root, "all")] == ["x"]
    with pytest.raises(OptionError, match="holds no Layout called 'THEIRS'"):
        entry(f"{own}:THEIRS")


def test_the_sample_of_cityscapes_is_read_by_its_own_layout(data: Path) -> None:
    layout = entry("cityscapes")
    (frame,) = find_frames(layout, data / "formats" / "cityscapes", "train")
    assert (frame.id, frame.group) == ("aachen/aachen_000000_000019", "aachen")
    with Image.open(frame.truth) as picture:
        written = np.asarray(picture)
    np.testing.assert_array_equal(
        layout.read_truth(frame), np.array([train_id(k) for k in range(256)], np.uint8)[written]
    )
    instances = layout.read_instances(frame)
    with Image.open(frame.instances) as picture:
        raw = np.asarray(picture).astype(int)
    np.testing.assert_array_equal(instances > 0, raw >= 1000)
    assert set(np.unique(written[instances > 0])) <= {24, 25, 26, 27, 28, 29, 30, 31, 32, 33}
    assert check(layout, [frame]) == "Cityscapes train: 1 image found, 2,975 documented"
    with pytest.raises(CorpusError, match="no images of the split 'val'"):  # labels alone are not frames
        find_frames(layout, data / "formats" / "cityscapes", "val")


def test_the_sample_of_ade20k_is_read_without_folders_of_splits(data: Path) -> None:
    layout = entry("ade20k")
    found = find_frames(layout, data / "formats" / "ade20k", "validation")
    assert len(found) == 3
    for frame in found:
        with Image.open(frame.truth) as picture:
            np.testing.assert_array_equal(layout.read_truth(frame), np.asarray(picture))


def test_the_sample_of_voc_has_1464_training_masks_and_five_images(data: Path) -> None:
    layout = entry("voc2012")
    found = find_frames(layout, data / "voc2012", "with_images")
    assert len(found) == 5
    assert all(set(np.unique(layout.read_truth(frame))) <= {*range(21), 255} for frame in found)
    assert "1,464 documented" in check(layout, find_frames(layout, data / "voc2012", "train"))


def test_camvid_as_it_lies_there_is_whole(data: Path) -> None:
    layout = entry("camvid")
    for split, number, drives in (
        ("train", 367, {"0001TP": 62, "0006R0": 101, "0016E5": 204}),
        ("test", 233, {"0001TP": 62, "Seq05VD": 171}),
    ):
        found = find_frames(layout, data / "camvid", split)
        assert len(found) == number
        assert check(layout, found) == ""
        assert {
            drive: sum(frame.group == drive for frame in found) for drive in {frame.group for frame in found}
        } == drives
        assert set(np.unique(layout.read_truth(found[0]))) <= set(range(12))


@pytest.mark.parametrize(
    ("folder", "files", "layout"),
    [
        ("formats/bdd100k-labels", "*_train_id.png", "bdd100k"),
        ("formats/coco-stuff/labels", "*.png", "coco-stuff"),
        ("anomaly/fs_static/masks", "*.png", "fs-static"),
        ("anomaly/fs_lostfound_half/masks", "*.png", "fs-lost-and-found"),
        ("anomaly/smiyc_anomaly21/masks", "*.png", "road-anomaly21"),
        ("anomaly/smiyc_obstacle21/masks", "*.png", "road-obstacle21"),
    ],
)
def test_real_masks_are_read_as_they_are(folder: str, files: str, layout: str, data: Path) -> None:
    paths = sorted((data / folder).glob(files))
    assert len(paths) >= 3
    for path in paths[:13]:
        truth = entry(layout).read_truth(Frame(path.stem, "", str(path)))
        with Image.open(path) as picture:
            np.testing.assert_array_equal(truth, np.asarray(picture))
