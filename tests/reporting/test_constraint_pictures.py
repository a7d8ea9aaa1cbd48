"""One pair under each constraint: which image each chooses, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.nouns import Scale, Slot
from faultscape.reporting.competition.constraints import Drawn, choose_pair, pick
from faultscape.standings import ModelRanking, Standings
from made_page import Page


def slot(image: str, concordance: float, class_: str = "", defender: str = "a", attacker: str = "b") -> Slot:
    return Slot("mad", 1, 1, defender, attacker, class_, 1, image, concordance, 1.0, 9)


def drawn(name: str, *chosen: Slot) -> Drawn:
    return Drawn(name, name == "class", len(chosen), 1, (), (), chosen)


def test_each_constraint_shows_its_least_concordant_image_that_was_not_shown() -> None:
    found = pick(
        [
            drawn(
                "none",
                slot("x", 0.1),
                slot("y", 0.2, defender="b", attacker="a"),
                slot("q", 0.0, defender="c"),
            ),
            drawn("class", slot("x", 0.1, "car"), slot("z", 0.4, "sky"), slot("y", 0.3, "tree", "b", "a")),
            drawn("class+scale", slot("x", 0.1, "car"), slot("y", 0.3, "tree")),
        ],
        ("a", "b"),
        {"x": 0, "y": 1, "z": 2},
        Scale(("car", "tree"), (5, 5), (0.01, 0.02), (0.1, 0.2)),
    )
    assert [one.slot.image for one in found if one.slot] == ["x", "y", "x"]
    assert "3 duels of the two models on 3 images. 1 of them falls on an image shown before." in found[1].says
    assert "This one is for tree." in found[1].says
    assert "All of them fall on an image shown before, as this one does." in found[2].says
    assert "usually covers 1 to 10 % of an image" in found[2].says


def test_among_equals_the_image_that_comes_first_is_shown_and_an_empty_constraint_says_so() -> None:
    same = [slot("x", 0.5, "car"), slot("y", 0.5, "car")]
    found = pick([drawn("class", *same), drawn("class+scale")], ("b", "a"), {"x": 1, "y": 0}, None)
    assert found[0].slot is same[1]
    assert found[1].slot is None
    assert found[1].says == "No image of these two models satisfies this constraint."


def test_the_pair_is_the_first_two_of_the_ranking_that_the_headline_rests_on() -> None:
    unusable = ModelRanking(unusable="too few")
    chosen = ModelRanking({}, ["c", "gone", "a"], speaks_of="chosen")
    found = Standings(("a", "b", "c"), {}, {}, {"lure": unusable, "perron": chosen}, {})
    assert choose_pair(found, ["a", "b", "c"]) == (
        ("c", "a"),
        "the first two models of the ranking “Perron rank”",
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[made.Corpus, Page]:
    root = tmp_path_factory.mktemp("constraints")
    corpus = made.corpus(root / "corpus", images=18, models=3)
    study = made.compared_study(corpus, root / "study", shard_size=6)
    fs.scale(str(corpus.truth), classes=str(corpus.classes), output=str(root / "scale.json"))
    fs.select(study, maps=fs.options.MapRules(scale=str(root / "scale.json")))
    return corpus, Page(Path(fs.report(study).path).read_text(encoding="utf-8"))


def miou(one: np.ndarray, other: np.ndarray) -> float:
    present = sorted({*np.unique(one), *np.unique(other)})
    return float(
        np.mean([((one == c) & (other == c)).sum() / ((one == c) | (other == c)).sum() for c in present])
    )


def test_without_constraint_the_image_is_the_one_on_which_two_models_agree_least(page: Any) -> None:
    corpus, read = page
    first, second = (corpus.maps[f"model-{k}"] for k in (0, 1))
    agreement = [2.0 if (a == b).all() else miou(a, b) for a, b in zip(first, second, strict=True)]
    least = corpus.ids[int(np.argmin(agreement))]
    words = " ".join("".join(read.text).split())
    assert f"{least} concordance {min(agreement):.3f}" in words
    assert "model-0 and model-1 are the first two models of the selection." in words
    shown = [str(attrs["alt"]) for tag, attrs in read.tags if tag == "img"]
    assert f"model-0, map of {least}" in shown
    assert f"model-1, map of {least}" in shown
    assert "less than on any other of the pool" in words
    assert "The class must also have its usual size" in words
