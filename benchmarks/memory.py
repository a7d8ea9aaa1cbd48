"""Peak memory of the verbs `predict`, `compare` and `select` on studies of any size: ``python
benchmarks/memory.py 1000 50000``.

Conventions: 64 x 64 pixels, shards of 1,024, everything in the one process that is measured (``--engine
local``); `predict` of one folder of maps and of one ONNX network from files (this also with two worker
processes: the driver, then the larger worker), `compare` and `select` of three models from a study as predict
would leave it. MiB.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import made_study
from cost import measure_cost

import faultscape as fs

MODELS, SIDE = 3, 64
NETWORK = Path(fs.__file__).parent / "prediction" / "networks" / "mobile.onnx"


def peaks(images: int) -> dict[str, int]:
    """Return the peak of each verb in MiB."""
    with tempfile.TemporaryDirectory() as place:
        root, files, labels = Path(place, "study"), Path(place, "files"), Path(place, "labels.json")
        made_study.write_predicted(root, images, MODELS, SIDE)
        made_study.write_files(files, images, 1, SIDE)
        labels.write_text(json.dumps({k: f"class-{k}" for k in range(made_study.CLASSES)}))
        other = str(Path(place, "other"))
        measure_cost("collect", other, str(files / "photos"), classes=made_study.CLASSES)
        beside = measure_cost(
            "predict", other, {"beside": str(NETWORK)}, labels=str(labels), engine="processes", workers=2
        )
        folder = {made_study.names(1)[0]: str(files / "maps" / made_study.names(1)[0])}
        return {
            "predict (folder)": measure_cost("predict", other, folder, engine="local").driver,
            "predict (network)": (
                measure_cost(
                    "predict", other, {"network": str(NETWORK)}, labels=str(labels), engine="local"
                ).driver
            ),
            "predict (network, processes)": beside.driver,
            "its worker": beside.worker,
            "compare": measure_cost("compare", str(root), engine="local").driver,
            "select": measure_cost("select", str(root), engine="local").driver,
        }


if __name__ == "__main__":
    for number in sys.argv[1:]:
        print(f"{int(number):,} images: {peaks(int(number))} MiB", flush=True)
