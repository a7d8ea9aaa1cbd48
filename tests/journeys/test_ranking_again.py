"""Rank through a study: what makes standings stale, which truth counts, and what standings.json holds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made

ALWAYS = {"models", "labels", "matrices", "rankings", "stability", "definitions", "provenance"}
ALLOWED = {"notes", "details", "failing"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=12, models=3)


@pytest.fixture(scope="module")
def drawn(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a selection and no labels, to be copied."""
    study = tmp_path_factory.mktemp("drawn") / "study"
    made.compared_study(corpus, study, shard_size=5)
    fs.select(str(study), maps=fs.options.MapRules(constraints="class"))
    return study


@pytest.fixture
def study(drawn: Path, tmp_path: Path) -> Path:
    return shutil.copytree(drawn, tmp_path / "study")


def rank(study: Path, **options: Any) -> dict[str, Any]:
    """Rank, and return standings.json."""
    fs.rank(str(study), **{"resamples": 20, "engine": "local"} | options)
    return json.loads((study / "standings.json").read_text())


def state_of_rank(study: Path) -> str:
    (state,) = {state for stage, state, _ in fs.status(str(study)).stages if stage == "rank"}
    return state


def labels(folder: Path, corpus: made.Corpus, ids: tuple[str, ...], *, wrong: bool = False) -> str:
    """A folder of masks of some images; wrong ones are of a single class."""
    for id_ in ids:
        truth = corpus.truths[corpus.ids.index(id_)]
        made.write(folder / f"{id_}.png", np.full_like(truth, 4) if wrong else truth)
    return str(folder)


@pytest.mark.slow
def test_labels_that_come_later_are_ranked_by_and_what_is_discarded_is_not(
    corpus: made.Corpus, study: Path, tmp_path: Path
) -> None:
    images = fs.label.export(str(study), str(tmp_path / "out")).images
    chosen = tuple(
        p.relative_to(tmp_path / "out" / "images").with_suffix("").as_posix()
        for p in (tmp_path / "out").rglob("*.png")
    )
    assert len(chosen) == images > 3
    assert state_of_rank(study) == "missing"
    fs.label.import_(str(study), labels(tmp_path / "few", corpus, chosen[:2]))
    before = rank(study)
    assert state_of_rank(study) == "done"

    fs.label.import_(str(study), labels(tmp_path / "more", corpus, chosen[2:]))
    assert state_of_rank(study) == "stale"
    assert fs.status(str(study)).next == f"faultscape rank {study} --resamples 20"  # as it was made before
    after = rank(study)
    assert (before["labels"]["used"], after["labels"]["used"]) == (2, images)
    assert after["rankings"]["reuse_mean"]["scores"] != before["rankings"]["reuse_mean"]["scores"]
    (tmp_path / "thrown").mkdir()
    (tmp_path / "thrown" / "discard.csv").write_text(f'image,reason\n"{chosen[1]}",blurred\n')
    fs.label.import_(str(study), str(tmp_path / "thrown"))
    assert rank(study)["labels"]["discarded"] == 1


def test_another_epsilon_gives_other_matrices_and_the_same_means(corpus: made.Corpus, study: Path) -> None:
    fs.label.import_(str(study), str(corpus.truth))
    plain, damped = rank(study), rank(study, epsilon=0.5)
    assert (plain["provenance"]["epsilon"], damped["provenance"]["epsilon"]) == (0.01, 0.5)
    assert (plain["definitions"]["epsilon"], damped["definitions"]["epsilon"]) == (0.01, 0.5)
    for name in ("aggressiveness", "resistance"):
        off = ~np.eye(3, dtype=bool)
        near, far = (np.abs(np.log(np.array(s["matrices"][name], float)[off])).max() for s in (damped, plain))
        assert near < far  # a larger epsilon draws every ratio to 1
        assert damped["rankings"][name]["scores"] != plain["rankings"][name]["scores"]
    assert damped["rankings"]["reuse_mean"] == plain["rankings"]["reuse_mean"]


@pytest.mark.slow
def test_run_ranks_with_the_truth_that_was_named(corpus: made.Corpus, study: Path, tmp_path: Path) -> None:
    fs.label.import_(str(study), labels(tmp_path / "wrong", corpus, corpus.ids, wrong=True), truth="second")
    fs.run(str(study), engine="local")
    # the only one
    assert json.loads((study / "standings.json").read_text())["provenance"]["truth"] == "second"
    said = {}
    for truth in ("second", "labels", "second"):
        if truth == "labels":
            fs.label.import_(str(study), str(corpus.truth))
        fs.run(str(study), truth=truth, engine="local")
        said[truth] = json.loads((study / "standings.json").read_text())
        assert said[truth]["provenance"]["truth"] == truth
        assert (
            said[truth]["rankings"]["reuse_mean"]["scores"]
            == rank(study, truth=truth)["rankings"]["reuse_mean"]["scores"]
        )
    assert (
        said["labels"]["rankings"]["reuse_mean"]["scores"]
        != said["second"]["rankings"]["reuse_mean"]["scores"]
    )


