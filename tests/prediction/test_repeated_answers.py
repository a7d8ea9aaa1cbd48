"""A network that answers otherwise when it is shown the same image again is refused before anything is stored:
what is exported in training mode, or draws samples without a seed. One that flips a pixel is not.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.errors import ModelError
from refusals import refused

AGAIN = r"gives different answers for the same image \(\d+\.\d % of the pixels change\); if it was exported"
IN_BATCH = (
    r"gives different answers for the same image alone and in a batch \(\d+\.\d % of the pixels change\)"
)
OWN_KIND = (
    r"gives different answers for the same image \(\d+\.\d % of the pixels change\); seed what it draws"
)
CODE = """
import lying_networks as lying
import numpy as np
import torch
from faultscape.prediction import Batch, OpenModel, Source, row_of_map

COUNT = [0]


def dropout():
    net = lying.Trained("dropout")
    return lambda images: net.train()(images)  # which leaves no .eval() to call


def norm():
    net = lying.Trained("norm")
    return lambda images: net.train()(images)


def samples(image):
    return np.random.default_rng().integers(0, 5, image.shape[:2])


def flips(image):
    COUNT[0] += 1
    labels = (image[..., 0] // 52).astype(np.uint8)
    labels[0, COUNT[0] % 3] = (labels[0, COUNT[0] % 3] + 1) % 5  # 3 of 3,072 pixels at most
    return labels


def wavers(image):
    COUNT[0] += 1
    return np.array([1.0, 0.5 + 0.01 * (COUNT[0] % 2), 0, 0, 0])


class Chance(OpenModel):
    def batches(self, batches, part):
        for batch in batches:
            yield Batch(
                [row_of_map(i.id, np.random.default_rng().integers(0, 5, (i.height, i.width))) for i in batch]
            )


CHANCE = Source("chance", "model of chance", "chance", lambda opening, settings: Chance())


def counts(image):
    COUNT[0] += 1
    return COUNT[0] % 5
"""


def _study(folder: Path, task: str = "segmentation") -> Path:
    rng = np.random.default_rng(0)
    (folder / "photos").mkdir()
    for name in "ab":
        Image.fromarray(rng.integers(0, 256, (48, 64, 3), np.uint8)).save(folder / "photos" / f"{name}.png")
    fs.collect(str(folder / "study"), str(folder / "photos"), classes=5, task=task)
    (folder / "nets.py").write_text(CODE)
    return folder / "study"


@pytest.mark.parametrize("ending", [".pt2", ".pt"])
def test_dropout_that_was_exported_in_training_mode_is_refused(tmp_path: Path, ending: str) -> None:
    import lying_networks as lying

    study = _study(tmp_path)
    file = lying.exported(tmp_path / f"net{ending}", lying.Trained("dropout").train())
    with refused(ModelError, AGAIN):
        fs.predict(str(study), {"net": str(file)}, engine="local")
    assert not list((study / "predictions").glob("*/*.parquet"))
    good = lying.exported(tmp_path / f"good{ending}", lying.Trained("dropout").eval())
    fs.predict(str(study), {"net": str(good)}, engine="local")


@pytest.mark.parametrize("ending", [".pt2", ".pt", ".onnx"])
def test_a_batch_norm_that_was_exported_in_training_mode_is_refused(tmp_path: Path, ending: str) -> None:
    import lying_networks as lying

    study = _study(tmp_path)
    file = lying.exported(tmp_path / f"net{ending}", lying.Trained("norm").train())
    with refused(ModelError, IN_BATCH):
        fs.predict(str(study), {"net": str(file)}, engine="local")


@pytest.mark.parametrize(
    ("function", "says"),
    [("dropout", AGAIN), ("norm", IN_BATCH), ("samples", AGAIN), ("flips", ""), ("CHANCE:always", OWN_KIND)],
)
def test_code_of_ones_own_answers_the_same_but_for_single_pixels(
    tmp_path: Path, function: str, says: str
) -> None:
    study = _study(tmp_path)
    source = {"net": f"{tmp_path / 'nets.py'}:{function}"}
    if not says:
        fs.predict(str(study), source, engine="local")
        return
    with refused(ModelError, says):
        fs.predict(str(study), source, engine="local")


def test_a_classifier_answers_the_same(tmp_path: Path) -> None:
    import lying_networks as lying

    study = _study(tmp_path, "classification")
    file = lying.exported(tmp_path / "net.pt2", lying.TrainedClassifier("dropout").train())
    nets = tmp_path / "nets.py"
    for source, says in (
        (file, r"a probability changes by 0\.\d+"),
        (f"{nets}:wavers", r"a probability changes by 0\.00\d+"),
        (f"{nets}:counts", "its label changes"),
    ):
        with refused(ModelError, rf"gives different answers for the same image \({says}\)"):
            fs.predict(str(study), {"net": str(source)}, engine="local")
