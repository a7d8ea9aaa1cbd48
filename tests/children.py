"""Programs that tests start and interrupt."""

from __future__ import annotations

import signal
import subprocess
from typing import Any


def start(words: list[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a program that Ctrl-C reaches, also where the tests run in the background: a shell has them ignore SIGINT then, and children inherit that."""
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a new program begins with the default of a signal that was handled
    try:
        return subprocess.Popen(words, **options)
    finally:
        signal.signal(signal.SIGINT, before)
