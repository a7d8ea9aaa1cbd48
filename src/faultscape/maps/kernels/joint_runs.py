"""The kernels behind maps.counts, compiled: joint runs of many maps, and blocks of maps for noise.

Conventions: J maps of one shape and type (uint8 or uint16), each C-contiguous, are given by the addresses of
their first pixels, and treated as one line of ``pixels`` labels: a run may continue into the next row.
``like`` is an empty array of the maps' type. Nothing here checks its input: maps.counts does. The plain
equivalent is plain_joint_runs.
"""


# ruff: noqa: ANN001, ANN201, ANN202, ARG001 - numba infers types from the arguments, and intrinsics only name theirs
# an intrinsic's first argument is numba's own:
# pyright: reportCallIssue=false

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit

from llvmlite import ir  # isort: skip - jit.py decides first whether numba may be used
from numba import carray, types  # isort: skip  # pyright: ignore[reportPrivateImportUsage]
from numba.core import cgutils  # isort: skip
from numba.extending import intrinsic  # isort: skip

_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_HIGH = np.uint64(0xFFFFFFFF00000000)
_NONE = _ALL  # no tuple has this place
_LOW = np.uint64(0x00000000FFFFFFFF)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_OTHER = np.uint64(0xC2B2AE3D27D4EB4F)


# ---------------------------------------------------------------- what numba has no word for
@intrinsic
def _pointer(typingctx, address, like):
    """Return the address of a map as a pointer to labels of the type of ``like``."""
    del typingctx
    kind = types.CPointer(like.dtype)

    def code(context, builder, signature, arguments):
        del signature
        return builder.inttoptr(arguments[0], context.get_value_type(kind))

    return kind(address, like), code


@intrinsic
def set_bits(typingctx, word):
    """Return how many bits of a word are set, with the processor's own instruction."""
    del typingctx

    def code(context, builder, signature, arguments):
        del context, signature
        return builder.ctpop(arguments[0])

    return types.uint64(word), code


@intrinsic
def _first_bit(typingctx, word):
    """Return the position of the lowest set bit of a word, 64 for 0."""
    del typingctx

    def code(context, builder, signature, arguments):
        del context, signature
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(word), code


@intrinsic
def _changed(typingctx, addresses, left, start, above, like):
    """Return (left, above, highest) of 64 pixels from ``start``: bits where any map differs, and its largest
    label.

    ``left`` and ``above`` are the distances in pixels to the neighbours. Written in the compiler's own
    vectors, because the sums over maps then stay in registers and the pass runs near the speed of memory.
    """
    del typingctx
    label = ir.IntType(like.dtype.bitwidth)
    vector = ir.VectorType(label, 64)
    word = ir.IntType(64)
    size = ir.Constant(word, like.dtype.bitwidth // 8)

    def code(context, builder, signature, arguments):
        maps = context.make_array(signature.args[0])(context, builder, arguments[0])
        zero = ir.Constant(vector, None)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(3)]
        back = [builder.mul(arguments[1], size), builder.mul(arguments[3], size)]
        offset = builder.mul(arguments[2], size)

        def load(address):
            return builder.load(builder.inttoptr(address, vector.as_pointer()), align=1)

        with cgutils.for_range(builder, cgutils.unpack_tuple(builder, maps.shape, 1)[0]) as loop:
            address = builder.add(builder.load(cgutils.gep_inbounds(builder, maps.data, loop.index)), offset)
            here = load(address)
            for total, distance in zip(sums, back, strict=False):
                other = load(builder.sub(address, distance))
                builder.store(builder.or_(builder.load(total), builder.xor(here, other)), total)
            highest = builder.load(sums[2])
            builder.store(builder.select(builder.icmp_unsigned(">", here, highest), here, highest), sums[2])
        bits = [
            builder.bitcast(builder.icmp_unsigned("!=", builder.load(total), zero), word)
            for total in sums[:2]
        ]
        highest = builder.load(sums[2])
        lanes = 64
        while lanes > 1:  # the largest of 64 lanes, by halves
            lanes //= 2
            halves = [
                ir.Constant(ir.VectorType(ir.IntType(32), lanes), list(range(k, k + lanes)))
                for k in (0, lanes)
            ]
            low, high = (
                builder.shuffle_vector(highest, ir.Constant(highest.type, None), half) for half in halves
            )
            highest = builder.select(builder.icmp_unsigned(">", low, high), low, high)
        one = builder.zext(builder.extract_element(highest, ir.Constant(ir.IntType(32), 0)), word)
        return context.make_tuple(builder, signature.return_type, [*bits, one])

    result = types.UniTuple(types.uint64, 3)
    return result(addresses, types.int64, types.int64, types.int64, like), code


