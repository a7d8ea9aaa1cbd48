"""Scores of cases in nnU-Net's summary.json.

Conventions: a row is a case and a class (a label, or a region of several), whose Dice and IoU are NaN where
neither the truth nor the prediction has it; the case is the file name of the prediction without its ending.
"""

from __future__ import annotations

import json
from pathlib import Path

from faultscape.errors import ModelError, reason

METRICS = ("Dice", "IoU")
_ENDINGS = (".nii.gz", ".nii", ".nrrd", ".mha", ".tif", ".tiff", ".png")


def read_summary(path: str) -> dict[str, list[str]]:
    """Return the columns case, class, Dice and IoU, as texts; ModelError if it is not a summary."""
    expected = "expected nnU-Net's summary.json, with metric_per_case"
    found: dict[str, list[str]] = {name: [] for name in ("case", "class", *METRICS)}
    try:
        document = json.loads(Path(path).read_bytes())
        for row in document["metric_per_case"]:
            case = _case(row["prediction_file"])
            for class_, metrics in row["metrics"].items():
                found["case"].append(case)
                found["class"].append(str(class_))
                for name in METRICS:
                    found[name].append(str(float(metrics[name])))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        lacks = f"there is no {error}" if isinstance(error, KeyError) else reason(error)
        raise ModelError(f"{path}: {expected}: {lacks}") from None
    if not found["case"]:
        raise ModelError(f"{path}: {expected}; there are no cases")
    return found


def _case(file: str) -> str:
    """Return the name of a case.

    >>> _case("/out/fold_0/BRATS_001.nii.gz"), _case("case_7.png")
    ('BRATS_001', 'case_7')
    """
    name = file.replace("\\", "/").rpartition("/")[2]
    return next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)
