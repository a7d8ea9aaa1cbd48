"""Somebody who read the first tutorial ranks folders of maps with the very lines of its last section."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from refusals import told

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "first-ranking.md"
MODELS = ("fcn", "unet", "psp", "light", "segnet")

pytestmark = pytest.mark.usefixtures("data")


def own_lines() -> list[list[str]]:
    """Return the words of each line that the page gives for folders of one's own."""
    section = PAGE.read_text().split("Now on your own images\n", 1)[1]
    return [shlex.split(line) for line in re.findall(r"^\$ faultscape (.+)$", section, re.MULTILINE)]


def placed(line: list[str], folders: dict[str, Path]) -> list[str]:
    """Return a line with other folders in place of the page's, and all models in place of those it names."""
    maps = [f"{name}={folders['maps'] / name / 'labels'}" for name in MODELS]
    words = [word for word in line if "=" not in word]
    put = [str(folders.get(word.rstrip("/"), word)) for word in words]
    return put + (maps if len(words) < len(line) else [])


@pytest.fixture(scope="module")
def folders(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders that the page asks for: CamVid's test split, and maps of it."""
    for name in ("camvid", "camvid-zoo"):
        if not (data / name).is_dir():
            pytest.skip(f"no {name} in {data}")
    root = tmp_path_factory.mktemp("own")
    (root / "images").mkdir()
    for photo in sorted((data / "camvid" / "test").iterdir()):
        (root / "images" / photo.name).symlink_to(photo)
    return {
        "images": root / "images",
        "maps": data / "camvid-zoo",
        "classes.json": data / "camvid-zoo" / "classes.json",
        "truth": data / "camvid" / "testannot",
        "study": root / "study",
        "to-label": root / "to-label",
    }


def draw_masks(folders: dict[str, Path]) -> int:
    """Play an annotator who draws the true mask of each exported image; returns how many."""
    images = sorted((folders["to-label"] / "images").iterdir())
    for image in images:
        shutil.copy(folders["truth"] / f"{image.stem}.png", folders["to-label"] / "labels")
    return len(images)


@pytest.mark.slow
def test_its_lines_rank_folders_of_ones_own(folders: dict[str, Path]) -> None:
    lines = own_lines()
    verbs = [line[0] if line[0] != "label" else f"label {line[1]}" for line in lines]
    assert verbs == [
        *("collect", "predict", "compare", "select", "label export"),
        *("label import", "rank", "report", "plan", "select", "label export"),
    ]
    for line in lines[:5]:
        told(*placed(line, folders))
    assert draw_masks(folders) == int(lines[3][lines[3].index("--budget") + 1])
    for line in lines[5:8]:
        told(*placed(line, folders))

    standings = json.loads((folders["study"] / "standings-order.json").read_text())
    ranking = next(iter(standings["rankings"].values()))
    assert sorted(ranking["order"]) == sorted(MODELS)
    known = json.loads((folders["maps"] / "results.json").read_text())
    best = max(MODELS, key=lambda name: known[name]["test_mIoU"])
    assert best in ranking["tied_for_best"]
    assert (folders["study"] / "report-order.html").stat().st_size > 10_000

    labelled = len(list((folders["to-label"] / "images").iterdir()))
    for line in lines[8:]:
        told(*placed(line, folders))
    more = lines[9]
    assert draw_masks(folders) == labelled + int(more[more.index("--more") + 1])
