"""How long a frame takes: the forward pass, with score, and in all; batches of one frame count alone where
there are enough, and what an earlier version noted is read.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from faultscape.study.tables.logs import Timing, add_timings
from faultscape.study.tables.timings import frame_times


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


def test_of_a_shard_that_another_network_predicted_again_only_the_last_time_counts(tmp_path: Path) -> None:
    add_timings(tmp_path, [Timing("predict", "net", 0, 8, 1.0), *rows(8, 9, model=0.9)])
    add_timings(tmp_path, [Timing("predict", "net", 0, 8, 1.0), *rows(8, 3, model=0.03)])
    (found,) = frame_times(tmp_path)
    assert found.frames == 24
    assert found.model == pytest.approx((30, 30, 30))
