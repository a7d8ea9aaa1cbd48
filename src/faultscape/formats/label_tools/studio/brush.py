"""The run-length format of Label Studio's brush: packed bits, four values per pixel.

Conventions: a mask is (H, W); its values go row by row, each four times (red, green, blue, alpha), and alpha
is what counts. The head has 32 bits for the number of values, 5 bits for their width minus one (8), and 4 x 4
bits for the widths minus one of the four kinds of lengths (3, 4, 8, 16). Then, for each block: 1 bit, set for
a run; 2 bits, the kind of its length; the length minus one; and the value of a run once, or all values.
`encode` writes like Label Studio's Python tools: the shortest kind that holds a run, runs of more than 65,536
values in pieces of that length, all of the last kind, and 1 to 8 zero bits at the end. Blocks of single
values are only read, because no run of a pixel is shorter than four.
Source: the README file of @thi.ng/rle-pack; which kind is chosen and the layout of the data were found by
encoding masks with label-studio-sdk.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultscape.errors import LabelMapError

MOST_BYTES = 4 << 20  # per mask: noise on 4 million pixels takes this many
_KINDS = (3, 4, 8, 16)
_HEAD = 53  # bits
_WORD = 8
_LONGEST = 1 << 16  # values of a run
_CHUNK = 1 << 17  # bytes processed at once


def encode(mask: np.ndarray) -> bytes:
    """Return the bytes of an (H, W) mask, bool or uint8 (alpha; a bool becomes 0 or 255).

    >>> list(encode(np.array([[True, False]])))
    [0, 0, 0, 8, 57, 27, 252, 127, 241, 128, 0]
    """
    alpha = np.ascontiguousarray(mask).reshape(-1)
    values = (
        (alpha.view(np.uint8) * np.uint8(255)) if alpha.dtype == bool else alpha.astype(np.uint8, copy=False)
    )
    begins = np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))
    runs = np.diff(begins, append=len(values)) * 4
    more = (runs - 1) // _LONGEST  # pieces before the last one
    length = np.full(int((more + 1).sum()), _LONGEST, np.int64)
    last = np.cumsum(more + 1) - 1
    length[last] = runs - more * _LONGEST
    whole = np.repeat(more == 0, more + 1)
    kind = np.where(whole, np.searchsorted([8, 16, 256], length, side="left"), 3)
    width = np.array(_KINDS)[kind]
    # 4 is the bit of a run
    bits = ((4 + kind) << width + 8) + (length - 1 << 8) + np.repeat(values[begins], more + 1)
    head = int.from_bytes((4 * len(values)).to_bytes(4, "big")) << 21 | (_WORD - 1) << 16
    for k, wide in enumerate(_KINDS):
        head |= wide - 1 << 4 * (3 - k)
    return _packed(
        np.concatenate(([head >> 27, head & (1 << 27) - 1], bits)), np.concatenate(([26, 27], width + 11))
    )


def decode(rle: bytes | Sequence[int], pixels: int) -> np.ndarray:
    """Return the alpha of a mask with this number of ``pixels``, row by row, uint8; LabelMapError says how
    the runs are damaged.

    >>> decode([0, 0, 0, 8, 57, 27, 252, 127, 241, 128, 0], 2)
    array([255,   0], dtype=uint8)
    """
    data, wide, begins, single, kind, length = _walked(rle, pixels)
    ends = np.cumsum(length)
    first = begins + 3 + wide[kind]  # bit of a block's first value
    before = (ends - length) // 4  # pixels before a block
    share = ends // 4 - before
    values = np.where(single, share, 1)
    block = np.repeat(np.arange(len(begins)), values)
    place = np.arange(len(block)) - np.repeat(np.cumsum(values) - values, values)
    skipped = np.where(single[block], 4 * (before[block] + place) + 3 - (ends - length)[block], 0)
    alpha = _words(data, first[block] + _WORD * skipped) >> 24
    return np.repeat(alpha.astype(np.uint8), np.where(single, 1, share)[block])


def check(rle: bytes | Sequence[int], pixels: int) -> None:
    """Raise LabelMapError if `decode` would, without making a mask.

    >>> check(encode(np.eye(3, dtype=bool)), 9)
    """
    _walked(rle, pixels)


def values_of(rle: bytes | Sequence[int]) -> int:
    """Return the number of values that runs declare, four per pixel; LabelMapError if they have no head.

    >>> values_of([0, 0, 0, 8, 57, 27, 252, 127, 241, 128, 0])
    8
    """
    try:
        head = bytes(rle[:7])
    except (TypeError, ValueError):
        raise LabelMapError("its runs must be bytes, whole numbers from 0 to 255") from None
    if len(head) < 7:
        raise LabelMapError("its runs have no 7-byte head")
    return int.from_bytes(head[:4])


def _walked(
    rle: bytes | Sequence[int], pixels: int
) -> tuple[bytes, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the bytes, the widths of lengths, and, for each block, its start, whether it holds single
    values, its kind and its length, after checking that they give this number of pixels.
    """
    if len(rle) > min(MOST_BYTES, 8 * pixels + 16):
        raise LabelMapError(f"its runs take {len(rle):,} bytes, more than a mask of {pixels:,} pixels can")
    try:
        data = bytes(rle)
    except (TypeError, ValueError):
        raise LabelMapError("its runs must be bytes, whole numbers from 0 to 255") from None
    wide = _widths(data, pixels)
    begins = _blocks(data, wide)
    single, kind, length = _facts(_words(data, begins), wide)
    ends = np.cumsum(length)
    if not len(ends) or ends[-1] < 4 * pixels:
        raise LabelMapError("its runs end before the last pixel")
    count = int(np.searchsorted(ends, 4 * pixels)) + 1
    if ends[count - 1] != 4 * pixels:
        raise LabelMapError("its runs go beyond the last pixel")
    begins, single, kind, length = (each[:count] for each in (begins, single, kind, length))
    if begins[-1] + 3 + wide[kind[-1]] + _WORD * (length[-1] if single[-1] else 1) > 8 * len(data):
        raise LabelMapError("its runs end before the last pixel")
    return data, wide, begins, single, kind, length


