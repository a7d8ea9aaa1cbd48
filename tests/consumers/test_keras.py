"""keras runs the lines of docs/how-to/training-loops.md in `fit`. Its backend is JAX: that of numpy fits nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "training-loops.md"
RNG = np.random.default_rng(0)
IMAGES = RNG.random((8, 16, 16, 3), np.float32)
TRUTH = IMAGES.argmax(-1)
TRUTH[:, :2] = 255
BATCHES = [(IMAGES[:5], TRUTH[:5]), (IMAGES[5:], TRUTH[5:])]


@pytest.fixture(scope="module")
def keras(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERAS_HOME", str(tmp_path_factory.mktemp("keras")))
        patch.setenv("KERAS_BACKEND", "jax")
        pytest.importorskip("jax", reason="JAX is not installed: make test-consumers")
        return pytest.importorskip("keras", reason="keras is not installed: make test-consumers")


@pytest.fixture
def net(keras: Any) -> Any:
    net = keras.Sequential([keras.layers.Input((16, 16, 3)), keras.layers.Conv2D(3, 1)])
    net.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=255))
    return net


@pytest.fixture
def measured(keras: Any) -> Any:
    """The callback of the page."""
    (lines,) = re.findall(r"## keras\n.*?```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    held: dict[str, Any] = {}
    exec(lines, held)
    assert held["keras"] is keras
    return held["Measured"](BATCHES, 3)


def miou_of(net: Any) -> float:
    prediction = net.predict(IMAGES, verbose=0).argmax(-1)
    return fs.metrics.measure_maps(TRUTH, prediction, 3, void=255, metrics=["miou"])["miou"].value


def test_an_epoch_ends_with_what_measure_says(net: Any, measured: Any) -> None:
    measured.set_model(net)
    for epoch in range(2):
        logs: dict[str, float] = {}
        measured.on_epoch_end(epoch, logs)
        assert logs == {"val_miou": miou_of(net)}


def test_fit_remembers_it_and_later_callbacks_see_it(keras: Any, net: Any, measured: Any) -> None:
    stop = keras.callbacks.EarlyStopping("val_miou", mode="max", min_delta=1.0, patience=0)
    history = net.fit(IMAGES, TRUTH, epochs=3, verbose=0, callbacks=[measured, stop]).history["val_miou"]
    assert len(history) == 2
    assert history[-1] == miou_of(net)
