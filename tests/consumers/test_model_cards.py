"""huggingface_hub reads `export --format model-card`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import faultscape as fs

hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed: make test-consumers")


def test_numbers_of_a_card_are_evaluation_results(study: str, tmp_path: Path) -> None:
    fs.export(study, tmp_path / "out", format="model-card")
    measured = json.loads((Path(study) / "measures" / "measure.json").read_text())["models"]["model-0"]
    card = hub.ModelCard.load(tmp_path / "out" / "model-0" / "README.md")
    found = card.data.eval_results
    assert card.data.model_name == "model-0"
    assert {one.metric_type: one.metric_value for one in found} == {
        name: entry["value"] for name, entry in measured.items() if entry["value"] is not None
    }
    assert {one.task_type for one in found} == {"image-segmentation"}
    assert {one.dataset_config for one in found} == {"labels"}
    assert found[0].metric_args["definition"] == measured[found[0].metric_type]["definition"]
    # written again by the library, nothing is lost
    again = hub.ModelCardData(model_name=card.data.model_name, eval_results=found).to_dict()
    assert again["model-index"] == card.data.to_dict()["model-index"]
