"""The page of the design shows the tree as it is: every file and folder that it names is there, and every folder of
the package is in its drawing.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "faultscape"
PAGE = (ROOT / "docs" / "explanation" / "design.md").read_text(encoding="utf-8")
OF_A_STUDY = ("pairs/", "truth/labels/", "predictions/unet/", "images/")  # folders that a study has
OF_A_VERB = ("signature.py", "result.py", "artefact.py")  # files that a verb's folder has


def test_the_drawing_has_every_folder_and_file_of_the_package() -> None:
    drawing = PAGE.partition("src/faultscape/\n")[2].partition("```")[0]
    there = {path.name + "/" * path.is_dir() for path in PACKAGE.iterdir()} - {"__pycache__/"}
    there = {name for name in there if name.endswith(("/", ".py"))} - {"__main__.py"}
    assert set(re.findall(r"(?<![\w.])\w+(?:/|\.py)(?!\w)", drawing)) == there


def test_every_file_that_the_page_names_is_there() -> None:
    named = re.findall(r"`([\w/]+(?:/|\.pyi?))`", PAGE)
    assert len(named) > 30
    lacking = {
        name
        for name in named
        if name not in (*OF_A_STUDY, *OF_A_VERB) and "VERB" not in name and not (PACKAGE / name).exists()
    }
    assert lacking == set()


def test_the_folder_of_a_verb_is_listed_as_it_is() -> None:
    listed = PAGE.partition("$ ls src/faultscape/verbs/rank\n")[2].partition("```")[0].split()
    assert listed == sorted(path.name for path in (PACKAGE / "verbs" / "rank").iterdir() if path.suffix)
