"""The law of selectors, one over all entries of the catalogue: weights are of complete images alone, follow
images wherever they stand, need what they say, and make probabilities.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import OptionError
from faultscape.selection.catalogue import GOALS, NAMES, SELECTORS, Selector, find_selector
from faultscape.selection.draws import draw
from faultscape.selection.weights import drawing_weights
from faultscape.verbs.verb import options_of
from refusals import refused
from trees import nodes_of

J, IMAGES, CLASSES = 3, 40, 5
OF_IMAGES = [one for one in SELECTORS if not one.pixels]
EVERY = pytest.mark.parametrize("selector", OF_IMAGES, ids=lambda one: one.name)
OPTIONS: dict[str, Any] = {"temperature": 1.0, "sharpness": 0.7, "classes": CLASSES, "epsilon": 0.35}


def facts_of(selector: Selector, task: str, seed: int) -> dict[str, np.ndarray]:
    """What a selector needs, and no more, of images of which every eighth is not complete."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, (J, IMAGES))
    near = rng.random((J, J, IMAGES))
    near = (near + near.swapaxes(0, 1)) / 2
    near[np.arange(J), np.arange(J)] = 1.0
    known = {
        "dispute": (labels != labels[0]).any(0).astype(float),
        "expected": rng.random((J, IMAGES)),
        "discrepancy": rng.random((J * (J - 1) // 2, IMAGES)),
        "entropy": rng.random(IMAGES),
        "labels": labels,
        "agreement": near,
    }
    similar = "labels" if task == "classification" else "agreement"
    needs = [similar if need == "similarity" else need for need in selector.needs]
    facts = {name: known[name] for name in needs} | {"complete": np.arange(IMAGES) % 8 > 0}
    return facts | ({"belief": np.array([0.5, 0.3, 0.2])} if selector.learns == "queries" else {})


def preferences(selector: Selector, facts: dict[str, np.ndarray]) -> np.ndarray:
    """Weights, or what is taken first, of an entry."""
    if selector.chance:
        return drawing_weights(selector, facts, temperature=1.0, sharpness=0.7)
    assert selector.prefer is not None
    return np.where(facts["complete"], selector.prefer(facts, OPTIONS), -np.inf)


@pytest.mark.parametrize("selector", SELECTORS, ids=NAMES)
def test_an_entry_is_complete(selector: Selector) -> None:
    assert selector.title
    assert selector.purpose
    assert selector.source
    ways = [selector.weigh is not None, selector.prefer is not None, selector.pixels]
    assert ways.count(True) == 1  # what draws pixels weighs tuples of predictions, not images
    assert set(selector.tasks) <= {"segmentation", "classification"}
    assert set(selector.duels) <= set(selector.tasks)
    options = options_of(fs.select)
    for task in selector.tasks:
        assert set(selector.takes(task, goal=True)) <= set(options)
        assert set(selector.duels.get(task, ())) <= set(options)


@EVERY
@pytest.mark.parametrize("seed", range(5))
def test_what_is_preferred_follows_an_image_wherever_it_stands(selector: Selector, seed: int) -> None:
    for task in selector.tasks:
        facts, order = facts_of(selector, task, seed), np.random.default_rng(seed).permutation(IMAGES)
        moved = {name: held if name == "belief" else held[..., order] for name, held in facts.items()}
        np.testing.assert_allclose(
            preferences(selector, moved), preferences(selector, facts)[order], rtol=1e-9
        )


@EVERY
def test_nothing_is_preferred_that_some_model_says_nothing_of(selector: Selector) -> None:
    for task in selector.tasks:
        facts = facts_of(selector, task, 0)
        liked = preferences(selector, facts)
        assert (liked[~facts["complete"]] == (0 if selector.chance else -np.inf)).all()
        spoilt = {
            k: np.where(facts["complete"], v, v.max()) if v.shape[-1] == IMAGES and k != "complete" else v
            for k, v in facts.items()
        }
        np.testing.assert_allclose(
            preferences(selector, spoilt)[facts["complete"]], liked[facts["complete"]], rtol=1e-9
        )


@EVERY
def test_probabilities_are_shares_of_what_is_left(selector: Selector) -> None:
    if not selector.chance:
        with refused(OptionError, "does not draw at random"):
            drawing_weights(selector.name, {"complete": np.ones(3, bool)})
        return
    for task in selector.tasks:
        weights = preferences(selector, facts_of(selector, task, 1))
        drawn, left = draw(weights, int((weights > 0).sum())), weights.copy()
        assert len(drawn.images) == drawn.pool == (weights > 0).sum()
        for image, probability in zip(drawn.images, drawn.probability, strict=True):
            assert probability == pytest.approx(left[image] / left.sum())
            assert sum(left / left.sum()) == pytest.approx(1)
            left[image] = 0


def test_names_are_one_each() -> None:
    assert len(set(NAMES)) == len(SELECTORS)
    assert set(GOALS) == {"order", "best"}


def test_what_a_selector_does_is_read_off_the_catalogue_and_never_off_its_name() -> None:
    source, found = Path(fs.__file__).parent, []
    for file in sorted(source.rglob("*.py")):
        for node in nodes_of(file):
            if isinstance(node, ast.Compare):
                words = {
                    part.value
                    for side in node.comparators
                    for part in ast.walk(side)
                    if isinstance(part, ast.Constant)
                }
                asked = ast.unparse(node.left)
                if words & set(NAMES) and "needs" not in asked and asked != "'entropy'":
                    found.append(f"{file.relative_to(source)}:{node.lineno} {ast.unparse(node)}")
    assert found == []
    assert [one.name for one in SELECTORS if one.even] == ["random"]
    weights = preferences(find_selector("random"), facts_of(find_selector("random"), "segmentation", 1))
    assert set(weights.tolist()) <= {0.0, 1.0}


def test_errors_name_every_selector() -> None:
    with refused(OptionError) as error:
        find_selector("entrpy")
    assert f"use {', '.join(NAMES)}, or file.py:NAME. Did you mean 'entropy'" in str(error.value)
