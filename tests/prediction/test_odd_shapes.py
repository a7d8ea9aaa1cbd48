"""Networks and functions that take or give other shapes than images and classes: one line in our words, that
says what was given and what is expected.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.errors import FaultscapeError
from refusals import refused

LAST = "returned 48 x 64 x 5, which is H x W x C; expected classes first, C x H x W: transpose its output"
COLOURS = r"expected 3, red, green and blue: N x 3 x H x W or N x H x W x 3"
CODE = """
import numpy as np
import lying_networks as lying


def classes_last(image):
    return np.random.default_rng(0).normal(size=(*image.shape[:2], 5))


def one_hot(image):
    return np.zeros((5, *image.shape[:2]), int)


def network_with_classes_last():
    return lying.ClassesLast()
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "photos").mkdir()
    picture = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    Image.fromarray(picture).save(tmp_path / "photos" / "a.png")
    (tmp_path / "nets.py").write_text(CODE)
    fs.collect(str(tmp_path / "study"), str(tmp_path / "photos"), classes=5)
    return tmp_path / "study"


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("classes_last", LAST),
        ("network_with_classes_last", LAST),
        ("one_hot", r"returned int64 of shape \(5, 48, 64\); expected labels"),
    ],
)
def test_functions_that_give_other_shapes(study: Path, tmp_path: Path, function: str, says: str) -> None:
    with refused(FaultscapeError, says):
        fs.predict(str(study), {"net": f"{tmp_path / 'nets.py'}:{function}"}, engine="local")


@pytest.mark.parametrize(
    ("ending", "taken", "given", "says"),
    [
        (".pt2", 3, "last", LAST),
        (".pt", 3, "last", LAST),
        (".pt2", 3, 1, "returned one channel of fractional numbers, whose largest is always class 0"),
        (".onnx", 3, 1, "returned one channel of fractional numbers, whose largest is always class 0"),
        (".onnx", 1, 5, rf"takes images of 1 channel \(n x 1 x 48 x 64\); {COLOURS}"),
        (".onnx", 4, 5, rf"takes images of 4 channels \(n x 4 x 48 x 64\); {COLOURS}"),
        (".pt2", 4, 5, "takes an input of any x 4 x 48 x 64; expected images, N x 3 x H x W"),
        (".pt", 4, 5, r"failed: RuntimeError: Given groups=1, .* but got 3 channels"),
    ],
)
def test_files_that_take_or_give_other_shapes(
    study: Path, tmp_path: Path, ending: str, taken: int, given: str | int, says: str
) -> None:
    import lying_networks as lying

    module = lying.ClassesLast() if given == "last" else lying.of_channels(taken, int(given))
    file = lying.exported(tmp_path / f"net{ending}", module.eval(), taken)
    with refused(FaultscapeError, says):
        fs.predict(str(study), {"net": str(file)}, engine="local")
