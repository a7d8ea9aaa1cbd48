"""How far every two models agree on every image, and which classes each model shows there: for label maps
from the study's counts, for classifiers from their answers.

Conventions: agreement is the concordance `miou`; for classifiers 1 if both name the same class and 0
otherwise; NaN if a model has no prediction, or nothing is counted. Disagreement is 1 minus the mean over the
pairs that have a number. Counts are read a shard at a time, in corpus order, while pages are already shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Protocol

import numpy as np

from faultscape.errors import FaultscapeError
from faultscape.metrics.catalogue import CONCORDANCES
from faultscape.nouns import Pairs
from faultscape.reading.answers import read_predictions
from faultscape.reading.pairs import read_block
from faultscape.reading.study import Study
from faultscape.verbs.view.columns import Columns

CONCORDANCE = "miou"


class Between(Protocol):
    """Agreement between models: ``read`` of ``total`` images are read, ``lacking`` of these have no counts;
    ``disagreement`` (I,).
    """

    models: tuple[str, ...]
    read: int
    total: int
    lacking: int
    disagreement: np.ndarray

    def agreement(self, first: int, second: int) -> np.ndarray: ...
    def shows(self, model: int, class_: int) -> np.ndarray: ...


class MapCounts:
    """Label maps: filled shard by shard by `read_counts`."""

    def __init__(self, models: tuple[str, ...], classes: int, images: int) -> None:
        self.models = models
        self.read = 0
        self.total = images
        self.lacking = 0
        self._at = {pair: p for p, pair in enumerate(combinations(range(len(models)), 2))}
        self._values = np.full((len(self._at), images), np.nan, np.float32)
        self._shown = np.zeros((len(models), images, (classes + 7) // 8), np.uint8)
        self.disagreement = np.full(images, np.nan, np.float32)

    def agreement(self, first: int, second: int) -> np.ndarray:
        """Return (I,) how far two models agree."""
        return self._values[self._at[min(first, second), max(first, second)]]

    def shows(self, model: int, class_: int) -> np.ndarray:
        """Return (I,) whether a model predicts a class for some pixel."""
        return (self._shown[model, :, class_ >> 3] >> (class_ & 7) & 1).astype(bool)

    @property
    def furthest(self) -> tuple[str, str] | None:
        """The two models that agree least on average, as far as counts are read; None before any are."""
        mean = _mean(self._values.T)
        if not len(mean) or np.isnan(mean).all():
            return None
        pair = list(self._at)[int(np.nanargmin(mean))]
        return self.models[pair[0]], self.models[pair[1]]

    def take(self, where: slice, pairs: Pairs | None) -> None:
        """Store the counts of the images of one shard, in corpus order; None if there are none."""
        if pairs is None:
            self.lacking += where.stop - where.start
        else:
            of = np.array([self._at[min(p), max(p)] for p in pairs.pairs.tolist()], np.int64)
            # the same both ways
            values = CONCORDANCES[CONCORDANCE](pairs.both, pairs.rows, pairs.columns, over="union")
            self._values[of, where] = np.where(pairs.present, values, np.nan)
            self._shown[:, where] = np.packbits(pairs.totals[..., :-1] > 0, axis=-1, bitorder="little")
            self.disagreement[where] = 1 - _mean(self._values[:, where])
        self.read = where.stop


class Answers:
    """Classifiers: ``labels`` (J, I) places of classes, -1 for none."""

    def __init__(self, models: tuple[str, ...], labels: np.ndarray) -> None:
        self.models = models
        self.labels = labels
        self.read = self.total = labels.shape[1]
        self.lacking = int((labels < 0).all(0).sum())
        both = np.zeros(self.total)
        same = np.zeros(self.total)
        for first, second in combinations(labels, 2):
            said = (first >= 0) & (second >= 0)
            both = both + said
            same = same + (said & (first == second))
        self.disagreement = (
            1 - np.divide(same, both, out=np.full(self.total, np.nan), where=both > 0)
        ).astype(np.float32)

    def agreement(self, first: int, second: int) -> np.ndarray:
        """Return (I,) 1 where two models name the same class, 0 where they do not."""
        a = self.labels[first]
        b = self.labels[second]
        return np.where((a >= 0) & (b >= 0), a == b, np.nan).astype(np.float32)

    def shows(self, model: int, class_: int) -> np.ndarray:
        """Return (I,) whether a model names a class."""
        return self.labels[model] == class_


def between(study: Study, columns: Columns) -> MapCounts | Answers:
    """Return agreement between models: complete for classifiers, empty for label maps until `read_counts`
    fills it.
    """
    models = study.models
    if not study.classifies:
        return MapCounts(models, len(study.classes), len(columns))
    try:
        said = read_predictions(study, models, columns.ids.combine_chunks(), top=False)
        return Answers(models, said.labels)
    except FaultscapeError:
        # answers for other classes, until `predict` remakes them: the images can still be browsed
        return Answers(models, np.full((len(models), len(columns)), -1, np.int32))


def read_counts(study: Study, into: MapCounts, columns: Columns) -> Iterator[int]:
    """Read the counts shard by shard, and yield how many images are read; a shard with missing or stale
    counts has none.
    """
    for where, images in columns.each_shard():
        try:
            found = read_block(study, images, into.models) if into.models else None
        except FaultscapeError:
            found = None
        into.take(where, found)
        yield into.read


def _mean(values: np.ndarray) -> np.ndarray:
    """Return the mean over the first axis, ignoring NaN; NaN if all are."""
    there = ~np.isnan(values)
    count = there.sum(0)
    return np.divide(
        np.where(there, values, 0).sum(0), count, out=np.full(count.shape, np.nan), where=count > 0
    )
