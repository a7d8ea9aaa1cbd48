"""What the tutorials of the site run their shell lines with: `start` once, in a cell that the page hides.

Conventions: lines stand in ``%%bash`` cells, as a reader would write them; output comes in one piece, a line
that fails stops the build, and ``faultscape`` is the one of the kernel's own environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def start() -> None:
    """Go to an empty folder, find `faultscape` there, and run ``%%bash`` cells with `run_cell`."""
    from IPython.core.getipython import get_ipython  # pyright: ignore[reportMissingImports]

    commands = Path(tempfile.mkdtemp(prefix="faultscape-commands-"))
    (commands / "faultscape").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m faultscape "$@"\n')
    (commands / "faultscape").chmod(0o755)
    os.environ["PATH"] = f"{commands}{os.pathsep}{os.environ['PATH']}"
    os.chdir(tempfile.mkdtemp(prefix="faultscape-tutorial-"))
    shell = get_ipython()
    assert shell is not None, "tutorials run in a notebook"
    shell.register_magic_function(run_cell, "cell", "bash")


def run_cell(_: str, lines: str) -> None:
    """Run shell lines and print all that they print; CalledProcessError if one of them fails."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(done.stdout.rstrip())
    done.check_returncode()
