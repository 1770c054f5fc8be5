"""Dijkstra on the 8-connected grid graph, with a binary heap."""

from math import inf, sqrt

import numpy as np
from numba import njit


@njit(cache=True)
def _push(keys, cells, size, key, cell):
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] <= key:
            break
        keys[at], cells[at] = keys[above], cells[above]
        at = above
    keys[at], cells[at] = key, cell


@njit(cache=True)
def _sink(keys, cells, size):
    """Move the last entry to the root and let it sink; ``size`` is the length without it."""
    key, cell = keys[size], cells[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and keys[below + 1] < keys[below]:
            below += 1
        if key <= keys[below]:
            break
        keys[at], cells[at] = keys[below], cells[below]
        at = below
    keys[at], cells[at] = key, cell


@njit(cache=True, nogil=True)
def field(blocked, width, source):
    """Distances over a flat padded grid from cell ``source``; a diagonal needs both sides free."""
    out = np.full(blocked.size, inf)
    # a cell enters the heap at most once per neighbour
    keys, cells = np.empty(8 * blocked.size + 1), np.empty(8 * blocked.size + 1, np.int64)
    around = np.array([1, -1, width, -width])
    out[source] = 0.0
    keys[0], cells[0] = 0.0, source
    size = 1
    while size > 0:
        key, here = keys[0], cells[0]
        size -= 1
        _sink(keys, cells, size)
        if key > out[here]:
            continue
        for i in range(4):
            step = around[i]
            if not blocked[here + step] and key + 1.0 < out[here + step]:
                out[here + step] = key + 1.0
                _push(keys, cells, size, key + 1.0, here + step)
                size += 1
        for i in range(2):
            for j in range(2, 4):
                to = here + around[i] + around[j]
                if blocked[to] or blocked[here + around[i]] or blocked[here + around[j]]:
                    continue
                if key + sqrt(2.0) < out[to]:
                    out[to] = key + sqrt(2.0)
                    _push(keys, cells, size, key + sqrt(2.0), to)
                    size += 1
    return out
