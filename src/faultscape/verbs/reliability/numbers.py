"""Compute the numbers of one model under one condition, with the slopes or draws for their intervals.

Conventions: slopes and draws are by unit (conditions.Units), the same for all models and conditions of a
study, so means over conditions and differences of models need no second pass over the images. Images without
counts of a model are left out, as are those that trained it; two models are compared on the images that both
have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit

from faultscape.errors import LabelMapError, StudyError
from faultscape.metrics.intervals.evidence import Drawn, Ratios
from faultscape.metrics.intervals.robustness import ece_of_bins, image_miou, miou_of_cells, without
from faultscape.metrics.intervals.slopes import Linear
from faultscape.metrics.intervals.units import Draws
from faultscape.metrics.scorers import scorer_named
from faultscape.metrics.scores.bootstrap import SparseHistogram
from faultscape.metrics.scores.found_objects import (
    RATES,
    found_shares,
    object_place,
    of_objects,
)
from faultscape.metrics.scores.grouped_counts import (
    FALSE,
    OBJECTS,
    GroupedCounts,
    Objects,
    decode_counts,
    dense_counts,
    of_anomaly,
    of_errors,
    of_pasted,
)
from faultscape.metrics.scores.histogram import SIZE, VALUES
from faultscape.metrics.scores.rank_slopes import (
    Ranked,
    average_precision_alone,
    average_precision_of,
    rank_images,
    recall_above,
    shares_above,
)
from faultscape.metrics.scores.thresholds import threshold_place
from faultscape.reading.study import Study
from faultscape.reporting.reliability.document import ALL_OBJECTS, own_scorer
from faultscape.study.tables import pixel_counts
from faultscape.study.tables.corpus import Image, part_name
from faultscape.study.tables.pixel_counts import MAPS
from faultscape.verbs.reliability.conditions import Condition, Units
from faultscape.verbs.reliability.counts import ModelCounts

QUARTERS = ("smallest quarter", "second quarter", "third quarter", "largest quarter")
THIRDS = ("upper third", "middle third", "lower third")
_LEAST = 8  # fewer objects are not divided


@dataclass(frozen=True, eq=False)
class ObjectNumbers:
    """The results for some anomalous objects: their number, the AP of their pixels against all known ones,
    at 5 % false alarms the mean share of their pixels, and the share of objects found at each of
    `found_objects.RATES`.
    """

    called: str
    objects: int
    average_precision: float
    recall: float
    found: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class ScoreNumbers:
    """The performance of a scorer under one condition, at detecting anomalous or wrong pixels; for anomalies
    also the share of objects found at each of `found_objects.RATES`, and the objects by size and position.
    """

    ranked: Ranked
    found: tuple[Drawn, ...] = ()
    objects: tuple[ObjectNumbers, ...] = ()
    pasted: Ranked | None = None


@dataclass(frozen=True, eq=False)
class FrameNumbers:
    """Single frames of a condition: {image: average precision}, {image: share of anomalous pixels}, and
    ``shares`` (65536,), the share of known pixels that score at least as high as each place.
    """

    average_precision: Mapping[str, float]
    anomalous: Mapping[str, float]
    shares: np.ndarray


class ModelNumbers:
    """The numbers of one model, read once."""

    def __init__(self, study: Study, counts: ModelCounts, units: Units, draws: Draws) -> None:
        self.name = counts.name
        self.scorers = dict(counts.scorers)
        self._root = study.root
        self._counts = counts
        self._units = units
        self._draws = draws
        where = pixel_counts.counts_folder(study.root, counts.name, MAPS)
        self._trained = study.trained_on(counts.name)
        held = pixel_counts.read_map_counts(where, len(study.classes), counts.parts.get(MAPS, {}))
        self._maps = {id_: row for id_, row in held.items() if id_ not in self._trained}
        self._codes = lru_cache(maxsize=1)(self._read_codes)

    @property
    def own_scorer(self) -> tuple[str, str]:
        """(Folder, word) of the scorer of the model's own row (`document.own_scorer`); ('', '')
        without one.
        """
        word = own_scorer(list(self.scorers.values()))
        return next((row for row in self.scorers.items() if row[1] == word), ("", ""))

    def counted(self, condition: Condition, scorer: str = "") -> tuple[str, ...]:
        """Return the images of a condition with counts: of maps with labels, or of a scorer (its folder)."""
        if scorer:
            held = self._codes(scorer)
            return tuple(id_ for id_ in condition.images if (id_, condition.holdout) in held)
        return tuple(
            id_ for id_ in condition.images if id_ in self._maps and self._maps[id_].cells is not None
        )

    def unanswered(self, images: Sequence[Image]) -> int:
        """Return how many of some images have no counts although their shards were counted."""
        lacking = self._counts.lacking[MAPS]
        return sum(
            image.id not in self._maps and image.id not in self._trained and image.shard not in lacking
            for image in images
        )

    def counts_key(self, scorer: str, shard: int) -> str:
        """Return the key of the counts of a scorer (its folder) in a shard."""
        return self._counts.parts[scorer][part_name(shard)].key

    def miou(self, images: Sequence[str], withheld: np.ndarray | None = None) -> Ratios | None:
        """Return the mIoU over some images, without ``withheld`` classes (C,); None without images."""
        return self._of_cells([self._maps[id_].cells for id_ in images], images, withheld)

    def compared(self, images: Sequence[str]) -> tuple[str, ...]:
        """Return the images whose maps were compared with the model's own maps of their parents."""
        return tuple(id_ for id_ in images if id_ in self._maps and self._maps[id_].agreement is not None)

    def consistency(self, images: Sequence[str]) -> Ratios | None:
        """Return the mIoU of the maps of some images with the model's own maps of their parents; None if none
        was compared.
        """
        there = self.compared(images)
        return self._of_cells([self._maps[id_].agreement for id_ in there], there, None)

    def ece(self, images: Sequence[str], withheld: np.ndarray | None = None) -> Drawn | None:
        """Return the expected calibration error over some images, without pixels of ``withheld`` classes
        (C,); None if no confidence was counted.
        """
        held = {id_: bins for id_ in images if (bins := self._maps[id_].bins) is not None}
        if not held:
            return None
        bins = np.stack([of.without(withheld) for of in held.values()])
        return ece_of_bins(bins, self._of([*held]), self._draws)

    def anomalies(self, scorer: str, condition: Condition, images: Sequence[str]) -> ScoreNumbers:
        """Return the performance of a scorer at detecting anomalous pixels of some images."""
        held = self.groups(scorer, condition, images)
        ranked = self._ranked([of_anomaly(counts) for counts in held], images)
        found = found_shares([of_objects(counts) for counts in held], self._of(images), self._draws)
        objects = () if ranked.undefined else tuple(_by_object(held))
        return ScoreNumbers(ranked, found, objects, self._of_pasted(held, images))

    def anomaly_histograms(
        self, scorer: str, condition: Condition, images: Sequence[str]
    ) -> list[SparseHistogram]:
        """Return the histograms of known and anomalous pixels of some images."""
        return [of_anomaly(self._decoded(scorer, id_, condition.holdout)) for id_ in images]

    def by_unit(self, number: Linear, images: Sequence[str]) -> Linear:
        """Convert a number's slopes by image to slopes by unit."""
        of = self._of(images)
        slopes = np.full(self._units.count, np.nan)
        slopes[of] = 0.0
        np.add.at(slopes, of, np.nan_to_num(number.slopes))
        return Linear(number.value, slopes)

    def _of_pasted(self, held: Sequence[GroupedCounts], images: Sequence[str]) -> Ranked | None:
        """Return how well a scorer separates pasted known objects from other known pixels; None without
        pasted objects.
        """
        if not any(counts.objects.pasted.any() for counts in held):
            return None
        return self._ranked([of_pasted(counts) for counts in held], images)

    def groups(self, scorer: str, condition: Condition, images: Sequence[str]) -> list[GroupedCounts]:
        """Return the counts of a scorer on some images of a condition."""
        return [self._decoded(scorer, id_, condition.holdout) for id_ in images]

    def known_pixels(self, scorer: str, views: Sequence[tuple[str, str]]) -> tuple[np.ndarray, int]:
        """Return the counts (65536,) of the known pixels of some views, (image, holdout), and how many views
        were counted.
        """
        held = [self._decoded(scorer, *view) for view in views if view in self._codes(scorer)]
        return dense_counts(counts.known for counts in held), len(held)

    def error_histograms(
        self, scorer: str, images: Sequence[str], holdout: str = ""
    ) -> list[SparseHistogram]:
        """Return the histograms of right and wrong pixels of some images, without those that a holdout
        withholds.
        """
        return [of_errors(self._decoded(scorer, id_, holdout)) for id_ in images]

    def frames(self, scorer: str, condition: Condition, images: Sequence[str]) -> FrameNumbers:
        """Return the performance of a scorer in each image that has both anomalous and known pixels; of a
        condition without anomalies, that has both wrong and right pixels.
        """
        found = dict[str, float]()
        anomalous = dict[str, float]()
        total = np.zeros(SIZE, np.int64)
        of = of_anomaly if condition.with_anomalies else of_errors
        for id_ in images:
            pixels = of(self._decoded(scorer, id_, condition.holdout))
            total[pixels.places] += pixels.known
            if (value := average_precision_alone(pixels)) == value:
                found[id_] = value
                anomalous[id_] = float(pixels.anomalous.sum() / (pixels.known.sum() + pixels.anomalous.sum()))
        return FrameNumbers(found, anomalous, shares_above(total))

    def errors(self, scorer: str, images: Sequence[str], holdout: str = "") -> ScoreNumbers:
        """Return the performance of a scorer at detecting wrong pixels of some images, without those that a
        holdout withholds.
        """
        ranked = self._ranked(self.error_histograms(scorer, images, holdout), images)
        return ScoreNumbers(ranked)

    def image_miou(self, images: Sequence[str], withheld: np.ndarray | None = None) -> dict[str, float]:
        """Return {image: mIoU}, without ``withheld`` classes (C,), of the images that have labels and
        counts.
        """
        held = {id_: self._maps[id_].cells for id_ in images if id_ in self._maps}
        return {id_: image_miou(cells, withheld) for id_, cells in held.items() if cells is not None}

    def mean_scores(self, scorer: str, images: Sequence[str]) -> dict[str, float]:
        """Return {image: mean of a scorer over its valid pixels}; a bounded score is given as a share of its
        maximum.
        """
        codes = self._codes(scorer)
        ends = scorer_named(self.scorers[scorer]).most is not None
        values = expit(VALUES.astype(np.float64)) if ends else VALUES.astype(np.float64)
        out = {}
        for id_ in images:
            if (id_, "") in codes:
                counts = self._decoded(scorer, id_, "")
                dense = dense_counts([counts.known, counts.anomalous])
                at = np.flatnonzero(dense)
                if len(at):
                    out[id_] = float((dense[at] * values[at]).sum() / dense.sum())
        return out

    def _decoded(self, scorer: str, id_: str, holdout: str) -> GroupedCounts:
        """Return the counts of an image; StudyError if they are damaged."""
        try:
            return decode_counts(self._codes(scorer)[id_, holdout])
        except LabelMapError as error:
            where = pixel_counts.counts_folder(self._root, self.name, scorer)
            raise StudyError(
                f"{where}: {id_}: {error}; delete that folder and run the lines of predict again"
            ) from None

    def _of(self, images: Sequence[str]) -> np.ndarray:
        return np.array([self._units.of[id_] for id_ in images], np.int64)

    def _of_cells(
        self, cells: Sequence[np.ndarray | None], images: Sequence[str], withheld: np.ndarray | None
    ) -> Ratios | None:
        if not images:
            return None
        held = np.stack([of for of in cells if of is not None])
        return miou_of_cells(without(held, withheld), self._of(images), self._units.count)

    def _ranked(self, images: Sequence[SparseHistogram], ids: Sequence[str]) -> Ranked:
        return rank_images(images, self._of(ids), self._draws)

    def _read_codes(self, scorer: str) -> dict[tuple[str, str], bytes]:
        where = pixel_counts.counts_folder(self._root, self.name, scorer)
        return {
            (id_, holdout): code
            for part, entry in sorted(self._counts.parts[scorer].items())
            for id_, holdout, code in pixel_counts.read_score_counts(where, part, entry)
            if id_ not in self._trained
        }


