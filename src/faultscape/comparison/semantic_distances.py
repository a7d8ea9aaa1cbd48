"""How far apart two classes are: by name only, by a hierarchy, or by a table; and the distances between
models' predictions.

Conventions: a class is its place 0..C-1; distances are (C, C), symmetric, 0 on the diagonal, large = the
models contradict each other more. An edge from parent to child weighs 2^-depth of the parent, so edges of the
root weigh 1. Sums of such weights are exact in float64 down to depth 52.

``kind`` is ``01``, ``wordnet``, ``hops`` or ``path``. ``first`` and ``second`` are two classes, or the labels
of two models. ``distances`` (C, C) are those of the classes.

Source: Wang et al. 2020, eq. 2 and 3; docs/explanation/class-distances.md says what eq. 3 leaves open.

How far apart two models are on an image when all of their probabilities count, not only the top labels.

Conventions: probabilities should be calibrated. They are (I, C), one column per class, or ``(labels,
probabilities)`` of the K most probable classes, both (I, K), with a negative label where a row has fewer. The
result is NaN where a row has no probability, or an undefined one.

``first`` and ``second`` are the probabilities of two models for the same images. ``distances`` (C, C) are
those of the classes.

Source: Wang et al. 2020, section 4, the future direction: distances over distributions instead of single
labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from faultscape.choices import DistanceKind
from faultscape.classes.hierarchy import Hierarchy, ancestors, depths
from faultscape.errors import ClassesError, ModelError, OptionError, closest
from faultscape.maps import checked_arrays

KINDS = get_args(DistanceKind)
MAX_CLASSES = 30_000  # their table has 7.2 GB
_ROWS = 1024  # rows of the table at once
REST = ("kept", "spread")
_CELLS = 2**20  # distances looked up at once

Probabilities = Any  # (I, C), or ((I, K) labels, (I, K) probabilities)


def class_distances(
    kind: DistanceKind, hierarchy: Hierarchy | None, nodes: Sequence[int] | np.ndarray
) -> np.ndarray:
    """Return the (C, C) float64 distances of classes at these places of a hierarchy.

    ``01``: 1 for any two classes (Wang et al. 2020, eq. 2; no hierarchy needed). ``wordnet``: the weights
    along two chains below their last common node, minimised over all pairs of root chains (Wang et al. 2020,
    eq. 3 as its authors compute it). ``hops``: the same with every weight 1. ``path``: the shortest path in
    the whole hierarchy as an undirected graph (Wang et al. 2020, eq. 3 as printed), with depth along the
    shortest chain. OptionError for another kind, ClassesError for too many classes or no hierarchy.

    >>> from faultscape.classes import imagenet
    >>> from faultscape.classes.hierarchy import places
    >>> fountain_church = places(imagenet(), ["n03388043", "n03028079"])
    >>> [
    ...     float(class_distances(kind, imagenet(), fountain_church)[0, 1])
    ...     for kind in ("wordnet", "hops", "01")
    ... ]
    [0.0859375, 4.0, 1.0]
    """
    if kind not in KINDS:
        raise OptionError(
            f"distance {kind!r} is not known; there are {', '.join(KINDS)}, or a file.{closest(kind, KINDS)}"
        )
    places = np.asarray(nodes, dtype=np.int64)
    if len(places) > MAX_CLASSES:
        raise ClassesError(
            f"{len(places):,} classes have too many distances; at most {MAX_CLASSES:,} are possible"
        )
    if kind == "01":
        return 1.0 - np.eye(len(places))  # S2 eq. 2
    if hierarchy is None:
        raise ClassesError(f"distance {kind!r} needs a hierarchy of the classes; 01 needs none")
    return _shortest_paths(hierarchy, places) if kind == "path" else _over_chains(kind, hierarchy, places)


def _over_chains(kind: str, hierarchy: Hierarchy, places: np.ndarray) -> np.ndarray:
    """Return the minimum over pairs of root chains without listing chains: over shared ancestors.

    A pair of chains that share everything down to some node costs the edges below it. That is least if the
    path down to that node is as long as possible (edges further down weigh less), and the paths from there to
    both classes are as short as possible. So the minimum over all pairs of chains is the minimum over shared
    nodes.
    """
    under: dict[int, tuple[list[int], list[int]]] = {}
    for column, place in enumerate(places.tolist()):
        for node, edges in ancestors(hierarchy, place).items():
            columns, below = under.setdefault(node, ([], []))
            columns.append(column)
            below.append(edges)
    depth = depths(hierarchy, longest=True)
    out = np.full((len(places), len(places)), np.inf)
    for node, (columns, below) in under.items():
        edges = np.array(below, dtype=float)
        cost = edges if kind == "hops" else _down(depth[node], edges)
        for start in range(0, len(columns), _ROWS):
            block = np.ix_(columns[start : start + _ROWS], columns)
            out[block] = np.minimum(out[block], cost[start : start + _ROWS, None] + cost)
    return out


def _down(depth: int, edges: np.ndarray) -> np.ndarray:
    """Return the weight of ``edges`` edges down from a depth: 2^-depth + 2^-(depth + 1) + ... (Wang et al.
    2020, eq. 3 with w = 2^-l).
    """
    return np.ldexp(1.0, 1 - depth) - np.exp2(1 - depth - edges)


def _shortest_paths(hierarchy: Hierarchy, places: np.ndarray) -> np.ndarray:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    depth = depths(hierarchy)
    edges = [(child, parent) for child, above in enumerate(hierarchy.parents) for parent in above]
    if not edges:
        return np.zeros((len(places), len(places)))
    children, parents = np.array(edges).T
    graph = csr_array(
        (np.ldexp(1.0, -depth[parents]), (children, parents)), shape=(len(hierarchy), len(hierarchy))
    )
    only, back = np.unique(places, return_inverse=True)
    out = np.empty((len(only), len(only)))
    for start in range(0, len(only), _ROWS):
        out[start : start + _ROWS] = dijkstra(graph, directed=False, indices=only[start : start + _ROWS])[
            :, only
        ]
    return np.minimum(out, out.T)[np.ix_(back, back)]


def word_path(hierarchy: Hierarchy, first: int, second: int) -> tuple[str, ...]:
    """Return the words from one node up to the shared node that gave the ``wordnet`` distance and down to the
    other; among equal ones, the deepest.

    >>> from faultscape.classes import imagenet
    >>> from faultscape.classes.hierarchy import places
    >>> word_path(imagenet(), *places(imagenet(), ["n03388043", "n03028079"]).tolist())
    ('fountain', 'structure', 'building', 'place of worship', 'church')
    """
    up = ancestors(hierarchy, first)
    down = ancestors(hierarchy, second)
    depth = depths(hierarchy, longest=True)
    shared = sorted(up.keys() & down.keys(), reverse=True)
    top = min(
        shared,
        key=lambda node: float(_down(depth[node], np.array([up[node], down[node]], dtype=float)).sum()),
    )
    way = (*_climb(hierarchy, first, top, up), *reversed(_climb(hierarchy, second, top, down)[:-1]))
    return tuple(hierarchy.words[node] for node in way)


def _climb(hierarchy: Hierarchy, node: int, top: int, edges: dict[int, int]) -> list[int]:
    """Return a shortest path from a node up to ``top``, searched from above through the child that is one
    edge nearer.
    """
    way = [top]
    while way[-1] != node:
        way.append(
            min(n for n in edges if edges[n] == edges[way[-1]] - 1 and way[-1] in hierarchy.parents[n])
        )
    return way[::-1]


def abstract_classes(
    hierarchy: Hierarchy, nodes: Sequence[int] | np.ndarray, *, share: float = 0.1
) -> np.ndarray:
    """Return the places, among ``nodes``, of the few classes involved in every large ``wordnet`` distance;
    empty if they are not few.

    Two classes that share a node below the root are less than 2 apart; two that share only the root (and are
    not it) are at least 2 apart. So any two classes under one node, the one below the root with most classes,
    are less than 2 apart, and distances of 2 or more involve a class outside of it. If those are at most
    ``share`` of all, the largest distances all involve them, and a selection of the most distant predictions
    concentrates on them. In ImageNet-1k they are the classes under *abstraction* only.

    >>> from faultscape.classes import imagenet, imagenet_classes
    >>> from faultscape.classes.hierarchy import places
    >>> [
    ...     imagenet_classes().names[c]
    ...     for c in abstract_classes(imagenet(), places(imagenet(), imagenet_classes().wnids))
    ... ]
    ['street sign', 'traffic light', 'bubble']
    """
    above = [ancestors(hierarchy, int(node)).keys() - {0} for node in nodes]
    classes_under = Counter(node for of in above for node in of)
    most = max(classes_under, key=lambda node: (classes_under[node], -node), default=0)
    apart = np.array([column for column, of in enumerate(above) if most not in of], dtype=np.int64)
    return apart if len(apart) <= share * len(above) else apart[:0]


def pair_distances(distances: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the distances of two models' labels, of any one shape; NaN where either is negative (no
    prediction).

    ClassesError for a label that is not a class.

    >>> pair_distances(np.array([[0.0, 2.0], [2.0, 0.0]]), np.array([0, 0, -1]), np.array([0, 1, 1]))
    array([ 0.,  2., nan])
    """
    first, second = (
        checked_arrays.whole_numbers(labels, name, ClassesError).astype(np.int64, copy=False)
        for name, labels in (("first", first), ("second", second))
    )
    checked_arrays.same_shape(ClassesError, first=first, second=second)
    distances = checked_arrays.square(distances, "distances", ClassesError, "C x C")
    if (largest := max(first.max(initial=-1), second.max(initial=-1))) >= len(distances):
        raise ClassesError(
            f"label {largest} is not a class; there are {len(distances)}, 0 to {len(distances) - 1}"
        )
    out = distances[first, second]  # negative ones wrap, and are overwritten
    gone = (first < 0) | (second < 0)
    return np.where(gone, np.nan, out) if gone.any() else out


