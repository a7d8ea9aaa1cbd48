"""Weights, checkpoints and fitted methods carry a checksum: a flipped bit anywhere in them is noticed, and
said with the line that makes the file again.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest

from faultscape.errors import ModelError
from faultscape.uncertainty import sealed_files
from faultscape.uncertainty.methods.catalogue import METHODS
from flipped_bits import flip, flipped
from refusals import refused

DAMAGED = "is damaged (its checksum is wrong)"


def tensors_of(torch) -> dict:
    half = torch.arange(5).to(torch.bfloat16)
    return {"about": torch.ones(2, 3), "b": half, "none": torch.zeros(0), "one": torch.tensor(2)}


@pytest.mark.parametrize("text", ["", "{}", '{"sha256": "0", "é": [1]}', '"about":"sha256:' + "0" * 64 + " "])
def test_a_file_is_whole_until_any_bit_of_it_flips(torch, tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    sealed_files.write(path, tensors_of(torch), text)
    data = path.read_bytes()
    assert sealed_files.is_whole(io.BytesIO(data))
    assert sealed_files.read_text(path) == text
    for place in range(len(data)):
        bit = int(np.random.default_rng(place).integers(8))
        assert sealed_files.fault(io.BytesIO(flipped(data, place, bit))) == DAMAGED, (place, bit)
    for other in (data[:-1], data + b" ", data[: len(data) // 2], b""):
        assert sealed_files.fault(io.BytesIO(other)) == DAMAGED


def test_the_same_tensors_are_the_same_bytes_and_any_reader_of_them_reads_on(torch, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    for name in ("one", "other"):
        sealed_files.write(tmp_path / name, tensors_of(torch), "some text")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    found = load_file(tmp_path / "one")
    assert all(torch.equal(found[name], value) for name, value in tensors_of(torch).items())


def test_a_file_without_a_checksum_is_not_whole(torch, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    for metadata in (None, {"about": '{"key": "abc"}'}):
        save_file(tensors_of(torch), tmp_path / "file", metadata)
        data = (tmp_path / "file").read_bytes()
        assert sealed_files.fault(io.BytesIO(data)) == "has no checksum, so an earlier version made it"
        assert not sealed_files.is_sealed(tmp_path / "file")


@pytest.mark.parametrize("name", [method.name for method in METHODS])
def test_a_flipped_bit_of_a_fitted_method_is_refused_with_the_line_that_fits_it_again(
    torch, tmp_path: Path, name: str
) -> None:
    from faultscape.prediction.doubt_methods import built
    from faultscape.uncertainty.method_files import MethodAbout
    from faultscape.uncertainty.methods.method import write

    path = tmp_path / "my study" / "methods" / "net" / f"{name}.safetensors"
    arguments = {"layer": ["a.b"], "seed": 3}
    about = MethodAbout(name, {}, ("a.b",), "abc", provenance={"arguments": arguments})
    write(path, about, {"keys": torch.rand(8, 3)})
    flip(path)
    line = f"faultscape fit '{tmp_path}/my study' {name} --model net --layer a.b --seed 3"
    says = re.escape(f"{path}: is damaged (its checksum is wrong); fit it again: `{line}`")
    with refused(ModelError, f"^{says}$"):
        built(path)


def test_a_fitted_method_of_an_earlier_version_is_refused_with_the_line_that_fits_it_again(
    torch, tmp_path: Path
) -> None:
    """Its file has no checksum, and so no wrong one."""
    from safetensors.torch import save_file

    from faultscape.prediction.doubt_methods import built
    from faultscape.uncertainty.method_files import MethodAbout, about_text

    path = tmp_path / "study" / "methods" / "net" / "flow.safetensors"
    path.parent.mkdir(parents=True)
    said = {"arguments": {"layer": ["a.b"]}, "source": "/my net.pt2"}
    about = MethodAbout("flow", {"epsilon": 0.0}, ("a.b",), "abc", provenance=said)
    save_file({"keys": torch.rand(8, 3)}, path, {"about": about_text(about)})
    line = f"faultscape fit {tmp_path}/study flow --model 'net=/my net.pt2' --layer a.b"
    says = re.escape(f"{path}: has no checksum, so an earlier version made it; fit it again: `{line}`")
    with refused(ModelError, f"^{says}$"):
        built(path)


def test_trained_weights_of_an_earlier_version_are_refused_with_the_line_that_trains_them_again(
    tmp_path: Path,
) -> None:
    import torch
    from safetensors.torch import save_file

    from faultscape.uncertainty import description as d

    path = tmp_path / "study" / "models" / "net" / d.WEIGHTS
    path.parent.mkdir(parents=True)
    save_file({"weight": torch.zeros(3)}, path)
    line = f"faultscape train {tmp_path}/study net"
    says = f"{path}: has no checksum, so an earlier version made it; train the network again: `{line}`"
    with refused(ModelError, f"^{re.escape(says)}$"):
        d.load_weights(torch.nn.Linear(1, 1), path)


def test_a_flipped_bit_of_trained_weights_is_refused_with_the_line_that_trains_them_again(
    tmp_path: Path,
) -> None:
    from faultscape.uncertainty import description as d

    folder = tmp_path / "study" / "models" / "net"
    folder.mkdir(parents=True)
    (folder / d.OWN_FILE).write_text(
        "import torch\ndef net():\n    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 1))\n"
    )
    about = d.Description("net.py:net", ("a", "b"))
    again = {"provenance": {"arguments": {"backbone": "/my/net.py:net", "steps": 3}}}
    d.save(folder, about, d.build(about, folder), again)
    d.load(folder, own_code=True)
    flip(folder / d.WEIGHTS)
    assert not d.are_whole(folder)
    line = f"faultscape train {tmp_path}/study net --backbone /my/net.py:net --steps 3"
    says = re.escape(
        f"{folder / d.WEIGHTS}: is damaged (its checksum is wrong); train the network again: `{line}`"
    )
    with refused(ModelError, f"^{says}$"):
        d.load(folder, own_code=True)
