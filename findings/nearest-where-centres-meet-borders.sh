#!/usr/bin/env bash
# OpenCV 5.0.0 and Pillow 13.0.0: nearest neighbour takes another pixel where the centre of a new pixel lies on a border of two old ones.
# Expected: INTER_NEAREST_EXACT, and NEAREST of Pillow, take pixel floor((2 i + 1) n / (2 m)) for length m of n: the one under the centre, which on a
# border is the one that begins there, as floor says and as torch's nearest-exact does.
# Seen: both take the pixel before it wherever the scale is no whole number of 65,536ths: in 99 of 768 columns of a label map that goes from 1,024 to
# 768, 28 of 480 from 64. Maps resized by these and by torch differ there, along the borders of every class.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check opencv-python-headless==5.0.0.93 pillow==13.0.0 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import cv2
import numpy as np
import PIL
from PIL import Image

seen = {}
for n, m in ((1024, 768), (64, 480), (1024, 512)):
    columns = np.arange(n, dtype=np.int32)[None]
    exact = (2 * np.arange(m) + 1) * n // (2 * m)
    of_opencv = cv2.resize(columns.astype(np.float32), (m, 1), interpolation=cv2.INTER_NEAREST_EXACT)[0].astype(int)
    of_pillow = np.asarray(Image.fromarray(columns).resize((m, 1), Image.Resampling.NEAREST))[0]
    assert set((exact - of_opencv).tolist()) <= {0, 1}
    seen[f"{n} to {m}"] = [int((of_opencv != exact).sum()), int((of_pillow != exact).sum())]
print("OpenCV", cv2.__version__, "Pillow", PIL.__version__, seen)
assert seen == {"1024 to 768": [99, 99], "64 to 480": [28, 28], "1024 to 512": [0, 0]}, "the behaviour changed"
PYTHON
