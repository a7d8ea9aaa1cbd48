"""DeepLabv3+ of S0 and S4 as its authors published it: frozen TensorFlow graphs, run as they are.

    mkdir -p clones/deeplab/deeplabv3_pascal_trainval_2018_01_04 && cd
    clones/deeplab/deeplabv3_pascal_trainval_2018_01_04 curl -L
    http://download.tensorflow.org/models/deeplabv3_pascal_trainval_2018_01_04.tar.gz | tar xz faultscape
    predict STUDY deeplab=examples/models/from_tensorflow.py:deeplabv3plus_xception65_voc

Conventions: each function takes one (H, W, 3) uint8 RGB image and returns labels (H, W): VOC's 0-20, or
Cityscapes' train ids 0-18, whose names hang on the function as ``classes``. A graph is protobuf, not a
pickle. It normalises inside; VOC's graphs see the picture with its longer side brought to 513, as in the
authors' demo, Cityscapes' see it as it is unless it is longer than 2049; labels come back by nearest
neighbour. Graphs are looked for under the folder that FAULTSCAPE_CLONES names (``clones`` where it names
none). Checked in tensorflow/models: research/deeplab/g3doc/model_zoo.md (archives) and deeplab_demo.ipynb
(tensors, size); that 2049 is the Cityscapes graphs' size is not checked.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from faultscape.classes.built_in import cityscapes, voc
from faultscape.errors import ModelError


def deeplabv3plus_xception65_voc(image: np.ndarray) -> np.ndarray:
    return _labels(image, "deeplabv3_pascal_trainval_2018_01_04", 513)


def deeplabv3plus_mobilenet_v2_voc(image: np.ndarray) -> np.ndarray:
    return _labels(image, "deeplabv3_mnv2_pascal_trainval_2018_01_29", 513)


def deeplabv3plus_xception71_cityscapes(image: np.ndarray) -> np.ndarray:
    return _labels(image, "deeplab_cityscapes_xception71_trainfine_2018_09_08", 2049, grow=False)


def deeplabv3plus_xception65_cityscapes(image: np.ndarray) -> np.ndarray:
    return _labels(image, "deeplabv3_cityscapes_train_2018_02_06", 2049, grow=False)


def _labels(image: np.ndarray, archive: str, longest: int, *, grow: bool = True) -> np.ndarray:
    height, width = image.shape[:2]
    share = longest / max(height, width)
    if share < 1 or grow:
        size = (max(int(width * share), 1), max(int(height * share), 1))
        seen = cv2.resize(image, size, interpolation=cv2.INTER_AREA if share < 1 else cv2.INTER_LINEAR)
    else:
        seen = image
    told = _session(archive).run("SemanticPredictions:0", {"ImageTensor:0": seen[None]})[0]
    return cv2.resize(np.asarray(told, np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)


@cache
def _session(archive: str) -> Any:
    try:
        import tensorflow as tf
    except ImportError as error:
        raise ModelError(f"{archive} needs tensorflow ({error}): python -m pip install tensorflow") from None
    folder = Path(os.environ.get("FAULTSCAPE_CLONES", "clones")) / "deeplab"
    found = sorted(path for path in folder.rglob("frozen_inference_graph.pb") if archive in path.parts)
    if not found:
        raise ModelError(
            f"{folder / archive}: no frozen_inference_graph.pb in it; unpack"
            f" http://download.tensorflow.org/models/{archive}.tar.gz there"
        )
    definition = tf.compat.v1.GraphDef.FromString(found[0].read_bytes())
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(definition, name="")
    return tf.compat.v1.Session(graph=graph)


for _function in (deeplabv3plus_xception65_voc, deeplabv3plus_mobilenet_v2_voc):
    _function.classes = list(voc().names)
for _function in (deeplabv3plus_xception71_cityscapes, deeplabv3plus_xception65_cityscapes):
    _function.classes = list(cityscapes().names)
