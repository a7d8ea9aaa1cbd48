"""How long a frame takes: the forward pass, with score, and in all; batches of one frame count alone where
there are enough, and what an earlier version noted is read.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from faultscape.study.tables.logs import Timing, add_timings, rename_rows
from faultscape.study.tables.timings import fit_minutes, frame_times


def rows(
    items: int, many: int, *, model: float, score: float | None = 0.02, warm: bool = True
) -> list[Timing]:
    seconds = items * (model + 0.1 + (score or 0.0))
    return [
        Timing(
            "inference",
            "net",
            0,
            items,
            seconds,
            0.05 * items,
            model * items,
            0.05 * items,
            "a device",
            warm,
            None if score is None else score * items,
        )
        for _ in range(many)
    ]


def test_a_frame_takes_its_share_of_a_batch(tmp_path: Path) -> None:
    add_timings(tmp_path, rows(8, 3, model=0.03) + rows(8, 1, model=9.0, warm=False))
    (found,) = frame_times(tmp_path)
    assert (found.name, found.device, found.frames, found.batch) == ("net", "a device", 24, 8)
    assert found.model == pytest.approx((30, 30, 30))
    assert found.scored == pytest.approx((50, 50, 50))
    assert found.whole == pytest.approx((150, 150, 150))


@pytest.mark.parametrize(("alone", "batch", "milliseconds"), [(7, 8, 30), (8, 1, 70)])
def test_frames_that_ran_alone_count_alone_where_there_are_enough(
    tmp_path: Path, alone: int, batch: int, milliseconds: float
) -> None:
    add_timings(tmp_path, rows(8, 20, model=0.03) + rows(1, alone, model=0.07))
    (found,) = frame_times(tmp_path)
    assert found.batch == batch
    assert found.model[1] == pytest.approx(milliseconds)


def test_times_of_an_earlier_version_have_no_score_of_their_own(tmp_path: Path) -> None:
    add_timings(tmp_path, rows(4, 5, model=0.03, score=None))
    path = tmp_path / "timings.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["score"]), path)
    assert frame_times(tmp_path)[0].scored == pytest.approx((30, 30, 30))
    add_timings(tmp_path, rows(4, 50, model=0.03))
    assert frame_times(tmp_path)[0].scored == pytest.approx((50, 50, 50))


def test_a_method_has_the_time_of_a_frame_that_is_scored_by_it_alone(tmp_path: Path) -> None:
    told = [replace(row, fitted=0.24, methods={"knn": 0.16, "fusion": 0.2}) for row in rows(8, 3, model=0.03)]
    add_timings(tmp_path, rows(8, 3, model=0.03) + told)
    (found,) = frame_times(tmp_path)
    assert found.plain == pytest.approx((50, 50, 50))
    assert found.scored == pytest.approx((50, 65, 80))
    assert set(found.methods) == {"knn", "fusion"}
    assert found.methods["knn"] == pytest.approx((70, 70, 70))
    assert found.methods["fusion"] == pytest.approx((75, 75, 75))


def test_the_minutes_of_a_fit_are_those_of_the_last_one(tmp_path: Path) -> None:
    names = ("knn/net", "knn/net-2", "knn-5/net", "knn/net")
    add_timings(tmp_path, [Timing("fit", name, 0, 9, 60.0 * k) for k, name in enumerate(names, 1)])
    assert fit_minutes(tmp_path, "net") == pytest.approx({"knn": 4.0, "knn-5": 3.0})
    rename_rows(tmp_path, {"net": "other", "net-2": None})
    assert fit_minutes(tmp_path, "net") == fit_minutes(tmp_path, "net-2") == {}
    assert set(fit_minutes(tmp_path, "other")) == {"knn", "knn-5"}


def test_of_a_shard_that_another_network_predicted_again_only_the_last_time_counts(tmp_path: Path) -> None:
    add_timings(tmp_path, [Timing("predict", "net", 0, 8, 1.0), *rows(8, 9, model=0.9)])
    add_timings(tmp_path, [Timing("predict", "net", 0, 8, 1.0), *rows(8, 3, model=0.03)])
    (found,) = frame_times(tmp_path)
    assert found.frames == 24
    assert found.model == pytest.approx((30, 30, 30))
