"""FiftyOne opens `export --format fiftyone`: its importer alone, and where there is a MongoDB, the data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made

pytest.importorskip("pymongo", reason="fiftyone is not installed: make test-consumers")
pytest.importorskip("eta", reason="fiftyone is not installed: make test-consumers")


@pytest.fixture(scope="module")
def fiftyone(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FIFTYONE_DATABASE_DIR", str(tmp_path_factory.mktemp("database")))
        patch.setenv("FIFTYONE_DO_NOT_TRACK", "true")
        import fiftyone as found
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
