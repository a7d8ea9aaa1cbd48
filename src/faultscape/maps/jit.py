"""Compile a kernel with numba, if it is installed; cached on disk if a folder is writable.

Conventions: a file of kernels imports ``jit`` at its top, and is itself imported only when a kernel is first
needed, so that ``import faultscape`` never waits for numba. Without numba (or with FAULTSCAPE_NUMBA=0)
importing such a file raises ImportError, and its plain NumPy equivalent is used.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

if os.environ.get("FAULTSCAPE_NUMBA") == "0":
    raise ImportError("numba is switched off by FAULTSCAPE_NUMBA=0")

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def _without_blas() -> None:
    """Let numba take it for granted that there are dot products, a seventh of a second less for each process:
    it would import scipy.linalg to know. No kernel of ours has one, and what does asks again.
    """
    with suppress(AttributeError):  # in a numba of another day
        linalg: Any = importlib.import_module("numba.np.linalg")
        asked = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            arraymath = importlib.import_module("numba.np.arraymath")
        finally:
            linalg.ensure_blas = asked
        arraymath.ensure_blas = asked


_without_blas()


def jit(function: Function) -> Function:
    """Return the function compiled at its first call, without the interpreter lock."""
    return _compiled(function)


def jit_sums(function: Function) -> Function:
    """Return the same of a function whose sums may add their terms in any order, several at once."""
    return _compiled(function, fastmath={"reassoc", "nsz"})


def jit_ratios(function: Function) -> Function:
    """Return the same of a function that divides by zero as NumPy does, so that several quotients come at
    once.
    """
    return _compiled(function, error_model="numpy")


def _compiled(function: Any, **options: Any) -> Any:
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # numba finds no writable folder for its cache
        return numba.njit(nogil=True, **options)(function)
