"""What each side of a duel scores on the images chosen for it: P of Yan et al. 2021, eq. 4, for many
bootstrap weights at once.

Conventions: J models, I images with labels, S slots, B sets of weights. A cell is (defender, attacker,
class); the images of cell (d, a, y) are S_da^(y). ``performance[b, role, d, a]`` is the mean over the cells
of the ordered pair (d, a) of the weighted mean concordance with the truth of the defender (role 0) or the
attacker (role 1); NaN where nothing is known. A slot counts if its image has a label and both models a
concordance, so that the two sides of a ratio are always taken over the same images. Without a label it counts
if people chose between the two (``worth``): then each side scores its share of the choices. Cells without
weight are skipped.
Source: Yan et al. 2021, section 3.1.3, 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays

DEFENDER = 0
ATTACKER = 1
_CHUNK = 2_000_000  # numbers in the largest temporary array, 16 MB


@dataclass(frozen=True, eq=False)
class Outcomes:
    """P of Yan et al. 2021, eq. 4 and what was skipped: cells never filled, cells without any label, slots
    without a label.
    """

    performance: np.ndarray
    cells: int
    empty_cells: int
    unlabelled_cells: int
    unlabelled_slots: int


def duel_outcomes(
    defender: np.ndarray,
    attacker: np.ndarray,
    group: np.ndarray,
    image: np.ndarray,
    accuracy: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    groups: int | None = None,
    worth: np.ndarray | None = None,
    voices: np.ndarray | None = None,
) -> Outcomes:
    """Return the performance of both sides on the images of every ordered pair, Yan et al. 2021, eq. 4.

    ``defender``, ``attacker``, ``group``, ``image`` (S,) are places of models, classes and columns of
    ``accuracy``; image -1 has no label. ``accuracy`` (J, I) is the concordance of each model with the truth,
    NaN where unknown; ``weights`` (B, I) are nonnegative, ones by default (B = 1). ``groups`` is the number
    of classes that could fill a cell, by default the number of classes seen. ``worth`` (2, S) is the share of
    choices for the defender and the attacker of a slot whose image has no label, NaN if nobody chose, and
    ``voices`` (S,) the number of these choices, ones by default: such a slot weighs in its cell by this
    number, in units of the mean over such slots; one with a label weighs 1. RankingError for columns of
    unequal lengths, or places that ``accuracy`` and ``weights`` do not have.

    >>> found = duel_outcomes([0, 0, 1], [1, 1, 0], [0, 1, 0], [0, 1, -1], [[0.8, 0.6], [0.4, 0.2]])
    >>> found.performance[0, :, 0, 1].round(3)  # defender 0 and attacker 1 on S_01
    array([0.7, 0.3])
    >>> found.cells, found.empty_cells, found.unlabelled_cells
    (4, 1, 1)
    """
    defender, attacker, group, image = (
        checked_arrays.whole_numbers(column, name, RankingError, "S").astype(np.intp, copy=False)
        for name, column in (
            ("defender", defender),
            ("attacker", attacker),
            ("group", group),
            ("image", image),
        )
    )
    accuracy = checked_arrays.numbers(accuracy, "accuracy", RankingError).astype(float, copy=False)
    columns = {"defender": defender, "attacker": attacker, "group": group, "image": image}
    if len({len(column) for column in columns.values()}) > 1:
        raise RankingError(
            "slots have columns of one length; got"
            f" {', '.join(f'{name} {len(c)}' for name, c in columns.items())}"
        )
    if accuracy.ndim != 2:
        raise RankingError(f"accuracy is models x images; got shape {accuracy.shape}")
    j, i = accuracy.shape
    for name, end in {"defender": j, "attacker": j, "image": i}.items():
        low = -1 if name == "image" else 0
        if len(places := columns[name]) and not low <= places.min() <= places.max() < end:
            raise RankingError(
                f"{name} goes from {places.min()} to {places.max()}; accuracy has places 0 to {end - 1}"
            )
    weights = np.ones((1, i)) if weights is None else np.asarray(weights, dtype=float)
    n_groups = int(group.max(initial=-1)) + 1 if groups is None else groups

    cell = (defender * j + attacker) * n_groups + group
    values = np.full((2, len(cell)), np.nan)
    labelled = image >= 0
    for role, model in ((DEFENDER, defender), (ATTACKER, attacker)):
        values[role, labelled] = accuracy[model[labelled], image[labelled]]
    size = np.ones(len(cell))
    if worth is not None:
        by_choice = np.isnan(values).any(0) & labelled & ~np.isnan(worth).any(0)
        values[:, by_choice] = worth[:, by_choice]
        if voices is not None and by_choice.any():
            size[by_choice] = voices[by_choice] / voices[by_choice].mean()
    known = np.flatnonzero(~np.isnan(values).any(0))
    # sums do not depend on the order in which the slots came
    known = known[np.lexsort((image[known], cell[known]))]

    filled = len(np.unique(cell))
    cells, place = np.unique(cell[known], return_inverse=True)
    performance = _means(
        cells // max(n_groups, 1), place, image[known], values[:, known], size[known], weights, j
    )
    total = j * (j - 1) * n_groups
    return Outcomes(performance, total, total - filled, filled - len(cells), len(cell) - len(known))


def _means(
    pair: np.ndarray,
    place: np.ndarray,
    image: np.ndarray,
    values: np.ndarray,
    size: np.ndarray,
    weights: np.ndarray,
    j: int,
) -> np.ndarray:
    """Return (B, 2, J, J) from cells sorted by ordered pair: ``pair`` (cells,), and per slot its cell, image,
    two values and weight.
    """
    from scipy.sparse import csr_array

    b, i = weights.shape
    out = np.full((b, 2, j * j), np.nan)
    if not len(pair):
        return out.reshape(b, 2, j, j)
    shape = (len(pair), i)
    count = csr_array((size, (place, image)), shape=shape)
    worth = [csr_array((row * size, (place, image)), shape=shape) for row in values]
    pairs, start = np.unique(pair, return_index=True)
    step = max(1, _CHUNK // len(pair))
    for low in range(0, b, step):
        part = np.ascontiguousarray(weights[low : low + step].T)
        total = count @ part
        seen = total > 0
        cells = np.add.reduceat(seen, start, axis=0, dtype=float)
        for role in (DEFENDER, ATTACKER):
            inner = np.divide(worth[role] @ part, total, out=np.zeros_like(total), where=seen)
            outer = np.add.reduceat(inner, start, axis=0)
            out[low : low + step, role, pairs] = np.divide(
                outer, cells, out=np.full_like(outer, np.nan), where=cells > 0
            ).T  # S0 eq. 4
    return out.reshape(b, 2, j, j)
