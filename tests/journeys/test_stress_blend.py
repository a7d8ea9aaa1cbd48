"""Blended sets: unknown objects in labelled images, by plans that are kept; overlays, fog, and what becomes
of them in a study.
"""

import csv
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.corpus.photos import read_parent, read_photo
from faultscape.reading.study import Study
from faultscape.verbs import graph
from faultscape.verbs.stress.artefact import SETS
from faultscape.verbs.stress.blends.blended_labels import ANOMALIES
from made import states
from made_blends import SMALL, blended, corpus_with_void, few_objects, maps_of, rows, squares, study_of
from refusals import refused, refused_line


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


@pytest.mark.slow
def test_every_labelled_image_gets_an_object_and_labels_of_0_1_and_255(
    study: str, corpus: made.Corpus
) -> None:
    found = blended(study)
    assert (found.sets, found.images) == (("fishyscapes-v2",), 5)
    anomaly, semantic = maps_of(study, "fishyscapes-v2", ANOMALIES), maps_of(study, "fishyscapes-v2")
    total = np.zeros(3, int)
    for image in rows(study, "fishyscapes-v2"):
        flags, base = anomaly[image.id], corpus.truths[corpus.ids.index(image.parent)].copy()
        base[-12:] = 255
        assert set(np.unique(flags)) <= {0, 1, 255}
        assert (flags == 1).sum() > 20
        assert (
            (flags == 255) == ((base == 255) & (flags != 1))
        ).all()  # uncovered void stays, over void the object counts
        np.testing.assert_array_equal(semantic[image.id], np.where(flags == 1, 255, base))
        photo, before = read_photo(image)[0], read_parent(image)
        changed = (photo != before).any(2)
        assert changed[flags == 1].mean() > 0.9
        assert (changed & (flags != 1)).mean() < 0.2  # glow and soft borders alone
        total += [(flags == value).sum() for value in (1, 0, 255)]
    assert found.pixels == {"fishyscapes-v2": tuple(total)}


@pytest.mark.slow
def test_a_void_id_above_255_is_the_label_of_objects_in_maps_of_8_bits_too(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    classes = json.loads(corpus.classes.read_text())
    (tmp_path / "classes.json").write_text(json.dumps({**classes, "ignore_index": 300}))
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(tmp_path / "classes.json"))
    for id_, truth in zip(corpus.ids, corpus.truths, strict=True):
        made.write(tmp_path / "truth" / f"{id_}.png", np.where(truth == 255, 0, truth).astype(np.uint8))
    fs.label.import_(study, str(tmp_path / "truth"))
    blended(study, "fishyscapes-v1")
    anomaly, semantic = maps_of(study, "fishyscapes-v1", ANOMALIES), maps_of(study, "fishyscapes-v1")
    for id_, flags in anomaly.items():
        assert ((semantic[id_] == 300) == (flags == 1)).all()


@pytest.mark.slow
def test_no_object_lies_on_the_ego_vehicle(study: str, tmp_path: Path) -> None:
    mask = np.zeros((96, 128), np.uint8)
    mask[70:] = 1
    made.write(tmp_path / "ego.png", mask)
    blended(study, frames=20, blending=fs.options.Blending(smallest=20, ego=str(tmp_path / "ego.png")))
    flags = maps_of(study, "fishyscapes-v2", ANOMALIES)
    assert len(flags) == 20
    assert not any((one[70:] == 1).any() for one in flags.values())
    with refused(says="not a mask file, a class of the study"):
        blended(study, blending=fs.options.Blending(ego="rood"))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_set_whatever_files_and_studies_are_called(
    study: str, corpus: made.Corpus, cutouts: Path, tmp_path: Path
) -> None:
    blended(study, objects=str(cutouts), write=str(tmp_path / "one"))
    other_cutouts = tmp_path / "others" / "horse"
    other_cutouts.mkdir(parents=True)
    (tmp_path / "others" / "bird").mkdir()
    for path in sorted(cutouts.rglob("*.png"), reverse=True):
        shutil.copy(path, tmp_path / "others" / path.parent.name / f"z{path.name}")
    other = str(made.collected(corpus, tmp_path / "elsewhere", shard_size=2))
    fs.label.import_(other, str(corpus.truth))
    fs.stress.blend(
        other,
        preset="fishyscapes-v2",
        blending=SMALL,
        objects=tmp_path / "others",
        engine="processes",
        workers=2,
        write=tmp_path / "two",
    )
    assert made.bytes_under(tmp_path / "one", "fishyscapes-v2/images", "fishyscapes-v2/labels")
    assert made.bytes_under(tmp_path / "one" / "fishyscapes-v2", "images", "labels") == made.bytes_under(
        tmp_path / "two" / "fishyscapes-v2", "images", "labels"
    )
    third = blended(study, objects=str(cutouts))
    assert "unchanged" in repr(third)
    with refused(says="made with another seed"):
        blended(study, objects=str(cutouts), seed=3)


