"""Small random networks that give a picture one class: as ONNX, torch and in the transformers library; the
architectures are real, the weights are not.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

NAMES = ("sky", "road", "car", "person", "tree")


class Small(nn.Module):
    """A 3x3 convolution, the mean over the picture, and classes: logits (N, 5), or the largest alone."""

    def __init__(self, seed: int = 3, *, labels: bool = False) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first, self.head, self.labels = (
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.Linear(8, len(NAMES)),
            labels,
        )
        with torch.no_grad():
            self.head.weight.mul_(12)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        logits = self.head(torch.relu(self.first(image)).mean((2, 3)))
        return logits.argmax(1) if self.labels else logits


def as_onnx(path: Path, *, seed: int = 3, labels: bool = False, flat: bool = True) -> Path:
    """Write Small; with ``flat`` False its logits are (N, 5, 1, 1)."""
    weights = {key.replace(".", "_"): value.numpy() for key, value in Small(seed).state_dict().items()}
    weights["head_weight"] = weights["head_weight"][:, :, None, None]
    nodes = [
        helper.make_node(
            "Conv", ["image", "first_weight", "first_bias"], ["first"], strides=[2, 2], pads=[1, 1, 1, 1]
        ),
        helper.make_node("Relu", ["first"], ["relu"]),
        helper.make_node("GlobalAveragePool", ["relu"], ["mean"]),
        helper.make_node("Conv", ["mean", "head_weight", "head_bias"], ["four"]),
        helper.make_node("Flatten", ["four"], ["logits"]),
    ]
    out: tuple[str, int, list[Any]] = (
        ("logits", TensorProto.FLOAT, ["n", 5]) if flat else ("four", TensorProto.FLOAT, ["n", 5, 1, 1])
    )
    if labels:
        nodes.append(helper.make_node("ArgMax", ["logits"], ["labels"], axis=1, keepdims=0))
        out = ("labels", TensorProto.INT64, ["n"])
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "h", "w"])
    tensors = [numpy_helper.from_array(value, key) for key, value in weights.items()]
    graph = helper.make_graph(nodes, "small", [image], [helper.make_tensor_value_info(*out)], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def saved(kind: str, folder: Path) -> Path:
    """Write a classifier of the transformers library with the processor that its family uses, and return the
    folder.
    """
    import transformers as hf

    about: dict[str, Any] = {
        "num_labels": 5,
        "id2label": dict(enumerate(NAMES)),
        "label2id": {n: k for k, n in enumerate(NAMES)},
    }
    torch.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "vit":
            small = {
                "hidden_size": 24,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "intermediate_size": 32,
            }
            model = hf.ViTForImageClassification(hf.ViTConfig(image_size=64, patch_size=16, **small, **about))
            processor = hf.ViTImageProcessorPil(size={"height": 64, "width": 64})
        elif kind == "resnet":
            config = hf.ResNetConfig(
                embedding_size=8,
                hidden_sizes=[8, 8, 16, 16],
                depths=[1, 1, 1, 1],
                layer_type="basic",
                **about,
            )
            model = hf.ResNetForImageClassification(config)
            processor = hf.ConvNextImageProcessorPil(size={"shortest_edge": 64}, crop_pct=0.875)
        else:
            config = hf.ConvNextConfig(
                hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], image_size=64, **about
            )
            model = hf.ConvNextForImageClassification(config)
            processor = hf.ConvNextImageProcessorPil(size={"shortest_edge": 64}, crop_pct=0.875)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if weight.ndim > 1:
                    weight.mul_(40 if "classifier" in name else 1 if kind == "resnet" else 3)
        model.eval().save_pretrained(folder)
        processor.save_pretrained(folder)
    return folder


def softmax(logits: np.ndarray) -> np.ndarray:
    """Shares of logits, by definition."""
    powers = np.exp(np.asarray(logits, np.float64) - np.max(logits))
    return powers / powers.sum()
