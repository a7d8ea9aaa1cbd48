"""Bradley-Terry strengths for comparisons that may end in a tie, with a tie parameter.

Conventions: ``wins`` (..., J, J), row over column; ``ties`` (..., J, J) symmetric, NaN is zero, diagonals are
ignored. Strengths are natural logarithms with mean zero, large = good. For Wang et al. 2020 case II is a win,
cases I and III are ties.
Source: Davidson 1970. It is preferred to Rao and Kupper 1967 because a tie is worth exactly half a win to
each side: if all models met equally often, the order of the strengths is that of the points, and nu = 0 is
Bradley-Terry.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays
from faultscape.ranking.methods.bradley_terry import smoothed
from faultscape.ranking.methods.likelihood import connected

_STEPS = 100
_HALVINGS = 40


def bradley_terry_ties(
    wins: np.ndarray, ties: np.ndarray, pseudo_count: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Return (..., J) log-strengths s and (...,) the tie parameter nu that maximise the likelihood of wins
    and ties.

    With d = s_i - s_j, i wins at e^(d/2) / (e^(d/2) + e^(-d/2) + nu) and ties at nu / (the same). The
    pseudo-count is half a win both ways by default, wherever two models met. Scores go to the largest
    strongly connected component of wins (ties alone do not bound a difference: nu may grow with it); without
    ties in it nu is 0. RankingError for negative or infinite numbers or ties that are not symmetric,
    OptionError for a negative pseudo-count.

    >>> s, nu = bradley_terry_ties(np.array([[0, 8.0], [2, 0]]), np.array([[0, 4.0], [4, 0]]), 0)
    >>> (s[0] - s[1]).round(6), nu.round(6)  # log(8 / 2), 4 / sqrt(8 x 2)
    (np.float64(1.386294), np.float64(1.0))
    """
    wins, ties = (
        checked_arrays.square(games, name, RankingError) for name, games in (("wins", wins), ("ties", ties))
    )
    checked_arrays.broadcastable(RankingError, wins=wins, ties=ties)
    wins, ties = np.broadcast_arrays(wins, ties)
    j = wins.shape[-1]
    off = ~np.eye(j, dtype=bool)
    ties = np.where(np.isnan(ties) | ~off, 0.0, ties)
    if (
        (ties < 0).any()
        or not np.isfinite(ties).all()
        or not np.allclose(ties, np.swapaxes(ties, -1, -2), rtol=1e-12)
    ):
        raise RankingError(
            "ties must be a symmetric matrix of finite numbers not below 0; give 0 where two models never met"
        )
    with_ties = smoothed(np.where(off, wins + ties, 0.0), pseudo_count)  # a tie is a comparison too
    wins = with_ties - ties
    ranked = connected(wins)
    both = ranked[..., :, None] & ranked[..., None, :] & off
    wins = np.where(both, wins, 0.0)
    ties = np.where(both, ties, 0.0)
    s, nu = _newton(wins.reshape(-1, j, j), ties.reshape(-1, j, j), ranked.reshape(-1, j))
    return s.reshape(wins.shape[:-1]), nu.reshape(wins.shape[:-2])[()]


def chances(difference: np.ndarray, nu: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Return the chances of a win and of a tie for a model that is ``difference`` above its opponent.

    >>> win, tie = chances(np.array([0.0]), 1.0)
    >>> win.round(4), tie.round(4)
    (array([0.3333]), array([0.3333]))
    """
    near = np.exp(-np.abs(difference) / 2)  # both sides divided by the larger exponential
    whole = 1 + near * near + nu * near
    return np.where(difference > 0, 1.0, near * near) / whole, nu * near / whole


def _newton(wins: np.ndarray, ties: np.ndarray, ranked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (B, J) and (B,) at the maximum; each item is fitted separately, so a batch equals a loop."""
    b, j = ranked.shape
    games = wins + np.swapaxes(wins, 1, 2) + ties
    weight = np.maximum(games.sum((1, 2)), np.finfo(float).tiny)[:, None, None]
    # twice the likelihood of the games, so that sums run over ordered pairs
    wins = wins / weight
    ties = ties / weight
    games = games / weight
    net = wins.sum(2) - wins.sum(1)
    tied = ties.sum((1, 2))
    free = tied > 0  # without ties nu is 0 and only the strengths are fitted
    s = np.zeros((b, j))
    log_nu = np.zeros(b)
    if b:
        log_nu[free] = np.log(2 * tied[free] / np.maximum(1 - tied[free], 1e-12))  # for equal strengths

    def likelihood(at: np.ndarray, log_at: np.ndarray) -> np.ndarray:
        gap = at[:, :, None] - at[:, None, :]
        nu = np.where(free, np.exp(log_at), 0.0)[:, None, None]
        near = np.exp(-np.abs(gap) / 2)
        norm = np.abs(gap) / 2 + np.log(1 + near * near + nu * near)
        return (net * at).sum(1) + np.where(free, tied * log_at, 0.0) - (games * norm).sum((1, 2))

    going = ranked.any(1)
    last = np.full(b, np.inf)
    for _ in range(_STEPS):
        if not going.any():
            break
        nu = np.where(free, np.exp(log_nu), 0.0)[:, None, None]
        win, tie = chances(s[:, :, None] - s[:, None, :], nu)
        lose = np.swapaxes(win, 1, 2)
        slope = np.empty((b, j + 1))
        slope[:, :j] = net - (games * (win - lose)).sum(2)
        slope[:, j] = np.where(free, tied - (games * tie).sum((1, 2)), 0.0)
        own = games * 2 * (win * lose + tie * (win + lose) / 4)  # the variance of the points of a game
        cross = (games * tie * (lose - win)).sum(2)  # the covariance of its points with whether it is a tie
        bend = np.zeros((b, j + 1, j + 1))
        # the shift is fixed
        bend[:, :j, :j] = -own + np.where(ranked[:, :, None] & ranked[:, None, :], 1.0, 0.0)
        bend[:, range(j), range(j)] += own.sum(2) + ~ranked
        bend[:, :j, j] = bend[:, j, :j] = np.where(free[:, None], cross, 0.0)
        bend[:, j, j] = np.where(free, (games * tie * (1 - tie)).sum((1, 2)), 1.0)
        step = np.linalg.solve(bend, slope[..., None])[..., 0]
        size = np.ones(b)
        before = likelihood(s, log_nu)
        rise = (slope * step).sum(1)
        for _ in range(_HALVINGS):
            after = likelihood(s + size[:, None] * step[:, :j], log_nu + size * step[:, j])
            short = going & (after < before + 1e-4 * size * rise - 1e-13 * np.abs(before))
            if not short.any():
                break
            size[short] /= 2
        move = np.where(going, size, 0.0)
        s += move[:, None] * step[:, :j]
        log_nu += move * step[:, j]
        far = np.abs(step).max(1)
        going &= (far > 1e-9) & ((far > 1e-3) | (far < last))
        last = far
    s -= s.sum(1, where=ranked, keepdims=True) / np.maximum(ranked.sum(1, keepdims=True), 1)
    nu = np.where(free, np.exp(log_nu), 0.0)
    found = np.array(ranked.any(1) & ~going)
    return np.where(ranked & found[:, None], s, np.nan), np.where(found, nu, np.nan)
