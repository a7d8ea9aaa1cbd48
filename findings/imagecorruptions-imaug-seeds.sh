#!/usr/bin/env bash
# imagecorruptions-imaug 1.1.5: numpy.random.seed makes every random corruption repeatable but two.
# Expected: with the same seed of NumPy before each call all fifteen corruptions return the same image twice; that is how
# corrupted data sets are made repeatable.
# Seen: impulse_noise and glass_blur differ from call to call: they draw from generators of scikit-image and numba.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check imagecorruptions-imaug==1.1.5 setuptools==75.8.0
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from importlib.metadata import version

import numpy as np
from imagecorruptions import corrupt, get_corruption_names

image = np.random.default_rng(0).integers(0, 255, (64, 96, 3)).astype(np.uint8)


def twice_the_same(name):
    images = []
    for _ in range(2):
        np.random.seed(0)
        images.append(corrupt(image, corruption_name=name, severity=3))
    return (images[0] == images[1]).all()


seen = [name for name in get_corruption_names() if not twice_the_same(name)]
print("imagecorruptions-imaug", version("imagecorruptions-imaug"), "differ under one seed:", seen)
assert seen == ["impulse_noise", "glass_blur"], "the behaviour changed"
PYTHON
