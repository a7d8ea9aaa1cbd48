"""Nearness of features to those of training images: the density of the nearest neighbours by cosine, and the
share of it that has the predicted class.

Conventions: features are (n, D), scaled to length 1; a zero vector has cosine 0 with all. Neighbours are
exact: the largest cosines of all, found one block of training features at a time; among equal ones the first
count, so that the nearest few are always the first of the nearest many. NaN counts as nearest, so that it
becomes visible. The paper prints exp(-cos) in eq. 4 and 5 and calls the sum a density, although it is largest
for distant features. A density should grow with nearness: here it is the mean of exp(cos) over k neighbours,
and the score is its negative logarithm, from -1 (k identical features) to 1. ``printed`` uses the mean of
exp(-cos) as the score, as if eq. 5 were a distance; with one neighbour both give the same order. In eq. 4,
the class's share of the density is subtracted from 1; as printed, the weights of near and far neighbours are
swapped.
Source: Blum et al. 2021, section 4.1, eq. 4 and 5, B.5; Mandelbaum and Weinshall 2017; Papernot and McDaniel
2018 (cosine).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from faultscape.errors import MetricError
from faultscape.uncertainty import tensors

# queries and keys compared at once: 8 MB of cosines, near a CPU's cache size, and a few times that during
# selection; on a GPU, which waits for each block to be counted, 1 GB
_BLOCK = (512, 4096)
_BLOCK_ON_GPU = (16_384, 16_384)


class Neighbours:
    """Training features (m, D) of length 1, in which methods search for neighbours. Methods that share them
    search a grid once, for ``most`` neighbours; 0 if only one method uses them.
    """

    def __init__(self, keys: Tensor) -> None:
        self.keys = keys
        self.most = 0
        self._there: tuple[str, Tensor] = ("", keys)
        self._last: tuple[Tensor, Tensor, Tensor] | None = None

    def of(self, grid: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the cosines (N * h * w, k) and the places of the k nearest neighbours of the features of a
        grid (N, D, h, w).
        """
        last = self._last
        if last is None or last[0] is not grid or last[1].shape[1] < k:
            queries = unit(grid.permute(0, 2, 3, 1).reshape(-1, grid.shape[1]).float())
            last = (grid, *nearest(queries, self._on(grid.device), max(k, self.most)))
            self._last = last if self.most else None
        return last[1][:, :k], last[2][:, :k]

    def forget(self) -> None:
        """Discard the last search result, which is large."""
        self._last = None

    def _on(self, device: torch.device) -> Tensor:
        """Return the training features on a device, moved there once."""
        there = self._there
        if there[0] != str(device):
            self._there = there = (str(device), self.keys.to(device))
        return there[1]


def unit(features: Tensor) -> Tensor:
    """Return features (..., D) scaled to length 1; zero vectors stay 0.

    >>> unit(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    tensors.floats(features, "features", "(D, ...)")
    return features / features.norm(dim=-1, keepdim=True).clamp_min(1e-12)


def nearest(queries: Tensor, keys: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the cosines (n, k), the largest first, and the places (n, k) of the k nearest keys (m, D) to
    queries (n, D), all of length 1. MetricError if there are fewer than k.

    >>> keys = unit(torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))
    >>> nearest(keys[:1], keys, 2)[1].tolist()
    [[0, 1]]
    """
    tensors.floats(queries, "queries", "(n, D)")
    tensors.floats(keys, "keys", "(m, D)")
    tensors.alike({"queries": queries, "keys": keys})
    if queries.shape[1] != keys.shape[1]:
        raise MetricError(
            f"queries (n, D) and keys (m, D) have the same D; got {tuple(queries.shape)} and"
            f" {tuple(keys.shape)}"
        )
    if k < 1:
        raise MetricError(f"k is {k}; expected 1 or more neighbours")
    if k > len(keys):
        raise MetricError(
            f"{len(keys)} training embeddings; {k} neighbours need as many: lower k, or keep more embeddings"
        )
    if not len(queries):
        return queries.new_empty((0, k)), torch.empty((0, k), dtype=torch.long, device=queries.device)
    many, block = _BLOCK if queries.device.type == "cpu" else _BLOCK_ON_GPU
    found = [_nearest(some, keys, k, block) for some in queries.split(many)]
    cosines, places = zip(*found, strict=True)
    return torch.cat(cosines), torch.cat(places)


