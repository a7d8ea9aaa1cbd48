"""Input preprocessing: images moved against the gradient of what a method finds anomalous in them.

Conventions: a block is (N, 3, H, W), as the network is given it; each of its numbers moves by the method's
epsilon, up or down. Images of a block do not depend on each other, so that they may be moved one at a time.
Source: Liang et al. 2018 (ODIN); Blum et al. 2021, section 5.2 and Table 9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from faultscape.prediction.sources.torch_pass import running, watched

if TYPE_CHECKING:
    from faultscape.uncertainty.methods.method import MovesInput


def moved(
    call: Callable[[Any], Any], module: Any, name: str, device: str, block: np.ndarray, method: MovesInput
) -> np.ndarray:
    """Return a block moved against the gradient of a method's objective, of what ``call`` says about it. The
    weights of the module need no gradient from then on. ModelError where the network lets no gradient
    through, MemoryError where memory is short.
    """
    import torch

    from faultscape.uncertainty.methods.embeddings import as_grid
    from faultscape.uncertainty.replace import output_tensor

    for weight in module.parameters() if hasattr(module, "parameters") else ():
        # else every layer keeps its input for a gradient that nobody asks for
        weight.requires_grad_(requires_grad=False)
    with running(name, device, "float32", gradients=True), watched(module, name, method.layers) as seen:
        image = torch.from_numpy(block).to(device).requires_grad_()
        logits = output_tensor(call(image))
        features = [
            as_grid(_tensor(seen[layer]), block.shape[2:], f"{name}: layer {layer}")
            for layer in method.layers
        ]
        (gradient,) = torch.autograd.grad(method.objective(features, logits), image)
        return (image.detach() - method.epsilon * gradient.sign()).cpu().numpy()


def _tensor(value: Any) -> Any:
    return value[0] if isinstance(value, tuple | list) else value
