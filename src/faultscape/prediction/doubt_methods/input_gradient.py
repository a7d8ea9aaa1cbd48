"""Input preprocessing: images shifted against the gradient of a method's anomaly score.

Conventions: a block is (N, 3, H, W), as passed to the network; each value moves up or down by the method's
epsilon. The images of a block are independent, so they may be moved one at a time.
Source: Liang et al. 2018 (ODIN); Blum et al. 2021, section 4.2 and Table 9.
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
    """Return a block moved against the gradient of a method's objective, computed from the output of
    ``call``. Afterwards the weights of the module require no gradient. ModelError if the network passes no
    gradient, MemoryError if memory is short.
    """
    import torch

    from faultscape.uncertainty.methods.embeddings import as_grid
    from faultscape.uncertainty.replace import output_tensor

    for weight in module.parameters() if hasattr(module, "parameters") else ():
        # otherwise every layer keeps its input for an unused gradient
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
