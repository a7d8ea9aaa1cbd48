"""Programs that tests start, interrupt and wait for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def start(words: list[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a program that Ctrl-C reaches, also where the tests run in the background: a shell has them
    ignore SIGINT then, and children inherit that.
    """
    # a new program begins with the default of a signal that was handled
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(words, **options)
    finally:
        signal.signal(signal.SIGINT, before)


def python(*words: object, status: int = 0, **options: Any) -> str:
    """Run this Python with some words until it ends with a status, and return what it printed."""
    line = [sys.executable, *map(str, words)]
    done = subprocess.run(line, check=False, capture_output=True, text=True, **options)
    assert done.returncode == status, (done.stdout + done.stderr)[-6000:]
    return done.stdout


def end(program: subprocess.Popen[bytes], seconds: float) -> str:
    """Return what a program says on standard error until nobody can any more; it leads a session, of which
    who lives too long is named and killed.
    """
    try:
        return program.communicate(timeout=seconds)[1].decode()
    except subprocess.TimeoutExpired:
        living = "; ".join(_session(program.pid)) or "nobody of its session"
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
        raise AssertionError(f"after {seconds:g} s there still lived: {living}") from None


def _session(leader: int) -> list[str]:
    """The processes of a session: number, state (Z: it ended, and nobody asked how) and line of each."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, _, session = (place / "stat").read_text().rpartition(") ")[2].split()[:4]
            if int(session) == leader:
                words = (place / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
                found.append(f"{place.name} {state} {words[:200]}".strip())
    return sorted(found)
