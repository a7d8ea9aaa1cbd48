"""The code of TorchScript: what only computes is run; what would write a file is refused before torch sees
it, since torch runs parts of it while loading.
"""

from __future__ import annotations

import contextlib
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import hostile_archives as hostile
from faultscape.errors import ModelError
from faultscape.prediction import catalogue
from faultscape.prediction.network_files import scripted_files
from refusals import refused


def evil_code(victim: Path) -> dict[str, tuple[bytes, bytes]]:
    """What to replace in the code of torch_networks.Small, and by what, so that a file is written: most of it
    while torch loads.
    """
    write = f'(1, "{victim}")'

    def default(call: str) -> tuple[bytes, bytes]:
        return b"image: Tensor)", f"image: Tensor, n: int=({call}{write}, 1)[1])".encode()

    return {
        "default": default("torch.save"),
        "another name": default("ops.aten.save"),
        "blanks": default("torch . \n save"),
        "getattr": default('getattr(torch, "save")'),
        "getattr in pieces": default('getattr(torch, "sa" "ve")'),
        "getattr in code": default('getattr(torch, "sav\\145")'),
        "getattr within": default('getattr(torch, getattr(torch, "save"))'),
        "comment": default('getattr(torch, "sa" #,\n "ve")'),
        "constant": (
            b"  training : bool\n",
            f"  training : bool\n  n : Final[int] = (torch.save{write}, 1)[1]\n".encode(),
        ),
        "own operators": default("ops.mine.run"),
        "own operators by getattr": default('getattr(ops, "mine").run'),
        "own class": default("__torch__.torch.classes.mine.Runner().run"),
        "own class by another name": default("__torch__.torch"),
        "another way of quoting": default("getattr(torch, 'save')"),
        "another alphabet": default("torch.ſave"),
    }


REAL = ("default", "another name", "getattr", "getattr in pieces", "getattr in code", "constant")
SAID = {
    "default": "its code calls 'save'; only operators of torch that compute are run",
    "getattr": "its code asks for '\"save\"' by getattr",
    "getattr in pieces": "its code holds strings beside each other",
    "own operators": "its code calls operators of 'mine'",
    "own class": "its code uses the class '__torch__.torch.classes.mine'",
    "comment": "its code is not as torch writes it, at '#,",
}


def evil(tmp_path: Path, attack: str) -> str:
    import torch_networks as nets

    old, new = evil_code(tmp_path / "created")[attack]
    whole = nets.scripted(tmp_path / "whole.ts")
    member = "code/__torch__/torch_networks.py"
    with zipfile.ZipFile(whole) as archive:
        code = archive.read(f"whole/{member}")
    assert code.count(old) == 1
    return str(nets.forged(whole, tmp_path / "net.ts", {member: code.replace(old, new)}))


@pytest.mark.parametrize("module", ["Saves", "Within"])
def test_a_network_that_writes_a_file_is_refused_and_writes_none(tmp_path: Path, module: str) -> None:
    import torch_networks as nets

    path = nets.scripted(tmp_path / "net.ts", module=getattr(nets, module)(tmp_path / "created"))
    with refused(ModelError, r"net\.ts: its code calls 'save'; only operators of torch that compute are run"):
        catalogue.open_model(str(path))
    assert not (tmp_path / "created").exists()


@pytest.mark.parametrize("attack", evil_code(Path("victim")))
def test_code_that_would_write_a_file_while_torch_loads_it_is_refused_unread(
    tmp_path: Path, attack: str
) -> None:
    with refused(ModelError, r"net\.ts: its code ") as caught:
        catalogue.open_model(evil(tmp_path, attack))
    assert SAID.get(attack, "") in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "created").exists()


@pytest.mark.parametrize("attack", REAL)
def test_these_attacks_are_real_where_nothing_looks(
    tmp_path: Path, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_files, "check", lambda _path: None)
    with contextlib.suppress(ModelError):
        catalogue.open_model(evil(tmp_path, attack))
    assert (tmp_path / "created").exists()


