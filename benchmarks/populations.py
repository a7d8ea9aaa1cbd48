"""Whether intervals hold what they speak of, this pool or data to come: ``python benchmarks/populations.py
[--repeats N]`` prints the table of docs/benchmarks/data/populations.csv.

Errors of four models are made from what is shared by the images of a group, by an image for all models, and
by nothing; draws prefer hard images. Pools are drawn anew for every repeat, so that the error rates of data
to come are known.
"""

from __future__ import annotations

import argparse
import os

import numpy as np
from scipy.stats import norm

from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.estimate_intervals import difference_intervals, loss_intervals
from faultscape.ranking.drawn.populations import to_come

ERRORS, LABELS = np.array([0.1, 0.15, 0.25, 0.4]), 100
# groups, images in each, share
CASES = [
    (400, 1, 0.0),
    (100, 1, 0.0),
    (6, 60, 0.3),
    (12, 40, 0.3),
    (12, 40, 0.0),
    (20, 30, 0.3),
    (40, 15, 0.3),
    (200, 3, 0.3),
]
FIRST, SECOND = np.triu_indices(len(ERRORS), 1)


def made(
    rng: np.random.Generator, groups: int, size: int, shared: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return losses (J, N), a proxy of them, the weights of the draws, and the group of each image."""
    group = np.repeat(
        np.arange(groups), rng.integers(size // 3, 5 * size // 3 + 1, groups) if size > 1 else 1
    )
    hard, image = (
        rng.normal(size=groups)[group] * np.sqrt(shared / 2),
        rng.normal(size=len(group)) * np.sqrt(0.4 * (1 - shared)),
    )
    own = rng.normal(size=(4, groups))[:, group] * np.sqrt(shared / 2)
    noise = rng.normal(size=(4, len(group))) * np.sqrt(0.6 * (1 - shared))
    loss = (hard + own + image + noise < norm.ppf(ERRORS)[:, None]).astype(float)
    return (
        loss,
        0.5 * loss + 0.3 * rng.random(loss.shape),
        np.exp(-0.7 * (hard + image) + 0.3 * rng.normal(size=len(group))),
        group,
    )


def held(groups: int, size: int, shared: float, repeats: int) -> np.ndarray:
    """Return the shares of intervals that hold: the pool's errors; errors of data to come in intervals of the
    pool; in those of data to come; and differences there.
    """
    out = []
    for repeat in range(repeats):
        rng = np.random.default_rng([groups, size, int(100 * shared), repeat])
        loss, proxy, weight, group = made(rng, groups, size, shared)
        order = np.argsort(rng.exponential(size=len(weight)) / weight)
        chance = np.minimum(weight[order] / weight[order][::-1].cumsum()[::-1], 1)[:LABELS]
        order = order[:LABELS]
        pool = estimates.prediction_powered(loss[:, order], chance, proxy, order)
        future = to_come(pool, loss[:, order], chance, group, order, proxy=proxy)
        row = [
            np.mean((low <= real) & (real <= high))
            for found, real in ((pool, loss.mean(1)), (pool, ERRORS), (future, ERRORS))
            for low, high in [loss_intervals(found).T]
        ]
        low, high = difference_intervals(future)[FIRST, SECOND].T
        out.append(
            [
                *row,
                np.mean((low <= ERRORS[FIRST] - ERRORS[SECOND]) & (ERRORS[FIRST] - ERRORS[SECOND] <= high)),
            ]
        )
    return np.mean(out, 0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=600)
    repeats = parser.parse_args().repeats
    for groups, size, shared in CASES:
        shares = " | ".join(f"{100 * share:.1f}" for share in held(groups, size, shared, repeats))
        print(
            f"| {f'{groups} groups of {size} images' if size > 1 else f'{groups} images'} | {shared:g} |"
            f" {shares} |",
            flush=True,
        )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
