"""Peak memory of the verbs `compare` and `select` on studies of any size: ``python benchmarks/memory.py 1000 100000``.

Conventions: the study is written as predict would leave it, three models, small made maps used again and again, shards of 1,024; then each verb
runs in a process of its own and tells its own peak (VmHWM: a child would inherit ru_maxrss from what started it). MiB.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from made_maps import maps

from faultscape.corpus.classes import resolve
from faultscape.maps import runs
from faultscape.study import label_maps
from faultscape.study.corpus import Image, part_name, write_corpus
from faultscape.study.parts import Part, write_manifest
from faultscape.study.settings import ModelSettings, Settings, class_settings, write_settings

MODELS, SHARD, SIZE = ("first", "second", "third"), 1024, 64
VERB = """
import sys
import faultscape as fs
options = {"compare": {"engine": "local"}, "select": {"engine": "local"}}
getattr(fs, sys.argv[1])(sys.argv[2], **options[sys.argv[1]])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def write_study(root: Path, images: int) -> None:
    """Write a study whose models have said all they have to say."""
    settings = Settings(classes=class_settings(resolve("voc")), shard=SHARD)
    settings.models = {name: ModelSettings(source=".", kind="folder") for name in MODELS}
    root.mkdir()
    write_settings(root, settings)
    rows = [
        Image(f"{k:08d}", f"{k}.png", "main", "pool", "clean", "", SIZE, SIZE, f"{k:x}", k, f"{k:08d}", k // SHARD)
        for k in range(images)
    ]
    write_corpus(root, rows)
    made = np.stack([maps("web", len(MODELS), SIZE, seed=seed) for seed in range(50)], axis=1)
    for name, stack in zip(MODELS, made, strict=True):
        codes, parts = [runs.encode(m) for m in stack], {}
        for shard in range(rows[-1].shard + 1):
            stored = [
                label_maps.StoredMap(row.id, codes[int(row.id) % len(codes)]) for row in rows[shard * SHARD : (shard + 1) * SHARD]
            ]
            sha = label_maps.put_maps(label_maps.predictions(root, name), shard, stored)
            parts[part_name(shard)] = Part(sha, len(stored), "")
        write_manifest(label_maps.predictions(root, name), parts)


def peaks(images: int) -> dict[str, int]:
    """Return the peak of each verb in MiB."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "study"
        write_study(root, images)
        told = {}
        for verb in ("compare", "select"):
            done = subprocess.run([sys.executable, "-c", VERB, verb, str(root)], check=True, capture_output=True, text=True)
            told[verb] = int(done.stdout.split()[-1]) // 1024
        return told


if __name__ == "__main__":
    for number in sys.argv[1:]:
        print(f"{int(number):,} images: {peaks(int(number))} MiB", flush=True)
