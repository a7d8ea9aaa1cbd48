"""The kernel behind `faultscape.corpus.duplicates.leaders`: a search that costs the same for each of millions
of hashes.

Two hashes that differ in at most four bits are equal in at least two of six bands, so for each pair of bands
one table holds the leaders by those 20 to 22 bits. One band of five (13 bits) would make lists of a thousand
for ten million leaders.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit

SHIFTS = np.array([0, 11, 22, 33, 44, 54], np.uint64)  # of the bands, of which four have 11 bits, two 10
TABLES = 15  # pairs of six bands
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio: neighbouring keys lie far apart


@jit
def find_leaders(hashes, bits, most, out):  # noqa: ANN001, ANN201
    """Write for each hash (I,) the place of its leader: the first one within ``most`` bits, or its own. A
    table has 2^``bits`` lists.
    """
    number = hashes.size
    masks = np.empty(TABLES, np.uint64)
    place = 0
    for a in range(6):
        for b in range(a + 1, 6):
            first = np.uint64((1 << (11 if a < 4 else 10)) - 1) << SHIFTS[a]
            second = np.uint64((1 << (11 if b < 4 else 10)) - 1) << SHIFTS[b]
            masks[place] = first | second
            place += 1
    heads = np.full((TABLES, 1 << bits), -1, np.int32)
    following = np.empty((number, TABLES), np.int32)
    leaders = np.empty(number, np.uint64)
    places = np.empty(number, np.int32)
    found = 0
    down = np.uint64(64 - bits)
    for i in range(number):
        value = hashes[i]
        best = found
        for table in range(TABLES):
            node = heads[table, ((value & masks[table]) * SPREAD) >> down]
            while node >= 0:
                apart = leaders[node] ^ value
                differing = 0
                while apart and differing <= most:
                    apart &= apart - np.uint64(1)
                    differing += 1
                if differing <= most:
                    best = min(best, node)
                node = following[node, table]
        if best < found:
            out[i] = places[best]
            continue
        for table in range(TABLES):
            key = ((value & masks[table]) * SPREAD) >> down
            following[found, table] = heads[table, key]
            heads[table, key] = found
        leaders[found] = value
        places[found] = i
        out[i] = i
        found += 1
