"""A worker process: both ends of its pipe.

Conventions: ``python -P -m faultscape.engine.worker`` says ``began`` once it has started, reads requests
(``task``, ``call``, ``attempt``), one JSON object per line, from its standard input, and answers with
messages about a call (see tasks), one per line. An item that is done is a dot: it is written at once, so that
it counts even if the process dies on the next one. It always ends with its parent, however that ends and
whatever it is doing itself. Output of libraries goes to standard error.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from faultscape import errors
from faultscape.process.freed_memory import keep_freed_memory

_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>
_DONE = b"."
_MOST = 1 << 16  # bytes of a pipe
_DOTS = 64  # more items at a time are told by their number
_PAUSE = 0.05  # seconds


class Worker:
    """The parent's end: a process that starts at once and runs one call at a time."""

    def __init__(self, folder: str | None = None, environment: dict[str, str] | None = None) -> None:
        # -P: neither the current folder, where data of others may lie, nor this script's is on its path
        words = [sys.executable, "-P", "-m", "faultscape.engine.worker", str(os.getpid())]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=environment,
        )
        self._began = False

    def ask(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the messages about a call until it ends; the last may be that the worker crashed on it, or
        that there is none, since it could not even start.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):
            self._process.stdin.write(f"{json.dumps(request)}\n".encode())
            self._process.stdin.flush()
            for said in self._messages(self._process.stdout.fileno()):
                if "began" in said:
                    self._began = True
                    continue
                yield said
                if "tick" not in said:
                    return
        if not self._began and (status := self._process.wait()) > 0:
            yield {
                "error": "StudyError",
                "text": f"a worker process ended with status {status} before it could begin; the lines above"
                " say why: Python, or a library that every worker needs, did not start",
            }
            return
        yield {"died": True}

    def _messages(self, pipe: int) -> Iterator[dict[str, Any]]:
        """Yield what the worker says. Items that are done are waited for together: for each alone, hearing of
        it would cost as much as counting a small map.
        """
        begun = time.monotonic()
        torn = list[bytes]()  # what has come of a line
        while data := os.read(pipe, _MOST):
            while data:
                if not torn and (items := len(data) - len(data.lstrip(_DONE))):
                    data = data[items:]
                    yield {"tick": items}
                    continue
                line, end, data = data.partition(b"\n")
                torn.append(line)
                if end:
                    yield json.loads(b"".join(torn))
                    torn.clear()
            if not torn:  # a short call does not wait for long
                time.sleep(min(_PAUSE, (time.monotonic() - begun) / 10))

    def kill(self) -> None:
        """End the process now, whatever it is doing; safe from another thread."""
        self._process.kill()

    def close(self) -> None:
        """End the process and close its pipe."""
        self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


def work(parent: int) -> None:
    """Run as a worker process: one request per line on standard input, ticks and answers, one per line, on
    standard output.
    """
    _end_with(parent)
    keep_freed_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C; workers end with it
    from faultscape.engine.tasks import perform

    requests: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            requests.put(line)
        os._exit(0)  # the parent is gone: leave at once, before a successor writes the same files

    out = os.dup(1)
    os.dup2(2, 1)  # output of libraries must not be taken for an answer
    threading.Thread(target=listen, daemon=True).start()

    def write(data: bytes) -> None:
        try:
            while data:
                data = data[os.write(out, data) :]
        except OSError:  # nobody listens: neither continue nor wait at the exit for what a library still does
            os._exit(0)

    def say(said: dict[str, Any]) -> None:
        write(f"{json.dumps(said)}\n".encode())

    def tick(items: int) -> None:
        if items <= _DOTS:
            write(_DONE * items)
        else:
            say({"tick": int(items)})

    say({"began": os.getpid()})
    while True:
        request = json.loads(requests.get())
        try:
            say({"result": perform(**request, tick=tick)})
        except errors.FaultscapeError as error:
            say({"error": type(error).__name__, "text": str(error)})
        except Exception:  # noqa: BLE001 - a defect is told to the parent, which shows it
            import traceback

            say({"error": "RuntimeError", "text": traceback.format_exc()})


def _end_with(parent: int) -> None:
    """Have Linux end this process with its parent: the thread that listens cannot while a library holds the
    interpreter's lock.

    The parent here is the thread that started this process, so that thread has to live as long.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent was gone already
            os._exit(0)


if __name__ == "__main__":
    work(int(sys.argv[1]))
