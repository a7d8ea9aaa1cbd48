"""The law of engines on Ray and under kills: the same bytes on a cluster that loses nodes, workers and its
driver.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import children
import faultscape as fs
import made

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")]
HERE = Path(__file__).parent
TWO = "predict,compare"  # test_engines.py has all verbs
IMAGES, FEW = 12, 8  # each a shard of its own
COVERED = ("predictions", "pairs", "failures.csv")
# how soon a dead node is noticed
QUICK = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 1000}
NODE = {
    "num_cpus": 1,
    "object_store_memory": 80 * 2**20,
    "node_ip_address": "127.0.0.2",
    "include_dashboard": False,
}


class Line:
    """The line of slowly.py over one corpus, as a process whose log is read while it runs."""

    def __init__(self, corpus: made.Corpus) -> None:
        self.corpus = corpus

    def start(
        self,
        study: Path,
        engine: str,
        address: str = "",
        verbs: str = TWO,
        seconds: float = 0,
        **environment: str,
    ) -> subprocess.Popen[str]:
        models = [f"{name}={path}" for name, path in self.corpus.models.items()]
        folders = (study, self.corpus.photos, self.corpus.classes)
        words = [
            sys.executable,
            str(HERE / "slowly.py"),
            *map(str, folders),
            engine,
            str(seconds),
            verbs,
            *models,
        ]
        about = {
            **os.environ,
            **environment,
            "PYTHONPATH": str(HERE),
            **({"RAY_ADDRESS": address} if address else {}),
        }
        return children.start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=about)

    def end(self, process: subprocess.Popen[str], before: list[str] | None = None) -> list[str]:
        """Return the whole log of a line that ends well."""
        _, log = process.communicate(timeout=400)
        assert process.returncode == 0, log
        return (before or []) + log.splitlines()


def heard(process: subprocess.Popen[str], text: str, times: int = 1) -> list[str]:
    """Read the log until a line with a text has come so many times, and return it so far."""
    assert process.stderr is not None
    log: list[str] = []
    while sum(bool(re.search(text, line)) for line in log) < times:
        line = process.stderr.readline()
        assert line, "\n".join(log)
        log.append(line.rstrip())
    return log


@contextmanager
def stopped(process: subprocess.Popen[str]) -> Iterator[None]:
    """Let a process stand still for a while."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


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
    assert [name for name in files if name.startswith("pairs/")]
    return files


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Line:
    """A line of fewer shards, for what has nothing to do with their number."""
    return Line(made.corpus(tmp_path_factory.mktemp("few"), images=FEW, models=2, shape=(24, 32)))


@pytest.fixture(scope="module")
def few_expected(few: Line, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return predicted(here(few, tmp_path_factory.mktemp("local") / "study", few.corpus.models))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one processor each, all on this machine's loopback."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own
        from ray.cluster_utils import Cluster

        with socket.create_server(("127.0.0.2", 0)) as free:
            client = free.getsockname()[1]
        made_here: Any = Cluster(
            initialize_head=True,
            head_node_args={**NODE, "ray_client_server_port": client, "_system_config": QUICK},
        )
        made_here.client = f"ray://127.0.0.2:{client}"
        other = made_here.add_node(**NODE, wait=False)
        until(lambda: answers(client))
        until(lambda: lives(made_here, other))
        yield made_here
        made_here.shutdown()


def until(so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 200
    while not so():
        assert time.monotonic() < end
        threading.Event().wait(0.1)


def answers(port: int) -> bool:
    """Whether the cluster's client server, which starts last, takes connections."""
    with suppress(OSError):
        socket.create_connection(("127.0.0.2", port), 1).close()
        return True
    return False


def lives(cluster: Any, node: Any) -> bool:
    """Whether a cluster knows of a node that it lives; Ray's own wait counts those, too, whose death it has
    not noticed yet.
    """
    return any(
        known["Alive"] and known["NodeID"] == node.node_id for known in cluster.global_state.node_table()
    )


def calls_of(log: list[str]) -> list[tuple[int, str]]:
    """The (number, node) of every call that was given to an actor."""
    return [
        (int(m[1]), m[2]) for text in log if (m := re.search(r"call (\d+), attempt \d+: node (\w+)", text))
    ]


@pytest.fixture
def collected(few: Line, tmp_path: Path) -> Path:
    """A study of which only the images are known."""
    return here(few, tmp_path / "study", {})


def here(line: Line, study: Path, models: dict[str, Path]) -> Path:
    """A study made in this process."""
    made.collected(line.corpus, study, shard_size=1)
    if models:
        fs.predict(str(study), models, engine="local")
    return study


def predicted(study: Path) -> dict[str, bytes]:
    return made.bytes_under(study, "predictions")


def predict(study: Path, line: Line, engine: str, *options: str, **environment: str) -> subprocess.Popen[str]:
    """The command line's `predict` of all models."""
    models = [f"{name}={path}" for name, path in line.corpus.models.items()]
    words = [sys.executable, "-m", "faultscape", "predict", str(study), *models, "--engine", engine, *options]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )


def processes(words: str, mark: str = "") -> list[int]:
    """Descriptors of this machine's processes with these words in their line and a mark in their
    environment.
    """
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (
                words.encode() in (place / "cmdline").read_bytes()
                and mark.encode() in (place / "environ").read_bytes()
            ):
                found.append(os.pidfd_open(int(place.name)))
    return found


def over(descriptors: list[int]) -> bool:
    """Whether these processes have ended, waiting a while for that."""
    ended = [bool(select.select([one], [], [], 200)[0]) for one in descriptors]
    for one in descriptors:
        os.close(one)
    return all(ended)


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
    assert told.partition("\n")[0] == "ray: 2 CPUs, 0 GPUs on 2 nodes", log
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
    assert len(nodes) == 3  # the two of the beginning, and the one that came back
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
    assert len(killed) == 2 + 1  # compare has a call for each of 12 shards
    assert made.bytes_under(tmp_path / "study", *COVERED) == expected
