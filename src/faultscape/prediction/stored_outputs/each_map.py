"""An opened model whose maps are stored: what is stored of an image is read when its batch comes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from faultscape.prediction.batches import NO_MAP, Batch, Row
from faultscape.prediction.source import OpenModel, Part
from faultscape.study.tables.corpus import Image


class OpenStored(OpenModel):
    """Reads the maps of ``batch`` images before they are saved; a subclass reads that of one."""

    batch: ClassVar[int]

    def batch_size(self, images: int) -> int:
        """Return how many maps are read before they are saved."""
        del images
        return self.batch

    def batches(self, batches: Iterable[Sequence[Image]], part: Part) -> Iterator[Batch]:
        """Yield the maps of the images in ``part.files``."""
        for batch in batches:
            start = time.perf_counter()
            rows = [self._row(image, part.files.get(image.id)) for image in batch]
            yield Batch(rows, (time.perf_counter() - start, 0.0, 0.0, 0.0))

    def _row(self, image: Image, stored: str | None) -> Row:
        if stored is None:
            return Row(image.id, None, problem="" if image.parent else NO_MAP)
        return self.read(image, stored)

    def read(self, image: Image, stored: str) -> Row:
        """Return the map that is ``stored`` under this name for an image, or why it cannot be used."""
        raise NotImplementedError
