"""What `faultscape export` writes, read back with nothing but Arrow, JSON and Pillow; the tools that it writes
for read it in tests/consumers.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

import faultscape as fs
import made_answers
import made_card
import undoing
from faultscape.cli import main
from faultscape.errors import OptionError
from faultscape.formats.label_tools import coco_masks, coco_panoptic
from faultscape.nouns import Classes
from faultscape.reading.study import Study
from faultscape.verbs.export import target
from faultscape.verbs.export.contents import Contents
from faultscape.verbs.export.formats import every_eval_ever, fiftyone
from faultscape.verbs.export.image_files import refuse_missing
from faultscape.verbs.export.model_numbers import of_card
from faultscape.verbs.view.between import MapCounts, read_counts
from faultscape.verbs.view.columns import read_all
from refusals import refused_text


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A study in which everything is done; export leaves it as it is."""
    return undoing.copy_of("finished", tmp_path_factory.mktemp("export") / "study")


def ids_of(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)))


def fiftyone_samples(study: str) -> dict[str, dict[str, Any]]:
    """What a FiftyOneDataset would say of the images of a study of classifiers, which has no image files."""
    contents = Contents(Study(study), selection="main", all_images=True, truth=None, image_files="none")
    return {row.image.id: fiftyone._classes_of(row, contents) for row in contents.rows}


def test_the_plain_table_holds_the_maps_the_labels_and_what_the_study_says(
    study: str, tmp_path: Path
) -> None:
    corpus = undoing.shared_corpus()
    before = undoing.digest(study)
    result = fs.export(study, tmp_path / "out", all_images=True)
    assert undoing.digest(study) == before
    assert (result.images, result.models, result.truth) == (6, ("model-0", "model-1"), "labels")
    table = pq.read_table(tmp_path / "out" / "images.parquet")
    rows = {row["id"]: row for row in table.to_pylist()}
    assert list(rows) == Study(study).images
    for image, truth, maps in zip(corpus.ids, corpus.truths, corpus.maps["model-1"], strict=True):
        assert (ids_of(rows[image]["truth"]) == truth).all()
        assert (ids_of(rows[image]["map_model-1"]) == maps).all()
        copied = tmp_path / "out" / rows[image]["path"]
        assert copied.read_bytes() == (corpus.photos / f"{image}.png").read_bytes()
    selected = Study(study).selection().now.images
    assert {image for image, row in rows.items() if row["chosen"]} == set(selected)
    assert rows[selected[0]]["why"].startswith("model-")
    about = json.loads((tmp_path / "out" / "classes.json").read_text())
    assert json.loads(table.schema.metadata[b"faultscape"]) == about
    assert [entry["name"] for entry in about["classes"]] == ["sky", "road", "car", "person", "tree"]


def test_disagreement_is_that_of_view_and_scores_are_those_that_rank_counts(
    study: str, tmp_path: Path
) -> None:
    fs.export(study, tmp_path / "out", all_images=True, image_files="none")
    rows = pq.read_table(tmp_path / "out" / "images.parquet").to_pylist()
    opened = Study(study)
    columns = read_all(opened)
    counts = MapCounts(opened.models, len(opened.classes), len(columns))
    assert [*read_counts(opened, counts, columns)]
    assert [row["disagreement"] for row in rows] == pytest.approx(counts.disagreement.tolist(), rel=1e-9)
    for row, truth, said in zip(rows, opened.labels().values(), opened.maps("model-1").values(), strict=True):
        seen = np.union1d(truth, said)
        ious = [((truth == c) & (said == c)).sum() / ((truth == c) | (said == c)).sum() for c in seen]
        assert row["miou_model-1"] == pytest.approx(np.mean(ious), rel=1e-9)


def test_the_table_of_models_is_the_recommended_ranking(study: str, tmp_path: Path) -> None:
    fs.export(study, tmp_path / "out", image_files="none")
    standings = Study(study).standings()
    name, ranking = next(iter(standings.rankings.items()))
    rows = pq.read_table(tmp_path / "out" / "models.parquet").to_pylist()
    assert [(row["model"], row["rank"]) for row in rows] == [(m, k) for k, m in enumerate(ranking.order, 1)]
    assert {row["ranking"] for row in rows} == {name}
    assert [row["score"] for row in rows] == [ranking.scores[row["model"]] for row in rows]


def test_photos_are_linked_or_left_out_where_asked(study: str, tmp_path: Path) -> None:
    fs.export(study, tmp_path / "linked", image_files="link")
    (row,) = pq.read_table(tmp_path / "linked" / "images.parquet").to_pylist()
    photo = undoing.shared_corpus().photos / f"{row['id']}.png"
    assert os.path.samefile(tmp_path / "linked" / row["path"], photo)
    os.unlink(tmp_path / "linked" / row["path"])  # or what all tests share would have two names
    fs.export(study, tmp_path / "bare", image_files="none")
    assert [row["path"] for row in pq.read_table(tmp_path / "bare" / "images.parquet").to_pylist()] == [None]
    assert not (tmp_path / "bare" / "images").exists()


