"""Counts that a study holds are those of the maps in memory: in any order of models, and without a truth's
void pixels.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.comparison.concordance import accuracies, concordances
from faultscape.nouns import Pairs
from faultscape.reading.pairs import read_block
from faultscape.reading.study import Study
from faultscape.study.tables.corpus import read_corpus

METRICS = ("miou", "fwiou", "mpa", "pixel_accuracy", "dice")
VOID = 255


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    """Five images, three models; model-1 has no map of the second image, and every model calls some pixels
    void.
    """
    corpus = made.corpus(tmp_path_factory.mktemp("corpus"), images=5, models=3)
    for m, (name, stack) in enumerate(corpus.maps.items()):
        stack[:, 2 + m : 5 + m, 3:9] = VOID
        for id_, label_map in zip(corpus.ids, stack, strict=True):
            made.write(corpus.models[name] / f"{id_}.png", label_map)
    (corpus.models["model-1"] / f"{corpus.ids[1]}.png").unlink()
    return corpus


def in_memory(corpus: made.Corpus, models: tuple[str, ...], ids: list[str]) -> Pairs:
    places = [corpus.ids.index(id_) for id_ in ids]
    missing = {("model-1", 1)}
    maps = {name: [None if (name, k) in missing else corpus.maps[name][k] for k in places] for name in models}
    return fs.comparison.count(maps, classes=str(corpus.classes), images=ids)


@pytest.mark.parametrize("cells", ["full", "diagonal"])
def test_a_block_is_that_of_the_maps_in_whatever_order_models_are_named(
    corpus: made.Corpus, tmp_path: Path, cells: str
) -> None:
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    toml = tmp_path / "study" / "study.toml"
    toml.write_text(toml.read_text().replace('cells = "full"', f'cells = "{cells}"'))
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    rows = read_corpus(Path(study))
    named = list(corpus.models)
    for order in (*itertools.permutations(named, 3), *itertools.permutations(named, 2)):
        got, want = (
            read_block(Study(Path(study)), rows, order),
            in_memory(corpus, order, [row.id for row in rows]),
        )
        for part in ("both", "rows", "columns", "totals", "present"):
            assert (getattr(got, part) == getattr(want, part)).all(), (order, part)
        for metric in METRICS:
            assert np.array_equal(concordances(got, metric), concordances(want, metric), equal_nan=True), (
                order,
                metric,
            )
    whole = concordances(in_memory(corpus, tuple(named), list(corpus.ids)), "mpa")
    assert not np.allclose(whole[0, 2], whole[2, 0])  # what is transposed is seen


def blanked(corpus: made.Corpus) -> np.ndarray:
    """The truths with a different part of each left void."""
    truths = corpus.truths.copy()
    for k, truth in enumerate(truths):
        truth[4 + k : 24, 6 : 20 + 4 * k] = VOID
    return truths


def without_void(corpus: made.Corpus, truths: np.ndarray, metric: str) -> np.ndarray:
    """(J, I) concordances with the truth of maps from which the truth's void pixels are cut out
    beforehand.
    """
    columns = []
    for k, truth in enumerate(truths):
        seen = truth != VOID
        maps = {
            name: stack[k][seen][None, None]
            for name, stack in corpus.maps.items()
            if (name, k) != ("model-1", 1)
        }
        pairs = fs.comparison.count(maps, classes=str(corpus.classes), truth=truth[seen][None, None])
        column = dict(zip(pairs.models, accuracies(pairs, metric)[:, 0], strict=True))
        columns.append([column.get(name, np.nan) for name in corpus.maps])
    return np.array(columns).T


@pytest.mark.parametrize("metric", METRICS)
def test_void_pixels_of_a_truth_never_change_a_metric_in_memory(corpus: made.Corpus, metric: str) -> None:
    truths = blanked(corpus)
    maps = {
        name: [m if (name, k) != ("model-1", 1) else None for k, m in enumerate(s)]
        for name, s in corpus.maps.items()
    }
    pairs = fs.comparison.count(maps, classes=str(corpus.classes), truth=truths)
    assert accuracies(pairs, metric) == pytest.approx(without_void(corpus, truths, metric), nan_ok=True)


@pytest.mark.slow
def test_void_pixels_of_a_truth_never_change_a_metric_through_a_study(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    truths, study = blanked(corpus), str(tmp_path / "study")
    for id_, truth in zip(corpus.ids, truths, strict=True):
        made.write(tmp_path / "truth" / f"{id_}.png", truth)
    made.compared_study(corpus, study, shard_size=2)
    fs.label.import_(study, str(tmp_path / "truth"))
    scored = [k for k in range(len(corpus.ids)) if k != 1]  # those that every model has
    for metric in METRICS:
        fs.select(study, as_=metric, maps=fs.options.MapRules(concordance=metric))
        standings = fs.rank(study, selection=metric, all_labels=True, resamples=0, engine="local")
        want = without_void(corpus, truths, metric)[:, scored].mean(1)
        assert list(standings.rankings["reuse_mean"].scores.values()) == pytest.approx(list(want)), metric
    assert json.loads((tmp_path / "study" / "standings-mpa.json").read_text())["labels"]["used"] == 5
