"""A network as one file: what it says in the file is what it says in its folder, members and variance too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from faultscape.errors import ModelError
from refusals import refused

OWN = """
import torch
def net():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 3, 1))
"""
VIT = {
    "model_type": "vit",
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "image_size": 64,
    "patch_size": 16,
}


def made(folder: Path, **words) -> Path:
    from faultscape.uncertainty import description as d

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "backbone.py").write_text(OWN)
    about = d.Description(
        **{"backbone": "net.py:net", "classes": ("road", "sky", "car"), "image": 32, **words}
    )
    net = d.build(about, folder)
    for parameter in net.parameters():
        parameter.data.add_(0.1 * parameter.data.std() if parameter.numel() > 1 else 0.1)
    d.save(folder, about, net, {})
    return folder


def said_in_file(path: str, image) -> dict[str, np.ndarray]:
    import torch

    if path.endswith(".pt2"):
        return {
            name: value.detach().numpy() for name, value in torch.export.load(path).module()(image).items()
        }
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [out.name for out in session.get_outputs()]
    return dict(zip(names, session.run(None, {"image": image.numpy()}), strict=True))


def said_in_folder(folder: Path, image) -> dict[str, np.ndarray]:
    import torch

    from faultscape.uncertainty import description as d
    from faultscape.uncertainty.export import DRAWS
    from faultscape.uncertainty.heads.channels import Head

    _, net = d.load(folder, own_code=True)
    for head in [module for module in net.modules() if isinstance(module, Head)]:
        head.draws = DRAWS
    with torch.no_grad():
        said = net(image)
    held = {"logits": said.own, "members": said.members, "variance": said.variance, "outlier": said.outlier}
    return {name: value.numpy() for name, value in held.items() if value is not None}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "form", "shapes"),
    [
        ({"head": "gp", "head_options": {"features": 32}}, "onnx", [(1, 24, 40), (3, 64, 96)]),
        ({"head": "heteroscedastic", "head_options": {"samples": 60}}, "pt2", [(1, 24, 40), (3, 64, 96)]),
        (
            {
                "head": "batch-ensemble",
                "member_blocks": 1,
                "backbone": "hub/vit",
                "config": VIT,
                "multiple": 16,
            },
            "pt2",
            [(1, 32, 48), (3, 64, 32)],
        ),
        ({"head": "batch-ensemble+gp", "head_options": {"features": 16}}, "pt2", [(1, 24, 40), (3, 64, 96)]),
        ({"dropout_at": ("1",), "dropout_samples": 3, "size": (40, 24)}, "pt2", [(1, 24, 40), (3, 24, 40)]),
        ({"head": "batch-ensemble", "window": 32, "stride": 16}, "pt2", [(1, 32, 32), (3, 32, 32)]),
        ({"negative_class": True}, "onnx", [(1, 24, 40), (3, 64, 96)]),
        ({"negative_class": True, "head": "batch-ensemble"}, "pt2", [(1, 24, 40), (3, 64, 96)]),
    ],
    ids=[
        "gp-onnx",
        "heteroscedastic-pt2",
        "blocks-pt2",
        "batch-ensemble+gp-pt2",
        "dropout-pt2",
        "window-pt2",
        "negative-onnx",
        "negative-pt2",
    ],
)
def test_a_file_says_what_the_network_says_at_every_size(
    tmp_path: Path, words: dict, form: str, shapes: list[tuple]
) -> None:
    """The file is made at one size and in one batch; blocks of work in it would hold for these alone."""
    import torch

    from faultscape.uncertainty.export import export_network

    folder = made(tmp_path / "m", **words)
    path = export_network(folder, form, own_code=True)
    for count, tall, wide in shapes:
        image = torch.rand(count, 3, tall, wide, generator=torch.Generator().manual_seed(0))
        said, wanted = said_in_file(path, image), said_in_folder(folder, image)
        assert said.keys() == wanted.keys()
        for name, value in said.items():
            np.testing.assert_allclose(
                value, wanted[name], rtol=1e-3, atol=1e-3, err_msg=f"{name} {count} {tall} {wide}"
            )


def test_code_of_a_folder_runs_for_a_file_only_where_that_is_allowed(tmp_path: Path) -> None:
    from faultscape.uncertainty.export import export_network

    folder = made(tmp_path / "m")
    (folder / "backbone.py").write_text("raise SystemExit('ran')")
    with refused(ModelError, "its backbone is Python code, which would run with your permissions"):
        export_network(folder, "pt2")
