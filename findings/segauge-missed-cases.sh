#!/usr/bin/env bash
# segauge 0.1.0: a model that finds nothing on nine of ten cases has a perfect HD95, with the interval [0, 0].
# Expected: the infinite distances of missed cases count as worst (its convention for one empty mask), or the summary
# says on how many cases a value rests.
# Seen: means and intervals leave out infinite distances; the model that misses nine organs has hd95 0 [0, 0] over "10
# case(s)", the one that finds all ten two voxels off has 2; no count stands beside either.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check segauge==0.1.0
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from importlib.metadata import version

import numpy as np
from segauge.core import Case, evaluate

CASES = 10
truth = np.zeros((24, 24, 24), bool)
truth[8:16, 8:16, 8:16] = True
nothing = np.zeros_like(truth)
shifted = np.roll(truth, 2, axis=0)
models = {"finds all": [shifted] * CASES, "misses nine": [truth] + [nothing] * (CASES - 1)}
seen = {}
for name, predictions in models.items():
    cases = [Case(str(k), prediction, truth, spacing=1.0) for k, prediction in enumerate(predictions)]
    told = evaluate(cases, n_resamples=200).to_dict()
    seen[name] = {key: round(value, 3) for key, value in told["summary"]["hd95"].items()}
    seen[name]["dice"] = round(told["summary"]["dice"]["value"], 3)
    seen[name]["cases"] = told["n_cases"]
print("segauge", version("segauge"), seen)
assert seen["misses nine"] == {"value": 0, "ci_low": 0, "ci_high": 0, "dice": 0.1, "cases": 10}, "the behaviour changed"
assert 1.5 < seen["finds all"]["value"] < 2.5, "the behaviour changed"
PYTHON
