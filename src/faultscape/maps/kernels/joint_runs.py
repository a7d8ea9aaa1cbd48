"""The joint runs of many maps, compiled: for maps.counts, which counts in cells (maps.kernels.cells).

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
_LOW = np.uint64(0x00000000FFFFFFFF)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_OTHER = np.uint64(0xC2B2AE3D27D4EB4F)
_USED = np.uint64(1 << 32)  # set in each entry's half of a hash, so that no entry looks like a free slot
BUCKET = 8  # slots of a bucket: one line of the cache


# ---------------------------------------------------------------- what numba has no word for
@intrinsic
def pointer(typingctx, address, like):
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


@intrinsic
def _seek(typingctx, table, slot, entry):
    """Return how far from ``slot`` the first entry is, of the eight slots there, that is free or has the
    upper half of ``entry``; 8 if there is none. One vector comparison in all: a search slot by slot ends
    where no processor can predict.
    """
    del typingctx
    word = ir.IntType(64)
    vector = ir.VectorType(word, BUCKET)

    def code(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = cgutils.gep_inbounds(builder, array.data, arguments[1])
        held = builder.load(builder.bitcast(place, vector.as_pointer()), align=8)
        one = builder.insert_element(
            ir.Constant(vector, ir.Undefined), arguments[2], ir.Constant(ir.IntType(32), 0)
        )
        spread = ir.Constant(ir.VectorType(ir.IntType(32), BUCKET), [0] * BUCKET)
        other = builder.xor(held, builder.shuffle_vector(one, one, spread))
        alike = builder.icmp_unsigned("<", other, ir.Constant(vector, [1 << 32] * BUCKET))
        free = builder.icmp_unsigned("==", held, ir.Constant(vector, None))
        bits = builder.zext(builder.bitcast(builder.or_(alike, free), ir.IntType(BUCKET)), word)
        ended = builder.or_(bits, ir.Constant(word, 1 << BUCKET))
        return builder.cttz(ended, ir.Constant(ir.IntType(1), 1))

    return types.uint64(table, types.uint64, types.uint64), code


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
def _first_slot(table):
    """Return the first slot that begins a line of the cache."""
    return (np.uint64(0) - np.uint64(table.ctypes.data)) >> np.uint64(3) & np.uint64(BUCKET - 1)


@jit
def _slots(table):
    """Return the number of slots of a table, a power of two, without those that fill up lines."""
    return np.uint64(len(table) - 2 * BUCKET)


@jit
def _grown(table):
    """Return a table of twice as many slots with the same entries."""
    slots = _slots(table) * np.uint64(2)
    bigger = np.zeros(slots + np.uint64(2 * BUCKET), np.uint64)
    first = _first_slot(bigger)
    shift = set_bits(~(slots - _ONE))
    for entry in table:
        if entry != 0:
            slot = entry >> shift & ~np.uint64(BUCKET - 1)
            while bigger[first + slot] != 0:
                slot = (slot + _ONE) & (slots - _ONE)
            bigger[first + slot] = entry
    return bigger


@jit
def _searched(slots, end, slot, entry, keys, key):
    """Return the slot, from a bucket's first slot on, that holds the tuple with the key at place ``key``, or
    is free for it.
    """
    while slots[slot] != 0:
        if (slots[slot] ^ entry) & _HIGH == 0:
            place = (slots[slot] & _LOW) - _ONE
            other = np.uint64(0)
            for part in range(keys.shape[1]):
                other |= keys[place, part] ^ keys[key, part]
            if other == 0:
                break
        slot = (slot + _ONE) & end
    return slot


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
def _look_up(table, keys, counts, hashes, words, found, distinct):
    """Fill ``found`` with the places of the tuples of packed ``words``; return how many are known then."""
    first = _first_slot(table)
    end = _slots(table) - _ONE
    shift = set_bits(~end)
    slots = table[first : first + end + np.uint64(2)]
    aside = end + _ONE  # a slot of no bucket
    known = distinct
    n_words = keys.shape[1]
    key_of = keys.reshape(keys.size)  # by hand, part by part: one address to compute, most often of one part
    word = words[0]
    for k in range(len(hashes)):
        h = hashes[k] * _OTHER | _USED
        bucket = h >> shift & ~np.uint64(BUCKET - 1)
        slot = (bucket + _seek(slots, bucket, h)) & end
        entry = slots[slot]
        new = np.uint64(entry == 0)
        place = (entry & _LOW) - _ONE + new * (distinct + _ONE)
        if n_words == 1:
            key_of[distinct] = word[k]
            differs = key_of[place] ^ word[k]
        else:
            differs = np.uint64(0)
            for part in range(n_words):
                keys[distinct, part] = words[part, k]
                differs |= keys[place, part] ^ words[part, k]
        if differs != 0:
            slot = _searched(slots, end, bucket, h, keys, distinct)
            new = np.uint64(slots[slot] == 0)
            place = (slots[slot] & _LOW) - _ONE + new * (distinct + _ONE)
        # a known tuple writes aside: the next look into its bucket would wait for the writing
        slots[slot if new else aside] = (h & _HIGH) | (distinct + _ONE)
        distinct += new
        found[k] = place
    for c in range(known, distinct):
        counts[c] = 0
    return distinct


@jit
def _places_of_bits(word, start, at, n):
    """Append the places of a word's bits, from ``start`` on, to the first ``n`` of ``at``; return the sum."""
    end = n + set_bits(word)
    for base in range(n, end, np.uint64(8)):
        # eight at a time, even if fewer are left: no branch to predict
        for k in range(8):
            at[base + np.uint64(k)] = start + np.int64(_first_bit(word))
            word &= word - _ONE
    return end


