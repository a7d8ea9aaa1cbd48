"""collect --layout: a data set as it is handed out, with truth, classes, groups, roles, instances; and
mixtures of several.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
import made_trees
from faultscape.cli import main
from faultscape.corpus.photos import read_photo
from faultscape.maps import runs
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps, outputs
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.logs import read_failures
from made import states
from networks_of_tests import colour_network
from refusals import refused, refused_line


def cityscapes(root: Path, cities: dict[str, int], split: str = "val") -> Path:
    """A tree of Cityscapes: all 34 label ids, an ego vehicle below, two cars as instances."""
    for city, number in cities.items():
        for k in range(number):
            name = f"{city}_{k:06d}_000019"
            rng = np.random.default_rng([k, len(city)])
            made.write(
                root / "leftImg8bit" / split / city / f"{name}_leftImg8bit.png",
                rng.integers(0, 256, (48, 96, 3), np.uint8),
            )
            labels = np.full((48, 96), 7, np.uint8)
            labels[:20, :34] = np.arange(34)
            labels[24:34, 10:50] = 26
            labels[-6:] = 1
            made.write(root / "gtFine" / split / city / f"{name}_gtFine_labelIds.png", labels)
            instances = labels.astype(np.uint16)
            instances[24:34, 10:30], instances[24:34, 30:50] = 26000, 26001
            made.write(root / "gtFine" / split / city / f"{name}_gtFine_instanceIds.png", instances)
    return root


def truth_of(study: Path, name: str) -> dict[str, np.ndarray]:
    folder = label_maps.truth(study, name)
    return {
        id_: runs.decode(code)
        for shard in {i.shard for i in read_corpus(study)}
        for id_, code in label_maps.read_maps(folder, shard).items()
    }


def test_a_data_set_comes_with_classes_truth_groups_roles_and_instances(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = cityscapes(tmp_path / "data", {"frankfurt": 2, "lindau": 1})
    study = tmp_path / "study"
    assert main(["collect", str(study), str(root), "--layout", "cityscapes", "--split", "val"]) == 0
    out = capsys.readouterr().out
    assert "Cityscapes val: 3 images found, 500 documented" in out
    assert "truth    labels (3 images), instances (3 images)" in out
    rows = {image.id: image for image in read_corpus(study)}
    assert sorted(rows) == [
        "frankfurt/frankfurt_000000_000019",
        "frankfurt/frankfurt_000001_000019",
        "lindau/lindau_000000_000019",
    ]
    assert {image.role for image in rows.values()} == {"validation"}
    assert [rows[id_].group for id_ in sorted(rows)] == ["frankfurt", "frankfurt", "lindau"]
    labels = truth_of(study, "labels")["lindau/lindau_000000_000019"]
    assert labels[0, [7, 8, 11, 26, 33]].tolist() == [0, 1, 2, 13, 18]
    assert labels[0, [0, 1, 2, 3, 4, 5, 6, 9, 10, 29, 30]].tolist() == [255] * 11
    assert set(np.unique(truth_of(study, "instances")["lindau/lindau_000000_000019"])) == {0, 1, 2}
    assert Study(study).truths == ["labels"]  # instances are not labels of classes
    assert fs.collect(study, root, known=fs.options.KnownData(layout="cityscapes", split="val")).new == 0


def test_labels_that_a_person_replaced_stay_until_the_data_set_has_others(tmp_path: Path) -> None:
    root = cityscapes(tmp_path / "data", {"ulm": 2}, "train")
    study, line = tmp_path / "study", fs.options.KnownData(layout="cityscapes", split="train")
    fs.collect(str(study), str(root), known=line)
    made.write(tmp_path / "own" / "ulm" / "ulm_000000_000019.png", np.full((48, 96), 5, np.uint8))
    fs.label.import_(str(study), str(tmp_path / "own"))
    fs.collect(str(study), str(root), known=line)
    assert (truth_of(study, "labels")["ulm/ulm_000000_000019"] == 5).all()
    made.write(
        root / "gtFine" / "train" / "ulm" / "ulm_000000_000019_gtFine_labelIds.png",
        np.full((48, 96), 8, np.uint8),
    )
    fs.collect(str(study), str(root), known=line)
    assert (truth_of(study, "labels")["ulm/ulm_000000_000019"] == 1).all()


def test_labels_of_another_class_list_become_the_studys_classes_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = cityscapes(tmp_path / "data", {"ulm": 1}, "train")
    classes = {
        "ignore_index": 9,
        "classes": [
            {"index": 3, "name": "car", "color": [0, 0, 255]},
            {"index": 5, "name": "road", "color": [128, 0, 128]},
        ],
    }
    (tmp_path / "classes.json").write_text(json.dumps(classes))
    fs.collect(
        tmp_path / "study",
        root,
        classes=tmp_path / "classes.json",
        known=fs.options.KnownData(layout="cityscapes", split="train"),
    )
    labels = truth_of(tmp_path / "study", "labels")["ulm/ulm_000000_000019"]
    assert labels[26, 20] == 3
    assert labels[40, 60] == 5
    assert set(np.unique(labels)) == {3, 5, 9}
    assert (
        "17 classes become void because the study does not have bicycle, building" in capsys.readouterr().out
    )


@pytest.mark.slow
def test_no_object_is_blended_onto_the_ego_vehicle_that_the_layout_tells_and_known_objects_are_its_instances(
    tmp_path: Path,
) -> None:
    root = cityscapes(tmp_path / "data", {"frankfurt": 3})
    cityscapes(root, {"ulm": 4}, "train")
    study = str(tmp_path / "study")
    fs.collect(study, str(root), known=fs.options.KnownData(layout="cityscapes", split="val"))
    fs.collect(study, str(root), set_="train", known=fs.options.KnownData(layout="cityscapes", split="train"))
    fs.stress.blend(
        study,
        preset="fishyscapes-v3",
        set_="main",
        frames=24,
        blending=fs.options.Blending(smallest=20),
        engine="local",
    )
    images = {image.id: image for image in read_corpus(Path(study)) if image.set == "fishyscapes-v3"}
    plans = [
        json.loads(json.loads(image.source.removeprefix("stress:"))["blend"]["plan"])["objects"][0]
        for image in images.values()
    ]
    anomalies, known = [p for p in plans if p["use"] == "anomaly"], [p for p in plans if p["use"] == "known"]
    assert anomalies
    assert known
    assert all(p["y"] + p["height"] <= 42 for p in anomalies)
    # touching cars, told apart
    assert {(p["x"], p["y"], p["width"], p["height"]) for p in known} == {(10, 24, 20, 10), (30, 24, 20, 10)}


@pytest.fixture
def overlays(tmp_path: Path) -> Path:
    """A study of two images of Cityscapes, and of two overlays of Fishyscapes Static."""
    root = cityscapes(tmp_path / "data", {"frankfurt": 2})
    folder = root / "fs_val_v2"
    folder.mkdir()
    for k in range(2):
        name = f"{k:04d}_frankfurt_{k:06d}_000019"
        overlay = np.zeros((48, 96, 3), np.int16)
        overlay[10:20, 10:20] = -250 if k else 40
        np.savez_compressed(folder / f"{name}_rgb.npz", rgb=overlay)
        labels = np.zeros((48, 96), np.uint8)
        labels[10:20, 10:20], labels[-6:] = 1, 255
        made.write(folder / f"{name}_labels.png", labels)
    study = tmp_path / "study"
    fs.collect(str(study), str(root), known=fs.options.KnownData(layout="cityscapes", split="val"))
    fs.collect(study, folder, set_="static", known=fs.options.KnownData(layout="fs-static", split="val"))
    return study


def test_published_overlays_of_fishyscapes_static_are_images_with_labels_of_anomaly(overlays: Path) -> None:
    photos = overlays.parent / "data" / "leftImg8bit" / "val" / "frankfurt"
    rows = [image for image in read_corpus(overlays) if image.set == "static"]
    assert len(rows) == 2
    for image in rows:
        k = int(image.id.partition("/")[2][:4])
        base = np.asarray(Image.open(photos / f"frankfurt_{k:06d}_000019_leftImg8bit.png")).astype(int)
        base[10:20, 10:20] += -250 if k else 40
        np.testing.assert_array_equal(read_photo(image)[0], base.clip(0, 255))
    flags = truth_of(overlays, "anomaly")
    assert sorted(np.unique(flags[rows[0].id])) == [0, 1, 255]
    assert Study(overlays).truths == ["labels"]
    assert label_maps.anomaly_truths(overlays) == ["anomaly"]


def test_where_only_unknown_objects_are_labelled_scores_are_measured_by_them_and_not_kept(
    overlays: Path,
) -> None:
    shutil.rmtree(overlays / "truth" / "labels")
    with refused(says="there are no labels of classes, only of unknown objects, by which `faultscape relia"):
        Study(overlays).truth()
    weights = np.random.default_rng(4).normal(size=(19, 3)).astype(np.float32)
    net = str(colour_network(overlays.parent / "net.onnx", weights))
    cards = []
    for at_once in (True, False):
        fs.predict(str(overlays), {"net": net}, scorer=["msp", "energy"], measure=at_once, engine="local")
        assert [f for f in read_failures(overlays) if f.stage == "predict"] == []
        assert (outputs.kinds(overlays, "net") == []) == at_once
        cards.append(fs.reliability(str(overlays), worst=0, resamples=0, engine="local").document)
    assert cards[0]["gaps"] == []
    # which needs to see where pixels lie
    seen = [cell for cell in cards[1]["cells"] if cell["metric"] != "component_f1"]
    assert cards[0]["cells"] == seen
    for scorer in ("msp", "energy"):
        metrics = {cell["metric"] for cell in seen if cell["scorer"] == scorer}
        assert metrics >= {"average_precision", "fpr95", "auroc", "found_5"}


def test_classes_and_anomalies_of_the_same_images_come_as_two_truths(tmp_path: Path) -> None:
    base = tmp_path / "ISSU_datasets" / "ISSU-Test-Static"
    labels = np.full((48, 96), 13, np.uint8)
    labels[10:20, 10:20], labels[-6:] = 254, 255
    for name in ("0/009599", "fog/00131"):
        picture = np.random.default_rng(len(name)).integers(0, 256, (48, 96, 3), np.uint8)
        made.write(base / "leftImg8bit" / "test" / f"{name}_leftImg8bit.png", picture)
        made.write(base / "gtFine_csT" / "test" / f"{name}_gtFine_csT.png", labels)
    study = tmp_path / "study"
    found = fs.collect(study, base.parent, known=fs.options.KnownData(layout="issu", split="test_static"))
    assert found.truths == "labels (2 images), anomaly (2 images)"
    assert {image.id: (image.condition, image.role) for image in read_corpus(study)} == {
        "0/009599": ("clean", "test"), "fog/00131": ("fog", "test"),
    }  # fmt: skip
    np.testing.assert_array_equal(truth_of(study, "labels")["0/009599"], np.where(labels == 13, 13, 255))
    np.testing.assert_array_equal(
        truth_of(study, "anomaly")["0/009599"], np.select([labels == 13, labels == 254], [0, 1], 255)
    )


def test_what_cannot_be_read_is_said_and_the_others_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = cityscapes(tmp_path / "data", {"ulm": 2}, "train")
    made.write(
        root / "gtFine" / "train" / "ulm" / "ulm_000000_000019_gtFine_labelIds.png",
        np.full((48, 96), 77, np.uint8),
    )
    fs.collect(tmp_path / "study", root, known=fs.options.KnownData(layout="cityscapes", split="train"))
    assert "1 truth file could not be read" in capsys.readouterr().out
    assert [(f.stage, f.image) for f in read_failures(tmp_path / "study")] == [
        ("label", "ulm/ulm_000000_000019")
    ]
    assert list(truth_of(tmp_path / "study", "labels")) == ["ulm/ulm_000001_000019"]


def test_a_mixture_is_a_set_a_data_set_each_with_its_own_mapping_and_sample(tmp_path: Path) -> None:
    cityscapes(tmp_path / "data" / "a", {"frankfurt": 4})
    cityscapes(tmp_path / "data" / "b", {"munster": 3})
    (tmp_path / "data" / "mix.toml").write_text(
        'seed = 3\n[[set]]\nname = "a"\nlayout = "cityscapes"\nsplit = "val"\nsample = 2\n\n[[set]]\nname ='
        ' "b"\nlayout = "cityscapes"\nsplit = "val"\nvoid = ["car"]\n'
    )
    study = tmp_path / "study"
    fs.collect(str(study), known=fs.options.KnownData(mixture=str(tmp_path / "data" / "mix.toml")))
    by_set = {name: [image for image in read_corpus(study) if image.set == name] for name in ("a", "b")}
    assert [len(rows) for rows in by_set.values()] == [2, 3]
    assert {image.role for rows in by_set.values() for image in rows} == {"test"}
    labels = truth_of(study, "labels")
    assert 13 in labels[by_set["a"][0].id]
    assert 13 not in labels[by_set["b"][0].id]
    assert 255 in labels[by_set["b"][0].id]


def test_wrong_lines_are_told_what_was_expected(tmp_path: Path) -> None:
    root = cityscapes(tmp_path / "data", {"ulm": 1}, "train")
    study = str(tmp_path / "study")
    for words, said in (
        (("--layout", "cityscape", "--split", "val"), "Did you mean 'cityscapes'"),
        (("--layout", "cityscapes"), "Cityscapes has several splits; choose one with --split: train, val"),
        (("--layout", "cityscapes", "--split", "vall"), "Did you mean 'val'"),
        (("--layout", "cityscapes", "--split", "val"), "expected leftImg8bit/SPLIT/CITY"),
        (("--layout", "ade20k", "--split", "validation"), "found gtFine/, leftImg8bit/"),
        (("--split", "val"), "--split needs --layout"),
        (("--mixture", "mix"), "is not known; known are fishyscapes-misclassification"),
    ):
        assert said in refused_line("collect", study, root, *words), words
    assert not Path(study).exists()
    with refused(says="expects one folder"):
        fs.collect(study, root, str(root), known=fs.options.KnownData(layout="cityscapes", split="train"))


@pytest.mark.slow
def test_real_camvid_is_collected_whole(data: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    found = fs.collect(
        study,
        data / "camvid",
        known=fs.options.KnownData(layout="camvid", split="test"),
        storage=fs.options.Storage(probe=False),
    )
    assert found.images == 233
    assert found.truths == "labels (233 images)"
    assert states(str(study))["collect"] == "done"


def labels_file(root: Path, number: int) -> Path:
    return root / "gtFine" / "train" / "ulm" / f"ulm_{number:06d}_000019_gtFine_labelIds.png"


def test_a_truth_that_was_mended_is_no_failure_any_more(tmp_path: Path) -> None:
    root = cityscapes(tmp_path / "data", {"ulm": 2}, "train")
    study, line = tmp_path / "study", fs.options.KnownData(layout="cityscapes", split="train")
    good = labels_file(root, 0).read_bytes()
    made.write(labels_file(root, 0), np.full((48, 96), 77, np.uint8))
    fs.collect(str(study), str(root), known=line)
    fs.collect(str(study), str(root), known=line)
    # not read again, and said still
    assert [f.image for f in read_failures(study)] == ["ulm/ulm_000000_000019"]
    labels_file(root, 0).write_bytes(good)
    fs.collect(str(study), str(root), known=line)
    assert read_failures(study) == []
    assert len(truth_of(study, "labels")) == 2


def test_a_file_that_changed_replaces_its_own_label_alone_and_what_a_person_said_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = cityscapes(tmp_path / "data", {"ulm": 3}, "train")
    study, line = tmp_path / "study", fs.options.KnownData(layout="cityscapes", split="train")
    fs.collect(str(study), str(root), known=line)
    for k in range(2):
        made.write(tmp_path / "own" / "ulm" / f"ulm_{k:06d}_000019.png", np.full((48, 96), 5, np.uint8))
    fs.label.import_(str(study), str(tmp_path / "own"))
    made.write(labels_file(root, 1), np.full((48, 96), 8, np.uint8))
    made.write(labels_file(root, 2), np.full((48, 96), 77, np.uint8))
    capsys.readouterr()
    fs.collect(str(study), str(root), known=line)
    held = truth_of(study, "labels")
    # the last could not be read
    assert [held[f"ulm/ulm_{k:06d}_000019"][30, 20] for k in range(3)] == [5, 1, 13]
    assert "1 changed label is kept in truth/labels/removed" in capsys.readouterr().out
    kept = label_maps.read_stored(label_maps.truth(study, "labels") / "removed", 0)
    assert [one.id for one in kept if (runs.decode(one.runs) == 5).all()] == ["ulm/ulm_000001_000019"]


def test_a_truth_of_another_size_than_its_image_is_a_failure(tmp_path: Path) -> None:
    root = cityscapes(tmp_path / "data", {"ulm": 2}, "train")
    made.write(labels_file(root, 0), np.full((24, 48), 7, np.uint8))
    fs.collect(tmp_path / "study", root, known=fs.options.KnownData(layout="cityscapes", split="train"))
    (failure,) = read_failures(tmp_path / "study")
    assert "is 48 x 24 pixels, but its image is 96 x 48" in failure.reason
    assert list(truth_of(tmp_path / "study", "labels")) == ["ulm/ulm_000001_000019"]


def test_an_overlay_that_changed_is_not_read_in_silence(tmp_path: Path) -> None:
    root = cityscapes(tmp_path / "data", {"frankfurt": 1})
    file = root / "fs_val_v2" / "0000_frankfurt_000000_000019_rgb.npz"
    made.write(file.with_name(file.name.replace("rgb.npz", "labels.png")), np.zeros((48, 96), np.uint8))
    np.savez_compressed(file, rgb=np.full((48, 96, 3), 3, np.int16))
    study, line = tmp_path / "study", fs.options.KnownData(layout="fs-static", split="val")
    fs.collect(str(study), str(file.parent), set_="static", known=line, classes="cityscapes")
    (image,) = read_corpus(study)
    read_photo(image)
    np.savez_compressed(file, rgb=np.full((48, 96, 3), 4, np.int16))
    with refused(says="the overlay changed since it was collected; run collect again"):
        read_photo(image)
    fs.collect(str(study), str(file.parent), set_="static", known=line)
    assert read_corpus(study)[0].digest != image.digest
    read_photo(read_corpus(study)[0])


def test_a_role_that_a_person_gave_stays_when_the_data_set_is_collected_again(tmp_path: Path) -> None:
    root = cityscapes(tmp_path / "data", {"ulm": 2}, "train")
    study, line = str(tmp_path / "study"), fs.options.KnownData(layout="cityscapes", split="train")
    fs.collect(study, str(root), known=line)
    fs.collect(study, str(root), known=line, role="pool")
    fs.collect(study, str(root), known=line)
    assert {image.role for image in read_corpus(Path(study))} == {"pool"}


def test_labels_that_a_layout_of_ones_own_names_and_cannot_read_are_not_left_out_in_silence(
    tmp_path: Path,
) -> None:
    made_trees.image(tmp_path / "roads" / "x.png")
    own = tmp_path / "own.py"
    own.write_text(
        "from faultscape.corpus import Frame, Layout\n"
        "def find(root, split):\n"
        "    return [Frame('x', str(root / 'x.png'), truth=str(root / 'x.png'), split=split)]\n"
        "MINE = Layout('mine', 'Mine', ('all',), 'voc', 'semantic', find, 'any *.png', 'me')\n"
    )
    why = refused_line("collect", tmp_path / "study", tmp_path / "roads", "--layout", f"{own}:MINE")
    assert (
        "layout Mine names files of labels, but nothing reads them: give it read_semantic or read_anomaly"
        in why
    )
    assert not (tmp_path / "study").exists()
