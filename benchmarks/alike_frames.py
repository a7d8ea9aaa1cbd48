"""How often the interval of a difference holds for images to come where neighboring images are alike: ``python
benchmarks/alike_frames.py`` prints one row for each correlation and number of labels.

Conventions: two models that are equally good on a pool of 200 frames, whose losses follow an autoregression of
first order with the correlation of neighbors; labels are drawn evenly. *Widened* is what `rank` does,
*independent* takes each frame for an image of its own. Nominal are 95 %.
"""

from __future__ import annotations

import numpy as np

from faultscape.metrics.intervals.neighbours import alike, too_narrow
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.estimate_intervals import difference_intervals
from faultscape.ranking.drawn.populations import to_come

POOL, REPEATS = 200, 600


def series(correlation: float, rng: np.random.Generator) -> np.ndarray:
    """Return (N,) an autoregression of variance 1."""
    steps = rng.normal(size=POOL) * np.sqrt(1 - correlation**2)
    steps[0] = rng.normal()
    for k in range(1, POOL):
        steps[k] += correlation * steps[k - 1]
    return steps


def held(correlation: float, labels: int, rng: np.random.Generator) -> tuple[bool, bool]:
    """Return whether the widened and the independent interval hold that both models are equally good."""
    shared = series(correlation, rng)
    losses = np.array([0.4 + 0.05 * (shared + series(correlation, rng)) for _ in range(2)])
    drawn = rng.permutation(POOL)[:labels]
    steps = estimates.uniform_steps(labels, POOL)
    found = estimates.lure(losses[:, drawn], steps, POOL)
    near = [value for row in losses if (value := alike(row)) is not None]
    factor = too_narrow(float(np.median(near))) if len(near) == len(losses) else 1.0
    out = []
    for widen in (factor, 1.0):
        later = to_come(found, losses[:, drawn], steps, np.arange(POOL), drawn, widen=widen)
        low, high = difference_intervals(later)[0, 1].tolist()
        out.append(not low > 0 and not high < 0)
    return out[0], out[1]


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    print("| correlation | labels | widened, % | independent, % |")
    print("|---|---|---|---|")
    for correlation in (0.3, 0.5, 0.7, 0.85):
        for labels in (20, 50, 200):
            both = np.mean([held(correlation, labels, rng) for _ in range(REPEATS)], axis=0)
            print(f"| {correlation:g} | {labels} | {100 * both[0]:.1f} | {100 * both[1]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
