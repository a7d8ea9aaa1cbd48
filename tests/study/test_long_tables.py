"""Tables of a long corpus: read shard by shard, and not put again for every row."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from faultscape.study.tables import corpus, logs
from faultscape.study.tables.corpus import Corpus, Image, each_shard, read_corpus, write_corpus
from faultscape.study.tables.pool import read_pool
from faultscape.ties import tie_ranks


def images(sizes: list[int]) -> list[Image]:
    shards = [shard for shard, size in enumerate(sizes) for _ in range(size)]
    return [
        Image(f"{k:03d}", f"{k}.png", "main", "pool", "clean", "", 4, 3, f"{k:x}", k, f"{k:03d}", s)
        for k, s in enumerate(shards)
    ]


@pytest.mark.parametrize("sizes", [[1], [3, 3, 2], [1, 7, 1, 1], [10]])
def test_shards_come_whole_and_in_order_wherever_reading_is_cut(
    sizes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpus(tmp_path, images(sizes))
    whole = [
        (number, list(rows)) for number, rows in groupby(read_corpus(tmp_path), key=lambda image: image.shard)
    ]
    for at_once in (1, 2, 3, 100):
        monkeypatch.setattr(corpus, "ROWS_AT_ONCE", at_once)
        assert list(each_shard(tmp_path)) == whole
    assert [len(rows) for _, rows in whole] == sizes


def test_a_study_without_images_has_no_shards(tmp_path: Path) -> None:
    assert list(each_shard(tmp_path)) == []
    assert Corpus(tmp_path).shards_of(["000"]) == {}


def test_the_pool_as_numbers_is_that_of_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where digests are equal, ids are in another order than images, and the first image of a group comes
    later or is not in the pool.
    """
    monkeypatch.setattr(corpus, "_ROWS_IN_GROUP", 3)
    rows = [
        replace(
            row,
            id=f"{(7 * k) % 20:02}",
            digest=f"{k % 3}" if k % 2 else f"etag:{k}",
            near_duplicate_of=f"{(7 * (k // 4 * 4 + 2)) % 20:02}" if k % 4 < 3 else f"{(7 * k) % 20:02}",
            role="test" if k in (6, 11) else "pool",
        )
        for k, row in enumerate(images([20]))
    ]
    write_corpus(tmp_path, rows)
    here = [row for row in read_corpus(tmp_path) if row.role == "pool"]
    firsts = [row.near_duplicate_of for row in here]
    for seed in (None, 0, 1):
        pool = read_pool(Corpus(tmp_path), seed=seed)
        assert pool.ids.to_pylist() == [row.id for row in here]
        assert pool.families.tolist() == [firsts.index(first) for first in firsts]
        ids = [row.id for row in here]
        assert pool.ranks.tolist() == tie_ranks([row.key for row in here], seed, ids).tolist()
        moved = pool.taken(np.argsort(pool.ranks))
        assert moved.names([17, 3]) == {k: moved.ids[k].as_py() for k in (3, 17)}
    assert read_pool(Corpus(tmp_path), keep_duplicates=True).families.tolist() == list(range(18))


def test_some_images_are_looked_up_by_ids_and_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "_ROWS_IN_GROUP", 4)
    write_corpus(tmp_path, rows := images([5, 9, 6]))
    table = Corpus(tmp_path)
    assert [*table.by_id(["017", "003", "none", "004"]).values()] == [rows[3], rows[4], rows[17]]
    assert table.by_id([]) == {} == table.by_id(["zzz"])
    assert table.ids_of_sources(["17.png", "3.png", "x"]) == {"3.png": "003", "17.png": "017"}
    assert (
        table.ids_of_sources(["17.png"], "other") == {} == Corpus(tmp_path / "no").ids_of_sources(["3.png"])
    )


def test_the_shards_of_some_images(tmp_path: Path) -> None:
    write_corpus(tmp_path, images([3, 3, 2]))
    assert Corpus(tmp_path).shards_of(["007", "000", "gone"]) == {"000": 0, "007": 2}


def test_times_are_all_there_and_the_table_is_put_ever_more_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, put = [], logs.put

    def counted(path: Path, data: bytes) -> str:
        sha = put(path, data)
        written.append(pq.read_metadata(path).num_rows)
        return sha

    monkeypatch.setattr(logs, "put", counted)
    timings = logs.Timings(tmp_path)
    for shard in range(400):
        timings.add([logs.Timing("compare", "", shard, 5, 0.5)])
        assert shard + 1 - written[-1] <= shard / 16  # what a kill would lose
    timings.write()
    timings.write()
    assert pq.read_table(tmp_path / "timings.parquet")["shard"].to_pylist() == list(range(400))
    assert written[:3] == [1, 2, 3]  # a short table is as new as can be
    assert sum(written) < 20 * 400  # and not 400 * 401 / 2
