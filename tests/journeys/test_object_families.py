"""Where the unknown objects of a set come from, and that those that teach are others than those that test."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.corpus.objects.lookalikes import look_of, lookalikes
from faultscape.corpus.stress.files import read_object
from faultscape.reading.study import Study
from faultscape.verbs.reliability import notes
from faultscape.verbs.stress.blends import objects
from faultscape.verbs.stress.object_families import family_of_set
from made_blends import SMALL, blended, corpus_with_void, few_objects, squares
from refusals import refused


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return corpus_with_void(tmp_path_factory.mktemp("families"))


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    """A study with a set of training images and one of test images."""
    place = str(tmp_path / "study")
    for name, role in (("main", "test"), ("train", "train")):
        fs.collect(place, str(corpus.photos), classes=str(corpus.classes), set_=name, role=role)
        shutil.copytree(
            corpus.truth, tmp_path / "masks" / ("" if name == "main" else name), dirs_exist_ok=True
        )
    fs.label.import_(place, str(tmp_path / "masks"), pattern="{id}.png")
    return place


@pytest.fixture(scope="module", autouse=True)
def _few_objects() -> Iterator[None]:
    yield from few_objects()


def objects_of(study: str, name: str) -> dict[str, fs.stressors.Cutout]:
    about = Study(Path(study)).stress.sets[name]
    return {
        digest: read_object(str(Path(study, "objects").absolute()), digest)
        for digest in about.parameters["objects"]
    }


@pytest.mark.slow
def test_objects_drawn_for_training_images_are_none_of_those_for_test_images(study: str) -> None:
    blended(study, set_="main")
    blended(study, set_="train")
    test, train = (objects_of(study, name) for name in ("fishyscapes-v2", "train-fishyscapes-v2"))
    assert len(train) > 5
    assert not test.keys() & train.keys()
    tested = [(digest, look_of(cutout)) for digest, cutout in test.items()]
    assert not lookalikes({digest: look_of(cutout) for digest, cutout in train.items()}, tested)
    assert {cutout.family for cutout in test.values()} == {"drawn"}
    assert {cutout.family for cutout in train.values()} == {"drawn", "noise"}
    assert family_of_set(Study(Path(study)), "train-fishyscapes-v2") == "drawn objects and noise shapes"


@pytest.mark.slow
def test_photos_whose_textures_teach_do_not_test(study: str, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for level in range(10, 250, 20):
        Image.fromarray(np.full((40, 60, 3), level, np.uint8)).save(tmp_path / "photos" / f"{level}.png")
    how = replace(SMALL, textures=str(tmp_path / "photos"))
    blended(study, set_="main", blending=how)
    blended(study, set_="train", blending=how)
    levels = [
        {value for cutout in objects_of(study, name).values() for value in np.unique(cutout.pixels)}
        for name in ("fishyscapes-v2", "train-fishyscapes-v2")
    ]
    assert all(levels)
    assert not levels[0] & levels[1]
    assert family_of_set(Study(Path(study)), "train-fishyscapes-v2") == "textures"
    for path in [*(tmp_path / "photos").iterdir()][1:]:
        path.unlink()
    with refused(says="--textures .*photos: .* of these 1 none is for .*; give more"):
        for name in ("main", "train"):
            blended(study, set_=name, blending=how, edition="second")
    with refused(says="--textures .*nowhere: is no folder on this machine"):
        blended(study, set_="main", blending=replace(SMALL, textures="nowhere"), edition="third")
    with refused(says="--textures has no effect: fs-static blends objects of its twelve classes"):
        blended(study, "fs-static", set_="main", blending=how)


@pytest.mark.slow
def test_objects_drawn_for_validation_images_are_none_of_those_that_teach_or_test() -> None:
    test, train, validation = (objects._drawn(use) for use in ("test", "train", "validation"))
    assert len(validation) > 5
    others = [(cutout.digest, look_of(cutout)) for cutout in (*test, *train)]
    assert not lookalikes({cutout.digest: look_of(cutout) for cutout in validation}, others)


def test_objects_csv_names_the_family_and_without_it_a_folder_holds_cut_outs_of_photos(
    study: str, tmp_path: Path
) -> None:
    folder = squares(tmp_path / "cutouts", "bird", "horse")
    blended(study, set_="main", objects=str(folder))
    (folder / "objects.csv").write_text("file,family\nbird/0.png,noise\nbird/2.png,textures\n")
    blended(study, set_="main", objects=str(folder), edition="new")
    fs.stress.corrupt(
        study, set_="fishyscapes-v2-new", corruption=["contrast"], severities="2", engine="local"
    )
    seen = Study(Path(study))
    assert family_of_set(seen, "fishyscapes-v2") == "cut-outs of images"
    assert family_of_set(seen, "fishyscapes-v2-new") == "cut-outs of images and noise shapes and textures"
    assert family_of_set(seen, "fishyscapes-v2-new-contrast-2") == family_of_set(seen, "fishyscapes-v2-new")
    assert family_of_set(seen, "main") == "objects labelled in main"
    (folder / "objects.csv").write_text("file,family\nbird/0.png,clay\n")
    with refused(says="family must be drawn or cut-outs or noise or textures, or empty; got 'clay'"):
        blended(study, set_="main", objects=str(folder), edition="third")


def test_a_set_from_before_families_were_recorded_follows_its_options(study: str) -> None:
    blended(study, set_="main")
    path = Path(study, "sets.json")
    held = json.loads(path.read_text())
    held["sets"]["fishyscapes-v2"]["families"] = []
    path.write_text(json.dumps(held))
    assert family_of_set(Study(Path(study)), "fishyscapes-v2") == "drawn objects"


def test_what_several_families_taught_is_told_which_of_them_test_it(monkeypatch: pytest.MonkeyPatch) -> None:
    about = SimpleNamespace(settings=SimpleNamespace(models={"net": None}))
    conditions = [SimpleNamespace(name="blends", family="drawn objects and textures")]
    conditions += [SimpleNamespace(name="withheld", family="")]
    monkeypatch.setattr(notes, "tested_family", lambda _, condition: condition.family)
    monkeypatch.setattr(notes, "methods_of_model", lambda *_: {})
    for taught, shared in (("noise shapes and drawn objects", "drawn objects"), ("noise shapes", "")):
        monkeypatch.setattr(notes, "training_of", lambda _, taught=taught: {"family": taught})
        said = f"net: learnt from {shared}, which blends also shows; evaluate it on another family too"
        assert notes.same_families(about, ["net"], conditions) == ([said] if shared else [])
