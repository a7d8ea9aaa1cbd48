"""Keep the memory of freed arrays for the next ones, in programs of ours.

Conventions: where the C library is glibc; elsewhere nothing changes, nor where its variables are set.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of <malloc.h>
_LARGEST = 32 << 20  # bytes of an array


def keep_freed_memory() -> None:
    """Have arrays of up to 32 MiB take memory that earlier ones freed, as glibc does by itself once one of
    this size was freed: until then it returns their pages to the system and takes new ones for each.
    """
    if sys.platform != "linux" or "GLIBC_TUNABLES" in os.environ:
        return
    if any(name.startswith("MALLOC_") for name in os.environ):
        return
    import ctypes

    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _LARGEST)
        library.mallopt(_TRIM_THRESHOLD, 2 * _LARGEST)
