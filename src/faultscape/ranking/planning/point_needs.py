"""How many points a question needs: before any answer from how much the belief expects single draws to vary,
then from what the answers show.

Conventions: numbers of points are draws; a draw of K points in one look counts once. What a draw adds to the
scores varies by a covariance (J, J), so that N draws leave one of it over N: unlike images, a pool has far
more pixels than anyone draws. *Told apart* is as the verdict tells: better with 95 % for all pairs at once,
which succeeds four times in five at the number named (`label_needs`, *proved*). Scores are pooled mIoU.
Source: the arithmetic of the normal distribution; measured in docs/benchmarks/plan.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from faultscape.ranking.planning.label_needs import POWER, WORLDS, limit_of_all
from faultscape.ranking.planning.label_variances import Curve
from faultscape.ranking.points.belief import Belief
from faultscape.ranking.points.box_states import BoxStates
from faultscape.ranking.points.estimates import PointScores
from faultscape.ranking.points.intervals import Spread
from faultscape.standings import MOST_POINTS, Gap

# an untaught belief trusts what models agree on too much, most of all where they are two: by how many times
# single draws vary more than it expects, for many models and what two add; measured, docs/benchmarks/plan.md
SURER = 1.5
OF_TWO = 3.5
BOXED = 0.5  # of the points are enough beside loose boxes of all classes; measured, docs/benchmarks/boxes.md
RANGE = (
    0.1,
    0.9,
)  # such ranges held the number really needed in 89 to 100 % of cases on CamVid, elsewhere in 55 to 100
_ENDLESS = 10**12  # pixels
STEP = 50  # numbers of more points are rounded up to it


class PointNeed(NamedTuple):
    """How many points in all tell two models apart, and the range in which that lies; inf where none do."""

    points: float
    low: float
    high: float

    @property
    def hopeless(self) -> bool:
        """Whether even the low end is more than anyone answers: the two models are nearly equal."""
        return not self.low <= MOST_POINTS

    def more(self, used: int) -> tuple[int, int, int]:
        """Return how many more than those ``used``, in the middle, at least and at most, in steps of 50, and
        as if `MOST_POINTS` were always enough.
        """
        steps = (max(min(number, MOST_POINTS) - used, 1) / STEP for number in self)
        middle, low, high = (int(STEP * np.ceil(step)) for step in steps)
        return middle, low, high


def points_to_tell(gap: Gap, used: int, models: int) -> PointNeed:
    """Return how many points tell the two of J ``models`` of a gap apart, as far as ``used`` answers show.

    The difference is known no better than its interval says, so that the number is the median over what it
    may be: models that seem equal may differ. The range holds four fifths of these.

    >>> close = points_to_tell(Gap("a", "b", 0.001, [-0.03, 0.032], False), 300, 2)
    >>> [100 * round(number / 100) for number in close]
    [5200, 900, 148500]
    >>> far = points_to_tell(Gap("a", "b", 0.03, [-0.001, 0.061], False), 300, 2)
    >>> [100 * round(number / 100) for number in far]
    [700, 200, 5600]
    """
    from scipy.special import ndtri

    half = gap.interval[1] - gap.difference
    if not half > 0:
        return PointNeed(np.inf, np.inf, np.inf)
    limit = limit_of_all(models)
    error = half / limit
    middle, high, low = (_size(gap.difference, error, share) for share in (0.5, *RANGE))
    return PointNeed(*(used * ((limit + ndtri(POWER)) * error / size) ** 2 for size in (middle, low, high)))


def _size(difference: float, error: float, share: float) -> float:
    """Return the size below which a difference with this standard error lies with probability ``share``."""
    from scipy.special import ndtr

    low = 0.0
    high = abs(difference) + 10 * error
    for _ in range(60):
        middle = (low + high) / 2
        inside = ndtr((middle - difference) / error) - ndtr((-middle - difference) / error)
        low, high = (middle, high) if inside < share else (low, middle)
    return high


def expected_covariance(
    belief: Belief,
    slopes: np.ndarray,
    said: np.ndarray,
    probability: np.ndarray,
    boxes: BoxStates | None = None,
) -> np.ndarray:
    """Return (J, J) the covariance of what one draw adds to scores with these ``slopes`` (J, C + 1, C + 1),
    as an untaught belief expects it: over the true classes at a sample of draws, where the models say
    ``said`` (J, N) and people drew ``boxes``, and a pixel is drawn with ``probability`` (N,).
    """
    chance = belief.probabilities(said, boxes)
    adds = np.array([table[own, : chance.shape[1]] for table, own in zip(slopes, said, strict=True)])
    adds -= (chance * adds).sum(2, keepdims=True)
    adds *= np.sqrt(chance) / probability[:, None]
    flat = adds.reshape(len(adds), -1)
    surer = SURER + OF_TWO / max(len(adds) - 1, 1) ** 2
    return surer * flat @ flat.T / len(probability)


def measured_covariance(found: PointScores, spread: Spread) -> np.ndarray:
    """Return (J, J) the covariance of what one draw adds, as standard errors after N answers show it."""
    own = spread.error**2
    return found.draws * (own[:, None] + own - spread.error_of_differences**2) / 2


def point_curve(covariance: np.ndarray) -> Curve:
    """Return how the variances fall with the number of points: a pixel may be drawn again, so that it does
    not matter how many there are.

    >>> point_curve(np.diag([0.04, 0.05])).pairs[0].round(3)
    array([0.09])
    """
    first, second = np.triu_indices(len(covariance), 1)
    own = np.diagonal(covariance)
    apart = np.maximum(own[first] + own[second] - 2 * covariance[first, second], 0.0)
    return Curve(_ENDLESS, np.array([1.0, _ENDLESS]), np.tile(apart, (2, 1)), np.tile(own, (2, 1)))


def point_worlds(score: np.ndarray, covariance: np.ndarray, draws: int, seed: int = 0) -> np.ndarray:
    """Return (W, J) losses that N draws with this covariance (J, J) and these scores (J,) leave possible."""
    middle = np.eye(len(score)) - 1 / len(score)  # only differences count
    values, vectors = np.linalg.eigh(middle @ covariance @ middle / max(draws, 1))
    root = vectors * np.sqrt(np.maximum(values, 0))
    return 1 - (score + np.random.default_rng(seed).standard_normal((WORLDS, len(score))) @ root.T)


def points_for_score(covariance: np.ndarray, half: float) -> int:
    """Return how many points make 95 % intervals of all scores at most as wide as twice ``half``, if a draw
    adds to them by this covariance (J, J).

    >>> points_for_score(np.diag([0.04, 0.09]), 0.03)
    385
    """
    from scipy.special import ndtri

    return int(np.ceil(np.diagonal(covariance).max() * (ndtri(0.975) / half) ** 2))


def many_points(points: int) -> str:
    """Return a number of points, rounded up to two digits.

    >>> many_points(78), many_points(12_556), many_points(60_000)
    ('78', '13,000', '20,000+')
    """
    if points > MOST_POINTS:
        return f"{MOST_POINTS:,}+"
    step = 10 ** max(int(math.log10(max(points, 1))) - 1, 0)
    return f"{step * math.ceil(points / step):,}"
