"""Real classifiers on cue-conflict pictures, typed from the first line to the report, with draws beside the
pairs.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import faultscape as fs
from faultscape.cli import main
from made_page import Page

MODELS = ("caffe_alexnet", "oidv2-resnet101", "pt_resnet152", "pt_vgg16")


@pytest.fixture(scope="module")
def study(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The 64 pictures that are there, four networks, the shape as label, pairs and a random draw."""
    root, there = tmp_path_factory.mktemp("cues"), data / "classifiers" / "cue-conflict"
    with (there / "predictions.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    classes = [{"id": k, "name": name} for k, name in enumerate(sorted({row["shape_label"] for row in rows}))]
    (root / "classes.json").write_text(json.dumps({"classes": classes}))
    with (root / "labels.csv").open("w", newline="") as file:
        pictured = {path.stem for path in (there / "images").iterdir()}
        csv.writer(file).writerows(
            [["image", "label"], *([r["image"], r["shape_label"]] for r in rows if r["image"] in pictured)]
        )
    at = root / "study"
    for line in (
        ["collect", at, there / "images", "--task", "classification", "--classes", root / "classes.json"],
        ["predict", at, *(f"{m}={there / 'predictions.csv'}:{m}" for m in MODELS)],
        ["select", at, "--top", "8", "--cap", "8"],
        ["select", at, "--selector", "random", "--budget", "40"],
        ["label", "import", at, root / "labels.csv"],
        ["rank", at, "--resamples", "80"],
        ["rank", at, "--selection", "random", "--resamples", "80"],
        ["report", at],
        ["report", at, "--selection", "random"],
    ):
        assert main([str(word) for word in line]) == 0, line
    return at


@pytest.mark.slow
def test_the_typed_report_equals_the_called_one_and_shows_every_chosen_picture(study: Path) -> None:
    typed = (study / "report.html").read_bytes()
    fs.report(str(study))
    assert (study / "report.html").read_bytes() == typed
    page = Page(typed.decode())
    with (study / "selection.csv").open(newline="", encoding="utf-8") as file:
        chosen = {row["image"] for row in csv.DictReader(file) if int(row["place"]) <= 8}
    shown = [attrs["alt"] or "" for tag, attrs in page.tags if tag == "img"]
    # the gallery, and beside it the examples of models' sections
    assert set(shown) == {f"image {image}" for image in chosen}


def test_both_pages_show_the_same_rankings_side_by_side(study: Path) -> None:
    main_page, random_page = (Page((study / f"report{name}.html").read_text()) for name in ("", "-random"))
    tables = []
    for page in (main_page, random_page):
        cells = [" ".join(cell.split()) for cell in page.cells]
        end = cells.index("labels used")
        tables.append([cells[k : k + 4] for k in range(end - 4 * (len(MODELS) + 2), end + 4, 4)])
    assert tables[0] == tables[1]
    used = [
        json.loads((study / f"standings{name}.json").read_text())["labels"]["used"]
        for name in ("", "-random")
    ]
    assert tables[0][-1] == ["labels used", str(used[0]), str(used[0]), str(used[1])]
    first = json.loads((study / "standings.json").read_text())["rankings"]["perron"]["order"]
    assert [row[0] for row in tables[0][:4]] == first
    assert [row[1].split()[0] for row in tables[0][:4]] == ["1", "2", "3", "4"]
