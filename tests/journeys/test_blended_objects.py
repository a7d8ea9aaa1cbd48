"""The objects of blended sets: which are taken, by edition, version and preset; known ones; what a person
switches off.
"""

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.corpus.photos import read_photo
from faultscape.study.tables.stress_sets import labels_folder
from faultscape.verbs.stress.blends.blended_labels import ANOMALIES
from made import states
from made_blends import SMALL, blended, corpus_with_void, few_objects, maps_of, rows, squares, study_of
from refusals import refused, refused_line, typed


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return corpus_with_void(tmp_path_factory.mktemp("blend"))


@pytest.fixture(scope="module")
def cutouts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return squares(tmp_path_factory.mktemp("cutouts"), "bird", "horse")


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    return study_of(corpus, tmp_path)


@pytest.fixture(scope="module", autouse=True)
def _few_objects() -> Iterator[None]:
    yield from few_objects()


def test_an_edition_keeps_its_objects_when_the_folder_grows(
    study: str, cutouts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "growing"
    shutil.copytree(cutouts, folder)
    blended(study, objects=str(folder), edition="2026-10")
    before = {image.id: image.digest for image in rows(study, "fishyscapes-v2-2026-10")}
    new = np.full((80, 50, 4), 255, np.uint8)
    new[:4] = 0
    new[-4:] = 0
    new[:, :4] = 0
    new[:, -4:] = 0
    new[10:70, 10:40, :3] = 9
    made.write(folder / "cow" / "new.png", new)
    again = blended(study, objects=str(folder), edition="2026-10")
    assert (again.new, again.changed) == (0, 0)
    assert "keeps its own; give --edition NAME" in capsys.readouterr().out
    shutil.rmtree(folder)
    assert {image.id: image.digest for image in rows(study, "fishyscapes-v2-2026-10")} == before
    for image in rows(study, "fishyscapes-v2-2026-10"):
        read_photo(image)  # the study keeps the objects
    assert states(study)["stress"] != "missing"
    (tmp_path / "other").mkdir()
    shutil.copytree(cutouts, folder)
    made.write(folder / "cow" / "new.png", new)
    blended(study, objects=str(folder), edition="2026-11")
    sets = json.loads((Path(study) / "sets.json").read_text())["sets"]
    assert len(sets["fishyscapes-v2-2026-11"]["parameters"]["objects"]) == 5
    assert len(sets["fishyscapes-v2-2026-10"]["parameters"]["objects"]) == 4


def with_cars(study: str, folder: Path) -> None:
    """Training images with a car each."""
    for k in range(6):
        truth = np.full((96, 128), 1, np.uint8)
        truth[30 : 60 + k, 40:80] = 2  # a car
        photo = np.full((96, 128, 3), 120, np.uint8)
        photo[30 : 60 + k, 40:80] = (20 * k, 200, 90)
        made.write(folder / "train" / f"{k}.png", photo)
        made.write(folder / "labels" / "train" / f"{k}.png", truth)
    fs.collect(study, str(folder / "train"), set_="train", role="train")
    fs.label.import_(study, str(folder / "labels"))


@pytest.mark.slow
def test_v3_has_either_an_anomaly_or_a_known_object_at_its_own_place(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with refused(says="known objects from training images"):
        blended(study, "fishyscapes-v3")
    with_cars(study, tmp_path)
    (tmp_path / "train" / "5.png").write_bytes(b"gone")
    blended(study, "fishyscapes-v3", set_="main", frames=20)
    assert (
        "1 training image cannot be read; no known objects are taken from it (first: "
        in capsys.readouterr().out
    )
    flags, semantic = maps_of(study, "fishyscapes-v3", ANOMALIES), maps_of(study, "fishyscapes-v3")
    with_anomaly = {id_ for id_, one in flags.items() if (one == 1).any()}
    assert 3 <= len(with_anomaly) <= 17
    known = set(flags) - with_anomaly
    for id_ in known:
        assert (semantic[id_][35:55, 45:75] == 2).all()  # the car of a training image, where it stood
        assert (flags[id_][35:55, 45:75] == 0).all()
    assert states(study)["stress"] == "done"


@pytest.mark.slow
def test_known_objects_of_fs_static_s_validation_never_serve_in_its_test(study: str, tmp_path: Path) -> None:
    with_cars(study, tmp_path)
    blending = fs.options.Blending(smallest=20, version="v3", objects_per_frame=4)
    found = fs.stress.blend(
        study, preset="fs-static", set_="main", frames=30, blending=blending, engine="local"
    )
    objects = [
        {
            placed["cutout"]
            for image in rows(study, name)
            for placed in json.loads(json.loads(image.source.removeprefix("stress:"))["blend"]["plan"])[
                "objects"
            ]
            if placed["use"] == "known"
        }
        for name in found.sets
    ]
    assert [len(some) for some in objects] == [1, 5]
    assert not objects[0] & objects[1]


@pytest.mark.slow
def test_fs_static_has_validation_and_test_sets_without_shared_bases_or_objects(study: str) -> None:
    found = fs.stress.blend(study, preset="fs-static", frames=10, blending=SMALL, engine="local")
    assert found.sets == ("fs-static-v2-validation", "fs-static-v2-test")
    validation, test = rows(study, found.sets[0]), rows(study, found.sets[1])
    assert (len(validation), len(test)) == (1, 10)
    assert {image.role for image in validation} == {"validation"}
    assert not {image.parent for image in validation} & {image.parent for image in test}
    objects = [
        {
            placed["cutout"]
            for image in some
            for placed in json.loads(json.loads(image.source.removeprefix("stress:"))["blend"]["plan"])[
                "objects"
            ]
        }
        for some in (validation, test)
    ]
    assert not objects[0] & objects[1]
    later = fs.stress.blend(
        study,
        preset="fs-static",
        frames=10,
        blending=fs.options.Blending(smallest=20, version="v1"),
        engine="local",
    )
    assert later.sets[1] == "fs-static-v1-test"
    same = [
        {
            image.id.partition("/")[2]: [
                (p["x"], p["y"], p["cutout"])
                for p in json.loads(json.loads(image.source.removeprefix("stress:"))["blend"]["plan"])[
                    "objects"
                ]
            ]
            for image in rows(study, name)
        }
        for name in ("fs-static-v1-test", "fs-static-v2-test")
    ]
    assert same[0] == same[1]  # old and new blending of the same frames


def test_fs_static_shows_and_keeps_objects_of_its_classes_alone(
    study: str, cutouts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed = tmp_path / "mixed"
    shutil.copytree(cutouts, mixed)
    (mixed / "bird").rename(mixed / "lamp")
    line = {"preset": "fs-static", "objects": str(mixed), "frames": 4}
    assert blended(study, **line, review=True).objects == 2
    assert "fs-static: 2 of these 4 objects are of its twelve classes" in capsys.readouterr().out
    blended(study, **line)
    blended(study, **line)  # nothing of it is called new
    assert "has objects that are not in the set" not in capsys.readouterr().out
    assert len(list((Path(study) / "objects").glob("*.png"))) == 2
    (mixed / "horse").rename(mixed / "table")
    with refused(says="takes objects of the classes aeroplane, bird"):
        blended(study, **line, edition="2")


def test_objects_of_classes_that_the_study_knows_are_no_anomalies(
    study: str, cutouts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed = tmp_path / "mixed"
    shutil.copytree(cutouts, mixed)
    (mixed / "bird").rename(mixed / "Car")
    blended(study, objects=str(mixed))
    assert "2 objects of 4 left out, because the study knows their classes: Car" in capsys.readouterr().out
    with (labels_folder(Path(study), "fishyscapes-v2") / "manifest.csv").open(newline="") as file:
        assert {row["class"] for row in csv.DictReader(file)} == {"horse"}
    (mixed / "horse").rename(mixed / "person")
    with refused(
        says=r"all 4 objects are of classes that the study knows \(Car, person\), so none is an anomaly"
    ):
        blended(study, objects=str(mixed), edition="2")


def test_objects_are_reviewed_and_switched_off(study: str, cutouts: Path, tmp_path: Path) -> None:
    reviewed = blended(study, objects=str(cutouts), review=True)
    page = Path(reviewed.page).read_text()
    assert reviewed.objects == 4
    assert page.count('class="object"') == 4
    assert "http" not in page.replace("http-equiv", "")
    digests = [part.split('"')[0] for part in page.split('data-digest="')[1:]]
    (tmp_path / "switched-off.csv").write_text("object\n" + "\n".join(digests[:3]) + "\n")
    blended(
        study,
        objects=str(cutouts),
        blending=fs.options.Blending(smallest=20, without=str(tmp_path / "switched-off.csv")),
    )
    assert json.loads((Path(study) / "sets.json").read_text())["sets"]["fishyscapes-v2"]["parameters"][
        "objects"
    ] == [digests[3]]
    (tmp_path / "switched-off.csv").write_text("object\nnone\n")
    assert "1 object in it is not among these objects" in refused_line(
        *typed(
            "stress blend {study} --preset fishyscapes-v1 --objects {cutouts} --smallest 20 --without {tmp}/switched-off.csv",
            study=study,
            cutouts=cutouts,
            tmp=tmp_path,
        )
    )


def test_cut_outs_without_a_class_are_blended_too(study: str, tmp_path: Path) -> None:
    image, mask = np.full((60, 60, 3), 200, np.uint8), np.zeros((60, 60), np.uint8)
    mask[10:50, 10:50] = 1
    made.write(tmp_path / "objects" / "images" / "thing.png", image)
    made.write(tmp_path / "objects" / "masks" / "thing.png", mask)
    assert blended(study, objects=str(tmp_path / "objects")).images == 5


@pytest.mark.slow
def test_more_frames_are_more_images_and_those_that_were_there_stay(study: str) -> None:
    blended(study, frames=3)
    before = {image.id: (image.digest, image.shard) for image in rows(study, "fishyscapes-v2")}
    found = blended(study, frames=12)
    assert (found.images, found.new, found.changed) == (12, 9, 0)
    after = {image.id: (image.digest, image.shard) for image in rows(study, "fishyscapes-v2")}
    assert after.items() >= before.items()
    assert len(maps_of(study, "fishyscapes-v2", ANOMALIES)) == 12
    # other draws show other objects
    assert all(image.near_duplicate_of == image.id for image in rows(study, "fishyscapes-v2"))
