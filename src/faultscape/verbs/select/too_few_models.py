"""The error message of `select` for a study with fewer than two models."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


def too_few_models(root: Path, models: Sequence[str]) -> str:
    """Return why nothing can be chosen for a study, and what to do instead.

    >>> too_few_models(Path("study"), ["unet"]).partition("; ")[2]
    'the study has one (unet): add another with `faultscape predict study NAME=SOURCE`, or score it against
    labels with `faultscape measure study`'
    """
    study = shlex.quote(str(root))
    add = f"with `faultscape predict {study} NAME=SOURCE`"
    if not models:
        return f"a comparison needs two models; the study has none: add them {add}"
    one = f"the study has one ({models[0]}): add another {add}"
    score = f"score it against labels with `faultscape measure {study}`"
    return f"a comparison needs two models; {one}, or {score}"