def _by_object(images: Sequence[GroupedCounts]) -> list[ObjectNumbers]:
    """Return the numbers of all objects, and, of eight objects or more, by quartile of size and by third of
    the image's height.
    """
    chosen = [(ALL_OBJECTS, lambda o: np.ones(len(o.pixels), bool))]
    sizes = np.concatenate([counts.objects.pixels[~counts.objects.pasted] for counts in images])
    if len(sizes) >= _LEAST:
        ends = np.quantile(sizes, [0.25, 0.5, 0.75])
        chosen += [
            (called, lambda o, k=k: np.searchsorted(ends, o.pixels, "left") == k)
            for k, called in enumerate(QUARTERS)
        ]
        chosen += [
            (called, lambda o, k=k: np.minimum((o.down * 3).astype(int), 2) == k)
            for k, called in enumerate(THIRDS)
        ]
    known = dense_counts(counts.known for counts in images)
    at = [threshold_place(known, rate) for rate in RATES]
    return [_of_some(called, images, of, known, at) for called, of in chosen]


def _of_some(
    called: str,
    images: Sequence[GroupedCounts],
    chosen: Callable[[Objects], np.ndarray],
    known: np.ndarray,
    at: Sequence[int],
) -> ObjectNumbers:
    rows = [
        counts.rows[OBJECTS + k]
        for counts in images
        for k in np.flatnonzero(chosen(counts.objects) & ~counts.objects.pasted).tolist()
    ]
    if not rows:
        return ObjectNumbers(called, 0, math.nan, math.nan, (math.nan,) * len(at))
    places = np.array([object_place(*row) for row in rows])
    return ObjectNumbers(
        called,
        len(rows),
        average_precision_of(known, dense_counts(rows)),
        float(np.mean([recall_above(*row, at[RATES.index(FALSE)]) for row in rows])),
        tuple(float((places >= one).mean()) for one in at),
    )
