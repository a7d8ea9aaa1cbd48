"""The JSON of exported programs: torch imports, looks up and evaluates what some of its fields name, so that
each field is read by us first, and what is not understood is refused with its name.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hostile_archives as hostile
from faultscape.errors import ModelError
from faultscape.prediction import catalogue
from faultscape.prediction.network_files import exported_files
from refusals import refused

PHOTO = np.zeros((32, 32, 3), np.uint8)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch_networks as nets

    return nets.exported(tmp_path_factory.mktemp("pt2") / "net.pt2")


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module beside the file that leaves a mark where it is imported."""
    monkeypatch.syspath_prepend(tmp_path)
    yield hostile.module_beside(tmp_path)
    sys.modules.pop(hostile.MARK, None)


@pytest.mark.parametrize("field", ["in_spec", "out_spec"])
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("kind", hostile.HOSTILE_TREES)
def test_structures_are_tuples_lists_and_dicts(
    tmp_path: Path, whole: Path, mark: Path, kind: str, field: str, deep: bool
) -> None:
    import torch_networks as nets

    tree = hostile.HOSTILE_TREES[kind]
    path = nets.forged(whole, tmp_path / "net.pt2", hostile.with_tree(tree, field, deep=deep))
    says = rf"net\.pt2: the field ModuleCallSignature\.{field} nests values in '{tree['type']}.*'; let the"
    with refused(ModelError, says):
        catalogue.open_model(str(path)).predict([PHOTO])
    assert not mark.exists()