def test_a_file_of_the_oldest_form_whose_code_may_lie_anywhere_is_refused(tmp_path: Path) -> None:
    import torch_networks as nets

    path = nets.forged(nets.scripted(tmp_path / "whole.ts"), tmp_path / "net.ts", {"Model.json": b"{}"})
    with refused(
        ModelError, r"net\.ts: is written as torch did before 1\.1; load it there, and save it with"
    ):
        catalogue.open_model(str(path))


def test_ordinary_words_and_texts_are_no_attack(tmp_path: Path) -> None:
    import torch_networks as nets

    photo = np.random.default_rng(0).integers(0, 256, (16, 24, 3), np.uint8)
    plain, careful = (
        catalogue.open_model(str(nets.scripted(tmp_path / f"{type(m).__name__}.ts", module=m)))
        for m in (nets.Small(), nets.Careful())
    )
    assert (careful.predict([photo])[0].labels == plain.predict([photo])[0].labels).all()


def test_a_network_of_packed_whole_numbers_is_no_attack(tmp_path: Path) -> None:
    import torch
    import torch_networks as nets
    from torch.ao import quantization

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.nn.Sequential(
            quantization.QuantStub(), torch.nn.Conv2d(3, 5, 1), quantization.DeQuantStub()
        ).eval()
        module.qconfig = quantization.get_default_qconfig(torch.backends.quantized.engine)
        quantization.prepare(module, inplace=True)
        module(torch.rand(1, 3, 8, 8, generator=torch.Generator().manual_seed(0)))
        quantization.convert(module, inplace=True)
        path = nets.scripted(tmp_path / "net.ts", module=module)
    (out,) = catalogue.open_model(str(path)).predict([np.zeros((8, 8, 3), np.uint8)])
    assert out.labels.shape == (8, 8)


@pytest.mark.parametrize("member", ["data.pkl", "constants.pkl", "code/__torch__/mine.py.debug_pkl"])
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("__torch__.torch.classes.mine", "Runner"),
        ("__torch__.torch.classes.dist_rpc", "WorkerInfo"),
        ("torch.distributed.rpc", "rref"),
        ("nowhere", "make"),
        ("torch.os", "getcwd"),
        ("__torch__", "torch.classes.mine"),
    ],
)
def test_a_pickle_names_nothing_but_tensors_and_classes_of_the_file(
    tmp_path: Path, member: str, module: str, name: str
) -> None:
    import torch_networks as nets

    path = nets.forged(
        nets.scripted(tmp_path / "whole.ts"),
        tmp_path / "net.ts",
        {member: hostile.pickle_of(module, name)},
    )
    says = (
        rf"net\.ts: its {member} names '{module} {name}'; only tensors, plain values and objects of its own"
    )
    with refused(ModelError, says):
        catalogue.open_model(str(path))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x80\x04\x8c\x07nowhere\x8c\x04make\x93)R.", "holds STACK_GLOBAL"),
        (b"(S'x'\ninowhere\nmake\n.", "holds INST"),
        (b"\x80\x02\xff\xff", "is not as torch writes it"),
        (b"\x80\x02c\xc3\xa9\nx\n.", "is not as torch writes it"),
    ],
)
def test_a_pickle_that_names_things_in_another_way_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    import torch_networks as nets

    path = nets.forged(nets.scripted(tmp_path / "whole.ts"), tmp_path / "net.ts", {"data.pkl": data})
    with refused(ModelError, rf"net\.ts: its data\.pkl {says}; only tensors"):
        catalogue.open_model(str(path))


def test_values_of_all_kinds_are_no_attack(tmp_path: Path) -> None:
    import torch
    import torch_networks as nets

    class Many(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.small, self.texts, self.whole = nets.Small(), {"a": 1}, [1, 2]
            self.parts, self.truths, self.tensors = [1.5], [True], [torch.ones(1)]
            self.place, self.kind, self.complex = torch.device("cpu"), torch.float32, 1 + 2j
            self.register_buffer("halves", torch.ones(3, dtype=torch.half))

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            more = torch.zeros(1, dtype=self.kind, device=self.place) + self.tensors[0]
            return self.small(image) + self.texts["a"] + self.whole[0] + self.parts[0] + more

    path = nets.scripted(tmp_path / "net.ts", module=Many())
    (out,) = catalogue.open_model(str(path)).predict([np.zeros((8, 8, 3), np.uint8)])
    assert out.labels.shape == (8, 8)
