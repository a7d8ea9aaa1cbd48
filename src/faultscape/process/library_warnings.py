"""Silence warnings of libraries, in threads too.

Conventions: Python's filters belong to the whole process. Overlapping ``warnings.catch_warnings`` blocks in
two threads may restore them in the wrong order, and then the process ignores every warning for good. So
blocks are counted: the first sets the filters, the last restores them.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_blocks: list[
    warnings.catch_warnings
] = []  # one per running block; only the first is entered and holds the filters


@contextmanager
def without_warnings() -> Iterator[None]:
    """Ignore all warnings while the block runs; blocks may overlap and nest.

    >>> with without_warnings():
    ...     warnings.warn("of a library")
    """
    with _lock:
        _blocks.append(warnings.catch_warnings())
        if len(_blocks) == 1:
            _blocks[0].__enter__()
            warnings.simplefilter("ignore")
    try:
        yield
    finally:
        with _lock:
            first = _blocks[0]
            _blocks.pop()
            if not _blocks:
                first.__exit__(None, None, None)
