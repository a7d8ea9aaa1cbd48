"""Models are renamed and removed: the study is then what it would be had they always been called so, or never
been there, and nothing is counted again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import loopback
import made
from faultscape.cli import main
from faultscape.errors import FaultscapeError, ModelError, SelectionError, StudyError
from faultscape.study.settings import read_settings
from faultscape.study.tables.logs import read_failures
from faultscape.verbs.verb import group_options
from refusals import refused, refused_line

COVERED = ("predictions", "pairs", "measures/statistics", "selection*", "failures.csv")
TIMES = ("log.jsonl", "timings.parquet", ".stamps.json")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    """Six images, three models; model-1 lacks a map."""
    corpus = made.corpus(tmp_path_factory.mktemp("corpus"), images=6, models=3)
    (corpus.models["model-1"] / f"{corpus.ids[1]}.png").unlink()
    return corpus


def whole(
    root: Path, corpus: made.Corpus, names: dict[str, str], cells: str = "full", **options: str
) -> Path:
    """A whole competition with models {name: model of the corpus}, up to measures and standings."""
    study = str(root)
    fs.collect(
        study,
        corpus.photos,
        classes=corpus.classes,
        **group_options(fs.collect, {"shard_size": 4, **options}),
    )
    toml = root / "study.toml"
    toml.write_text(toml.read_text().replace('cells = "full"', f'cells = "{cells}"'))
    fs.label.import_(study, str(corpus.truth))
    fs.predict(study, {name: corpus.models[source] for name, source in names.items()}, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, engine="local")
    fs.measure(study, engine="local", resamples=20, worst=1)
    fs.rank(study, resamples=20, engine="local")
    return root


@pytest.fixture(scope="module")
def first(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole study of three models, to be copied."""
    return whole(tmp_path_factory.mktemp("first") / "study", corpus, {name: name for name in corpus.models})


@pytest.fixture
def study(first: Path, tmp_path: Path) -> str:
    return str(shutil.copytree(first, tmp_path / "study"))


