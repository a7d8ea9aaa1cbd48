"""Made sets beside what people call their files: ids that two images would have, folders called as
corruptions, sets that were not finished, files that are gone and back.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import loopback
import made
from faultscape.corpus.photos import read_photo
from faultscape.corpus.stress.recipes import recipe_of
from faultscape.maps import class_answers, runs
from faultscape.study.parts import read_manifest
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Corpus, read_corpus
from faultscape.study.tables.logs import read_failures
from faultscape.study.tables.selections import read_selection
from faultscape.study.tables.stress_sets import labels_folder
from faultscape.verbs.stress.make_sets import write_png
from made import states
from refusals import refused

SHAPE = (20, 28, 3)


def photo(path: Path, seed: int, shape: tuple[int, ...] = SHAPE) -> None:
    made.write(path, np.random.default_rng(seed).integers(0, 256, shape, np.uint8))


def study_of(root: Path, *names: str, shape: tuple[int, ...] = SHAPE, shard_size: int = 64) -> str:
    """A study of photos that are called so, each with a label."""
    for k, name in enumerate(names):
        photo(root / "photos" / f"{name}.png", k, shape)
        made.write(root / "truth" / f"{name}.png", np.full(shape[:2], k % 2, np.uint8))
    study = str(root / "study")
    (root / "classes.json").write_text(json.dumps({"classes": ["road", "car", "sky"], "void": [255]}))
    fs.collect(
        study,
        root / "photos",
        classes=root / "classes.json",
        storage=fs.options.Storage(shard_size=shard_size),
    )
    fs.label.import_(study, str(root / "truth"))
    return study


def contrast(study: str, **more: object) -> object:
    return fs.stress.corrupt(
        study, **{"corruption": ["contrast"], "severities": "2", "engine": "local", **more}
    )


def ids(study: str) -> dict[str, str]:
    return {image.id: image.set for image in read_corpus(Path(study))}


def test_no_made_image_takes_the_place_of_one_that_was_collected(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a", "contrast-2/a")
    before = made.bytes_under(Path(study), "corpus.parquet", "sets.json")
    with refused(says="two images of the study would be named 'contrast-2/a'"):
        contrast(study)
    assert made.bytes_under(Path(study), "corpus.parquet", "sets.json") == before


def test_no_image_that_is_collected_takes_the_place_of_a_made_one(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a", "b")
    contrast(study)
    photo(tmp_path / "photos" / "contrast-2" / "a.png", 7)
    before = ids(study)
    with refused(says="'contrast-2/a' would belong to the set 'contrast-2', which was made by"):
        fs.collect(study, str(tmp_path / "photos"))
    fs.collect(study, remove=["contrast-2/a"])
    with refused(says="'contrast-2/a' would belong to the set 'contrast-2'"):  # the rest of which is there
        fs.collect(study, str(tmp_path / "photos"))
    assert ids(study) == {id_: name for id_, name in before.items() if id_ != "contrast-2/a"}


def test_a_name_that_a_made_set_had_is_free_when_the_set_is_gone(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a", "b")
    contrast(study)
    fs.collect(study, remove=["contrast-2/*"])
    fs.collect(study, str(tmp_path / "photos"), set_="contrast-2")
    rows = [image for image in read_corpus(Path(study)) if image.set == "contrast-2"]
    assert [(image.parent, image.condition, image.role) for image in rows] == [("", "clean", "pool")] * 2
    assert {image.shard for image in rows} == {2}  # not that of the images that had these ids
    with refused(says="a collected set is already named 'contrast-2'"):
        contrast(study, set_="main")


@pytest.mark.slow
def test_draws_of_images_whose_names_end_as_a_draw_does_are_not_taken_for_each_other(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a", "a-draw1", shape=(96, 128, 3))
    with refused(says="two images of the study would be named 'fishyscapes-v2/a-draw1'"):
        fs.stress.blend(study, preset="fishyscapes-v2", frames=4, engine="local")
    assert fs.stress.blend(study, preset="fishyscapes-v2", engine="local").images == 2


@pytest.mark.slow
def test_a_folder_called_as_a_corruption_or_a_class_is_no_part_of_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(tmp_path, "a", "b", shape=(96, 128, 3))
    (tmp_path / "contrast").mkdir()
    (tmp_path / "sky").mkdir()
    monkeypatch.chdir(tmp_path)
    contrast(study)
    fs.stress.blend(study, preset="fishyscapes-v2", blending=fs.options.Blending(ego="sky"), engine="local")
    sets = json.loads((Path(study) / "sets.json").read_text())["sets"]
    assert sets["contrast-2"]["line"]["corruption"] == ["contrast"]
    assert sets["fishyscapes-v2"]["line"]["ego"] == "sky"


def test_a_set_that_was_not_finished_is_neither_measured_nor_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.stress import corruption_set as corrupt

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    study = study_of(tmp_path, "a", "b")
    (tmp_path / "mine.py").write_text("def dark(photo):\n    return (photo[..., 0] < 128).astype('uint8')\n")
    line = {"corruption": ["elastic_transform"], "move_labels": True}
    contrast(study, **line)
    photo(tmp_path / "photos" / "a.png", 9)
    fs.collect(study, str(tmp_path / "photos"))
    monkeypatch.setattr(corrupt, "_fill_moved", killed)
    with pytest.raises(KeyboardInterrupt):
        contrast(study, **line)
    monkeypatch.undo()
    fs.predict(study, {"dark": f"{tmp_path / 'mine.py'}:dark"}, engine="local")
    part = fs.options.StudyPart(set_=["elastic_transform-2"])
    with refused(says="the command that makes this set did not finish"):
        # its labels are those of the earlier images
        fs.measure(study, part=part, resamples=0, engine="local")
    with refused(says="the command that makes this set did not finish"):
        fs.stress.sheet(study)
    contrast(study, **line)
    assert fs.measure(study, part=part, resamples=0, engine="local").document["datasets"][
        "elastic_transform-2"
    ]["images"] == {"dark": 2}


def test_numbers_of_a_set_that_is_outdated_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = study_of(tmp_path, "a", "b")
    (tmp_path / "mine.py").write_text("def dark(photo):\n    return (photo[..., 0] < 128).astype('uint8')\n")
    contrast(study, corruption=["elastic_transform", "contrast"], move_labels=True)
    fs.predict(study, {"dark": f"{tmp_path / 'mine.py'}:dark"}, engine="local")
    part = fs.options.StudyPart(set_=["elastic_transform-2", "contrast-2"])

    def miou(name: str) -> float:
        sets = fs.measure(study, part=part, resamples=0, engine="local").document["datasets"]
        return sets[name]["models"]["dark"]["miou"]["value"]

    before = miou("contrast-2")
    assert "note: set" not in capsys.readouterr().out
    made.write(tmp_path / "truth" / "a.png", np.full(SHAPE[:2], 2, np.uint8))
    fs.label.import_(study, str(tmp_path / "truth"))
    assert miou("contrast-2") < before
    said = capsys.readouterr().out
    assert (
        "note: set elastic_transform-2 was made of other images, labels or files than the study has now"
        in said
    )
    assert "note: set contrast-2" not in said  # whose labels are those of its parents, as they are now
    contrast(study, corruption=["elastic_transform", "contrast"], move_labels=True)
    image = next(image for image in read_corpus(Path(study)) if image.id == "elastic_transform-2/a")
    labels = label_maps.read_maps(labels_folder(Path(study), image.set), image.shard)[image.id]
    assert (runs.decode(labels) == 2).all()
    assert miou("elastic_transform-2") < before
    assert "note: set" not in capsys.readouterr().out


def test_sets_and_images_that_are_made_of_each_other_are_no_endless_work(tmp_path: Path) -> None:
    from dataclasses import replace

    from faultscape.reading.sets import follow, labels_of_set

    study = study_of(tmp_path, "a", "b")
    contrast(study)
    held = json.loads((Path(study) / "sets.json").read_text())
    held["sets"]["contrast-2"]["of"] = "contrast-2"
    (Path(study) / "sets.json").write_text(json.dumps(held))
    rows = {image.id: image for image in read_corpus(Path(study))}
    found = labels_of_set(fs.Study(study), rows, "contrast-2", "labels")
    assert found is None or not found.places
    round_ = [
        replace(rows["contrast-2/a"], parent="contrast-2/b"),
        replace(rows["contrast-2/b"], parent="contrast-2/a"),
    ]
    assert [image.id for image in follow(round_)] == ["contrast-2/a", "contrast-2/b"]


@pytest.mark.slow
def test_made_images_of_role_pool_are_drawn_and_counted_as_collected_ones_are(tmp_path: Path) -> None:
    study = study_of(tmp_path, *"abcd")
    (tmp_path / "mine.py").write_text(
        "def dark(photo):\n    return (photo[..., 0] < 128).astype('uint8')\n\ndef bright(photo):\n    return"
        " (photo[..., 1] > 100).astype('uint8')\n"
    )
    models = {name: f"{tmp_path / 'mine.py'}:{name}" for name in ("dark", "bright")}
    contrast(study)
    contrast(study, corruption=["fog"], role="pool")
    assert Corpus(Path(study)).aside == {1}
    fs.predict(study, models, engine="local")
    assert fs.compare(study, engine="local").parts_made > 0
    assert {name.partition(".")[0] for name in read_manifest(Path(study) / "pairs" / "dark")} == {
        "00000",
        "00002",
    }
    fs.select(study, per_class=4, engine="local")
    drawn = {row.image.partition("/")[0] for row in read_selection(Path(study), "main")[0].rows}
    assert "fog-2" in drawn
    assert "contrast-2" not in drawn


@pytest.mark.slow
def test_frames_that_left_a_blended_set_come_back_to_their_shards(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a", "b", shape=(96, 128, 3), shard_size=2)
    line = {"preset": "fishyscapes-v2", "engine": "local"}
    fs.stress.blend(study, frames=5, **line)
    before = made.bytes_under(Path(study), "corpus.parquet", "stress")
    fewer = fs.stress.blend(study, frames=2, **line)
    assert fewer.left == 3
    assert sum(fewer.pixels["fishyscapes-v2"]) == 2 * 96 * 128  # of these alone
    assert len(ids(study)) == 4
    contrast(study)
    again = fs.stress.blend(study, frames=5, **line)
    assert (again.new, again.changed) == (3, 0)
    fs.collect(study, remove=["contrast-2/*"])
    assert made.bytes_under(Path(study), "corpus.parquet", "stress") == before


@pytest.mark.slow
def test_fog_of_blended_images_has_the_depth_of_their_bases(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a", "b", shape=(96, 128, 3))
    (tmp_path / "depth").mkdir()
    np.save(tmp_path / "depth" / "a.npy", np.full((96, 128), 30, np.float32))
    how = fs.options.Blending(fog=1.0, depth=str(tmp_path / "depth"))
    fs.stress.blend(study, preset="fishyscapes-v2", blending=how, engine="local")
    rows = {image.id: image for image in read_corpus(Path(study))}
    steps = {name: recipe_of(rows[f"fishyscapes-v2/{name}"].source).step for name in "ab"}
    assert Path(steps["a"].depth).name == "a.npy"
    assert steps["b"].depth == ""  # of which fog follows from place
    foggy = read_photo(rows["fishyscapes-v2/a"])[0]
    np.save(tmp_path / "depth" / "a.npy", np.full((96, 128), 1, np.float32))
    with refused(says="the depth changed since images were made from it"):
        read_photo(rows["fishyscapes-v2/a"])
    fs.stress.blend(study, preset="fishyscapes-v2", blending=how, engine="local")
    nearer = read_photo(next(image for image in read_corpus(Path(study)) if image.id == "fishyscapes-v2/a"))[
        0
    ]
    clear = np.asarray(Image.open(tmp_path / "photos" / "a.png")).astype(int)
    assert np.median(abs(foggy - clear)) > 4 * np.median(abs(nearer - clear))


def test_maps_of_images_are_never_taken_for_those_of_what_was_made_of_them_nor_the_other_way_round(
    tmp_path: Path,
) -> None:
    study = study_of(tmp_path, "a", "b")
    contrast(study)
    for name in "ab":
        made.write(tmp_path / "clean" / f"{name}.png", np.zeros(SHAPE[:2], np.uint8))
        made.write(tmp_path / "hard" / "contrast-2" / f"{name}.png", np.ones(SHAPE[:2], np.uint8))
        made.write(tmp_path / "deep" / "run" / f"{name}.png", np.zeros(SHAPE[:2], np.uint8))
    fs.predict(study, {name: str(tmp_path / name) for name in ("clean", "hard", "deep")}, engine="local")
    of_shards = {
        name: [
            sorted(label_maps.read_maps(label_maps.predictions(Path(study), name), shard)) for shard in (0, 1)
        ]
        for name in ("clean", "hard", "deep")
    }
    assert of_shards["clean"] == of_shards["deep"] == [["a", "b"], []]
    assert of_shards["hard"] == [[], ["contrast-2/a", "contrast-2/b"]]


def test_images_that_were_written_are_written_again_when_they_are_others(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a", "b")
    assert contrast(study, write=str(tmp_path / "out")).written == 2
    before = made.bytes_under(tmp_path / "out", "contrast")
    photo(tmp_path / "photos" / "a.png", 9)
    fs.collect(study, str(tmp_path / "photos"))
    assert contrast(study, write=str(tmp_path / "out")).written == 1
    after = made.bytes_under(tmp_path / "out", "contrast")
    assert [name for name in after if after[name] != before[name]] == ["contrast/2/a.png"]
    with refused(says="is outside"):
        write_png(tmp_path / "out", "../a.png", read_corpus(Path(study))[0])
    assert not (tmp_path / "a.png").exists()


@pytest.mark.slow
def test_what_a_killed_line_left_beside_labels_and_objects_is_cleared_away_by_the_next(
    tmp_path: Path,
) -> None:
    study = study_of(tmp_path, "a", "b", shape=(96, 128, 3))
    fs.stress.blend(study, preset="fishyscapes-v2", engine="local")
    there = made.bytes_under(Path(study), "stress", "objects")
    for place in (
        "objects/.writing-1-a.png",
        "stress/fishyscapes-v2/.writing-1",
        "stress/fishyscapes-v2/facts/00009-0123456789abcdef.parquet",
    ):
        (Path(study) / place).write_bytes(b"half")
    contrast(study)
    assert made.bytes_under(Path(study), "stress", "objects") == there
    assert not list(Path(study).rglob(".writing-*"))


@pytest.mark.slow
def test_files_that_images_are_made_with_are_missed_by_those_images_alone_and_found_when_they_are_back(
    tmp_path: Path,
) -> None:
    study = study_of(tmp_path, "a", "b")
    (tmp_path / "mine.py").write_text("def dark(photo):\n    return (photo[..., 0] < 128).astype('uint8')\n")
    own = (
        "from dataclasses import replace\nfrom faultscape.stressors.catalogue import entry\nOWN ="
        " replace(entry('contrast'), name='own')\n"
    )
    (tmp_path / "own.py").write_text(own)
    photo(tmp_path / "ice" / "a.png", 3, (40, 40, 3))
    ice = (tmp_path / "ice" / "a.png").read_bytes()
    contrast(study, corruption=["frost"], frost_textures=str(tmp_path / "ice"))
    contrast(study, corruption=[f"{tmp_path / 'own.py'}:OWN"])
    (tmp_path / "ice" / "a.png").unlink()
    (tmp_path / "own.py").unlink()
    assert states(study)["stress"] == "stale"
    model = {"dark": f"{tmp_path / 'mine.py'}:dark"}
    fs.predict(study, model, engine="local")
    said = {f.image: f.reason for f in read_failures(Path(study)) if f.stage == "predict"}
    assert sorted(said) == ["frost-2/a", "frost-2/b", "own-2/a", "own-2/b"]
    assert all(reason.startswith("cannot be made: ") for reason in said.values())
    fs.predict(study, model, engine="local")
    assert len([f for f in read_failures(Path(study)) if f.stage == "predict"]) == 4
    (tmp_path / "ice" / "a.png").write_bytes(ice)
    (tmp_path / "own.py").write_text(own)
    assert states(study)["stress"] == "done"
    fs.predict(study, model, engine="local")
    assert [f for f in read_failures(Path(study)) if f.stage == "predict"] == []


def test_near_duplicates_that_leave_and_come_back_are_near_duplicates_still(tmp_path: Path) -> None:
    for name, grey in (("a", 5), ("b", 6)):
        made.write(tmp_path / "photos" / f"{name}.png", np.full(SHAPE, grey, np.uint8))
    study = study_of(tmp_path, "c")
    contrast(study, role="pool")
    before = made.bytes_under(Path(study), "corpus.parquet")
    first = next(image.near_duplicate_of for image in read_corpus(Path(study)) if image.id == "a")
    rows = {image.id: image.near_duplicate_of for image in read_corpus(Path(study))}
    assert [rows[f"contrast-2/{id_}"] for id_ in "abc"] == [
        f"contrast-2/{first}",
        f"contrast-2/{first}",
        "contrast-2/c",
    ]
    fs.collect(study, remove=[first])
    rows = {image.id: image.near_duplicate_of for image in read_corpus(Path(study))}
    other = "b" if first == "a" else "a"
    assert rows[f"contrast-2/{other}"] == f"contrast-2/{other}"
    fs.collect(study, remove=[other])
    fs.collect(study, str(tmp_path / "photos"))
    assert made.bytes_under(Path(study), "corpus.parquet") == before
    assert "unchanged" in repr(contrast(study, role="pool"))


def test_classifiers_answer_on_corrupted_images_by_their_whole_ids(tmp_path: Path) -> None:
    for k in range(3):
        photo(tmp_path / "photos" / f"v{k}.png", k)
    (tmp_path / "clean.csv").write_text("image,label\n" + "".join(f"v{k}.png,cat\n" for k in range(3)))
    (tmp_path / "both.csv").write_text(
        "image,label\n" + "".join(f"contrast-2/v{k},dog\nv{k},cat\n" for k in range(3))
    )
    (tmp_path / "classes.json").write_text(json.dumps({"classes": ["cat", "dog"]}))
    study = str(tmp_path / "study")
    fs.collect(study, str(tmp_path / "photos"), classes=str(tmp_path / "classes.json"), task="classification")
    assert contrast(study).images == 3
    with refused(says="this is a study of classifiers"):
        contrast(study, move_labels=True)
    with refused(says="this is a study of classifiers"):
        fs.stress.blend(study, preset="fishyscapes-v2", engine="local")
    # of the images that were collected, in their order
    np.savez(tmp_path / "rows.npz", said=np.array([1, 0, 0]))
    tables = {"clean": "clean.csv", "both": "both.csv", "rows": "rows.npz:said"}
    fs.predict(study, {name: str(tmp_path / file) for name, file in tables.items()}, engine="local")
    assert read_failures(Path(study)) == []

    def said(model: str) -> dict[str, int]:
        where = label_maps.predictions(Path(study), model)
        codes = {id_: code for shard in (0, 1) for id_, code in label_maps.read_maps(where, shard).items()}
        return dict(zip(codes, class_answers.decode([*codes.values()])[0][:, 0].tolist(), strict=True))

    assert said("rows") == {"v0": 1, "v1": 0, "v2": 0}
    assert said("clean") == {f"v{k}": 0 for k in range(3)}
    assert said("both") == {**{f"v{k}": 0 for k in range(3)}, **{f"contrast-2/v{k}": 1 for k in range(3)}}


@pytest.mark.slow
def test_made_sets_of_a_study_in_a_store_are_those_of_a_local_one(
    corpus: made.Corpus, bucket: loopback.Bucket, tmp_path: Path
) -> None:
    bucket.upload(corpus.photos, "photos/")
    (tmp_path / "mine.py").write_text("def dark(photo):\n    return (photo[..., 0] < 128).astype('uint8')\n")
    room, found = fs.options.Storage(shard_size=4, store=f"{bucket.uri}/studies/far", probe=True), {}
    for name, images, storage in (
        ("here", str(corpus.photos), fs.options.Storage(shard_size=4)),
        ("far", f"{bucket.uri}/photos", room),
    ):
        study = str(tmp_path / name)
        fs.collect(study, images, classes=str(corpus.classes), storage=storage)
        fs.label.import_(study, str(corpus.truth))
        contrast(study, corruption=["contrast", "elastic_transform"], severities="3", move_labels=True)
        fs.predict(study, {"dark": f"{tmp_path / 'mine.py'}:dark"}, engine="local")
        part = fs.options.StudyPart(set_=["contrast-3", "elastic_transform-3"])
        models = fs.measure(study, part=part, resamples=0, engine="local").document["datasets"]
        found[name] = models["contrast-3"]["models"]["dark"]["miou"]["value"]
        assert states(study)["stress"] == "done"
        assert models["elastic_transform-3"]["images"] == {"dark": 6}
    assert found["here"] == found["far"]
    image = next(image for image in read_corpus(tmp_path / "far") if image.set == "contrast-3")
    assert read_photo(image)[0].shape == (36, 48, 3)
    bucket.put(f"photos/{image.parent}.png", (corpus.models["model-0"] / f"{image.parent}.png").read_bytes())
    with refused(says="changed since images were made from it"):
        read_photo(image)


@pytest.mark.slow
def test_what_was_made_of_made_images_leaves_and_comes_back_with_what_all_was_made_of(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a", "b", shape=(96, 128, 3))
    fs.stress.blend(study, preset="fishyscapes-v2", engine="local")
    contrast(study, set_="fishyscapes-v2")
    assert {
        image.condition for image in read_corpus(Path(study)) if image.set == "fishyscapes-v2-contrast-2"
    } == {"fishyscapes-v2+contrast-2"}
    before = made.bytes_under(Path(study), "corpus.parquet")
    fs.collect(study, remove=["a"])
    assert sorted(ids(study)) == ["b", "fishyscapes-v2-contrast-2/b", "fishyscapes-v2/b"]
    fs.collect(study, str(tmp_path / "photos"))
    assert made.bytes_under(Path(study), "corpus.parquet") == before


def test_two_lines_are_two_rows_of_status_and_labels_of_one_truth_are_not_those_of_another(
    tmp_path: Path,
) -> None:
    study = study_of(tmp_path, "a", "b")
    (tmp_path / "mine.py").write_text("def dark(photo):\n    return (photo[..., 0] < 128).astype('uint8')\n")
    contrast(study, corruption=["contrast", "fog"])
    contrast(study, corruption=["elastic_transform"], move_labels=True)
    assert [row[2] for row in fs.status(study).stages if row[0] == "stress"] == [
        "contrast-2 and 1 more set: corrupt of main",
        "elastic_transform-2: corrupt of main",
    ]
    fs.label.import_(study, str(tmp_path / "truth"), truth="second")
    fs.predict(study, {"dark": f"{tmp_path / 'mine.py'}:dark"}, engine="local")
    part = {name: fs.options.StudyPart(set_=[f"{name}-2"]) for name in ("contrast", "elastic_transform")}
    found = fs.measure(study, truth="second", part=part["contrast"], resamples=0, engine="local").document[
        "datasets"
    ]
    assert found["contrast-2"]["images"] == {"dark": 2}
    with refused(says="its labels were made from another truth than 'second'"):
        fs.measure(study, truth="second", part=part["elastic_transform"], resamples=0, engine="local")
