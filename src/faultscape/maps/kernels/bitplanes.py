"""Intersections of every pair from bit planes, at a cost independent of the content, for stacks too noisy for
joint runs.

Conventions: maps are uint8, treated as one line of pixels and given by the addresses of their first pixels.
The pixels of a tile become one bit plane per map and class (64 pixels per word), and N_yy is the number of
bits set in both planes. A tile's planes stay in the processor's cache while all pairs are counted, and tiles
are small, so that most classes are absent from most of them.
"""


# ruff: noqa: ANN001, ANN201, ANN202, ARG001 - numba infers types from the arguments, and intrinsics only name theirs
# an intrinsic's first argument is numba's own:
# pyright: reportCallIssue=false

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit
from faultscape.maps.kernels.joint_runs import set_bits

from llvmlite import ir  # isort: skip - jit.py decides first whether numba may be used
from numba import types  # isort: skip
from numba.extending import intrinsic  # isort: skip


@intrinsic
def _equal(typingctx, address, label):
    """Return, as bits, which of the 64 pixels at an address have a label: two vector comparisons instead of
    64.
    """
    del typingctx
    byte = ir.IntType(8)
    word = ir.IntType(64)
    vector = ir.VectorType(byte, 64)

    def code(context, builder, signature, arguments):
        del context, signature
        pixels = builder.load(builder.inttoptr(arguments[0], vector.as_pointer()), align=1)
        one = builder.insert_element(
            ir.Constant(vector, ir.Undefined), builder.trunc(arguments[1], byte), ir.Constant(word, 0)
        )
        spread = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        same = builder.icmp_unsigned("==", pixels, builder.shuffle_vector(one, one, spread))
        return builder.bitcast(same, word)

    return types.uint64(types.uint64, types.uint64), code


@jit
def count_planes(addresses, n_words, across, rows, n, pairs, both, totals):
    """Add to both (P, n) and totals (J, n) the first ``n_words * 64`` pixels; tiles are one word wide and
    ``rows`` high.

    ``across`` is the number of words in about one row: words this far apart are roughly above each other.
    """
    n_maps = len(addresses)
    planes = np.empty((n_maps, n, rows), np.uint64)
    sizes = np.zeros((n_maps, n), np.int64)
    held = np.empty((n_maps, n), np.int64)
    n_held = np.empty(n_maps, np.int64)
    tall = (n_words + across - 1) // across
    for top in range(0, tall, rows):
        for side in range(across):
            height = min(rows, (n_words - side - top * across + across - 1) // across)
            if height <= 0:
                continue
            for j in range(n_maps):
                first = addresses[j] + np.uint64((top * across + side) * 64)
                left = height * 64
                n_held[j] = 0
                for y in range(n):
                    size = 0
                    if left > 0:  # once every pixel of the tile has its class, the others are absent
                        plane = planes[j, y]
                        number = np.uint64(0)
                        for r in range(height):
                            word = _equal(first + np.uint64(r * across * 64), np.uint64(y))
                            plane[r] = word
                            number += set_bits(word)
                        size = np.int64(number)
                        left -= size
                    sizes[j, y] = size
                    if size > 0:
                        totals[j, y] += size
                        held[j, n_held[j]] = y
                        n_held[j] += 1
            for p in range(len(pairs)):
                i, j = pairs[p]
                if n_held[i] > n_held[j]:
                    i, j = j, i
                for k in range(n_held[i]):
                    y = held[i, k]
                    if sizes[j, y] == 0:
                        continue
                    if sizes[i, y] == height * 64:
                        both[p, y] += sizes[j, y]
                    elif sizes[j, y] == height * 64:
                        both[p, y] += sizes[i, y]
                    else:
                        a = planes[i, y]
                        b = planes[j, y]
                        number = np.uint64(0)
                        for r in range(height):
                            number += set_bits(a[r] & b[r])
                        both[p, y] += np.int64(number)
