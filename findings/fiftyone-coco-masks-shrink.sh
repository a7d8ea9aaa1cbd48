#!/usr/bin/env bash
# fiftyone 1.22.1, read back by pycocotools 2.0.11: instance masks lose pixels in COCO's format, small and thin ones all.
# Expected: COCOObject.from_label of a detection with a mask gives a segmentation that decodes to that mask, and its area.
# Seen: masks are written as simplified outlines through the centres of border pixels. Rectangles of 24 x 18 pixels
# decode to 23 x 18; of 3 x 3 and of 20 x 2 to nothing; of 1 x 1 there is no segmentation. `area`, by which COCO's
# evaluation divides small from large, is that of the box: a disc of 249 pixels has 361.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check fiftyone==1.22.1 pycocotools==2.0.11
cd "$folder"
HOME="$folder" "$folder/venv/bin/python" -W ignore - <<'PYTHON'
from importlib.metadata import version

import fiftyone
import numpy as np
from fiftyone.utils.coco import COCOObject
from pycocotools import mask as masks

WIDE, TALL = 64, 48


def written(mask):
    """The segmentation and the area that are written for a mask whose corner is at (20, 15)."""
    height, width = mask.shape
    box = [20 / WIDE, 15 / TALL, width / WIDE, height / TALL]
    found = fiftyone.Detection(label="object", bounding_box=box, mask=mask)
    size = fiftyone.ImageMetadata(width=WIDE, height=TALL)
    return COCOObject.from_label(found, size, category_id=1)


def decoded(made):
    return int(masks.decode(masks.merge(masks.frPyObjects(made.segmentation, TALL, WIDE))).sum())


rows, columns = np.mgrid[:19, :19]
disc = (rows - 9) ** 2 + (columns - 9) ** 2 <= 80
shapes = {
    "24 x 18": np.ones((18, 24), bool),
    "disc": disc,
    "20 x 2": np.ones((2, 20), bool),
    "3 x 3": np.ones((3, 3), bool),
    "1 x 1": np.ones((1, 1), bool),
}
seen = {}
for name, mask in shapes.items():
    made = written(mask)
    seen[name] = int(mask.sum()), decoded(made) if made.segmentation else None, made.area
    print(f"{name}: {seen[name][0]} pixels, decoded {seen[name][1]}, area {seen[name][2]:g}")
print(f"fiftyone {version('fiftyone')}, pycocotools {version('pycocotools')}")
assert seen["24 x 18"] == (432, 414, 432), "masks in the middle are whole"
assert seen["disc"] == (249, 248, 361), "the area is that of the mask"
assert seen["20 x 2"][1] == seen["3 x 3"][1] == 0, "small and thin masks are kept"
assert seen["1 x 1"][1] is None, "a mask of one pixel has a segmentation"
PYTHON
echo "as described"
