#!/usr/bin/env bash
# pycocotools 2.0.11: a result with a mask and a box gets the area of the box, which decides whether it is small,
# medium or large.
# Expected: the area of the mask, as for a result that has a mask alone; with iouType "segm" the box plays no part.
# Seen: COCO.loadRes sets area = width * height of the box wherever a box is given. A thin diagonal mask of 188 pixels,
# small in COCO's sense, becomes one of 8,836, medium; as a false positive it moves from APsmall into APmedium.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check pycocotools==2.0.11 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import contextlib
import io
from importlib.metadata import version

import numpy as np
from pycocotools import mask as masks
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def coded(mask):
    made = masks.encode(np.asfortranarray(mask.astype(np.uint8)))
    return {"size": made["size"], "counts": made["counts"].decode()}


thin = np.eye(128, dtype=bool)[:94] | np.eye(128, k=1, dtype=bool)[:94]
thin = np.vstack([thin, np.zeros((34, 128), bool)])
block = np.zeros((128, 128), bool)
block[100:120, 100:120] = True
truth = COCO()
truth.dataset = {
    "images": [{"id": 1, "width": 128, "height": 128}],
    "categories": [{"id": 1, "name": "crack"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "iscrowd": 0, "area": 400, "segmentation": coded(block), "bbox": [100, 100, 20, 20]}
    ],
}
seen = {}
with contextlib.redirect_stdout(io.StringIO()):
    truth.createIndex()
    for name, more in (("mask", {}), ("mask and box", {"bbox": [0, 0, 94, 94]})):
        false_alarm = {"image_id": 1, "category_id": 1, "score": 0.9, "segmentation": coded(thin), **more}
        right = {"image_id": 1, "category_id": 1, "score": 0.8, "segmentation": coded(block)}
        results = truth.loadRes([false_alarm, right | ({"bbox": [100, 100, 20, 20]} if more else {})])
        judged = COCOeval(truth, results, "segm")
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
        seen[name] = {"area": float(results.anns[1]["area"]), "APsmall": round(float(judged.stats[3]), 2)}
print("pycocotools", version("pycocotools"), seen)
assert seen == {"mask": {"area": 188.0, "APsmall": 0.5}, "mask and box": {"area": 8836.0, "APsmall": 1.0}}, "the behaviour changed"
PYTHON
