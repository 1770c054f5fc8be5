"""The search for a better tour: greedy starts, local search, and ruin and refill; see ``coverage``."""

from math import log

from numba import njit

from sightline._kernels.coverage import (
    BEST,
    DRIVEN,
    HEAT,
    LEFT,
    NOW,
    SMALL,
    SPL,
    TINY,
    VALUE,
    below,
    best_insertion,
    put_in,
    take_out,
    uniform,
    walk,
)

EAGER = 0.3  # how often stops are put in as if not finding cost more than it does
FRESH = 200  # most points from which a new tour is put together


@njit(cache=True)
def ratio_greedy(world, tour, power):
    """Go on to the point with the most new mass per leg ** power; returns after how many to stop."""
    order, used, first, atom = tour.order, tour.used, world.first, world.atom
    useful, legs = world.useful, world.legs
    left = world.weight.copy()
    used[:] = False
    size, floor = 0, 1e-3 * world.unit
    enough = TINY * world.rest
    while size < world.limit:
        best, chosen = 0.0, 0
        for i in range(useful.size):
            x = useful[i]
            if used[x]:
                continue
            gain = 0.0
            for e in range(first[x], first[x + 1]):
                gain += left[atom[e]]
            if gain <= enough:
                used[x] = True  # nothing is left to see there
                continue
            score = gain / (legs[order[size], x] + floor) ** power
            if score > best:
                best, chosen = score, x
        if chosen == 0:
            break
        size += 1
        order[size] = chosen
        used[chosen] = True
        for e in range(first[chosen], first[chosen + 1]):
            left[atom[e]] *= 1.0 - world.rate
    return best_prefix(world, tour, size)


@njit(cache=True)
def best_prefix(world, tour, size):
    """After how many stops it is best to give up."""
    cost = walk(world, tour, size, world.escape)
    if world.kind == SPL:
        return size
    track = tour.track
    best, where, driven = world.rest * world.escape, 0, 0.0
    for k in range(1, size + 1):
        driven += track[LEFT, k - 1] * (track[DRIVEN, k] - track[DRIVEN, k - 1]) + track[VALUE, k]
        cost = driven + track[LEFT, k] * world.escape
        if cost < best:
            best, where = cost, k
    return where


@njit(cache=True)
def refill(world, tour, memory, size, count, noise, escape):
    """Put in points of the pool, the most useful first, while that pays; returns (size, cost).

    ``escape`` may differ from that of the world.
    """
    order = tour.order
    cost = walk(world, tour, size, escape)
    least = TINY * world.scale
    while size < world.limit:
        x, place, change = best_insertion(
            world, tour, size, memory.pool, count, noise, memory.luck, escape
        )
        if x == 0 or change > -least:
            break
        put_in(order, size, x, place)
        size += 1
        new = walk(world, tour, size, escape)
        if new > cost - least:  # the price was an estimate
            take_out(order, size, place)
            size -= 1
            cost = walk(world, tour, size, escape)
            break
        cost = new
    return size, cost


@njit(cache=True)
def _enlist(memory, count, x):
    """Put x into the pool unless it is there; returns the length of the pool."""
    if memory.listed[x]:
        return count
    memory.listed[x] = True
    memory.pool[count] = x
    return count + 1


@njit(cache=True)
def _enlist_others(world, memory, count, removed):
    """Add points that may take the place of those removed, which are the pool so far."""
    useful, near, luck = world.useful, world.near, memory.luck
    if useful.size <= SMALL:
        for i in range(useful.size):
            count = _enlist(memory, count, useful[i])
        return count
    for i in range(removed):
        x = memory.pool[i]
        for _ in range(min(10, near.shape[1])):
            count = _enlist(memory, count, near[x, below(luck, near.shape[1])])
    for _ in range(10):
        count = _enlist(memory, count, useful[below(luck, useful.size)])
    return count


@njit(cache=True)
def polish(world, tour, memory, size, cost):
    """Take out each stop in turn and put back the best of it and its neighbours, until nothing helps."""
    order, near = tour.order, world.near
    least = TINY * world.scale
    since, at = 0, 0
    if size > 0:
        at = below(memory.luck, size)
    while since < size:
        at = at % size + 1
        x = order[at]
        take_out(order, size, at)
        without = walk(world, tour, size - 1, world.escape)
        memory.pool[0] = x
        for i in range(near.shape[1]):
            memory.pool[i + 1] = near[x, i]
        y, place, change = best_insertion(
            world, tour, size - 1, memory.pool, near.shape[1] + 1, 0.0, memory.luck, world.escape
        )
        since += 1
        if without + change >= cost - least:
            put_in(order, size - 1, x, at)
            continue
        if y > 0:
            put_in(order, size - 1, y, place)
        new = walk(world, tour, size if y > 0 else size - 1, world.escape)
        if new < cost - least:
            cost, since = new, 0
            if y == 0:
                size -= 1
                at = min(at, size)
            continue
        if y > 0:
            take_out(order, size, place)
        put_in(order, size - 1, x, at)
    return size, walk(world, tour, size, world.escape)


