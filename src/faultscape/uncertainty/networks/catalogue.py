"""BACKBONES: the networks that `train` builds by name, each a complete entry, from which help, documents and
tables are made.

Conventions: importing this does not load torch: ``place`` names the function that builds a network from a
``size``, a number of classes and a dropout rate. Pixels become (x / 255 - ``mean``) / ``std``. Other networks
are ``hf:OWNER/MODEL`` or a folder of the transformers library, whose weights are the start, or
``file.py:function``, which returns a module that ends in a linear layer or a 1x1 convolution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from faultscape.errors import OptionError, closest
from faultscape.plug import is_own

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PLAIN = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
_DEPTHS: Mapping[str, int] = {  # blocks of a vision transformer, or of the stage before an encoder's last
    "T": 12,
    "S": 12,
    "B": 12,
    "L": 24,
    "b0": 2,
    "b1": 2,
    "b2": 6,
    "b3": 18,
    "b4": 27,
    "b5": 40,
    "18": 2,
    "50": 6,
    "101": 23,
}
MIDDLE = "middle"  # the name for a backbone's default layers of MC dropout


@dataclass(frozen=True)
class Backbone:
    """A network by name: its builder, the ``multiple`` for both sides of its input, its ``stride`` from
    pixels to logits, and the ``mean`` and ``std`` of its pixels.

    ``middle`` are the encoder blocks after which MC dropout is placed by default (`--dropout-at middle`): up
    to four, spread over a vision transformer, or over the stage before the last, which corresponds to the
    middle flow of Blum et al. 2021's encoder. ``any_crop``: it can be trained on crops of any size, such as
    513 x 513.
    """

    name: str
    title: str
    place: str
    size: str
    multiple: int
    stride: int
    parameters: float  # millions, with 19 classes
    middle: tuple[str, ...] = ()
    any_crop: bool = False
    mean: tuple[float, ...] = IMAGENET[0]
    std: tuple[float, ...] = IMAGENET[1]
    source: str = ""


def _spread(pattern: str, blocks: int) -> tuple[str, ...]:
    """Return the names of up to four blocks, evenly spread and including the last.

    >>> _spread("block {}", 23)
    ('block 4', 'block 10', 'block 16', 'block 22')
    """
    return tuple(
        dict.fromkeys(pattern.format(blocks * (k + 1) // 4 - 1) for k in range(4) if blocks * (k + 1) >= 4)
    )


def _segmenter(size: str, parameters: float) -> Backbone:
    title = f"Segmenter, ViT-{size} with patches of 16"
    source = "Buchanan et al. 2022, section 2; Strudel et al. 2021"
    return Backbone(
        f"segmenter-{size}/16",
        title,
        "segmenter:segmenter",
        size,
        16,
        16,
        parameters,
        _spread("vit.layers.{}", _DEPTHS[size]),
        False,
        *PLAIN,
        source,
    )


def _segformer(size: str, parameters: float) -> Backbone:
    title = f"SegFormer-{size.upper()}"
    return Backbone(
        f"segformer-{size}",
        title,
        "transformers_networks:segformer",
        size,
        32,
        4,
        parameters,
        _spread("segformer.stages.2.blocks.{}", _DEPTHS[size]),
        source="Xie et al. 2021",
    )


def _deeplab(size: str, parameters: float) -> Backbone:
    name = "deeplabv3plus" if size == "101" else f"deeplabv3plus-{size}"
    return Backbone(
        name,
        f"DeepLabv3+ on ResNet-{size}",
        "deeplab:deeplab",
        size,
        16,
        4,
        parameters,
        _spread("encoder.encoder.stages.2.layers.{}", _DEPTHS[size]),
        True,
        source="Blum et al. 2021, appendix B.1; Chen et al. 2018",
    )


BACKBONES: tuple[Backbone, ...] = (
    _segmenter("T", 5.9),
    _segmenter("S", 22.5),
    _segmenter("B", 87.4),
    _segmenter("L", 305.5),
    _segformer("b0", 3.7),
    _segformer("b1", 13.7),
    _segformer("b2", 27.4),
    _segformer("b3", 47.2),
    _segformer("b4", 64.0),
    _segformer("b5", 84.6),
    _deeplab("18", 16.6),
    _deeplab("50", 40.4),
    _deeplab("101", 59.3),
)


def backbone_named(name: str) -> Backbone | None:
    """Return the backbone with a name, None for one from the hub, a folder or a file; OptionError with the
    nearest name otherwise.

    >>> backbone_named("segmenter-L/16").multiple
    16
    """
    for backbone in BACKBONES:
        if backbone.name == name:
            return backbone
    if name.startswith("hf:") or is_own(name):
        return None
    known = [backbone.name for backbone in BACKBONES]
    raise OptionError(
        f"backbone {name!r} is not known; use {', '.join(known)}, hf:OWNER/MODEL or"
        f" file.py:function.{closest(name, known)}"
    )
