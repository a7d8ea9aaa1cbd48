"""A Ray cluster on this machine's loopback, and lines whose log is read while they run on it."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
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

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
SLOWLY = Path(__file__).parent / "laws" / "slowly.py"
ALL = "predict,compare,select,measure"
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
        verbs: str = ALL,
        seconds: float = 0,
        **environment: str,
    ) -> subprocess.Popen[str]:
        models = [f"{name}={path}" for name, path in self.corpus.models.items()]
        folders = (study, self.corpus.photos, self.corpus.truth, self.corpus.classes)
        words = [
            sys.executable,
            str(SLOWLY),
            *map(str, folders),
            engine,
            str(seconds),
            verbs,
            *models,
        ]
        about = {
            **os.environ,
            **environment,
            "PYTHONPATH": str(SLOWLY.parent),
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


@contextmanager
def running_cluster() -> Iterator[Any]:
    """Three nodes of one processor each, all on this machine's loopback."""
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
        others = [made_here.add_node(**NODE, wait=False) for _ in range(2)]
        until(lambda: answers(client))
        until(lambda: all(lives(made_here, node) for node in others))
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


def here(line: Line, study: Path, models: dict[str, Path]) -> Path:
    """A study made in this process."""
    made.collected(line.corpus, study, shard_size=1)
    if models:
        fs.predict(str(study), models, engine="local")
    return study


def predicted(study: Path) -> dict[str, bytes]:
    return made.bytes_under(study, "predictions")


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