def test_images_that_are_gone_are_named_before_anything_is_written(study: str) -> None:
    images = Study(study).corpus.images()
    refuse_missing(images, "copy", "study")
    gone = [*images[:-2], *(replace(image, source=f"/nowhere/{image.id}.png") for image in images[-2:])]
    refuse_missing(gone, "none", "study")
    with pytest.raises(
        OptionError, match=r"^2 of 6 images are no longer where .* \(first: /nowhere/part1/"
    ) as said:
        refuse_missing(gone, "copy", "study")
    assert "run `faultscape collect study NEWFOLDER`, or leave them out with --image-files none" in str(said)
    stored = [replace(images[0], source="s3://bucket/a.png")]
    refuse_missing(stored, "copy", "study")
    with pytest.raises(OptionError, match=r"^--image-files link: 1 image is not a local file .*; use "):
        refuse_missing(stored, "link", "study")


def test_a_data_set_of_the_hub_says_in_its_schema_what_its_columns_are(study: str, tmp_path: Path) -> None:
    result = fs.export(study, tmp_path / "out", format="hf", all_images=True)
    assert result.opens == f"datasets.load_dataset({str(tmp_path / 'out')!r})"
    (file,) = (tmp_path / "out" / "data").iterdir()
    assert file.name == "test-00000-of-00001.parquet"
    table = pq.read_table(file)
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert list(features) == table.column_names
    assert {name for name, of in features.items() if of == {"_type": "Image"}} == {
        "image",
        "truth",
        "map_model-0",
        "map_model-1",
    }
    corpus = undoing.shared_corpus()
    row = table.to_pylist()[-1]
    place = corpus.ids.index(row["id"])
    assert (ids_of(row["map_model-0"]["bytes"]) == corpus.maps["model-0"][place]).all()
    assert (ids_of(row["image"]["bytes"]) == np.asarray(Image.open(corpus.photos / f"{row['id']}.png"))).all()
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith("---\n")
    assert '    path: "data/test-*"' in card
    assert "| model | ranking | rank |" in card


def test_coco_files_are_read_back_as_the_maps_of_the_labels_and_of_each_model(
    study: str, tmp_path: Path
) -> None:
    result = fs.export(study, tmp_path / "out", format="coco", all_images=True)
    assert result.opens.endswith('/truth/instances.json")')
    corpus = undoing.shared_corpus()
    classes = Study(study).classes
    for where, maps in (("truth", corpus.truths), ("models/model-1", corpus.maps["model-1"])):
        folder = tmp_path / "out" / where
        for read, file in ((coco_masks.read, "instances.json"), (coco_panoptic.read, "panoptic.json")):
            found = {label.image: label for label in read(folder / file)}
            for image, ids in zip(corpus.ids, maps, strict=True):
                assert (found[f"{image}.png"].read(classes) == ids).all()
                assert (tmp_path / "out" / "images" / f"{image}.png").is_file()
    table = list(csv.DictReader((tmp_path / "out" / "images.csv").read_text().splitlines()))
    assert [row["id"] for row in table] == Study(study).images
    assert [row["chosen"] for row in table].count("true") == 1


def test_results_of_models_are_of_labelled_images_and_have_no_box(study: str, tmp_path: Path) -> None:
    """pycocotools refuses results of other images, and takes the area of a box for that of its mask."""
    fs.export(study, tmp_path / "out", format="coco", all_images=True)
    truth = json.loads((tmp_path / "out/truth/instances.json").read_text())
    results = json.loads((tmp_path / "out/models/model-0/results.json").read_text())
    assert {result["image_id"] for result in results} <= {image["id"] for image in truth["images"]}
    assert {frozenset(result) for result in results} == {
        frozenset({"image_id", "category_id", "segmentation", "score"})
    }