@jit
def _pack(addresses, like, pixels, bits, at, words, hashes):
    """Fill ``words`` (words, >= N) with the packed labels of the pixels ``at`` (N,), and their hashes."""
    n_maps = len(addresses)
    per_word = 64 // bits
    up = np.uint64(bits)
    hashes[: len(at)] = 0
    for part in range(len(words)):
        word = words[part]
        word[: len(at)] = 0
        j = min((part + 1) * per_word, n_maps)
        while j - 4 >= part * per_word:
            j -= 4
            a = carray(pointer(addresses[j + 3], like), (pixels,))
            b = carray(pointer(addresses[j + 2], like), (pixels,))
            c = carray(pointer(addresses[j + 1], like), (pixels,))
            d = carray(pointer(addresses[j], like), (pixels,))
            for k in range(len(at)):
                x = np.uint64(at[k])
                two = (word[k] << up | np.uint64(a[x])) << up | np.uint64(b[x])
                word[k] = (two << up | np.uint64(c[x])) << up | np.uint64(d[x])
        while j > part * per_word:
            j -= 1
            a = carray(pointer(addresses[j], like), (pixels,))
            for k in range(len(at)):
                word[k] = word[k] << up | np.uint64(a[np.uint64(at[k])])
        for k in range(len(at)):
            h = (hashes[k] ^ word[k]) * _GOLDEN
            hashes[k] = h ^ (h >> np.uint64(32))


@jit
def _settle(at, back, run, starts, before, moved, found, ids, counts, last, since):
    """Set the places ``ids`` of the tuples of the runs that start ``at`` some pixels: a changed one's is the
    next found, another's that of the run above, ``back`` pixels further on in ``starts``. Add the pixels of
    each run but the last, whose tuple is returned.
    """
    looked = np.uint64(0)
    turn = np.uint64(len(ids) - 1)
    for k in range(len(at)):
        x = np.uint64(at[k])
        changed = moved[x >> np.uint64(6)] >> (x & np.uint64(63)) & _ONE
        up = x + np.uint64(back)
        below = starts[up >> np.uint64(6)] << (~up & np.uint64(63))
        above_run = np.uint64(before[up >> np.uint64(6)]) + set_bits(below) - _ONE
        own = found[looked]
        own ^= (own ^ ids[above_run & turn]) & np.uint32(changed - _ONE)  # no branch to predict
        looked += changed
        ids[np.uint64(run + k) & turn] = own
    for k in range(len(at)):
        counts[last] += at[k] - since  # nothing, before the first run
        since = at[k]
        last = np.uint64(ids[np.uint64(run + k) & turn])
    return last


