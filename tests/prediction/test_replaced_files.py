"""A file that is replaced between its check and its reading is refused, and another run opens the new one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from faultscape.errors import ModelError
from faultscape.prediction import catalogue
from faultscape.prediction.network_files import exported_files, scripted_files
from faultscape.prediction.sources import onnx as onnx_source
from refusals import refused

CHECKS = {
    ".pt2": (exported_files, "check"),
    ".ts": (scripted_files, "check"),
    ".onnx": (onnx_source, "weights_beside"),
}


def written(path: Path, seed: int) -> Path:
    import onnx_networks
    import torch_networks as nets

    if path.suffix == ".onnx":
        return onnx_networks.small(path, seed=seed)
    write = nets.exported if path.suffix == ".pt2" else nets.scripted
    return write(path, module=nets.Small(seed))


@pytest.mark.parametrize("ending", CHECKS)
def test_what_is_checked_is_what_is_read(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = written(tmp_path / f"net{ending}", 3), written(tmp_path / f"other{ending}", 4)
    place, name = CHECKS[ending]
    check = getattr(place, name)

    def check_and_replace(*given: Any) -> Any:
        out = check(*given)
        os.replace(other, path)
        return out

    with monkeypatch.context() as patch:
        patch.setattr(place, name, check_and_replace)
        with refused(ModelError, rf"net\{ending}: changed while it was opened; run the same line again"):
            catalogue.open_model(str(path))
    assert catalogue.open_model(str(path)).network.batch
