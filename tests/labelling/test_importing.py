"""Labels that people made: none is lost by a kill, none is made up, and what is left out is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.errors import LabellingError
from faultscape.formats.label_tools.named_masks import id_of
from faultscape.maps import runs
from faultscape.nouns import Classes
from faultscape.study.tables import label_maps
from faultscape.study.tables.logs import read_failures
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.label import tool_files
from refusals import refused, refused_line


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=8, models=2)


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    study = str(tmp_path / "study")
    made.compared_study(corpus, study)
    fs.select(study)
    return study


def labelled(study: str, truth: str = "labels") -> set[str]:
    return set(label_maps.read_maps(label_maps.truth(Path(study), truth), 0))


def masks(corpus: made.Corpus, folder: Path, *numbers: int) -> Path:
    for k in numbers:
        made.write(folder / f"{corpus.ids[k]}.png", corpus.truths[k])
    return folder


def test_a_kill_between_a_part_and_its_manifest_loses_no_label(
    corpus: made.Corpus, study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.label.import_(study, str(masks(corpus, tmp_path / "first", 0, 1, 2)))
    more = masks(corpus, tmp_path / "more", 3, 4)
    with monkeypatch.context() as patch:
        patch.setattr(
            "faultscape.verbs.label.masks.write_manifest",
            lambda *_: (_ for _ in ()).throw(KeyboardInterrupt),
        )
        with pytest.raises(KeyboardInterrupt):
            fs.label.import_(study, str(more))
    assert labelled(study) == set(corpus.ids[:3])
    assert len([*label_maps.truth(Path(study), "labels").glob("*.parquet")]) == 2
    # whatever is written next sweeps what the kill left
    fs.label.import_(study, str(masks(corpus, tmp_path / "third", 0)))
    assert len([*label_maps.truth(Path(study), "labels").glob("*.parquet")]) == 1
    assert fs.label.import_(study, str(more)).new == 2
    assert labelled(study) == set(corpus.ids[:5])
    assert len([*label_maps.truth(Path(study), "labels").glob("*.parquet")]) == 1


def test_a_damaged_truth_is_never_said_to_be_deleted_lightly(corpus: made.Corpus, study: str) -> None:
    fs.label.import_(study, str(corpus.truth))
    part = next(label_maps.truth(Path(study), "labels").glob("*.parquet"))
    part.write_bytes(b"damaged")
    with refused(fs.errors.StudyError, "put it back from a copy"):
        fs.rank(study, engine="local")


def test_what_failed_in_an_earlier_import_stays_said(corpus: made.Corpus, study: str, tmp_path: Path) -> None:
    first = masks(corpus, tmp_path / "first", 0)
    made.write(first / f"{corpus.ids[1]}.png", np.zeros((5, 5), np.uint8))
    took = repr(fs.label.import_(study, str(first)))
    assert "1 image added, 1 not usable (failures.csv); the first: " in took
    assert "is 5 x 5 pixels, its image " in took
    fs.label.import_(study, str(masks(corpus, tmp_path / "second", 2)))
    assert [f.image for f in read_failures(Path(study)) if f.stage == "label"] == [corpus.ids[1]]
    fs.label.import_(study, str(masks(corpus, tmp_path / "third", 1)))
    assert not [f for f in read_failures(Path(study)) if f.stage == "label"]


def test_an_unknown_class_is_told_with_the_nearest_name_among_the_known_ones() -> None:
    names = [*(f"class-{k}" for k in range(14)), "person"]
    classes = Classes(tuple(names), tuple(range(15)), ((1, 2, 3),) * 15)
    with pytest.raises(LabellingError, match=r"class-11, person, \.\.\.\. Did you mean 'person'\?"):
        id_of("persn", classes, "a.json, shape 0")


def test_a_folder_of_two_kinds_of_files_says_which_count_as_labels(
    corpus: made.Corpus, study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    fs.label.export(study, str(out), format="labelme", prefill="model-0")
    number = len(list(out.rglob("*.json")))
    assert number
    for k, folder in enumerate(("one", "two")):  # two overlays of one image, as annotators leave them
        made.write(out / folder / f"{corpus.ids[0]}.png", corpus.truths[k])
    capsys.readouterr()
    assert fs.label.import_(study, str(out)).new == number
    said = capsys.readouterr().out
    assert f"labels come from {number} LabelMe file" in said
    assert "\nmask files are ignored: " in said


def test_labelme_files_without_a_shape_are_not_labels_yet(
    corpus: made.Corpus, study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.label.export(study, str(tmp_path / "out"), format="labelme")
    done = fs.label.import_(study, str(tmp_path / "out"))
    assert (done.new, done.replaced) == (0, 0)
    assert "2 files are not labelled yet" in capsys.readouterr().out
    assert fs.status(study).next.startswith("faultscape label export")
    fs.label.import_(study, str(corpus.truth))
    before = label_maps.read_maps(label_maps.truth(Path(study), "labels"), 0)
    fs.label.import_(study, str(tmp_path / "out"))
    assert label_maps.read_maps(label_maps.truth(Path(study), "labels"), 0) == before


def test_masks_and_labelme_files_in_one_folder_are_both_taken(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    both = masks(corpus, tmp_path / "both", 0, 1)
    fs.label.export(study, str(tmp_path / "lm"), format="labelme", prefill="model-0")
    third = next(
        file
        for file in sorted((tmp_path / "lm").rglob("*.json"))
        if file.stem not in corpus.ids[0] + corpus.ids[1]
    )
    target = both / third.relative_to(tmp_path / "lm")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(third, target)
    (both / "info.json").write_text('{"by": "somebody"}')
    fs.label.import_(study, str(both))
    expected = {corpus.ids[0], corpus.ids[1], str(third.relative_to(tmp_path / "lm").with_suffix(""))}
    assert labelled(study) == expected


def test_a_label_that_fits_no_image_is_said(
    corpus: made.Corpus, study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = masks(corpus, tmp_path / "some", 0)
    made.write(folder / "part0" / "foto 002.png", corpus.truths[2])
    fs.label.import_(study, str(folder))
    assert "1 file matches no image of the study" in capsys.readouterr().out


def test_an_image_called_classes_is_labelled_as_any_other(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("classes", "labels"):
        made.write(tmp_path / "photos" / f"{name}.png", rng.integers(0, 255, (20, 24, 3), np.uint8))
        for model in ("a", "b"):
            made.write(tmp_path / model / f"{name}.png", rng.integers(0, 2, (20, 24), np.uint8))
    study = str(tmp_path / "study")
    (tmp_path / "list.json").write_text('{"classes": ["x", "y"], "void": 255}')
    fs.collect(study, str(tmp_path / "photos"), classes=str(tmp_path / "list.json"))
    fs.predict(study, {"a": tmp_path / "a", "b": tmp_path / "b"}, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, sampling=fs.options.Sampling(spares=0), per_class=2)
    fs.label.export(study, str(tmp_path / "out"), format="labelme", prefill="a")
    assert {p.name for p in (tmp_path / "out").glob("*.json")} == {"classes.json", "labels.json"}
    fs.label.import_(study, str(tmp_path / "out"))
    assert labelled(study) == {"classes", "labels"}


def test_image_names_with_any_line_end_come_back_from_every_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = {"a\rb", "c\nd", "e\r\nf", 'g"h', "i,j"}
    for name in names:
        made.write(tmp_path / "photos" / f"{name}.png", rng.integers(0, 255, (20, 24, 3), np.uint8))
        for model in ("a", "b"):
            made.write(tmp_path / model / f"{name}.png", rng.integers(0, 2, (20, 24), np.uint8))
    made.write(tmp_path / "a" / "a\rb.png", np.full((20, 24), 9, np.uint8))
    study = str(tmp_path / "study")
    fs.run(
        study,
        tmp_path / "photos",
        f"a={tmp_path / 'a'}",
        f"b={tmp_path / 'b'}",
        classes=2,
        goal="failures",
        engine="local",
    )
    assert {row.image for row in read_selection(Path(study))[0].rows} == names - {"a\rb"}
    assert [f.image for f in read_failures(Path(study))] == ["a\rb"]


def test_an_export_that_cannot_be_written_is_one_sentence_and_leaves_no_torn_picture(
    study: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    assert refused_line("label", "export", study, str(tmp_path / "file" / "out")).startswith(
        "faultscape: cannot write"
    )
    fs.label.export(study, str(tmp_path / "out"))
    assert (tmp_path / "out" / "labels").is_dir()
    for picture in (tmp_path / "out" / "images").rglob("*.png"):
        with Image.open(picture) as photo:
            photo.load()
    with refused(LabellingError, "labels: is empty; first draw a mask for each image"):
        fs.label.import_(study, str(tmp_path / "out"))
    assert json.loads((tmp_path / "out" / "classes.json").read_text())["classes"]


def test_labelme_files_beside_cityscapes_label_ids_keep_their_own_ids(tmp_path: Path) -> None:
    for name in ("a", "b"):
        made.write(tmp_path / "photos" / f"{name}.png", np.full((8, 8, 3), 90, np.uint8))
    study = str(tmp_path / "study")
    fs.collect(study, str(tmp_path / "photos"), classes="cityscapes")
    made.write(tmp_path / "labels" / "b_gtFine_labelIds.png", np.full((8, 8), 26, np.uint8))
    shape = {"label": "car", "shape_type": "rectangle", "points": [[0, 0], [7, 7]]}
    document = {"shapes": [shape], "imageWidth": 8, "imageHeight": 8, "imagePath": "a.png", "imageData": None}
    (tmp_path / "labels" / "a.json").write_text(json.dumps(document))
    assert fs.label.import_(study, str(tmp_path / "labels"), truth="both").new == 2
    stored = label_maps.read_maps(label_maps.truth(Path(study), "both"), 0)
    assert {name: runs.labels(code).tolist() for name, code in stored.items()} == {"a": [13], "b": [13]}


def test_photos_among_labelme_files_are_not_masks(
    corpus: made.Corpus, study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(corpus.photos, folder)
    fs.label.export(study, str(tmp_path / "lm"), format="labelme", prefill="model-0")
    drawn = min((tmp_path / "lm").rglob("*.json"))
    shutil.copy(drawn, folder / drawn.relative_to(tmp_path / "lm"))
    fs.label.import_(study, str(folder))
    assert labelled(study) == {str(drawn.relative_to(tmp_path / "lm").with_suffix(""))}
    assert f"{len(corpus.ids) - 1} files are not labelled yet" in capsys.readouterr().out


def test_a_stray_file_of_the_other_kind_stops_nothing(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    folder = masks(corpus, tmp_path / "some", 0)
    (folder / "template.json").write_text('{"shapes": [], "imageWidth": 4, "imageHeight": 4}')
    (folder / "torn.json").write_text('{"sha')
    assert fs.label.import_(study, str(folder)).new == 1


def test_two_masks_of_one_image_are_an_error_that_names_both(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    folder = masks(corpus, tmp_path / "some", 0)
    np.save(folder / f"{corpus.ids[0]}.npy", corpus.truths[0])
    with refused(fs.errors.CorpusError, "two files have the id 'part0/photo 000'"):
        fs.label.import_(study, str(folder))


def test_images_that_left_the_corpus_are_as_discarded(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    chosen = fs.select(study).images
    gone = tmp_path / "gone" / f"{chosen[0]}.png"
    gone.parent.mkdir(parents=True)
    shutil.copy(corpus.photos / f"{chosen[0]}.png", gone)
    fs.collect(study, str(corpus.photos), not_in=[str(tmp_path / "gone")])
    fs.label.import_(study, str(corpus.truth))
    words = next(words for stage, _, words in fs.status(study).stages if stage == "label")
    # images changed since the selection was made
    exported = fs.label.export(study, str(tmp_path / "out"), anyway=True)
    assert f"{exported.labelled} of {exported.labelled} images labelled" in words
    assert not (tmp_path / "out" / "images" / f"{chosen[0]}.png").exists()


def test_what_a_kill_left_of_labels_that_were_taken_back_is_swept_and_they_stay(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    fs.label.import_(study, str(masks(corpus, tmp_path / "first", 0, 1, 2)))
    fs.label.remove(study, corpus.ids[0])
    kept = label_maps.truth(Path(study), "labels") / "removed"
    (part,) = kept.glob("*.parquet")
    (kept / "00000-0123456789abcdef.parquet").write_bytes(b"half")
    (kept / ".writing-left").write_bytes(b"half")
    fs.label.import_(study, str(masks(corpus, tmp_path / "more", 3)))
    assert {path.name for path in kept.iterdir()} == {part.name, "manifest.json"}
    assert [row.id for row in label_maps.read_stored(kept, 0)] == [corpus.ids[0]]


def test_two_images_of_a_file_that_fit_one_are_told_by_their_names() -> None:
    names = ("day/one.png", "night/one.png")
    images = {name: SimpleNamespace(id=name, parent="") for name in ("one", "two")}
    with refused(
        LabellingError, "^tool.json: day/one.png and tool.json: night/one.png both match image 'one'"
    ):
        tool_files.images_meant(Path("tool.json"), names, images)  # type: ignore[arg-type]


def test_an_export_again_lists_what_has_no_label_and_removes_no_file(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    """Images that were labelled elsewhere stay: in that folder a photo may be somebody's only one."""
    out = tmp_path / "to-label"
    fs.select(study, as_="more", goal="order", budget=6)
    chosen = fs.label.export(study, str(out), format="png", selection="more").images
    photos = sorted((out / "images").rglob("*.png"))
    elsewhere = tmp_path / "elsewhere"
    for photo in photos[:3]:
        mask = elsewhere / photo.relative_to(out / "images")
        mask.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus.truth / photo.relative_to(out / "images"), mask)
    fs.label.import_(study, str(elsewhere))

    said = fs.label.export(study, str(out), format="png", selection="more")

    assert (said.images, said.labelled, said.beside) == (chosen - 3, 3, 3)
    words = " ".join(repr(said).split())
    assert "3 other images in that folder have a label already and need no new one" in words
    assert sorted((out / "images").rglob("*.png")) == photos
    assert len((out / "to-label.txt").read_text().splitlines()) == chosen - 3
