"""Where networks run: on the graphics processors that torch sees, else on the processor.

Conventions: a device is ``cpu`` or ``cuda:N``; a worker process takes the N that its own number (FAULTSCAPE_WORKER) gives, so that several use all. Half precision
is the default on ``cuda`` alone. Device and precision change sums in their last digits (DESIGN, third law); the precision is recorded with the model.
"""

from __future__ import annotations

import os
import platform
import sys

from faultscape.errors import OptionError

_NODES = ("/dev/nvidiactl", "/dev/nvidia0", "/proc/driver/nvidia", "/dev/nvmap", "/dev/dxg", "/dev/kfd")
PRECISIONS = ("float32", "float16", "bfloat16")


def count() -> int:
    """Return how many graphics processors there are; where Linux has no node of one, torch, which takes seconds to import, is not asked."""
    if sys.platform == "linux" and not any(map(os.path.exists, _NODES)):
        return 0
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def pick(asked: str = "") -> str:
    """Return the device of this worker; OptionError for one that is not there.

    >>> pick("cpu")
    'cpu'
    """
    if asked == "cpu":
        return "cpu"
    there = count()
    kind, _, number = asked.partition(":")
    if kind not in ("", "cuda") or (number and not number.isdecimal()):
        raise OptionError(f"device {asked!r} is not known; use cpu, cuda or cuda:0")
    if not there or (number and int(number) >= there):
        if asked:
            raise OptionError(f"device {asked} is not there; torch sees {there} graphics processors")
        return "cpu"
    return f"cuda:{number or int(os.environ.get('FAULTSCAPE_WORKER', '0')) % there}"


def precision_of(asked: str, device: str) -> str:
    """Return the precision that a network runs at; OptionError for one that is not known.

    >>> precision_of("", "cpu"), precision_of("", "cuda:0")
    ('float32', 'float16')
    """
    if asked and asked not in PRECISIONS:
        raise OptionError(f"precision {asked!r} is not known; use {', '.join(PRECISIONS)}")
    return asked or ("float16" if device.startswith("cuda") else "float32")


def words(device: str) -> str:
    """Return what a person calls a device."""
    if device.startswith("cuda"):
        import torch

        return f"{device} {torch.cuda.get_device_name(device)}"
    return f"cpu {_processor()}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
