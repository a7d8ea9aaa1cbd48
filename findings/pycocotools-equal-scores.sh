#!/usr/bin/env bash
# pycocotools 2.0.11: which image has which id decides the AP of results with equal scores.
# Expected: AP is about scores, and detections with one score are one point of the curve, in whatever order they are listed.
# Seen: detections of equal scores are counted one by one, in the order of image ids. A model that finds the objects of 50
# images and is wrong on 50 others, all with score 1 as maps without scores have it, has an AP of .50, or of .25 once the ids
# of the images are the other way round.
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

from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def ap(ids):
    """Return the AP of a model that is right on the first half of these images, and wrong on the others."""
    there, elsewhere = [0, 0, 10, 10], [50, 50, 10, 10]
    truth = COCO()
    truth.dataset = {
        "images": [{"id": image, "width": 100, "height": 100} for image in ids],
        "categories": [{"id": 1, "name": "car"}],
        "annotations": [
            {"id": k, "image_id": image, "category_id": 1, "iscrowd": 0, "area": 100, "bbox": there}
            for k, image in enumerate(ids, 1)
        ],
    }
    boxes = [there] * (len(ids) // 2) + [elsewhere] * (len(ids) // 2)
    found = [
        {"image_id": image, "category_id": 1, "score": 1.0, "bbox": box} for image, box in zip(ids, boxes, strict=True)
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        judged = COCOeval(truth, truth.loadRes(found), "bbox")
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    return round(float(judged.stats[0]), 2)


seen = [ap(list(range(1, 101))), ap(list(range(100, 0, -1)))]
print("pycocotools", version("pycocotools"), "AP with ids in order and the other way round:", seen)
assert seen == [0.5, 0.25], "the behaviour changed"
PYTHON
