"""Where no image has an answer of every model, the line names the model, the reason and the option."""

from __future__ import annotations

from pathlib import Path

import cv2
import pytest

import faultscape as fs
import made_world
from refusals import refused_line


@pytest.mark.slow
def test_a_model_whose_maps_hold_an_unknown_value_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_world.make_world(tmp_path)
    monkeypatch.chdir(tmp_path)
    for path in Path("maps/psp").glob("*.png"):
        values = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        values[:4] = 77
        cv2.imwrite(str(path), values)
    line = ["run", "study", "images/", "unet=maps/unet/", "psp=maps/psp/", "--classes", "classes.json"]
    told = refused_line(*line)
    assert "every model has an answer for: psp lacks 12 of 12 (failures.csv). The first: " in told
    assert told.strip().endswith(
        "holds the value 77; allowed are 0-3, 255 (void); --labels 77=CLASS or 77=void says what it means"
    )
    fs.predict("study", {"psp": "maps/psp/"}, labels="77=void", engine="local")
    fs.run("study", engine="local")
    assert len(fs.Study("study").selection("order").now.images) == 12
