"""Choosing by several measures: the mean of their ranks over the pool, which one of them scores."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

import faultscape as fs
import made
from faultscape.comparison.concordance import concordances
from faultscape.errors import FixedSelectionError, OptionError, RankingError
from faultscape.study.tables.selections import read_selection
from refusals import refused, refused_line

pytestmark = pytest.mark.slow

NAME = "miou+regions"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=14, models=3, shape=(24, 32))


def competition(study: Path, corpus: made.Corpus, shard_size: int) -> str:
    made.collected(corpus, study, shard_size)
    fs.predict(str(study), corpus.models, engine="local")
    fs.compare(str(study), engine="local")
    fs.label.import_(str(study), str(corpus.truth))
    return str(study)


@pytest.fixture(scope="module")
def study(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> str:
    return competition(tmp_path_factory.mktemp("many") / "study", corpus, 3)


def by_each(corpus: made.Corpus) -> np.ndarray:
    """(2, J, J, I) the mIoU, and 1 - ROM - RUM by `fs.metrics.regions`, of every two maps in memory."""
    pairs = fs.comparison.count(corpus.maps, classes=str(corpus.classes), images=corpus.ids)
    regions = np.full((3, 3, len(corpus.ids)), np.nan)
    for (a, first), (b, second) in itertools.permutations(enumerate(corpus.maps.values()), 2):
        found = fs.metrics.regions(first, second, classes=str(corpus.classes), absent="zero")
        cells = found.per_image["rom"] + found.per_image["rum"]
        regions[a, b] = 1 - np.nanmean(cells, axis=1)
    return np.stack([concordances(pairs), regions])


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """(..., I) by SciPy, of (M, ..., I)."""
    ranks = rankdata(np.round(values, 12), axis=-1)
    return (ranks.mean(0) - 0.5) / values.shape[-1]


@pytest.mark.parametrize("shard_size", [3, 1024])
def test_duels_take_the_lowest_mean_of_ranks_over_the_pool(
    shard_size: int, corpus: made.Corpus, tmp_path: Path
) -> None:
    study = competition(tmp_path / "study", corpus, shard_size)
    rules = fs.options.MapRules(concordance=NAME, constraints="none")
    slots = fs.select(
        study, maps=rules, per_class=4, sampling=fs.options.Sampling(keep_duplicates=True), engine="local"
    )
    want = mean_ranks(by_each(corpus))
    for d, a in itertools.permutations(range(3), 2):
        rows = [r for r in slots.chosen if (r.defender, r.attacker) == (slots.models[d], slots.models[a])]
        lowest = np.sort(want[d, a])[:4]
        np.testing.assert_allclose([r.concordance for r in rows], lowest, atol=1e-12)
        np.testing.assert_allclose([want[d, a, corpus.ids.index(r.image)] for r in rows], lowest, atol=1e-12)
    assert not list(Path(study).glob(".*ranks*"))
    assert "by the mean rank of miou and regions" in str(slots)
    define = json.loads((Path(study) / "selection.json").read_text())["definition"]
    assert (define["concordance"], define["combined"]) == ("miou", NAME)


def test_counts_in_memory_choose_alike_where_maps_are_not_needed(study: str, corpus: made.Corpus) -> None:
    rules = fs.options.MapRules(concordance="miou+mpa+dice")
    slots = fs.select(study, as_="three", maps=rules, engine="local")
    pairs = fs.comparison.count(corpus.maps, classes=str(corpus.classes), images=corpus.ids)
    held = fs.selection.duels(pairs, "miou+mpa+dice")
    assert sorted(r.concordance for r in held.chosen) == sorted(r.concordance for r in slots.chosen)
    needs = (
        "concordance regions: it needs label maps, and these are counts of pairs; choose with `fs.select` on a"
        " study, or leave out +regions"
    )
    with refused(OptionError, re.escape(needs)):
        fs.selection.duels(pairs, NAME)


@pytest.mark.parametrize("selector", ["mad", "disputed"])
def test_draws_weigh_by_the_mean_of_ranks_over_the_pool(
    selector: str, study: str, corpus: made.Corpus
) -> None:
    slots = fs.select(
        study,
        as_=f"by-{selector}",
        selector=selector,
        budget=5,
        maps=fs.options.MapRules(concordance=NAME),
        sampling=fs.options.Sampling(temperature=1.0 if selector == "mad" else None, keep_duplicates=True),
        engine="local",
    )
    values = by_each(corpus)
    values = (values + values.swapaxes(1, 2))[:, [0, 0, 1], [1, 2, 2]] / 2
    apart = 1 - mean_ranks(values)
    weights = (apart / apart.sum(1, keepdims=True)).mean(0) if selector == "mad" else apart.mean(0)
    left = weights.sum()
    for row in slots.draws:
        mine = weights[corpus.ids.index(row.image)]
        assert row.probability == pytest.approx(mine / left, rel=1e-9)
        left -= mine


def test_the_first_measure_scores_and_a_selection_keeps_its_measures(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = fs.options.MapRules(concordance="mpa+miou")
    slots = fs.select(study, as_="scored", maps=rules, engine="local")
    found = fs.rank(study, selection="scored", resamples=0, engine="local")
    assert found.definitions["concordance"] == "mpa"
    longer = fs.select(study, as_="scored", per_class=2, engine="local")
    assert set(slots.images) < set(longer.images)
    other = fs.options.MapRules(concordance="mpa")
    with refused(FixedSelectionError, r"was made with concordance mpa\+miou, not mpa; its definition"):
        fs.select(study, as_="scored", maps=other, engine="local")
    lost = fs.options.MapRules(concordance="miou+mpa")
    fs.select(study, as_="scored", maps=lost, replace=True, engine="local")
    assert "(concordance mpa+miou before, miou+mpa now" in capsys.readouterr().out


def test_a_function_of_your_own_among_them_is_watched(study: str, tmp_path: Path) -> None:
    own = tmp_path / "a+b" / "mine.py"
    own.parent.mkdir()
    own.write_text("def f(both, reference, prediction, *, over):\n    return both.sum(-1)\n")
    alone = fs.options.MapRules(concordance=f"{own}:f")  # a folder may have a + in its name
    assert fs.select(study, as_="alone", maps=alone, engine="local").definition["concordance"] == f"{own}:f"
    plain = tmp_path / "mine.py"
    plain.write_text(own.read_text())
    fs.select(study, as_="own", maps=fs.options.MapRules(concordance=f"miou+{plain}:f"), engine="local")
    define = read_selection(Path(study), "own")[0].definition
    assert "concordance_file" not in define
    assert len(define["combined_file"]) == 16
    fs.rank(study, selection="own", resamples=0, engine="local")
    plain.write_text(own.read_text() + "\n")
    with refused(RankingError, f"{re.escape(str(plain))}:f, which has changed since"):
        fs.rank(study, selection="own", resamples=0, engine="local")
    assert "the file of its concordance changed" in repr(fs.status(study))
    plain.unlink()
    assert f"{plain} of --concordance is gone" in repr(fs.status(study))


@pytest.mark.parametrize(
    ("given", "more", "said"),
    [
        ("regions", (), "the first measure scores the models, and regions only chooses images; write miou+"),
        ("regions+mpa", (), "and regions only chooses images; write mpa+regions"),
        ("miou+", (), "concordance '' is not known"),
        (
            "miou+mioo",
            (),
            "concordance 'mioo' is not known; known are dice, fwiou, miou, mpa, pixel_accuracy,",
        ),
        ("miou+dice+miou", (), "names miou twice; name each measure once"),
        (NAME, ("--selector", "random"), "selector 'random' does not choose by how far maps differ"),
        (NAME, ("--goal", "order"), "selector 'information' does not choose by how far maps differ"),
    ],
)
def test_combinations_that_cannot_be_are_refused_in_one_line(
    given: str, more: tuple[str, ...], said: str, study: str
) -> None:
    assert said in refused_line("select", study, "--as", "refused", "--concordance", given, *more)
