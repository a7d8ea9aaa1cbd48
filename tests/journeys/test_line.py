"""The line as a user types it equals the Python verbs, and both do what they say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.cli import GROUPS, VERBS, main
from refusals import refused_line


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=14, models=3)


@pytest.mark.slow
def test_the_command_line_equals_the_python_verbs(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed, called = tmp_path / "typed", tmp_path / "called"
    models = [f"{name}={path}" for name, path in corpus.models.items()]
    lines = [
        ["collect", typed, corpus.photos, "--classes", corpus.classes, "--shard-size", "5"],
        ["predict", typed, *models, "--engine", "local"],
        ["compare", typed, "--engine", "local"],
        ["scale", corpus.truth, "--classes", corpus.classes, "-o", tmp_path / "scale.json"],
        ["select", typed, "--scale", tmp_path / "scale.json", "--per-class", "2"],
        ["select", typed, "--as", "plain", "--constraints", "none", "--concordance", "fwiou"],
        ["label", "export", typed, tmp_path / "out", "--format", "png"],
        ["label", "import", typed, corpus.truth],
        ["rank", typed, "--resamples", "60", "--against", "plain", "--engine", "local"],
    ]
    for line in lines:
        assert main([str(word) for word in line]) == 0, line
    assert " images to label\n" in capsys.readouterr().out
    study = str(called)
    fs.collect(
        study, str(corpus.photos), classes=str(corpus.classes), storage=fs.options.Storage(shard_size=5)
    )
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    fs.scale(str(corpus.truth), classes=str(corpus.classes), output=str(tmp_path / "scale2.json"))
    fs.select(study, maps=fs.options.MapRules(scale=str(tmp_path / "scale2.json")), per_class=2)
    fs.select(study, as_="plain", maps=fs.options.MapRules(constraints="none", concordance="fwiou"))
    fs.label.import_(study, str(corpus.truth))
    fs.rank(study, resamples=60, against=["plain"], engine="local")
    covered = (
        "predictions",
        "pairs",
        "truth",
        "selection*",
        "standings.json",
        "failures.csv",
        "corpus.parquet",
    )
    assert made.bytes_under(typed, *covered) == made.bytes_under(called, *covered)
    assert (tmp_path / "scale.json").read_bytes() == (tmp_path / "scale2.json").read_bytes()


def test_the_files_line_equals_arrays_in_memory(corpus: made.Corpus, tmp_path: Path) -> None:
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    scale = fs.scale(str(corpus.truth), classes=str(corpus.classes), output=str(tmp_path / "scale.json"))
    stored = fs.select(
        study,
        maps=fs.options.MapRules(scale=str(tmp_path / "scale.json")),
        sampling=fs.options.Sampling(keep_duplicates=True),
    )
    fs.label.import_(study, str(corpus.truth))
    standings = fs.rank(study, resamples=40, engine="local")

    order = np.argsort(corpus.ids)
    ids = [corpus.ids[k] for k in order]
    maps = {name: stack[order] for name, stack in corpus.maps.items()}
    classes = fs.classes.resolve(str(corpus.classes))
    pairs = fs.comparison.count(maps, classes=classes, images=ids)
    slots = fs.selection.duels(
        pairs, "miou", per_class=1, scale=fs.selection.scale(corpus.truths[order], classes=classes)
    )
    assert slots.rows == stored.rows
    assert scale.t_max == fs.selection.scale(corpus.truths, classes=classes).t_max
    table = fs.ranking.standings(
        slots,
        fs.comparison.count(maps, classes=classes, truth=corpus.truths[order], images=ids),
        resamples=40,
    )
    for name, ranking in table.rankings.items():
        assert ranking.scores == pytest.approx(standings.rankings[name].scores, abs=1e-9)


@pytest.mark.slow
def test_run_goes_up_to_the_labels_and_later_on_from_them(corpus: made.Corpus, tmp_path: Path) -> None:
    study = tmp_path / "study"
    models = [f"{name}={path}" for name, path in corpus.models.items()]
    ran = fs.run(
        str(study),
        str(corpus.photos),
        *models[:2],
        classes=str(corpus.classes),
        goal="failures",
        engine="local",
    )
    assert ran.status.next == f"faultscape label export {study} to-label/ --format png"
    assert repr(ran.status).endswith(
        f"\nnext: {ran.status.next}  # about 4 hours of labelling\nor:   faultscape label serve {study}"
    )
    assert not (study / "standings.json").exists()
    fs.label.import_(str(study), str(corpus.truth))
    assert fs.run(str(study), engine="local").status.next == ""
    assert (study / "report.html").exists()
    # one more NAME=SOURCE on the same line
    ran = fs.run(str(study), str(corpus.photos), *models, engine="local")
    assert len(json.loads((study / "standings.json").read_text())["models"]) == 3
    assert ran.status.next == ""


def test_status_names_the_next_line_at_every_stage(corpus: made.Corpus, tmp_path: Path) -> None:
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    assert fs.status(study).next.startswith("faultscape predict")
    fs.predict(study, corpus.models, engine="local")
    assert fs.status(study).next == f"faultscape compare {study}"
    fs.compare(study, engine="local")
    assert fs.status(study).next == f"faultscape select {study}"
    fs.select(study)
    assert fs.status(study).next.startswith("faultscape label export")
    fs.label.import_(study, str(corpus.truth))
    assert fs.status(study).next == f"faultscape rank {study}"
    fs.rank(study, resamples=20, engine="local")
    assert fs.status(study).next == f"faultscape report {study}"
    fs.label.import_(study, str(corpus.truth), truth="labels")
    toml = Path(study) / "study.toml"
    toml.write_text(toml.read_text().replace('size = "own"', 'size = "24x24"'))
    states = {stage: state for stage, state, _ in fs.status(study).stages}
    assert states["compare"] == "stale"
    assert states["select"] == "stale"


def test_show_prints_every_file_of_a_study(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study"
    fs.collect(str(study), str(corpus.photos), classes=str(corpus.classes))
    fs.predict(str(study), corpus.models, engine="local")
    fs.compare(str(study), engine="local")
    fs.select(str(study))
    fs.label.import_(str(study), str(corpus.truth))
    fs.rank(str(study), resamples=20, engine="local")
    for path in [p for p in study.rglob("*") if p.is_file() and not p.name.startswith(".")]:
        assert main(["show", str(path), "--rows", "3"]) == 0, path
    out = capsys.readouterr().out
    assert "aggressiveness" in out
    assert "part0/photo 000" in out
    refused_line("show", str(study / "none"))


def test_labels_go_out_and_come_back_in_both_formats_and_later_ones_replace(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    slots = fs.select(study)
    from faultscape.maps import runs
    from faultscape.study.tables import label_maps

    for form in ("png", "labelme"):
        out = tmp_path / form
        # under which nobody labelled
        exported = fs.label.export(study, str(out), format=form, prefill="model-1", truth="labels")
        assert exported.images == len(slots.images)
        back = fs.label.import_(study, str(out), truth=form)
        assert back.new == len(slots.images)
        held = {
            k: v
            for s in range(1)
            for k, v in label_maps.read_maps(label_maps.truth(Path(study), form), s).items()
        }
        for k, id_ in enumerate(corpus.ids):
            if id_ in held:
                assert (runs.decode(held[id_]) == corpus.maps["model-1"][k]).all()
        assert fs.label.import_(study, str(out), truth=form).unchanged == len(slots.images)
    again = fs.label.export(study, str(tmp_path / "again"), truth="png")
    assert again.images == 0  # nobody is asked twice
    assert repr(again).startswith("no images to label; nothing was written")
    assert not (tmp_path / "again").exists()
    empty = tmp_path / "empty"
    said = repr(fs.label.export(study, str(empty), truth="labels"))
    assert said.endswith(f"\n  faultscape label import {study} {empty}")
    assert not list(empty.rglob("labels/*"))  # a model's map would bias whoever labels


def test_a_discard_promotes_the_next_spare_and_labels_outside_lie_aside(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    slots = fs.select(study)
    gone = slots.images[0]
    (corpus.truth / "discard.csv").write_text(f'image,reason\n"{gone}",unnatural\n')
    try:
        assert fs.label.import_(study, str(corpus.truth)).discarded == 1
    finally:
        (corpus.truth / "discard.csv").unlink()
    standings = fs.rank(study, resamples=20, engine="local")
    assert standings.labels["discarded"] == 1
    assert standings.labels["missing"] == 0
    (told,) = [note for note in standings.notes if "discarded" in note]
    assert told.startswith("1 chosen image is discarded, and ")
    assert "move" in told
    everything = fs.rank(study, resamples=20, all_labels=True, engine="local")
    assert everything.labels["used"] == len(corpus.ids) - 1
    assert everything.labels["used"] >= standings.labels["used"]
    assert everything.rankings["aggressiveness"].scores == pytest.approx(
        standings.rankings["aggressiveness"].scores
    )


def test_a_benchmark_file_is_set_beside(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(tmp_path / "study")
    fs.run(
        study, str(corpus.photos), corpus.models, classes=str(corpus.classes), goal="failures", engine="local"
    )
    fs.label.import_(study, str(corpus.truth))
    (tmp_path / "closed.csv").write_text("model,score\nmodel-0,.5\nmodel-1,.7\nmodel-2,.9\n")
    standings = fs.rank(study, benchmark=str(tmp_path / "closed.csv"), resamples=30, engine="local")
    assert standings.benchmark.rank == {"model-0": 3, "model-1": 2, "model-2": 1}
    for ranking, change in standings.benchmark.rank_change.items():
        place = {m: k for k, m in enumerate(standings.rankings[ranking].order, 1)}
        assert change == {m: standings.benchmark.rank[m] - place[m] for m in standings.models}
    (tmp_path / "closed.csv").write_text("model-0,.5\n")
    capsys.readouterr()
    assert "has no scores for 'model-1'" in refused_line(
        "rank", study, "--benchmark", str(tmp_path / "closed.csv")
    )


def test_help_is_quick_and_names_every_verb_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(verb in out for verb in VERBS)
    assert main(["select", "--help"]) == 0
    out = capsys.readouterr().out
    for option in (
        "--as",
        "--concordance",
        "--per-class",
        "--constraints",
        "--scale",
        "--spares",
        "--keep-duplicates",
    ):
        assert re.search(rf"{option}\b", out), option
    words = (
        "import sys, faultscape.cli as c; c.build(); print([m for m in"
        " ('numpy','numba','cv2','pyarrow','torch','scipy') if m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", words], check=True, capture_output=True, text=True
        ).stdout.strip()
        == "[]"
    )


@pytest.mark.parametrize(
    "words",
    [*([v] for v in VERBS if v not in GROUPS), *([v, name] for v in GROUPS for name in GROUPS[v])],
    ids=" ".join,
)
def test_help_says_no_default_of_a_flag_that_is_off(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--help"]) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "default: False" not in out
    assert "default: None" not in out
    assert ("[default: processes]" in out) == ("--engine" in out)
