"""FiftyOne opens `export --format fiftyone`; it starts a database of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made

pytest.importorskip("fiftyone", reason="fiftyone is not installed: make test-consumers")


@pytest.fixture(scope="module")
def fiftyone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    os.environ["FIFTYONE_DATABASE_DIR"] = str(tmp_path_factory.mktemp("database"))
    os.environ["FIFTYONE_DO_NOT_TRACK"] = "true"
    import fiftyone as found

    yield found
    for name in found.list_datasets():
        found.delete_dataset(name)


def test_a_folder_that_was_moved_opens_with_masks_and_judges_them(
    fiftyone: Any, study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    fs.export(study, tmp_path / "out", format="fiftyone", all_images=True)
    (tmp_path / "out").rename(tmp_path / "moved")
    found = fiftyone.Dataset.from_dir(str(tmp_path / "moved"), dataset_type=fiftyone.types.FiftyOneDataset)
    assert len(found) == len(corpus.ids)
    assert found.default_mask_targets == {1: "sky", 2: "road", 3: "car", 4: "person", 5: "tree"}
    for sample in found:
        k = corpus.ids.index(sample["image_id"])
        assert Path(sample.filepath).is_file()
        assert (sample["truth"].get_mask() == corpus.truths[k] + 1).all()
        assert (sample["map_model-0"].get_mask() == corpus.maps["model-0"][k] + 1).all()
    assert len(found.match_tags("chosen")) == 1
    worst = found.sort_by("disagreement", reverse=True).first()
    assert worst["disagreement"] == max(found.values("disagreement"))
    judged = found.evaluate_segmentations("map_model-0", gt_field="truth", eval_key="of_it")
    right = np.mean(corpus.maps["model-0"] == corpus.truths)
    assert judged.metrics()["accuracy"] == pytest.approx(right)
