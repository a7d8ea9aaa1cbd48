"""FiftyOne opens `export --format fiftyone`: its importer alone, and where there is a MongoDB, the data set. What its
exporters write is read as models and as labels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import CorpusError, ModelError
from faultscape.reading.study import Study
from refusals import refused

pytest.importorskip("pymongo", reason="fiftyone is not installed: make test-consumers")
pytest.importorskip("eta", reason="fiftyone is not installed: make test-consumers")


@pytest.fixture(scope="module")
def fiftyone(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FIFTYONE_DATABASE_DIR", str(tmp_path_factory.mktemp("database")))
        patch.setenv("FIFTYONE_DO_NOT_TRACK", "true")
        import fiftyone as found
        import fiftyone.utils.coco
        import fiftyone.utils.yolo
    return found


@pytest.fixture
def moved(study: str, tmp_path: Path) -> Path:
    fs.export(study, tmp_path / "out", format="fiftyone", all_images=True)
    return (tmp_path / "out").rename(tmp_path / "moved")


def check(sample: Any, corpus: made.Corpus) -> None:
    k = corpus.ids.index(sample["image_id"])
    assert Path(sample.filepath).is_file()
    assert (sample["truth"].get_mask() == corpus.truths[k] + 1).all()
    assert (sample["map_model-0"].get_mask() == corpus.maps["model-0"][k] + 1).all()
    assert 0 <= sample["disagreement"] <= 1


def test_its_importer_reads_a_folder_that_was_moved(fiftyone: Any, moved: Path, corpus: made.Corpus) -> None:
    of_type = fiftyone.types.FiftyOneDataset().get_dataset_importer_cls()
    importer = fiftyone.utils.data.importers._handle_legacy_formats(of_type(str(moved)))
    with importer:
        samples = [*importer]
        info = importer.get_dataset_info()
    assert len(samples) == len(corpus.ids)
    for sample in samples:
        check(sample, corpus)
    assert [sample.tags for sample in samples].count(["chosen"]) == 1
    document = fiftyone.core.odm.DatasetDocument()
    targets = document.field_to_python("default_mask_targets", info["default_mask_targets"])
    assert targets == {1: "sky", 2: "road", 3: "car", 4: "person", 5: "tree"}


def test_a_data_set_shows_and_sorts_the_images(fiftyone: Any, moved: Path, corpus: made.Corpus) -> None:
    service = fiftyone.core.service
    try:
        service.DatabaseService.find_mongod()
    except service.ServiceExecutableNotFound:
        pytest.skip("fiftyone has no MongoDB here")
    found = fiftyone.Dataset.from_dir(str(moved), dataset_type=fiftyone.types.FiftyOneDataset)
    assert len(found) == len(corpus.ids)
    for sample in found:
        check(sample, corpus)
    assert len(found.match_tags("chosen")) == 1
    worst = found.sort_by("disagreement", reverse=True).first()
    assert worst["disagreement"] == max(found.values("disagreement"))
    found.delete()


def exported(exporter: Any, corpus: made.Corpus, label_of: Any, fiftyone: Any) -> None:
    with exporter:
        for k, id_ in enumerate(corpus.ids):
            photo = str(corpus.photos / f"{id_}.png")
            exporter.export_sample(photo, label_of(k), metadata=fiftyone.ImageMetadata.build_for(photo))


@pytest.mark.slow
def test_a_segmentation_directory_is_read_as_a_model_and_as_labels(
    fiftyone: Any, corpus: made.Corpus, tmp_path: Path
) -> None:
    exporter = fiftyone.utils.data.ImageSegmentationDirectoryExporter(
        export_dir=str(tmp_path / "out"), rel_dir=str(corpus.photos)
    )
    exported(exporter, corpus, lambda k: fiftyone.Segmentation(mask=corpus.truths[k]), fiftyone)
    study = str(tmp_path / "study")
    fs.collect(study, corpus.photos, classes=corpus.classes)
    fs.predict(study, {"net": str(tmp_path / "out")}, engine="local")
    fs.label.import_(study, tmp_path / "out")
    held = Study(study)
    for k, id_ in enumerate(corpus.ids):
        assert (held.maps("net")[id_] == corpus.truths[k]).all()
        assert (held.labels()[id_] == corpus.truths[k]).all()


@pytest.mark.slow
def test_detections_with_masks_are_read_as_a_coco_file(
    fiftyone: Any, corpus: made.Corpus, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    car = np.ones((18, 24), bool)
    half = fiftyone.Detection(label="car", bounding_box=[0, 0.5, 0.5, 0.5], mask=car, confidence=0.5)
    exporter = fiftyone.utils.coco.COCODetectionDatasetExporter(export_dir=str(out), classes=list(made.NAMES))
    exported(exporter, corpus, lambda _: fiftyone.Detections(detections=[half]), fiftyone)
    study = str(tmp_path / "study")
    fs.collect(study, out / "data", classes=corpus.classes)
    fs.predict(study, {"net": str(out / "labels.json")}, engine="local")
    found = Study(study).maps("net")["photo 000"]
    # its outlines go through the middle of pixels on the border, and so lose a row and a column
    assert (found == made.NAMES.index("car")).sum() == 17 * 23


@pytest.mark.slow
def test_polygons_of_yolo_are_read_as_results_of_ultralytics(
    fiftyone: Any, corpus: made.Corpus, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    corners = [(0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0)]
    left = fiftyone.Polyline(label="car", points=[corners], closed=True, filled=True)
    exporter = fiftyone.utils.yolo.YOLOv5DatasetExporter(export_dir=str(out), classes=list(made.NAMES))
    exported(exporter, corpus, lambda _: fiftyone.Polylines(polylines=[left]), fiftyone)
    study = str(tmp_path / "study")
    fs.collect(study, out / "images", classes=corpus.classes)
    fs.predict(study, {"net": str(out)}, engine="local")
    found = Study(study).maps("net")["val/photo 000"]
    assert (found == made.NAMES.index("car")).mean() == 0.5
    with refused(CorpusError, "outlines of ultralytics are read from the folder that has labels/"):
        fs.predict(study, {"other": str(out / "labels" / "val")}, engine="local")


@pytest.mark.slow
def test_its_own_format_is_read_field_by_field(moved: Path, corpus: made.Corpus, tmp_path: Path) -> None:
    study = str(tmp_path / "study")
    fs.collect(study, corpus.photos, classes=corpus.classes)
    with refused(CorpusError, "or one folder alone: .*fields/"):
        fs.predict(study, {"all": str(moved)}, engine="local")
    with refused(ModelError, "is of a FiftyOne data set, not of COCO; give the folder of one of its fields"):
        fs.predict(study, {"json": str(moved / "samples.json")}, engine="local")
    names = ",".join(f"{place}={name}" for place, name in enumerate(made.NAMES, 1))
    fs.predict(study, {"net": str(moved / "fields" / "map_model-0")}, labels=names, engine="local")
    found = Study(study).maps("net")[corpus.ids[0]]
    assert (found == corpus.maps["model-0"][0]).all()
