"""Lower bounds on weighted latency: relaxed routes in a network indexed by the weight that is left.

On a route, the leg from i to j costs its length times the weight still to be served when i is left.
Let ``units[i] >= 1`` be whole numbers near the weights, up to scale, and ``least[s]`` the smallest true
weight (with that of the return) of any set of points whose units sum to s. Then a path through
the nodes (s, i), where s is the units left after serving i, with legs charged ``travel * least[s]``
costs no more than the route, whatever the rounding. Relaxed routes use up all units but may visit
points twice or never; ``price[i]`` is paid back for each visit to i, so that the cheapest relaxed
route plus the sum of prices is a lower bound for any prices.

Two relaxations: no point twice within two steps; and ng-routes, which may visit a point again only
after they have been at one that does not remember it. Nodes that no route below a limit can use are
dead and are skipped from then on.

``ends[i]`` is the cost of stopping at i, ``starts[i]`` the length from the start.
"""

from math import inf

import numpy as np
from numba import njit


@njit(cache=True)
def least_weights(weights, units, always):
    """The smallest weight of any points whose units sum to s, plus ``always``; inf if none do."""
    total = units.sum()
    least = np.full(total + 1, inf)
    least[0] = 0.0
    for i in range(units.size):
        for s in range(total, units[i] - 1, -1):
            least[s] = min(least[s], least[s - units[i]] + weights[i])
    return least + always


@njit(cache=True, nogil=True)
def backward(travel, starts, ends, units, least, price, alive, to_go, after):
    """The cheapest ways to the end that return to no point within two steps.

    ``to_go[s, i]`` is the cost from (s, i) on, and the cost with another next point than the cheapest
    way's, which is ``after[s, i]``. Returns the cost of the cheapest relaxed route and its first point.
    """
    k, total = units.size, least.size - 1
    to_go[:] = inf
    to_go[0, :, 0] = to_go[0, :, 1] = np.where(alive[0], ends, inf)
    after[:] = -1
    point, beyond = np.empty(k, np.int64), np.empty(k, np.int64)
    first, second = np.empty(k), np.empty(k)
    for s in range(1, total + 1):
        if least[s] == inf:
            continue
        count = 0
        for j in range(k):
            left = s - units[j]
            if left >= 0 and to_go[left, j, 0] < inf:
                point[count], beyond[count] = j, after[left, j]
                first[count] = to_go[left, j, 0] - price[j]
                second[count] = to_go[left, j, 1] - price[j]
                count += 1
        if s == total:
            break
        for i in range(k):
            if not alive[s, i]:
                continue
            best, other, chosen = inf, inf, -1
            for z in range(count):
                j = point[z]
                on = second[z] if beyond[z] == i else first[z]
                length = travel[i, j] * least[s] + on
                if length < other and j != i:
                    if length < best:
                        best, other, chosen = length, best, j
                    else:
                        other = length
            to_go[s, i, 0], to_go[s, i, 1], after[s, i] = best, other, chosen
    best, chosen = inf, -1
    for z in range(count):
        length = starts[point[z]] * least[total] + first[z]
        if length < best:
            best, chosen = length, point[z]
    return best, chosen


@njit(cache=True, nogil=True)
def forward(travel, starts, units, least, price, alive, so_far, before):
    """As ``backward``, from the start: the cost up to (s, j), paid back prices included."""
    k, total = units.size, least.size - 1
    so_far[:] = inf
    before[:] = -1
    for s in range(total - 1, -1, -1):
        if least[s] == inf:
            continue
        for j in range(k):
            if not alive[s, j]:
                continue
            had = s + units[j]
            if had == total:
                so_far[s, j, 0] = so_far[s, j, 1] = starts[j] * least[total] - price[j]
                continue
            if had > total or least[had] == inf:
                continue
            best, other, chosen = inf, inf, -1
            for i in range(k):
                cost = so_far[had, i, 1] if before[had, i] == j else so_far[had, i, 0]
                length = cost + travel[i, j] * least[had]
                if length < other and i != j:
                    if length < best:
                        best, other, chosen = length, best, i
                    else:
                        other = length
            so_far[s, j, 0], so_far[s, j, 1] = best - price[j], other - price[j]
            before[s, j] = chosen


@njit(cache=True, nogil=True)
def bury(so_far, before, to_go, after, alive, room):
    """Nodes through which every relaxed route costs more than ``room`` die; returns who lives."""
    living = 0
    for s in range(alive.shape[0]):
        for i in range(alive.shape[1]):
            if not alive[s, i]:
                continue
            through = so_far[s, i, 0] + to_go[s, i, 0]
            if before[s, i] >= 0 and before[s, i] == after[s, i]:
                through = min(so_far[s, i, 0] + to_go[s, i, 1], so_far[s, i, 1] + to_go[s, i, 0])
            if not through <= room:
                alive[s, i] = False
            else:
                living += 1
    return living


@njit(cache=True, nogil=True)
def count_visits(travel, units, least, price, to_go, after, first, visits):
    """How often the cheapest relaxed route of ``backward`` visits each point."""
    visits[:] = 0
    i, previous = first, -1
    s = least.size - 1 - units[first]
    visits[i] += 1
    while s > 0:
        chosen = after[s, i]
        if chosen == previous:
            best = inf
            for j in range(units.size):
                left = s - units[j]
                if left < 0 or j in (i, previous):
                    continue
                on = to_go[left, j, 1] if after[left, j] == i else to_go[left, j, 0]
                length = travel[i, j] * least[s] - price[j] + on
                if length < best:
                    best, chosen = length, j
        visits[chosen] += 1
        s -= units[chosen]
        previous, i = i, chosen


