#!/usr/bin/env bash
# connected-components-3d 4.1.1: cc3d.dust of signed labels comes back unsigned where there was no dust: -1 becomes 255.
# Expected: a map without small components comes back as it was, in its own type; -1, or void, stays -1.
# Seen: int8 labels come back as int8 where a component was removed, and as uint8 where none was, with 255 in place of -1
# (65,535 for int16, and so on): whether void is void depends on what else is on the map.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check connected-components-3d==4.1.1 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import cc3d
import numpy as np

seen = {}
for name, row in (("dust", [-1, -1, 0, 2]), ("no dust", [-1, -1, 0, 2, 2])):
    cleaned = cc3d.dust(np.array([row], np.int8), threshold=2)
    seen[name] = [cleaned.dtype.name, *cleaned[0].tolist()]
print("connected-components-3d", version("connected-components-3d"), seen)
assert seen == {"dust": ["int8", -1, -1, 0, 0], "no dust": ["uint8", 255, 255, 0, 2, 2]}, "the behaviour changed"
PYTHON
