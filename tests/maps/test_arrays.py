"""The code of an array: it comes back as it was, and a damaged or forged code is refused before anything is
made of it.
"""

from __future__ import annotations

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from faultscape.errors import LabelMapError
from faultscape.maps import array_codes
from refusals import refused

KINDS = (np.uint8, np.uint16, np.float16, np.float32)
HEAD = struct.Struct("<2sBB4I")


def forged(
    kind: int, shape: tuple[int, ...], packed: bytes, *, axes: int | None = None, magic: bytes = b"FA"
) -> bytes:
    """A code whose checksum is right, whatever it says."""
    head = HEAD.pack(magic, kind, len(shape) if axes is None else axes, *shape, *[1] * (4 - len(shape)))
    return head + struct.pack("<I", zlib.crc32(packed, zlib.crc32(head))) + packed


@given(
    st.sampled_from(KINDS).flatmap(
        lambda kind: hnp.arrays(
            kind,
            hnp.array_shapes(min_dims=1, max_dims=4, max_side=7),
            elements=None if kind(1.5) == 1 else hnp.from_dtype(np.dtype(kind), allow_nan=True),
        )
    )
)
@settings(max_examples=100)
def test_arrays_of_all_kinds_and_shapes_come_back_bit_for_bit(values: np.ndarray) -> None:
    back = array_codes.decode(array_codes.encode(values))
    assert (back.dtype, back.shape) == (values.dtype, values.shape)
    assert back.tobytes() == values.tobytes()


def test_arrays_that_do_not_lie_side_by_side_come_back_too() -> None:
    values = np.arange(240, dtype=np.float32).reshape(4, 6, 10)
    for view in (values[::2, ::-1], values.T, np.asfortranarray(values), values.astype(">f4")):
        assert (array_codes.decode(array_codes.encode(view)) == view).all()


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(3),
        np.zeros(3, np.int32),
        np.zeros((1,) * 5, np.uint8),
        np.float32(1),
        np.zeros((0, 3), np.uint8),
        np.array(["a"]),
    ],
)
def test_what_is_not_kept_is_refused_with_what_is(wrong: np.ndarray) -> None:
    with refused(LabelMapError, "expected uint8, uint16, float16 or float32 of one to four axes; got"):
        array_codes.encode(wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_every_truncation_and_every_flipped_bit_is_noticed(kind: type) -> None:
    code = array_codes.encode((np.arange(60).reshape(3, 4, 5) % 7).astype(kind))
    for length in range(len(code)):
        with refused(LabelMapError, "damaged"):
            array_codes.decode(code[:length])
    for place in range(len(code)):
        for bit in (1, 128):
            with refused(LabelMapError, "damaged"):
                array_codes.decode(code[:place] + bytes([code[place] ^ bit]) + code[place + 1 :])
    with refused(LabelMapError, "damaged"):
        array_codes.decode(code + b"\0")


def test_a_forged_head_allocates_nothing() -> None:
    import zstandard

    small = zstandard.ZstdCompressor().compress(b"\0" * 64)
    bomb = zstandard.ZstdCompressor().compress(b"\0" * (64 << 20))  # some kilobytes, that open to 64 MB
    unsized = zstandard.ZstdCompressor(write_content_size=False).compress(b"\0" * 64)
    codes = [
        forged(0, (4294967295,) * 4, small),
        forged(3, (65536, 65536), small),
        forged(0, (1 << 30,), small),
        forged(0, (8, 8), bomb),
        forged(0, (8, 8), unsized),
        forged(0, (8, 8), b""),
        forged(0, (0, 8), small),
        forged(9, (8, 8), small),
        forged(0, (8, 8), small, axes=0),
        forged(0, (8, 8), small, axes=5),
        forged(0, (8, 2, 4), small, axes=2),
        forged(0, (8, 8), small, magic=b"XX"),
        forged(0, (8, 8), zstandard.ZstdCompressor().compress(b"\0" * 63)),
        b"",
        b"FA",
    ]
    array_codes.decode(array_codes.encode(np.zeros(1, np.uint8)))
    tracemalloc.start()
    try:
        for code in codes:
            with refused(LabelMapError, "damaged"):
                array_codes.decode(code)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    # the forger's own code is right where nothing is wrong
    assert array_codes.decode(forged(0, (8, 8), small)).shape == (8, 8)
