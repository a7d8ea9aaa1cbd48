"""rank --against-study: do two studies of the same models agree?"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import anew
import faultscape as fs
import undoing
from refusals import refused_text

pytestmark = pytest.mark.slow
FEW = {"resamples": 50, "engine": "local"}


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    return tuple(undoing.copy_of("finished", tmp_path / name) for name in ("here", "there"))  # type: ignore[return-value]


def test_a_study_agrees_with_its_copy_and_is_stale_once_that_is_ranked_otherwise(
    two: tuple[str, str],
) -> None:
    here, there = two
    found = fs.rank(here, others=fs.options.OtherStudies([there]), **FEW)
    other = found.against[there]
    assert set(other.spearman) == set(found.rankings)
    assert {*other.spearman.values(), *other.kendall.values(), other.image_overlap} == {1.0}
    (note,) = [note for note in found.notes if note.startswith(f"against {there}: ")]
    assert "settled in both" in note
    assert "other order" not in note
    assert anew.differing(here) == []
    fs.rank(there, seed=1, **FEW)
    assert anew.whys(here)["standings", "main"] == (f"standings of {there} changed",)


def test_what_cannot_be_compared_is_said_in_one_line(two: tuple[str, str], tmp_path: Path) -> None:
    here, there = two
    line = ["rank", here, "--resamples", 50, "--engine", "local", "--against-study"]
    assert "is the study being ranked; --against names another selection" in refused_text(*line, here)
    assert "is not a study" in refused_text(*line, tmp_path / "nowhere")
    fs.rank(here, others=fs.options.OtherStudies([there]), **FEW)
    Path(there, "standings.json").rename(tmp_path / "aside.json")
    assert "has no standings yet; label its selection, and run `faultscape rank" in refused_text(*line, there)
    assert anew.whys(here)["standings", "main"] == (f"standings of {there} changed",)
    shutil.rmtree(there)
    assert "of --against-study is gone; put it back, or rank without" in str(fs.status(here))


def test_studies_without_two_common_models_are_told_how_to_rename(two: tuple[str, str]) -> None:
    here, there = two
    fs.predict(there, rename={"model-0": "first", "model-1": "second"}, engine="local")
    fs.rank(there, **FEW)
    said = refused_text("rank", here, "--resamples", 50, "--engine", "local", "--against-study", there)
    assert "has first, second where this study has model-0, model-1" in said
    assert "--rename OLD=NEW" in said
