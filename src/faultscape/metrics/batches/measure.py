"""Metrics of label maps accumulated batch by batch, with the intervals that `measure` gives them:
`Measure(classes, metrics)`.

Conventions: a batch is N maps of the class list's ids, and of each image its sufficient statistics are kept
(``image_statistics``), not its maps. Metrics of pixels are counted where tensors are: on a GPU nothing is
read back before `Measure.compute`. Statistics of regions, boundaries, partitions and centrelines are made on
the processor, so those maps are copied to it at each update. torch is never imported here: a tensor
cannot exist before it is.
Source: those of the metrics.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, Unpack

import numpy as np

from faultscape.arguments import ClassList
from faultscape.choices import VoidRule
from faultscape.classes.class_lists import allowed, resolve
from faultscape.errors import LabelMapError, MetricError, OptionError, closest, counted
from faultscape.maps import checked_arrays
from faultscape.maps.tensors import is_tensor, on_processor
from faultscape.metrics import image_statistics
from faultscape.metrics.batches import device_counts, ranks
from faultscape.metrics.catalogue import named
from faultscape.metrics.definitions import MapChoices, define
from faultscape.metrics.intervals.units import units_of
from faultscape.metrics.metric import Metric
from faultscape.metrics.overlaps.regions import Maps, place
from faultscape.metrics.summary import summarise
from faultscape.nouns import Classes

PIXELS = ("miou", "fwiou", "mpa", "pixel_accuracy", "dice")  # what a Measure computes unless told
UNKNOWN = "unknown"  # the count of values that are no class, which a GPU cannot refuse at once


class Interval(NamedTuple):
    """A number of a data set and its 95 % interval, NaN for fewer than six images or groups."""

    value: float  # the metric over all images
    low: float  # the lower end of its interval
    high: float  # the upper end


class Measure:
    """Metrics of label maps over the batches of a loop: `update` with each, then `compute`.

    Metrics of pixels are counted on the device of the tensors; for others the maps are copied to the
    processor at each update. The numbers are those of `measure_maps` and of the verb `measure` for the same
    images. MetricError for a metric that is not one of label maps, OptionError for an unknown definition.

    Parameters
    ----------
    classes
        Classes, a built-in name, names or a number.
    metrics
        Names of the catalogue; default: those of pixels.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; a number names the void id, for classes given as a number or as names.
    divisor
        With regions="given": class = id // divisor; None: the id is the class.
    definitions
        Those of `define` that concern label maps, by name: over, connectivity, tolerance, ..., preset.

    >>> measure = Measure(classes=2, metrics=["miou"])
    >>> measure.update(np.array([[0, 0, 1, 1]]), np.array([[0, 1, 1, 1]]))
    >>> measure.update(np.array([[1, 1, 1, 1]]), np.array([[1, 1, 1, 1]]))
    >>> round(measure.compute()["miou"].value, 4)
    0.6786
    """

    def __init__(
        self,
        classes: ClassList,
        metrics: Sequence[str] = PIXELS,
        *,
        background: int | None = None,
        void: VoidRule | int | tuple[int, ...] = "cut",
        divisor: int | None = None,
        **definitions: Unpack[MapChoices],
    ) -> None:
        ids = () if isinstance(void, str) else void
        self.classes: Classes = resolve(classes, background=background, void=ids)
        self.definitions = define(void=void if isinstance(void, str) else None, **definitions)
        self.metrics: tuple[Metric, ...] = metrics_of_maps(metrics, self.definitions.regions)
        if divisor is not None and (divisor < 1 or self.definitions.regions != "given"):
            raise OptionError(
                f"divisor is a whole number, 1 or more, of regions='given'; got {divisor} and"
                f" regions={self.definitions.regions!r}"
            )
        self.divisor = divisor
        self._reads = frozenset(metric.reads for metric in self.metrics)
        # of each batch {statistic: (N, ...)}, arrays or tensors, and the group of each image
        self._batches: list[Mapping[str, Any]] = []
        self._groups: list[str] = []
        self._of_tensors = False  # whether it was ever given one

    def __repr__(self) -> str:
        names = ", ".join(metric.name for metric in self.metrics)
        return f"Measure({names}; {len(self.classes)} classes, {self.images} images)"

    @property
    def images(self) -> int:
        """How many images have been counted since the last reset."""
        return len(self._groups)

    def update(self, truth: Maps, prediction: Maps, groups: Sequence[str] | str | None = None) -> None:
        """Count a batch of maps; LabelMapError for maps that do not fit each other or the classes.

        Parameters
        ----------
        truth, prediction
            (N, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors of whole
            numbers. A value that is not a class is refused here, or on a GPU by `compute`.
        groups
            The group of each image (N), '' for none: images of one group are redrawn together.
        """
        self.add(*self.counted(truth, prediction, groups))
        maps = [m for some in (truth, prediction) for m in (some if isinstance(some, list) else [some])]
        self._of_tensors |= any(map(is_tensor, maps))

    def counted(
        self, truth: Maps, prediction: Maps, groups: Sequence[str] | str | None = None
    ) -> tuple[Mapping[str, Any], list[str]]:
        """Return {statistic: (N, ...)} of a batch and the group of each image, and keep nothing; `add` takes
        both. Arguments and errors are those of `update`.
        """
        if self._reads == {"both"} and _on_another_device(truth, prediction):
            batch = device_counts.of_batch(truth, prediction, self.classes)
        else:
            batch = self._of_pairs(truth, prediction)
        return batch, _group_names(groups, len(next(iter(batch.values()))))

    def add(self, statistics: Mapping[str, Any], groups: Sequence[str]) -> None:
        """Add images that `counted` counted, here or elsewhere."""
        self._batches.append(statistics)
        self._groups += groups

    @classmethod
    def like(cls, other: Measure) -> Measure:
        """Return a measure of the same classes, metrics and definitions, without images."""
        out = copy.copy(other)
        out.reset()
        return out

    def compute(self) -> dict[str, Interval]:
        """Return {metric: (value, low, high)} over all images since the last reset, in the order of the
        catalogue; MetricError where there is none.

        Intervals are 95 %, of data to come: images, or groups, are redrawn.
        """
        stats = self.statistics()
        found = summarise(
            stats, self.definitions, self.classes.groups, np.ones(self.images, bool), self.metrics
        )
        units = units_of(self._groups)
        out = {}
        for metric in self.metrics:
            one = found[metric.name]
            low, high = np.clip(one.evidence.interval(units), *metric.bounds(self.definitions)).tolist()
            out[metric.name] = Interval(one.value, low, high)
        return out

    def merge(self, other: Measure) -> None:
        """Add the images of another measure, behind those of this one; MetricError unless it has the same
        classes, metrics and definitions.
        """
        if not isinstance(other, Measure):
            raise MetricError(f"merge: expected a Measure; got {type(other).__name__}")
        self._check_alike(other.about(), "merge")
        self._batches += other._batches
        self._groups += other._groups

    def gather(self) -> Measure:
        """Return the measure of all ranks of torch.distributed, their images in the order of ranks; one
        process alone returns a copy.

        Every rank calls it, and every rank gets the same. Statistics are sent as they are, so that sums are
        exact.
        """
        whole = Measure.like(self)
        for stats, groups in ranks.gathered(self.statistics(empty=True), self._groups):
            if groups:
                whole.add(stats, groups)
        return whole

    def reset(self) -> None:
        """Forget all images."""
        self._batches = []
        self._groups = []

    def state_dict(self) -> dict[str, Any]:
        """Return all that was counted, for `load_state_dict`: names, numbers and arrays, which are tensors on
        the processor after updates with tensors, so that torch.save takes it, and torch.load with
        weights_only.
        """
        stats = self.statistics(empty=True)
        if self._of_tensors:
            torch = sys.modules["torch"]
            stats = {name: torch.from_numpy(values) for name, values in stats.items()}
        return {**self.about(), "groups": [*self._groups], "statistics": stats}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned; MetricError if its classes, metrics or
        definitions differ.
        """
        if not isinstance(state, Mapping):
            raise MetricError(
                f"load_state_dict: expected what state_dict returned; got {type(state).__name__}"
            )
        lacking = [name for name in (*self.about(), "groups", "statistics") if name not in state]
        if lacking:
            raise MetricError(f"load_state_dict: {', '.join(lacking)} missing; give what state_dict returned")
        self._check_alike(state, "load_state_dict")
        self._groups = [*state["groups"]]
        self._batches = [dict(state["statistics"])] if self._groups else []

    def statistics(self, *, empty: bool = False) -> dict[str, np.ndarray]:
        """Return {statistic: (I, ...)} of all images, on the processor; MetricError where there is no image,
        unless ``empty``, and LabelMapError where a GPU met a value that is not a class.
        """
        if not self._batches:
            if empty:
                return {}
            raise MetricError("there is no image to compute metrics of; call update first")
        stats = {name: _joined(name, [batch[name] for batch in self._batches]) for name in self._names()}
        if any(UNKNOWN in batch for batch in self._batches):
            self._check_values()
        return stats

    def about(self) -> dict[str, Any]:
        """Return what two measures must share to be added up: classes, metrics and definitions, as names and
        numbers.
        """
        classes = self.classes
        return {
            "classes": dict(zip(classes.names, classes.ids, strict=True)),
            "void": [*classes.void],
            "background": classes.background,
            "metrics": [metric.name for metric in self.metrics],
            "definitions": asdict(self.definitions) | {"divisor": self.divisor},
        }

    def _of_pairs(self, truth: Maps, prediction: Maps) -> dict[str, np.ndarray]:
        """Return the statistics of a batch, made on the processor."""
        pairs = pairs_of(truth, prediction)
        rows = [self._of_pair(one, other, k) for k, (one, other) in enumerate(pairs)]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def _of_pair(self, truth: Any, prediction: Any, k: int) -> image_statistics.Statistics:
        if self.definitions.regions == "given":
            return image_statistics.of_regions(
                truth, prediction, self.classes, self.definitions, self.divisor, also=self._reads
            )
        one, other = (
            place(m, self.classes, f"{what}, image {k}")
            for m, what in ((truth, "truth"), (prediction, "prediction"))
        )
        if one.shape != other.shape:
            raise LabelMapError(
                f"prediction, image {k}: is {other.shape[1]} x {other.shape[0]} pixels and its truth"
                f" {one.shape[1]} x {one.shape[0]}; give maps of the truth's size"
            )
        return image_statistics.of_reads(one, other, self.classes, self.definitions, self._reads)

    def _names(self) -> Collection[str]:
        return [name for name in self._batches[0] if name != UNKNOWN]

    def _check_values(self) -> None:
        """Raise LabelMapError for the first image with values that are not classes."""
        first = 0
        for batch in self._batches:
            number = len(batch["both"])
            if UNKNOWN in batch and (unknown := on_processor(batch[UNKNOWN], UNKNOWN)).any():
                k, side = np.argwhere(unknown)[0].tolist()
                raise LabelMapError(
                    f"{('truth', 'prediction')[side]}, image {first + k} since reset: {unknown[k, side]}"
                    f" pixels hold values that are not classes; allowed are {allowed(self.classes)}"
                )
            first += number

    def _check_alike(self, other: Mapping[str, Any], what: str) -> None:
        for name, mine in self.about().items():
            if other[name] != mine:
                raise MetricError(
                    f"{what}: the other has {name} {_shown(other[name])} and this {_shown(mine)}; make both"
                    " alike"
                )


def metrics_of_maps(names: Sequence[str], regions: str = "connected") -> tuple[Metric, ...]:
    """Return the entries of these metrics of label maps, in the order of the catalogue; MetricError for
    others.

    >>> [metric.name for metric in metrics_of_maps(["rom", "miou"])]
    ['miou', 'rom']
    """
    known = {name: metric for name, metric in named().items() if not metric.of_scores}
    names = [names] if isinstance(names, str) else [*names]
    for name in names:
        if name not in known:
            of_scores = name in named()
            raise MetricError(
                f"metric {name!r} is computed from scores, not from label maps; see fs.metrics.{name}"
                if of_scores
                else f"metric {name!r} is not known; known are {', '.join(known)}."
                f"{closest(name, list(known))}"
            )
        if regions == "given" and "given" not in known[name].needs:
            raise MetricError(f"metric {name!r} is not defined for maps of given regions; leave it out")
    if not names:
        raise MetricError(f"metrics: give one or more of {', '.join(known)}")
    return tuple(metric for name, metric in known.items() if name in names)


def pairs_of(truth: Maps, prediction: Maps) -> list[tuple[Any, Any]]:
    """Return the pairs of maps of a batch, as arrays; LabelMapError unless there is one for one."""
    maps: Any
    for maps, what in ((truth, "truth"), (prediction, "prediction")):
        if is_tensor(maps):  # whose cures are called otherwise than those of arrays
            device_counts.check_tensor(maps, what)
    true, predicted = (
        [on_processor(m, what) for m in checked_arrays.images(on_processor(maps, what), what)]
        for maps, what in ((truth, "truth"), (prediction, "prediction"))
    )
    if not true and not predicted:
        raise LabelMapError("truth: holds no map; give one for each image, I x H x W")
    if len(true) != len(predicted):
        raise LabelMapError(
            f"there are {counted(len(true), 'true map')} and {counted(len(predicted), 'predicted one')}; give"
            " one for one"
        )
    return list(zip(true, predicted, strict=True))


def _is_elsewhere(values: Any) -> bool:
    return is_tensor(values) and values.device.type != "cpu"


def _on_another_device(*maps: Any) -> bool:
    """Whether any of these, or of the maps in a list, is a tensor that is not in memory."""
    return any(map(_is_elsewhere, maps)) or any(
        _is_elsewhere(m) for some in maps if isinstance(some, list | tuple) for m in some
    )


def _joined(name: str, parts: Sequence[Any]) -> np.ndarray:
    """Return statistics of batches as one array (I, ...), each device read once."""
    if all(map(is_tensor, parts)) and len({part.device for part in parts}) == 1:
        torch = sys.modules["torch"]
        return on_processor(torch.cat(list(parts)), name)
    return np.concatenate([on_processor(part, name) for part in parts])


def _group_names(groups: Any, count: int) -> list[str]:
    if groups is None:
        return [""] * count
    groups = [groups] if isinstance(groups, str) else groups
    names = [
        "" if name is None else str(name) for name in checked_arrays.sequence(groups, "groups", LabelMapError)
    ]
    if len(names) != count:
        raise LabelMapError(
            f"there are {counted(count, 'image')} and {counted(len(names), 'group')}; give one for one"
        )
    return names


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
