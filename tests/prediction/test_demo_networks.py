"""The demo's five networks are one network each, however they are stored: ONNX, torch.export and, the
SegFormer, a folder of transformers.
"""

from __future__ import annotations

import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
from faultscape.maps import winners
from faultscape.prediction import catalogue
from faultscape.scenes.street import corpus_scene

ROOT = Path(__file__).resolve().parents[2]
NETWORKS = ("dilated", "fcn", "mobile", "segformer", "unet")
TIE = 1e-4  # of the logits' scale
MOST = 1e-4  # of all pixels may fall the other way


@pytest.fixture(scope="module")
def training() -> Any:
    """examples/train_demo_networks.py, which has the networks' classes."""
    place = importlib.util.spec_from_file_location(
        "train_demo_networks", ROOT / "examples" / "train_demo_networks.py"
    )
    module = importlib.util.module_from_spec(place)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        import sys

        warnings.simplefilter("ignore")
        patch.setitem(sys.modules, "train_demo_networks", module)
        place.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def photos(data: Path) -> list[np.ndarray]:
    """Four drawn scenes and four real pictures, which are larger."""
    real = sorted((data / "camvid" / "test").glob("*.jpg"))[:200:50]
    assert len(real) == 4
    return [*(corpus_scene(k).image for k in (0, 7, 40, 111)), *(fs.formats.read_rgb(path) for path in real)]


def exported(training: Any, name: str, folder: Path) -> Path:
    """Write a network's safetensors as an exported program that says its own input."""
    import torch
    from safetensors.torch import load_file

    width, height = training.SIZE
    net = training.BUILD[name]()
    (net.inner if name == "segformer" else net).load_state_dict(
        load_file(training.WEIGHTS / f"{name}.safetensors")
    )
    said = {"mean": training.MEAN, "std": training.STD, "size": f"{width}x{height}"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        free = ({0: torch.export.Dim("n")},)
        program = torch.export.export(net.eval(), (torch.zeros(2, 3, height, width),), dynamic_shapes=free)
        torch.export.save(program, folder / f"{name}.pt2", extra_files={"faultscape.json": json.dumps(said)})
    return folder / f"{name}.pt2"


def differing(name: str, other: Any, photos: list[np.ndarray]) -> tuple[int, int]:
    """Return (pixels whose label is another than the ONNX network's, all pixels), having checked that each is
    a tie.
    """
    first = catalogue.open_model(
        str(ROOT / "src/faultscape/prediction/networks" / f"{name}.onnx"), keep=["logits"]
    )
    count = total = 0
    for photo, one, two in zip(photos, first.predict(photos), other.predict(photos), strict=True):
        scores = winners.enlarged(one.kept["logits"][0], (photo.shape[1], photo.shape[0]))
        top = np.sort(scores, axis=0)
        different = one.labels != two.labels
        assert not (different & (top[-1] - top[-2] > TIE * np.abs(scores).max())).any()
        assert len(np.unique(one.labels)) > 2
        count, total = count + int(different.sum()), total + different.size
    return count, total


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name != "unet" else []) for name in NETWORKS]
)
def test_an_exported_program_gives_the_labels_of_the_onnx_file(
    training: Any, photos: list[np.ndarray], tmp_path: Path, name: str
) -> None:
    count, total = differing(name, catalogue.open_model(str(exported(training, name, tmp_path))), photos)
    print(f"{name}: {count} of {total} pixels differ between ONNX and torch.export, all of them ties")
    assert count <= MOST * total


@pytest.mark.parametrize("processor", [False, True])
def test_the_segformer_as_a_folder_of_transformers_gives_them_too(
    training: Any, photos: list[np.ndarray], tmp_path: Path, processor: bool
) -> None:
    folder, weights = tmp_path / "segformer", ROOT / "examples" / "networks"
    folder.mkdir()
    (folder / "config.json").write_bytes((weights / "segformer.config.json").read_bytes())
    (folder / "model.safetensors").write_bytes((weights / "segformer.safetensors").read_bytes())
    width, height = training.SIZE
    said = {"mean": list(training.MEAN), "std": list(training.STD)}
    if processor:
        import transformers

        transformers.SegformerImageProcessorPil(
            image_mean=said["mean"], image_std=said["std"], size={"height": height, "width": width}
        ).save_pretrained(folder)
        said = {}
    model = catalogue.open_model(str(folder), input_size=f"{width}x{height}", **said)
    assert model.network.class_names == [name for _, name, _ in training.CLASSES]
    count, total = differing("segformer", model, photos)
    print(f"segformer: {count} of {total} pixels differ between ONNX and the folder, all of them ties")
    assert count <= MOST * total
