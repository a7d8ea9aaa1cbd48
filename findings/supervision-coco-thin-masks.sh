#!/usr/bin/env bash
# supervision 0.31.2: DetectionDataset.as_coco writes an instance that is one pixel wide without any outline, and an
# instance with a hole as a crowd.
# Expected: masks come back from COCO as they were; as_yolo of the same data set keeps the thin one.
# Seen: the thin instance has "segmentation": [] beside its area of 45 pixels, and reads back as an empty mask; the ring
# comes back pixel by pixel, but with "iscrowd": 1, which evaluations of COCO leave out of the objects to be found.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check supervision==0.31.2 opencv-python-headless==4.12.0.88 numpy==2.2.6
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import json
import tempfile
from importlib.metadata import version
from pathlib import Path

import cv2
import numpy as np
import supervision as sv

folder = Path(tempfile.mkdtemp(dir="."))
image = folder / "image.png"
cv2.imwrite(str(image), np.zeros((40, 60, 3), np.uint8))
thin = np.zeros((40, 60), bool)
thin[10, 5:50] = True
ring = np.zeros((40, 60), bool)
ring[5:35, 5:35] = True
ring[10:30, 10:30] = False
masks = np.stack([thin, ring])
instances = sv.Detections(xyxy=sv.mask_to_xyxy(masks), mask=masks, class_id=np.zeros(2, int))
data = sv.DetectionDataset(classes=["wire"], images=[str(image)], annotations={str(image): instances})
data.as_coco(images_directory_path=str(folder / "images"), annotations_path=str(folder / "coco.json"))
written = json.loads((folder / "coco.json").read_text())["annotations"]
back = sv.DetectionDataset.from_coco(str(folder / "images"), str(folder / "coco.json"), force_masks=True)
pixels = [int(mask.sum()) for _, _, found in back for mask in found.mask]
seen = [(a["area"], a["segmentation"] == [], a["iscrowd"]) for a in written]
print("supervision", version("supervision"), "(area, no outline, crowd):", seen, "pixels read back:", pixels)
assert seen == [(45.0, True, 0), (500.0, False, 1)] and pixels == [0, 500], "the behaviour changed"
PYTHON
