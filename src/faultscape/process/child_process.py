"""Run a command that never outlives the process that started it, however that process ends.

Conventions: ``run`` starts this file as a separate program, which imports nothing from this package. That
program starts the command in a process group of its own and reports the outcome on its standard output: one
line of JSON with ``status``, or ``error`` with the system's message. It watches its standard input: a byte
means that the command is let go, an end without a byte means that the parent is gone. Then the group is asked
to end, killed after some seconds, and its working folder is removed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

GRACE = 5.0  # seconds a command has to end on its own: a container's client passes the signal on


def run(
    words: Sequence[str],
    said: IO[bytes],
    folder: str,
    *,
    env: Mapping[str, str] | None = None,
    where: os.PathLike[str] | None = None,
) -> int:
    """Run a command that works in a folder, with its standard error in the file ``said``, and return its exit
    status; OSError when it cannot be started.

    ``env`` is its whole environment, ours by default. ``where`` is the folder that it starts in.
    """
    line = [sys.executable, "-I", "-S", __file__, folder, *words]
    with subprocess.Popen(  # noqa: S603 - what the user named
        line,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=said,
        start_new_session=True,
        env=env,
        cwd=where,
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        try:
            told = json.loads(holder.stdout.readline() or "{}")
            with suppress(OSError):  # it was killed itself
                holder.stdin.write(b".")
                holder.stdin.flush()
        finally:
            with suppress(OSError):
                holder.stdin.close()
            holder.wait()
    if "error" in told:
        raise OSError(*told["error"])
    return told.get("status", holder.returncode)


def hold(folder: str, *words: str) -> None:
    """Start the command and end it when the parent is gone."""
    # schedulers send SIGTERM to all processes of a job: treat it as if the parent were gone
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        command = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=2, stderr=2, process_group=0)  # noqa: S603 - as above
    except OSError as error:
        print(json.dumps({"error": [error.errno, error.strerror]}), flush=True)
        return

    def tell() -> None:
        told = json.dumps({"status": command.wait()}) + "\n"
        with suppress(OSError):
            os.write(1, told.encode())

    threading.Thread(target=tell, daemon=True).start()
    try:
        let_go = os.read(0, 1)
    except KeyboardInterrupt:
        let_go = b""
    if not let_go:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if command.poll() is None:
            _end(command)
        shutil.rmtree(folder, ignore_errors=True)


def _end(command: subprocess.Popen[bytes]) -> None:
    """End a process group."""
    if not hasattr(os, "killpg"):
        command.kill()
        return
    with suppress(ProcessLookupError, PermissionError):  # no process of the group is left
        os.killpg(command.pid, signal.SIGTERM)
        end = time.monotonic() + GRACE
        while time.monotonic() < end:
            time.sleep(0.02)
            os.killpg(command.pid, 0)
        os.killpg(command.pid, signal.SIGKILL)


if __name__ == "__main__":
    hold(*sys.argv[1:])
