"""The workers of a Ray cluster: one actor each, which holds a worker process on its node.

Conventions: an actor runs one call at a time and is polled for its messages, so there are never more requests
in flight than actors; only JSON text is sent, never pixels. Actors are not detached: they, and their worker
processes, end with their driver. An actor gets calls once it runs, so those that wait for a node block
nothing. When nodes go, their calls go to others; when nodes come, the pool grows again. A lost actor also
removes the idle actors of its node, and counts as a death of its call only if it had reported that the call
began. An actor requests ``gpus`` and one CPU from its node.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from faultscape.engine import cores
from faultscape.engine.tasks import Ledger, called
from faultscape.engine.worker import Worker
from faultscape.errors import OptionError, StudyError
from faultscape.nouns import JsonObject
from faultscape.process.library_warnings import without_warnings

BREATH = 1.0  # seconds after which an actor reports what it has heard so far
PATIENCE = 30.0  # seconds without any actor, after which a message is printed
ATTEMPTS = 3  # to begin a session with a client server that answers
# actors lost in a row before they began a call, besides two rounds of the pool, after which the run gives up
MISFIRES = 8
_STORE = 80 * 2**20  # bytes of the object store of a cluster of our own, which holds only text
logger = logging.getLogger(__name__)


class _NoFolders(list[str]):
    """The folders that Ray puts in front of the standard library in every worker: none, although it would add
    those of this process and of its script, where data of others may lie.
    """

    def extend(self, more: Iterable[str], /) -> None:
        """Add nothing."""


class Hand:
    """One actor: a worker process on its node, and the messages received from it."""

    def __init__(self, folder: str, environment: dict[str, str]) -> None:
        if not os.path.isdir(folder):
            raise FileNotFoundError(folder)
        self.where = folder, {**os.environ, **environment}
        self.worker: Worker | None = None
        self.heard: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def ready(self) -> str:
        """Return the name of the node, once the actor answers."""
        import ray

        return ray.get_runtime_context().get_node_id()

    def begin(self, request: str) -> str:
        """Start a call, and report at once that it has begun."""
        worker = self.worker = self.worker or Worker(*self.where)

        def listen() -> None:
            for said in worker.ask(json.loads(request)):
                self.heard.put(said)

        threading.Thread(target=listen, daemon=True).start()
        return json.dumps({"tick": 0})

    def listen(self) -> str:
        """Return what was heard about the call: items done since, and how it ended if it did; after at most
        one ``BREATH``.
        """
        items = 0
        end = time.monotonic() + BREATH
        while (left := end - time.monotonic()) > 0:
            try:
                said = self.heard.get(timeout=left)
            except queue.Empty:
                break
            if "tick" in said:
                items += said["tick"]
                continue
            if "died" in said and self.worker is not None:
                self.worker.close()
                self.worker = None
            return json.dumps({"tick": items, **said})
        return json.dumps({"tick": items})


def run_on_ray(
    task: str,
    calls: Sequence[JsonObject],
    address: str,
    workers: int | None,
    tick: Callable[[int], None],
    gpus: float,
) -> Iterator[tuple[int, Any]]:
    """Feed calls to actors and yield results in the order in which they arrive."""
    with _joined(address, workers) as ray:
        pool = _Pool(ray, gpus)
        ledger = Ledger(calls, tick)
        todo = deque(range(len(calls)))
        left = len(calls)
        alone = time.monotonic() + PATIENCE
        try:
            while left:
                pool.grow(min(left, workers or pool.room()))
                while todo and pool.idle:
                    number = todo.popleft()
                    pool.give(
                        number,
                        {"task": task, "call": calls[number], "attempt": ledger.accounts[number].attempt},
                    )
                for number, said in pool.hear():
                    outcome = ledger.hear(number, said)
                    if outcome == "again":
                        logger.info(
                            "%s: its worker %s; it is reassigned to another",
                            called(calls[number]),
                            "died" if "died" in said else "is gone",
                        )
                        todo.append(number)
                    elif outcome == "done":
                        left -= 1
                        yield number, said["result"]
                if pool.busy or pool.given or pool.idle:
                    alone = time.monotonic() + PATIENCE
                elif time.monotonic() > alone:
                    print(
                        "ray: no worker is running; waiting for free resources in the cluster",
                        file=sys.stderr,
                        flush=True,
                    )
                    alone = float("inf")
        finally:
            pool.end()


class _Pool:
    """The actors of a run: those starting, those waiting for work, and the pending answers of those with a
    call.
    """

    def __init__(self, ray: Any, gpus: float) -> None:
        self.ray = ray
        self.gpus = gpus
        options = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
        self.hand = ray.remote(**options, **({"num_gpus": gpus} if gpus else {}))(Hand)
        self.environment = {
            k: v for k, v in os.environ.items() if k == "PYTHONPATH" or k.startswith("FAULTSCAPE_")
        }
        self.starting: dict[Any, Any] = {}
        self.misfires = 0
        self.idle: list[tuple[Any, str]] = []
        self.given: dict[Any, tuple[tuple[Any, str], int]] = {}
        self.busy: dict[Any, tuple[tuple[Any, str], int]] = {}

    def room(self) -> int:
        """Return how many actors the cluster has room for now, given its other users; at least 1."""
        have = self.ray.cluster_resources()
        return max(1, int(have.get("GPU", 0) / self.gpus if self.gpus else have.get("CPU", 0)))

    def grow(self, wanted: int) -> None:
        """Start actors until there are ``wanted``."""
        for _ in range(wanted - len(self.starting) - len(self.idle) - len(self.given) - len(self.busy)):
            actor = self.hand.remote(os.getcwd(), self.environment)
            self.starting[actor.ready.remote()] = actor

    def give(self, number: int, request: dict[str, Any]) -> None:
        """Give a call to a waiting actor."""
        actor, node = self.idle.pop()
        logger.info("call %d, attempt %d: node %s", number, request["attempt"], node)
        self.given[actor.begin.remote(json.dumps(request))] = (actor, node), number

    def hear(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (number of the call, its message) for the actors with a message, after a short wait."""
        refs = [*self.starting, *self.given, *self.busy]
        done, _ = self.ray.wait(refs, num_returns=1, timeout=BREATH) if refs else ([], refs)
        if done:  # and others that answered meanwhile
            done, _ = self.ray.wait(refs, num_returns=len(refs), timeout=0)
        for ref in done:
            try:
                text = self.ray.get(ref)
            except self.ray.exceptions.RayTaskError as error:
                raise _cause(error) from None
            except self.ray.exceptions.RayError as error:  # the actor or its node is lost
                yield from self._lost(ref, error, MISFIRES + 2 * len(refs))
                continue
            if ref in self.starting:
                self.idle.append((self.starting.pop(ref), text))
                continue
            self.misfires = 0
            actor, number = (self.given if ref in self.given else self.busy).pop(ref)
            said = json.loads(text)
            if len(said) == 1:  # the call continues
                self.busy[actor[0].listen.remote()] = actor, number
            else:
                self.idle.append(actor)
            yield number, said

    def _lost(self, ref: Any, error: Exception, misfires: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Remove an actor and the idle ones of its node, and yield the consequence for its call; StudyError
        after too many that began none.
        """
        if ref in self.busy:
            (actor, node), number = self.busy.pop(ref)
            logger.info("call %d: lost with node %s: %s", number, node, type(error).__name__)
            yield number, {"died": True}
        else:
            self.misfires += 1
            if ref in self.given:
                (actor, node), number = self.given.pop(ref)
                logger.info(
                    "call %d: lost before it began, with node %s: %s", number, node, type(error).__name__
                )
                yield number, {"lost": True}
            else:
                actor = self.starting.pop(ref)
                node = ""
                logger.info("an actor did not start: %s", error)
                _refused(error)
            if self.misfires > misfires:
                raise StudyError(f"no Ray actor starts: {' '.join(str(error).split())[:300]}") from None
        for gone in [actor, *(idle for idle, where in self.idle if where == node)]:
            self._kill(gone)
        self.idle = [(idle, where) for idle, where in self.idle if where != node]

    def end(self) -> None:
        """End all actors at once."""
        at_work = [*self.given.values(), *self.busy.values()]
        for actor in [*self.starting.values(), *(a for a, _ in self.idle), *(a for (a, _), _ in at_work)]:
            self._kill(actor)

    def _kill(self, actor: Any) -> None:
        try:
            self.ray.kill(actor)
        except Exception:  # noqa: BLE001 - it, or its cluster, is gone already
            logger.info("an actor was gone already")


def _refused(error: Exception) -> None:
    """Raise StudyError for an actor that could not begin because its node lacks the folder."""
    if "FileNotFoundError" in str(error):
        raise StudyError(
            f"a node of the cluster has no folder {os.getcwd()}: work in a folder that all nodes share under"
            " one path"
        ) from None


def _cause(error: Exception) -> Exception:
    """Return what to raise for an exception in an actor, which never comes from the task itself."""
    return StudyError(f"a Ray actor failed: {' '.join(str(error).split())}")


@contextmanager
def _joined(address: str, workers: int | None) -> Iterator[Any]:
    """Join the cluster of an address, RAY_ADDRESS or `ray start`, or start one here for the block; an
    existing connection stays.
    """
    try:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray
        import ray.exceptions
        import ray.job_config
    except ImportError:
        raise OptionError("the engine ray is not installed: pip install 'faultscape[ray]'") from None
    if ray.is_initialized():
        yield ray
        return
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    asked = address or os.environ.get("RAY_ADDRESS", "")
    if where := asked or _started_here():
        try:
            _join(ray, where, quiet)
        except (ConnectionError, ValueError, RuntimeError, ImportError) as error:
            if asked:
                raise StudyError(f"no Ray cluster answers at {where}: {_reason(error)}") from None
    if not ray.is_initialized():
        own = {"num_cpus": workers or cores(), "object_store_memory": _STORE, "include_dashboard": False}
        ray.init(address="local", _node_ip_address="127.0.0.1", job_config=_job(ray), **own, **quiet)
    try:
        have = ray.cluster_resources()
        nodes = sum(node["Alive"] for node in ray.nodes())
        print(
            f"ray: {have.get('CPU', 0):g} CPUs, {have.get('GPU', 0):g} GPUs on {nodes}"
            f" node{'s' * (nodes != 1)}",
            flush=True,
        )
        yield ray
    finally:
        ray.shutdown()


def _job(ray: Any) -> Any:
    """Return the settings of a job whose workers import nothing from the current folder."""
    job = ray.job_config.JobConfig()
    job._py_driver_sys_path = _NoFolders()  # noqa: SLF001 - Ray has no public way, and a test looks at its workers
    return job


def _join(ray: Any, where: str, quiet: dict[str, Any]) -> None:
    """Join the cluster of an address; retry with a client server that answers and cannot begin a session, for
    example while its node starts.
    """
    for left in range(ATTEMPTS - 1, -1, -1):
        try:
            # a client's workers never get its folders
            job = {} if where.startswith("ray://") else {"job_config": _job(ray)}
            with without_warnings():  # of a cluster that does not answer; the final error reports that
                ray.init(address=where, **job, **quiet)
        except ConnectionAbortedError as error:
            logger.info("%s cannot begin a session: %s", where, _reason(error))
            if not left:
                raise
            time.sleep(BREATH)
        else:
            return


def _reason(error: Exception) -> str:
    """Return an error in one line: the end of a server's traceback, if it has one."""
    text = str(error).strip()
    return " ".join((text.splitlines()[-1] if "Traceback" in text else text).split())[:300]


def _started_here() -> str:
    """Return the address of the cluster that `ray start` left on this machine, or ''.

    Ray's own search ("auto") finds any cluster of the machine, even one that another command started for
    itself and ends with.
    """
    place = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - where Ray keeps it
    try:
        return Path(place, "ray", "ray_current_cluster").read_text().strip()
    except OSError:
        return ""
