"""A stranger's journey: exactly the lines that README.md has for one's own data, on five networks' maps of
real street scenes, with the data set's masks in the place of a person who draws them.
"""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

import faultscape as fs
from faultscape.cli import main

pytestmark = pytest.mark.slow

README = Path(__file__).parents[2] / "README.md"
MODELS = ("unet", "fcn", "psp", "segnet", "light")


def own_data_lines() -> list[str]:
    """The lines of README.md under "On your own data", as they stand."""
    _, _, rest = README.read_text(encoding="utf-8").partition("**On your own data**")
    block = re.search(r"```console\n(.*?)```", rest, re.DOTALL)
    assert block is not None
    return re.findall(r"^\$ (.+)$", block[1], re.MULTILINE)


@pytest.fixture
def their_line(data: Path) -> str:
    """README's first line with the folders of the real data: images, and maps of five networks."""
    zoo, camvid = data / "camvid-zoo", data / "camvid"
    for folder in (zoo, camvid):
        if not folder.is_dir():
            pytest.skip(f"no {folder.name} in {data}")
    maps = " ".join(f"{name}={shlex.quote(str((zoo / name / 'labels').resolve()))}" for name in MODELS)
    line = own_data_lines()[0]
    for theirs, ours in (
        ("images/", shlex.quote(str((camvid / "test").resolve()))),
        ("unet=maps/unet/ fcn=maps/fcn/", maps),
        ("--classes voc", "--classes camvid"),
    ):
        assert line.count(theirs) == 1
        line = line.replace(theirs, ours)
    return line


def typed(line: str) -> None:
    for part in line.split("&&"):
        words = shlex.split(part)
        assert words[0] == "faultscape"
        assert main(words[1:]) == 0, part


def draw(asked: Path, data: Path) -> None:
    """Put the data set's mask of every exported image where a person would put a drawn one."""
    for path in (asked / "images").iterdir():
        shutil.copy(data / "camvid" / "testannot" / path.name, asked / "labels" / path.name)


def test_the_lines_of_the_readme_say_which_of_five_folders_of_real_maps_to_use(
    their_line: str,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    choose, export, rank = [their_line, *own_data_lines()[1:]]

    typed(choose)
    typed(export)
    asked = sorted((tmp_path / "to-label" / "images").iterdir())
    with (tmp_path / "study" / "selection-order.csv").open(newline="") as rows:
        chosen = {row["image"] for row in csv.DictReader(rows)}
    assert {path.stem for path in asked} == chosen
    assert f"{len(asked)} images to label" in README.read_text(encoding="utf-8")
    draw(tmp_path / "to-label", data)
    typed(rank)
    typed("faultscape status study")
    typed("faultscape rank study --selection order")
    printed = capsys.readouterr()
    said = printed.out + printed.err
    assert re.findall(r"\b(?:duel|slot|spare|cell)s?\b", said) == []  # nobody has read anything yet

    standings = json.loads((tmp_path / "study" / "standings-order.json").read_text())
    assert sorted(standings["models"]) == sorted(MODELS)
    assert standings["labels"]["used"] == len(asked)
    for name in MODELS:
        assert name in printed.out
    assert "`study/report-order.html` shows" in README.read_text(encoding="utf-8")
    page = (tmp_path / "study" / "report-order.html").read_text(encoding="utf-8")
    assert all(name in page for name in MODELS)
    assert len(page) > 100_000  # with the images in it
    size = sum(path.stat().st_size for path in (tmp_path / "study").rglob("*") if path.is_file())
    assert 1 < size / 1e6 < 8  # README: 4 MB

    while line := fs.verdict("study").next:  # and what is printed next leads to a decision
        typed(line)
        if "label export" in line:
            draw(tmp_path / "to-label", data)
            typed("faultscape label import study to-label/")
    said = fs.verdict("study")
    assert said.decided or "not labels, would tell for images to come" in said.lines[-1]
    assert said.lines[0] == f"{said.headline}."
    typed("faultscape run study --goal failures")  # README's line for where they fail
    assert (tmp_path / "study" / "selection.csv").exists()
