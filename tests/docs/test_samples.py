"""Sample outputs on the pages of verbs are what the lines print: one small study runs them all.

Conventions: ``LINES`` run in this order, each printed block belongs to the page of its verb, and ``...`` as the
last line of a block stands for what is left out. ``python tests/docs/test_samples.py`` writes the pages again.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import made
from faultscape.cli import main

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "verbs"
BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
NAMES = {"model-0": "unet", "model-1": "fcn", "model-2": "light"}
BEFORE = {  # what has to be there for a line and is no sample itself
    "faultscape rank study --selection order": ["faultscape select study --as order --goal order --budget 12"]
}
LINES = (
    "faultscape collect study streets/ --classes classes.json",
    "faultscape predict study unet=maps/unet/ fcn=maps/fcn/ light=maps/light/",
    "faultscape compare study",
    "faultscape scale truth --classes classes.json -o scale.json",
    "faultscape select study --per-class 3",
    "faultscape status study",
    "faultscape show study --images",
    "faultscape label export study to-label",
    "faultscape label import study truth",
    "faultscape rank study",
    "faultscape run study",
    "faultscape report study",
    "faultscape show study --figures",
    "faultscape show study --figure cases",
    "faultscape measure study",
    "faultscape plan study",
    "faultscape rank-table scores.csv",
    "faultscape rank study --selection order",
    "faultscape stress corrupt study --corruption fog --severities 3",
)


def make_streets(root: Path) -> None:
    """Write 60 images, their truth, and the maps of three models."""
    made.corpus(root, images=60, models=3)
    (root / "photos").rename(root / "streets")
    for old, new in NAMES.items():
        (root / "maps" / old).rename(root / "maps" / new)
    for path in sorted(root.rglob("photo *.png")):
        path.rename(path.with_name(path.name.replace("photo ", "street-")))
    rng = np.random.default_rng(0)
    scores = [rng.normal(mean, 0.05, 60) for mean in (0.87, 0.8, 0.79)]
    rows = [",".join(f"{score:.3f}" for score in row) for row in zip(*scores, strict=True)]
    (root / "scores.csv").write_text("\n".join(["unet,fcn,light", *rows]) + "\n")


def printed(line: str) -> str:
    """Return what a line prints, messages too, as a terminal shows it."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert main([*shlex.split(line)[1:], "--progress", "off"]) == 0, out.getvalue()
    return "\n".join(row.rstrip() for row in out.getvalue().splitlines())


def run_all(root: Path) -> dict[str, str]:
    """Return {line: what it prints} of all lines, run in a folder that is called /data in them."""
    make_streets(root)
    with contextlib.chdir(root):
        found = {}
        for line in LINES:
            for first in BEFORE.get(line, []):
                printed(first)
            found[line] = printed(line).replace(str(root.resolve()), "/data")
    return found


def samples(block: str) -> Iterator[tuple[str, str]]:
    """Yield (line, what the page says it prints) of a block; lines without output are no samples."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, _, said = part.partition("\n")
        if said.strip():
            yield line.strip(), said.rstrip("\n")


def shown(said: str, whole: str) -> str:
    """Return a whole output cut as the page cuts it."""
    rows = said.splitlines()
    if rows[-1] != "...":
        return whole
    return "\n".join([*whole.splitlines()[: len(rows) - 1], "..."])


def refreshed(text: str, outputs: dict[str, str]) -> str:
    """Return a page with the outputs of its samples."""

    def renew(block: re.Match[str]) -> str:
        new = block[0]
        for line, said in samples(block[0]):
            if line in outputs:
                new = new.replace(f"$ {line}\n{said}\n", f"$ {line}\n{shown(said, outputs[line])}\n")
        return new

    return BLOCK.sub(renew, text)


def pages() -> list[Path]:
    return sorted(PAGES.glob("*.md"))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return run_all(tmp_path_factory.mktemp("samples"))


def test_samples_are_what_the_lines_print(outputs: dict[str, str]) -> None:
    for page in pages():
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for line, said in samples(block):
                assert said == shown(said, outputs[line]), f"{page.name}: $ {line}"


def test_every_sample_is_run_and_every_line_is_a_sample() -> None:
    found = [
        line for page in pages() for b in BLOCK.findall(page.read_text("utf-8")) for line, _ in samples(b)
    ]
    assert sorted(found) == sorted(LINES)


def test_a_page_with_another_output_is_written_again() -> None:
    page = "```console\n$ faultscape x\nold\n...\n$ faultscape y\n```\n"
    assert refreshed(page, {"faultscape x": "new\nmore"}) == page.replace("old", "new")


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    try:
        new = run_all(folder)
    finally:
        shutil.rmtree(folder)
    for page in pages():
        page.write_text(refreshed(page.read_text(encoding="utf-8"), new), encoding="utf-8")
    sys.exit(os.EX_OK)
