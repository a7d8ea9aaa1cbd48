"""Guo and Hall's thinning, compiled: all classes of a map at once, visiting at each step only the pixels
whose neighbours have changed.

Conventions: a map is flat, with a margin of one pixel of ``none`` on all sides; ``width`` includes the
margin. Neighbours are numbered clockwise from the one above; a neighbour counts if it still has the pixel's
label. A step judges all pixels by the map before the step, then deletes those that may go; the two kinds of
steps alternate. A pixel that stayed in both kinds since its neighbours last changed stays until they change
again, so that work is proportional to the pixels of the map, however wide its regions are. The plain twin
with equal results is plain_centrelines.
"""

# ruff: noqa: ANN001, ANN201 - numba infers types from the arguments

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit


@jit
def thin(around, width, none, deletable):
    """Set every pixel of the flat map that is not on the centreline of its class to ``none``, in place;
    ``deletable`` (2, 256) says which neighbourhoods allow it.
    """
    steps = np.array([-width, 1 - width, 1, 1 + width, width, width - 1, -1, -1 - width])
    until = np.zeros(len(around), np.int32)  # the last step at which to judge a pixel; 0 means never
    size = 0
    for at in range(len(around)):
        if around[at] != none:
            for k in range(8):
                if around[at + steps[k]] != around[at]:
                    until[at] = 2
                    size += 1
                    break
    active = np.empty(size, np.int32)
    later = np.empty(size, np.int32)
    gone = np.empty(size, np.int32)
    was = np.empty(size, around.dtype)
    size = 0
    for at in range(len(around)):
        if until[at] > 0:
            active[size] = at
            size += 1
    step = 0
    while size > 0:
        step += 1
        table = deletable[1 - step % 2]
        leaving = 0
        kept = 0
        if len(gone) < size:
            gone = np.empty(2 * size, np.int32)
            was = np.empty(2 * size, around.dtype)
        for i in range(size):
            at = active[i]
            label = around[at]
            bits = 0
            for k in range(8):
                bits |= np.int64(around[at + steps[k]] == label) << k
            if table[bits]:
                gone[leaving], was[leaving] = at, label
                until[at] = 0
                leaving += 1
            elif until[at] > step:
                active[kept] = at
                kept += 1
            else:
                until[at] = 0
        room = kept + 8 * leaving
        if len(later) < room:
            later = np.empty(2 * room, np.int32)
        later[:kept] = active[:kept]
        size = kept
        for i in range(leaving):
            around[gone[i]] = none
        for i in range(leaving):
            for k in range(8):
                other = gone[i] + steps[k]
                if around[other] == was[i]:
                    if until[other] == 0:
                        later[size] = other
                        size += 1
                    until[other] = step + 2
        active, later = later, active
