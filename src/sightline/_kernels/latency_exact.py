"""Exact dynamic programme for weighted latency over (set of visited points, last point).

States are made layer by layer, a layer being the number of visited points, and dropped when the cost
so far plus a bound on the rest exceeds the limit. A state is its set as two words of bits, its last
point, its cost with true weights, and the state it came from.
"""

from math import inf

import numpy as np
from numba import njit

WORD = 64
FULL = -2  # instead of a number of states: there is no room for more


@njit(forceinline=True)
def _has(low, high, point):
    word = low if point < WORD else high
    return word >> np.uint64(point % WORD) & np.uint64(1)


@njit(forceinline=True)
def _scatter(low, high, point):
    """A hash of a state."""
    x = low * np.uint64(0x9E3779B97F4A7C15) ^ (high + np.uint64(point)) * np.uint64(
        0xBF58476D1CE4E5B9
    )
    x ^= x >> np.uint64(29)
    x *= np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(32)


@njit(cache=True, nogil=True)
def expand(
    travel, weights, units, price, rest, row, to_go, near, room, lows, highs, lasts, costs, parents,
    first, last, layer, count, table,
):  # fmt: skip
    """Make the next layer from states first..last - 1; returns how many states there are then.

    ``rest`` is the weight that is served after the last point: that of the return. A state is kept if
    its cost, less the prices of what it has visited, plus ``to_go[row[s, j], memory]`` is at most
    ``room``. ``table`` (a power of two of slots, -1 when empty) finds states of the next layer, which
    begins at ``layer``.
    """
    k, size = near.shape
    one = np.uint64(1)
    mask = np.uint64(table.size - 1)
    for e in range(first, last):
        low, high, i, cost = lows[e], highs[e], lasts[e], costs[e]
        weight, left, paid = rest, 0, 0.0
        for j in range(k):
            if _has(low, high, j):
                paid += price[j]
            else:
                weight += weights[j]
                left += units[j]
        for j in range(k):
            at = row[left - units[j], j] if left >= units[j] else -1
            if at < 0 or _has(low, high, j):
                continue
            new = cost + travel[i, j] * weight
            base = new - paid - price[j]
            if base + to_go[at, 0] > room:
                continue
            memory = 0
            for b in range(size):
                if _has(low, high, near[j, b]):
                    memory |= 1 << b
            if base + to_go[at, memory] > room:
                continue
            to_low, to_high = low, high
            if j < WORD:
                to_low |= one << np.uint64(j)
            else:
                to_high |= one << np.uint64(j - WORD)
            slot = _scatter(to_low, to_high, j) & mask
            while True:
                there = table[slot]
                if there < 0:
                    if count >= lows.size or 2 * (count - layer) >= table.size:
                        return FULL
                    table[slot] = there = count
                    lows[there], highs[there], lasts[there] = to_low, to_high, j
                    costs[there] = inf
                    count += 1
                if lows[there] == to_low and highs[there] == to_high and lasts[there] == j:
                    if new < costs[there]:
                        costs[there], parents[there] = new, e
                    break
                slot = (slot + one) & mask
    return count
