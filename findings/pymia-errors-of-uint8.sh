#!/usr/bin/env bash
# pymia 0.3.4: mean absolute and mean squared errors of uint8 images wrap at 256.
# Expected: an image that is one grey level too bright everywhere has a mean absolute error of 1, as one that is one too dark; black for white, 255 and
# 65,025 squared. Masks and images are uint8 in most files.
# Seen: one level too bright is an error of 255, and one too dark 1; 20 levels are 144 squared instead of 400, and black for white is 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check pymia==0.3.4
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import numpy as np
from pymia.evaluation.metric import MeanAbsoluteError, MeanSquaredError

seen = {}
for found, true in ((101, 100), (100, 101), (120, 100), (0, 255)):
    for metric in (MeanAbsoluteError(), MeanSquaredError()):
        metric.prediction = np.full((4, 4), found, np.uint8)
        metric.reference = np.full((4, 4), true, np.uint8)
        seen.setdefault(f"{found} for {true}", []).append(float(metric.calculate()))
print("pymia", version("pymia"), "mean absolute and mean squared error:", seen)
assert seen == {"101 for 100": [255, 1], "100 for 101": [1, 1], "120 for 100": [236, 144], "0 for 255": [255, 1]}, "the behaviour changed"
PYTHON