@njit(cache=True)
def _ruin(world, tour, memory, size):
    """Take out a few stops: a run, some near each other, or any; returns (size, how many are out).

    They are the pool.
    """
    order, legs, luck, out = tour.order, world.legs, memory.luck, tour.used
    wanted = 1 + below(luck, min(size, 8))
    how = uniform(luck)
    out[:] = False
    if how < 0.4:
        start = 1 + below(luck, size - wanted + 1)
        for k in range(start, start + wanted):
            out[order[k]] = True
    elif how < 0.75:
        centre = order[1 + below(luck, size)]
        blur = tour.profile[0]
        for k in range(1, size + 1):
            blur[k] = legs[centre, order[k]] * (0.7 + 0.6 * uniform(luck))
        blur[1 + below(luck, size)] *= 0.5
        for _ in range(wanted):
            best = 0
            for k in range(1, size + 1):
                if not out[order[k]] and (best == 0 or blur[k] < blur[best]):
                    best = k
            out[order[best]] = True
    else:
        for _ in range(wanted):
            out[order[1 + below(luck, size)]] = True
    memory.listed[:] = False
    kept, count = 0, 0
    for k in range(1, size + 1):
        if out[order[k]]:
            count = _enlist(memory, count, order[k])
        else:
            kept += 1
            order[kept] = order[k]
    return kept, count


@njit(cache=True)
def _shuffle(tour, memory, size):
    """Turn a random segment around, or swap two that follow each other."""
    order, luck, spare = tour.order, memory.luck, memory.spare
    a = 1 + below(luck, size - 1)
    longest = size - a if uniform(luck) < 0.5 else min(size - a, 8)
    c = a + 2 + below(luck, longest)  # one after the last stop that moves
    b = a if uniform(luck) < 0.5 else a + 1 + below(luck, c - a - 1)
    spare[a:c] = order[a:c]
    at = a
    if b == a:
        for k in range(c - 1, a - 1, -1):
            order[at] = spare[k]
            at += 1
        return
    for k in range(b, c):
        order[at] = spare[k]
        at += 1
    for k in range(a, b):
        order[at] = spare[k]
        at += 1


@njit(cache=True)
def settle(world, tour, memory, size):
    """Local search and refilling with all points in turns; the result is the tour of the search."""
    before, cost = size, walk(world, tour, size, world.escape)
    while True:
        start = cost
        size, cost = polish(world, tour, memory, size, cost)
        memory.listed[:] = False
        count = 0
        for i in range(world.useful.size):
            count = _enlist(memory, count, world.useful[i])
        before = size
        size, cost = refill(world, tour, memory, size, count, 0.0, world.escape)
        if size == before or cost > start - TINY * world.scale:
            break
    _keep(tour, memory, NOW, size, cost)
    if cost < memory.cost[BEST] - TINY * world.scale:
        _keep(tour, memory, BEST, size, cost)
        memory.done[1] = 0
    return cost


@njit(cache=True)
def _keep(tour, memory, place, size, cost):
    """Remember a tour."""
    memory.order[place, : size + 1] = tour.order[: size + 1]
    memory.size[place], memory.cost[place] = size, cost


@njit(cache=True)
def _start_anew(world, tour, memory):
    """A tour put together at random from up to ``FRESH`` points, so that a period starts elsewhere."""
    useful, luck = world.useful, memory.luck
    memory.listed[:] = False
    count = 0
    for i in range(min(FRESH, useful.size)):
        x = useful[i] if useful.size <= FRESH else useful[below(luck, useful.size)]
        count = _enlist(memory, count, x)
    tour.order[1] = useful[below(luck, useful.size)]
    size, cost = refill(world, tour, memory, 1, count, 0.9 * uniform(luck), world.escape)
    size, cost = polish(world, tour, memory, size, cost)
    _keep(tour, memory, NOW, size, cost)


@njit(cache=True, nogil=True)
def improve(world, tour, memory, iterations, period):
    """Ruin and refill; the heat falls to nothing over ``period`` iterations, then starts again.

    Periods start in turns from the best tour and from a new one.
    """
    order, luck, done = tour.order, memory.luck, memory.done
    for _ in range(iterations):
        phase = (done[0] % period) / period
        if phase == 0.0 and done[0] // period % 2:
            _start_anew(world, tour, memory)
        elif phase == 0.0:
            memory.order[NOW] = memory.order[BEST]
            memory.size[NOW], memory.cost[NOW] = memory.size[BEST], memory.cost[BEST]
        done[0] += 1
        done[1] += 1
        size = memory.size[NOW]
        order[: size + 1] = memory.order[NOW, : size + 1]
        if size > 2 and uniform(luck) < 0.15:
            _shuffle(tour, memory, size)
            cost = walk(world, tour, size, world.escape)
        else:
            removed = 0
            if size > 0:
                size, removed = _ruin(world, tour, memory, size)
            else:
                memory.listed[:] = False
            pool = _enlist_others(world, memory, removed, removed)
            noise = max(0.0, 1.8 * uniform(luck) - 0.9)  # none in half of the cases
            escape = world.escape
            if uniform(luck) < EAGER:
                # where one more stop does not pay, several may: put them in as if it did
                escape *= 1.0 + 3.0 * uniform(luck)
            size, cost = refill(world, tour, memory, size, pool, noise, escape)
            if escape > world.escape:
                size = best_prefix(world, tour, size)
                cost = walk(world, tour, size, world.escape)
        now = memory.cost[NOW]
        if cost < now + 0.02 * abs(now) and uniform(luck) < 0.3:
            size, cost = polish(world, tour, memory, size, cost)
        if cost < memory.cost[BEST] - TINY * world.scale:
            settle(world, tour, memory, size)
            continue
        heat = HEAT * (1.0 - phase) * abs(now)
        if cost < now - heat * log(max(uniform(luck), 1e-12)):
            _keep(tour, memory, NOW, size, cost)
