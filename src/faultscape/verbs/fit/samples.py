"""Draw samples of layer outputs for labelled training images.

Conventions: images are drawn by their bytes and the seed, with an equal share of positions of every layer per
image; names and order have no influence. Labels are places of the study's class list. Pixels of classes that
the model cannot predict, or that a holdout withholds, are IGNORED: no patch that contains one is drawn, even
if the network sees the image at a lower resolution than its labels. Void pixels are OUTSIDE. The layer
``LOGITS`` is the network's logits. Features of a backbone are drawn likewise, as a layer of its name; the
model is then not run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.corpus.unread_images import UnreadImages
from faultscape.errors import ModelError, OptionError, counted
from faultscape.prediction.doubt_methods import logits_of
from faultscape.prediction.merge import Window
from faultscape.prediction.sources.backbone import Backbone
from faultscape.prediction.sources.network import Answer
from faultscape.progress import progress
from faultscape.reading.study import Study
from faultscape.stressors.holdout import hold_out
from faultscape.study.settings import Settings
from faultscape.uncertainty.methods.catalogue import own_layers
from faultscape.uncertainty.methods.embeddings import Embeddings, draw, grid_of, together
from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE
from faultscape.verbs.fit.open_model import OpenedModel
from faultscape.verbs.train.labelled_images import LabelledImages

LOGITS = ""
_MOST_BYTES = 4 << 30  # of embeddings; concatenating them takes as much again


@dataclass(frozen=True, eq=False)
class Meaning:
    """The meaning of labels and channels for a method: (C + 1,) int16, the label of each place of the class
    list, (channels,), the class of each channel, -1 for none, and the names of withheld classes.
    """

    places: np.ndarray
    channels: np.ndarray
    withheld: tuple[str, ...]


def meaning_of(model: OpenedModel, study: Study) -> Meaning:
    """Return the meaning of labels and channels for methods of a model."""
    classes = study.classes
    own = table(classes, model.labels)
    count = model.inference.network.channels or len(classes)
    channels = np.array(
        [place if (place := int(own[k])) < len(classes) else -1 for k in range(count)], np.int64
    )
    named = np.zeros(len(classes), bool)
    named[channels[channels >= 0]] = True
    for words in study.stress.holdouts.values():
        named &= ~hold_out(classes, list(words)).is_withheld[:-1]
    places = np.arange(len(classes) + 1, dtype=np.int16)
    places[:-1][~named] = IGNORED
    places[-1] = OUTSIDE
    return Meaning(
        places, channels, tuple(name for name, known in zip(classes.names, named, strict=True) if not known)
    )


def draw_samples(
    model: OpenedModel,
    settings: Settings,
    rows: LabelledImages,
    meaning: Meaning,
    layers: Sequence[str],
    images: int,
    keep: int,
    seed: int,
    backbone: Backbone | None = None,
) -> tuple[dict[str, Embeddings], int, UnreadImages]:
    """Return {layer: its embeddings} of up to ``images`` images, up to ``keep`` in total (0 for all), the
    number of images used, and those that cannot be read. ModelError if a layer gives no grid, MetricError if
    no patch can be drawn, StudyError if no image can be read.
    """
    order = sorted(
        range(len(rows)), key=lambda k: hashlib.sha256(f"{seed}/{rows.rows[k][0].key}".encode()).digest()
    )[:images]
    parts = {layer: list[Embeddings]() for layer in layers}
    count = 0
    unread = UnreadImages("training image", len(order))
    with progress("fit", len(order)) as tick:
        for turn, number in enumerate(order):
            image = rows.rows[number][0]
            if (photo := unread.read(image)) is None:
                continue
            size = settings.working_size or (photo.shape[1], photo.shape[0])
            view = backbone.prepare(photo) if backbone else model.inference.prepare(photo, size).views[0]
            # the larger size, so that no label is lost
            tall, wide = (max(pair) for pair in zip(photo.shape[:2], view.shape[1:], strict=True))
            labels = meaning.places[rows.places(number, (wide, tall))]
            pieces = [(view, (0, 0, *view.shape[1:]))] if backbone else model.inference.pieces(view)
            share = share_of(keep, turn, len(order))
            grids = dict[str, int]()
            for place, (block, box) in enumerate(pieces):
                found = _of_backbone(backbone, block) if backbone else _of_model(model, block, layers)
                for layer, grid in found.items():
                    some = share_of(share, place, len(pieces)) if keep else grid.shape[1] * grid.shape[2]
                    grids[layer] = grids.get(layer, 0) + grid.shape[1] * grid.shape[2]
                    key = f"{seed}/{image.key}/{place}"
                    parts[layer].append(
                        draw(grid, part_of(labels, box, view.shape[1:]), len(settings.class_list), some, key)
                    )
            if not count:
                _refuse_too_many(
                    {
                        layer: (some[0].values.shape[1], keep or grids[layer] * len(order))
                        for layer, some in parts.items()
                    }
                )
            count += 1
            tick(1)
    unread.tell()
    return {layer: together(some) for layer, some in parts.items()}, count, unread


def _of_model(model: OpenedModel, block: np.ndarray, layers: Sequence[str]) -> dict[str, Any]:
    """Return the grids (D, h, w) of layers of a model for a prepared block."""
    answer = answer_of(model, block, layers)
    name = model.inference.name
    shown = (block.shape[1], block.shape[2])
    return {
        layer: logits_of(answer, name)
        if layer == LOGITS
        else grid_of(answer.embeddings[layer], shown, f"{name}: layer {layer}")
        for layer in layers
    }


def _of_backbone(backbone: Backbone, view: np.ndarray) -> dict[str, Any]:
    """Return the grid (D, h, w) of a backbone for a prepared image; ModelError if memory is short."""
    try:
        return {backbone.source: backbone.grid(view)}
    except MemoryError:
        raise ModelError(
            f"{backbone.source}: an image of {view.shape[2]}x{view.shape[1]} does not fit into memory; lower"
            " the size in the preprocessor_config.json of a copy of its folder"
        ) from None


def _refuse_too_many(layers: Mapping[str, tuple[int, int]]) -> None:
    """Raise OptionError if the embeddings of layers, {layer: (width, how many)}, would not fit into
    memory.
    """
    needed = sum(4 * width * count for width, count in layers.values())
    if needed > _MOST_BYTES:
        most = max(count for _, count in layers.values())
        raise OptionError(
            f"{most:,} embeddings of {counted(len(layers), 'layer')} would take {needed / 1e9:.1f} GB; keep"
            " fewer with --keep-embeddings, or name a layer of a coarser grid with --layer"
        )


def share_of(whole: int, turn: int, turns: int) -> int:
    """Return the share of a whole number for one of several turns, so that the shares add up exactly.

    >>> [share_of(10, turn, 4) for turn in range(4)]
    [2, 3, 2, 3]
    """
    return whole * (turn + 1) // turns - whole * turn // turns


def part_of(labels: np.ndarray, box: Window, size: tuple[int, ...]) -> np.ndarray:
    """Return the part of labels (H, W) that corresponds to a box in an image of ``size`` (height, width), in
    whole pixels.

    >>> part_of(np.arange(16).reshape(4, 4), (0, 1, 2, 1), (2, 2)).tolist()
    [[2, 3], [6, 7], [10, 11], [14, 15]]
    """
    ends = zip(box[:2], box[2:], labels.shape, size, strict=True)
    rows, columns = (
        slice(start * side // whole, -(-(start + length) * side // whole))
        for start, length, side, whole in ends
    )
    return labels[rows, columns]


def answer_of(model: OpenedModel, block: np.ndarray, layers: Sequence[str]) -> Answer:
    """Return a network's answer to a prepared block (3, H, W), with the named layers; ModelError if memory
    is short.
    """
    try:
        (answer,) = model.inference.network.run(
            block[None], own_layers(layer for layer in layers if layer != LOGITS)
        )
    except MemoryError:
        raise ModelError(
            f"{model.inference.name}: an image of {block.shape[2]}x{block.shape[1]} does not fit into memory;"
            " predict the model with --window WIDTHxHEIGHT first"
        ) from None
    return answer
