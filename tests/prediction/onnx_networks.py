"""The small torch network of this folder as an ONNX file."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import torch_networks
from onnx import TensorProto, helper, numpy_helper


def small(path: Path, *, seed: int = 3, labels: bool = False, classes: list[str] | None = None) -> Path:
    """Write torch_networks.Small: ``relu`` is the layer within; its logits, or their largest alone."""
    weights = {
        key.replace(".", "_"): value.numpy() for key, value in torch_networks.Small(seed).state_dict().items()
    }
    nodes = [
        helper.make_node(
            "Conv", ["image", "first_weight", "first_bias"], ["first"], strides=[2, 2], pads=[1, 1, 1, 1]
        ),
        helper.make_node("Relu", ["first"], ["relu"]),
        helper.make_node("Conv", ["relu", "head_weight", "head_bias"], ["logits"]),
    ]
    output = helper.make_tensor_value_info(
        "logits", TensorProto.FLOAT, ["n", torch_networks.CLASSES, "h2", "w2"]
    )
    if labels:
        nodes.append(helper.make_node("ArgMax", ["logits"], ["labels"], axis=1, keepdims=0))
        output = helper.make_tensor_value_info("labels", TensorProto.INT64, ["n", "h2", "w2"])
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "h", "w"])
    graph = helper.make_graph(
        nodes, "small", [image], [output], [numpy_helper.from_array(v, k) for k, v in weights.items()]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    if classes:
        model.metadata_props.add(key="faultscape.classes", value=json.dumps(classes))
    onnx.save(model, path)
    return path
