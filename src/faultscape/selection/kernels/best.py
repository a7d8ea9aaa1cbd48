"""The kernel behind Best.offer: one comparison with a cell's worst entry rejects most images."""

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit

EMPTY = np.iinfo(np.int64).max


@jit
def offer(entries, pools, new_keys, member, numbers):  # noqa: ANN001, ANN201
    """Add a block of images to every cell (see Best.offer)."""
    keys = entries[0]
    ranks = entries[1]
    families = entries[2]
    images = entries[3]
    models, _, groups, depth = keys.shape
    last = depth - 1
    for d in range(models):
        for i in range(member.shape[1]):
            rank = numbers[0, i]
            family = numbers[1, i]
            for g in range(groups):
                if not member[d, i, g]:
                    continue
                for a in range(models):
                    key = new_keys[d, a, i]
                    if key == EMPTY:
                        continue
                    pools[d, a, g] += 1
                    if key > keys[d, a, g, last] or (
                        key == keys[d, a, g, last] and rank > ranks[d, a, g, last]
                    ):
                        continue
                    end = last  # the entry to remove: the family's own, or the worst
                    for k in range(depth):
                        if families[d, a, g, k] == family and images[d, a, g, k] >= 0:
                            end = k
                            break
                    if images[d, a, g, end] >= 0 and families[d, a, g, end] == family:
                        held = keys[d, a, g, end]
                        held_rank = ranks[d, a, g, end]
                        if key > held or (key == held and rank >= held_rank):
                            continue
                    k = end
                    while k > 0 and (
                        keys[d, a, g, k - 1] > key
                        or (keys[d, a, g, k - 1] == key and ranks[d, a, g, k - 1] > rank)
                    ):
                        keys[d, a, g, k] = keys[d, a, g, k - 1]
                        ranks[d, a, g, k] = ranks[d, a, g, k - 1]
                        families[d, a, g, k] = families[d, a, g, k - 1]
                        images[d, a, g, k] = images[d, a, g, k - 1]
                        k -= 1
                    keys[d, a, g, k] = key
                    ranks[d, a, g, k] = rank
                    families[d, a, g, k] = family
                    images[d, a, g, k] = numbers[2, i]
