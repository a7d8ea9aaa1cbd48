"""Programs of ours keep the memory of freed arrays."""

from __future__ import annotations

import sys

import pytest

import children

ARRAYS = """
import resource, sys
from faultscape.process.freed_memory import keep_freed_memory
if "keep" in sys.argv:
    keep_freed_memory()
def work():
    for _ in range(50):
        held = [bytearray(1 << 20) for _ in range(3)]
        del held
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is asked to")
@pytest.mark.slow
def test_arrays_take_pages_that_earlier_ones_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = 50 * 3 * 256
    assert int(children.python("-c", ARRAYS)) > pages / 2
    assert int(children.python("-c", ARRAYS, "keep")) < pages / 50
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")  # whoever sets a variable of glibc decides
    assert int(children.python("-c", ARRAYS, "keep")) > pages / 2
