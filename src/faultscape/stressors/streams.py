"""Streams of random numbers that are the same in any order, process and machine.

Conventions: a stream begins at BLAKE2b(seed, key, words): the key identifies the image (as in
`faultscape.ties`), the words what is drawn. Its i-th number depends only on the start and i (SplitMix64), so
that kernels can draw any pixel's number in any order. Integers and uniform doubles are exact everywhere;
normal deviates are rounded to 2^-24, so that the last bit of a math library does not matter.

``low`` and ``high`` bound the number. ``count`` is the number of values. ``start`` comes from
``stream_start``. ``words`` distinguish streams of one seed and key.

Source: Steele, Lea and Flood 2014 (SplitMix).
"""

from __future__ import annotations

import hashlib

import numpy as np

from faultscape.errors import OptionError

GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_NORMAL_STEP = 2.0**-24


def stream_start(seed: int, key: str, *words: str | int) -> int:
    """Return the start of the stream of a seed, a key and some words, 0..2^64 - 1.

    Errors: OptionError for a seed that is not a whole number: 1.0 and True would start different streams than
    1.

    >>> (
    ...     stream_start(0, "a", "fog", 3) == stream_start(0, "a", "fog", 3),
    ...     stream_start(0, "a", "fog", 3) == stream_start(0, "a", "fog", 4),
    ... )
    (True, False)
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise OptionError(f"seed {seed!r}: expected a whole number")
    hashed = hashlib.blake2b(digest_size=8)
    for word in (seed, key, *words):
        part = str(word).encode("utf-8", "surrogateescape")
        hashed.update(len(part).to_bytes(8, "big") + part)  # so that ("a", "bc") differs from ("ab", "c")
    return int.from_bytes(hashed.digest(), "big")


def words_at(start: int, count: int, first: int = 0) -> np.ndarray:
    """Return (count,) uint64: the random bits at the places of a stream from ``first`` on, as kernels draw
    them one by one.

    >>> bool(words_at(7, 3)[1] == words_at(7, 1, first=1)[0])
    True
    """
    with np.errstate(over="ignore"):
        z = np.uint64(start) + (
            np.arange(count, dtype=np.uint64) + np.uint64(first) + np.uint64(1)
        ) * np.uint64(GOLDEN)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


class Stream:
    """Numbers drawn one after another from a stream.

    >>> stream = Stream(0, "digest of an image", "place")
    >>> 0 <= stream.uniform() < 1, stream.integer(3) in (0, 1, 2)
    (True, True)
    """

    def __init__(self, seed: int, key: str, *words: str | int) -> None:
        self.start = stream_start(seed, key, *words)
        self._place = 0

    def bits(self) -> int:
        """Return the next 64 bits."""
        z = (self.start + (self._place + 1) * GOLDEN) & _MASK
        self._place += 1
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """Return a number in [low, high)."""
        return low + (high - low) * ((self.bits() >> 11) * 2.0**-53)

    def integer(self, count: int) -> int:
        """Return one of 0..count - 1, uniform to within 2^-64."""
        return (self.bits() * count) >> 64

    def normal(self) -> float:
        """Return a standard normal number, in steps of 2^-24."""
        from scipy.special import ndtri

        return round(float(ndtri(((self.bits() >> 11) + 0.5) * 2.0**-53)) / _NORMAL_STEP) * _NORMAL_STEP
