#!/usr/bin/env bash
# autorank 1.3.0: two models with the same score on every case are reported as significantly different.
# Expected: no difference, or a refusal: a paired test of differences that are all zero is undefined.
# Seen: p is NaN, and the report says "we assume that the mean value of first is significantly larger than the mean
# value of copy with a negligible effect size (d=0.000)", with normal scores (t-test) and skewed ones (Wilcoxon). Three
# equal models have p = 1 and no difference. Two checkpoints that saturate a metric look like this.
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
from autorank import autorank, create_report


def claim(scores):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        result = autorank(pd.DataFrame(scores), verbose=False)
        create_report(result)
    significant = "significantly larger" in text.getvalue()
    return result.omnibus, float(result.pvalue), significant


rng = np.random.default_rng(0)
normal = rng.normal(0.7, 0.05, 40)
skewed = rng.beta(20, 1, 40)
seen = [claim({"first": scores, "copy": scores}) for scores in (normal, skewed)]
three = claim({"first": normal, "copy": normal, "third": normal})
print("autorank", version("autorank"), "two equal models:", seen, "three:", three)
assert [(test, np.isnan(p), significant) for test, p, significant in seen] == [
    ("ttest", True, True),
    ("wilcoxon", True, True),
], "the behaviour changed"
assert three == ("anova", 1.0, False), "the behaviour changed"
PYTHON
