"""mlcroissant validates and reads `export --format croissant`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made

mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed: make test-consumers")


def test_records_are_the_rows_of_the_tables(
    study: str, corpus: made.Corpus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fs.export(study, tmp_path / "out", format="croissant", all_images=True)
    found = mlcroissant.Dataset(str(tmp_path / "out" / "croissant.json"))
    assert not found.metadata.issues.errors
    assert "not standard" not in caplog.text
    rows = [*found.records("images")]
    assert len(rows) == len(corpus.ids)
    for row in rows:
        k = corpus.ids.index(row["images/id"].decode())  # it gives texts of Parquet as bytes
        assert (np.asarray(row["images/map_model-1"]) == corpus.maps["model-1"][k]).all()
    assert [row["models/rank"] for row in found.records("models")] == [1, 2]