@pytest.mark.parametrize("kind", hostile.IMPORTING)
def test_without_that_check_the_module_beside_the_file_runs(
    tmp_path: Path, whole: Path, mark: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch_networks as nets

    monkeypatch.setattr(exported_files, "check", lambda _path, _file: None)
    path = nets.forged(
        whole, tmp_path / "net.pt2", hostile.with_tree(hostile.HOSTILE_TREES[kind], deep=kind != "enum")
    )
    with contextlib.suppress(ModelError):
        catalogue.open_model(str(path))
    assert mark.exists()


def test_names_of_arguments_are_names(tmp_path: Path, whole: Path) -> None:
    """torch writes the keys of keyword arguments into the head of a function."""
    import torch_networks as nets

    path = nets.forged(whole, tmp_path / "net.pt2", hostile.with_keyword("size=1"))
    with refused(ModelError, r"ModuleCallSignature\.in_spec nests values in .builtins\.dict of .*size=1"):
        catalogue.open_model(str(path))


@pytest.mark.parametrize("name", ["metadata", "in_spec", "as_string", "torch_version", "guards_code"])
def test_a_tensor_with_the_name_of_a_field_is_read_like_any_other(
    tmp_path: Path, whole: Path, name: str
) -> None:
    import torch_networks as nets

    victim = tmp_path / "created"
    code = f"__import__('os').mkdir({str(victim)!r})"
    path = nets.forged(whole, tmp_path / "net.pt2", hostile.called(name, code))
    with refused(ModelError, r"net\.pt2: has the size \"__import__\('os'\)\.mkdir\("):
        catalogue.open_model(str(path))
    assert not victim.exists()


@pytest.mark.parametrize("kind", hostile.NOT_UNDERSTOOD)
def test_what_is_not_understood_is_refused_with_the_name_of_its_field(
    tmp_path: Path, whole: Path, kind: str
) -> None:
    import torch_networks as nets

    change, says = hostile.NOT_UNDERSTOOD[kind]
    path = nets.forged(whole, tmp_path / "net.pt2", change)
    with refused(ModelError, rf"net\.pt2: .*{says}.*; only graphs of torch's own operators are run"):
        catalogue.open_model(str(path))


def test_every_text_of_the_schema_of_torch_has_a_rule_or_is_refused() -> None:
    from torch._export.serde import schema

    rules = {rule.partition(".")[::2] for rule in exported_files._RULES}
    for kind, field in rules:
        assert field in getattr(schema, kind).__dataclass_fields__, (kind, field)


def test_an_archive_with_a_second_table_of_contents_is_refused(tmp_path: Path, whole: Path) -> None:
    import torch
    import torch_networks as nets

    victim = tmp_path / "created"

    def unknown(program: Any) -> None:  # torch's first reader fails, and its second takes over
        program["graph_module"]["graph"]["nodes"][1]["target"] = "torch.ops.aten.relu.nothing"

    with zipfile.ZipFile(whole) as archive:
        program = json.loads(archive.read("net/models/model.json"))
    code = f"__import__('os').mkdir({str(victim)!r})"
    for tensor in program["graph_module"]["graph"]["tensor_values"].values():
        for size in tensor["sizes"]:
            if "as_expr" in size:
                size["as_expr"]["expr_str"] = code
    nothing = io.BytesIO()
    torch.save({}, nothing)
    beside = {"version": b"8.20", "serialized_exported_program.json": json.dumps(program).encode()}
    beside |= {
        f"serialized_{kind}.pt": nothing.getvalue() for kind in ("state_dict", "constants", "example_inputs")
    }
    clean = nets.forged(whole, tmp_path / "clean.pt2", {hostile.MODEL: unknown})
    path = hostile.two_directories(clean, beside, tmp_path / "net.pt2")
    with refused(ModelError, r"net\.pt2: holds 'version', as programs of torch before 2\.8 do"):
        catalogue.open_model(str(path))
    assert not victim.exists()


def test_an_archive_that_unpacks_to_more_than_it_holds_is_refused(tmp_path: Path, whole: Path) -> None:
    with zipfile.ZipFile(whole) as before, zipfile.ZipFile(tmp_path / "net.pt2", "w") as after:
        for name in before.namelist():
            after.writestr(name, before.read(name))
        after.writestr("net/extra/blank", bytes(1 << 20), zipfile.ZIP_DEFLATED)
    with refused(
        ModelError, r"net\.pt2: its members unpack to 1,0[\d,]+ bytes, more than it has; it is forged"
    ):
        catalogue.open_model(str(tmp_path / "net.pt2"))


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True])
def test_ordinary_networks_pass(tmp_path: Path, strict: bool) -> None:
    """Nested results, an ordered dict, constants, buffers, a branch, attention, odd names of layers."""
    import torch
    import torch_networks as nets

    class Ordered(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.small = nets.Small()

        def forward(self, image: torch.Tensor) -> dict[str, Any]:
            return OrderedDict(out=self.small(image), aux=(image, [image, None]))

    class Ordinary(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleDict({"größe-1": Ordered(), "in__2": torch.nn.BatchNorm2d(5)})
            self.register_buffer("_shift", torch.ones(5))
            self.attention = torch.nn.MultiheadAttention(5, 1, batch_first=True)

        def forward(self, image: torch.Tensor) -> dict[str, Any]:
            layers: Any = self.layers
            found = layers["größe-1"](image)
            scores = layers["in__2"](found["out"]) + self._shift[None, :, None, None]
            scores = torch.cond(image.sum() > 0, lambda x: x + 1, lambda x: x - 1, (scores,))
            flat = scores.flatten(2).transpose(1, 2)
            scores = scores + self.attention(flat, flat, flat)[0].transpose(1, 2).reshape(scores.shape)
            scores = torch.nn.functional.interpolate(scores, scale_factor=2.0, mode="bilinear")
            return OrderedDict(out=scores.clamp(-float("inf")), aux=found["aux"])

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(Ordinary().eval(), (torch.zeros(1, 3, 32, 32),), strict=strict)
        torch.export.save(program, tmp_path / "net.pt2")
    (out,) = catalogue.open_model(str(tmp_path / "net.pt2")).predict([PHOTO])
    assert out.labels is not None, out.problem
    assert out.labels.shape == (32, 32)
