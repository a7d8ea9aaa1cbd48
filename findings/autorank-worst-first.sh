#!/usr/bin/env bash
# autorank 1.3.0: the first row of its ranking is the worst model, whatever `order` says.
# Expected: "Ranked populations" start with rank one, and `order` turns the table over.
# Seen: with the default order="descending" the model with the highest scores has the best mean rank and stands last, and
# effect sizes are relative to the worst; order="ascending" exchanges the mean ranks and leaves the rows as they are.
# rankdf.index[0] as "the best model" is wrong.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check autorank==1.3.0
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import contextlib
import io
from importlib.metadata import version

import numpy as np
import pandas as pd
from autorank import autorank

rng = np.random.default_rng(0)
cases = rng.normal(0.7, 0.05, 40)
normal = {name: cases + gain + rng.normal(0, 0.03, 40) for name, gain in zip("abc", (0, 0.05, 0.1))}
skewed = {name: 1 - factor * rng.exponential(0.1, 40) for name, factor in zip("abc", (4, 2, 0.5))}
seen = {}
for kind, scores in (("normal", normal), ("skewed", skewed)):
    for order in ("descending", "ascending"):
        with contextlib.redirect_stdout(io.StringIO()):
            rows = autorank(pd.DataFrame(scores), order=order).rankdf
        seen[kind, order] = (list(rows.index), rows.meanrank.idxmin())
print("autorank", version("autorank"), seen)
for (kind, order), (rows, best) in seen.items():
    assert rows == ["a", "b", "c"], "the behaviour changed"
    assert best == ("c" if order == "descending" else "a"), "the behaviour changed"
PYTHON
