#!/usr/bin/env bash
# miseval 1.3.0: where neither the truth nor the prediction has the class, its Dice is 1 and its IoU 0.
# Expected: Dice = 2 IoU / (1 + IoU) for any two masks, so that both are 1, or both undefined, for two empty ones.
# Seen: DSC 1.0, IoU 0.0, sensitivity 0.0, specificity 1.0 for the same two empty masks: over images, one mean rewards what the other punishes.
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

empty = np.zeros((8, 8), int)
seen = {name: float(evaluate(empty, empty, metric=name)) for name in ("DSC", "IoU", "SENS", "SPEC")}
print("miseval", version("miseval"), seen)
assert seen == {"DSC": 1.0, "IoU": 0.0, "SENS": 0.0, "SPEC": 1.0}, "the behaviour changed"
PYTHON