# ---------------------------------------------------------------- joint runs
@jit
def sample_runs(addresses, like, pixels, every):
    """Return an estimate of the number of joint runs, from one word of 64 pixels in ``every``."""
    runs = 0
    seen = 0
    for w in range(1, pixels // 64, every):
        left, _, _ = _changed(addresses, 1, np.int64(w) * 64, 0, like)
        runs += np.int64(set_bits(left))
        seen += 64
    return runs * pixels // seen if seen else pixels


@jit
def _grown(table):
    """Return a table of twice as many slots with the same entries."""
    bigger = np.zeros(len(table) * 2, np.uint64)
    mask = np.uint64(len(bigger) - 1)
    shift = np.uint64(65) - set_bits(np.uint64(2 * len(bigger) - 1))
    for entry in table:
        if entry != 0:
            slot = entry >> shift
            while bigger[slot] != 0:
                slot = (slot + _ONE) & mask
            bigger[slot] = entry
    return bigger


@jit
def _longer(keys, counts, room):
    """Return keys and counts with room for more tuples."""
    if room <= len(counts):
        return keys, counts
    more_keys = np.empty((room, keys.shape[1]), np.uint64)
    more_counts = np.empty(room, np.int64)
    for k in range(len(counts)):  # an assignment to a slice would cost seconds of compiling
        more_counts[k] = counts[k]
        for part in range(keys.shape[1]):
            more_keys[k, part] = keys[k, part]
    return more_keys, more_counts


@jit
def joint_tuples(addresses, like, pixels, width, bits, table, keys, counts, starts, before):
    """Return (U, largest label, table, keys, counts): ``keys`` (>= U, words) packed labels of distinct
    tuples, ``counts`` (>= U,) their pixels.

    Stretches of pixels, each shorter than a row, go through short loops that the processor can run ahead in.
    Bits mark where a run starts and where any map differs from the pixel above. If nothing changed vertically
    over a run, its tuple is that of the run above its first pixel, found by counting the bits of ``starts``
    (words,) and ``before`` (words,), the runs before each word; the others are looked up in a hash table of
    (upper half of the hash, place + 1), and compared in full. Table, keys and counts grow as needed; the
    table is returned empty.
    """
    n_maps = len(addresses)
    n_words = keys.shape[1]
    per_word = 64 // bits
    mask = np.uint64(len(table) - 1)
    shift = np.uint64(65) - set_bits(np.uint64(2 * len(table) - 1))
    stretch = min(32, max(1, width // 64))  # words; the pixels above are then in an earlier stretch
    room = 64
    while room < width + 64 * stretch + 130:
        # runs of the last row and of this stretch: no older one is needed
        room *= 2
    ids = np.zeros(room, np.int32)
    turn = np.uint64(room - 1)
    at = np.empty(64 * stretch + 9, np.int64)
    same = np.empty(64 * stretch + 1, np.uint32)
    other = np.empty(64 * stretch + 1, np.uint32)
    look = np.empty(64 * stretch, np.uint64)
    words = np.empty((n_words, 64 * stretch), np.uint64)
    hashes = np.empty(64 * stretch, np.uint64)
    moved = np.empty(stretch, np.uint64)
    distinct = 0
    run = 0
    last = np.uint64(0)
    since = np.int64(0)
    highest = np.uint64(0)
    limit = min(len(table) // 3, len(counts))
    for first in range(0, (pixels + 63) // 64, stretch):
        n = 0
        for w in range(first, min(first + stretch, (pixels + 63) // 64)):
            start = np.int64(w) * 64
            left = np.uint64(0)
            above = _ALL
            if start == 0 or start + 64 > pixels:
                # the first and last word lack 64 pixels, or a left neighbour, to load at once
                for j in range(n_maps):
                    labels = carray(_pointer(addresses[j], like), (pixels,))
                    for x in range(start, min(start + 64, pixels)):
                        highest = max(highest, np.uint64(labels[x]))
                        if x == 0 or labels[x] != labels[x - 1]:
                            left |= _ONE << np.uint64(x - start)
            else:
                known = start >= width >= 64
                left, above, most = _changed(addresses, 1, start, width if known else 0, like)
                highest = max(highest, most)
                if not known:
                    above = _ALL
            starts[w], before[w], moved[w - first] = left, run + n, above
            size = np.int64(set_bits(left))
            for base in range(n, n + size, 8):
                # eight at a time, even if fewer are left: no branch to predict
                for k in range(8):
                    at[base + k] = start + np.int64(_first_bit(left))
                    left &= left - _ONE
            n += size
        n_same = 0
        n_other = 0
        for k in range(n):
            x = np.uint64(at[k] - first * 64)
            changed = np.int64((moved[x >> np.uint64(6)] >> (x & np.uint64(63))) & _ONE)
            same[n_same] = np.uint32(k)
            other[n_other] = np.uint32(k)
            n_other += changed
            n_same += 1 - changed
        for k in range(n_same):
            up = np.uint64(at[same[k]] - width)
            below = starts[up >> np.uint64(6)] & (_ALL >> (np.uint64(63) - (up & np.uint64(63))))
            above_run = np.uint64(before[up >> np.uint64(6)]) + set_bits(below) - _ONE
            ids[(np.uint64(run) + np.uint64(same[k])) & turn] = ids[above_run & turn]
        if distinct + n_other > limit:  # grows only between stretches
            while 3 * (distinct + n_other) > len(table):
                table = _grown(table)
            mask = np.uint64(len(table) - 1)
            shift = np.uint64(65) - set_bits(np.uint64(2 * len(table) - 1))
            keys, counts = _longer(keys, counts, len(table) // 3)
            limit = min(len(table) // 3, len(counts))
        for k in range(n_other):
            look[k] = np.uint64(at[other[k]])
            hashes[k] = 0
        for part in range(n_words):
            word = words[part]
            word[:n_other] = 0
            for j in range(part * per_word, min((part + 1) * per_word, n_maps)):
                labels = carray(_pointer(addresses[j], like), (pixels,))
                up = np.uint64(bits * (j - part * per_word))
                for k in range(n_other):
                    word[k] |= np.uint64(labels[look[k]]) << up
            for k in range(n_other):
                h = (hashes[k] ^ word[k]) * _GOLDEN
                hashes[k] = h ^ (h >> np.uint64(32))
        for k in range(n_other):
            h = hashes[k] * _OTHER
            slot = h >> shift
            found = _NONE
            while found == _NONE:
                entry = table[slot]
                if (entry ^ h) & _HIGH == 0 and entry != 0:
                    found = (entry & _LOW) - _ONE
                    for part in range(n_words):
                        if keys[found, part] != words[part, k]:
                            found = _NONE
                            break
                elif entry == 0:
                    found = np.uint64(distinct)
                    distinct += 1
                    table[slot] = (h & _HIGH) | np.uint64(distinct)
                    for part in range(n_words):
                        keys[found, part] = words[part, k]
                    counts[found] = 0
                slot = (slot + _ONE) & mask
            ids[(np.uint64(run) + np.uint64(other[k])) & turn] = found
        for k in range(n):
            counts[last] += at[k] - since  # nothing, before the first run
            since = at[k]
            last = np.uint64(ids[np.uint64(run + k) & turn])
        run += n
    counts[last] += pixels - since
    table[:] = 0
    return distinct, np.int64(highest), table, keys, counts


@jit
def unpack_tuples(keys, distinct, bits, columns):
    """Fill ``columns`` (J, >= U) with the labels of the distinct tuples."""
    per_word = 64 // bits
    low = (_ONE << np.uint64(bits)) - _ONE
    for j in range(len(columns)):
        column = columns[j]
        shift = np.uint64(bits * (j % per_word))
        k = j // per_word
        for c in range(distinct):
            column[c] = np.uint16((keys[c, k] >> shift) & low)


@jit
def cells_of_tuples(columns, pixels, distinct, n, pairs, out):
    """Add each tuple's pixels to the cells of every pair: out (P, n * n).

    Three pairs with the same first map are filled together, since additions to one cell wait for each other.
    """
    base = np.empty(distinct, np.uint64)
    last = -1
    p = 0
    while p < len(pairs):
        i = pairs[p, 0]
        if i != last:
            for c in range(distinct):
                base[c] = np.uint64(columns[i, c]) * np.uint64(n)
            last = i
        first = columns[pairs[p, 1]]
        if p + 2 < len(pairs) and pairs[p + 1, 0] == i and pairs[p + 2, 0] == i:
            second = columns[pairs[p + 1, 1]]
            third = columns[pairs[p + 2, 1]]
            for c in range(distinct):
                row = base[c]
                more = pixels[c]
                out[p, row + first[c]] += more
                out[p + 1, row + second[c]] += more
                out[p + 2, row + third[c]] += more
            p += 3
        else:
            for c in range(distinct):
                out[p, base[c] + first[c]] += pixels[c]
            p += 1


@jit
def both_of_tuples(columns, pixels, distinct, pairs, both, totals):
    """Add each tuple's pixels to the intersections of every pair and the histogram of every map."""
    for j in range(len(columns)):
        column = columns[j]
        row = totals[j]
        for c in range(distinct):
            row[column[c]] += pixels[c]
    # neighbours add to different rows, so that no addition waits for the previous one
    rows = np.empty((4, both.shape[1] + 1), np.int64)
    nowhere = both.shape[1]
    for p in range(len(pairs)):
        first = columns[pairs[p, 0]]
        second = columns[pairs[p, 1]]
        rows[:] = 0
        for c in range(distinct):
            label = np.int64(first[c])
            # no branch: it would be unpredictable
            rows[c & 3, nowhere + (label - nowhere) * np.int64(label == second[c])] += pixels[c]
        for y in range(both.shape[1]):
            both[p, y] += rows[0, y] + rows[1, y] + rows[2, y] + rows[3, y]


# ---------------------------------------------------------------- noisy maps
@jit
def cells_of_block(addresses, like, pixels, n, block, small, hist):
    """Count the tuples of a block of 2 to 4 maps in one pass: hist (4, n ** size) uint32, whose sum is the
    result.

    Cells are first computed for a stretch of pixels, in vectors of the narrow type of the empty array
    ``small``; neighbours go to different sub-histograms, so that no addition waits for the previous one.
    """
    stretch = 2048
    at = np.empty(stretch, small.dtype)
    for start in range(0, pixels, stretch):
        length = min(stretch, pixels - start)
        first = carray(_pointer(addresses[block[0]], like), (pixels,))[start : start + length]
        for x in range(length):
            at[x] = first[x]
        for k in range(1, len(block)):
            labels = carray(_pointer(addresses[block[k]], like), (pixels,))[start : start + length]
            for x in range(length):
                at[x] = np.uint32(at[x]) * np.uint32(n) + np.uint32(labels[x])
        h0 = hist[0]
        h1 = hist[1]
        h2 = hist[2]
        h3 = hist[3]
        for x in range(0, length - length % 4, 4):
            h0[at[x]] += np.uint32(1)
            h1[at[x + 1]] += np.uint32(1)
            h2[at[x + 2]] += np.uint32(1)
            h3[at[x + 3]] += np.uint32(1)
        for x in range(length - length % 4, length):
            h0[at[x]] += np.uint32(1)
