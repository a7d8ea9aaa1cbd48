"""How often all rank intervals hold at once, and what they still tell apart: ``python
benchmarks/rank_sets.py`` prints one row a case.

Conventions: made answers of eight models, one better, one worse, six equal; hard images are hard for all.
*Hold* is the share of draws in which the intervals of all models hold every rank that ties let them have:
nominal 95 %. *Single* is the same of the ranks that single tests leave. *Apart* is the share of the 13 pairs
that differ which the intervals tell apart.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
from scipy.stats import norm

from faultscape.ranking.classifiers import classifier_rankings
from faultscape.ranking.intervals import bootstrap_weights
from faultscape.ranking.simultaneous_ranks import (
    paired_p_values,
    rank_sets,
    replicate_p_values,
    single_rank_sets,
)

TRUTH = np.array([0.9, 0.75, 0.75, 0.75, 0.75, 0.75, 0.75, 0.55])
BEST = 1 + (TRUTH[:, None] < TRUTH).sum(1)
WORST = len(TRUTH) - (TRUTH[:, None] > TRUTH).sum(1)
DIFFERENT = TRUTH[:, None] > TRUTH


def answers(rng, images):
    hard = rng.normal(0, 1, images)
    return (0.5 * hard + np.sqrt(0.75) * rng.normal(0, 1, (8, images)) < norm.ppf(TRUTH)[:, None]).astype(
        float
    )


def concordances(rng, images):
    return TRUTH[:, None] + 0.1 * rng.normal(0, 1, images) + rng.normal(0, 0.3, (8, images))


def holds(sets):
    return ((sets[:, 0] <= BEST) & (sets[:, 1] >= WORST)).all()


def apart(sets):
    return (DIFFERENT & (sets[:, None, 1] < sets[None, :, 0])).sum() / DIFFERENT.sum()


def row(name, images, found):
    held, single, told = (np.mean([one[k] for one in found]) for k in range(3))
    print(f"| {name} | {images} | {100 * held:.1f} | {100 * single:.1f} | {100 * told:.0f} |", flush=True)


def paired(make, images, draws, rng):
    for _ in range(draws):
        scores = make(rng, images)
        p_values = paired_p_values(scores)
        sets = rank_sets(p_values)
        yield holds(sets), holds(single_rank_sets(p_values)), apart(sets)


def replicated(images, draws, rng):
    for _ in range(draws):
        scores = concordances(rng, images)
        drawn = bootstrap_weights(images, 200, rng) @ scores.T / images
        p_values = replicate_p_values(scores.mean(1), drawn, images)
        sets = rank_sets(p_values)
        yield holds(sets), holds(single_rank_sets(p_values)), apart(sets)


def competitions(k, draws, rng):
    """Every pair draws k images of its own, as if chance had chosen them."""
    models = tuple("abcdefgh")
    found = {}
    for _ in range(draws):
        images = 28 * k
        rows = [
            SimpleNamespace(model_a=models[a], model_b=models[b], image=k * pair + n)
            for pair, (a, b) in enumerate(zip(*np.triu_indices(8, 1), strict=True))
            for n in range(k)
        ]
        said = classifier_rankings(
            models, rows, answers(rng, images), range(images), resamples=200, seed=int(rng.integers(2**31))
        )
        for name, ranking in said.rankings.items():
            sets, single = (
                np.array([ranking[key][m] for m in models])
                for key in ("simultaneous_rank_interval", "rank_interval")
            )
            found.setdefault(name, []).append((holds(sets), holds(single), apart(sets)))
    return found


if __name__ == "__main__":
    times = float(sys.argv[1]) if len(sys.argv) > 1 else 1
    print("| test | images | hold, % | single, % | apart, % |\n|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for images in (25, 100, 400):
        row("right or wrong, exact", images, list(paired(answers, images, int(1000 * times), rng)))
        row("concordances, t", images, list(paired(concordances, images, int(1000 * times), rng)))
        row("concordances, replicates", images, list(replicated(images, int(1000 * times), rng)))
    for k in (10, 30):
        for name, found in competitions(k, int(250 * times), rng).items():
            row(f"{k} images a pair: {name}", 28 * k, found)
