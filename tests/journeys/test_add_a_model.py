"""A model is added to a study whose images were labelled: the lines of the guide rank it, after duels and
after draws, and make no other selection.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.cli import main

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-model.md"


def lines(heading: str) -> Iterator[list[str]]:
    """The words of each line of `faultscape` below a heading of the guide."""
    part = GUIDE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    for line in re.findall(r"^\$ (.+)$", part, re.MULTILINE):
        yield from (shlex.split(command)[1:] for command in line.split("&&"))


def label_all(corpus: made.Corpus, folder: Path) -> None:
    """Put the true mask of every exported image where its label belongs."""
    for image in (folder / "images").rglob("*.png"):
        name = image.relative_to(folder / "images")
        (folder / "labels" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus.truth / name, folder / "labels" / name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("heading", "name", "options"),
    [
        ("You labelled images that show where models fail", "main", {}),
        ("You labelled images that show which model is better", "order", {"goal": "order", "budget": 12}),
    ],
)
def test_the_lines_of_the_guide_rank_the_new_model(
    heading: str,
    name: str,
    options: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=16, models=4)
    monkeypatch.chdir(tmp_path)
    fs.collect("study", str(corpus.photos), classes=str(corpus.classes))
    *old, new = corpus.models
    fs.predict("study", {model: corpus.models[model] for model in old}, engine="local")
    fs.compare("study", engine="local")
    fs.select("study", engine="local", **options)  # pyright: ignore[reportArgumentType, reportCallIssue]
    fs.label.export("study", "to-label/", selection=name)
    label_all(corpus, Path("to-label"))
    fs.label.import_("study", "to-label/")

    fs.predict("study", {new: corpus.models[new]}, engine="local")
    fs.compare("study", engine="local")
    for words in lines(heading):
        main([w.replace("100", "12") for w in words])
        if words[:2] == ["label", "export"]:
            label_all(corpus, Path("to-label"))

    ending = "" if name == "main" else f"-{name}"
    standings = json.loads((Path("study") / f"standings{ending}.json").read_text())
    assert standings["models"] == list(corpus.models)
    selections = {re.sub(r"-\d{4}.*", "", path.stem) for path in Path("study").glob("selection*.json")}
    assert selections == {f"selection{ending}"}