def test_samples_of_fiftyone_name_their_masks_by_relative_paths(study: str, tmp_path: Path) -> None:
    fs.export(study, tmp_path / "out", format="fiftyone", all_images=True)
    corpus = undoing.shared_corpus()
    samples = json.loads((tmp_path / "out" / "samples.json").read_text())["samples"]
    metadata = json.loads((tmp_path / "out" / "metadata.json").read_text())
    targets = metadata["info"]["default_mask_targets"]
    assert targets == {"1": "sky", "2": "road", "3": "car", "4": "person", "5": "tree"}
    assert "version" not in metadata  # or FiftyOne would take it for a copy of its database
    for sample in samples:
        k = corpus.ids.index(sample["image_id"])
        assert (tmp_path / "out" / sample["filepath"]).is_file()
        for field, maps in (("truth", corpus.truths), ("map_model-0", corpus.maps["model-0"])):
            assert sample[field]["mask_path"].startswith(f"fields/{field}/")
            mask = Image.open(tmp_path / "out" / sample[field]["mask_path"])
            assert mask.mode == "L"  # palettes would be read as colours
            assert (np.asarray(mask) == maps[k] + 1).all()
    assert [sample["tags"] for sample in samples].count(["chosen"]) == 1


def test_masks_of_fiftyone_are_0_where_nothing_is_to_be_seen() -> None:
    voc = Classes(("bg", "cat"), (0, 7), ((0, 0, 0), (1, 1, 1)), (255,), background=0)
    assert fiftyone.mask_values(voc)[[0, 7, 255]].tolist() == [0, 2, 3]
    assert fiftyone._targets(voc) == {"0": "bg", "2": "cat", "3": "void"}


