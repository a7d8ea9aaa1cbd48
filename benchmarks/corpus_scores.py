"""Scores on the whole corpus from labels of disputed and of agreed images: ``python
benchmarks/corpus_scores.py [--repeats N]``.

On the emotion set: draws where models differ, and random labels of the images on which all agree, against as
many random labels of all images. Printed is the share of 95 % intervals that hold each model's accuracy on
all images, and their mean half width in points.
"""

from __future__ import annotations

import argparse

import label_methods as methods
import label_sets
import numpy as np

from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.estimate_intervals import loss_intervals
from faultscape.selection.draws import draw


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    whole = label_sets.emotion()
    everything, differ = whole.losses.mean(1), (whole.discrepancy > 0).any(0)
    agreed, weights = np.flatnonzero(~differ), methods.weights(whole)
    share = differ.mean()
    print(
        "| selector | labels | of agreed images | corpus: held, half width | random, as many: held, half"
        " width |"
    )
    print("|---|---|---|---|---|")
    for selector in ("disputed", "mad, temperature 1"):
        proxies, even = methods.proxies(whole, weights[selector]), methods.proxies(whole, weights["random"])
        for number, rest in ((100, 25), (100, 50), (100, 100), (200, 50), (200, 200)):
            found: dict[str, list[tuple[float, float]]] = {"corpus": [], "random": []}
            for repeat in range(repeats):
                drawn = draw(weights[selector], number, seed=repeat)
                part = methods.weighted(whole, drawn, number, proxies)["LURE + control"]
                chosen = np.random.default_rng([repeat, 3]).choice(agreed, rest, replace=False)
                alike = estimates.lure(
                    whole.losses[:, chosen], estimates.uniform_steps(rest, len(agreed)), len(agreed)
                )
                _add(found["corpus"], estimates.combined([part, alike], [share, 1 - share]), everything)
                plain = draw(weights["random"], number + rest, seed=repeat)
                _add(
                    found["random"],
                    methods.weighted(whole, plain, number + rest, even)["LURE + control"],
                    everything,
                )
            cells = [
                f"{np.mean([h for h, _ in rows]):.3f}, {np.mean([w for _, w in rows]):.2f}"
                for rows in found.values()
            ]
            print(f"| {selector} | {number} | {rest} | {' | '.join(cells)} |", flush=True)


def _add(rows: list[tuple[float, float]], found: estimates.Estimates, truth: np.ndarray) -> None:
    bounds = loss_intervals(found)
    held = (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])
    rows.append((float(held.mean()), float(50 * (bounds[:, 1] - bounds[:, 0]).mean())))


if __name__ == "__main__":
    main()