def digests(root: Path) -> dict[str, bytes]:
    """Every file of a study but times, locks and the log."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.startswith(".lock")]
    return {str(path.relative_to(root)): path.read_bytes() for path in files if path.name not in TIMES}


@pytest.mark.slow
def test_a_renamed_model_has_always_been_called_so(corpus: made.Corpus, study: str, tmp_path: Path) -> None:
    other = whole(tmp_path / "other", corpus, {"model-0": "model-0", "new": "model-1", "model-2": "model-2"})
    labels = made.bytes_under(Path(study), "truth")
    told = fs.predict(study, rename={"model-1": "new"})
    assert "model-1 is now called new" in repr(told)
    assert list(read_settings(Path(study)).models) == ["model-0", "new", "model-2"]
    assert made.bytes_under(Path(study), *COVERED) == made.bytes_under(other, *COVERED)
    assert {f.name for f in read_failures(Path(study))} == {"new"}
    assert made.bytes_under(Path(study), "truth") == labels
    assert not list(Path(study).rglob("*model-1*"))
    assert made.states(study)["rank"] == "stale"
    assert fs.compare(study, engine="local").parts_made == 0
    fs.rank(study, resamples=20, engine="local")
    assert (Path(study) / "standings.json").read_bytes() == (other / "standings.json").read_bytes()
    # of measures, one table
    assert {state for stage, state in made.states(study).items() if stage != "report"} == {"done", "stale"}
    fs.measure(study, engine="local", resamples=20, worst=1)
    assert made.bytes_under(Path(study), "measures/statistics") == made.bytes_under(
        other, "measures/statistics"
    )
    assert fs.select(study, per_class=2, engine="local").models == ("model-0", "new", "model-2")


def test_a_renamed_models_maps_are_not_made_again(
    corpus: made.Corpus, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.predict(study, rename={"model-1": "new"})
    before = digests(Path(study))
    fs.predict(study, {"new": corpus.models["model-1"]}, engine="local")
    assert digests(Path(study)) == before
    assert "anew" not in capsys.readouterr().out
    import pyarrow.parquet as pq

    names = pq.read_table(Path(study) / "timings.parquet")["name"].to_pylist()
    assert names.count("new") == names.count("model-0") == 2
    assert "model-1" not in names


@pytest.mark.slow
@pytest.mark.parametrize("cells", ["full", "diagonal"])
@pytest.mark.parametrize("gone", ["model-0", "model-1"])
def test_a_removed_model_has_never_been_there(
    corpus: made.Corpus, tmp_path: Path, cells: str, gone: str
) -> None:
    names = {name: name for name in corpus.models}
    study = whole(tmp_path / "study", corpus, names, cells)
    selection = made.bytes_under(study, "selection*", "truth")
    other = whole(tmp_path / "other", corpus, {name: name for name in names if name != gone}, cells)
    fs.predict(str(study), remove=[gone])
    for room in ("predictions", "pairs", "measures/statistics", "failures.csv"):
        assert made.bytes_under(study, room) == made.bytes_under(other, room) != {}, room
    assert made.bytes_under(study, "selection*", "truth") == selection
    assert fs.compare(str(study), engine="local").parts_made == 0
    with refused(SelectionError, rf"drawn with {gone!r}, which is no longer in the study; .*--as NAME"):
        fs.select(str(study))
    fs.select(str(study), as_="two", engine="local")
    assert (study / "selection-two.csv").read_bytes() == (other / "selection.csv").read_bytes()


@pytest.mark.slow
def test_a_model_may_be_renamed_another_removed_and_a_third_added_in_one_line(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    other = whole(tmp_path / "other", corpus, {"new": "model-1", "model-2": "model-2", "more": "model-0"})
    source = f"more={corpus.models['model-0']}"
    assert (
        main(
            ["predict", study, source, "--rename", "model-1=new", "--remove", "model-0", "--engine", "local"]
        )
        == 0
    )
    assert main(["compare", study, "--engine", "local"]) == 0
    for room in ("predictions", "pairs"):
        assert made.bytes_under(Path(study), room) == made.bytes_under(other, room), room
    assert not (Path(study) / ".change.json").exists()


def test_what_was_stale_stays_stale_under_another_name(corpus: made.Corpus, study: str) -> None:
    fs.predict(study, {"model-0": corpus.models["model-2"]}, engine="local")
    fs.predict(study, rename={"model-0": "a", "model-1": "b"})
    now = made.states(study)
    assert (now["compare"], now["select"]) == ("stale", "stale")
    # of two shards: a, a with its truth, and both models that count against a
    assert fs.compare(study, engine="local").parts_made == 8


class Killed(BaseException):
    """What stands for a kill: nothing catches it."""


def kill_after(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """Let the process die at its (steps + 1)th change of the disk."""
    left = [steps]

    def dying(act: Callable[..., object]) -> Callable[..., object]:
        def maybe(*args: object, **options: object) -> object:
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return act(*args, **options)

        return maybe

    for owner, name in (
        (Path, "replace"),
        (Path, "rename"),
        (Path, "unlink"),
        (shutil, "rmtree"),
        (os, "fsync"),
    ):
        monkeypatch.setattr(owner, name, dying(getattr(owner, name)))


@pytest.mark.slow
def test_a_change_killed_at_any_step_is_finished_by_the_same_line_and_nobody_writes_before(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"rename": {"model-2": "new"}, "remove": ["model-0"]}
    done = str(shutil.copytree(first, tmp_path / "done"))
    fs.predict(done, **group_options(fs.predict, options))
    want, blocked = digests(Path(done)), 0
    for steps in range(200):
        study = str(shutil.copytree(first, tmp_path / f"study-{steps}"))
        with monkeypatch.context() as patch:
            kill_after(patch, steps)
            try:
                fs.predict(study, **group_options(fs.predict, options))
            except Killed:
                pass
            else:
                break
        unfinished = fs.status(study).next.startswith(f"faultscape predict {study} --rename")
        if unfinished:
            blocked += 1
            with refused(
                StudyError,
                r"was interrupted .*finish it first: faultscape predict .*--rename model-2=new --remove"
                r" model-0",
            ):
                fs.compare(study, engine="local")
            with refused(StudyError, "finish it first"):
                fs.predict(study, remove=["model-1"])
        fs.predict(study, **group_options(fs.predict, options))
        assert digests(Path(study)) == want, steps
        assert fs.compare(study, engine="local").parts_made == 0, steps
    assert 10 < blocked <= steps < 199


def test_a_line_that_failed_after_its_change_may_be_run_again(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    made.write(tmp_path / "bad" / "other.png", np.zeros((36, 48), np.uint8))
    with refused(FaultscapeError):
        fs.predict(study, {"model-1": tmp_path / "bad"}, rename={"model-1": "old"}, engine="local")
    for id_ in corpus.ids:
        made.write(tmp_path / "bad" / f"{id_}.png", np.zeros((36, 48), np.uint8))
    fs.predict(study, {"model-1": tmp_path / "bad"}, rename={"model-1": "old"}, engine="local")
    assert list(read_settings(Path(study)).models) == ["model-0", "old", "model-2", "model-1"]
    with refused(ModelError, "has a model 'old' already"):
        fs.predict(study, rename={"model-1": "old"})


def test_the_failures_of_a_model_that_was_never_taken_in_are_cleared_by_its_name(
    corpus: made.Corpus, study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other" / corpus.ids[0]).parent.mkdir(parents=True)
    Image.new("L", (3, 5)).save(tmp_path / "other" / f"{corpus.ids[0]}.png")
    before = read_failures(Path(study))
    refused_line("predict", study, f"bad={tmp_path / 'other'}")
    rows = len(read_failures(Path(study))) - len(before)
    assert rows
    capsys.readouterr()
    fs.predict(study, remove=["bad"])
    assert (
        f"bad: the study has no such model; {rows} row{'s' * (rows > 1)} of it {'were' if rows > 1 else 'was'}"
        " removed from failures.csv" in capsys.readouterr().out
    )
    assert read_failures(Path(study)) == before
    assert sorted(read_settings(Path(study)).models) == ["model-0", "model-1", "model-2"]
    with refused(ModelError, "the study has no model 'bad'"):
        fs.predict(study, remove="bad", rename={"model-0": "x"})


def test_a_name_that_a_selection_or_left_files_know_as_another_model_is_not_given(study: str) -> None:
    fs.predict(study, remove=["model-0"])
    with refused(ModelError, "selection 'main' was drawn with another 'model-0'"):
        fs.predict(study, rename={"model-1": "model-0"})
    toml = Path(study) / "study.toml"
    toml.write_text(toml.read_text().split("[models.model-2]")[0])
    with refused(ModelError, "files of an earlier model 'model-2'"):
        fs.predict(study, rename={"model-1": "model-2"})
    fs.predict(study, remove=["model-2"])
    assert not list(Path(study).glob("*/model-2"))


def test_comments_in_study_toml_stay_with_their_models(study: str) -> None:
    toml = Path(study) / "study.toml"
    toml.write_text(toml.read_text().replace("[models.model-1]\n", "[models.model-1]\n# the good one\n"))
    fs.predict(study, rename={"model-1": "b"}, remove=["model-0"])
    assert "[models.b]\n# the good one\n" in toml.read_text()


@pytest.mark.slow
def test_models_of_a_store_are_renamed_and_removed_there(
    corpus: made.Corpus, study: str, bucket: loopback.Bucket, tmp_path: Path
) -> None:
    far = whole(tmp_path / "far", corpus, {name: name for name in corpus.models}, store=f"{bucket.uri}/far")
    options = {"rename": {"model-2": "new"}, "remove": ["model-0"]}
    bucket.server.refusing = lambda method, path: (
        "403 Forbidden" if method == "PUT" and "pairs/new/00001" in path else None
    )
    with refused(StudyError, "rejected these credentials"):
        fs.predict(str(far), **group_options(fs.predict, options))
    bucket.server.refusing = None
    with refused(StudyError, "finish it first"):
        fs.compare(str(far), engine="local")
    for at in (far, Path(study)):
        fs.predict(str(at), **group_options(fs.predict, options))
        assert fs.compare(str(at), engine="local").parts_made == 0
    here = made.bytes_under(Path(study), "predictions", "pairs", "truth", "measures/statistics")
    assert {
        name: data for name, data in bucket.objects("far/").items() if data and not name.startswith(".")
    } == here
    assert made.bytes_under(far, "selection*") == made.bytes_under(Path(study), "selection*")
