"""Count pixels of every pair of maps on every image, in memory or for one shard.

Conventions: maps hold the class list's ids and are turned into places and range-checked once, before any
kernel. Row = reference, column = prediction (nouns.Pairs).

``images`` are the ids of the images, 0, 1, ... by default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from faultscape.arguments import ClassList
from faultscape.classes.class_lists import SAY_OTHERWISE, allowed, resolve, table
from faultscape.errors import LabelMapError, OptionError
from faultscape.maps import checked_arrays, counts
from faultscape.nouns import UNKNOWN, Classes, Pairs

Maps = np.ndarray | Sequence[np.ndarray]


def count(
    maps: Mapping[str, Maps],
    classes: ClassList,
    *,
    truth: Maps | Mapping[str, Maps] | None = None,
    images: Sequence[str] | None = None,
    cells: bool = False,
    background: int | None = None,
    void: int | tuple[int, ...] = (),
) -> Pairs:
    """Return the counts of every pair of models, and of each model with the truth, in one pass over each
    image.

    ``maps`` {model: (I, H, W) or I arrays (H, W) of ids}; ``truth`` likewise, one or several by name; a
    missing map is None. ``cells`` keeps the whole confusion matrices, Yan et al. 2021, eq. 8; ``background``
    and ``void`` are ids, for ``classes`` given as a number. Errors: LabelMapError for values out of range or
    shapes that differ.

    >>> pairs = count({"a": np.array([[[0, 1]]]), "b": np.array([[[0, 0]]])}, classes=2)
    >>> pairs.both.tolist(), pairs.rows.tolist(), pairs.columns.tolist()
    ([[[1, 0]]], [[[1, 1, 0]]], [[[2, 0, 0]]])
    """
    classes = resolve(classes, background=background, void=void)
    if not isinstance(maps, Mapping):
        raise OptionError(f"maps: expected a dict, {{name: maps}}; got {type(maps).__name__}")
    truths = {} if truth is None else dict(truth) if isinstance(truth, Mapping) else {"truth": truth}
    named = {name: checked_arrays.images(stack, name) for name, stack in {**maps, **truths}.items()}
    if len(named) < len(maps) + len(truths):
        raise OptionError("a truth has the same name as a model; give it another")
    lengths = {name: len(stack) for name, stack in named.items()}
    if len(set(lengths.values())) != 1:
        raise LabelMapError(f"every model and truth needs one map an image; got {lengths}")
    (number,) = set(lengths.values())
    ids = tuple(images) if images is not None else tuple(str(i) for i in range(number))
    if len(ids) != number:
        raise OptionError(f"{len(ids)} names for {number} images")
    pairs = pair_places(len(maps), len(truths))
    places = table(classes)
    n = len(classes) + 1
    kept = np.zeros((len(pairs), number, n, n), np.int64)
    totals = np.zeros((len(maps), number, n), np.int64)
    present = np.zeros((len(pairs), number), bool)
    for i in range(number):
        stack = [
            _placed(stack[i], places, f"{name}, image {ids[i]}", classes) for name, stack in named.items()
        ]
        kept[:, i], totals[:, i], present[:, i] = count_image(stack, n, pairs, len(maps), ids[i])
    return block(classes, tuple(maps), tuple(truths), ids, pairs, kept, totals, present, keep=cells)


def pair_places(models: int, truths: int = 0) -> np.ndarray:
    """Return (P, 2) (reference, prediction): models (earlier, later), then each truth with every model.

    >>> pair_places(2, 1).tolist()
    [[0, 1], [2, 0], [2, 1]]
    """
    between = [(i, j) for j in range(models) for i in range(j)]
    return np.array(
        between + [(models + t, j) for t in range(truths) for j in range(models)], np.int64
    ).reshape(-1, 2)


def count_image(
    stack: Sequence[np.ndarray | None], n: int, pairs: np.ndarray, models: int, image: str = ""
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (P, n, n) cells, (models, n) histograms and (P,) presence of one image's maps of places; None is
    a missing map.
    """
    given = _given(stack, image)
    plan = _plan(tuple(m is not None for m in stack), pairs.tobytes(), models)
    cells = np.zeros((len(pairs), n, n), np.int64)
    totals = np.zeros((models, n), np.int64)
    if len(plan.wanted):
        cells[plan.present] = counts.confusions(given, n, plan.wanted)
    totals[plan.second[0]] = cells[plan.second[1]].sum(1)
    totals[plan.first[0]] = cells[plan.first[1]].sum(2)
    for k in plan.alone:
        totals[k] = np.bincount(given[plan.new[k]].ravel(), minlength=n)
    return cells, totals, plan.present.copy()


