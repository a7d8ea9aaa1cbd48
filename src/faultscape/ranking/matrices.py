"""Who beats whom, and who resists: the matrices of aggressiveness and resistance.

Conventions: ``performance`` (..., 2, J, J) is [role, defender, attacker] as ``outcomes`` gives it; a matrix
is (..., J, J), row against column, ones on the diagonal, NaN where nothing was compared or both sides are
zero without epsilon. Large = good for the row model. Both matrices hold the same ratios: R is the
element-wise inverse of A transposed, r_ij = 1 / a_ji. The two rankings made from them differ only because eq.
6 takes the ratios as weights.
Source: Yan et al. 2021, section 3.1.3.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import OptionError, RankingError
from faultscape.maps import checked_arrays
from faultscape.ranking.outcomes import ATTACKER, DEFENDER


def aggressiveness(performance: np.ndarray, epsilon: float = 0.01) -> np.ndarray:
    """Return A, a_ij = (P(f_i; S_ji) + epsilon) / (P(f_j; S_ji) + epsilon): how well i attacks j, Yan et al.
    2021, eq. 3.

    (..., J, J) from ``performance`` (..., 2, J, J). OptionError for a negative epsilon.

    >>> p = np.full((2, 2, 2), np.nan)
    >>> p[:, 1, 0] = 0.24, 0.49  # on S_10 the defender 1 has .24, the attacker 0 has .49
    >>> aggressiveness(p)
    array([[ 1.,  2.],
           [nan,  1.]])
    """
    performance = _performance(performance)
    turned = np.swapaxes(performance, -1, -2)  # [role, attacker, defender]
    return _ratio(turned[..., ATTACKER, :, :], turned[..., DEFENDER, :, :], epsilon)  # S0 eq. 3


def resistance(performance: np.ndarray, epsilon: float = 0.01) -> np.ndarray:
    """Return R, r_ij = (P(f_i; S_ij) + epsilon) / (P(f_j; S_ij) + epsilon): how well i resists j, Yan et al.
    2021, eq. 5.

    (..., J, J) from ``performance`` (..., 2, J, J). OptionError for a negative epsilon.

    >>> p = np.full((2, 2, 2), np.nan)
    >>> p[:, 1, 0] = 0.24, 0.49
    >>> resistance(p)
    array([[1. , nan],
           [0.5, 1. ]])
    """
    performance = _performance(performance)
    return _ratio(performance[..., DEFENDER, :, :], performance[..., ATTACKER, :, :], epsilon)  # S0 eq. 5


def _performance(performance: np.ndarray) -> np.ndarray:
    """Return performances (..., 2, J, J); RankingError for other shapes."""
    held = checked_arrays.square(performance, "performance", RankingError, "... x 2 x J x J")
    if held.shape[-3] != 2:
        raise RankingError(f"performance: expected numbers, ... x 2 x J x J; got shape {held.shape}")
    return held


def _ratio(above: np.ndarray, below: np.ndarray, epsilon: float) -> np.ndarray:
    if not (np.isfinite(epsilon) and epsilon >= 0):
        raise OptionError(f"epsilon must be a number not below 0; got {epsilon}")
    above = above + epsilon
    below = below + epsilon
    out = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    j = out.shape[-1]
    out[..., range(j), range(j)] = 1.0
    return out
