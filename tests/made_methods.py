"""Methods that are fitted to the tiny network of made_training, quickly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
from faultscape.study.settings import read_settings
from made_training import Trained, doubt_of

QUICK = {
    "flow": fs.options.MethodOptions(steps=20, blocks=2, width=8, batch=64),
    "odin": fs.options.MethodOptions(epsilon=0.01, temperature=2.0),
}
METHODS = ["odin", "standardised-max-logit", "mahalanobis", "neco", "energy-neco", "knn", "knn-class", "flow"]


class Listed(list[Any]):
    """Examples of one part each, which are there already."""

    def __call__(self, number: int) -> list[Any]:
        return [self[number]]


def fitted(trained: Trained, method: str, **more):
    return fs.fit(
        trained.study,
        method,
        model="plain",
        **{"method_options": QUICK.get(method, fs.options.MethodOptions()), **more},
    )


def blended_set(trained: Trained, preset: str = "fishyscapes-v2", **more: object) -> str:
    """Blend objects into the images of validation, and return the name of the set that it makes."""
    how = {"set_": "val", "blending": fs.options.Blending(smallest=8), **more}
    return fs.stress.blend(trained.study, preset=preset, engine="local", **how).sets[0]


def scored(trained: Trained, *scorers: str, **more: object) -> None:
    """Predict with the network again, with these scorers."""
    fs.predict(trained.study, {"plain": trained.source}, scorer=[*scorers], engine="local", **more)


def kept(trained: Trained, name: str) -> np.ndarray:
    """The doubt that the study holds now of a method of the network."""
    (word,) = [
        word
        for word in read_settings(Path(trained.study)).models["plain"].options["scorer"]
        if word.partition("@")[0] == name
    ]
    return doubt_of(trained.study, "plain", f"{name}-{word.partition('@')[2][:6]}")


def killed_at(number: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Kill the training of a block once at a step, and return the steps that are begun."""
    from faultscape.uncertainty.methods import block_fit

    step, begun = block_fit._step, list[int]()

    def killed(*given: Any) -> float:
        begun.append(given[4])
        if given[4] == number and begun.count(number) == 1:
            raise KeyboardInterrupt
        return step(*given)

    monkeypatch.setattr(block_fit, "_step", killed)
    return begun
