"""The validator of Every Eval Ever accepts `export --format every-eval-ever`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import faultscape as fs

validation = pytest.importorskip(
    "every_eval_ever.validator.validation_core",
    reason="every-eval-ever is not installed: make test-consumers",
)


def test_every_file_passes_all_checks_without_a_warning(study: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    fs.export(study, out, format="every-eval-ever")
    measured = json.loads((Path(study) / "measures" / "measure.json").read_text())["models"]
    files = sorted(out.rglob("*.json"))
    assert [file.parts[-2] for file in files] == ["model-0", "model-1"]
    for file in files:
        said = validation.validate_file(
            file, repo_path=file.relative_to(out).as_posix(), run_semantic_checks=True
        )
        assert said.valid, said.errors
        assert not said.warnings
        read = validation.EvaluationLog.model_validate_json(file.read_text())
        assert read.schema_version == validation.get_schema_version()
        found = {
            one.metric_config.metric_id.removeprefix("faultscape."): one for one in read.evaluation_results
        }
        for metric, entry in measured[read.model_info.name].items():
            if entry["value"] is None:
                assert metric not in found
                continue
            details = found[metric].score_details
            interval = details.uncertainty.confidence_interval if details.uncertainty else None
            assert details.score == entry["value"]
            assert (interval and interval.lower) == entry.get("low")
            assert (interval and interval.upper) == entry.get("high")
            assert found[metric].metric_config.lower_is_better == (entry["better"] == "low")
