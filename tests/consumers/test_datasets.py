"""Hugging Face datasets reads `export --format hf`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
import made_answers

datasets = pytest.importorskip("datasets", reason="datasets is not installed: make test-consumers")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)


def test_a_folder_that_was_moved_opens_with_images_maps_and_labels(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    fs.export(study, tmp_path / "out", format="hf", all_images=True)
    (tmp_path / "out").rename(tmp_path / "moved")
    found = datasets.load_dataset(str(tmp_path / "moved"), split="test")
    assert [found.features[name] for name in ("image", "truth", "map_model-1")] == [datasets.Image()] * 3
    assert sorted(found["id"]) == sorted(corpus.ids)
    for row in found:
        k = corpus.ids.index(row["id"])
        assert (np.asarray(row["image"]) == np.asarray(Image.open(corpus.photos / f"{row['id']}.png"))).all()
        assert (np.asarray(row["truth"]) == corpus.truths[k]).all()
        assert (np.asarray(row["map_model-1"]) == corpus.maps["model-1"][k]).all()
        assert 0 <= row["disagreement"] <= 1


def test_answers_of_classifiers_are_labels_of_named_classes(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made", images=20)
    made_answers.import_labels(it)
    fs.export(it.study, tmp_path / "out", format="hf", all_images=True, image_files="none")
    found = datasets.load_dataset(str(tmp_path / "out"), split="test")
    assert found.features["class_model-0"] == datasets.ClassLabel(names=list(made_answers.NAMES))
    for row in found:
        k = it.images.index(row["id"])
        assert (row["class_model-0"], row["truth"]) == (it.labels["model-0"][k], [it.truth[k]])


def test_the_card_is_one_that_the_hub_reads(study: str, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    fs.export(study, tmp_path / "out", format="hf")
    card = hub.DatasetCard.load(tmp_path / "out" / "README.md")
    assert card.data.task_categories == ["image-segmentation"]
    assert card.data.pretty_name == "study"
    assert card.data["configs"][0]["data_files"] == [{"split": "test", "path": "data/test-*"}]
