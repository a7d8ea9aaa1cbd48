#!/usr/bin/env bash
# miseval 1.3.0: the Hausdorff distance between an object and the same object 50 pixels further down is 0.
# Expected: the largest distance from a pixel of one mask to the nearest of the other, in pixels: 50.
# Seen: 0.0 for an object moved down by any number of pixels, 2.0 for one moved right by 2 or by 50: each row of the mask is taken for one point,
# whatever its place, and what is measured is how its zeros and ones differ. The average distance (AHD) is 50.0 for both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check miseval==1.3.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import numpy as np
from miseval import evaluate

truth = np.zeros((64, 64), int)
truth[4:8, 4:8] = 1
moved = {f"{name} by {far}": np.roll(truth, far, axis) for axis, name in enumerate(("down", "right")) for far in (2, 50)}
seen = {name: [round(float(evaluate(truth, found, metric=metric)), 2) for metric in ("HD", "AHD")] for name, found in moved.items()}
print("miseval", version("miseval"), "HD and AHD:", seen)
assert seen == {"down by 2": [0.0, 2.0], "down by 50": [0.0, 50.0], "right by 2": [2.0, 2.0], "right by 50": [2.0, 50.0]}, "the behaviour changed"
PYTHON
