"""Where networks run: on the GPUs that torch sees, else on the CPU.

Conventions: a device is ``cpu`` or ``cuda:N``; a worker process derives N from its number
(FAULTSCAPE_WORKER), so that several workers use all GPUs. Half precision is the default only on ``cuda``.
Device and precision change the last digits of sums (DESIGN, third law); the precision is recorded with the
model.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

from faultscape.choices import Precision
from faultscape.errors import ModelError, OptionError

_NODES = ("/dev/nvidiactl", "/dev/nvidia0", "/proc/driver/nvidia", "/dev/nvmap", "/dev/dxg", "/dev/kfd")
PRECISIONS = get_args(Precision)


def count(kind: str) -> int:
    """Return how many GPUs a kind of network can use here."""
    if kind == "onnx":
        try:
            import onnxruntime
        except ImportError:  # whatever opens the network reports what to install
            return 0
        if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            return 0
    if sys.platform == "linux" and not any(map(os.path.exists, _NODES)):
        # avoids importing torch, which takes seconds
        return 0
    try:
        import torch
    except ImportError:
        return int(kind == "onnx")
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def check(asked: str) -> None:
    """Raise OptionError for anything that is not a device.

    >>> check("cuda:1")
    """
    kind, colon, number = asked.partition(":")
    if asked not in ("", "cpu") and (kind != "cuda" or (colon and not number.isdecimal())):
        raise OptionError(f"device {asked!r} is not known; use cpu, cuda or cuda:0")


def pick(asked: str, kind: str) -> str:
    """Return the device of this worker for a kind of network; OptionError if it does not exist.

    >>> pick("cpu", "onnx")
    'cpu'
    """
    check(asked)
    if asked == "cpu":
        return asked
    there = count(kind)
    number = asked.partition(":")[2]
    if not there or (number and int(number) >= there):
        if asked:
            raise OptionError(f"device {asked} is not available; {there} usable GPUs found")
        return "cpu"
    return f"cuda:{number or int(os.environ.get('FAULTSCAPE_WORKER', '0')) % there}"


@contextmanager
def fixed_threads(number: int) -> Iterator[None]:
    """Let torch, if it is loaded, use this many threads while the block runs; 0 changes nothing."""
    torch = sys.modules.get("torch")
    if torch is None or not number:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def precision_of(asked: str, device: str) -> str:
    """Return the precision that a network runs at; OptionError for an unknown one.

    >>> precision_of("", "cpu"), precision_of("", "cuda:0")
    ('float32', 'float16')
    """
    if asked and asked not in PRECISIONS:
        raise OptionError(f"precision {asked!r} is not known; use {', '.join(PRECISIONS)}")
    return asked or ("float16" if device.startswith("cuda") else "float32")


def need_torch(name: str, what: str = "running it") -> Any:
    """Return torch; ModelError, which says ``what`` needs it, where it is not installed."""
    try:
        import torch
    except ImportError:
        raise ModelError(f"{name}: {what} needs torch; install faultscape[torch]") from None
    return torch


def scored_on(asked: str | None, device: str) -> str:
    """Return where labels and scores of a network's logits are made: on its ``device``, or on the processor.

    >>> scored_on(None, "cpu"), scored_on(None, "cuda:0"), scored_on("processor", "cuda:0")
    ('processor', 'device', 'processor')
    """
    return asked or ("device" if device.startswith("cuda") else "processor")


def slow_half(device: str, precision: str) -> str:
    """Return a note if torch computes bf16 on this CPU without instructions for it: in loops of its own, one
    number at a time; '' otherwise.

    >>> slow_half("cpu", "no"), slow_half("cuda:0", "bf16")
    ('', '')
    """
    if device != "cpu" or precision != "bf16" or platform.machine().lower() not in ("x86_64", "amd64"):
        return ""
    import torch

    if torch.backends.cpu.get_cpu_capability() not in ("DEFAULT", "AVX2"):
        return ""
    return (
        "note: --precision bf16 is some ten times slower than float32 on this CPU, which lacks AVX-512;"
        " --precision no is faster"
    )


def words(device: str, threads: int) -> str:
    """Return a readable name of a device, with the number of threads of a network there."""
    if device.startswith("cuda"):
        import torch

        return f"{device} {torch.cuda.get_device_name(device)}"
    return f"{_processor()}, {threads} thread{'s' * (threads != 1)}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
