"""The layers that a method is fitted to: those given with --layer, or those of the network that suit it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from faultscape.errors import OptionError
from faultscape.uncertainty.methods.catalogue import AGAIN, IMAGE, Method
from faultscape.uncertainty.methods.layers import (
    before_activation,
    check_layers,
    grid_layers,
    layers_of_scales,
    outer_layers,
    penultimate,
)
from faultscape.verbs.fit.open_model import OpenedModel
from faultscape.verbs.options import FitOptions

_NO_CHOICE = {"none": "only logits", "image": "only image and logits", "parts": "the layers of its parts"}
_CANDIDATES = 8  # most layers to try
_SHOWN = 128  # side of the image used to find layers


def layers_given(method: Method, options: FitOptions) -> tuple[str, ...]:
    """Return the given layers, to tap or to choose from; OptionError if the method taps none, or only one."""
    layers = tuple(options.layer)
    if method.taps in _NO_CHOICE and (layers or options.select_layer):
        what = _NO_CHOICE[method.taps]
        raise OptionError(f"method {method.name} uses {what}; leave --layer and --select-layer out")
    if method.taps == "pair" and (options.select_layer or len(layers) not in (0, 2)):
        raise OptionError(
            f"method {method.name} uses two layers, and makes the features of the second from those of the"
            " first, a coarser one: --layer COARSE --layer FINE"
        )
    if method.taps == "one" and len(layers) > 1 and not options.select_layer:
        raise OptionError(
            f"method {method.name} uses one layer; got {', '.join(layers)}; add --select-layer to choose "
            "the best of them"
        )
    return layers


def layers_to_fit(
    method: Method, model: OpenedModel, layers: Sequence[str], options: FitOptions
) -> list[str]:
    """Return the layers to draw embeddings of: the given ones; with --select-layer the outermost that give a
    grid; else the input of the last layer, or the last layer before an activation.
    """
    if method.taps in ("none", "image"):
        return [IMAGE] * (method.taps == "image")
    network = model.inference.network
    name = model.inference.name
    module: Any = getattr(network, "module", None)
    listed = module if hasattr(module, "named_modules") else None
    if layers:
        if listed is not None:
            check_layers(listed, layers, name)
        return list(layers)
    if listed is None:
        raise OptionError(f"{name}: its layers cannot be listed; name the one to tap with --layer")
    view = model.inference.prepare(
        np.random.default_rng(0).integers(0, 256, (_SHOWN, _SHOWN, 3), np.uint8), (_SHOWN, _SHOWN)
    ).views[0]
    block = model.inference.pieces(view)[0][0]
    shown = partial(network.run, block[None], ())
    size = (block.shape[1], block.shape[2])
    if options.select_layer:
        return outer_layers(grid_layers(listed, shown, size), _CANDIDATES)
    if method.negatives != "no" or method.taps == AGAIN:
        *scales, last = layers_of_scales(listed, shown, size)
        if method.taps == "pair":  # of one size the last layer knows more of its surroundings
            return [scales[-1] if len(scales) > 1 else last, scales[0]]
        return [*scales, last]
    return [before_activation(listed, shown, size) if method.signed else penultimate(listed)]
