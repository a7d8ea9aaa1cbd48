"""S4 3.3 on real frames, a few of each set, with FAULTSCAPE_ALL=1 all 67: what `measure --anomaly` says of made
scores is what scikit-learn says of the pixels, to 1e-9, in float64 with an offset too.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs

pytestmark = pytest.mark.slow

ALL = bool(os.environ.get("FAULTSCAPE_ALL"))
# frames of each that a test has time for
SETS = {
    "fs_static": 1,
    "fs_lostfound_half": 2,
    "road_anomaly": 2,
    "smiyc_anomaly21": 3,
    "smiyc_obstacle21": 3,
    "fs_lostfound_full": 1,
}


@pytest.mark.parametrize("name", SETS)
def test_made_scores_of_real_frames_are_judged_as_by_scikit_learn(
    name: str, data: Path, tmp_path: Path
) -> None:
    from sklearn.metrics import average_precision_score, roc_auc_score

    masks = sorted((data / "anomaly" / name / "masks").glob("*.png"))
    chosen = [path for path in masks if ALL or (np.asarray(Image.open(path)) == 1).any()][
        : None if ALL else SETS[name]
    ]
    rng, scores, labels = np.random.default_rng(len(name)), [], []
    for kind in ("plain", "offset", "masks"):
        (tmp_path / kind).mkdir()
    for path in chosen:
        mask = np.asarray(Image.open(path))
        score = rng.normal(size=mask.shape) + 1.5 * (mask == 1)
        np.save(tmp_path / "plain" / f"{path.stem}.npy", score)
        np.save(tmp_path / "offset" / f"{path.stem}.npy", score * 1e-6 + 1e5)
        Image.fromarray(mask).save(tmp_path / "masks" / path.name)
        scores.append(score[mask != 255])
        labels.append(mask[mask != 255])
    found = fs.measure(
        tmp_path / "masks",
        scores=fs.options.ScoreFolders(anomaly={kind: str(tmp_path / kind) for kind in ("plain", "offset")}),
        output=tmp_path / "out",
        resamples=0,
        worst=0,
        engine="local",
    ).models
    score, label = np.concatenate(scores), np.concatenate(labels)
    for kind, values in (("plain", score), ("offset", score * 1e-6 + 1e5)):
        assert found[kind]["average_precision"]["value"] == pytest.approx(
            average_precision_score(label, values), abs=1e-9
        )
        assert found[kind]["auroc"]["value"] == pytest.approx(roc_auc_score(label, values), abs=1e-9)