def expected_distance(
    first: Probabilities, second: Probabilities, distances: np.ndarray, *, rest: str = "kept"
) -> np.ndarray:
    """Return (I,) sum over i, j of p_i q_j d(i, j): the expected distance of labels drawn from each model
    independently.

    Two models that agree but are uncertain have an expected distance above 0. The probability that the K
    labels leave of 1 is the ``rest``: ``kept`` divides by the sum of the K, ``spread`` distributes it evenly
    over the other C - K classes. Columns of all classes leave none. ModelError for probabilities of another
    shape or below 0.

    >>> d = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 4.0], [4.0, 4.0, 0.0]])
    >>> expected_distance(np.array([[0.5, 0.5, 0.0]]), np.array([[0.0, 0.5, 0.5]]), d)
    array([2.25])
    >>> p, q = (np.array([[0]]), np.array([[0.8]])), (np.array([[2]]), np.array([[1.0]]))
    >>> float(expected_distance(p, q, d)[0]), round(float(expected_distance(p, q, d, rest="spread")[0]), 12)
    (4.0, 3.6)
    """
    if rest not in REST:
        raise OptionError(f"rest {rest!r} is not known; there are {', '.join(REST)}.{closest(rest, REST)}")
    if isinstance(first, tuple) and isinstance(second, tuple):
        return _of_kept(_kept(first, len(distances), rest), _kept(second, len(distances), rest), distances)
    if isinstance(first, tuple) or isinstance(second, tuple):
        raise ModelError(
            "expected distances need all classes of both models, or the most probable labels of both"
        )
    p = _columns(first, len(distances))
    q = _columns(second, len(distances))
    _same_images(p, q)
    return np.einsum("ij,ij->i", p @ distances, q)


