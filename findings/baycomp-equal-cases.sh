#!/usr/bin/env bash
# baycomp 1.0.3: one case of forty that differs makes the Bayesian signed-rank test certain.
# Expected: 39 equal cases say that the models are much alike; one difference cannot decide (its prior of .5 weighs half
# as much as that case), and equal models have even chances.
# Seen: two_on_multiple, without a region of practical equivalence, gives P(second better) above .99 when the second model is
# .03 better on one case and equal on 39, since the mean of a difference and a zero counts for the difference. For equal
# models it gives .65 and .35, the first one ahead. Dice is equal on many cases (empty slices, perfect masks); with
# rope=.001 all these are "equivalent" with certainty.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check baycomp==1.0.3
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from importlib.metadata import version

import baycomp
import numpy as np


def chances(first, second, **options):
    return [round(float(p), 3) for p in baycomp.SignedRankTest.probs(first, second, random_state=0, **options)]


first = np.linspace(0.5, 0.9, 40)
second = first.copy()
second[0] += 0.03
seen = {
    "one of forty better": chances(first, second),
    "equal": chances(first, first),
    "one of forty better, rope .001": chances(first, second, rope=0.001),
}
print("baycomp", version("baycomp"), seen)
assert seen["one of forty better"][1] > 0.95, "the behaviour changed"
assert 0.6 < seen["equal"][0] < 0.7, "the behaviour changed"
assert seen["one of forty better, rope .001"][1] > 0.95, "the behaviour changed"
PYTHON