@pytest.mark.slow
def test_overlays_added_to_their_bases_are_the_images(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    blended(study, write=str(tmp_path / "out"), overlay_only=True)
    folder = tmp_path / "out" / "fishyscapes-v2"
    assert not (folder / "images").exists()
    for image in rows(study, "fishyscapes-v2"):
        name = image.id.removeprefix("fishyscapes-v2/")
        overlay = fs.stressors.decoded_overlay((folder / "overlays" / f"{name}.overlay").read_bytes())
        base = np.asarray(Image.open(corpus.photos / f"{image.parent}.png"))
        np.testing.assert_array_equal(overlay.added_to(base), read_photo(image)[0])
        with refused(says="belongs to another base"):
            overlay.added_to(base[::-1].copy())
    table = list(csv.DictReader((folder / "manifest.csv").read_text().splitlines()))
    assert len(table) == 5
    assert {"base_digest", "plan", "image_digest", "anomalous"} <= table[0].keys()
    assert all(json.loads(row["plan"])["preset"] == "fishyscapes-v2" for row in table)


def test_objects_in_pieces_are_counted_and_the_manifest_names_them(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bars = np.zeros((60, 60, 4), np.uint8)
    bars[10:50, 10:50, :3] = (200, 60, 20)
    bars[10:50, 10:22, 3] = bars[10:50, 38:50, 3] = 255
    made.write(tmp_path / "objects" / "gate" / "bars.png", bars)
    blended(study, objects=str(tmp_path / "objects"))
    said = " ".join(capsys.readouterr().out.split())
    assert "note: fishyscapes-v2: 5 objects fell into pieces; the column flags of manifest.csv" in said
    assert "motion changed nothing" not in said  # though no way is as long as a pixel here
    folder = Path(study) / "stress" / "fishyscapes-v2"
    table = list(csv.DictReader((folder / "manifest.csv").read_text().splitlines()))
    for row in table:
        assert [(one["object"], one["flag"]) for one in json.loads(row["flags"])] == [(0, "pieces")]
        ways = [one["value"] for one in json.loads(row["steps"]) if one["step"] == "motion"]
        assert 0 < ways[0] < 1


@pytest.mark.slow
def test_sets_with_motion_of_an_earlier_version_are_stale_and_others_are_not(study: str) -> None:
    """Motion below a pixel was not seen before; presets without motion make the same images still."""
    for preset in ("fishyscapes-v1", "fishyscapes-v2"):
        blended(study, preset)
    fs.stress.corrupt(study, corruption=["contrast"], severities="1", engine="local")
    path = Path(study) / "sets.json"
    sets = json.loads(path.read_text())
    found = {name: one["inputs"].get("method") for name, one in sets["sets"].items()}
    assert found == {"fishyscapes-v1": "1", "fishyscapes-v2": "2", "contrast-1": "1"}
    sets["sets"]["fishyscapes-v2"]["inputs"]["method"] = "1"
    path.write_text(json.dumps(sets))
    snapshot = Study(Path(study))
    states_of_sets = {name: graph.node(snapshot, SETS, name).state for name in found}
    assert states_of_sets == {"fishyscapes-v1": "done", "fishyscapes-v2": "stale", "contrast-1": "done"}
    assert graph.node(snapshot, SETS, "fishyscapes-v2").why[0] == "an earlier version made them"


@pytest.mark.slow
def test_fog_lies_on_known_pixels_alone(study: str) -> None:
    blended(study, blending=fs.options.Blending(smallest=20, fog=1.0))
    clear = fs.stress.blend(
        study, preset="fishyscapes-v2", edition="clear", blending=SMALL, engine="local"
    ).sets[0]
    flags = maps_of(study, "fishyscapes-v2", ANOMALIES)
    differ = 0
    for foggy, plain in zip(rows(study, "fishyscapes-v2"), rows(study, clear), strict=True):
        changed = (read_photo(foggy)[0] != read_photo(plain)[0]).any(2)
        assert not changed[flags[foggy.id] != 0].any()
        differ += changed.any()
    assert differ == 5


def test_foggy_sets_get_denser_and_take_depth_from_files(
    study: str, corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = fs.stress.fog(study, engine="local", write=str(tmp_path / "out"))
    assert found.sets == ("foggy-0.005", "foggy-0.01", "foggy-0.02")
    distances = [
        np.mean(
            [
                np.abs(read_photo(image)[0].astype(int) - read_parent(image)).mean()
                for image in rows(study, name)
            ]
        )
        for name in found.sets
    ]
    assert distances == sorted(distances)
    assert len(list((tmp_path / "out" / "fog" / "0.01").rglob("*.png"))) == 5
    for id_ in corpus.ids[1:]:
        (tmp_path / "depth" / f"{id_}.npy").parent.mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / "depth" / f"{id_}.npy", np.full((96, 128), 1e9))
    fs.collect(study, remove=["foggy-*"])
    fs.stress.fog(study, depth=str(tmp_path / "depth"), beta=[0.02], light=210, engine="local")
    for image in rows(study, "foggy-0.02"):
        assert (read_photo(image)[0] == 210).all() == (image.parent != corpus.ids[0])
    monkeypatch.chdir(tmp_path)
    fs.stress.fog(study, depth="depth", beta=[0.01], engine="local")
    monkeypatch.chdir("/")
    assert states(study)["stress"] == "done"
    assert [read_photo(image)[0].shape for image in rows(study, "foggy-0.01")] == [
        (96, 128, 3)
    ] * 5  # from any folder
    with refused(says="above 0 and at most 1"):
        fs.stress.fog(study, beta=[2.0])
    with refused(says="made with another depth"):
        fs.stress.fog(study, beta=[0.02], engine="local")
    assert states(study)["stress"] == "done"
    np.save(tmp_path / "depth" / f"{corpus.ids[0]}.npy", np.full((96, 128), 1.0))
    assert states(study)["stress"] == "stale"
    assert fs.stress.fog(study, depth=str(tmp_path / "depth"), beta=[0.02, 0.01], engine="local").changed == 2
    assert states(study)["stress"] == "done"


@pytest.mark.slow
def test_changed_labels_make_a_blended_set_stale_and_its_line_mends_it(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    blended(study)
    assert states(study)["stress"] == "done"
    changed = np.full((96, 128), 255, np.uint8)
    made.write(tmp_path / "new" / f"{corpus.ids[0]}.png", changed)
    fs.label.import_(study, str(tmp_path / "new"))
    row = next(row for row in fs.status(study).stages if row[0] == "stress")
    assert row[1:] == ("stale", "fishyscapes-v2: blend of main; labels changed")
    line = fs.status(study).next
    assert line.startswith(f"faultscape stress blend {study} --preset fishyscapes-v2 --set main")
    assert main(line.split()[1:]) == 0
    assert states(study)["stress"] == "done"
    flags = maps_of(study, "fishyscapes-v2", ANOMALIES)[f"fishyscapes-v2/{corpus.ids[0]}"]
    assert set(np.unique(flags)) == {1, 255}


@pytest.mark.slow
def test_a_model_reads_blended_images_and_is_measured_by_their_labels(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    blended(study, write=str(tmp_path / "out"))
    fs.predict(study, {"dark": f"{corpus.root / 'mine.py'}:dark"}, engine="local")
    found = fs.measure(
        study, part=fs.options.StudyPart(set_=["fishyscapes-v2"]), resamples=0, engine="local"
    ).document["datasets"]["fishyscapes-v2"]
    for image in rows(study, "fishyscapes-v2"):
        photo = np.asarray(Image.open(tmp_path / "out" / "fishyscapes-v2" / "images" / f"{image.parent}.png"))
        made.write(tmp_path / "maps" / f"{image.parent}.png", (photo[..., 0] < 128).astype(np.uint8))
        made.write(
            tmp_path / "truth" / f"{image.parent}.png",
            maps_of(study, "fishyscapes-v2")[image.id].astype(np.uint8),
        )
    by_hand = fs.measure(
        tmp_path / "truth",
        {"dark": tmp_path / "maps"},
        classes=corpus.classes,
        output=tmp_path / "o",
        resamples=0,
        engine="local",
    )
    assert found["models"]["dark"]["miou"]["value"] == by_hand.models["dark"]["miou"]["value"]
    fs.stress.corrupt(study, set_="fishyscapes-v2", corruption=["contrast"], severities="3", engine="local")
    corrupted = rows(study, "fishyscapes-v2-contrast-3")
    assert {image.condition for image in corrupted} == {"fishyscapes-v2+contrast-3"}
    for image in corrupted:
        read_photo(image)
    fs.predict(study, {"dark": f"{corpus.root / 'mine.py'}:dark"}, engine="local")
    assert fs.measure(
        study, part=fs.options.StudyPart(set_=["fishyscapes-v2-contrast-3"]), resamples=0, engine="local"
    ).document["datasets"]["fishyscapes-v2-contrast-3"]["images"] == {"dark": 5}


def test_wrong_lines_are_refused_in_one_line(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    line = ("stress", "blend", study, "--preset")
    for words, said in (
        (("fishyscapes-v4",), "Did you mean 'fishyscapes-v"),
        (("fishyscapes-v2", "--overlay-only"), "needs --write DIR"),
        (("fishyscapes-v2", "--version", "v1"), "with --preset fs-static; got"),
        (("fishyscapes-v2", "--fog", "2"), "0 to 1"),
        (("fishyscapes-v2", "--objects-per-frame", "0"), "1 or more"),
        (("fishyscapes-v2", "--truth", "nobody"), "there is no truth 'nobody'"),
        (("fishyscapes-v2", "--objects", str(tmp_path / "none")), "is not a folder on this machine"),
        (("fishyscapes-v2", "--objects", str(corpus.photos)), "alpha"),
    ):
        assert said in refused_line(*line, *words), words
    bare = str(made.collected(corpus, tmp_path / "bare", shard_size=4))
    assert "there are no labels yet" in refused_line("stress", "blend", bare, "--preset", "fishyscapes-v2")
    blended(study)
    assert "was itself made by `faultscape stress`" in refused_line(
        *line, "fishyscapes-v1", "--set", "fishyscapes-v2"
    )


@pytest.mark.slow
def test_a_study_that_was_moved_reads_its_objects_where_it_lies(study: str, tmp_path: Path) -> None:
    blended(study)
    before = [read_photo(image)[0] for image in rows(study, "fishyscapes-v2")]
    moved = tmp_path / "moved"
    Path(study).rename(moved)
    for image, was in zip(rows(str(moved), "fishyscapes-v2"), before, strict=True):
        np.testing.assert_array_equal(read_photo(image)[0], was)
    assert states(str(moved))["stress"] == "done"


@pytest.mark.slow
def test_a_line_that_was_killed_before_its_labels_were_made_is_not_called_done(
    study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.stress.blends import blend_set as stage

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stage, "fill_blended", killed)
    with pytest.raises(KeyboardInterrupt):
        blended(study)
    monkeypatch.undo()
    assert states(study)["stress"] == "missing"
    assert fs.status(study).next.startswith(f"faultscape stress blend {study} --preset fishyscapes-v2")
    assert blended(study).new == 0
    assert states(study)["stress"] == "done"
    assert len(maps_of(study, "fishyscapes-v2", ANOMALIES)) == 5


@pytest.mark.slow
def test_a_sheet_shows_each_set_with_its_labels_and_where_objects_lie(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with refused(says="has no made sets"):
        fs.stress.sheet(study)
    blended(study)
    fs.stress.corrupt(study, corruption=["contrast", "jpeg_compression"], severities="1,5", engine="local")
    fs.stress.fog(study, engine="local")
    found = fs.stress.sheet(study, images=2)
    page = Path(found.path).read_text()
    assert found.sets == 8
    assert page.count("<figure>") == (2 + 1) + 2 * (1 + 2) + (1 + 3)
    assert page.count('alt="labels of') == 2
    assert "JPEG compression" in page
    assert "white: most often" in page
    assert "<h2>Fog by distance</h2>" in page  # the corruption of that name is another
    assert fs.stress.sheet(study, set_=["contrast-5"]).images == 2
    assert "made no such set" in refused_line("stress", "sheet", study, "--set", "contrast-6")
    shown = next(image for image in rows(study, "main") if f'"{image.id}"' in page or f">{image.id}<" in page)
    hidden = Path(shown.source).rename(Path(shown.source).with_suffix(".gone"))
    others = fs.stress.sheet(study, set_=["contrast-5"])
    hidden.rename(shown.source)
    assert others.images == 2
    assert f"note: contrast-5/{shown.id} cannot be shown" in capsys.readouterr().out
    page = Path(fs.stress.sheet(study, images=5).path).read_text()
    hidden = set(re.findall(r"\.([a-z-]+) *\{ *display: none", page))
    of_rows = {word for classes in re.findall(r'<section class="([^"]*)"', page) for word in classes.split()}
    assert len(of_rows) == 2  # one has many images
    assert not of_rows & hidden  # on a narrow screen
