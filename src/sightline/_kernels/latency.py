"""Iterated local search for the weighted sum of arrivals on an open path.

A walk is an order of all nodes in which the first (the start) and the last (an end that the caller
adds) never move. Its cost is the sum of weight times arrival. Five running sums along the walk, kept
up to date, give the cost of every rearrangement of two neighbouring stretches in constant time:
``arrival`` at a place, ``load`` (weights up to and including it), ``cost`` (weight x arrival up to
and including it), and the same as if the walk were driven backwards: ``back`` (cost of the legs up to
it, each in the opposite direction) and ``debt`` (weight x back). A stretch l..r that is entered at
time t costs

    forwards:  t W + (cost[r] - cost[l-1]) - arrival[l] W
    reversed:  t W + back[r] W - (debt[r] - debt[l-1])

with W = load[r] - load[l-1]. On a symmetric matrix back and debt equal arrival and cost; the caller
then passes the same arrays twice.

The search goes over a queue of nodes whose surroundings changed. Each is joined with its near nodes
by the best of 2-opt, or-opt (up to three nodes, either way round) and swap moves. When the queue is
empty the walk is kept or taken back (annealed acceptance), then kicked: two neighbouring stretches
change places.
"""

from math import log

import numpy as np
from numba import njit

LONGEST_MOVED = 3  # nodes in a stretch that or-opt moves
TINY_GAIN = 1e-12  # of the cost; smaller gains may be rounding
KICKS_BETWEEN_SUMS = 1000  # then the sums are added up afresh, before rounding errors pile up
NOTHING, REVERSAL, SWAP, INSERTION = 0, 1, 2, 3

# where the whole numbers of a search's state are
HEAD, WAITING, KICKS, LOW, HIGH, GAIN_AT, SCANS = 0, 1, 2, 3, 4, 5, 6
STATE_SIZE = 7


