"""Small trees of data sets as their sites hand them out, written from their readme files: split files, quirks
of names, and every label id in every label file.

Conventions: images are 16 x 17 noise, no two alike; a maker writes under ``root`` and returns {split: ids} as
a person would read them off the folder. Nothing here imports what it tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

HEIGHT, WIDTH = 16, 17
Splits = dict[str, list[str]]
CITYSCAPES = range(34)
TRAIN_IDS = (*range(19), 255)
COCO_STUFF = sorted({*range(182), 255} - {11, 25, 28, 29, 44, 65, 67, 68, 70, 82, 90})
CAMVID32 = bytes.fromhex(
    "408040 c00080 0080c0 008040 800000 400080 4000c0 c08040 c0c080 404080 8000c0 c00040 808040 c000c0 804040"
    " 40c080 404000 804080 8080c0 0000c0 c08080 808080 4080c0 000040 004040 c04080 808000 c080c0 400040"
    " c0c000 000000 40c000"
)


def image(path: Path, size: tuple[int, int] = (HEIGHT, WIDTH)) -> Path:
    """Write an image whose pixels follow from its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    seed = sum(ord(letter) * (place + 1) for place, letter in enumerate(path.name))
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (*size, 3)).astype(np.uint8)).save(path)
    return path


def labels(path: Path, ids: Sequence[int], kind: type = np.uint8) -> Path:
    """Write a label file in which every id stands, the first most often."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flat = np.full(HEIGHT * WIDTH, ids[0], kind)
    flat[: len(ids)] = ids
    Image.fromarray(flat.reshape(HEIGHT, WIDTH)).save(path)
    return path


def palette(path: Path, ids: Sequence[int]) -> Path:
    """Write a label file as PASCAL VOC has them: palette pixels, not grey."""
    picture = Image.open(labels(path, ids)).convert("L")
    coloured = Image.frombytes("P", picture.size, picture.tobytes())
    coloured.putpalette([(k * 7) % 256 for k in range(768)])
    coloured.save(path)
    return path


def text(path: Path, *rows: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n")


def cityscapes(root: Path) -> Splits:
    names = {
        "train": ["aachen_000000_000019", "aachen_000001_000019", "zurich_000100_000019"],
        "val": ["frankfurt_000001_015328"],
        "test": ["bonn_000004_000019"],
    }
    for split, frames in names.items():
        for name in frames:
            city = name.partition("_")[0]
            image(root / "leftImg8bit" / split / city / f"{name}_leftImg8bit.png")
            at = root / "gtFine" / split / city
            labels(at / f"{name}_gtFine_labelIds.png", CITYSCAPES)
            labels(at / f"{name}_gtFine_color.png", CITYSCAPES)
            labels(at / f"{name}_gtFine_instanceIds.png", (*range(34), 24_000, 24_001, 26_000), np.uint16)
            labels(root / "disparity" / split / city / f"{name}_disparity.png", (0, 1, 257, 2561), np.uint16)
            camera = {"extrinsic": {"baseline": 0.25}, "intrinsic": {"fx": 2000.0}}
            text(root / "camera" / split / city / f"{name}_camera.json", json.dumps(camera))
    name = "troisdorf_000000_000073"
    image(root / "leftImg8bit" / "train_extra" / "troisdorf" / f"{name}_leftImg8bit.png")
    labels(root / "gtCoarse" / "train_extra" / "troisdorf" / f"{name}_gtCoarse_labelIds.png", CITYSCAPES)
    ids = {split: [f"{name.partition('_')[0]}/{name}" for name in frames] for split, frames in names.items()}
    return ids | {"train_extra": [f"troisdorf/{name}"]}


def cityscapes_c(root: Path) -> Splits:
    base = cityscapes(root)
    for split in ("train", "val"):
        for id_ in base[split]:
            image(root / "fog" / "3" / split / f"{id_}_leftImg8bit.png")
            image(root / "gaussian_noise" / "1" / f"{id_}.png")  # without the split: the city says it
    return {
        split: [f"{done}/{id_}" for done in ("fog/3", "gaussian_noise/1") for id_ in base[split]]
        for split in ("train", "val")
    }


def foggy_cityscapes(root: Path) -> Splits:
    base = cityscapes(root)
    betas = ("0.005", "0.01", "0.02")
    for split in ("train", "val"):
        for id_ in base[split]:
            for beta in betas:
                image(root / "leftImg8bit_foggy" / split / f"{id_}_leftImg8bit_foggy_beta_{beta}.png")
    return {
        split: [f"beta_{beta}/{id_}" for beta in betas for id_ in base[split]] for split in ("train", "val")
    }


def foggy_driving(root: Path) -> Splits:
    names = {"test": ["public/public_0001_a", "web/web_x7_2"], "test_extra": ["pedestrian/pedestrian_000_01"]}
    for split, frames in names.items():
        kind = {"test": "gtFine", "test_extra": "gtCoarse"}[split]
        for name in frames:
            image(root / "leftImg8bit" / split / f"{name}_leftImg8bit.png")
            labels(root / kind / split / f"{name}_{kind}_labelIds.png", CITYSCAPES)
            labels(root / kind / split / f"{name}_{kind}_labelTrainIds.png", TRAIN_IDS)
    text(
        root / "lists_file_names" / "leftImg8bit_testdense_filenames.txt",
        "leftImg8bit/test/public/public_0001_a_leftImg8bit.png",
    )
    return names | {"all": names["test"] + names["test_extra"]}


def foggy_zurich(root: Path) -> Splits:
    names = [
        "GOPR0119/1508039851.0_frame_000321",
        "GP010229/1508040913.0_frame_000955",
        "GP010476/1508042018.0_frame_000351",
    ]
    for name in names:
        image(root / "RGB" / f"{name}.png")
    for name in names[:2]:
        labels(root / "gt_labelIds" / f"{name}.png", CITYSCAPES)
        labels(root / "gt_labelTrainIds" / f"{name}.png", TRAIN_IDS)
    splits = {"testv1": names[:1], "testv2": names[:2], "light": names[2:], "medium": names[2:]}
    for split, members in splits.items():
        text(
            root / "lists_file_names" / f"RGB_{split}_filenames.txt", *(f"RGB/{name}.png" for name in members)
        )
    return splits


def dark_zurich(root: Path) -> Splits:
    names = {
        "train": [
            "night/GOPR0351/GOPR0351_frame_000090",
            "twilight/GOPR0345/GOPR0345_frame_000001",
            "day/GOPR0345/GOPR0345_frame_000001",
        ],
        "val": ["night/GOPR0356/GOPR0356_frame_000321", "night/GOPR0356/GOPR0356_frame_000324"],
        "test": ["night/GOPR0364/GOPR0364_frame_000063"],
        "val_ref": ["day/GOPR0356_ref/GOPR0356_frame_000321"],
        "test_ref": ["day/GOPR0364_ref/GOPR0364_frame_000063"],
    }
    archives = {
        "train": "Dark_Zurich_train_anon",
        "val": "Dark_Zurich_val_anon",
        "test": "Dark_Zurich_test_anon_withoutGt",
    }
    for split, frames in names.items():
        archive, reference = root / archives[split.partition("_")[0]], "_ref" * split.endswith("_ref")
        for name in frames:
            image(archive / "rgb_anon" / split / f"{name}{reference}_rgb_anon.png")
            if split == "val":
                labels(archive / "gt" / split / f"{name}_gt_labelTrainIds.png", TRAIN_IDS)
                labels(archive / "gt" / split / f"{name}_gt_invIds.png", (0, 1))
                labels(archive / "gt" / split / f"{name}_gt_invGray.png", (0, 255))
    return names


def acdc(root: Path) -> Splits:
    ids: Splits = {}
    for split, sequence in (("train", "GOPR0475"), ("val", "GP010476"), ("test", "GOPR0477")):
        for condition in ("fog", "night", "rain", "snow"):
            name = f"{sequence}/{sequence}_frame_000041"
            image(root / "rgb_anon" / condition / split / f"{name}_rgb_anon.png")
            image(root / "rgb_anon" / condition / f"{split}_ref" / f"{name}_rgb_ref_anon.png")
            if split != "test":
                labels(root / "gt" / condition / split / f"{name}_gt_labelIds.png", CITYSCAPES)
                labels(root / "gt" / condition / split / f"{name}_gt_invIds.png", (0, 1))
                labels(root / "gt" / condition / f"{split}_ref" / f"{name}_gt_ref_labelIds.png", CITYSCAPES)
            ids.setdefault(split, []).append(f"{condition}/{name}")
    return ids | {f"{split}_ref": list(names) for split, names in ids.items()}


def ade20k(root: Path) -> Splits:
    base = root / "ADEChallengeData2016"
    ids = {"training": ["ADE_train_00000001", "ADE_train_00000002"], "validation": ["ADE_val_00000001"]}
    for split, names in ids.items():
        for name in names:
            image(base / "images" / split / f"{name}.jpg")
            labels(base / "annotations" / split / f"{name}.png", range(151))
    image(base / "images" / "old" / "ADE_val_00000009.jpg")
    image(root / "release_test" / "testing" / "ADE_test_00000001.jpg")
    text(base / "objectInfo150.txt", "Idx Ratio")
    text(base / "sceneCategories.txt", "ADE_train_00000001 airport_terminal")
    return ids | {"test": ["ADE_test_00000001"]}


def coco_stuff(root: Path) -> Splits:
    ids = {"train2017": ["000000000009", "000000000025"], "val2017": ["000000000139"]}
    for split, names in ids.items():
        for name in names:
            image(root / "images" / split / f"{name}.jpg")
            labels(root / "stuffthingmaps" / split / f"{name}.png", COCO_STUFF)
            labels(root / "stuffthingmaps" / split / f"{name}_labelTrainIds.png", (*range(171), 255))
            text(root / "annotations" / f"stuff_{split}.json", "{}")
    return ids


def voc2012(root: Path) -> Splits:
    base = root / "VOCdevkit" / "VOC2012"
    ids = {"train": ["2007_000032", "2007_000039"], "val": ["2007_000033"], "test": ["2008_000006"]}
    for split, names in ids.items():
        for name in names:
            image(base / "JPEGImages" / f"{name}.jpg")
            if split != "test":
                palette(base / "SegmentationClass" / f"{name}.png", (*range(21), 255))
                palette(base / "SegmentationObject" / f"{name}.png", (0, 1, 2, 255))
        text(base / "ImageSets" / "Segmentation" / f"{split}.txt", *names)
    image(base / "JPEGImages" / "2012_000001.jpg")  # of another task: in no list
    # the last is not there
    text(base / "ImageSets" / "Segmentation" / "trainval.txt", *ids["train"], *ids["val"], "2011_009999")
    return ids | {"trainval": ids["train"] + ids["val"]}


def camvid(root: Path) -> Splits:
    ids = {"train": ["0001TP_006690", "0016E5_00390"], "val": ["0016E5_07959"], "test": ["Seq05VD_f00000"]}
    for split, names in ids.items():
        for name in names:
            image(root / split / f"{name}.png")
            labels(root / f"{split}annot" / f"{name}.png", range(12))
        text(
            root / f"{split}.txt",
            *(f"/SegNet/CamVid/{split}/{name}.png /SegNet/CamVid/{split}annot/{name}.png" for name in names),
        )
    return ids


def camvid32(root: Path) -> Splits:
    names = ["0001TP_006690", "Seq05VD_f00000"]
    colours = np.frombuffer(CAMVID32, np.uint8).reshape(32, 3)
    for name in names:
        image(root / "701_StillsRaw_full" / f"{name}.png")
        (root / "LabeledApproved_full").mkdir(exist_ok=True)
        flat = np.resize(colours, (HEIGHT * WIDTH, 3))
        Image.fromarray(flat.reshape(HEIGHT, WIDTH, 3)).save(root / "LabeledApproved_full" / f"{name}_L.png")
    text(root / "label_colors.txt", "64 128 64\tAnimal")
    return {"all": names}


def fs_static(root: Path) -> Splits:
    cityscapes(root / "cityscapes")
    base = "frankfurt_000001_015328"
    ids = [f"0000_{base}", f"0001_{base}"]
    for place, id_ in enumerate(ids):
        overlay = np.random.default_rng(place).integers(-255, 256, (HEIGHT, WIDTH, 3))
        np.savez_compressed(root / f"{id_}_rgb.npz", rgb=overlay)
        labels(root / f"{id_}_labels.png", (0, 1, 255))
    labels(root / f"0002_{base}_labels.png", (0, 1, 255))  # without overlay
    labels(root / "0003_lindau_000000_000019_labels.png", (0, 1, 255))  # without an image
    return {"validation": ids}


def fs_lost_and_found(root: Path) -> Splits:
    lost_and_found(root / "lost_and_found")
    ids = ["0000_04_Maurener_Weg_8_000000_000030", "0001_13_Elly_Beinhorn_Str_000000_000050"]
    for id_ in (*ids, "0002_01_Hanns_Klemm_Str_45_000099_000010"):  # the last has no image
        labels(root / f"{id_}_labels.png", (0, 1, 255))
    return {"validation": ids}


def lost_and_found(root: Path) -> Splits:
    names = {
        "train": ["13_Elly_Beinhorn_Str_000000_000050"],
        "test": [
            "04_Maurener_Weg_8_000000_000030",
            "04_Maurener_Weg_8_000000_000040",
            "01_Hanns_Klemm_Str_45_000006_000010",
        ],
    }
    ids: Splits = {}
    for split, frames in names.items():
        for name in frames:
            place = name.rpartition("_")[0].rpartition("_")[0]
            image(root / "leftImg8bit" / split / place / f"{name}_leftImg8bit.png")
            labels(root / "gtCoarse" / split / place / f"{name}_gtCoarse_labelIds.png", range(44))
            labels(root / "gtCoarse" / split / place / f"{name}_gtCoarse_labelTrainIds.png", (0, 1, 2, 255))
            labels(
                root / "gtCoarse" / split / place / f"{name}_gtCoarse_instanceIds.png",
                (0, 1, 5000, 5001),
                np.uint16,
            )
            ids.setdefault(split, []).append(f"{place}/{name}")
    return ids


def road_anomaly(root: Path) -> Splits:
    names = ["animals06_sheep_roads_lambs", "tractor_01"]
    for name in names:
        image(root / "frames" / f"{name}.jpg")
        labels(root / "frames" / f"{name}.labels" / "labels_semantic.png", (0, 1, 2))
        labels(root / "frames" / f"{name}.labels" / "labels_semantic_color.png", (0, 120))
        text(root / "frames" / f"{name}.labels" / "index.json", "{}")
    text(root / "frame_list.json", json.dumps([f"{name}.jpg" for name in names]))
    return {"test": names}


def road_anomaly21(root: Path) -> Splits:
    ids = {"validation": ["validation0000", "validation0001"], "test": ["bear0000", "zebra0001"]}
    return _smiyc(root / "dataset_AnomalyTrack", ids, ".jpg")


def road_obstacle21(root: Path) -> Splits:
    ids = {
        "validation": ["validation_1", "validation_2", "validation_30"],
        "test": ["curvy-street_0", "curvy-street_1", "gravel_3"],
    }
    base = root / "dataset_ObstacleTrack"
    for name in ("validation_19", "validation_23", "snowstorm1_0", "driveway_2"):
        # left out by the benchmark's own code
        image(base / "images" / f"{name}.webp")
    return _smiyc(base, ids, ".webp")


def _smiyc(base: Path, ids: Splits, ending: str) -> Splits:
    for split, names in ids.items():
        for name in names:
            image(base / "images" / f"{name}{ending}")
            if split == "validation":
                labels(base / "labels_masks" / f"{name}_labels_semantic.png", (0, 1, 255))
                image(base / "labels_masks" / f"{name}_labels_semantic_color.png")
    return ids


def streethazards(root: Path) -> Splits:
    ids: Splits = {}
    for part, split, towns in (
        ("train", "training", ("t1", "t2")),
        ("train", "validation", ("t4",)),
        ("test", "test", ("t5", "t6")),
    ):
        for town in towns:
            image(root / part / "images" / split / town / "300.png")
            labels(root / part / "annotations" / split / town / "300.png", range(1, 15))
            ids.setdefault(split, []).append(f"{town}/300")
    return ids


def issu(root: Path) -> Splits:
    names = {
        "train": ["12/004213"],
        "val": ["7/frame0029"],
        "test_static": ["0/009599", "fog/00131"],
        "test_temporal": ["99/520", "99/550"],
    }
    sets = {
        "train": "ISSU-Train",
        "val": "ISSU-Train",
        "test_static": "ISSU-Test-Static",
        "test_temporal": "ISSU-Test-Temporal",
    }
    for split, frames in names.items():
        base, part = root / "ISSU_datasets" / sets[split], split.partition("_")[0]
        for name in frames:
            image(base / "leftImg8bit" / part / f"{name}_leftImg8bit.png")
            labels(base / "gtFine_csT" / part / f"{name}_gtFine_csT.png", (*range(19), 254, 255))
    image(
        root
        / "ISSU_datasets"
        / "ISSU-Test-Temporal-Clip"
        / "leftImg8bit"
        / "test"
        / "99"
        / "521_leftImg8bit.png"
    )
    text(root / "ISSU_datasets" / "ISSU_IDD_maps" / "ISSU_train.json", "{}")
    return names


def bravo(root: Path) -> Splits:
    names = {
        "ACDC": ["fog/test/GOPR0475/GOPR0475_frame_000247", "snow/test/GP010122/GP010122_frame_000085"],
        "outofcontext": ["lindau/lindau_000024_000019"],
    }
    for subset, ending in (("ACDC", "rgb_anon"), ("outofcontext", "leftImg8bit")):
        for name in names[subset]:
            image(root / f"bravo_{subset}" / f"{name}_{ending}.png")
            labels(root / "bravo_GT" / f"bravo_{subset}" / f"{name}_gt_labelTrainIds.png", TRAIN_IDS)
            labels(root / "bravo_GT" / f"bravo_{subset}" / f"{name}_gt_invIds.png", (0, 1))
    return names


def bravo_unknown(root: Path) -> Splits:
    names = {
        "synrain": ["frankfurt/frankfurt_000001_046272", "munster/munster_000018_000019"],
        "synflare": ["lindau/lindau_000015_000019"],
        "synobjs": ["polar bear/4", "tiger/437"],
    }
    endings = {"synobjs": ("", "gt", "mask")}
    for subset, frames in names.items():
        photo, truth, mask = endings.get(subset, ("_leftImg8bit", "gt_labelTrainIds", "gt_invIds"))
        for name in frames:
            image(root / f"bravo_{subset}" / f"{name}{photo}.png")
            labels(root / f"bravo_{subset}" / f"{name}_{truth}.png", TRAIN_IDS)
            labels(root / f"bravo_{subset}" / f"{name}_{mask}.png", (0, 1, 0, 255))
    return names


def bravo_smiyc(root: Path) -> Splits:
    names = [f"RoadAnomaly21/images/{name}" for name in ("airplane0001", "validation0007")]
    for name in names:
        image(root / "bravo_SMIYC" / f"{name}.jpg")
        labels(root / "bravo_SMIYC" / f"{name}_labels_semantic.png", (0, 1, 255))
        labels(root / "bravo_SMIYC" / f"{name}_labels_semantic_fake.png", (0, 255))
    return {"SMIYC": names}


def wilddash1(root: Path) -> Splits:
    names = ["cn0000_100000", "us0009_100000"]
    for name in names:
        image(root / "wd_val_01" / f"{name}.png")
        labels(root / "wd_val_01" / f"{name}_labelIds.png", CITYSCAPES)
        labels(root / "wd_val_01" / f"{name}_instanceIds.png", (0, 7, 26_000), np.uint16)
        image(root / "wd_val_01" / f"{name}_labelColors.png")
    image(root / "wd_val_01" / "zz0000_100000.png")  # without labels
    return {"val": names}


def wilddash2(root: Path) -> Splits:
    names = ["aa0001_100000", "br0012_100000"]
    for name in names:
        image(root / "wd_public_02" / "images" / f"{name}.jpg")
        labels(root / "wd_public_02" / "labels" / f"{name}.png", range(39))
    return {"all": names}


def _mapillary(root: Path, inner: str, ids: Sequence[int]) -> Splits:
    names = {
        "training": ["-0BsTq2JRTBVgTDK5Xpt3w", "Zz_1"],
        "validation": ["_1Gn_xkw7sa_i9GU4mkxxQ"],
        "testing": ["w"],
    }
    for split, frames in names.items():
        for name in frames:
            image(root / split / "images" / f"{name}.jpg")
            if split != "testing":
                labels(root / split / inner / "labels" / f"{name}.png", ids)
                labels(
                    root / split / inner / "instances" / f"{name}.png",
                    [k << 8 | k % 3 for k in ids],
                    np.uint16,
                )
    return names


def mapillary_v12(root: Path) -> Splits:
    return _mapillary(root, "v1.2", range(66))


def mapillary_v20(root: Path) -> Splits:
    return _mapillary(root, "v2.0", range(124))


def bdd100k(root: Path) -> Splits:
    ids = {"train": ["0a0a0b1a-7c39d841"], "val": ["7d06fefd-f7be05a6"], "test": ["ac6d4f42-00000000"]}
    for split, names in ids.items():
        for name in names:
            image(root / "images" / "10k" / split / f"{name}.jpg")
            if split != "test":
                labels(root / "labels" / "sem_seg" / "masks" / split / f"{name}.png", TRAIN_IDS)
                labels(root / "labels" / "sem_seg" / "colormaps" / split / f"{name}.png", TRAIN_IDS)
    return ids


MAKERS: dict[str, Callable[[Path], Splits]] = {
    "cityscapes": cityscapes,
    "cityscapes-c": cityscapes_c,
    "foggy-cityscapes": foggy_cityscapes,
    "foggy-driving": foggy_driving,
    "foggy-zurich": foggy_zurich,
    "dark-zurich": dark_zurich,
    "acdc": acdc,
    "ade20k": ade20k,
    "coco-stuff": coco_stuff,
    "voc2012": voc2012,
    "camvid": camvid,
    "camvid32": camvid32,
    "fs-static": fs_static,
    "fs-lost-and-found": fs_lost_and_found,
    "lost-and-found": lost_and_found,
    "road-anomaly": road_anomaly,
    "road-anomaly21": road_anomaly21,
    "road-obstacle21": road_obstacle21,
    "streethazards": streethazards,
    "issu": issu,
    "bravo": bravo,
    "bravo-unknown": bravo_unknown,
    "bravo-smiyc": bravo_smiyc,
    "wilddash1": wilddash1,
    "wilddash2": wilddash2,
    "mapillary-1.2": mapillary_v12,
    "mapillary-2.0": mapillary_v20,
    "bdd100k": bdd100k,
}
