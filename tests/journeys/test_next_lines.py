"""The command that a result ends with can be pasted, where names have spaces too."""

from __future__ import annotations

import shlex

import pytest

from faultscape.terminal_lines import WIDTH
from faultscape.verbs.fit.result import FittedMethod, FittedMethods, FittedTemperature
from faultscape.verbs.stress.result import HeldOut, Stressed
from faultscape.verbs.train.result import Swept, Trained

STUDY, MODEL, SOURCE = "my study", "net", "my nets/net.onnx"
TRAINED = Trained(STUDY, MODEL, "my study/models/net", "small", "softmax", ("road",), (), 8, 2, 0.5)
TEMPERATURE = FittedTemperature(STUDY, MODEL, SOURCE, {"": 1.5}, (1, 0.9), (0.2, 0.1), 8, 1000)
METHODS = FittedMethods(STUDY, MODEL, SOURCE, (FittedMethod("knn", ("a",), {}, ()),), 8, 100)


@pytest.mark.parametrize(
    ("result", "arguments"),
    [
        (TRAINED, [STUDY, "net=my study/models/net"]),
        (Swept(STUDY, "rank", {"1": TRAINED}), [STUDY, "net=my study/models/net"]),
        (TEMPERATURE, [STUDY, "net=my nets/net.onnx"]),
        (METHODS, [STUDY, "net=my nets/net.onnx", "--scorer", "knn", "--measure"]),
        (HeldOut(STUDY, "bus", ("bus",), 3), [STUDY, "--holdout", "bus"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_next_command_reads_as_it_was_meant(result: object, arguments: list[str]) -> None:
    (line,) = (line for line in repr(result).splitlines() if line.startswith("next: "))
    assert shlex.split(line)[3:] == arguments


def test_the_ensemble_of_a_sweep_of_seeds_is_a_command_too() -> None:
    networks = {str(seed): TRAINED for seed in (0, 1)}
    line = repr(Swept(STUDY, "seed", networks)).splitlines()[-1]
    assert shlex.split(line)[:4] == ["then:", "faultscape", "predict", STUDY]


def test_sets_with_long_names_are_wrapped() -> None:
    sets = tuple(f"main-gaussian_noise-{severity}-of-five" for severity in range(1, 6))
    lines = repr(Stressed("study", "corrupt", "main", sets, 1500, 1500, 0, 0)).splitlines()
    assert len(lines) == 3
    assert all(len(line) <= WIDTH for line in lines)
