"""The law of kills for what is taken back: a line that dies at any file it puts or removes leaves a study
that can be read and loses no label; run again it ends where it would have.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import children
import faultscape as fs
import made
from faultscape.study.tables import selections

pytestmark = pytest.mark.slow

DRIVER = Path(__file__).with_name("dying.py")
DONE = {  # what a line says that has nothing left to do, and what may lie there then that no longer counts
    "select --replace": ("", set()),
    "select --remove": ("there is no selection 'main' to remove; the study has none.", {"selection.csv"}),
    "collect --remove": ("", set()),
    "label remove": (
        "nothing to take back: none of 1 image has such a label or answer in truth 'labels'",
        set(),
    ),
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A study of two shards, labelled, ranked and reported."""
    place = tmp_path_factory.mktemp("study")
    corpus, path = made.corpus(place / "corpus"), str(place / "study")
    made.collected(corpus, path, 12)
    fs.predict(path, dict(list(corpus.models.items())[:2]), engine="local")
    fs.compare(path, engine="local")
    fs.select(path, engine="local")
    fs.label.import_(path, str(corpus.truth))
    fs.rank(path, resamples=20, engine="local")
    fs.report(path)
    return path


@pytest.mark.parametrize("change", DONE)
def test_a_line_killed_at_any_file_is_run_again_and_loses_nothing(
    change: str, study: str, tmp_path: Path
) -> None:
    image = selections.read_selection(Path(study))[0].images[0]
    found = json.loads(children.python(DRIVER, study, tmp_path, change, image))
    nothing_left, remains = DONE[change]
    assert len(found["deaths"]) >= 2
    for place, death in enumerate(found["deaths"]):
        labels = {name for name in found["before"] if name.startswith("truth") and name not in found["whole"]}
        assert (
            all(name in death["held"] for name in labels) or found["whole"].items() <= death["held"].items()
        ), place
        assert death["refused"] in ("", nothing_left), place
        differ = {
            name
            for name in {**found["whole"], **death["again"]}
            if found["whole"].get(name) != death["again"].get(name)
        }
        assert differ <= (remains if death["refused"] else set()), (place, differ)
    assert found["deaths"][0]["held"] == found["before"]
