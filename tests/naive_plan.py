"""Slow and obvious twins of the planners' kernels."""

from itertools import permutations

import numpy as np


def latency(travel, weights, order, start=0, return_weight=0.0):
    """The weighted sum of arrivals, leg by leg, and the weighted time of coming back."""
    at, now, total = start, 0.0, 0.0
    for row in order:
        now += travel[at][row]
        total += weights[row] * now
        at = row
    return total + (return_weight * (now + travel[at][start]) if return_weight else 0.0)


def least_latency_by_permutations(travel, weights, start=0, return_weight=0.0):
    """The least weighted latency over all orders."""
    rows = [row for row in range(len(travel)) if row != start]
    return min(
        latency(travel, weights, order, start, return_weight) for order in permutations(rows)
    )


def least_latency_by_subsets(travel, weights, return_weight=0.0):
    """The least weighted latency from row 0, by dynamic programming over sets (Held and Karp)."""
    k = len(travel) - 1
    legs, first = travel[1:, 1:], travel[0, 1:]
    weights = np.asarray(weights[1:])
    left = np.array(
        [return_weight + sum(weights[i] for i in range(k) if not s >> i & 1) for s in range(1 << k)]
    )
    best = np.full((1 << k, k), np.inf)
    for i in range(k):
        best[1 << i, i] = first[i] * left[0]
    for visited in range(1, 1 << k):
        for j in range(k):
            if not visited >> j & 1:
                reached = (best[visited] + legs[:, j] * left[visited]).min()
                best[visited | 1 << j, j] = reached
    return (best[-1] + return_weight * travel[1:, 0]).min() if return_weight else best[-1].min()


def least_weights(weights, units, always):
    """The least weight of any subset for each sum of units, by listing all subsets."""
    out = np.full(sum(units) + 1, np.inf)
    for chosen in range(1 << len(units)):
        members = [i for i in range(len(units)) if chosen >> i & 1]
        total = sum(units[i] for i in members)
        out[total] = min(out[total], sum(weights[i] for i in members) + always)
    return out
