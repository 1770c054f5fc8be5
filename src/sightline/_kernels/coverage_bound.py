"""A lower bound on the expected cost of every search tour, by Lagrangian relaxation over atoms.

Give each atom a price. A walk through the points, in steps of time rounded down, earns at each stop, for
every atom in view but not in view of the stop before, the atom's price less what finding it then would
cost, if that is positive; when it ends, the same for all atoms and the cost of not finding them. A true
tour earns at least the prices of all atoms less its own cost, as each atom pays at the stop that finds
it first, which the stop before did not see. So

    sum of prices - most that any walk earns <= cost of every tour,

whatever the prices. The walk may earn for the same atom again and again; prices are lowered for the
atoms that it takes more than once and raised for those that it leaves (a subgradient step).
"""

from math import inf

import numpy as np
from numba import njit


@njit(cache=True)
def new_views(first, atom, atoms):
    """New atoms in view on each arc: entries from ``start[i * rows + j]`` are those of j, not of i."""
    rows = first.size - 1
    start = np.zeros(rows * rows + 1, np.int64)
    mark = np.full(atoms, -1, np.int64)
    for fill in range(2):
        count = 0
        if fill:
            out = np.empty(start[-1], np.int32)
        mark[:] = -1
        for i in range(rows):
            for e in range(first[i], first[i + 1]):
                mark[atom[e]] = i
            for j in range(rows):
                for e in range(first[j], first[j + 1]):
                    if i != j and mark[atom[e]] != i:
                        if fill:
                            out[count] = atom[e]
                        count += 1
                if not fill:
                    start[i * rows + j + 1] = count
    return start, out


@njit(cache=True)
def _earn(start, atom, arc, price, weight, begin, after, step, level, slope, out):
    """Earnings of one arc for every time of arrival: sum of max(0, price - weight * cost of finding).

    Finding atom c on arrival at time t costs max(t * step, begin[c]) + after[c]. As t grows each term
    is flat, falls, and is nothing; ``level`` and ``slope`` add up where terms change.
    """
    steps = out.size - 1
    level[:] = 0.0
    slope[:] = 0.0
    for e in range(start[arc], start[arc + 1]):
        c = atom[e]
        worth = price[c] - weight[c] * after[c]
        flat = worth - weight[c] * begin[c]
        if flat <= 0.0:
            continue
        turn = int(min(begin[c] / step, steps)) + 1  # first time at which it falls
        end = int(min(worth / (weight[c] * step), steps)) + 1  # first at which it is nothing
        turn = min(turn, end)
        level[0] += flat
        level[turn] += worth - flat
        slope[turn] += weight[c] * step
        level[end] -= worth
        slope[end] -= weight[c] * step
    high, fall = 0.0, 0.0
    for t in range(steps + 1):
        high += level[t]
        fall += slope[t]
        out[t] = max(high - fall * t, 0.0)


@njit(cache=True, nogil=True)
def fill_earnings(start, atom, price, weight, begin, after, step, rows, earn):
    """Earnings ``earn[t, j, i]`` on arrival at j from i at time t."""
    steps = earn.shape[0] - 1
    level, slope = np.zeros(steps + 2), np.zeros(steps + 2)
    block = np.zeros((rows, steps + 1))
    for j in range(1, rows):
        for i in range(rows):
            if i != j:
                _earn(
                    start, atom, i * rows + j, price, weight, begin, after, step, level, slope,
                    block[i],
                )  # fmt: skip
        for t in range(steps + 1):
            for i in range(rows):
                earn[t, j, i] = block[i, t]


@njit(cache=True)
def _wait_less(value, before, at, t, delay, earn, rows):
    """Follow legs that take no time, at most one for each row."""
    for _ in range(rows):
        changed = False
        for j in range(1, rows):
            for i in range(rows):
                if delay[j, i] == 0:
                    there = value[at, i] + earn[t, j, i]
                    if there > value[at, j]:
                        value[at, j] = there
                        before[t, j] = at * rows + i
                        changed = True
        if not changed:
            break


@njit(cache=True, nogil=True)
def best_walk(delay, earn, ends, beyond, value, before):
    """The most that a walk from row 0 earns: (earnings, place of its last stop, whether it goes on).

    ``delay[j, i]`` is the time of the leg from i to j, below 0 where there is none. ``value`` starts
    with as many rows of -inf as the longest delay; a place is its row times the rows of points plus the
    point. A walk that goes on arrives at its next stop after the last time and earns ``beyond`` then.
    """
    rows, steps = delay.shape[0], earn.shape[0] - 1
    pad = value.shape[0] - steps - 1
    longest = np.zeros(rows, np.int64)
    instant = False
    for j in range(rows):
        for i in range(rows):
            longest[i] = max(longest[i], delay[j, i])
            instant = instant or delay[j, i] == 0
    value[:] = -inf
    value[pad, 0] = 0.0
    most, last, goes_on = -inf, 0, False
    for t in range(steps + 1):
        at = t + pad
        for j in range(1, rows):
            best, chosen = -inf, 0
            for i in range(rows):
                there = value[at - delay[j, i], i] + earn[t, j, i] if delay[j, i] > 0 else -inf
                if there > best:
                    best, chosen = there, i
            value[at, j] = best
            before[t, j] = (at - delay[j, chosen]) * rows + chosen
        if instant:
            _wait_less(value, before, at, t, delay, earn, rows)
        for i in range(rows):
            if value[at, i] + ends[t] > most:
                most, last, goes_on = value[at, i] + ends[t], at * rows + i, False
            if t + longest[i] > steps and value[at, i] + beyond > most:
                most, last, goes_on = value[at, i] + beyond, at * rows + i, True
    return most, last, goes_on


@njit(cache=True)
def count_takings(start, atom, price, weight, begin, after, step, before, pad, rows, last, taken):
    """Add to ``taken`` how often the best walk takes each atom before it ends."""
    at, i = last // rows, last % rows
    for _ in range(before.size):
        if i == 0:
            break
        t = at - pad
        place = before[t, i]
        arc = (place % rows) * rows + i
        for e in range(start[arc], start[arc + 1]):
            c = atom[e]
            if price[c] > weight[c] * (max(t * step, begin[c]) + after[c]):
                taken[c] += 1
        at, i = place // rows, place % rows


@njit(cache=True)
def end_earnings(price, weight, cost):
    """What a walk earns when it ends, for each cost of not finding."""
    out = np.zeros(cost.size)
    for t in range(cost.size):
        for c in range(price.size):
            out[t] += max(price[c] - weight[c] * cost[t], 0.0)
    return out
