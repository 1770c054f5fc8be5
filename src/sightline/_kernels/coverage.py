"""Search tours over points whose views overlap: what a tour costs, and the search for a better one.

A tour visits points 1..n from the start, point 0. What a look finds depends on all looks before it, so a
tour is priced as a whole (``walk``), but a new stop is priced at all places of the tour at once: the
*survival profile* of a point x says how much of what x sees is still undetected after each stop. With it
an insertion before stop k changes the legs at k, spares what x finds all later legs, and takes from the
later stops what they would have found. One pass over the cells of x and one over the stops does it.

The search removes a few stops, puts points back one by one where they pay most, and accepts the result by
annealing; local search takes out each stop in turn and puts the best of its neighbourhood back.

The cells are atoms, see ``sightline.plan.atoms``. Costs of one sign: the expected cost, or minus the
expected SPL, so that less is better. Tuples are taken apart before loops; in loops they are slow.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

DISTANCE, DISTANCE_AND_REACH, SPL = 0, 1, 2
DRIVEN, FOUND, VALUE, LEFT, WAY = 0, 1, 2, 3, 4  # rows of ``Tour.track``
CAUGHT, MINE, THEIRS, TAIL = 0, 1, 2, 3  # rows of ``Tour.profile``
NOW, BEST = 0, 1  # places in ``Memory``
TINY = 1e-13  # share of the scale of costs below which nothing is gained
FLOOR = 1e-9  # share of the unit of length that stands for no way at all where it divides
SMALL = 60  # up to so many points, all that are not in the tour are tried
HEAT = 0.03  # share of the cost that annealing accepts at first


class World(NamedTuple):
    """The problem; rows of points count from the start, which sees nothing any more."""

    legs: NDArray[np.float64]  # (n + 1, n + 1) cost from row to row; looks are part of a leg
    into: NDArray[np.float64]  # (n + 1, n + 1) the same, transposed
    first: NDArray[np.int64]  # (n + 2,) where each point's entries start
    atom: NDArray[np.int32]  # (entries,) the atoms that a point sees
    extra: NDArray[np.float64]  # (entries,) way from the point to the object
    weight: NDArray[np.float64]  # (atoms,) mass; for SPL times ``least``
    least: NDArray[np.float64]  # (atoms,) least way from the start to the object, above 0
    way: NDArray[np.float64]  # (n + 1,) mean of ``extra`` over what a point sees
    near: NDArray[np.int32]  # (n + 1, near) the next points of each point
    useful: NDArray[np.int32]  # points that see anything
    kind: int  # DISTANCE, DISTANCE_AND_REACH or SPL
    rate: float  # chance that a look notices
    rest: float  # mass not found at the start, wherever it is
    escape: float  # cost of not finding, beyond the tour
    limit: int  # most stops
    unit: float  # a typical leg
    scale: float  # a typical cost


class Tour(NamedTuple):
    """A tour and what ``walk`` found out about it; stop 0 is the start."""

    order: NDArray[np.int64]  # (n + 2,)
    used: NDArray[np.bool_]  # (n + 1,) which points are in it
    track: NDArray[np.float64]  # (5, n + 2) cost on arrival, mass found, its value, mass left, way
    profile: NDArray[np.float64]  # (4, n + 2) of the point that is being priced
    seen: NDArray[np.int64]  # (atoms,) first stop that sees an atom, size + 1 if none does
    paid: NDArray[np.float64]  # (atoms,) way from that stop to the object
    visits: NDArray[np.int64]  # (atoms + 1,) where each atom's visits start, if looks may miss
    stop: NDArray[np.int64]  # (entries,) the stops that see an atom, in order
    share: NDArray[np.float64]  # (entries,) mass of the atom found at that stop
    cost: NDArray[np.float64]  # (entries,) the same times the way from the stop


class Memory(NamedTuple):
    """What the search remembers from call to call."""

    order: NDArray[np.int64]  # (2, n + 2) the tour it works on and the best one
    size: NDArray[np.int64]  # (2,)
    cost: NDArray[np.float64]  # (2,)
    luck: NDArray[np.uint64]  # (1,) state of the random numbers
    pool: NDArray[np.int64]  # (n + 1,) points to be put in
    listed: NDArray[np.bool_]  # (n + 1,) which points are in the pool
    spare: NDArray[np.int64]  # (n + 2,) a tour put aside
    done: NDArray[np.int64]  # (2,) iterations done, iterations since the best tour got better


@njit(forceinline=True)
def uniform(luck):
    """A random number in [0, 1) (xorshift)."""
    x = luck[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    luck[0] = x
    return (x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(forceinline=True)
def below(luck, bound):
    """A random whole number from 0 to bound - 1."""
    return int(uniform(luck) * bound)


@njit(cache=True)
def _sure_sights(world, tour, size):
    """What each stop finds if no look misses: the atoms that no stop before it saw."""
    order, track, seen, paid = tour.order, tour.track, tour.seen, tour.paid
    first, atom, extra = world.first, world.atom, world.extra
    weight, least, kind = world.weight, world.least, world.kind
    seen[:] = size + 1
    for k in range(1, size + 1):
        found, value, arrival = 0.0, 0.0, track[DRIVEN, k]
        for e in range(first[order[k]], first[order[k] + 1]):
            c = atom[e]
            if seen[c] <= size:
                continue
            seen[c] = k
            found += weight[c]
            if kind == SPL:
                value += weight[c] / max(least[c], arrival + extra[e])
            elif kind == DISTANCE_AND_REACH:
                paid[c] = extra[e]
                value += weight[c] * extra[e]
        track[FOUND, k], track[VALUE, k] = found, value


@njit(cache=True)
def _unsure_sights(world, tour, size):
    """What each stop finds if a look notices with the chance ``rate``."""
    order, track, paid = tour.order, tour.track, tour.paid
    visits, stop, share, cost = tour.visits, tour.stop, tour.share, tour.cost
    first, atom, extra = world.first, world.atom, world.extra
    weight, least, kind, rate = world.weight, world.least, world.kind, world.rate
    atoms = weight.size
    visits[:] = 0
    for k in range(1, size + 1):
        for e in range(first[order[k]], first[order[k] + 1]):
            visits[atom[e] + 1] += 1
    for c in range(atoms):
        visits[c + 1] += visits[c]
        paid[c] = weight[c]  # here: what is still undetected
    for k in range(1, size + 1):
        found, value, arrival = 0.0, 0.0, track[DRIVEN, k]
        for e in range(first[order[k]], first[order[k] + 1]):
            c = atom[e]
            now = rate * paid[c]
            paid[c] -= now
            at = visits[c]
            stop[at], share[at], cost[at] = k, now, now * extra[e]
            visits[c] = at + 1
            found += now
            if kind == SPL:
                value += now / max(least[c], arrival + extra[e])
            else:
                value += now * extra[e]
        track[FOUND, k], track[VALUE, k] = found, value
    for c in range(atoms, 0, -1):  # filling moved every start to the next one
        visits[c] = visits[c - 1]
    visits[0] = 0


@njit(cache=True)
def walk(world, tour, size, escape):
    """The cost of the first ``size`` stops of the tour, given what not finding costs.

    Fills in all of the tour but its profile.
    """
    order, track, used, legs = tour.order, tour.track, tour.used, world.legs
    used[:] = False
    track[DRIVEN, 0] = 0.0
    for k in range(1, size + 1):
        used[order[k]] = True
        track[DRIVEN, k] = track[DRIVEN, k - 1] + legs[order[k - 1], order[k]]
    if world.rate >= 1.0:
        _sure_sights(world, tour, size)
    else:
        _unsure_sights(world, tour, size)
    cost, left = 0.0, world.rest
    track[LEFT, 0] = left
    for k in range(1, size + 1):
        found, value, arrival = track[FOUND, k], track[VALUE, k], track[DRIVEN, k]
        if world.kind == SPL:
            cost -= value
            track[WAY, k] = found / value - arrival if value > 0.0 else 0.0
        else:
            cost += left * (arrival - track[DRIVEN, k - 1]) + value
        left = max(left - found, 0.0)
        track[LEFT, k] = left
    if world.kind != SPL:
        cost += left * escape
    return cost


@njit(forceinline=True)
def _profile_sure(x, size, first, atom, extra, weight, seen, paid, profile, with_reach):
    """Sort what x sees by the stop that finds it now; beyond the last stop: nobody."""
    for k in range(size + 2):
        profile[CAUGHT, k] = 0.0
    if not with_reach:
        for e in range(first[x], first[x + 1]):
            profile[CAUGHT, seen[atom[e]]] += weight[atom[e]]
        return
    for k in range(size + 2):
        profile[MINE, k] = 0.0
        profile[THEIRS, k] = 0.0
    for e in range(first[x], first[x + 1]):
        c = atom[e]
        k = seen[c]
        profile[CAUGHT, k] += weight[c]
        profile[MINE, k] += weight[c] * extra[e]
        if k <= size:
            profile[THEIRS, k] += weight[c] * paid[c]


@njit(forceinline=True)
def _profile_unsure(
    x, size, first, atom, extra, weight, visits, stop, share, cost, profile, with_reach
):
    """The same when looks may miss: each atom is found in shares, at all stops that see it."""
    for k in range(size + 2):
        profile[CAUGHT, k] = 0.0
        profile[MINE, k] = 0.0
        profile[THEIRS, k] = 0.0
    for e in range(first[x], first[x + 1]):
        c = atom[e]
        left = weight[c]
        for v in range(visits[c], visits[c + 1]):
            profile[CAUGHT, stop[v]] += share[v]
            left -= share[v]
            if with_reach:
                profile[MINE, stop[v]] += share[v] * extra[e]
                profile[THEIRS, stop[v]] += cost[v]
        profile[CAUGHT, size + 1] += left
        if with_reach:
            profile[MINE, size + 1] += left * extra[e]


@njit(forceinline=True)
def _price_distance(x, size, order, legs, into, track, profile, rate, escape, with_reach):
    """Least change of the expected cost over all places for x, and the place: before stop k."""
    undetected = profile[CAUGHT, size + 1]  # of what x sees, after the stop before the place
    mine, theirs = profile[MINE, size + 1] if with_reach else 0.0, 0.0
    saved = undetected * escape
    place = size + 1
    best = legs[order[size], x] * track[LEFT, size] - rate * (saved - mine)
    for k in range(size, 0, -1):
        if k < size:
            saved += undetected * (track[DRIVEN, k + 1] - track[DRIVEN, k])
        undetected += profile[CAUGHT, k]
        if with_reach:
            mine += profile[MINE, k]
            theirs += profile[THEIRS, k]
        left = track[LEFT, k - 1]
        detour = into[x, order[k - 1]] - (track[DRIVEN, k] - track[DRIVEN, k - 1])
        change = detour * left + legs[x, order[k]] * (left - rate * undetected)
        change -= rate * (saved + theirs - mine)
        if change < best:
            best, place = change, k
    return best, place


@njit(forceinline=True)
def _price_spl(x, size, order, legs, into, track, profile, rate, way, floor):
    """The same for minus the expected SPL, with one mean way to the object for each stop."""
    undetected = 0.0
    for k in range(size + 2):
        undetected += profile[CAUGHT, k]
    best, place = 0.0, -1
    for k in range(1, size + 2):
        undetected -= profile[CAUGHT, k - 1]
        if undetected <= 0.0:
            break
        arrival = track[DRIVEN, k - 1] + into[x, order[k - 1]]
        gain = rate * undetected / max(arrival + way, floor)
        if gain <= best:
            continue  # the later stops can only lose
        if k <= size:
            late = arrival + legs[x, order[k]] - track[DRIVEN, k]
            gain -= profile[TAIL, k]
            for j in range(k, size + 1):
                kept = track[FOUND, j] - rate * profile[CAUGHT, j]
                gain += kept / max(track[DRIVEN, j] + late + track[WAY, j], floor)
        if gain > best:
            best, place = gain, k
    return -best, place


@njit(cache=True)
def best_insertion(world, tour, size, pool, count, noise, luck, escape):
    """Which point of the pool to put where: (point, place, change of cost); point 0 if none pays.

    Gains are lowered at random by up to the share ``noise``.
    """
    order, used, track, profile = tour.order, tour.used, tour.track, tour.profile
    seen, paid, visits, stop = tour.seen, tour.paid, tour.visits, tour.stop
    share, cost, legs, into, way = tour.share, tour.cost, world.legs, world.into, world.way
    first, atom, extra, weight = world.first, world.atom, world.extra, world.weight
    rate, kind = world.rate, world.kind
    with_reach = kind == DISTANCE_AND_REACH
    floor = FLOOR * world.unit
    if kind == SPL:
        profile[TAIL, size + 1] = 0.0
        for k in range(size, 0, -1):
            at = max(track[DRIVEN, k] + track[WAY, k], floor)
            profile[TAIL, k] = profile[TAIL, k + 1] + track[FOUND, k] / at
    chosen, where, change, best = 0, 0, 0.0, 0.0
    for i in range(count):
        x = pool[i]
        if used[x]:
            continue
        if rate >= 1.0:
            _profile_sure(x, size, first, atom, extra, weight, seen, paid, profile, with_reach)
        else:
            _profile_unsure(
                x, size, first, atom, extra, weight, visits, stop, share, cost, profile, with_reach
            )
        if kind == SPL:
            delta, place = _price_spl(
                x, size, order, legs, into, track, profile, rate, way[x], floor
            )
        else:
            delta, place = _price_distance(
                x, size, order, legs, into, track, profile, rate, escape, with_reach
            )
        score = delta
        if noise > 0.0:
            score *= 1.0 - noise * uniform(luck)
        if score < best:
            chosen, where, change, best = x, place, delta, score
    return chosen, where, change


@njit(forceinline=True)
def put_in(order, size, x, place):
    """Insert x before stop ``place``."""
    for k in range(size, place - 1, -1):
        order[k + 1] = order[k]
    order[place] = x


@njit(forceinline=True)
def take_out(order, size, place):
    """Remove stop ``place``."""
    for k in range(place, size):
        order[k] = order[k + 1]
