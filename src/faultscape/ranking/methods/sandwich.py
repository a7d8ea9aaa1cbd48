"""Standard errors of Bradley-Terry strengths in closed form, when one image decides many games.

Conventions: a game is (first, second, image, points): models as places, points 1, 1/2 or 0 of the first. All
games of one image are one observation; strengths have mean zero. The covariance is H^-1 M H^-1, H the
curvature of the likelihood, M the sum over images of the outer product of their slopes. It needs no
replicates, and is the limit of the bootstrap over images as their number grows.

``games`` are the games of all images. ``strengths`` (J,) are the fitted ones.

Source: Huber 1967, White 1982; by clusters: Liang and Zeger 1986. Curvature of ties: Davidson 1970.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import RankingError
from faultscape.ranking.methods.davidson import chances
from faultscape.ties import DECIMALS

Games = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def reuse_games(accuracy: np.ndarray) -> Games:
    """Return the games of every two models on every image where both are known, ties half: (first, second,
    image, points).

    >>> reuse_games(np.array([[1.0, 0.0], [1.0, np.nan]]))
    (array([0]), array([1]), array([0]), array([0.5]))
    """
    accuracy = np.round(np.asarray(accuracy, dtype=float), DECIMALS)
    first, second = np.triu_indices(len(accuracy), 1)
    gap = accuracy[first] - accuracy[second]
    pair, image = np.nonzero(~np.isnan(gap))
    return first[pair], second[pair], image, (1 + np.sign(gap[pair, image])) / 2


def sandwich(games: Games, strengths: np.ndarray, nu: float = 0.0, pseudo_count: float = 0.5) -> np.ndarray:
    """Return (J, J) the covariance of the strengths that ``bradley_terry`` or, with its ``nu``,
    ``bradley_terry_ties`` returned.

    NaN for models without a strength, and for all if fewer than two images have games. ``pseudo_count`` is
    the value used in the fit. RankingError for games and strengths that do not match.

    >>> games = (np.zeros(400, int), np.ones(400, int), np.arange(400), np.repeat([1.0, 0.0], 200))
    >>> sandwich(games, np.zeros(2), pseudo_count=0).round(
    ...     6
    ... )  # a quarter of the variance of the log-odds, 4 / 399
    array([[ 0.002506, -0.002506],
           [-0.002506,  0.002506]])
    """
    first, second, image, points = (np.asarray(column) for column in games)
    strengths = np.asarray(strengths, dtype=float)
    j = len(strengths)
    if (
        not len(first) == len(second) == len(image) == len(points)
        or max(first.max(initial=-1), second.max(initial=-1)) >= j
    ):
        raise RankingError(f"games must be four columns of one length, of models 0 to {j - 1}")
    ranked = ~np.isnan(strengths)
    keep = ranked[first] & ranked[second]
    first = first[keep]
    second = second[keep]
    image = image[keep]
    points = points[keep]
    images, place = np.unique(image, return_inverse=True)
    out = np.full((j, j), np.nan)
    if len(images) < 2 or np.isnan(nu):
        return out
    with_ties = nu > 0
    win, tie = chances(strengths[first] - strengths[second], nu)
    lose = 1 - win - tie
    rest = points - (win + tie / 2)
    slopes = np.zeros((len(images), j + 1))  # per image, of the strengths and of log nu
    np.add.at(slopes, (place, first), rest)
    np.add.at(slopes, (place, second), -rest)
    if with_ties:
        np.add.at(slopes[:, j], place, (points == 0.5) - tie)

    known = np.where(ranked, strengths, 0.0)
    own = np.zeros((j, j))
    np.add.at(own, (first, second), win * lose + tie * (win + lose) / 4)
    own += own.T
    met = np.zeros((j, j))
    np.add.at(met, (first, second), 1.0)
    met += met.T
    extra = 2 * pseudo_count * (met > 0)  # games of the pseudo-count, one way and the other
    all_win, all_tie = chances(known[:, None] - known[None, :], nu)
    own += extra * (all_win * all_win.T + all_tie * (1 - all_tie) / 4)
    curve = np.zeros((j + 1, j + 1))
    curve[:j, :j] = (
        np.diag(own.sum(1))
        - own
        + np.where(ranked[:, None] & ranked[None, :], 1.0, 0.0)
        + np.diag(1.0 * ~ranked)
    )
    if with_ties:
        cross = np.zeros(j)
        np.add.at(cross, first, tie * (lose - win) / 2)
        np.add.at(cross, second, tie * (win - lose) / 2)
        cross += (extra * all_tie * (all_win.T - all_win) / 2).sum(1)
        curve[:j, j] = curve[j, :j] = cross
        curve[j, j] = (tie * (1 - tie)).sum() + (extra * all_tie * (1 - all_tie)).sum() / 2
    else:
        curve[j, j] = 1.0
    spread = slopes - slopes.mean(0)  # with a pseudo-count the slopes do not sum to zero
    n = len(images)
    inverse = np.linalg.inv(curve)
    covariance = inverse @ (spread.T @ spread * (n / (n - 1))) @ inverse
    both = ranked[:, None] & ranked[None, :]
    out[both] = covariance[:j, :j][both]
    return out


def standard_errors(
    games: Games, strengths: np.ndarray, nu: float = 0.0, pseudo_count: float = 0.5
) -> np.ndarray:
    """Return (J,) the standard errors of the strengths, the roots of the diagonal of ``sandwich``; the same
    errors are raised.

    >>> games = (np.zeros(400, int), np.ones(400, int), np.arange(400), np.repeat([1.0, 0.0], 200))
    >>> standard_errors(games, np.zeros(2), pseudo_count=0).round(4)
    array([0.0501, 0.0501])
    """
    # rounding may fall below zero
    return np.sqrt(np.maximum(np.diag(sandwich(games, strengths, nu, pseudo_count)), 0))
