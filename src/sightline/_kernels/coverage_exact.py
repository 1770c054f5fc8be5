"""Optimal search tours by dynamic programming over sets.

What is left undetected depends only on the set of points visited, not on their order, and so does the way
to the object that the next look is expected to pay. So the state (set, last point) is enough, as for the
shortest tour through all points.
"""

from math import inf

import numpy as np
from numba import njit


@njit(cache=True)
def _fade(table, points, rate):
    """Turn masses by the set of their seers, in place, into what is left of them after visiting a set.

    ``out[S] = sum over U of table[U] * (1 - rate) ** |S and U|``, one point at a time.
    """
    for i in range(points):
        bit = 1 << i
        for group in range(table.size):
            if not group & bit:
                outside, inside = table[group], table[group | bit]
                table[group] = outside + inside
                table[group | bit] = outside + (1.0 - rate) * inside


@njit(cache=True)
def _tables(first, atom, extra, weight, rest, rate, with_reach):
    """Mass left after each set, and the way to the object paid at each point after each set."""
    n = first.size - 2
    seers = np.zeros(weight.size, np.int64)
    for x in range(1, n + 1):
        for e in range(first[x], first[x + 1]):
            seers[atom[e]] |= 1 << (x - 1)
    left = np.zeros(1 << n)
    for c in range(weight.size):
        left[seers[c]] += weight[c]
    left[0] += max(rest - weight.sum(), 0.0)
    _fade(left, n, rate)
    paid = np.zeros((n if with_reach else 0, 1 << n))
    if with_reach:
        for x in range(1, n + 1):
            for e in range(first[x], first[x + 1]):
                paid[x - 1, seers[atom[e]]] += rate * weight[atom[e]] * extra[e]
            _fade(paid[x - 1], n, rate)
    return left, paid


@njit(cache=True)
def _size(group):
    """How many points a set has."""
    count = 0
    while group:
        group &= group - 1
        count += 1
    return count


@njit(cache=True, nogil=True)
def best_tour(legs, first, atom, extra, weight, rest, rate, escape, limit, with_reach, above):
    """The tour (points 1..n) of least expected cost and that cost, given that it is below ``above``."""
    n = first.size - 2
    left, paid = _tables(first, atom, extra, weight, rest, rate, with_reach)
    cost = np.full((1 << n, n), inf)
    if limit > 0:
        for j in range(n):
            cost[1 << j, j] = legs[0, j + 1] * left[0] + (paid[j, 0] if with_reach else 0.0)
    best, last, visited = left[0] * escape, -1, 0
    above = min(above, best)
    for group in range(1, 1 << n):
        full = limit < n and _size(group) >= limit
        for i in range(n):
            here = cost[group, i]
            if here > above:
                continue
            if here + left[group] * escape < best:
                best, last, visited = here + left[group] * escape, i, group
                above = min(above, best)
            if full:
                continue
            for j in range(n):
                if group >> j & 1:
                    continue
                there = here + legs[i + 1, j + 1] * left[group]
                if with_reach:
                    there += paid[j, group]
                if there < cost[group | 1 << j, j]:
                    cost[group | 1 << j, j] = there
    return _trace(legs, left, paid, cost, visited, last, with_reach), best


@njit(cache=True)
def _trace(legs, left, paid, cost, visited, last, with_reach):
    """Follow the least costs back from the last point of the best tour."""
    order = np.empty(_size(visited), np.int64)
    for k in range(order.size - 1, -1, -1):
        order[k] = last + 1
        before = visited & ~(1 << last)
        best, chosen = inf, -1
        for i in range(legs.shape[0] - 1):
            if not before >> i & 1:
                continue
            there = cost[before, i] + legs[i + 1, last + 1] * left[before]
            if with_reach:
                there += paid[last, before]
            if there < best:
                best, chosen = there, i
        visited, last = before, chosen
    return order