def test_parent_groups_of_classes_have_standings_of_their_own(corpus: made.Corpus, study: Path) -> None:
    fs.label.import_(str(study), str(corpus.truth))
    said = rank(study)
    assert set(said["parents"]) == {"ground", "things"}
    pairs = fs.comparison.count(
        corpus.maps, classes=str(corpus.classes), truth=corpus.truths, images=corpus.ids
    )
    slots = fs.select(str(study))
    want = fs.ranking.standings(slots, pairs, resamples=0).parents
    for group, part in said["parents"].items():
        for matrix, values in part["matrices"].items():
            got, expected = np.array(values, float), np.array(want[group].matrices[matrix], float)
            assert np.allclose(got, expected, equal_nan=True, atol=1e-9), (group, matrix)
        assert set(part["rankings"]) == set(said["rankings"])
    assert said["parents"]["ground"]["matrices"] != said["parents"]["things"]["matrices"] != said["matrices"]


def keys(said: dict[str, Any]) -> set[str]:
    return set(said) - ALLOWED


def test_standings_hold_exactly_their_keys(corpus: made.Corpus, study: Path) -> None:
    fs.label.import_(str(study), str(corpus.truth))
    said = rank(study)
    assert keys(said) == ALWAYS | {"parents"}
    assert said["models"] == list(corpus.models)
    assert set(said["labels"]) == {"used", "slots", "discarded", "missing"}
    assert set(said["matrices"]) == {"aggressiveness", "resistance"}
    assert all(np.array(matrix, float).shape == (3, 3) for matrix in said["matrices"].values())
    # the nearest first
    assert list(said["rankings"]) == ["reuse_bradley_terry", "aggressiveness", "resistance", "reuse_mean"]
    intervals = ("score_interval", "rank_interval", "simultaneous_rank_interval")
    for name, ranking in said["rankings"].items():
        more = {"sandwich_error"} if name == "reuse_bradley_terry" else set()
        assert set(ranking) == {
            "scores",
            "order",
            *intervals,
            "tied_for_best",
            "best_set",
            "gaps",
            "speaks_of",
            *more,
        }
        assert set(ranking["order"]) == set(ranking["scores"]) == set(corpus.models)
        assert {len(pair) for field in intervals for pair in ranking[field].values()} == {2}
    assert all({"matrices", "rankings"} <= set(part) for part in said["parents"].values())


def test_standings_hold_against_and_benchmark_only_when_asked(
    corpus: made.Corpus, study: Path, tmp_path: Path
) -> None:
    fs.label.import_(str(study), str(corpus.truth))
    fs.select(str(study), as_="other", maps=fs.options.MapRules(concordance="fwiou"))
    (tmp_path / "closed.csv").write_text("model,score\nmodel-0,.9\nmodel-1,.7\nmodel-2,.5\n")
    said = rank(study, against=["other"])
    assert keys(said) == ALWAYS | {"parents", "against"}
    assert set(said["against"]) == {"other"}
    assert {"spearman", "kendall", "image_overlap"} <= set(said["against"]["other"])
    said = rank(study, benchmark=str(tmp_path / "closed.csv"))
    assert keys(said) == ALWAYS | {"parents", "benchmark"}
    assert set(said["benchmark"]) == {"scores", "rank", "rank_change", "spearman"}
    assert all(len(numbers) == 3 for numbers in said["benchmark"]["spearman"].values())
    assert keys(rank(study)) == ALWAYS | {"parents"}


def test_standings_hold_parents_only_where_the_classes_have_some(corpus: made.Corpus, tmp_path: Path) -> None:
    study = tmp_path / "study"
    (tmp_path / "classes.json").write_text(json.dumps({"classes": list(made.NAMES)}))
    fs.collect(str(study), str(corpus.photos), classes=str(tmp_path / "classes.json"))
    fs.predict(str(study), corpus.models, engine="local")
    fs.compare(str(study), engine="local")
    fs.select(str(study))
    fs.label.import_(str(study), str(corpus.truth))
    assert keys(rank(study)) == ALWAYS
