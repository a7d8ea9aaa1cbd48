"""Run one function over many shards: in this process, or in local worker processes.

Conventions: a task is the dotted name ``module:function`` and a list of JSON objects, one call each. The function takes the object's
keys as keyword arguments and ``tick``, which it calls with the number of items done, and returns something JSON can hold. It must be
safe to run again and give the same files wherever it runs (DESIGN, the engines law): workers share nothing but the study folder.
Workers are told in JSON over their standard input, so nothing is pickled and a script needs no ``__main__`` guard; they end with their parent.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from faultscape import errors

ENGINES = ("local", "processes")
Tick = Callable[[int], None]


def run(
    task: str, calls: list[dict[str, Any]], *, engine: str = "local", workers: int | None = None, tick: Tick | None = None
) -> Iterator[tuple[int, Any]]:
    """Yield (number of the call, its result) as calls finish.

    A mistake of the user in a worker is raised here as the same FaultscapeError. A worker that dies (killed, out of memory) has its call
    given to a new one once; the second time StudyError is raised.
    """
    if engine not in ENGINES:
        raise errors.OptionError(f"engine {engine!r} is not known; use {' or '.join(ENGINES)}")
    tick = tick or (lambda _: None)
    if workers is not None and workers < 1:
        raise errors.OptionError(f"workers must be 1 or more; got {workers}")
    workers = min(workers or os.cpu_count() or 1, len(calls))
    if engine == "local" or workers <= 1:
        function = find(task)
        for number, call in enumerate(calls):
            yield number, function(**call, tick=tick)
        return
    yield from _run_in_processes(task, calls, workers, tick)


def find(task: str) -> Callable[..., Any]:
    """Return the function named ``module:function``."""
    module, _, name = task.partition(":")
    return getattr(import_module(module), name)


@contextmanager
def progress(what: str, total: int) -> Iterator[Tick]:
    """Show a bar on standard error while the block runs, and nothing when that is no terminal; yields ``tick(n)``."""
    if total == 0 or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task(what, total=total)
        yield lambda n: bar.update(job, advance=n)


def _run_in_processes(task: str, calls: list[dict[str, Any]], workers: int, tick: Tick) -> Iterator[tuple[int, Any]]:
    """Feed calls to worker processes, one thread each, and hand back what they say in the order they say it."""
    todo: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
    heard: queue.SimpleQueue[tuple[str, int, Any]] = queue.SimpleQueue()
    for number in range(len(calls)):
        todo.put((number, 1))
    started: list[subprocess.Popen[str]] = []
    closing = threading.Event()

    def serve() -> None:
        process = _start(started)
        while True:
            try:
                number, attempt = todo.get_nowait()
            except queue.Empty:
                return
            answer = (
                None
                if closing.is_set()
                else _ask(process, {"task": task, "call": calls[number]}, lambda n: heard.put(("tick", 0, n)))
            )
            if closing.is_set():
                return
            if answer is not None:
                heard.put(("answer", number, answer))
            elif attempt == 1:
                todo.put((number, 2))
                process = _start(started)
            else:
                heard.put(("answer", number, {"error": "StudyError", "text": f"a worker process died twice on {calls[number]}"}))

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        left = len(calls)
        while left:
            kind, number, said = heard.get()
            if kind == "tick":
                tick(said)
                continue
            left -= 1
            if "error" in said:
                raise getattr(errors, said["error"], RuntimeError)(said["text"])
            yield number, said["result"]
    finally:
        closing.set()  # after an error, or when nobody listens any more, no new work is taken up
        while any(thread.is_alive() for thread in threads):
            for process in started:
                process.kill()
            for thread in threads:
                thread.join(0.05)
        for process in started:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]


def _start(started: list[subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """Start a worker and enter it in the list of all that were started."""
    words = [sys.executable, "-m", "faultscape.engine"]
    started.append(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"))  # noqa: S603
    return started[-1]


def _ask(process: subprocess.Popen[str], request: dict[str, Any], tick: Tick) -> dict[str, Any] | None:
    """Send one request and return its answer, or None when the worker died over it."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            said = json.loads(line)
            if "tick" not in said:
                return said
            tick(said["tick"])
    except (BrokenPipeError, ValueError):
        pass
    return None


def _work() -> None:
    """Be a worker: a request a line on standard input, ticks and answers a line each on standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer; workers end with it
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            requests.put(line)
        os._exit(0)  # the parent is gone: leave at once, so that nobody writes beside its successor

    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not be taken for an answer
    threading.Thread(target=listen, daemon=True).start()

    def say(said: dict[str, Any]) -> None:
        out.write(json.dumps(said) + "\n")
        out.flush()

    while True:
        request = json.loads(requests.get())
        try:
            say({"result": find(request["task"])(**request["call"], tick=lambda n: say({"tick": n}))})
        except errors.FaultscapeError as error:
            say({"error": type(error).__name__, "text": str(error)})
        except Exception:  # noqa: BLE001 - a defect is told to the parent, which shows it
            import traceback

            say({"error": "RuntimeError", "text": traceback.format_exc()})


if __name__ == "__main__":
    _work()