@jit
def joint_tuples(addresses, like, pixels, width, bits, table, keys, counts):
    """Return (U, largest label, table, keys, counts): ``keys`` (>= U, words) packed labels of distinct
    tuples, ``counts`` (>= U,) their pixels.

    Stretches of pixels go through short loops that the processor can run ahead in. Bits mark where a run
    starts and where any map differs from the pixel above. If nothing changed vertically over a run, its tuple
    is that of the run above its first pixel, found by counting bits; the others are looked up in a hash table
    of buckets of (upper half of the hash, place + 1), and compared in full. Known tuples and new ones
    alternate at random, so both take the same way, without a branch. Table, keys and counts grow as needed;
    the table is returned empty.
    """
    n_maps = len(addresses)
    n_words = keys.shape[1]
    slots = _slots(table)
    stretch = 64  # words
    room = 64
    while room < width + 64 * stretch + 130:
        # runs of the last row and of this stretch: no older one is needed
        room *= 2
    ids = np.zeros(room, np.uint32)
    at = np.empty(64 * stretch + 9, np.int64)
    look = np.empty(64 * stretch + 9, np.int64)
    words = np.empty((n_words, 64 * stretch), np.uint64)
    hashes = np.empty(64 * stretch, np.uint64)
    found = np.empty(64 * stretch + 1, np.uint32)
    # a row of words without a run comes before the first: what lies above it has a place too
    row = (width + 63) // 64
    starts = np.empty(row + (pixels + 63) // 64, np.uint64)
    before = np.empty(len(starts), np.int32)  # runs before each word
    starts[:row] = 0
    before[:row] = 0
    moved = np.empty(len(starts), np.uint64)
    distinct = np.uint64(0)
    run = 0
    last = np.uint64(0)
    since = np.int64(0)
    highest = np.uint64(0)
    limit = min(np.int64(slots) // 2, len(counts))
    for first in range(0, (pixels + 63) // 64, stretch):
        n = np.uint64(0)
        n_look = np.uint64(0)
        for w in range(first, min(first + stretch, (pixels + 63) // 64)):
            start = np.int64(w) * 64
            left = np.uint64(0)
            above = _ALL
            if start == 0 or start + 64 > pixels:
                # the first and last word lack 64 pixels, or a left neighbour, to load at once
                for j in range(n_maps):
                    labels = carray(pointer(addresses[j], like), (pixels,))
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
            starts[row + w], before[row + w], moved[w] = left, run + np.int64(n), above
            n = _places_of_bits(left, start, at, n)
            n_look = _places_of_bits(left & above, start, look, n_look)
        if np.int64(distinct + n_look) > limit:  # grows only between stretches
            while 2 * (np.int64(distinct + n_look)) > np.int64(slots):
                table = _grown(table)
                slots = _slots(table)
            keys, counts = _longer(keys, counts, np.int64(slots) // 2)
            limit = min(np.int64(slots) // 2, len(counts))
        _pack(addresses, like, pixels, bits, look[:n_look], words, hashes)
        distinct = _look_up(table, keys, counts, hashes[:n_look], words, found, distinct)
        last = _settle(at[:n], 64 * row - width, run, starts, before, moved, found, ids, counts, last, since)
        since = at[n - _ONE] if n else since
        run += np.int64(n)
    counts[last] += pixels - since
    table[:] = 0
    return np.int64(distinct), np.int64(highest), table, keys, counts


@jit
def unpack_tuples(keys, distinct, bits, columns):
    """Fill ``columns`` (J, >= U) with the labels of the distinct tuples."""
    per_word = 64 // bits
    low = (_ONE << np.uint64(bits)) - _ONE
    some = np.empty(1024, np.uint64)
    for start in range(0, distinct, len(some)):
        end = min(len(some), distinct - start)
        for k in range(keys.shape[1]):
            for c in range(end):
                some[c] = keys[start + c, k]
            for j in range(k * per_word, min((k + 1) * per_word, len(columns))):
                column = columns[j, start : start + end]
                shift = np.uint64(bits * (j % per_word))
                for c in range(end):  # in vectors, since nothing lies between
                    column[c] = (some[c] >> shift) & low
