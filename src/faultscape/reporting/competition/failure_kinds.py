"""Kinds of failure on the page: how many images have each tag, its share of each model's failures, and how
much more a model loses on images with it.

Conventions: numbers are over the labelled chosen images. A model fails if its value is below ``fails``; a
classifier, if it is wrong; by choices, if it lost most of them. Tags of unlabelled chosen images appear only
in the gallery. A page shows the ``MOST`` tags with most images.
Source: Yan et al. 2021, Fig. 11, Wang et al. 2020, Figs. 7 to 9.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.labelling.tags.tag_counts import Given, explain, tag_counts, tagged
from faultscape.reporting.view import Mark

MOST = 40  # tags on one page
ALPHA = 0.05


@dataclass(frozen=True)
class Part:
    """A count of a total, as a share with its interval; NaN if the total is 0, or nothing was ``tagged``."""

    count: int
    of: int
    share: float
    low: float
    high: float

    @property
    def tagged(self) -> bool:
        """Whether the share is known: false if only predictions of other models have the tag."""
        return not self.of or not math.isnan(self.share)


@dataclass(frozen=True)
class KindRow:
    """One tag: how many labelled images have it, and its share of each model's failures."""

    tag: str
    images: Part
    failures: tuple[Part, ...]


@dataclass(frozen=True)
class Difference:
    """How much more a model loses on images with a tag than on the others, with its interval and a p-value
    corrected over all tags of the model; ``sure`` if that is below .05.
    """

    tag: str
    model: str
    images: int
    value: float
    low: float
    high: float
    p_value: float
    sure: bool

    @property
    def mark(self) -> Mark:
        """What is drawn of it."""
        return Mark(self.value, self.low, self.high)


@dataclass(frozen=True)
class FailureKinds:
    """What a page shows about tags: ``names`` in the order of their filters, ``rows`` for the labelled
    images, ``differences`` that can be computed, and the tags of each chosen image by index in ``names``,
    those of one model's answer as text; ``by_choice`` if values are shares of people's choices.
    """

    names: tuple[str, ...]
    left_out: int
    labelled: int
    rows: tuple[KindRow, ...]
    differences: tuple[Difference, ...]
    of_image: Mapping[str, tuple[int, ...]]
    words: Mapping[str, tuple[str, ...]]
    grouped: bool
    by_choice: bool = False

    @property
    def all_fail(self) -> bool:
        """Whether every model fails on every labelled image, so that shares of failures add nothing."""
        return bool(self.rows) and all(part.of == self.labelled for part in self.rows[0].failures)

    @property
    def sure(self) -> tuple[Difference, ...]:
        """The differences that explain losses: the model loses more there, significantly over all tags."""
        return tuple(one for one in self.differences if one.sure and one.value > 0)


def failure_kinds(
    given: Collection[Given],
    chosen: Collection[str],
    models: Sequence[str],
    labelled: Sequence[str],
    values: np.ndarray,
    fails: float,
    groups: Mapping[str, str] | None = None,
) -> FailureKinds | None:
    """Return what a page shows about the tags of its ``chosen`` images, from the models' values (J, I) on the
    ``labelled`` ones; None if no chosen image has a tag.

    >>> from types import SimpleNamespace as Tag
    >>> found = failure_kinds(
    ...     [Tag(image="x", tag="dark", model="")],
    ...     ["x", "y"],
    ...     ["unet"],
    ...     ["x", "y"],
    ...     np.array([[0.2, 0.9]]),
    ...     0.6,
    ... )
    >>> found.rows[0].images.count, found.rows[0].failures[0].share, found.of_image
    (1, 1.0, {'x': (0,)})
    """
    inside = set(chosen)
    mine = [one for one in given if one.image in inside and (not one.model or one.model in models)]
    often = Counter(tag for tag, _ in {(one.tag, one.image) for one in mine})
    names = tuple(sorted(sorted(often, key=lambda tag: (-often[tag], tag))[:MOST]))
    if not names:
        return None
    mine = [one for one in mine if one.tag in names]
    at = {name: k for k, name in enumerate(names)}
    of_image: dict[str, tuple[int, ...]] = {}
    words: dict[str, tuple[str, ...]] = {}
    for image in dict.fromkeys(one.image for one in mine):
        own = {(one.tag, one.model) for one in mine if one.image == image}
        of_image[image] = tuple(sorted({at[tag] for tag, _ in own}))
        words[image] = tuple(f"{tag} ({model})" if model else tag for tag, model in sorted(own))
    of = None if groups is None else [groups.get(image, "") for image in labelled]
    return FailureKinds(
        names,
        len(often) - len(names),
        len(labelled),
        *_numbers(mine, models, labelled, values, fails, of),
        of_image,
        words,
        of is not None and any(often > 1 for group, often in Counter(of).items() if group),
    )


def _numbers(
    given: Collection[Given],
    models: Sequence[str],
    labelled: Sequence[str],
    values: np.ndarray,
    fails: float,
    groups: Sequence[str] | None,
) -> tuple[tuple[KindRow, ...], tuple[Difference, ...]]:
    """Return the counts of each tag, and the differences of each tag and model, the most significant
    first.
    """
    held = tagged(given, labelled, models)
    if not held.names:
        return (), ()
    counts = tag_counts(held, np.where(np.isnan(values), np.nan, values < fails))
    rows = []
    for t, name in enumerate(held.names):
        parts = [
            Part(int(share.count[k]), int(share.of[k]), float(share.value[k]), *share.interval[k].tolist())
            for share, k in [(counts.images, t), *((counts.failures, (t, j)) for j in range(len(models)))]
        ]
        rows.append(KindRow(name, parts[0], tuple(parts[1:])))
    found = explain(held, 1 - values, groups)
    differences = []
    for t, j in np.argwhere(~np.isnan(found.difference)).tolist():
        (low, high), p_value = found.interval[t, j].tolist(), float(found.p_value[t, j])
        about = held.names[t], models[j], int(found.images[t, j]), float(found.difference[t, j])
        differences.append(Difference(*about, low, high, p_value, p_value < ALPHA))
    order = sorted(
        differences,
        key=lambda one: (np.isnan(one.p_value), one.p_value, -one.value, one.tag, models.index(one.model)),
    )
    return tuple(rows), tuple(order)