def intersect_image(
    stack: Sequence[np.ndarray | None], n: int, pairs: np.ndarray, models: int, image: str = ""
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (P, n) intersections instead of cells, with the histograms and presence of `count_image`: much
    faster for many models.
    """
    given = _given(stack, image)
    plan = _plan(tuple(m is not None for m in stack), pairs.tobytes(), models)
    both = np.zeros((len(pairs), n), np.int64)
    totals = np.zeros((models, n), np.int64)
    if given:
        both[plan.present], histograms = counts.intersections(given, n, plan.wanted)
        for k in (k for k in plan.new if k < models):
            totals[k] = histograms[plan.new[k]]
    return both, totals, plan.present.copy()


def _given(stack: Sequence[np.ndarray | None], image: str) -> list[np.ndarray]:
    """Return the maps that exist; LabelMapError for maps of different sizes."""
    given = [m for m in stack if m is not None]
    if len({m.shape for m in given}) > 1:
        raise LabelMapError(
            f"image {image}: its maps have different sizes {sorted({m.shape for m in given})}"
        )
    return given


class _Plan(NamedTuple):
    """Which pairs can be counted when some maps are there, and where the models' histograms come from."""

    new: dict[int, int]  # the numbers of the maps that are there, by their old ones
    wanted: np.ndarray  # (W, 2) the pairs that can be counted, in new numbers
    present: np.ndarray  # (P,) which of all pairs these are
    second: np.ndarray  # (2, K) models, and a pair in which each is the second map
    first: np.ndarray  # (2, L) models that are never second, and a pair in which each is the first
    alone: tuple[int, ...]  # models that are in no pair


@lru_cache(maxsize=64)
def _plan(there: tuple[bool, ...], pairs: bytes, models: int) -> _Plan:
    """Return the plan for all images that have the same maps."""
    known = np.frombuffer(pairs, np.int64).reshape(-1, 2)
    new = {k: place for place, k in enumerate(k for k, given in enumerate(there) if given)}
    present = np.array([a in new and b in new for a, b in known.tolist()], bool)
    wanted = np.array([(new[a], new[b]) for a, b in known[present].tolist()], np.int64).reshape(-1, 2)
    second: dict[int, int] = {}
    first: dict[int, int] = {}
    for place in np.flatnonzero(present).tolist():
        a, b = known[place].tolist()
        second.setdefault(b, place)
        first.setdefault(a, place)
    own = [k for k in new if k < models]
    places = [
        np.array([(k, of[k]) for k in own if k in of and k not in but], np.int64).reshape(-1, 2).T
        for of, but in ((second, ()), (first, second))
    ]
    alone = tuple(k for k in own if k not in second and k not in first)
    return _Plan(new, wanted, present, places[0], places[1], alone)


def block(
    classes: Classes,
    models: tuple[str, ...],
    truths: tuple[str, ...],
    images: tuple[str, ...],
    pairs: np.ndarray,
    cells: np.ndarray,
    totals: np.ndarray,
    present: np.ndarray,
    *,
    keep: bool = False,
) -> Pairs:
    """Return Pairs of (P, I, n, n) ``cells``, kept on request; drops pixels void in a truth and computes the
    marginals.
    """
    against_truth = pairs[:, 0] >= len(models)
    cells[against_truth, :, -1, :] = 0
    both = np.ascontiguousarray(np.diagonal(cells, axis1=2, axis2=3)[..., :-1])
    return Pairs(
        classes,
        models,
        truths,
        images,
        pairs,
        both,
        cells.sum(3),
        cells.sum(2),
        totals,
        present,
        cells if keep else None,
    )


def _placed(
    label_map: np.ndarray | None, places: np.ndarray, where: str, classes: Classes
) -> np.ndarray | None:
    """Return a map of places; LabelMapError for an undefined value."""
    if label_map is None:
        return None
    label_map = checked_arrays.whole_numbers(label_map, where, LabelMapError, "H x W")
    if label_map.size and (label_map.min() < 0 or label_map.max() > 65535):
        wrong = int(label_map.min() if label_map.min() < 0 else label_map.max())
        raise LabelMapError(
            f"{where}: holds the value {wrong}; allowed are {allowed(classes)}{SAY_OTHERWISE}"
        )
    placed = places[label_map]
    if placed.size and placed.max() == UNKNOWN:
        raise LabelMapError(
            f"{where}: holds the value {int(label_map[placed == UNKNOWN][0])}; allowed are"
            f" {allowed(classes)}{SAY_OTHERWISE}"
        )
    return placed.astype(np.uint8) if len(classes) < 255 else placed
