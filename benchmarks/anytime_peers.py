"""Two models, looked at any time, by us and by two packages for means on the same streams of labels: ``python
benchmarks/anytime_peers.py draw STREAMS.npz`` draws them and prints our row; ``python anytime_peers.py peers
STREAMS.npz`` prints the others', in an environment of Python 3.12 with ``pip install glide-py==0.11.0 fewhumans==1.0.0``.

Conventions: a stream holds the differences of right answers of two of the eight classifiers of emotion, on
images drawn evenly from the 902 on which models differ: the best model against those of rank 4, 6 and 8, and
twins of the first two, which exchange their answers on half of the images on which they differ. Everything is
at 95 % for two directions, and looked at after every tenth label, since glide-py takes batches (of ten here,
tightest at the tenth).
"""

from __future__ import annotations

import sys

import numpy as np

REPEATS, STEP = 200, 10
RANKS = {"twins": 1, "rank 4": 3, "rank 6": 5, "rank 8": 7}


def draw(path: str) -> None:
    from anytime import exchanged
    from label_sets import emotion

    from faultscape.ranking.drawn import anytime

    whole = emotion()
    pool = (whole.discrepancy > 0).any(0)
    streams = {}
    for kind, rank in RANKS.items():
        rows = []
        for repeat in range(REPEATS):
            rng = np.random.default_rng([repeat, rank, 57])
            own = exchanged(whole, rng) if kind == "twins" else whole
            order = np.argsort(whole.losses.mean(1), kind="stable")
            images = rng.permutation(np.flatnonzero(pool))
            rows.append(own.losses[order[rank], images] - own.losses[order[0], images])
        streams[kind] = np.array(rows)
    np.savez(path, allow_pickle=False, **streams)
    cells = []
    for rows in streams.values():
        size = rows.shape[1]
        losses = np.stack([np.maximum(-rows, 0), np.maximum(rows, 0)], 1)
        found = anytime.evidence(losses, 1.0 / (size - np.arange(size)), size)[:, :, 0]
        found[np.isinf(found)] = 0.0  # what the last images decide is no claim of a sequence
        cells.append([stop(side[STEP - 1 :: STEP] >= np.log(2 / 0.05)) for side in found.max(0)])
    show("rank --anytime", cells)


def stop(told: np.ndarray) -> float:
    return float(STEP * (told.argmax() + 1)) if told.any() else np.inf


def peers(path: str) -> None:
    from fewhumans.sequential.cs import cs_human_only
    from glide.monitors import AsymptoticClassicalRM

    def of_glide(row: np.ndarray) -> float:
        number = len(row) // STEP * STEP
        told = np.zeros(number // STEP, bool)
        for sign in (-1, 1):
            found = AsymptoticClassicalRM().detect(
                sign * row[:number] + 1e-6 * np.arange(number),  # batches alike throughout are refused
                np.repeat(np.arange(number // STEP), STEP),
                higher_is_better=False,
                threshold=0.0,
                confidence_level=0.975,
            )
            told |= np.asarray(found.alarms)
        return stop(told)

    def of_fewhumans(row: np.ndarray) -> float:
        ends = range(STEP, len(row) + 1, STEP)
        found = [cs_human_only(row[:end], lo=-1.0, hi=1.0) for end in ends]
        return stop(np.array([one.lo > 0 or one.hi < 0 for one in found]))

    streams = np.load(path)
    for name, ends in (("glide-py 0.11", of_glide), ("fewhumans 1.0", of_fewhumans)):
        show(name, [[ends(row) for row in streams[kind]] for kind in RANKS])


def show(name: str, cells: list[list[float]]) -> None:
    """Print a row: the share of twins that are told apart, and the median number of labels of the others."""
    wrong = 100 * np.mean(np.isfinite(cells[0]))
    stops = [f"{middle:.0f}" if np.isfinite(middle := np.median(one)) else "more" for one in cells[1:]]
    print(f"| {name} | {wrong:.1f} | {' | '.join(stops)} |", flush=True)


if __name__ == "__main__":
    {"draw": draw, "peers": peers}[sys.argv[1]](sys.argv[2])
