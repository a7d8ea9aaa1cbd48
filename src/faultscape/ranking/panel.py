"""The panel that every ranking is computed from: what each model scores on each image.

Conventions: J models, I images. ``scores`` (J, I) are large = good, NaN where unknown: concordances with the
truth, or 1 and 0 for classifiers. Images are sorted by ``faultscape.ties``, by their keys or their ids: the
bootstrap draws the same images whatever their names and original order. Row 0 of weights is the point
estimate, whose weights are ones; the others are draws of images with replacement. Images of the selection and
other images are separate strata, so that further labels do not affect the faithful intervals; whole groups
are drawn with all of their images.
Source: Efron 1979.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from faultscape.errors import OptionError, RankingError
from faultscape.nouns import JsonObject
from faultscape.ranking import intervals
from faultscape.ranking.catalogue import Ranking
from faultscape.ties import tie_order


@dataclass(frozen=True)
class RankingOptions:
    """How models are ranked, whatever the evidence.

    ``resamples`` and ``seed`` are those of the bootstrap; with ``all_labels``, labelled images outside the
    selection count in the rankings that re-use labels. ``benchmark`` is {model: score} of a closed benchmark,
    larger is better. ``definitions`` are recorded as they are. ``extra`` are rankings of your own
    (`find_ranking`). OptionError for negative resamples.
    """

    resamples: int = 1000
    seed: int = 0
    all_labels: bool = False
    benchmark: Mapping[str, float] | None = None
    definitions: JsonObject = field(default_factory=dict)
    extra: Sequence[Ranking] = ()

    def __post_init__(self) -> None:
        if self.resamples < 0:
            raise OptionError(f"resamples cannot be negative; got {self.resamples}")

    def recorded(self) -> dict[str, int | bool]:
        """Return what standings record of them."""
        return {"resamples": self.resamples, "seed": self.seed, "all_labels": self.all_labels}


@dataclass(frozen=True, eq=False)
class Panel:
    """Scores (J, I) of models on images, and which images a selection ``chosen`` (I,).

    ``groups`` are {image: group}; ``group`` (I,) is the number of the group of each image where whole groups
    are drawn, and None where each image is drawn for itself. The selection has that many ``slots``, which
    ask for a number of images (``wanted``); ``discarded`` is the number of those that were discarded.
    """

    models: tuple[str, ...]
    images: list[str]
    scores: np.ndarray
    chosen: np.ndarray
    groups: Mapping[str, str] = field(default_factory=dict)
    group: np.ndarray | None = None
    slots: int = 0
    wanted: int = 0
    discarded: int = 0

    @classmethod
    def of(
        cls,
        models: Sequence[str],
        images: Sequence[str],
        scores: ArrayLike,
        *,
        keys: Sequence[str] | None = None,
        groups: Mapping[str, str] | None = None,
        discarded: int = 0,
    ) -> Panel:
        """Return the panel of all images as if each was chosen; ``keys`` (I,) identify images independently
        of their names.

        RankingError for fewer than two models, and for scores or keys that do not fit.

        >>> Panel.of(["a", "b"], ["y", "x"], [[1, 0], [0, 0]]).scores
        array([[0., 1.],
               [0., 0.]])
        """
        scores = np.asarray(scores, dtype=float)
        if len(models) < 2:
            raise RankingError(f"a ranking needs two models; there is {', '.join(models) or 'none'}")
        if scores.shape != (len(models), len(images)):
            raise RankingError(
                f"scores have shape {scores.shape}; expected {len(models)} models by {len(images)} images"
            )
        if keys is not None and len(keys) != len(images):
            raise RankingError(f"there are {len(keys)} keys for {len(images)} images; give each image one")
        order = tie_order(images if keys is None else keys, ids=images)
        return cls(
            tuple(models),
            [images[int(k)] for k in order],
            scores[:, order],
            np.ones(len(images), bool),
            groups or {},
            discarded=discarded,
        )

    @property
    def labelled(self) -> np.ndarray:
        """Which images (I,) have a label that scores some model."""
        return np.asarray(~np.isnan(self.scores).all(0))

    def counting(self, chosen: Collection[str], known: np.ndarray, how: str, *, all_labels: bool) -> Panel:
        """Return the panel of the images that count: of those ``known`` (I,) the ones that the slots of a
        selection have ``chosen``, or all; ``how`` they were chosen is for the RankingError if there is none.

        >>> panel = Panel.of(["a", "b"], ["x", "y", "z"], [[1, 0, 1], [0, 0, np.nan]])
        >>> part = panel.counting(["y", "y", "w"], panel.labelled, "chosen", all_labels=False)
        >>> part.images, part.slots, part.wanted
        (['y'], 3, 2)
        """
        wanted = set(chosen)
        mine = known & np.array([image in wanted for image in self.images], bool)
        if not mine.any():
            raise RankingError(f"none of the {len(wanted)} {how} has a label; label them, then rank")
        counted = replace(self, chosen=mine, slots=len(chosen), wanted=len(wanted))
        return counted.only(np.flatnonzero(mine | (all_labels & known)))

    def grouped(self) -> Panel:
        """Return the panel whose images are drawn in whole groups, if some share one."""
        return replace(self, group=group_numbers(self.images, self.groups))

    def only(self, columns: np.ndarray) -> Panel:
        """Return the panel of some of the images."""
        return replace(
            self,
            images=[self.images[k] for k in columns.tolist()],
            scores=self.scores[:, columns],
            chosen=self.chosen[columns],
            group=None if self.group is None else self.group[columns],
        )

    def weights(self, options: RankingOptions) -> np.ndarray:
        """Return (1 + B, I) ones, then how often each image is drawn in each replicate.

        >>> panel = Panel.of(["a", "b"], ["x", "y", "z"], [[1, 0, 1], [0, 0, 1]])
        >>> panel = replace(panel, chosen=np.array([True, True, False]))
        >>> panel.weights(RankingOptions(resamples=2))[:, 2]
        array([1., 1., 1.])
        """
        rng = np.random.default_rng(options.seed)
        weights = np.ones((options.resamples + 1, len(self.images)))
        if self.group is not None:
            names, code = np.unique(self.group, return_inverse=True)
            weights[1:] = intervals.bootstrap_weights(len(names), options.resamples, rng)[:, code]
            return weights
        for stratum in (self.chosen, ~self.chosen):
            weights[1:, stratum] = intervals.bootstrap_weights(int(stratum.sum()), options.resamples, rng)
        return weights

    def draws(self, some: np.ndarray) -> int:
        """Return how many draws there are of ``some`` (I,) of the images: as many as these images, or their
        groups.

        >>> panel = Panel.of(["a", "b"], ["x", "y", "z"], [[1, 0, 1], [0, 0, 1]])
        >>> some = np.array([True, True, False])
        >>> panel.draws(some), replace(panel, group=np.array([7, 7, 8])).draws(some)
        (2, 1)
        """
        return int(some.sum()) if self.group is None else len(np.unique(self.group[some]))


def group_numbers(images: Sequence[str], groups: Mapping[str, str] | None) -> np.ndarray | None:
    """Return the number (I,) of the group of each image, with an image in no group on its own; None if no
    image shares its group with another.

    >>> group_numbers(["x", "y", "z"], {"x": "a", "z": "a"}), group_numbers(["x", "y"], {"x": "a"})
    (array([0, 1, 0]), None)
    """
    numbers: dict[tuple[str, str], int] = {}
    found = [
        numbers.setdefault(
            ("group", name) if (name := (groups or {}).get(image)) else ("image", image), len(numbers)
        )
        for image in images
    ]
    return np.array(found) if len(numbers) < len(images) else None