def _nearest(queries: Tensor, keys: Tensor, k: int, block: int) -> tuple[Tensor, Tensor]:
    cosines = queries.new_empty((len(queries), 0))
    places = torch.empty((len(queries), 0), dtype=torch.long, device=queries.device)
    for first in range(0, len(keys), block):
        values = queries @ keys[first : first + block].T
        least = cosines[:, -1:] if cosines.shape[1] == k else _below_largest(values, k)
        some, there = _above(values, least, k)
        cosines, order = torch.cat([cosines, some], dim=1).sort(dim=1, descending=True, stable=True)
        cosines = cosines[:, :k]
        order = order[:, :k]
        places = torch.cat([places, there + first], dim=1).gather(1, order)
    return cosines, places


def _below_largest(values: Tensor, k: int) -> Tensor:
    """Return the float (n, 1) just below the k-th largest value of each row."""
    return values.topk(min(k, values.shape[1]), dim=1).values[:, -1:].nextafter(values.new_tensor(-torch.inf))


def _above(values: Tensor, least: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return, for each row of values (n, m), the few values above ``least`` (n, 1), or NaN, in order, and
    their places. Rows are padded with -inf; a row with far more than k keeps those that may be among its k
    largest.
    """
    rows, columns = _places((values <= least).logical_not_())
    counts = rows.bincount(minlength=len(values))
    if (many := counts > 4 * k).any():
        least = torch.where(many[:, None], _below_largest(values, k), least)
        rows, columns = _places((values <= least).logical_not_())
        counts = rows.bincount(minlength=len(values))
    place = torch.arange(len(rows), device=rows.device) - (counts.cumsum(0) - counts)[rows]
    found = values.new_full((len(values), int(counts.max())), -torch.inf)
    there = columns.new_zeros(found.shape)
    found[rows, place], there[rows, place] = values[rows, columns], columns
    return found, there


def _places(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows and columns where a mask (n, m) is true. On a CPU, NumPy finds sparse entries in a
    tenth of the time.
    """
    if mask.device.type != "cpu":
        rows, columns = mask.nonzero(as_tuple=True)
        return rows, columns
    flat = torch.from_numpy(np.flatnonzero(mask.numpy()))
    rows = flat.div(mask.shape[1], rounding_mode="floor")
    return rows, flat - rows * mask.shape[1]


def density_score(cosines: Tensor, *, printed: bool = False) -> Tensor:
    """Return the score (n,) of cosines (n, k) to the nearest neighbours, large = far from all (Blum et al.
    2021, eq. 5). Errors: MetricError for cosines of the wrong shape.

    >>> density_score(torch.tensor([[1.0, 1.0], [0.0, 0.0]])).round(decimals=4).tolist()
    [-1.0, -0.0]
    """
    tensors.floats(cosines, "cosines", "(n, k)")
    return (-cosines).exp().mean(1) if printed else -cosines.exp().mean(1).log()


def class_score(cosines: Tensor, has: Tensor, *, printed: bool = False) -> Tensor:
    """Return 1 - the share (n,) of the density from neighbours whose patch contains the predicted class,
    ``has`` (n, k) (Blum et al. 2021, eq. 4). Errors: MetricError if shapes differ.

    >>> class_score(torch.zeros(1, 4), torch.tensor([[True, True, True, False]])).tolist()
    [0.25]
    """
    tensors.floats(cosines, "cosines", "(n, k)")
    if not isinstance(has, Tensor) or has.dtype != torch.bool:
        raise MetricError(f"has is a tensor (n, k) of bools; got {getattr(has, 'dtype', type(has).__name__)}")
    if cosines.shape != has.shape:
        raise MetricError(
            f"cosines and has are (n, k) both; got {tuple(cosines.shape)} and {tuple(has.shape)}"
        )
    weights = (-cosines if printed else cosines).exp()
    return (weights * ~has).sum(1) / weights.sum(1)
