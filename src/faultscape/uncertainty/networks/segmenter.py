"""Segmenter: a ViT whose patch tokens are mapped to classes by one linear layer.

Conventions: pixels (N, 3, H, W), both sides multiples of 16, to logits (N, K, H / 16, W / 16); callers that
need maps up-sample them bilinearly. The class token is dropped, and position embeddings are resized
bicubically to the input's grid. With ``member_blocks``, the last encoder blocks have BatchEnsemble's fast
weights in their MLPs: their inputs are repeated for each member, and each member's tokens go through its own
part of the head.
Source: Strudel et al. 2021; Buchanan et al. 2022, section 2, and its code for the blocks (22 and 23 of
ViT-L).
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from faultscape.choices import FastStart
from faultscape.errors import OptionError
from faultscape.uncertainty.heads.batch_ensemble import BatchEnsembleLinear
from faultscape.uncertainty.heads.linear import linear_parameters

PATCH = 16
# width, blocks, heads
SIZES = {"T": (192, 12, 3), "S": (384, 12, 6), "B": (768, 12, 12), "L": (1024, 24, 16)}


class Segmenter(nn.Module):
    """A ViT of the transformers library with a linear decoder, ``head``."""

    def __init__(self, vit: Any, classes: int) -> None:
        super().__init__()
        self.vit = vit
        self.patch = int(vit.config.patch_size)
        self.head = nn.Linear(vit.config.hidden_size, classes)
        self.head.weight, self.head.bias = linear_parameters(vit.config.hidden_size, classes, None, 0)
        self.members = 1

    def forward(self, pixel_values: Tensor) -> Tensor:
        """Return logits (N, K, H / 16, W / 16)."""
        rows, columns = (side // self.patch for side in pixel_values.shape[-2:])
        tokens = self.vit(pixel_values, interpolate_pos_encoding=True).last_hidden_state[:, 1:]
        made = self.head(tokens)
        if self.members > 1:
            made = _own_parts(made, self.members)
        return made.transpose(1, 2).unflatten(2, (rows, columns))

    def use_members(self, blocks: int, members: int, fast_start: FastStart, spread: float, seed: int) -> None:
        """Give the MLPs of the last encoder blocks fast weights. Errors: OptionError for more blocks than
        exist.
        """
        layers = blocks_of(self.vit)
        if not 0 < blocks <= len(layers):
            raise OptionError(
                f"fast weights requested for the last {blocks} blocks, but the encoder has only {len(layers)}"
            )
        self.members = members
        layers[-blocks].register_forward_pre_hook(_repeated(members), with_kwargs=True)
        for number, block in enumerate(layers[-blocks:]):
            wide = [
                (name, m)
                for name, m in block.named_modules()
                if isinstance(m, nn.Linear) and m.in_features != m.out_features
            ]
            for place, (name, layer) in enumerate(wide):
                block.set_submodule(
                    name,
                    BatchEnsembleLinear(layer, members, fast_start, spread, seed + 1000 + 2 * number + place),
                )


def segmenter(size: str, classes: int, dropout: float, image: int = 768) -> Segmenter:
    """Return a Segmenter of a size (T, S, B or L), with random weights; position embeddings are for a square
    image.
    """
    from transformers import ViTConfig, ViTModel

    width, blocks, heads = SIZES[size]
    config = ViTConfig(
        hidden_size=width,
        num_hidden_layers=blocks,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=0.0,
        image_size=image,
        patch_size=PATCH,
    )
    return Segmenter(ViTModel(config, add_pooling_layer=False), classes)


def blocks_of(vit: Any) -> Any:
    """Return the encoder's blocks, wherever the library keeps them."""
    return vit.layers if hasattr(vit, "layers") else vit.encoder.layer


def _repeated(members: int) -> Any:
    def before(
        _module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        count = inputs[0].shape[0]

        def repeat(value: Any) -> Any:  # tokens, and the library's other values per image
            of_images = isinstance(value, Tensor) and value.ndim > 1 and value.shape[0] == count
            return value.repeat(members, *[1] * (value.ndim - 1)) if of_images else value

        return tuple(map(repeat, inputs)), {key: repeat(value) for key, value in named.items()}

    return before


def _own_parts(made: Tensor, members: int) -> Tensor:
    """Return (N, L, E x C) from a head's channels (E x N, L, E x C): for each member, its own logits on its
    own tokens.
    """
    if made.shape[-1] % members:
        raise OptionError(
            "fast weights in encoder blocks need the head batch-ensemble with the same number of members"
        )
    parts = made.unflatten(0, (members, -1)).unflatten(-1, (members, -1))  # (E, N, L, E, C)
    return parts.diagonal(dim1=0, dim2=3).permute(0, 1, 3, 2).flatten(2)
