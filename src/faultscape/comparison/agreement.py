"""How closely models agree on average, pair by pair, before there is any label.

Conventions: for two label maps, their concordance, averaged over both directions if it is asymmetric; for two
classifiers, 1 if they agree, else 0. An image counts for a pair if both models have an answer for it. Blocks
of images are added in corpus order.

``blocks`` are the counts or the predictions of some images each.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from faultscape.choices import Over
from faultscape.comparison.concordance import concordances
from faultscape.errors import counted
from faultscape.nouns import Agreement, Pairs, Predictions

ALIKE = 1 - 1e-12  # differences below 1e-12 are rounding


def mean_agreement(
    blocks: Pairs | Predictions | Iterable[Pairs | Predictions],
    concordance: str = "miou",
    *,
    over: Over = "union",
) -> Agreement:
    """Return the (J, J) mean agreement of every two models, over one block of images or several.

    ``concordance`` and ``over`` apply to label maps. Errors: OptionError for an unknown concordance,
    ValueError for no blocks.

    >>> from faultscape.classes.class_lists import resolve
    >>> said = Predictions(
    ...     resolve(3), ("a", "b"), ("x", "y"), np.array([[0, 1], [0, 2]]), np.full((2, 2), np.nan)
    ... )
    >>> mean_agreement(said).mean.tolist()
    [[nan, 0.5], [0.5, nan]]
    """
    total: np.ndarray | None = None
    models: tuple[str, ...] = ()
    name = "0-1"
    for block in [blocks] if isinstance(blocks, Pairs | Predictions) else blocks:
        models = block.models
        if isinstance(block, Pairs):
            name = concordance
            found = _of_maps(block, concordance, over)
        else:
            found = _of_classes(block.labels)
        total = found if total is None else total + found
    if total is None:
        raise ValueError("there are no images on which models could agree")
    sums, images, alike = total
    mean = np.divide(sums, images, out=np.full(sums.shape, np.nan), where=images > 0)
    return Agreement(models, name, mean, images.astype(np.int64), alike.astype(np.int64))


def _of_maps(pairs: Pairs, concordance: str, over: Over) -> np.ndarray:
    """Return (3, J, J): the sum of agreements, their number, and the number of identical maps among them."""
    values = concordances(pairs, concordance, over=over)
    values = (values + values.swapaxes(0, 1)) / 2
    same = np.zeros_like(values)
    for p, (first, second) in enumerate(pairs.pairs.tolist()):
        if max(first, second) < len(values):
            same[first, second] = same[second, first] = identical(pairs, p)
    counts = ~np.isnan(values)
    return np.stack([np.where(counts, values, 0).sum(2), counts.sum(2), (same * counts).sum(2)])


def identical(pairs: Pairs, place: int) -> np.ndarray:
    """Return (I,) whether both maps of a pair label every pixel alike, void in both or a class in both."""
    both = pairs.both[place]
    return np.asarray(
        pairs.present[place]
        & (both == pairs.rows[place][..., :-1]).all(1)
        & (both == pairs.columns[place][..., :-1]).all(1)
    )


def _of_classes(labels: np.ndarray) -> np.ndarray:
    """Return (3, J, J), as for maps, from (J, I) places."""
    j = len(labels)
    out = np.zeros((3, j, j))
    for first in range(j):
        for second in range(first + 1, j):
            there = (labels[first] >= 0) & (labels[second] >= 0)
            same = int((there & (labels[first] == labels[second])).sum())
            out[:, first, second] = out[:, second, first] = same, int(there.sum()), same
    return out


def alike(found: Agreement) -> list[tuple[str, str]]:
    """Return the pairs of models that agree on every image that both have: no label can distinguish the
    two.
    """
    first, second = np.nonzero(np.triu((found.images > 0) & (found.alike == found.images), 1))
    return [(found.models[a], found.models[b]) for a, b in zip(first.tolist(), second.tolist(), strict=True)]


def table_text(found: Agreement, most: int = 30) -> str:
    """Return the table as lines of text, with numbered columns; for more than ``most`` models only the mean
    with all others.

    >>> two = Agreement(
    ...     ("fcn", "unet"),
    ...     "miou",
    ...     np.array([[np.nan, 0.25], [0.25, np.nan]]),
    ...     np.full((2, 2), 7),
    ...     np.zeros((2, 2), int),
    ... )
    >>> print(table_text(two))
    mean agreement (miou, 7 images)
                1    2
      1 fcn     -  .25
      2 unet  .25    -
    """
    j = len(found.models)
    numbers = np.unique(found.images[~np.eye(j, dtype=bool)])
    images = (
        counted(int(numbers[-1]), "image")
        if len(numbers) == 1
        else f"{numbers[0]} to {numbers[-1]} images a pair"
    )
    head = f"mean agreement ({found.concordance}, {images})"
    digits = len(str(j))
    wide = max(map(len, found.models))
    rows = [f"  {k:>{digits}} {model:<{wide}}" for k, model in enumerate(found.models, 1)]
    if j > most:
        means = [f"{row} {_short(value)}" for row, value in zip(rows, with_others(found), strict=True)]
        return "\n".join([f"{head} with the others", *means])
    lines = [" " * len(rows[0]) + "".join(f" {k:>4}" for k in range(1, j + 1))]
    lines += [
        row + "".join(f" {_short(v):>4}" for v in values)
        for row, values in zip(rows, found.mean, strict=True)
    ]
    return "\n".join([head, *lines])


def with_others(found: Agreement) -> np.ndarray:
    """Return (J,) each model's mean agreement with all others, each counted once; NaN if it has no image in
    common with any.

    >>> mean = np.array([[np.nan, 0.5, 0.25], [0.5, np.nan, np.nan], [0.25, np.nan, np.nan]])
    >>> with_others(Agreement(("a", "b", "c"), "miou", mean, np.zeros((3, 3), int), np.zeros((3, 3), int)))
    array([0.375, 0.5  , 0.25 ])
    """
    known = ~np.isnan(found.mean)
    return np.divide(
        np.nansum(found.mean, 1), known.sum(1), out=np.full(len(found.models), np.nan), where=known.any(1)
    )


def _short(value: float) -> str:
    """Return a share with two decimals and no leading zero; 1 only for full agreement, - for NaN."""
    return (
        "-" if np.isnan(value) else "1" if value >= ALIKE else f"{min(value, 0.99):.2f}".replace("0.", ".", 1)
    )
