"""The law of engines on Ray: lines on a cluster, however it is reached and however they end, write the bytes of
one process.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import made
from ray_cluster import Line, calls_of, heard, here, needs_ray, over, predicted, processes, running_cluster

pytestmark = [pytest.mark.slow, needs_ray]
FEW = 8  # images, each a shard of its own


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Line:
    return Line(made.corpus(tmp_path_factory.mktemp("few"), images=FEW, models=2, shape=(24, 32)))


@pytest.fixture(scope="module")
def few_expected(few: Line, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return predicted(here(few, tmp_path_factory.mktemp("local") / "study", few.corpus.models))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with running_cluster() as nodes:
        yield nodes


@pytest.fixture
def collected(few: Line, tmp_path: Path) -> Path:
    """A study of which only the images are known."""
    return here(few, tmp_path / "study", {})


def predict(study: Path, line: Line, engine: str, *options: str, **environment: str) -> subprocess.Popen[str]:
    """The command line's `predict` of all models."""
    models = [f"{name}={path}" for name, path in line.corpus.models.items()]
    words = [sys.executable, "-m", "faultscape", "predict", str(study), *models, "--engine", engine, *options]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )


def test_without_a_cluster_one_is_started_for_the_line_and_ends_with_it(
    few: Line, few_expected: dict[str, bytes], collected: Path
) -> None:
    place = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # its sockets need a short path
    try:
        told, log = predict(collected, few, "ray", "--workers", "2", RAY_TMPDIR=place).communicate(
            timeout=400
        )
        sessions = [str(path) for path in Path(place, "ray").glob("session_2*")]
    finally:
        shutil.rmtree(place, ignore_errors=True)
    assert told.partition("\n")[0] == "ray: 2 CPUs, 0 GPUs on 1 node", log
    assert predicted(collected) == few_expected
    assert len(sessions) == 1
    assert over(processes(sessions[0]))


def test_a_cluster_is_joined_through_its_client_server(
    few: Line, few_expected: dict[str, bytes], cluster: Any, collected: Path
) -> None:
    for _ in range(3):  # the server gives a client half a minute, which may be too little beside other tests
        told, log = predict(collected, few, cluster.client).communicate(timeout=400)
        if "client connection timeout" not in log:
            break
    assert told.partition("\n")[0] == "ray: 3 CPUs, 0 GPUs on 3 nodes", log
    assert predicted(collected) == few_expected


def test_a_mistake_of_the_user_reads_on_ray_as_it_does_here(few: Line, cluster: Any, tmp_path: Path) -> None:
    here(few, tmp_path / "study", few.corpus.models)
    part = next((tmp_path / "study" / "predictions" / "model-1").glob("00003*.parquet"))
    part.write_bytes(part.read_bytes()[:-30])
    local, there = (
        subprocess.run(
            [sys.executable, "-m", "faultscape", "compare", str(tmp_path / "study"), "--engine", engine],
            capture_output=True, text=True, env={**os.environ, "RAY_ADDRESS": cluster.address}, check=False,
        )
        for engine in ("local", "ray")
    )  # fmt: skip
    assert (local.returncode, there.returncode) == (2, 2)
    assert local.stderr == there.stderr
    assert len(local.stderr.splitlines()) == 1
    assert "00003" in local.stderr


def test_ctrl_c_ends_a_line_on_ray_with_its_workers_and_loses_nothing(
    few: Line, few_expected: dict[str, bytes], cluster: Any, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    process = few.start(study, "ray", cluster.address, "predict", seconds=0.3, FAULTSCAPE_MARK=str(study))
    before = heard(process, "call 7, attempt 0")
    at_work = processes("faultscape.engine.worker", f"FAULTSCAPE_MARK={study}")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=200)
    assert process.returncode == -signal.SIGINT
    assert at_work
    assert over(at_work)
    done = sum(folder.read_text().count("sha256") for folder in study.glob("predictions/*/manifest.json"))
    assert 4 <= done < 2 * FEW, before
    log = few.end(few.start(study, "ray", cluster.address, "predict"))
    assert len(calls_of(log)) == 2 * FEW - done
    assert predicted(study) == few_expected
