"""Worker processes of this machine, one per core.

Conventions: one thread per process waits for its messages; all decisions are made in the thread that runs the
generator. A run that begins in this process runs calls in that thread. Once the rest would take it more than
`PAYS` seconds, judging by the work so far, workers start in parallel and take calls as they become ready.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from faultscape.engine.tasks import Ledger, perform
from faultscape.engine.worker import Worker
from faultscape.nouns import JsonObject

# seconds of remaining work from which workers start: with less they gain less than they cost
# (benchmarks/small_studies.py)
PAYS = 1.5


def run_in_processes(
    task: str,
    calls: Sequence[JsonObject],
    workers: int,
    tick: Callable[[int], None],
    *,
    begin_here: bool = False,
) -> Iterator[tuple[int, Any]]:
    """Feed calls to worker processes, one thread each, and yield results in the order in which they
    arrive.
    """
    ledger = Ledger(calls, tick)
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    heard: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
    for number in range(len(calls)):
        todo.put(number)
    running: dict[int, Worker] = {}
    threads: list[threading.Thread] = []
    closing = threading.Event()
    first_item = 0.0

    def serve(place: int) -> None:
        try:
            if begin_here:  # the first that can begin a call takes it
                running[place] = _worker(place)
                for _ in running[place].ask(
                    {"task": "faultscape.engine.tasks:load", "call": {"wanted": task}, "attempt": 0}
                ):
                    pass
            while (number := todo.get()) >= 0 and not closing.is_set():
                worker = running.get(place) or running.setdefault(place, _worker(place))
                for said in worker.ask(
                    {"task": task, "call": calls[number], "attempt": ledger.accounts[number].attempt}
                ):
                    if "died" in said:
                        running.pop(place).close()
                    heard.put((number, said))
        except Exception as error:  # noqa: BLE001 - a process that cannot be started is the generator's to raise
            heard.put((0, {"error": "StudyError", "text": f"a worker process could not be started: {error}"}))

    def start_workers() -> None:
        for place in range(min(workers, todo.qsize())):
            threads.append(threading.Thread(target=serve, args=(place,), daemon=True))
            threads[-1].start()

    def ticked_here(items: int) -> None:
        nonlocal first_item
        tick(items)
        first_item = first_item or time.monotonic()  # libraries and kernels are loaded then
        a_call = (time.monotonic() - first_item) / max(1, len(calls) - left)
        if not threads and a_call * left > PAYS:
            start_workers()

    left = len(calls)
    try:
        while begin_here and heard.empty():
            # workers take time to start: this process works until one reports
            try:
                number = todo.get_nowait()
            except queue.Empty:
                break
            yield number, perform(task, calls[number], 0, ticked_here)
            left -= 1
        if not threads:
            start_workers()
        while left:
            number, said = heard.get()
            outcome = ledger.hear(number, said)
            if outcome == "again":
                todo.put(number)
            elif outcome == "done":
                left -= 1
                yield number, said["result"]
    finally:
        closing.set()  # after an error, or when the caller stops listening, no new work is started
        for _ in threads:
            todo.put(-1)
        while any(thread.is_alive() for thread in threads):
            for worker in [*running.values()]:
                worker.kill()
            for thread in threads:
                thread.join(0.05)
        for worker in running.values():
            worker.close()


def _worker(place: int) -> Worker:
    """Start a worker with its own number, by which it chooses one of several GPUs."""
    return Worker(environment={**os.environ, "FAULTSCAPE_WORKER": str(place)})
