"""Doubt that a network was trained to output: the probability of a void class, that of an outlier, and the
entropy of a Dirichlet distribution.

Conventions: logits are (C, h, w) float32 of any size, first resized bilinearly to (width, height); the result
is (H, W) float32, large = more anomalous.
Source: Blum et al. 2021, section 4.1 (void class; differential entropy, as Malinin and Gales 2018); Bevandic
et al. 2019 (outlier head).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from faultscape.maps.winners import OnDevice, enlarged

_AT_ONCE = 1 << 21  # logits held at once
_MOST = np.float32(30)  # of a Dirichlet's logit: above it, the square of its exponential overflows float32


def class_share(logits: np.ndarray | OnDevice, channel: int, size: tuple[int, int]) -> np.ndarray:
    """Return the probability (H, W) of one channel.

    >>> class_share(np.log(np.array([[[0.75]], [[0.25]]], np.float32)), 1, (1, 1)).tolist()
    [[0.25]]
    """
    if isinstance(logits, OnDevice) and (there := logits.class_share(channel, size)) is not None:
        return there
    out = np.empty((size[1], size[0]), np.float32)
    for rows, z in _strips(np.asarray(logits), size):
        e = np.exp(z - z.max(0))
        out[rows] = e[channel] / e.sum(0)
    return out


def outlier_share(logit: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return the probability (H, W) of an outlier, from its logit (1, h, w).

    >>> outlier_share(np.zeros((1, 1, 1), np.float32), (1, 1)).tolist()
    [[0.5]]
    """
    from scipy.special import expit

    return expit(enlarged(logit, size)[0]).astype(np.float32)


def differential_entropy(logits: np.ndarray | OnDevice, size: tuple[int, int]) -> np.ndarray:
    """Return the differential entropy (H, W) of the Dirichlet whose concentrations are the exponentials of
    the logits.

    >>> float(
    ...     differential_entropy(np.zeros((2, 1, 1), np.float32), (1, 1))[0, 0]
    ... )  # even over all probabilities
    0.0
    """
    if isinstance(logits, OnDevice) and (there := logits.differential_entropy(size)) is not None:
        return there
    from scipy.special import gammaln, psi

    out = np.empty((size[1], size[0]), np.float32)
    for rows, z in _strips(np.asarray(logits), size):
        alpha = np.exp(np.clip(z, -_MOST, _MOST).astype(np.float64))
        whole = alpha.sum(0)
        entropy = gammaln(alpha).sum(0) - gammaln(whole) + (whole - len(alpha)) * psi(whole)
        out[rows] = entropy - ((alpha - 1) * psi(alpha)).sum(0)
    return out


def _strips(logits: np.ndarray, size: tuple[int, int]) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield some rows of the result and their logits (C, rows, W)."""
    step = max(1, _AT_ONCE // (len(logits) * size[0]))
    for first in range(0, size[1], step):
        rows = slice(first, min(first + step, size[1]))
        yield rows, np.array(enlarged(logits, size, rows))
