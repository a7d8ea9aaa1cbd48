"""What engines owe at the edges: many broken files, items that kill, shards merged in any order, and a
library that is not there.
"""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape import engine
from faultscape.errors import OptionError, StudyError
from faultscape.reading.study import Study
from faultscape.study.tables.corpus import Corpus
from refusals import refused

pytestmark = pytest.mark.slow

BROKEN = 50


def test_of_5000_images_with_50_broken_maps_all_others_are_done(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    good, photos, maps = rng.integers(0, 5, (16, 16), np.uint8), tmp_path / "photos", tmp_path / "maps"
    first = f"{0:05d}.png"
    made.write(maps / first, good)
    made.write(photos / first, rng.integers(0, 256, (16, 16, 3), np.uint8))
    picture = (photos / first).read_bytes()
    for k in range(1, 5000):
        (photos / f"{k:05d}.png").write_bytes(picture)
        shutil.copyfile(maps / first, maps / f"{k:05d}.png")
    broken = sorted(rng.choice(np.arange(1, 5000), BROKEN, replace=False).tolist())
    whole = (maps / first).read_bytes()
    for place, k in enumerate(broken):
        (maps / f"{k:05d}.png").write_bytes((whole[:40], b"", whole[:-30])[place % 3])
    study = str(tmp_path / "study")
    fs.collect(study, str(photos), classes=5)
    assert fs.predict(study, {"model": maps}, engine="processes", workers=2).models == {
        "model": (5000 - BROKEN, BROKEN)
    }
    with (tmp_path / "study" / "failures.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["stage"] == "predict"]
    assert [row["image"] for row in rows] == [f"{k:05d}" for k in broken]


def run_in_one(task: str, calls: list[dict[str, Any]], **_: Any) -> Any:
    """An engine whose workers died over the first image of every call, each time."""
    from faultscape.study.watch import Watch

    for number, call in enumerate(calls):
        if "against" in call["job"]:
            root, shard, item = (
                call["job"]["out"],
                f"measure-{call['job']['against']}-{call['job']['number']}",
                call["job"]["images"]["ids"][0],
            )
        else:
            root, shard, item = (
                call["job"]["study"],
                f"compare-{call['job']['number']:05d}",
                "part0/photo 000",
            )
        for attempt in (1, 2):
            assert Watch(Path(root), shard, attempt).begin(item)
        yield number, engine.perform(task, call, 3, lambda _: None)


def test_an_image_that_kills_is_a_failure_of_measure_and_an_error_of_compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, study = made.corpus(tmp_path, images=6, models=2), str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, corpus.models, engine="local")
    monkeypatch.setattr(engine, "run", run_in_one)
    with refused(
        StudyError, r"^part0/photo 000: the worker crashed every time on its maps of model-0, model-1"
    ):
        fs.compare(study)
    out = tmp_path / "out"
    fs.measure(
        corpus.truth, corpus.models, classes=corpus.classes, output=out, resamples=0, worst=0, skip=True
    )
    with (out / "failures.csv").open() as file:
        rows = [(row["image"], row["reason"]) for row in csv.DictReader(file)]
    assert len(rows) == 1  # what all models share counts once; the five other images are measured
    assert {image for image, _ in rows} == {"part0/photo 000"}
    assert all(why.startswith("workers died each time it was measured") for _, why in rows)
    assert not [*out.glob(".writing-*")]


@pytest.mark.parametrize("keep", [True, False])
def test_candidates_of_shards_merged_in_any_order_are_the_slots_of_one_pass(
    keep: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.reading.pairs import read_block
    from faultscape.selection import duel
    from faultscape.study.settings import read_settings
    from faultscape.study.tables.corpus import read_corpus, shards
    from faultscape.study.tables.pool import read_pool

    corpus, study = made.corpus(tmp_path, images=22, models=3), tmp_path / "study"
    for k in (4, 9, 13):  # near-duplicates, in other shards than the first of their group
        shutil.copyfile(corpus.photos / "part0/photo 000.png", corpus.photos / f"{corpus.ids[k]}.png")
    made.compared_study(corpus, study, shard_size=4)
    settings, pool, models = (
        read_settings(study),
        read_pool(Corpus(study), keep_duplicates=keep),
        tuple(corpus.models),
    )
    assert keep or len(set(pool.families.tolist())) < 22
    define = duel.definition(
        settings.class_list,
        concordance="miou",
        per_class=2,
        constraints="class",
        scale=None,
        spares=2,
        over="union",
        keep_duplicates=keep,
    )
    best = duel.empty(models, define)
    start = 0
    for rows in shards(read_corpus(study)).values():
        at = np.arange(start, start := start + len(rows))
        duel.take(
            best,
            read_block(Study(study), rows, models),
            define,
            None,
            at,
            pool.ranks[at],
            pool.families[at],
        )
    once = duel.slots(best, models, define, pool.names(range(22)))
    run = engine.run
    monkeypatch.setattr(engine, "run", lambda *given, **options: reversed([*run(*given, **options)]))
    slots = fs.select(
        study,
        maps=fs.options.MapRules(constraints="class"),
        per_class=2,
        sampling=fs.options.Sampling(spares=2, keep_duplicates=keep),
        engine="local",
    )
    assert slots.rows == once.rows


def test_without_ray_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with refused(OptionError, r"^the engine ray is not installed: pip install 'faultscape\[ray\]'$"):
        list(engine.run("faultscape.engine:find", [{}], engine="ray"))


class ClientServer:
    """What stands for Ray: a client server that cannot begin the first sessions asked of it."""

    def __init__(self, failures: int) -> None:
        self.left, self.asked, self.begun = failures, 0, False

    def init(self, **_: Any) -> None:
        self.asked += 1
        if self.left:
            self.left -= 1
            raise ConnectionAbortedError(
                "Initialization failure:\nTraceback (most recent call last):\n  File x\nRuntimeError: no"
                " node yet"
            )
        self.begun = True


def test_a_client_server_that_cannot_begin_a_session_yet_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from faultscape.engine import ray

    monkeypatch.setattr(ray, "BREATH", 0.0)
    slow, never = ClientServer(ray.ATTEMPTS - 1), ClientServer(ray.ATTEMPTS)
    ray._join(slow, "ray://head:1", {})  # pyright: ignore[reportPrivateUsage]
    assert (slow.begun, slow.asked) == (True, ray.ATTEMPTS)
    with pytest.raises(ConnectionAbortedError) as closed:
        ray._join(never, "ray://head:1", {})  # pyright: ignore[reportPrivateUsage]
    assert never.asked == ray.ATTEMPTS
    assert ray._reason(closed.value) == "RuntimeError: no node yet"  # pyright: ignore[reportPrivateUsage]
