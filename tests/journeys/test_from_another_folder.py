"""What is named with a relative path means the same from any folder, and what is read from outside the study
makes things stale when it changes.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import faultscape as fs
import made

OWN = '''
import numpy as np
from faultscape.selection import Selector


def share(both, rows, columns, *, over):
    return both.sum(-1) / rows.sum(-1)


def worst_case(scores, weights):
    """What a model is worth on its worst image."""
    return np.where(weights[:, None] > 0, scores, np.inf).min(-1)


def weigh(facts, options):
    return facts["discrepancy"].max(0) ** 2


WORST_PAIR = Selector(name="worst-pair", title="worst pair", purpose="p", source="ours", needs=("discrepancy",), weigh=weigh)
'''


@pytest.fixture
def labelled(corpus: made.Corpus, study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A study with labels, and the current folder one that holds files of a person's own; the next folder is
    empty.
    """
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    fs.label.import_(study, str(corpus.truth))
    (tmp_path / "mine").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mine" / "own.py").write_text(OWN)
    (tmp_path / "mine" / "closed.csv").write_text(
        "".join(f"{name},{k}\n" for k, name in enumerate(corpus.models))
    )
    monkeypatch.chdir(tmp_path / "mine")
    return study


@pytest.mark.slow
def test_files_of_ones_own_named_in_one_folder_serve_in_another(
    labelled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.select(labelled, maps=fs.options.MapRules(concordance="own.py:share"), engine="local")
    fs.select(labelled, selector="own.py:WORST_PAIR", budget=3, engine="local")
    fs.rank(labelled, ranking=["own.py:worst_case"], benchmark="closed.csv", resamples=20, engine="local")
    fs.rank(labelled, selection="worst-pair", resamples=20, engine="local")
    here = [stage for stage in fs.status(labelled).stages if stage[0] in ("select", "rank")]
    assert {state for _, state, _ in here} == {"done"}
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert [stage for stage in fs.status(labelled).stages if stage[0] in ("select", "rank")] == here
    fs.select(
        labelled, maps=fs.options.MapRules(concordance="../mine/own.py:share"), per_class=2, engine="local"
    )
    fs.select(labelled, as_="worst-pair", more=2, engine="local")
    fs.run(labelled, engine="local")
    assert {state for stage, state, _ in fs.status(labelled).stages if stage == "rank"} == {"done"}
    held = json.loads((Path(labelled) / "standings.json").read_text())
    assert held["provenance"]["benchmark"]
    assert "worst_case" in held["rankings"]


@pytest.mark.slow
def test_standings_follow_from_the_benchmark_file(labelled: str, corpus: made.Corpus, tmp_path: Path) -> None:
    fs.select(labelled, engine="local")
    fs.rank(labelled, benchmark="closed.csv", resamples=20, engine="local")
    assert made.states(labelled)["rank"] == "done"
    closed = tmp_path / "mine" / "closed.csv"
    closed.write_text("".join(f"{name},{-k}\n" for k, name in enumerate(corpus.models)))
    (stage,) = [stage for stage in fs.status(labelled).stages if stage[0] == "rank"]
    assert stage[1] == "stale"
    assert "the file of the benchmark changed" in stage[2]
    fs.run(labelled, engine="local")
    held = json.loads((Path(labelled) / "standings.json").read_text())
    assert held["provenance"]["benchmark"] == {name: -k for k, name in enumerate(corpus.models)}
    assert made.states(labelled)["rank"] == "done"


@pytest.mark.slow
def test_a_report_follows_from_its_folder_of_reference_images(
    labelled: str, corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.select(labelled, engine="local")
    fs.rank(labelled, resamples=20, engine="local")
    shutil.copytree(corpus.photos, tmp_path / "mine" / "known" / "images")
    shutil.copytree(corpus.truth, tmp_path / "mine" / "known" / "labels")
    fs.report(labelled, reference_images="known")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert made.states(labelled)["report"] == "done"
    next((tmp_path / "mine" / "known" / "labels").rglob("*.png")).unlink()
    assert made.states(labelled)["report"] == "stale"
    fs.run(labelled, engine="local")
    assert made.states(labelled)["report"] == "done"
    shutil.rmtree(tmp_path / "mine" / "known")
    assert made.states(labelled)["report"] == "stale"
