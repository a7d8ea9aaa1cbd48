"""Whether a call goes to compiled kernels or to their plain twins, which give the same bytes.

Conventions: numba compiles a kernel when it is first called on a machine, for seconds, and is imported in
each process for half a second; what a small study asks of kernels takes less in NumPy. How much more is to
come is not known, so each process begins with the plain twins, and goes over once they have taken as long as
compiling would: whatever comes, that costs at most twice the better choice. Kernels that numba keeps from an
earlier run cost its import alone. Seconds are estimates, so that the choice follows from the work and not
from the clock; only their ratio to each other matters. ``FAULTSCAPE_NUMBA=0`` always takes the plain
kernels, ``FAULTSCAPE_NUMBA=1`` always the compiled ones.
"""

from __future__ import annotations

import glob
import os
import sys
from contextlib import suppress
from importlib import import_module
from types import ModuleType

IMPORT = 0.5  # seconds to import numba and load what it keeps


class Kernels:
    """A file of compiled kernels, and how long numba takes to compile those that are called together."""

    _plain_seconds = 0.0  # of all plain calls of this process

    def __init__(self, module: str, seconds: float) -> None:
        self._module = module
        self._seconds = seconds
        self._spent = 0.0
        self._next_look = 0.0
        self._chosen: ModuleType | None = None
        self._off = False

    def ready(self, seconds: float) -> ModuleType | None:
        """Return the compiled kernels, or None if this call, which takes the plain ones about so many
        seconds, should use these, or numba cannot be imported.
        """
        if self._chosen is not None or self._off:
            return self._chosen
        always = os.environ.get("FAULTSCAPE_NUMBA") == "1"
        self._spent += seconds
        Kernels._plain_seconds += seconds
        if not always and Kernels._plain_seconds < IMPORT and "numba" not in sys.modules:
            return None
        if not always and self._spent < min(self._next_look, self._seconds):
            return None
        self._next_look = self._spent + IMPORT
        try:
            compiled = import_module(self._module)
        except ImportError:
            self._off = True
            return None
        if always or self._spent >= self._seconds or _kept(compiled):
            self._chosen = compiled
        return self._chosen


def _kept(compiled: ModuleType) -> bool:
    """Return whether numba keeps kernels of this file from an earlier run."""
    for kernel in vars(compiled).values():
        with suppress(AttributeError):  # not a kernel, or not one that is kept
            folder, function = kernel.stats.cache_path, kernel.py_func
            file = os.path.splitext(os.path.basename(function.__code__.co_filename))[0]
            if glob.glob(os.path.join(glob.escape(folder), f"{file}.{function.__qualname__}-*.nbi")):
                return True
    return False
