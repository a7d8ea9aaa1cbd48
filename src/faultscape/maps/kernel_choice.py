"""Whether a call goes to compiled kernels or to their plain twins, which give the same bytes.

Conventions: numba compiles a kernel when it is first called on a machine, for seconds, and is imported in
each process for a second; what a small study asks of kernels takes less in NumPy. How much more is to come is
not known, so each process begins with the plain twins, and goes over once they have taken as long as
compiling would: whatever comes, that costs at most twice the better choice. Work that says how many maps are
`to_come` knows better: kernels that each of them needs are compiled at once if that pays. Kernels that numba
keeps from an earlier run, where it usually keeps them, cost its import alone. A worker is one of several and
there because much is left, so it goes over sooner; one of them compiles, and the others use the plain twins
until that is done. Seconds are estimates, so that the choice follows from the work and not from the clock;
only their ratio to each other matters. ``FAULTSCAPE_NUMBA=0`` always takes the plain kernels,
``FAULTSCAPE_NUMBA=1`` always the compiled ones.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from faultscape.process.made_aside import hold

ALWAYS = os.environ.get("FAULTSCAPE_NUMBA") == "1"
IMPORT = 1.0  # seconds to import numba and load what it keeps
_SOONER = 8  # times, in a worker
_WAIT = 4  # times the seconds of compiling that the plain kernels serve while another process compiles


class Kernels:
    """A file of compiled kernels, and how long numba takes to compile those that are called together;
    ``each_map`` if every map that is `to_come` needs them.
    """

    _plain_seconds = 0.0  # of all plain calls of this process
    maps_to_come = 0

    def __init__(self, module: str, seconds: float, *, each_map: bool = False) -> None:
        self._module = module
        self._seconds = seconds
        self._each_map = each_map
        self._spent = 0.0
        self._next_look = 0.0
        self._chosen: ModuleType | None = None
        self._off = False
        self._held: int | None = None  # a file that is locked while the process lives that compiles

    @property
    def settled(self) -> bool:
        """Whether `ready` gives the same whatever the seconds, which then need no estimate."""
        return ALWAYS or self._chosen is not None or self._off

    def ready(self, seconds: float) -> ModuleType | None:
        """Return the compiled kernels, or None if this call, which takes the plain ones about so many
        seconds, should use these, or numba cannot be imported.
        """
        if self._chosen is not None or self._off:
            return self._chosen
        self._spent += seconds
        Kernels._plain_seconds += seconds
        limit = self._seconds / (_SOONER if "FAULTSCAPE_WORKER" in os.environ else 1)
        if self._each_map and self._spent + seconds * Kernels.maps_to_come >= self._seconds:
            limit = 0.0
        if not ALWAYS and self._spent < limit:
            loaded = "numba" in sys.modules
            if self._spent < self._next_look or not (loaded or Kernels._plain_seconds >= IMPORT):
                return None
            if not loaded and not _are_some_kept():
                return None
        self._next_look = self._spent + IMPORT
        try:
            compiled = import_module(self._module)
        except ImportError:
            self._off = True
            return None
        if ALWAYS or self._is_time(compiled, limit):
            self._chosen = compiled
        return self._chosen

    def _is_time(self, compiled: ModuleType, limit: float) -> bool:
        """Return whether numba keeps kernels of this file, or it is time to compile them and no other process
        does.
        """
        files = _kept_files(compiled)
        if files is not None and glob.glob(f"{glob.escape(files)}.*.nbi"):
            return True
        if files is None or self._spent < limit:
            return self._spent >= limit
        try:
            if self._held is None:
                self._held = os.open(f"{files}.compiling", os.O_WRONLY | os.O_CREAT)
        except OSError:
            return True
        return hold(self._held) or sys.platform == "win32" or self._spent > _WAIT * self._seconds


@contextmanager
def to_come(maps: int) -> Iterator[None]:
    """Let kernels be chosen for work that reads or writes so many maps in this process."""
    before = Kernels.maps_to_come
    Kernels.maps_to_come = max(before, maps)
    try:
        yield
    finally:
        Kernels.maps_to_come = before


@cache
def _are_some_kept() -> bool:
    """Return whether numba keeps kernels of some run in the folder that its variable names, or beside this
    package.
    """
    named = os.environ.get("NUMBA_CACHE_DIR")
    beside = Path(__file__).parent / "kernels" / "__pycache__"
    return any(Path(named).rglob("*.nbi") if named else beside.glob("*.nbi"))


def _kept_files(compiled: ModuleType) -> str | None:
    """Return how the paths begin at which numba keeps kernels of a file; None if it keeps none."""
    for kernel in vars(compiled).values():
        if (stats := getattr(kernel, "stats", None)) and stats.cache_path:
            return os.path.join(stats.cache_path, Path(kernel.py_func.__code__.co_filename).stem)
    return None
