"""Whether ten labels tell that a ranking without labels is upside down: ``python benchmarks/zero_trust.py``.

Conventions: a case is three or more models of a set of `best_model.py`, or of CamVid's frames, drawn anew 120
times, ranked by how often they agree with the others. It is upside down if Spearman's correlation with the
ranking by all labels is negative, and doubted if that with the ranking by n labels of random images, on which
models differ, is. The rule has no constant to choose.
"""

from __future__ import annotations

import numpy as np
from best_model import MADE
from label_sets import SETS, Set, classes
from page_text import keep_rows, write_row

from faultscape.ranking.agreement import spearman
from faultscape.selection import proposals

NAMES = ("emotion", "cue-conflict", "16class-22nets", "colour", "noise", "frames")
LABELS, CASES, IMAGES = (5, 10, 20), 120, 1500


def case(whole: Set, rng: np.random.Generator) -> tuple[float, list[float]]:
    """Return the correlation with the ranking by all labels, and by each number of labels."""
    j = len(whole.losses)
    models = np.sort(rng.permutation(j)[: int(rng.integers(3, j + 1))])
    images = rng.permutation(whole.losses.shape[1])[:IMAGES]
    losses = whole.losses[np.ix_(models, images)]
    if whole.labels is None:
        assert whole.concordance is not None
        expected = proposals.expected_of_concordances(whole.concordance[np.ix_(models, models, images)])
    else:
        expected = proposals.expected_of_labels(whole.labels[np.ix_(models, images)])
    agreed = -np.round(expected.mean(1), 12)
    some = rng.permutation(np.flatnonzero(np.ptp(losses, axis=0) > 0))
    found = [np.round(-losses[:, some[:n]].mean(1), 12) for n in LABELS]
    every = [-losses.mean(1), *found]
    rho = [float(np.nan_to_num(spearman(agreed, real))) for real in every]
    return rho[0], rho[1:]


def main() -> None:
    rng = np.random.default_rng(1)
    head = ["set", "cases", "upside down", *(f"doubted of these, {n} labels" for n in LABELS)]
    head += [f"of the others, {n} labels" for n in LABELS]
    lines = [write_row(head), "|" + "---|" * len(head)]
    every: list[tuple[float, list[float]]] = []

    def add(name: str, rows: list[tuple[float, list[float]]]) -> None:
        bad = np.array([rho < 0 for rho, _ in rows])
        doubted = np.array([np.array(found) < 0 for _, found in rows])
        shares = [
            f"{doubted[kind, k].mean():.2f}".removeprefix("0") if kind.any() else ""
            for kind in (bad, ~bad)
            for k in range(len(LABELS))
        ]
        lines.append(write_row([name, str(len(rows)), str(int(bad.sum())), *shares]))

    for name in (*NAMES, *MADE):
        whole = SETS[name]() if name in NAMES else None
        rows = [case(whole or classes(name, *MADE[name](rng)), rng) for _ in range(CASES)]
        every += rows
        add(name, rows)
    add("all", every)
    print("\n".join(lines))
    keep_rows("zero_trust", lines)


if __name__ == "__main__":
    main()
