"""The law of engines under kills: the same bytes on a cluster that loses nodes, workers and its driver."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import made
from ray_cluster import NODE, Line, calls_of, heard, lives, needs_ray, running_cluster, stopped, until

pytestmark = [pytest.mark.slow, needs_ray]
IMAGES = 12  # each a shard of its own
COVERED = (
    "predictions",
    "pairs",
    "selection*.csv",
    "selection*.json",
    "failures.csv",
    "measures/statistics",
    "measures/*.json",
)


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Line:
    return Line(made.corpus(tmp_path_factory.mktemp("corpus"), images=IMAGES, models=2, shape=(24, 32)))


@pytest.fixture(scope="module")
def expected(line: Line, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    study = tmp_path_factory.mktemp("local") / "study"
    line.end(line.start(study, "local"))
    files = made.bytes_under(study, *COVERED)
    assert (
        sum(name.startswith("predictions/model-0/") and name.endswith(".parquet") for name in files) == IMAGES
    )
    assert "measures/measure.json" in files
    return files


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with running_cluster() as nodes:
        yield nodes


def test_a_killed_node_costs_nothing_but_time(
    line: Line, expected: dict[str, bytes], cluster: Any, tmp_path: Path
) -> None:
    process = line.start(tmp_path / "study", "ray", cluster.address, seconds=0.05)
    victim = cluster.list_all_nodes()[-1]
    before = heard(process, f"node {victim.node_id}", 3)
    with stopped(process):
        # else the actor of the node, which lives a second longer, might do all that is left
        cluster.remove_node(victim, allow_graceful=False)
        until(lambda: not lives(cluster, victim))
    after = heard(process, rf"call \d+: lost.* with node {victim.node_id}")
    with stopped(process):
        back = cluster.add_node(**NODE, wait=False)  # it comes back, as another
        until(lambda: lives(cluster, back))
    log = line.end(process, before + after)
    lost = int(next(m[1] for text in after if (m := re.search(r"call (\d+): lost", text))))
    again = [node for number, node in calls_of(log[len(before) + len(after) :]) if number == lost]
    assert (lost, victim.node_id) in calls_of(before + after)
    assert again
    assert again[0] != victim.node_id
    nodes = {node for _, node in calls_of(log)}
    assert len(nodes) == 4  # the three of the beginning, and the one that came back
    assert made.bytes_under(tmp_path / "study", *COVERED) == expected


def test_killed_workers_and_a_killed_driver_on_a_cluster_cost_nothing_but_time(
    line: Line, expected: dict[str, bytes], cluster: Any, tmp_path: Path
) -> None:
    study, marks = tmp_path / "study", tmp_path / "marks"
    marks.mkdir()
    process = line.start(study, "ray", cluster.address, "predict", seconds=0.2, FATAL=str(marks))
    heard(process, "its worker died", 2)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert len([*marks.iterdir()]) >= 2
    # what counts, and what was made and did not enter yet
    files = [*study.glob("predictions/*/manifest.json"), *study.glob(".made-predict*")]
    done = len(
        {
            checksum
            for file in files
            for checksum in re.findall(r'"sha256": "([0-9a-f]{64})"', file.read_text())
        }
    )
    assert 12 <= done < 2 * IMAGES
    log = line.end(line.start(study, "ray", cluster.address, "predict"))
    assert len(calls_of(log)) == 2 * IMAGES - done  # neither is done again
    assert made.bytes_under(study, "predictions") == {
        k: v for k, v in expected.items() if k.startswith("predictions")
    }


def test_processes_and_killed_workers_write_the_same_bytes(
    line: Line, expected: dict[str, bytes], tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    line.end(line.start(tmp_path / "study", "processes", FATAL=str(marks)))
    killed = sorted(mark.name.removeprefix("faultscape.") for mark in marks.iterdir())
    assert [name for name in killed if "predict" in name] == [
        f"verbs.predict.shard-{place}" for place in (18, 6)
    ]
    assert len(killed) == 2 + 3  # compare, select and measure have a call for each of 12 shards
    assert made.bytes_under(tmp_path / "study", *COVERED) == expected
