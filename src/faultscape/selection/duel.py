"""Maximum discrepancy competitions: the images on which two models agree least (Yan et al. 2021, section
3.1.2-3.1.3, Algorithm 1 lines 5-17).

Conventions: for every ordered pair (defender, attacker) and every class except the background, the candidates
are the images in which the defender predicts the class; with ``class+scale`` its share of the defender's map
must lie in the closed interval of the class's quartiles. The ``per_class`` lowest concordances are chosen,
the next ``spares`` are their replacements; ties are ordered by ``faultscape.ties``. An image with two
identical maps is not a candidate. ``none`` is Yan et al. 2021, eq. 1: one cell per ordered pair, whatever the
class.

``concordance`` is a name of `metrics.CONCORDANCES`, or several joined by ``+``: then the mean of the ranks
that they give the images of the pool, as a share (`comparison.combinations`). ``constraints`` say which
images a class's cell may take. ``scale`` holds the quartiles that the constraint on scale needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np

from faultscape import ties
from faultscape.choices import Constraints, Over
from faultscape.comparison import combinations
from faultscape.comparison.agreement import identical
from faultscape.comparison.concordance import shares
from faultscape.errors import OptionError, SelectionError
from faultscape.nouns import Classes, Definition, Pairs, Scale, Slot, Slots
from faultscape.selection.best import EMPTY, Best
from faultscape.selection.quartiles import to_json

CONSTRAINTS = get_args(Constraints)
# of `select`
DEFAULTS = {
    "concordance": "miou",
    "over": "union",
    "per_class": 1,
    "spares": 3,
    "keep_duplicates": False,
    "seed": 0,
}


def duels(
    pairs: Pairs,
    concordance: str = "miou",
    *,
    per_class: int = 1,
    constraints: Constraints | None = None,
    scale: Scale | None = None,
    spares: int = 3,
    over: Over = "union",
    families: Sequence[int] | None = None,
    keys: Sequence[str] | None = None,
    seed: int = 0,
) -> Slots:
    """Return the slots of every cell, Yan et al. 2021, eq. 1 and 2, from the counts of all images at once.

    ``families`` (I,) are near-duplicate groups: of each only the best image stays in a cell, and ``moved`` of
    the result says how many slots hold another image than by the equation alone. ``keys`` (I,)
    identify images independently of their names, such as the SHA-256 of the file, its id by default: with
    ``seed`` they break ties of concordance. Errors: OptionError for options that do not fit, SelectionError
    if no image satisfies the constraints.

    >>> from faultscape.comparison import count
    >>> maps = {"a": [[[0, 1]], [[0, 1]]], "b": [[[0, 1]], [[0, 0]]]}
    >>> pairs = count({name: np.array(said) for name, said in maps.items()}, classes=2, images=["x", "y"])
    >>> [(s.defender, s.attacker, s.class_, s.image) for s in duels(pairs).chosen[:2]]
    [('a', 'b', 'class-0', 'y'), ('a', 'b', 'class-1', 'y')]
    """
    define = definition(
        pairs.classes,
        concordance=concordance,
        per_class=per_class,
        constraints=constraints,
        scale=scale,
        spares=spares,
        over=over,
        keep_duplicates=families is None,
        seed=seed,
    )
    best = empty(pairs.models, define)
    alone = empty_alone(pairs.models, define)
    ranks = ties.tie_ranks(pairs.images if keys is None else keys, seed, pairs.images)
    numbers = np.arange(len(pairs.images))
    of = numbers if families is None else np.asarray(families)
    take(best, pairs, define, scale, numbers, ranks, of, alone)
    return slots(best, pairs.models, define, pairs.images, alone)


def definition(
    classes: Classes,
    *,
    concordance: str,
    per_class: int,
    constraints: Constraints | None,
    scale: Scale | None,
    spares: int,
    over: Over,
    keep_duplicates: bool,
    seed: int = 0,
) -> Definition:
    """Return what fixes a selection, in a form JSON can hold; OptionError if the options do not fit
    together.
    """
    constraints = constraints or ("class+scale" if scale is not None else "class")
    if constraints not in CONSTRAINTS:
        raise OptionError(f"constraints {constraints!r} are not known; use {', '.join(CONSTRAINTS)}")
    if constraints == "class+scale" and scale is None:
        raise OptionError(
            "constraints class+scale need the quartiles of a training set; make them with `faultscape scale"
            " MASKS` and give --scale FILE"
        )
    for option, value, least in (("per-class", per_class, 1), ("spares", spares, 0)):
        if value < least:
            raise OptionError(f"{option} must be at least {least}; got {value}")
    return {
        "selector": "mad",
        **combinations.as_defined(concordance),
        "over": over,
        "constraints": constraints,
        "groups": group_names(classes, constraints),
        "scale": to_json(scale)["classes"] if constraints == "class+scale" and scale is not None else None,
        "per_class": per_class,
        "spares": spares,
        "keep_duplicates": keep_duplicates,
        "ties": ties.RULE,
        "seed": seed,
    }


def group_names(classes: Classes, constraints: str) -> list[str]:
    """Return the names of the groups of candidates of an ordered pair: the classes except the background, or
    '' for the single group of constraints none.

    >>> (
    ...     group_names(Classes(("sky", "road"), (0, 1), ()), "class"),
    ...     group_names(Classes(("sky", "road"), (0, 1), ()), "none"),
    ... )
    (['sky', 'road'], [''])
    """
    return [""] if constraints == "none" else [classes.names[g] for g in classes.groups]


def empty(models: Sequence[str], define: Definition) -> Best:
    """Return the empty cells of a selection, one place deeper than it is: an image that was left out may tie
    with a chosen one.
    """
    if len(models) < 2:
        raise SelectionError(f"a duel needs two models; there is {', '.join(models) or 'none'}")
    return Best(len(models), len(define["groups"]), define["per_class"] + define["spares"] + 1)


def empty_alone(models: Sequence[str], define: Definition) -> Best | None:
    """Return empty cells for the images that the equation alone would choose, near-duplicates or not; None if
    it would choose the same: the best image of all is also the best of its group.
    """
    if define["keep_duplicates"] or define["per_class"] < 2:
        return None
    return Best(len(models), len(define["groups"]), define["per_class"])


def take(
    best: Best,
    pairs: Pairs,
    define: Definition,
    scale: Scale | None,
    images: np.ndarray,
    ranks: np.ndarray,
    families: np.ndarray,
    alone: Best | None = None,
    agreement: np.ndarray | None = None,
) -> None:
    """Offer a block of images to the cells: (I,) their places in the corpus, ranks among equals,
    near-duplicate groups. ``alone`` are the cells of `empty_alone`; ``agreement`` (J, J, I) is how closely
    maps agree among all images of the pool, where that is more than this block tells.
    """
    if agreement is None:
        agreement = combinations.ranked(measured(pairs, define))
    member = members(pairs, define["constraints"], scale)
    best.offer(agreement, member, images, ranks, families)
    if alone is not None:
        alone.offer(agreement, member, images, ranks, images)


def measured(pairs: Pairs, define: Definition, on_maps: Mapping[str, np.ndarray] = {}) -> np.ndarray:
    """Return (M, J, J, I) how closely maps agree by each measure, NaN where they are identical: a label of
    such an image says the same about both models.
    """
    names = combinations.measures(combinations.spelt(define))
    values = combinations.measured(pairs, names, over=define["over"], on_maps=on_maps)  # S0 eq. 1
    for place in np.flatnonzero((pairs.pairs < len(pairs.models)).all(1)).tolist():
        first, second = pairs.pairs[place]
        same = identical(pairs, place)
        values[:, first, second, same] = values[:, second, first, same] = np.nan
    return values


def members(pairs: Pairs, constraints: Constraints, scale: Scale | None) -> np.ndarray:
    """Return (J, I, G): whether an image may be chosen when model j defends group g."""
    if constraints == "none":
        return np.ones((len(pairs.models), len(pairs.images), 1), bool)
    groups = list(pairs.classes.groups)
    share = shares(pairs)[..., groups]
    if constraints == "class":
        return share > 0
    assert scale is not None
    place = {name: k for k, name in enumerate(scale.names)}
    bounds = np.array(
        [
            (scale.t_min[place[pairs.classes.names[g]]], scale.t_max[place[pairs.classes.names[g]]])
            for g in groups
        ]
    )
    return (share > 0) & (share >= bounds[:, 0]) & (share <= bounds[:, 1])


def slots(
    best: Best,
    models: tuple[str, ...],
    define: Definition,
    images: Sequence[str] | Mapping[int, str],
    alone: Best | None = None,
) -> Slots:
    """Return the rows of all cells in the order defender, attacker, class, place; SelectionError if every
    cell is empty. ``alone`` are the cells of `empty_alone`.
    """
    names = define["groups"]
    rows: list[Slot] = []
    for d, a, g in np.ndindex(best.pools.shape):
        for place in range(define["per_class"] + define["spares"]):
            image = int(best.images[d, a, g, place])
            if d != a and image >= 0:
                value = float(best.keys[d, a, g, place]) / 1e12
                pool = int(best.pools[d, a, g])
                rows.append(
                    Slot(
                        "mad",
                        1,
                        len(rows) + 1,
                        models[d],
                        models[a],
                        names[g],
                        place + 1,
                        images[image],
                        value,
                        1.0,
                        pool,
                    )
                )
    if not rows:
        raise SelectionError(
            f"no image satisfies the constraints {define['constraints']!r}: no model predicts a class within"
            " its bounds on an image where another one differs; try --constraints class or none"
        )
    return Slots(tuple(models), define, tuple(rows), _tied(best, define), _moved(best, alone))


def _moved(best: Best, alone: Best | None) -> int:
    """Return how many chosen slots hold another image than by the equation alone."""
    if alone is None:
        return 0
    chosen = best.images[..., : alone.images.shape[3]]
    there = (alone.images[..., :, None] == chosen[..., None, :]).any(4)
    return int(((alone.images >= 0) & ~there).sum())


def _tied(best: Best, define: Definition) -> int:
    """Return how many chosen slots were decided by ties: the first image after them is as good."""
    depth = define["per_class"]
    keys = best.keys[~np.eye(len(best.keys), dtype=bool)]
    return int(((keys[..., :depth] == keys[..., depth : depth + 1]) & (keys[..., :depth] != EMPTY)).sum())
