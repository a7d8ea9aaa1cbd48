#!/usr/bin/env bash
# pytorch-ood 0.4.0: the score that OpenMax gives an input depends on the other inputs of its batch.
# Expected: the probability of the unknown class follows from an input's logits and the fitted classes, so that batches of
# any size give the same scores.
# Seen: .81 in a batch that holds the other classes, .30 alone. Distances are computed for the classes that are predicted
# somewhere in the batch; those to all others stay 0, and their weights with them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.2.6 scipy==1.15.3
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps pytorch-ood==0.4.0
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import sys
from importlib.metadata import distribution
from types import ModuleType

import torch

# the package's own __init__ imports torchvision, which OpenMax does not use
package = ModuleType("pytorch_ood")
package.__path__ = [str(distribution("pytorch-ood").locate_file("pytorch_ood"))]
sys.modules["pytorch_ood"] = package
from pytorch_ood.detector import OpenMax

torch.manual_seed(0)
classes = torch.arange(3).repeat_interleave(200)
detector = OpenMax(None).fit_logits(5 * torch.eye(3)[classes] + torch.randn(600, 3), classes)
batch = torch.tensor([[3.0, 2.5, -1.0], [0.0, 5.0, 0.0], [0.0, 0.0, 5.0]])
seen = [round(float(detector.predict_logits(some)[0]), 2) for some in (batch, batch[:1])]
print("pytorch-ood", distribution("pytorch-ood").version, "OpenMax, the same input in a batch and alone:", seen)
assert seen == [0.81, 0.3], "the behaviour changed"
PYTHON
