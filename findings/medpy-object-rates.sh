#!/usr/bin/env bash
# MedPy 0.5.2: obj_tpr and obj_fpr, called as documented (result, reference), return precision and 1 - recall.
# Expected: the result finds the one true object and invents two more, so the true positive rate of objects is 1, and
# two thirds of the objects of the result have no counterpart ("Returns" of obj_fpr).
# Seen: obj_tpr 0.333, obj_fpr 0. With the arguments exchanged the numbers are those that the names promise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check medpy==0.5.2 numpy==2.2.6 scipy==1.15.3
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from importlib.metadata import version

import numpy as np
from medpy.metric.binary import obj_fpr, obj_tpr

reference = np.zeros((9, 9), bool)
reference[1:3, 1:3] = True
result = reference.copy()
result[5:7, 5:7] = True
result[7:9, 0:2] = True
seen = [round(float(rate(result, reference)), 3) for rate in (obj_tpr, obj_fpr)]
print("medpy", version("medpy"), "one of one objects found, two invented: obj_tpr, obj_fpr =", seen)
assert seen == [0.333, 0.0], "the behaviour changed"
PYTHON
