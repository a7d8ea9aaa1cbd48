"""Small networks for tests, written as real files: colour times weights a pixel."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def colour_network(path: Path, weights: np.ndarray) -> Path:
    """Logits (classes, H, W) = weights (classes, 3) times colour on 0..1, as an ONNX file."""

    import onnx
    from onnx import TensorProto, helper, numpy_helper

    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "h", "w"])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", len(weights), "h", "w"])
    kernel = numpy_helper.from_array(weights.astype(np.float32)[:, :, None, None], "w")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["image", "w"], ["logits"])], "toy", [image], [logits], [kernel]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path
