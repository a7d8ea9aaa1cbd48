"""One graph says what is done, stale or missing: `status`, `run`, refusals and reports read it, and following
"next" ends.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import LabellingError
from faultscape.reading.study import Study
from faultscape.study.tables.selections import read_selection
from faultscape.verbs import graph
from faultscape.verbs.report.artefact import REPORT, read_note
from faultscape.verbs.select.artefact import SELECTION
from refusals import refused
from undoing import copy_of, shared_corpus

FEW = {"resamples": 20, "engine": "local"}


@pytest.fixture
def corpus() -> made.Corpus:
    return shared_corpus()


@pytest.fixture
def study(tmp_path: Path) -> str:
    """A study whose main selection is made, and nothing labelled."""
    return copy_of("chosen", tmp_path / "study")


def states(study: str) -> dict[tuple[str, str], tuple[str, tuple[str, ...]]]:
    return {(node.artefact, node.name): (node.state, node.why) for node in graph.nodes(Study(Path(study)))}


def labelled(study: str, corpus: made.Corpus) -> None:
    fs.label.import_(study, str(corpus.truth))
    fs.rank(study, **FEW)
    fs.report(study)
    assert fs.status(study).next == ""


def test_inputs_stand_before_what_follows_from_them() -> None:
    names = [artefact.name for artefact in graph.ARTEFACTS]
    assert len(set(names)) == len(names)
    for place, artefact in enumerate(graph.ARTEFACTS):
        assert set(artefact.follows) <= set(names[:place]), artefact.name


def test_nobody_is_sent_to_label_a_stale_selection(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    assert "label export" in fs.status(study).next
    fs.predict(study, {"late": next(iter(corpus.models.values()))}, engine="local")
    fs.compare(study, engine="local")
    assert fs.status(study).next == f"faultscape select {study}"
    with refused(
        LabellingError,
        r"selection 'main' is stale: models were added since; run `faultscape select .*` first, or add"
        r" --anyway",
    ):
        fs.label.export(study, str(tmp_path / "out"))
    fs.label.export(study, str(tmp_path / "out"), anyway=True)
    assert list((tmp_path / "out" / "images").iterdir())
    fs.select(study, engine="local")
    assert "label export" in fs.status(study).next


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["rank", "measure", "plan", "report"])
def test_run_does_what_is_undone_with_the_options_that_were_given(
    study: str, corpus: made.Corpus, tmp_path: Path, verb: str
) -> None:
    labelled(study, corpus)
    given: dict[str, dict[str, Any]] = {
        "rank": {"epsilon": 0.5, "resamples": 20, "seed": 3},
        "measure": {"definitions": fs.options.Definitions(over="truth", boundaries=False), "resamples": 0},
        "plan": {"cost": {"mask": 60}, "within": 5},
        "report": {"bands": [0.2, 0.4], "better": 0.25},
    }
    files = {
        "rank": "standings.json",
        "measure": "measures/measure.json",
        "plan": "plan.json",
        "report": "report.html",
    }
    getattr(fs, verb)(study, **given[verb])
    if verb != "report":
        fs.report(study)
    assert fs.run(study, engine="local").done == fs.run(study, engine="local").done
    file = Path(study) / files[verb]
    made_once, want = file.read_bytes(), arguments(file)
    assert want
    label_upside_down(study, corpus, tmp_path / "turned")
    fs.run(study, engine="local")
    assert arguments(file) == want
    assert file.read_bytes() != made_once
    assert fs.status(study).next == ""


def label_upside_down(study: str, corpus: made.Corpus, folder: Path) -> None:
    """Give every chosen image another label."""
    slots = read_selection(Path(study))[0]
    for image in slots.images:
        mask = next(Path(corpus.truth).rglob(f"{Path(image).name}*"))
        path = folder / f"{image}{mask.suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.open(mask).transpose(Image.Transpose.FLIP_TOP_BOTTOM).save(path)
    fs.label.import_(study, str(folder))


def arguments(file: Path) -> Any:
    if file.suffix == ".html":
        return (read_note(file) or {})["arguments"]
    return json.loads(file.read_text())["provenance"]["arguments"]


@pytest.mark.slow
def test_run_goes_on_beside_a_selection_that_must_be_made_anew(
    study: str, corpus: made.Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    labelled(study, corpus)
    name, source = next(iter(corpus.models.items()))
    other = list(corpus.models.values())[2]
    fs.predict(study, {name: other}, engine="local")
    done = fs.run(study, engine="local")
    assert any("to choose again: faultscape select" in line for line in done.done), source
    line = fs.status(study).next
    assert line.startswith(f"faultscape select {study} --replace")
    assert main(shlex.split(line)[1:]) == 0
    capsys.readouterr()
    assert states(study)["selection", "main"] == ("done", ())
    kept = next(name for name in Study(Path(study)).selections if name.startswith("main-"))
    assert "replaced by main" in graph.node(Study(Path(study)), SELECTION, kept).words
    lines = 0
    while (line := fs.status(study).next) and lines < 5:
        lines += 1
        assert main(shlex.split(line)[1:]) == 0, line
    assert line == ""


def test_the_report_says_itself_what_it_was_made_from(study: str, corpus: made.Corpus) -> None:
    labelled(study, corpus)
    page = Path(study) / "report.html"
    page.touch()  # its time is no matter
    assert states(study)["report", "main"] == ("done", ())
    page.write_text(page.read_text().replace("faultscape-made-from", "other"))
    assert states(study)["report", "main"][0] == "stale"
    assert REPORT.line(Study(Path(study)), "main").startswith("faultscape report")