def _widths(data: bytes, pixels: int) -> np.ndarray:
    """Return the widths of the four kinds of lengths, after checking the head."""
    if (said := values_of(data)) != 4 * pixels:
        raise LabelMapError(
            f"its runs have {said:,} values; an image of {pixels:,} pixels has {4 * pixels:,}, four each"
        )
    head = int.from_bytes(data[:7]) >> 3
    if (wide := (head >> 16 & 31) + 1) != _WORD:
        raise LabelMapError(f"its runs have {wide}-bit values; expected 8 bits")
    return np.array([(head >> 4 * (3 - k) & 15) + 1 for k in range(4)])


def _facts(words: np.ndarray, wide: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for blocks that start at the head of each of the ``words``, whether they hold single values,
    their kind, and their number of values.
    """
    kind = words >> np.uint32(29) & np.uint32(3)
    length = (words << np.uint32(3) >> (32 - wide).astype(np.uint32)[kind]).astype(np.int64) + 1
    return words >> np.uint32(31) == 0, kind, length


def _blocks(data: bytes, wide: np.ndarray) -> np.ndarray:
    """Return the bit at which each block begins, including blocks made by the zeros after the last one."""
    found = []
    at = _HEAD
    end = 8 * len(data)
    padded = np.frombuffer(data + bytes(4), np.uint8)
    while at < end:
        byte = at // 8
        some = padded[byte : byte + _CHUNK + 3].astype(np.uint32)
        words = (
            some[:-3] << np.uint32(24) | some[1:-2] << np.uint32(16) | some[2:-1] << np.uint32(8) | some[3:]
        )
        # one for each bit
        words = (words[:, None] << np.arange(8, dtype=np.uint32)).reshape(-1)[: end - 8 * byte]
        head = words >> np.uint32(29)  # run or not, and the kind
        count = (words << np.uint32(3) >> np.tile((32 - wide).astype(np.uint32), 2)[head]) + np.uint32(1)
        count[head >= 4] = 1
        after = (
            np.arange(len(words), dtype=np.uint32)
            + np.tile(wide.astype(np.uint32) + 3, 2)[head]
            + _WORD * count
        ).tolist()
        here = []
        place = at - 8 * byte
        while place < len(after):
            here.append(place)
            place = after[place]
        found.append(np.array(here, np.int64) + 8 * byte)
        at = place + 8 * byte
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _words(data: bytes, bits: np.ndarray) -> np.ndarray:
    """Return the 25 or more bits that begin at each of the ``bits``, at the head of uint32."""
    padded = np.frombuffer(data + bytes(4), np.uint8)
    byte = bits >> 3
    words = padded[byte].astype(np.uint32) << np.uint32(24)
    for k, up in ((1, 16), (2, 8), (3, 0)):
        words |= padded[byte + k].astype(np.uint32) << np.uint32(up)
    return words << (bits & 7).astype(np.uint32)


def _packed(codes: np.ndarray, widths: np.ndarray) -> bytes:
    """Return codes of at most 27 bits concatenated, followed by 1 to 8 zero bits."""
    ends = np.cumsum(widths)
    begins = ends - widths
    out = np.zeros(int(ends[-1]) // 8 + 5, np.uint8)
    spread = codes.astype(np.int64) << 40 - widths - (begins & 7)
    for k in range(5):
        # no two codes share a bit
        np.add.at(out, (begins >> 3) + k, (spread >> 8 * (4 - k) & 255).astype(np.uint8))
    return out[: int(ends[-1]) // 8 + 1].tobytes()
