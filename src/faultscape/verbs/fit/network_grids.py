"""The output of a frozen network for images with unknown objects (`--negatives`) and for labelled training
images, for methods that learn from it.

Conventions: grids are kept in memory, as float16, up to a quarter of the machine's; beyond, an image is read
and shown to the network again each time it is drawn. Both give the same numbers, so that the same images
teach the same method. Pixels of classes that the network does not know, or that a holdout withholds, are
void. Of labelled training images all other labelled pixels are known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultscape.corpus.unread_images import UnreadImages
from faultscape.errors import ModelError
from faultscape.prediction.bounds import memory
from faultscape.prediction.doubt_methods import logits_of
from faultscape.prediction.sources.network import OUTLIER
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.study.tables.corpus import Image
from faultscape.uncertainty.methods.block_fit import KNOWN, OPEN, Grids
from faultscape.uncertainty.methods.catalogue import IMAGE, OUTLIER_LOGIT
from faultscape.uncertainty.methods.embeddings import grid_of
from faultscape.verbs.fit.open_model import OpenedModel
from faultscape.verbs.fit.samples import Meaning, answer_of, part_of
from faultscape.verbs.train.labelled_images import LabelledImages
from faultscape.verbs.train.negatives import NegativeImages

_MOST = 4  # one byte in so many of this machine's memory


class NetworkGrids:
    """The grids of the images of some negatives, and of labelled images, at layers of a network: examples for
    `train_block`.
    """

    def __init__(
        self,
        study: Study,
        model: OpenedModel,
        meaning: Meaning,
        layers: Sequence[str],
        negatives: NegativeImages | None,
        rows: LabelledImages | None,
    ) -> None:
        self._settings = study.settings
        self._model = model
        self._known = meaning.places >= 0
        self._layers = tuple(layers)
        self._negatives = negatives
        self._rows = rows
        self._first = len(negatives.images) if negatives is not None else 0
        self._kept = dict[int, list[Grids]]()
        self._bytes = 0
        self.unread = UnreadImages("training image", len(rows) if rows is not None else 0)

    def __len__(self) -> int:
        return self._first + (len(self._rows) if self._rows is not None else 0)

    def __call__(self, number: int) -> Sequence[Grids]:
        """Return the grids of an image, those of each window if it has several, none if it is unreadable."""
        if number in self._kept:
            return self._kept[number]
        parts = self._made(number)
        size = sum(part.size for part in parts)
        if (self._bytes + size) * _MOST <= memory():
            self._kept[number] = parts
            self._bytes += size
        return parts

    def key(self) -> str:
        """Return a key of all that the grids follow from."""
        parts = [part.key() for part in (self._negatives, self._rows) if part is not None]
        return key_of(self._model.digest, self._model.shown, self._layers, self._known.tolist(), parts)

    def _made(self, number: int) -> list[Grids]:
        """Show an image to the network."""
        taught = number < self._first
        image, unread = self._image(number)
        if (photo := unread.read(image)) is None:
            return []
        size = self._settings.working_size or (photo.shape[1], photo.shape[0])
        inference = self._model.inference
        view = inference.prepare(photo, size).views[0]
        # the larger size, so that no label is lost
        tall, wide = (max(pair) for pair in zip(photo.shape[:2], view.shape[1:], strict=True))
        anomaly = self._of_negative(image, (wide, tall)) if taught else self._of_row(number, (wide, tall))
        parts = []
        for block, box in inference.pieces(view):
            answer = answer_of(self._model, block, self._layers)
            shown = (block.shape[1], block.shape[2])
            beside = {IMAGE: block, OUTLIER_LOGIT: answer.values.get(OUTLIER, (None,))[0]}
            grids = {**answer.embeddings, **beside}
            if grids[OUTLIER_LOGIT] is None and OUTLIER_LOGIT in self._layers:
                raise ModelError(
                    f"{inference.name}: has no outlier head and no negative class, which --parts"
                    " outlier, outlier-msp and uno need (train --loss outlier-head or uno); leave them out"
                )
            features = [
                grid_of(grids[layer], shown, f"{inference.name}: layer {layer}") for layer in self._layers
            ]
            here = part_of(anomaly, box, view.shape[1:])
            parts.append(Grids.of(features, logits_of(answer, inference.name), here))
        return parts

    def _image(self, number: int) -> tuple[Image, UnreadImages]:
        if self._negatives is not None and number < self._first:
            return self._negatives.images[number], self._negatives.unread
        assert self._rows is not None
        return self._rows.rows[number - self._first][0], self.unread

    def _of_negative(self, image: Image, size: tuple[int, int]) -> np.ndarray:
        """Return the anomaly labels (H, W) of an image of --negatives."""
        assert self._negatives is not None
        anomaly, view = self._negatives.view(image, size)
        if view.semantic is not None:
            anomaly[(anomaly == KNOWN) & ~self._known[view.semantic]] = OPEN
        return anomaly

    def _of_row(self, number: int, size: tuple[int, int]) -> np.ndarray:
        """Return anomaly labels (H, W) of a training image, in which nothing is anomalous."""
        assert self._rows is not None
        known = self._known[self._rows.places(number - self._first, size)]
        return np.where(known, KNOWN, OPEN).astype(np.uint8)
