"""Blocks that silence libraries give the process its warnings back, in whatever order several threads leave
them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from faultscape.errors import ImageError
from faultscape.formats.guard import decoding
from faultscape.process.library_warnings import without_warnings
from refusals import refused


def pictures() -> AbstractContextManager[None]:
    return decoding("photo.png", ImageError)


def networks() -> AbstractContextManager[None]:
    import torch  # noqa: F401 - it sets filters of its own when it is imported

    from faultscape.prediction.sources.torch_network import running

    return running("net", "cpu", "float32")


def loads() -> AbstractContextManager[None]:
    from faultscape.prediction.sources.torch_network import only_weights

    return only_weights()


@pytest.fixture(autouse=True)
def _filters_of_its_own() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("block", [without_warnings, pictures, networks, loads])
def test_blocks_that_overlap_restore_the_filters(block: Callable[[], AbstractContextManager[None]]) -> None:
    first, second = block(), pictures()
    before = list(warnings.filters)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    warnings.warn("of a library that the second block still runs", stacklevel=1)
    second.__exit__(None, None, None)
    assert warnings.filters == before
    with pytest.raises(UserWarning, match="of the caller"):
        warnings.warn("of the caller", stacklevel=1)


def test_a_block_inside_another_leaves_it_silent() -> None:
    before = list(warnings.filters)
    with without_warnings():
        with pictures():
            warnings.warn("inner", stacklevel=1)
        warnings.warn("outer", stacklevel=1)
    assert warnings.filters == before


def test_a_block_that_fails_restores_the_filters() -> None:
    before = list(warnings.filters)
    with refused(ImageError, r"^photo\.png: damaged$"), pictures():
        raise ValueError("damaged")
    assert warnings.filters == before
