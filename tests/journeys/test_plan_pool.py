"""plan --pool: what duels choose in parts of the pool, and what twice as many images would change."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.ranking.standings_json import written
from faultscape.verbs.plan.pool_growth import divide, next_change
from faultscape.verbs.plan.result import LabelPlan
from refusals import refused_text

pytestmark = pytest.mark.slow
IMAGES = 40


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("pool"), images=IMAGES, models=3)


@pytest.fixture(scope="module")
def study(corpus: made.Corpus) -> str:
    """A study whose pool is two sets, the folders of a corpus, in several shards."""
    root = str(corpus.root / "study")
    storage = fs.options.Storage(shard_size=16)
    for name, folder in (("main", "part0"), ("night", "part1")):
        fs.collect(root, str(corpus.photos / folder), classes=str(corpus.classes), set_=name, storage=storage)
    maps = {}
    for name in corpus.maps:
        maps[name] = str(corpus.root / name)
        for id_ in corpus.ids:
            folder, _, rest = id_.partition("/")
            made.write(
                Path(maps[name], *(["night"] if folder == "part1" else []), f"{rest}.png"),
                corpus.maps[name][corpus.ids.index(id_)],
            )
    fs.predict(root, maps, engine="local")
    fs.compare(root, engine="local")
    return root


def planned(study: str, **options: object) -> LabelPlan:
    return fs.plan(study, pool=True, engine="local", **options)  # type: ignore[arg-type]


def test_the_whole_pool_has_the_duels_of_select_and_a_make_those_of_its_images_alone(
    study: str, corpus: made.Corpus
) -> None:
    found = planned(study).pool
    assert found is not None
    chosen = fs.select(study, as_="check", engine="local").duels
    chosen = [row for row in chosen if row.place == 1]
    whole, half, *_ = found["sizes"]
    assert whole["images"] == IMAGES
    assert whole["concordance"] == pytest.approx(np.mean([row.concordance for row in chosen]), abs=1e-9)
    assert whole["chosen"] == len({row.image for row in chosen})
    assert half["concordance"] > whole["concordance"]
    assert [row["make"] for row in found["make"]] == ["set=main", "set=night"]
    for row, part in zip(found["make"], ("part0", "part1"), strict=True):
        here = [k for k, id_ in enumerate(corpus.ids) if id_.startswith(part)]
        pairs = fs.comparison.count({name: maps[here] for name, maps in corpus.maps.items()}, classes=5)
        alone = [row for row in fs.selection.duels(pairs).duels if row.place == 1]
        assert row["images"] == len(here)
        assert row["concordance"] == pytest.approx(np.mean([slot.concordance for slot in alone]), abs=1e-9)
        low, high = row["random"][1:]
        assert low <= row["random"][0] <= high


def test_the_order_of_models_is_compared_where_what_parts_chose_is_labelled(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    before = planned(study)
    assert before.pool is not None
    assert before.pool["twice"]["spearman"] is None
    assert "to the order of the models is unknown" in " ".join(repr(before).split())
    for id_ in corpus.ids:
        folder, _, rest = id_.partition("/")
        made.write(
            tmp_path / ("night" if folder == "part1" else "") / f"{rest}.png",
            corpus.truths[corpus.ids.index(id_)],
        )
    fs.label.import_(study, str(tmp_path), truth="all")
    after = planned(study, truth="all")
    assert after.pool is not None
    assert after.pool["labelled"] == 1
    order, low, high = after.pool["twice"]["spearman"] or [0, 0, 0]
    assert low <= order <= high == 1
    assert order > 0.9  # these models are far apart
    assert json.loads(Path(study, "plan.json").read_text())["pool"] == written(after.pool)
    assert fs.plan(study, truth="all", engine="local").pool is None


def test_parts_hold_whole_groups_and_are_equal_and_do_not_depend_on_names() -> None:
    rng = np.random.default_rng(0)
    units = rng.integers(0, 50, 400)
    ranks = rng.permutation(400)
    part = divide(units, ranks, 8, np.random.default_rng(3))
    assert all(len({*part[units == unit].tolist()}) == 1 for unit in np.unique(units).tolist())
    assert np.ptp([len(np.unique(units[part == k])) for k in range(8)]) <= 1
    names = rng.permutation(50)
    again = divide(names[units], ranks, 8, np.random.default_rng(3))
    assert (again == part).all()


def test_the_interval_of_the_next_change_holds_it_for_pools_of_random_numbers() -> None:
    rng = np.random.default_rng(0)
    held = []
    for _ in range(200):
        values = rng.random((40, 256))  # of 40 cells; the least counts
        now = values[:, :128]
        pools = [now[:, k::16].min(1).mean() for k in range(16)]
        levels = [pools]
        size = 16
        while size > 1:
            size //= 2
            levels.insert(0, [now[:, k::size].min(1).mean() for k in range(size)])
        changes = [
            np.array(
                [[[halves[k] - whole, halves[k + len(wholes)] - whole] for k, whole in enumerate(wholes)]]
            )
            for wholes, halves in pairwise(levels)
        ]
        change = now.min(1).mean() - values.min(1).mean()
        _, low, high = next_change(changes)
        held.append(low <= change <= high)
    assert np.mean(held) >= 0.95


def test_a_pool_that_cannot_be_divided_is_refused_in_one_line(tmp_path: Path) -> None:
    few = made.compared(tmp_path)
    study = few.root / "study"
    assert "--pool divides the pool into parts, and needs 32 images for it; the pool has" in refused_text(
        "plan", study, "--pool", "--engine", "local"
    )


def test_models_that_never_differ_are_refused_in_one_line(corpus: made.Corpus, tmp_path: Path) -> None:
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    maps = str(next(iter(corpus.models.values())))
    fs.predict(study, {"one": maps, "same": maps}, engine="local")
    fs.compare(study, engine="local")
    assert "--pool: duels choose no image" in refused_text("plan", study, "--pool", "--engine", "local")