def test_a_croissant_describes_each_column_of_the_tables(study: str, tmp_path: Path) -> None:
    fs.export(study, tmp_path / "out", format="croissant")
    about = json.loads((tmp_path / "out" / "croissant.json").read_text())
    for file, records in zip(about["distribution"], about["recordSet"], strict=True):
        path = tmp_path / "out" / file["contentUrl"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == file["sha256"]
        columns = [field["source"]["extract"]["column"] for field in records["field"]]
        assert columns == pq.read_schema(path).names
    kinds = {field["name"]: field["dataType"] for field in about["recordSet"][0]["field"]}
    names = ("why", "width", "chosen", "disagreement", "map_model-0")
    assert [kinds[name] for name in names] == [
        "sc:Text",
        "sc:Integer",
        "sc:Boolean",
        "sc:Float",
        "sc:ImageObject",
    ]


def test_a_card_holds_what_was_measured(study: str, tmp_path: Path) -> None:
    result = fs.export(study, tmp_path / "out", format="model-card")
    assert (result.images, result.models) == (0, ("model-0", "model-1"))
    measured = json.loads((Path(study) / "measures" / "measure.json").read_text())
    for model, metrics in measured["models"].items():
        text = (tmp_path / "out" / model / "README.md").read_text()
        head, body = text.removeprefix("---\n").split("\n---\n")
        assert f'\n- name: "{model}"\n' in head
        given = re.findall(r'- type: "(\w+)"\n +name: "(.*)"\n +value: (.*)\n', head)
        known = {name: entry for name, entry in metrics.items() if entry["value"] is not None}
        assert [(name, float(value)) for name, _, value in given] == [
            (name, entry["value"]) for name, entry in known.items()
        ]
        # a share of right pixels is not called an error
        assert dict(given_name[:2] for given_name in given)["pixel_accuracy"] == "pixel accuracy"
        assert f"| {metrics['miou']['value']:.4g} |" in body
        assert "## labels, 6 images" in body


def test_the_conditions_of_a_reliability_card_are_results_of_their_own() -> None:
    card = made_card.card()
    numbers = [*of_card(card, "unet")]
    assert {number.condition for number in numbers} == {
        cell["condition"] for cell in card["cells"] if cell["model"] == "unet" and cell["value"] is not None
    }
    clean = next(cell for cell in card["cells"] if (cell["model"], cell["metric"]) == ("unet", "miou"))
    first = next(number for number in numbers if number.metric == "miou")
    assert (first.value, first.low, first.high) == (clean["value"], clean["low"], clean["high"])


def test_what_is_not_measured_or_out_of_date_is_no_card(study: str, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(study, tmp_path / "study"))
    (copy / "standings.json").unlink()  # cards do without
    measures = copy / "measures" / "measure.json"
    held = json.loads(measures.read_text())
    held["provenance"]["inputs"]["labels"] = "others"
    measures.write_text(json.dumps(held))
    said = refused_text("export", str(copy), str(tmp_path / "out"), "--format", "model-card")
    assert "what measure wrote is out of date: labels changed; run `faultscape measure" in said
    shutil.rmtree(copy / "measures")
    said = refused_text("export", str(copy), str(tmp_path / "out"), "--format", "model-card")
    assert "nothing is measured yet; run `faultscape measure" in said
    assert not (tmp_path / "out").exists()


def test_results_of_a_model_lie_where_every_eval_ever_looks_for_them(study: str, tmp_path: Path) -> None:
    fs.export(study, tmp_path / "out", format="every-eval-ever")
    measured = json.loads((Path(study) / "measures" / "measure.json").read_text())["models"]
    name, ranking = next(iter(Study(study).standings().rankings.items()))
    for model in ("model-0", "model-1"):
        (file,) = (tmp_path / "out" / "data" / "faultscape-study" / "local" / model).iterdir()
        held = json.loads(file.read_text())
        assert re.fullmatch(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\.json", file.name)
        assert held["model_info"]["id"] == f"local/{model}"
        found = {one["metric_config"]["metric_id"]: one for one in held["evaluation_results"]}
        rom = found["faultscape.rom"]
        entry = measured[model]["rom"]
        assert rom["score_details"]["score"] == entry["value"]
        assert rom["metric_config"]["lower_is_better"] is True
        assert (rom["metric_config"]["min_score"], rom["metric_config"]["max_score"]) == (0.0, 1.0)
        assert found["faultscape.variation_of_information"]["metric_config"]["max_score"] == "Infinity"
        assert found[f"faultscape.{name}"]["score_details"]["score"] == ranking.scores[model]
        assert found[f"faultscape.{name}"]["score_details"]["details"]["rank"] == str(
            ranking.order.index(model) + 1
        )


def test_models_of_the_hub_keep_their_names_and_names_are_portable() -> None:
    assert every_eval_ever._model_id("hf:nvidia/segformer-b0@main", "seg") == "nvidia/segformer-b0"
    assert every_eval_ever._model_id("exec:run.sh", "unet+v2") == "local/unet+v2"
    assert every_eval_ever._portable('a: "b"/c.') == "a-b-c"


def test_classifiers_have_results_of_their_ranking(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made", images=20)
    said = refused_text("export", it.study, str(tmp_path / "out"), "--format", "every-eval-ever")
    assert "nothing is measured yet; run `faultscape label import" in said
    assert f"`faultscape rank {it.study}`, then this line again" in said
    made_answers.import_labels(it)
    fs.select(it.study, selector="random", budget=12)
    fs.rank(it.study, resamples=20, engine="local")
    fs.export(it.study, tmp_path / "out", format="every-eval-ever")
    held = [json.loads(file.read_text()) for file in (tmp_path / "out").rglob("*.json")]
    assert {one["model_info"]["name"] for one in held} == set(it.labels)
    assert {len(one["evaluation_results"]) for one in held} == {1}


def test_answers_of_classifiers_are_classes_and_probabilities(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made", images=20, sure=True)
    made_answers.import_labels(it)
    fs.export(it.study, tmp_path / "plain", all_images=True, image_files="none")
    fs.export(it.study, tmp_path / "hub", format="hf", all_images=True, image_files="none")
    samples = fiftyone_samples(it.study)
    table = pq.read_table(tmp_path / "hub" / "data")
    names = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]["class_model-0"]["names"]
    assert names == list(made_answers.NAMES)
    for plain, hub in zip(
        pq.read_table(tmp_path / "plain" / "images.parquet").to_pylist(), table.to_pylist(), strict=True
    ):
        k = it.images.index(plain["id"])
        said, true = (names[labels[k]] for labels in (it.labels["model-0"], it.truth))
        assert (plain["class_model-0"], plain["truth"]) == (said, [true])
        assert (names[hub["class_model-0"]], [names[place] for place in hub["truth"]]) == (said, [true])
        assert plain["correct_model-0"] == float(said == true)
        assert 0 < plain["probability_model-0"] <= 1
        seen = samples[plain["id"]]
        assert (seen["class_model-0"]["label"], seen["truth"]["label"]) == (said, true)


def test_what_is_half_written_does_not_look_whole(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StoppedError(Exception):
        pass

    def stopped(_: Path) -> bytes:
        raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr("faultscape.verbs.export.tables.about_bytes", stopped)
        with pytest.raises(StoppedError):
            fs.export(study, tmp_path / "out")
    assert [*tmp_path.iterdir()] == []
    killed = tmp_path / ".writing-00000000-out"
    killed.mkdir()
    (killed / ".held").touch()
    with target.whole_folder(str(tmp_path / "other")):
        assert killed.exists()
        assert not (tmp_path / "other").exists()
    (tmp_path / "out").mkdir()  # an empty folder may be there
    fs.export(study, tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"other", "out"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "images.parquet",
        "models.parquet",
        "classes.json",
        "images",
    }


def test_an_export_is_the_same_wherever_it_is_written(study: str, tmp_path: Path) -> None:
    """Nothing in it says where it lies, so that it can be moved."""
    for name in ("here", "there/deeper"):
        assert main(["export", study, str(tmp_path / name), "--all-images"]) == 0
    for path in (tmp_path / "here").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert data == (tmp_path / "there/deeper" / path.relative_to(tmp_path / "here")).read_bytes()
            assert str(tmp_path).encode() not in data
