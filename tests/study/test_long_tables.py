"""Tables of a long corpus: read shard by shard, and not put again for every row."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from faultscape.study.tables import corpus, logs
from faultscape.study.tables.corpus import Corpus, Image, each_shard, read_corpus, write_corpus


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
