"""Training images as a network sees them, small, beside their labels: what resynthesis learns from.

Conventions: labels are places of the class list, -1 for void and for classes that the network does not know
or that a holdout withholds. Images are kept in memory, as float16, up to a quarter of the machine's; beyond,
they are read again each time they are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultscape.corpus.unread_images import UnreadImages
from faultscape.maps.resize import nearest
from faultscape.prediction.bounds import memory
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.uncertainty.methods.evidence.resynthesis import sides_of, small_image
from faultscape.uncertainty.methods.evidence.swapped_labels import Part
from faultscape.verbs.fit.open_model import OpenedModel
from faultscape.verbs.fit.samples import Meaning, part_of
from faultscape.verbs.train.labelled_images import LabelledImages

_MOST = 4  # one byte in so many of this machine's memory


class ShownLabels:
    """The labelled images of a study as a model shows them to its network."""

    def __init__(self, study: Study, model: OpenedModel, meaning: Meaning, rows: LabelledImages) -> None:
        self._settings = study.settings
        self._model = model
        self._meaning = meaning
        self._rows = rows
        self._kept = dict[int, list[Part]]()
        self._bytes = 0
        self.unread = UnreadImages("training image", len(rows))

    def __len__(self) -> int:
        return len(self._rows)

    def __call__(self, number: int) -> Sequence[Part]:
        """Return an image and its labels, of each window if it has several, none if it is unreadable."""
        if number in self._kept:
            return self._kept[number]
        parts = self._made(number)
        size = sum(image.numel() * image.element_size() + labels.nbytes for image, labels in parts)
        if (self._bytes + size) * _MOST <= memory():
            self._kept[number] = parts
            self._bytes += size
        return parts

    def key(self) -> str:
        """Return a key of all that they follow from."""
        return key_of(
            self._model.digest,
            self._model.shown,
            self._meaning.places.tolist(),
            self._meaning.channels.tolist(),
            self._rows.key(),
        )

    def _made(self, number: int) -> list[Part]:
        image = self._rows.rows[number][0]
        if (photo := self.unread.read(image)) is None:
            return []
        size = self._settings.working_size or (photo.shape[1], photo.shape[0])
        inference = self._model.inference
        view = inference.prepare(photo, size).views[0]
        labels = self._meaning.places[self._rows.places(number, (photo.shape[1], photo.shape[0]))]
        parts = []
        for block, box in inference.pieces(view):
            tall, wide = sides_of(block.shape[1:])
            small = nearest(part_of(labels, box, view.shape[1:]), (wide, tall))
            parts.append((small_image(block), np.maximum(small, -1)))
        return parts
