"""An image is decoded once for all that is cut from it, and memory stays bounded."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from faultscape.errors import ImageError
from faultscape.verbs.serve.image_cache import DecodedImages


def test_those_who_ask_while_an_image_is_read_wait_for_it() -> None:
    images = DecodedImages()
    begun, go_on = threading.Event(), threading.Event()
    reads = []

    def read() -> np.ndarray:
        reads.append(1)
        begun.set()
        assert go_on.wait(10)
        return np.zeros((2, 2, 3), np.uint8)

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(images.get, "a", read)
        assert begun.wait(10)
        others = [pool.submit(images.get, "a", read) for _ in range(2)]
        go_on.set()
        assert all(one.result() is first.result() for one in others)
    assert reads == [1]


def test_an_image_that_is_larger_than_the_limit_is_not_kept() -> None:
    images = DecodedImages(most=10)
    reads = []
    for _ in range(2):
        found = images.get("a", lambda: reads.append(1) or np.ones((2, 2, 3), np.uint8))
        assert found.sum() == 12
    assert reads == [1, 1]


def test_a_failure_is_not_kept() -> None:
    images = DecodedImages()

    def fail() -> np.ndarray:
        raise ImageError("gone")

    with pytest.raises(ImageError):
        images.get("a", fail)
    assert images.get("a", lambda: np.ones((1, 1, 3), np.uint8)).sum() == 3