def _columns(given: ArrayLike, classes: int) -> np.ndarray:
    p = np.asarray(given, dtype=float)
    if p.ndim != 2 or p.shape[1] != classes:
        raise ModelError(f"probabilities have shape {p.shape}; expected (images, {classes} classes)")
    return _shares(p)


def _shares(p: np.ndarray) -> np.ndarray:
    """Return rows that sum to 1, NaN for those that cannot."""
    if (p < 0).any():
        raise ModelError(f"a probability is {p[p < 0][0]:g}; expected 0 or more")
    total = p.sum(1, keepdims=True)
    return np.divide(p, total, out=np.full_like(p, np.nan), where=total > 0)


def _kept(
    given: tuple[ArrayLike, ArrayLike], classes: int, rest: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (I, K) labels, (I, K) probabilities in excess of the evenly spread part, and (I,) that part per
    class.
    """
    labels = np.asarray(given[0])
    p = np.asarray(given[1], dtype=float)
    if labels.ndim != 2 or labels.shape != p.shape or not np.issubdtype(labels.dtype, np.integer):
        raise ModelError(
            f"labels {labels.shape} and probabilities {p.shape} do not belong together; expected both"
            " (images, K)"
        )
    if labels.max(initial=-1) >= classes:
        raise ModelError(f"label {labels.max()} is not a class; there are {classes}, 0 to {classes - 1}")
    there = labels >= 0
    p = np.where(there, p, 0.0)
    labels = np.where(there, labels, 0)
    shares = _shares(p)
    if rest == "kept":
        return labels, shares, np.zeros(len(p))
    total = np.minimum(p.sum(1), 1)  # NaN and 0 stay undefined through the shares
    even = (1 - total) / np.maximum(classes - there.sum(1), 1)
    return labels, np.where(there, shares * total[:, None] - even[:, None], 0 * shares), even


def _of_kept(
    first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...], distances: np.ndarray
) -> np.ndarray:
    """Return p' D q with p = (excess over the even part) + even part, multiplied out."""
    (a, p, even_p), (b, q, even_q) = first, second
    _same_images(a, b)
    out = np.empty(len(a))
    sums = distances.sum(1)
    step = max(1, _CELLS // max(1, a.shape[1] * b.shape[1]))
    for start in range(0, len(a), step):
        i = slice(start, start + step)
        between = np.einsum("ik,il,ikl->i", p[i], q[i], distances[a[i, :, None], b[i, None, :]])
        out[i] = between + even_q[i] * (p[i] * sums[a[i]]).sum(1) + even_p[i] * (q[i] * sums[b[i]]).sum(1)
    return out + even_p * even_q * sums.sum()


def _same_images(first: np.ndarray, second: np.ndarray) -> None:
    if len(first) != len(second):
        raise ModelError(
            f"one model has probabilities of {len(first)} images, the other of {len(second)}; expected the"
            " same images"
        )
