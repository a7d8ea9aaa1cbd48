"""The law of engines for classifiers that look at pictures: a network killed at any picture, and started
again, gives the same bytes, and no picture is looked at again in vain.
"""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np
import pytest

import children
import faultscape as fs
import made

pytestmark = pytest.mark.slow

IMAGES, SHARD = 10, 4  # shards of 4, 4 and 2
COVERED = ("corpus.parquet", "predictions", "failures.csv")
NETWORK = """
import os
import numpy as np

def logits(picture):
    if str(picture.sum()) == os.environ.get("DIE_AT"):
        os._exit(9)
    if path := os.environ.get("LOOKED_AT"):
        with open(path, "a") as file:
            file.write(f"{int(picture.sum())}\\n")
    means = picture.reshape(-1, 3).mean(0)
    return np.array([means[0], means[1], means[2], means.mean()]) / 50
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(4)
    for k in range(IMAGES):
        made.write(
            root / "photos" / f"p{k}.png",
            rng.integers(0, 256, (12, 16, 3), np.uint8) // np.array([1 + k % 2, 1 + k % 3, 1], np.uint8),
        )
    (root / "classes.txt").write_text("cat\ndog\nhen\ncow\n")
    (root / "own.py").write_text(NETWORK)
    return root


def begun(root: Path, study: Path) -> dict[str, str]:
    """Begin a study of the pictures, and return its network."""
    fs.collect(
        study,
        root / "photos",
        task="classification",
        classes=root / "classes.txt",
        storage=fs.options.Storage(shard_size=SHARD),
    )
    return {"net": f"{root / 'own.py'}:logits"}


def test_a_network_killed_at_any_picture_and_started_again_gives_the_same_bytes(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.predict(str(tmp_path / "whole"), begun(root, tmp_path / "whole"), engine="local")
    expected = made.bytes_under(tmp_path / "whole", *COVERED)
    assert sum(name.endswith(".parquet") and "predictions/net/" in name for name in expected) == 3
    study, looked = tmp_path / "study", tmp_path / "looked"
    network = begun(root, study)
    code = "import sys, faultscape as fs; fs.predict(sys.argv[1], {'net': sys.argv[2]}, engine='local')"
    looks = [str(cv2.imread(str(root / "photos" / f"p{k}.png")).sum()) for k in range(IMAGES)]
    assert len(set(looks)) == IMAGES
    for die_at in (looks[1], looks[5]):
        # of the first shard, and of the second; looks are not counted, since threads look side by side
        children.python("-c", code, study, network["net"], status=9, env=os.environ | {"DIE_AT": die_at})
    parts = [name for name in made.bytes_under(study, "predictions") if name.endswith(".parquet")]
    assert len(parts) == 1  # a shard is written before the next is begun
    monkeypatch.setenv("LOOKED_AT", str(looked))
    assert fs.predict(str(study), network, engine="local").models == {"net": (IMAGES, 0)}
    assert made.bytes_under(study, *COVERED) == expected
    assert not [path for path in study.rglob("*") if path.name.startswith((".writing-", ".spool-"))]
    # the shard that was finished is not done again
    assert not set(looks[:SHARD]) & set(looked.read_text().split())