@njit(forceinline=True)
def random_bits(seed):
    """The next 53 random bits of an xorshift generator."""
    x = seed[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    seed[0] = x
    return x >> np.uint64(11)


@njit(forceinline=True)
def _random_below(seed, count):
    return np.int64(random_bits(seed) % np.uint64(count))


@njit(forceinline=True)
def random_share(seed):
    """A random number in (0, 1)."""
    return (np.float64(random_bits(seed)) + 0.5) * (1.0 / 9007199254740992.0)


@njit(forceinline=True)
def _exchange(travel, walk, arrival, load, cost, back, debt, i, j, k, flip_x, flip_y):
    """What it costs more to drive y = j+1..k before x = i..j, each turned round or not.

    Everything is read before anything is chosen: with array reads inside of branches the compiler
    counts references to the arrays, which takes several times longer than the reads.
    """
    w_x, w_y = load[j] - load[i - 1], load[k] - load[j]
    c_x, c_y = cost[j] - cost[i - 1], cost[k] - cost[j]
    x_ahead, y_ahead = c_x - arrival[i] * w_x, c_y - arrival[j + 1] * w_y
    x_turned = back[j] * w_x - (debt[j] - debt[i - 1])
    y_turned = back[k] * w_y - (debt[k] - debt[j])
    x_time, y_time = arrival[j] - arrival[i], arrival[k] - arrival[j + 1]
    x_back, y_back = back[j] - back[i], back[k] - back[j + 1]
    x_from, x_to = (j, i) if flip_x else (i, j)
    y_from, y_to = (k, j + 1) if flip_y else (j + 1, k)
    t = arrival[i - 1] + travel[walk[i - 1], walk[y_from]]
    change = t * w_y + (y_turned if flip_y else y_ahead) - c_x - c_y
    t += (y_back if flip_y else y_time) + travel[walk[y_to], walk[x_from]]
    change += t * w_x + (x_turned if flip_x else x_ahead)
    t += (x_back if flip_x else x_time) + travel[walk[x_to], walk[k + 1]]
    return change + (t - arrival[k + 1]) * (load[walk.size - 1] - load[k])


@njit(forceinline=True)
def _reversal(travel, walk, arrival, load, cost, back, debt, i, j):
    """What it costs more to drive i..j the other way round."""
    weight = load[j] - load[i - 1]
    t = arrival[i - 1] + travel[walk[i - 1], walk[j]]
    change = (t + back[j]) * weight - (debt[j] - debt[i - 1]) - (cost[j] - cost[i - 1])
    t += back[j] - back[i] + travel[walk[i], walk[j + 1]]
    return change + (t - arrival[j + 1]) * (load[walk.size - 1] - load[j])


@njit(forceinline=True)
def _swap(travel, walk, arrival, load, cost, i, j):
    """What it costs more if the nodes at i and j > i + 1 change places."""
    x, y = walk[i], walk[j]
    t = arrival[i - 1] + travel[walk[i - 1], y]
    change = t * (load[j] - load[j - 1]) - (cost[j] - cost[i - 1])
    t += travel[y, walk[i + 1]]
    change += (t - arrival[i + 1]) * (load[j - 1] - load[i]) + cost[j - 1] - cost[i]
    t += arrival[j - 1] - arrival[i + 1] + travel[walk[j - 1], x]
    change += t * (load[i] - load[i - 1])
    t += travel[x, walk[j + 1]]
    return change + (t - arrival[j + 1]) * (load[walk.size - 1] - load[j])


@njit(cache=True)
def add_up(travel, weights, walk, place, arrival, load, cost, back, debt, symmetric, first, last):
    """Renew the sums at places first..last of a walk."""
    if first == 0:
        arrival[0] = cost[0] = load[0] = back[0] = debt[0] = 0.0
        place[walk[0]] = 0
        first = 1
    before = walk[first - 1]
    t, w, c = arrival[first - 1], load[first - 1], cost[first - 1]
    for q in range(first, last + 1):
        node = walk[q]
        t += travel[before, node]
        w += weights[node]
        c += weights[node] * t
        arrival[q], load[q], cost[q] = t, w, c
        place[node] = q
        before = node
    if symmetric:
        return
    t, c = back[first - 1], debt[first - 1]
    for q in range(first, last + 1):
        t += travel[walk[q], walk[q - 1]]
        c += weights[walk[q]] * t
        back[q], debt[q] = t, c


@njit(forceinline=True)
def _shift_tail(time, product, load, place, later, dearer):
    """All behind ``place`` happens ``later``; what was summed up to there is ``dearer``."""
    offset = dearer - later * load[place]
    for q in range(place + 1, time.size):
        time[q] += later
        product[q] += offset + later * load[q]


@njit(cache=True)
def _renew(travel, weights, walk, place, arrival, load, cost, back, debt, symmetric, i, k):
    """Bring the sums up to date after the nodes at i..k changed places among themselves."""
    old_time, old_cost = arrival[k + 1], cost[k]
    old_back, old_debt = back[k + 1], debt[k]
    add_up(travel, weights, walk, place, arrival, load, cost, back, debt, symmetric, i, k)
    later = arrival[k] + travel[walk[k], walk[k + 1]] - old_time
    _shift_tail(arrival, cost, load, k, later, cost[k] - old_cost)
    if not symmetric:
        later = back[k] + travel[walk[k + 1], walk[k]] - old_back
        _shift_tail(back, debt, load, k, later, debt[k] - old_debt)


@njit(forceinline=True)
def _turn(walk, i, j):
    while i < j:
        walk[i], walk[j] = walk[j], walk[i]
        i += 1
        j -= 1


@njit(cache=True)
def _exchange_stretches(walk, spare, i, j, k, flip_x, flip_y):
    """Put j+1..k before i..j, each turned round or not."""
    spare[i : k + 1] = walk[i : k + 1]
    middle = i + k - j
    walk[i:middle] = spare[j + 1 : k + 1]
    walk[middle : k + 1] = spare[i : j + 1]
    if flip_y:
        _turn(walk, i, middle - 1)
    if flip_x:
        _turn(walk, middle, k)


@njit(forceinline=True)
def _enqueue(queue, queued, state, node):
    if not queued[node]:
        queued[node] = True
        queue[(state[HEAD] + state[WAITING]) % queue.size] = node
        state[WAITING] += 1


@njit(cache=True)
def _best_move(travel, walk, place, near, arrival, load, cost, back, debt, node, least):
    """The best move that joins a node with a near one: its change of cost, kind, i, j, gap, flip."""
    last = walk.size - 2
    at = place[node]
    best, kind, b_i, b_j, b_gap, b_flip = least, NOTHING, 0, 0, 0, False
    for z in range(near.shape[1]):
        to = place[near[node, z]]
        low, high = min(at, to), max(at, to)
        if high - low >= 2:
            if high <= last:
                change = _reversal(travel, walk, arrival, load, cost, back, debt, low + 1, high)
                if change < best:
                    best, kind, b_i, b_j = change, REVERSAL, low + 1, high
            if low >= 1:
                change = _reversal(travel, walk, arrival, load, cost, back, debt, low, high - 1)
                if change < best:
                    best, kind, b_i, b_j = change, REVERSAL, low, high - 1
        if at < 1 or at > last:
            continue
        for beside in (to - 1, to + 1):
            i, j = min(at, beside), max(at, beside)
            if i >= 1 and j <= last and j - i >= 2:
                change = _swap(travel, walk, arrival, load, cost, i, j)
                if change < best:
                    best, kind, b_i, b_j = change, SWAP, i, j
        for length in range(1, LONGEST_MOVED + 1):
            for side in range(1 if length == 1 else 2):
                i = at - side * (length - 1)
                j = i + length - 1
                if i < 1 or j > last or i <= to <= j:
                    continue
                for before in range(2):
                    gap = to - before
                    if gap < 0 or gap > last or i - 1 <= gap <= j:
                        continue
                    flip = before != side and length > 1
                    x_first, y_last = min(i, gap + 1), max(j, gap)
                    x_last = j if gap > j else i - 1
                    change = _exchange(
                        travel, walk, arrival, load, cost, back, debt,
                        x_first, x_last, y_last, flip and gap > j, flip and gap < i,
                    )  # fmt: skip
                    if change < best:
                        best, kind, b_i, b_j, b_gap, b_flip = change, INSERTION, i, j, gap, flip
    return best, kind, b_i, b_j, b_gap, b_flip


@njit(cache=True)
def _settle(
    travel, weights, near, symmetric, walk, place, arrival, load, cost, back, debt, spare, queue,
    queued, state, node,
):  # fmt: skip
    """Move a node, and stretches that begin or end with it, while that makes the walk cheaper."""
    while True:
        state[SCANS] += 1
        least = -TINY_GAIN * cost[walk.size - 1]
        _, kind, i, j, gap, flip = _best_move(
            travel, walk, place, near, arrival, load, cost, back, debt, node, least
        )
        if kind == NOTHING:
            return
        middle, last = i, j
        if kind == REVERSAL:
            _turn(walk, i, j)
        elif kind == SWAP:
            walk[i], walk[j] = walk[j], walk[i]
        elif gap > j:
            _exchange_stretches(walk, spare, i, j, gap, flip, False)
            middle, last = i + gap - j, gap
        else:
            _exchange_stretches(walk, spare, gap + 1, i - 1, j, False, flip)
            middle, i = gap + 1 + j - i + 1, gap + 1
        _renew(
            travel, weights, walk, place, arrival, load, cost, back, debt, symmetric, i, last
        )  # fmt: skip
        state[LOW] = min(state[LOW], i)
        state[HIGH] = max(state[HIGH], last)
        for q in (i - 1, i, last, last + 1):
            _enqueue(queue, queued, state, walk[q])
        if kind == INSERTION:
            _enqueue(queue, queued, state, walk[middle - 1])
            _enqueue(queue, queued, state, walk[middle])
        elif kind == SWAP:
            _enqueue(queue, queued, state, walk[i + 1])
            _enqueue(queue, queued, state, walk[last - 1])


@njit(forceinline=True)
def _copy(target, source, first, last):
    for q in range(first, last + 1):
        target[q] = source[q]


@njit(cache=True)
def _judge(walks, sums, place, state, level, heat, seed):
    """Keep the walk, or take the kept one back; note the best. Returns whether it is a new best.

    A walk that is dearer by a share x is kept with the chance exp(-x / heat).
    """
    size = walks.shape[1]
    new = sums[2, size - 1]
    low, high = state[LOW], state[HIGH]
    kept = sums.shape[0] // 2
    allowed = level[0] * (1.0 - heat * log(random_share(seed)))
    if new <= level[0] or new < allowed:
        level[0] = new
        source, target = 0, kept
        _copy(walks[1], walks[0], low, high)
    else:
        source, target = kept, 0
        _copy(walks[0], walks[1], low, high)
        for q in range(low, high + 1):
            place[walks[0, q]] = q
    for row in range(kept):
        _copy(sums[target + row], sums[source + row], low, high if row == 1 else size - 1)
    state[LOW], state[HIGH] = size, 0
    if level[0] < level[1] * (1.0 - 1e-12):
        level[1] = level[0]
        walks[2] = walks[1]
        return True
    return False


@njit(forceinline=True)
def _kick(walk, spare, reach, seed):
    """Exchange two neighbouring random stretches of up to ``reach`` nodes; returns i, j, k."""
    inner = walk.size - 2
    most = min(reach, inner // 2)
    x, y = 1 + _random_below(seed, most), 1 + _random_below(seed, most)
    i = 1 + _random_below(seed, inner - x - y + 1)
    _exchange_stretches(walk, spare, i, i + x - 1, i + x + y - 1, False, False)
    return i, i + x - 1, i + x + y - 1


@njit(cache=True, nogil=True)
def search(
    travel, weights, near, symmetric, walks, place, sums, spare, queue, queued, state, level, seed,
    cycle, heat, reach, scans,
):  # fmt: skip
    """Go on with a search until its cycle of kicks is over, or after about ``scans`` looks at nodes.

    ``walks`` are the current, the kept and the best walk, ``sums`` the five running sums of the first
    two (three when ``symmetric``); ``level`` the costs of the kept and the best walk. The heat falls
    from ``heat`` to zero over the ``cycle`` kicks. All state is in the arrays, so where a call ends
    does not change what the search does. Returns whether the cycle is over.
    """
    walk, arrival, load, cost = walks[0], sums[0], sums[1], sums[2]
    back, debt = (arrival, cost) if symmetric else (sums[3], sums[4])
    stop = state[SCANS] + scans
    while True:
        while state[WAITING] > 0:
            if state[SCANS] >= stop:
                return False
            node = queue[state[HEAD]]
            state[HEAD] = (state[HEAD] + 1) % queue.size
            state[WAITING] -= 1
            _settle(
                travel, weights, near, symmetric, walk, place, arrival, load, cost, back, debt,
                spare, queue, queued, state, node,
            )  # fmt: skip
            queued[node] = False
        if state[KICKS] % KICKS_BETWEEN_SUMS == 0:
            add_up(
                travel, weights, walk, place, arrival, load, cost, back, debt, symmetric, 0,
                walk.size - 1,
            )  # fmt: skip
            state[LOW], state[HIGH] = 0, walk.size - 1
        now = heat * (1.0 - state[KICKS] / cycle)
        if _judge(walks, sums, place, state, level, now, seed):
            state[GAIN_AT] = state[KICKS]
        if state[KICKS] >= cycle:
            return True
        state[KICKS] += 1
        i, j, k = _kick(walk, spare, reach, seed)
        _renew(
            travel, weights, walk, place, arrival, load, cost, back, debt, symmetric, i, k
        )  # fmt: skip
        state[LOW], state[HIGH] = i, k
        for q in (i - 1, i, i + k - j - 1, i + k - j, k, k + 1):
            _enqueue(queue, queued, state, walk[q])


@njit(cache=True, nogil=True)
def begin(
    travel, weights, symmetric, walks, place, sums, queue, queued, state, level, seed, spread,
):  # fmt: skip
    """Start a cycle from a new walk: always on to the nearest node, by randomly stretched legs.

    A leg counts up to ``1 + spread`` times its length; a negative ``spread`` starts from the best walk.
    """
    size = walks.shape[1]
    walk = walks[0]
    if spread < 0.0:
        walk[:] = walks[2]
    else:
        for q in range(size):
            walk[q] = q
        for q in range(1, size - 1):
            nearest, chosen = np.inf, q
            for r in range(q, size - 1):
                leg = travel[walk[q - 1], walk[r]] * (1.0 + spread * random_share(seed))
                if leg < nearest:
                    nearest, chosen = leg, r
            walk[q], walk[chosen] = walk[chosen], walk[q]
    arrival, load, cost = sums[0], sums[1], sums[2]
    back, debt = (arrival, cost) if symmetric else (sums[3], sums[4])
    add_up(
        travel, weights, walk, place, arrival, load, cost, back, debt, symmetric, 0, size - 1
    )  # fmt: skip
    level[0] = np.inf
    state[KICKS] = state[HEAD] = state[WAITING] = state[GAIN_AT] = 0
    queued[:] = False
    if spread >= 0.0:
        for q in range(size):
            _enqueue(queue, queued, state, walk[q])
