"""Intersections of every pair from bit planes: the same cost whatever the maps show, for stacks too noisy for joint runs.

Conventions: maps are uint8, flattened; a block of pixels becomes one bit plane a map and class (64 pixels a word), and N_yy is the number of bits set in
both planes. Planes of one block stay in the processor's cache while all pairs are counted.
"""
# ruff: noqa: ANN001, ANN201, ANN202 - numba infers types from the arguments

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit

from numba import types  # isort: skip - jit.py decides first whether numba may be used
from numba.extending import intrinsic  # isort: skip

WORDS = 512  # 64-bit words a block: 32,768 pixels
_ONES = np.uint64(0x0101010101010101)
_GATHER = np.uint64(0x0102040810204080)


@intrinsic
def _set_bits(typingctx, word):
    """Return how many bits of a word are set, by the processor's own instruction."""
    del typingctx

    def code(context, builder, signature, arguments):
        del context, signature
        function = builder.module.declare_intrinsic("llvm.ctpop", [arguments[0].type])
        return builder.call(function, arguments)

    return types.uint64(word), code


@jit
def _slices(eights, bits, out):
    """Turn words of eight labels into bytes of eight bits, one slice a bit of the label."""
    for k in range(bits):
        slice_ = out[k]
        shift = np.uint64(k)
        for w in range(eights.size):
            slice_[w] = np.uint8((((eights[w] >> shift) & _ONES) * _GATHER) >> np.uint64(56))


@jit
def _plane(slices, label, bits, n_words, out):
    full = ~np.uint64(0)
    for w in range(n_words):
        out[w] = full
    for k in range(bits):
        flip = np.uint64(0) if (label >> k) & 1 else full
        row = slices[k]
        for w in range(n_words):
            out[w] &= row[w] ^ flip


@jit
def _count(a, n_words):
    total = np.uint64(0)
    for w in range(n_words):
        total += _set_bits(a[w])
    return total


@jit
def _count_both(a, b, n_words):
    total = np.uint64(0)
    for w in range(n_words):
        total += _set_bits(a[w] & b[w])
    return total


@jit
def count_planes(eights, labels, bits, pairs, both, totals):
    """Add to both (P, n) and totals (J, n): ``eights`` (J, words) are maps seen as 64-bit words of eight labels each, a multiple of eight words."""
    n_maps, length = eights.shape
    slices = np.empty((bits, WORDS), np.uint64)
    bytes_ = slices.view(np.uint8)
    planes = np.empty((n_maps, len(labels), WORDS), np.uint64)
    there = np.zeros((n_maps, len(labels)), np.bool_)
    for start in range(0, length, WORDS * 8):
        stop = min(length, start + WORDS * 8)
        n_words = (stop - start) // 8
        for j in range(n_maps):
            _slices(eights[j, start:stop], bits, bytes_)
            for c in range(len(labels)):
                _plane(slices, labels[c], bits, n_words, planes[j, c])
                number = np.int64(_count(planes[j, c], n_words))
                there[j, c] = number > 0
                totals[j, labels[c]] += number
        for p in range(len(pairs)):
            i, j = pairs[p]
            for c in range(len(labels)):
                if there[i, c] and there[j, c]:
                    both[p, labels[c]] += np.int64(_count_both(planes[i, c], planes[j, c], n_words))
