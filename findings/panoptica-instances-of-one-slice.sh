#!/usr/bin/env bash
# panoptica 2.1.7: the number of instances of the same mask depends on whether it is given as (H, W) or as (1, H, W).
# Expected: one neighbourhood rule by default, so that a slice counts the same objects as the volume that holds it alone.
# Seen: two squares that touch at a corner are 2 instances as (H, W) and 1 as (1, H, W): scipy with 4 neighbours is chosen
# for images, cc3d with 26 for volumes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check panoptica==2.1.7 numpy==2.2.6
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import contextlib
import io
from importlib.metadata import version

import numpy as np
from panoptica import ConnectedComponentsInstanceApproximator, InputType, NaiveThresholdMatching, Panoptica_Evaluator


def instances(mask):
    with contextlib.redirect_stdout(io.StringIO()):
        evaluator = Panoptica_Evaluator(
            expected_input=InputType.SEMANTIC,
            instance_approximator=ConnectedComponentsInstanceApproximator(),
            instance_matcher=NaiveThresholdMatching(),
        )
        return evaluator.evaluate(mask, mask, verbose=False)["ungrouped"].to_dict()["n_ref_instances"]


mask = np.zeros((10, 10), np.uint8)
mask[0:2, 0:2] = 1
mask[2:4, 2:4] = 1
seen = [instances(mask), instances(mask[None])]
print("panoptica", version("panoptica"), "instances as (H, W) and as (1, H, W):", seen)
assert seen == [2, 1], "the behaviour changed"
PYTHON
