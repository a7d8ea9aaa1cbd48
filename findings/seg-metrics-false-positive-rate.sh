#!/usr/bin/env bash
# seg-metrics 1.2.8: the false positive rate of an image whose truth lacks the class is 0, whatever was predicted.
# Expected: FP / (FP + TN), as for every other image: .25 where a quarter of the pixels is marked and none should be.
# Seen: 0, the best value, so that images in which a class is invented improve the mean rate. A single true pixel elsewhere
# gives the expected number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check seg-metrics==1.2.8 numpy==2.2.6
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import logging
from importlib.metadata import version

import numpy as np
from seg_metrics.seg_metrics import write_metrics

logging.disable(logging.WARNING)


def rate(truth):
    prediction = np.zeros((10, 20), np.uint8)
    prediction[:, :5] = 1
    (found,) = write_metrics(labels=[1], gdth_img=[truth], pred_img=[prediction], metrics=["fpr"])
    return round(float(found["fpr"][0]), 3)


empty = np.zeros((10, 20), np.uint8)
one = empty.copy()
one[0, 19] = 1
seen = [rate(empty), rate(one)]
print("seg-metrics", version("seg-metrics"), "fpr without and with one true pixel:", seen)
assert seen == [0.0, 0.251], "the behaviour changed"
PYTHON
