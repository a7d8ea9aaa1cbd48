"""How probable it is that a claim "A is better than B" is false, one pair at a time, by a named model.

Conventions: as the analyses of Christodoulou et al. 2025 (claims in medical imaging) define it, from the
scores themselves instead of from what a paper reports: for scores that are 0 or 1 the shares of cases that
only A and only B gets right, under a uniform prior (Dirichlet with ones) of these and of all other cases; for
all other scores the mean difference of units, normal with unknown variance, under Jeffreys' prior, whose
posterior is Student's t. Neither is corrected for the number of pairs.
Source: Christodoulou et al. 2025, section 2.2.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, stdtr

from faultscape.ranking.tables.differences import studied
from faultscape.ranking.tables.score_table import ScoreTable

NORMAL = "differences are normal, Jeffreys' prior (Student's t)"
SHARES = "shares of cases that only one of the two gets right, uniform Dirichlet prior"


def false_claims(table: ScoreTable) -> tuple[np.ndarray, str]:
    """Return (J, J) the posterior probability that the row's mean is not above the column's, and the model
    with its prior; NaN for a model and itself, and from a single unit.
    """
    merits = table.merits
    j = len(merits)
    first, second = np.triu_indices(j, 1)
    out = np.full((j, j), np.nan)
    if table.right_or_wrong:
        gap = merits[first] - merits[second]
        wins = (gap > 0).sum(1)
        losses = (gap < 0).sum(1)
        # of a Dirichlet only the proportion of the two counts: the probability that it is below one half
        out[first, second] = betainc(wins + 1, losses + 1, 0.5)
        out[second, first] = betainc(losses + 1, wins + 1, 0.5)
        return out, SHARES
    if table.units.count > 1:
        of = studied(merits[first] - merits[second], table.units)
        n = of.units
        error = np.sqrt((of.departures**2).sum(0) / (n - 1) / n)
        sure = np.copysign(np.inf, of.mean)
        ratio = np.divide(of.mean, error, out=np.where(of.mean == 0, 0.0, sure), where=error > 0)
        out[first, second] = stdtr(n - 1, -ratio)
        out[second, first] = stdtr(n - 1, ratio)
    return out, NORMAL
