"""Modules with names that everyone imports, in a folder where only data is expected: they note who ran them,
and are not what they claim to be.
"""

from __future__ import annotations

from pathlib import Path

# imported by the standard library's users, by all of ours, and by workers of every engine
NAMES = ("json", "queue", "tempfile", "lazy_loader", "numpy")
_CODE = """
import sys

with open({marker!r}, "a") as file:
    file.write(f"{{__name__}} for {{sys.orig_argv}}\\n")
raise ImportError("this is data, and not the module " + __name__)
"""


def write(folder: Path, marker: Path) -> None:
    """Write the modules; each adds a line to ``marker`` if it runs."""
    for name in NAMES:
        (folder / f"{name}.py").write_text(_CODE.format(marker=str(marker)))
