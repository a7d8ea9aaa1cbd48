"""The digest of weights that a loader's network holds: it changes with them wherever they are held, and with
nothing else.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.maps import runs
from faultscape.prediction.network_files import weights
from faultscape.prediction.sources.torch_network import of_module
from faultscape.study.tables import label_maps

if TYPE_CHECKING:
    import torch
    from torch import nn


def net(seed: int) -> nn.Module:
    import torch
    from torch import nn

    torch.manual_seed(seed)
    return nn.Conv2d(3, 5, 1)


class Wrapper:
    def __init__(self, **held: Any) -> None:
        self.__dict__ |= held

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        return self.__dict__["net"](images)

    def look(self, images: torch.Tensor) -> torch.Tensor:
        return self(images)


def through_a_default(network: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    def run(images: torch.Tensor, *, network: nn.Module = network) -> torch.Tensor:
        return network(images)

    return run


def within_a_function(network: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    def inner(images: torch.Tensor) -> torch.Tensor:
        return network(images)

    return lambda images: inner(images) + 1


def of_the_file(network: nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    space = {"network": network}
    exec("def run(images):\n    return network(images)", space)
    return space["run"]


def of_a_tensor(network: nn.Conv2d) -> Callable[[torch.Tensor], torch.Tensor]:
    import torch

    return functools.partial(torch.conv2d, weight=network.weight)


def first_of(networks: list[nn.Module], images: torch.Tensor) -> torch.Tensor:
    return networks[0](images)


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "a module": lambda network: network,
    "a lambda": lambda network: lambda images: network(images) + 1,
    "a default": through_a_default,
    "a function within": within_a_function,
    "a global": of_the_file,
    "a partial": lambda network: functools.partial(first_of, [network]),
    "a method of a module": lambda network: network.forward,
    "an object": lambda network: Wrapper(net=network),
    "a method": lambda network: Wrapper(net=network).look,
    "a list of an object": lambda network: Wrapper(net=None, nets=[network]),
    "an object in a closure": lambda network: within_a_function(Wrapper(net=network)),
    "a tensor": of_a_tensor,
    "an array": lambda network: functools.partial(np.multiply, network.weight.detach().numpy()),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_weights_are_found_wherever_a_callable_holds_them(holder: str) -> None:
    of = [weights.digest(HOLDERS[holder](net(seed))) for seed in (0, 0, 1)]
    assert of[0] == of[1]
    assert of[0][0] != of[2][0]
    assert all(found and all_read for found, all_read in of)


def quantised(seed: int, way: str) -> nn.Module:
    """Layers that keep their weights as packed whole numbers, one scale a tensor or a channel."""

    import torch
    from torch import nn
    from torch.ao import quantization

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if way == "dynamic":
            torch.manual_seed(seed)
            return quantization.quantize_dynamic(
                nn.Sequential(nn.Linear(4, 4)), {nn.Linear}, dtype=torch.qint8
            )
        module = nn.Sequential(quantization.QuantStub(), net(seed), quantization.DeQuantStub()).eval()
        module.qconfig = quantization.get_default_qconfig(torch.backends.quantized.engine)
        quantization.prepare(module, inplace=True)
        module(torch.ones(1, 3, 4, 4))
        quantization.convert(module, inplace=True)
        return torch.jit.script(module) if way == "script" else module


def holding(tensor: torch.Tensor) -> nn.Module:
    from torch import nn

    module = nn.Module()
    module.register_buffer("held", tensor)
    return module


def whole_numbers(scale: float) -> torch.Tensor:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says once that they will go
        return torch.quantize_per_tensor(torch.tensor([1.0, 2.0]) * scale, scale, 0, torch.qint8)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["dynamic", "static", "script"])
def test_packed_weights_are_weights(way: str) -> None:
    found = [weights.digest(quantised(seed, way)) for seed in (0, 0, 1)]
    assert found[0] == found[1]
    assert found[0][0] != found[2][0]
    assert found[0][1]


def test_whole_numbers_of_another_scale_are_other_weights() -> None:
    assert weights.digest(holding(whole_numbers(0.5))) != weights.digest(holding(whole_numbers(0.25)))
    assert weights.digest(holding(whole_numbers(0.5))) == weights.digest(holding(whole_numbers(0.5)))


def test_sparse_weights_are_weights() -> None:
    import torch

    one, other = torch.eye(3), torch.diag(torch.tensor([1.0, 2.0, 1.0]))
    assert weights.digest(holding(one.to_sparse())) == weights.digest(holding(one.to_sparse()))
    assert weights.digest(holding(one.to_sparse()))[0] != weights.digest(holding(other.to_sparse()))[0]


def test_where_no_weights_are_found_or_not_all_can_be_read_the_user_is_told() -> None:
    import torch
    from torch import nn

    class Odd(nn.Conv2d):
        def get_extra_state(self) -> Any:
            return object()

    assert of_module(net(0), "toy", {}).notes == ()
    assert of_module(lambda images: images, "toy", {}).notes == (
        (
            "note: toy: no weights were found in what it returns, so changes to them go unnoticed; rename the model when they change"
        ),
    )
    for module in (Odd(3, 5, 1), holding(torch.empty(3, device="meta"))):
        (said,) = weights.note("toy", *weights.digest(module))
        assert said.startswith(
            "note: toy: some of its weights cannot be read, so changes to them go unnoticed"
        )


LOADER = """
import torch

def load():
    network = torch.nn.Conv2d(3, 5, 1)
    network.load_state_dict(torch.load({path!r}, weights_only=True))
    return lambda images: {{"out": network(images)}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "processes"])
def test_a_callable_around_other_weights_is_run_again(
    tmp_path: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    corpus = made.corpus(tmp_path / "corpus", images=2, models=1)
    study, code, path = str(tmp_path / "study"), tmp_path / "nets.py", tmp_path / "weights.pt"
    code.write_text(LOADER.format(path=str(path)))
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    found = []
    for seed, anew in ((3, False), (3, False), (4, True)):
        torch.save(net(seed).state_dict(), path)
        fs.predict(study, {"net": f"{code}:load"}, engine=engine)
        assert ("1 of 1 shards are predicted again" in capsys.readouterr().out) == anew
        stored = label_maps.read_maps(label_maps.predictions(Path(study), "net"), 0)
        found.append({id_: runs.decode(one) for id_, one in stored.items()})
    assert any((found[0][id_] != found[2][id_]).any() for id_ in found[0])
