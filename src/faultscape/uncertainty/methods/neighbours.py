"""How near features lie to those of training images: the density of the nearest neighbours by cosine, and the share of them that have the predicted class.

Conventions: features are (n, D) and are brought to length 1; one that has no length is like none (cosine 0). Neighbours are exact: the largest cosines of all, found a block of training features at a time. The paper prints exp(-cos) in
eq. 4 and 5 and calls the sum a density, though it is largest for what is far. A density grows with nearness: here it is the mean of exp(cos) over k neighbours, and the score its negative logarithm,
from -1 (k features just like it) to 1. ``printed`` takes the mean of exp(-cos) as the score, as if eq. 5 were a distance; of one neighbour both order alike. In eq. 4 the class's share of the density is taken
from 1; as printed the weights of near and far neighbours are swapped.
Source: S4 5.1, eq. 4 and 5, B.5; Mandelbaum and Weinshall 2017; Papernot and McDaniel 2018 (cosine).
"""

from __future__ import annotations

import threading

import torch
from torch import Tensor

from faultscape.errors import MetricError

_QUERIES, _KEYS = 1024, 8192  # held against each other at a time: 32 MB of cosines


class Neighbours:
    """Training features (m, D) of length 1, among which methods look for neighbours. Those that share them search a grid once, for ``most`` neighbours; 0 where one method has them alone."""

    def __init__(self, keys: Tensor) -> None:
        self.keys, self.most = keys, 0
        self._there: tuple[str, Tensor] = ("", keys)
        self._searched = threading.local()  # threads work on grids of their own

    def of(self, grid: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the cosines (N * h * w, k) and the places of the k nearest of the features of a grid (N, D, h, w)."""
        last: tuple[Tensor, Tensor, Tensor] | None = getattr(self._searched, "last", None)
        if last is None or last[0] is not grid or last[1].shape[1] < k:
            self._searched.last = last = None  # a large thing, let go before the next is made
            queries = unit(grid.permute(0, 2, 3, 1).reshape(-1, grid.shape[1]).float())
            last = (grid, *nearest(queries, self._on(grid.device), max(k, self.most)))
            if self.most:
                self._searched.last = last
        return last[1][:, :k], last[2][:, :k]

    def _on(self, device: torch.device) -> Tensor:
        """Return the training features on a device, moved there once."""
        if self._there[0] != str(device):
            self._there = (str(device), self.keys.to(device))
        return self._there[1]


def unit(features: Tensor) -> Tensor:
    """Return features (..., D) of length 1, or 0 where they have none.

    >>> unit(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    return features / features.norm(dim=-1, keepdim=True).clamp_min(1e-12)


def nearest(queries: Tensor, keys: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the cosines (n, k), the largest first, and the places (n, k) of the k nearest of keys (m, D), of length 1 as the queries (n, D) are. MetricError where there are fewer than k.

    >>> keys = unit(torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))
    >>> nearest(keys[:1], keys, 2)[1].tolist()
    [[0, 1]]
    """
    if k < 1:
        raise MetricError(f"k is {k}; expected 1 or more neighbours")
    if k > len(keys):
        raise MetricError(f"{len(keys)} training embeddings; {k} neighbours need as many: lower k, or keep more embeddings")
    found = [_nearest(some, keys, k) for some in queries.split(_QUERIES)]
    cosines, places = zip(*found, strict=True)
    return torch.cat(cosines), torch.cat(places)


def _nearest(queries: Tensor, keys: Tensor, k: int) -> tuple[Tensor, Tensor]:
    cosines, places = (queries @ keys[:_KEYS].T).topk(min(k, _KEYS, len(keys)), dim=1)
    for first in range(_KEYS, len(keys), _KEYS):
        more = queries @ keys[first : first + _KEYS].T
        if cosines.shape[1] < k:
            others, there = more.topk(min(k, more.shape[1]), dim=1)
        else:
            others, there = _above(more, cosines[:, -1:])
        cosines, order = torch.cat([cosines, others], dim=1).topk(min(k, cosines.shape[1] + others.shape[1]), dim=1)
        places = torch.cat([places, there + first], dim=1).gather(1, order)
    return cosines, places


def _above(values: Tensor, least: Tensor) -> tuple[Tensor, Tensor]:
    """Return what is above ``least`` (n, 1) in each row of values (n, m), and where, filled up with -inf: few of many, so that sorting them is cheap."""
    rows, columns = (values > least).nonzero(as_tuple=True)
    counts = rows.bincount(minlength=len(values))
    place = torch.arange(len(rows), device=rows.device) - (counts.cumsum(0) - counts)[rows]
    found = values.new_full((len(values), int(counts.max())), -torch.inf)
    there = columns.new_zeros(found.shape)
    found[rows, place], there[rows, place] = values[rows, columns], columns
    return found, there


def density_score(cosines: Tensor, *, printed: bool = False) -> Tensor:
    """Return the score (n,) of cosines (n, k) to the nearest neighbours, large = far from all (S4 eq. 5). Errors: MetricError for cosines of another shape.

    >>> density_score(torch.tensor([[1.0, 1.0], [0.0, 0.0]])).tolist()
    [-1.0, -0.0]
    """
    if cosines.ndim != 2:
        raise MetricError(f"cosines are (n, k); got {tuple(cosines.shape)}")
    return (-cosines).exp().mean(1) if printed else -cosines.exp().mean(1).log()


def class_score(cosines: Tensor, has: Tensor, *, printed: bool = False) -> Tensor:
    """Return 1 - the share of the density (n,) that neighbours have whose patch holds the predicted class, ``has`` (n, k) (S4 eq. 4). Errors: MetricError where shapes differ.

    >>> class_score(torch.zeros(1, 4), torch.tensor([[True, True, True, False]])).tolist()
    [0.25]
    """
    if cosines.ndim != 2 or cosines.shape != has.shape:
        raise MetricError(f"cosines and has are (n, k) both; got {tuple(cosines.shape)} and {tuple(has.shape)}")
    weights = (-cosines if printed else cosines).exp()
    return (weights * ~has).sum(1) / weights.sum(1)