@njit(cache=True)
def memory_maps(near):
    """What a point remembers: ``[j, m, i]`` is the memory at i if the route goes on to j with memory m.

    Bit b of a memory at i stands for ``near[i, b]``; -1 if j remembers i, so that i may not come before.
    """
    k, size = near.shape
    maps = np.full((k, 1 << size, k), -1, np.int32)
    bit = np.zeros(size, np.int64)
    for j in range(k):
        for i in range(k):
            if i == j:
                continue
            forbidden, own = 0, 0
            for b in range(size):
                bit[b] = 0
                if near[j, b] == i:
                    forbidden = 1 << b
                if near[i, b] == j:
                    own = 1 << b
                for c in range(size):
                    if near[i, c] == near[j, b]:
                        bit[b] = 1 << c
            for m in range(1 << size):
                if m & forbidden:
                    continue
                memory = own
                for b in range(size):
                    if m >> b & 1:
                        memory |= bit[b]
                maps[j, m, i] = memory
    return maps


@njit(forceinline=True)
def _fold(values, size):
    """Lower each value to the least over all subsets of its index's bits."""
    for b in range(size):
        for m in range(values.size):
            if m >> b & 1:
                values[m] = min(values[m], values[m ^ (1 << b)])


@njit(cache=True, nogil=True)
def ng_backward(
    travel, starts, ends, units, least, price, so_far, room, maps, row, to_go, result, low, high,
):  # fmt: skip
    """The cheapest ways to the end as ng-routes: ``to_go[row[s, i], m]`` from (s, i) with memory m.

    Ways that ``so_far`` (from ``forward``) completes to more than ``room`` are left out, as are those
    that remember more than a way that costs no more. One call goes on from ``low`` to ``high - 1`` units,
    from 0 at first. ``result`` is the cost of the cheapest ng-route (inf if none costs at most
    ``room``), its first point and that point's memory.
    """
    k, total = units.size, least.size - 1
    memories = maps.shape[1]
    size = 0
    while 1 << size < memories:
        size += 1
    folded = np.empty(memories)
    point, leg, most = np.empty(k, np.int64), np.empty(k), np.empty(k)
    if low == 0:
        to_go[:] = inf
        result[0], result[1], result[2] = inf, -1, 0
        for j in range(k):
            if row[0, j] >= 0:
                to_go[row[0, j], 0] = ends[j]
    for s in range(low, min(high, total)):
        for j in range(k):
            had = s + units[j]
            here = row[s, j]
            if here < 0 or had > total or least[had] == inf:
                continue
            folded[:] = to_go[here]
            _fold(folded, size)
            cheapest = folded[memories - 1] - price[j]
            if cheapest == inf:
                continue
            if had == total:
                if cheapest + starts[j] * least[total] < result[0]:
                    result[0], result[1] = cheapest + starts[j] * least[total], j
                    result[2] = to_go[here].argmin()
                continue
            count = 0
            for i in range(k):
                if i == j or row[had, i] < 0:
                    continue
                length = travel[i, j] * least[had]
                if cheapest <= room - so_far[had, i, 0] - length:
                    point[count], leg[count] = i, length
                    most[count] = room - so_far[had, i, 0] - length
                    count += 1
            if count == 0:
                continue
            for m in range(memories):
                cost = to_go[here, m]
                if cost == inf or folded[m] < cost:
                    continue
                beaten = False
                for b in range(size):
                    if m >> b & 1 and folded[m ^ (1 << b)] <= cost:
                        beaten = True
                        break
                if beaten:
                    continue
                cost -= price[j]
                for z in range(count):
                    i = point[z]
                    new = maps[j, m, i]
                    if cost <= most[z] and new >= 0:
                        at = row[had, i]
                        to_go[at, new] = min(to_go[at, new], cost + leg[z])


@njit(cache=True, nogil=True)
def ng_visits(travel, units, least, price, maps, row, to_go, first, memory, visits):
    """How often the cheapest ng-route visits each point."""
    visits[:] = 0
    i, at = first, memory
    s = least.size - 1 - units[first]
    visits[i] += 1
    while s > 0:
        value = to_go[row[s, i], at]
        off, chosen, new = inf, -1, 0
        for j in range(units.size):
            left = s - units[j]
            if left < 0 or j == i or row[left, j] < 0:
                continue
            for m in range(maps.shape[1]):
                if maps[j, m, i] != at:
                    continue
                error = abs(to_go[row[left, j], m] - price[j] + travel[i, j] * least[s] - value)
                if error < off:
                    off, chosen, new = error, j, m
        i, at = chosen, new
        visits[i] += 1
        s -= units[i]


@njit(cache=True, nogil=True)
def compatible(to_go):
    """Turn costs by memory into the least cost over the memories that share nothing with an index."""
    memories = to_go.shape[1]
    size = 0
    while 1 << size < memories:
        size += 1
    for r in range(to_go.shape[0]):
        values = to_go[r]
        _fold(values, size)
        for m in range(memories // 2):
            values[m], values[memories - 1 - m] = values[memories - 1 - m], values[m]
