"""The law of tensors in memory, as of arrays (test_arrays_in_memory.py): every public function of the uncertainty
room, given the same table of odd inputs in place of each of its tensors and networks, returns a value or says in
one line of ours what is wrong; never an error of torch. What means the same gives the same value; NaN is
refused, or seen in the result.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import FaultscapeError, MetricError, ModelError, OptionError
from refusals import refused

ROOM = fs.uncertainty
NAMES = (
    "unit",
    "nearest",
    "density_score",
    "class_score",
    "class_gaussians",
    "mahalanobis_distances",
    "differential_entropy",
    "divergence",
    "loss",
    "loss of members",
    "loss of outliers",
    "loss of negatives",
    "probabilities",
    "probabilities of members",
    "train_flow",
    "RealNVP",
    "fit_temperature",
    "fit_covariance",
    "tune_mean_field",
    "last_layer",
    "replace_head",
    "add_dropout",
)


@dataclass(frozen=True)
class Case:
    """A call that is right: a function, its tensors, and its other arguments."""

    function: Callable[..., Any]
    tensors: Mapping[str, Any]
    more: Mapping[str, Any] = field(default_factory=dict)


@cache
def _drawn() -> SimpleNamespace:
    """The tensors of the right calls; torch is loaded when a test needs it."""
    import torch

    of = SimpleNamespace()
    drawn = torch.Generator().manual_seed(0)
    of.features = torch.randn(150, 4, generator=drawn)
    of.classes = torch.arange(150) % 3
    of.means, of.whiten = ROOM.class_gaussians(of.features, of.classes)
    of.logits = torch.randn(2, 3, 6, 8, generator=drawn)
    of.members = torch.randn(2, 2, 3, 6, 8, generator=drawn)
    of.labels = torch.randint(0, 3, (2, 12, 16), generator=drawn)
    of.cosines = torch.rand(5, 4, generator=drawn)
    of.plan = ROOM.FlowPlan(steps=2, blocks=1, width=4, batch=16)
    of.images = torch.rand(2, 3, 6, 8, generator=drawn)
    return of


def _net() -> Any:
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 1), torch.nn.ReLU(), torch.nn.Conv2d(8, 3, 1)).eval()


def _process() -> Any:
    return ROOM.replace_head(_net(), "gp", features=16).eval()


def _covariance(images: Any, counted: Any) -> Any:
    net = _process()
    ROOM.fit_covariance(net, [(images, counted)])
    return net.head.precision


@cache
def _cases() -> dict[str, Case]:
    """The right call of each function, by its name."""
    import torch

    of = _drawn()
    return {
        "unit": Case(ROOM.unit, {"features": of.features}),
        "nearest": Case(
            ROOM.nearest, {"queries": ROOM.unit(of.features[:5]), "keys": ROOM.unit(of.features)}, {"k": 3}
        ),
        "density_score": Case(ROOM.density_score, {"cosines": of.cosines}),
        "class_score": Case(ROOM.class_score, {"cosines": of.cosines, "has": of.cosines > 0.5}),
        "class_gaussians": Case(ROOM.class_gaussians, {"features": of.features, "classes": of.classes}),
        "mahalanobis_distances": Case(
            ROOM.mahalanobis_distances, {"features": of.features, "means": of.means, "whiten": of.whiten}
        ),
        "differential_entropy": Case(ROOM.differential_entropy, {"logits": of.logits}),
        "divergence": Case(ROOM.divergence, {"first": of.logits.exp(), "second": of.logits.flip(0).exp()}),
        "loss": Case(
            lambda logits, labels, weights: ROOM.loss(ROOM.Doubt(logits), labels, weights),
            {"logits": of.logits, "labels": of.labels, "weights": torch.tensor([1.0, 2.0, 0.5])},
        ),
        "loss of members": Case(
            lambda members, labels: ROOM.loss(ROOM.Doubt(None, members), labels, name="dirichlet"),
            {"members": of.members, "labels": of.labels},
        ),
        "loss of outliers": Case(
            lambda outlier: ROOM.loss(ROOM.Doubt(of.logits, outlier=outlier), of.labels, name="outlier-head"),
            {"outlier": of.logits[:, 0]},
        ),
        "loss of negatives": Case(
            lambda odds: ROOM.loss(ROOM.Doubt(of.logits, outlier=odds), of.labels, name="uno"),
            {"odds": of.logits[:, 0]},
        ),
        "probabilities": Case(
            lambda logits: ROOM.probabilities(ROOM.Doubt(logits), (16, 12)), {"logits": of.logits}
        ),
        "probabilities of members": Case(
            lambda members: ROOM.probabilities(ROOM.Doubt(None, members), (16, 12)), {"members": of.members}
        ),
        "train_flow": Case(
            lambda values: ROOM.train_flow(values, of.plan).normalised_nll(of.features),
            {"values": of.features},
        ),
        "RealNVP": Case(ROOM.RealNVP(4, blocks=2).eval().nll, {"features": of.features}),
        "fit_temperature": Case(
            ROOM.fit_temperature, {"logits": of.features[:, :3].numpy(), "labels": of.classes.numpy()}
        ),
        "fit_covariance": Case(_covariance, {"images": of.images, "counted": of.labels[:, :6, :8] > 0}),
        "tune_mean_field": Case(
            lambda images, labels: ROOM.tune_mean_field(_process(), [(images, labels)], factors=[0.0, 1.0]),
            {"images": of.images, "labels": of.labels[:, :6, :8]},
        ),
        "last_layer": Case(lambda net: ROOM.last_layer(net)[0], {"net": _net()}),
        "replace_head": Case(lambda net: ROOM.replace_head(net)(of.images).logits, {"net": _net()}),
        "add_dropout": Case(
            lambda net: ROOM.add_dropout(net, ["1"], samples=2).eval()(of.images).members.shape,
            {"net": _net()},
        ),
    }


def _same(given: Any) -> Iterator[tuple[str, Any]]:
    """What means the same as a tensor."""
    import torch

    if isinstance(given, torch.Tensor):
        yield (
            "another order in memory",
            given.mT.contiguous().mT if given.ndim > 1 else given.repeat_interleave(2)[::2],
        )
        if given.dtype == torch.int64:
            yield "int32", given.int()
            yield "uint8", given.to(torch.uint8)


def _odd(given: Any) -> Iterator[tuple[str, Any]]:
    """What is no such tensor or network, or another one."""
    import torch

    yield "a word", "maps"
    yield "None", None
    yield "a number", 3.0
    if not isinstance(given, torch.Tensor | np.ndarray):
        yield "an array", np.zeros((2, 3))
        return
    tensor = torch.as_tensor(given)
    yield "an array", tensor.numpy()
    yield "what is being learnt", tensor.clone().requires_grad_(tensor.is_floating_point())
    yield "a list", tensor.tolist()
    yield "float64", tensor.double()
    yield "float16", tensor.half()
    yield "whole numbers", tensor.long()
    yield "bools", tensor > 0
    yield "complex numbers", tensor.to(torch.complex64)
    yield "NaN", torch.where(torch.arange(tensor.numel()).reshape(tensor.shape) == 1, torch.nan, tensor)
    yield "infinity", torch.where(torch.arange(tensor.numel()).reshape(tensor.shape) == 1, torch.inf, tensor)
    yield "negative numbers", -(tensor.float() if tensor.is_floating_point() else tensor.long()) - 3
    yield "large numbers", tensor.long() + 100_000
    yield "an axis less", tensor[0]
    yield "an axis more", tensor[None]
    yield "classes last", tensor.movedim(1, -1) if tensor.ndim > 1 else tensor[:, None]
    yield "nothing", tensor[:0]
    yield "no channel", tensor[..., :0] if tensor.ndim < 3 else tensor[:, :0]
    yield "a batch of one less", tensor[:-1]
    yield "a channel less", tensor[:, :-1] if tensor.ndim > 1 else tensor[:-1]
    yield "a column less", tensor[..., :-1]


def _numbers(result: Any) -> list[np.ndarray]:
    """All numbers in a result, whatever holds them."""
    import torch

    if is_dataclass(result):
        return [n for one in fields(result) for n in _numbers(getattr(result, one.name))]
    if isinstance(result, Mapping):
        return _numbers([*result.items()])
    if isinstance(result, list | tuple):
        return [number for one in result for number in _numbers(one)]
    if isinstance(result, torch.Tensor):
        return [result.detach().double().numpy()]
    return [np.asarray(result, float)] if isinstance(result, float | int) else []


def test_every_public_function_is_in_the_table() -> None:
    functions = {
        name
        for name in ROOM.__all__
        if callable(getattr(ROOM, name)) and not inspect.isclass(getattr(ROOM, name))
    }
    assert [*_cases()] == [*NAMES]
    assert functions == {name.partition(" of ")[0] for name in NAMES} - {"RealNVP"}


@pytest.mark.parametrize("name", NAMES)
def test_an_odd_tensor_gives_the_same_value_or_one_line(name: str) -> None:
    case, faults = _cases()[name], list[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = _numbers(case.function(**{**case.tensors, **_fresh(case)}, **case.more))
        for key, tensor in case.tensors.items():
            same = dict(_same(tensor))
            for how, given in (*same.items(), *_odd(tensor)):
                try:
                    found = case.function(**{**case.tensors, **_fresh(case), key: given}, **case.more)
                except FaultscapeError as error:
                    if "\n" in str(error):
                        faults.append(f"{key} as {how}: more than one line: {error}")
                    if how in same:
                        faults.append(f"{key} as {how} is refused: {error}")
                except Exception as error:  # noqa: BLE001 - whatever it is, it is the failure
                    faults.append(f"{key} as {how}: {type(error).__name__}: {error}"[:200])
                else:
                    numbers = _numbers(found)
                    if how in same and not all(map(_close, wanted, numbers)):
                        faults.append(f"{key} as {how} gives another value")
                    if how == "NaN" and numbers and all(np.isfinite(one).all() for one in numbers):
                        faults.append(f"{key} as NaN gives finite numbers")
    assert not faults, "\n".join(faults)


def _close(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)


def _fresh(case: Case) -> dict[str, Any]:
    """Networks are changed in place: each call takes a new one."""
    import torch

    return {key: _net() for key, one in case.tensors.items() if isinstance(one, torch.nn.Module)}


def test_what_would_be_a_wrong_number_is_refused() -> None:
    import torch

    of = _drawn()
    with refused(MetricError, r"logits have their classes second, \(N, C, h, w\); got \(2, 12, 16, 3\)"):
        ROOM.loss(ROOM.Doubt(torch.zeros(2, 12, 16, 3)), of.labels)
    with refused(MetricError, "first are concentrations above 0; got -1.5"):
        ROOM.divergence(torch.tensor([[-1.5, 1.0]]), torch.ones(1, 2))
    with refused(MetricError, "labels are channels 0 to 2, -1 for void and -100 .*; got 0 to 255"):
        ROOM.loss(ROOM.Doubt(of.logits), torch.where(of.labels == 1, 255, of.labels).to(torch.uint8))
    pairs = [(of.images, of.labels[:, :6, :8])]
    with refused(ModelError, "images are iterated once per factor, .*; give list"):
        ROOM.tune_mean_field(_process(), iter(pairs))


def test_what_is_no_tensor_is_told_how_to_become_one() -> None:
    of = _drawn()
    with refused(MetricError, r"features are a tensor \(n, D\); got ndarray; make one with torch.as_tensor"):
        ROOM.mahalanobis_distances(of.features.numpy(), of.means, of.whiten)
    with refused(MetricError, r"features are floating-point numbers .*; got int64; convert them with .float"):
        ROOM.unit(of.features.long())
    with refused(MetricError, r"got Tensor; of a tensor of logits, give fs.uncertainty.Doubt\(logits\)"):
        ROOM.loss(of.logits, of.labels)
    with refused(MetricError, "said has neither logits nor members"):
        ROOM.probabilities(ROOM.Doubt(None), (4, 4))
    with refused(MetricError, "queries float64 on cpu, keys float32 on cpu"):
        ROOM.nearest(of.features.double(), of.features, 1)
    with refused(OptionError, "loss 'mse' is not known"):
        ROOM.loss(ROOM.Doubt(of.logits), of.labels, name="mse")
