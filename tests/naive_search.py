"""Slow and obvious twins of the search planner: one cell at a time, all ordered subsets."""

from itertools import pairwise, permutations

import numpy as np


def chances_of_finding(sees, order, rate, cell):
    """The chance that each look, the start's first, is the one that finds an object in the cell."""
    out, missed = [], 1.0
    for row in (0, *order):
        notice = rate if sees[row, cell] else 0.0
        out.append(missed * notice)
        missed *= 1.0 - notice
    return out, missed


def arrivals(travel, order, look_cost):
    """Cost until each look, the start's first."""
    out, rows = [0.0], (0, *order)
    for a, b in pairwise(rows):
        out.append(out[-1] + travel[a, b] + look_cost)
    return out


def cost_of(travel, sees, mass, order, *, reach=None, escape, look_cost=0.0, detection_rate=1.0):
    """Expected cost until the object is found, or until giving up."""
    at = arrivals(travel, order, look_cost)
    total = (1.0 - sum(mass)) * (at[-1] + escape)
    for cell, chance in enumerate(mass):
        found, missed = chances_of_finding(sees, order, detection_rate, cell)
        for k, row in enumerate((0, *order)):
            way = 0.0 if reach is None or not sees[row, cell] else reach[row, cell]
            total += chance * found[k] * (at[k] + way)
        total += chance * missed * (at[-1] + escape)
    return total


def spl_of(travel, sees, mass, order, *, reach=None, detection_rate=1.0):
    """Expected success weighted by path length."""
    at = arrivals(travel, order, 0.0)
    total = 0.0
    for cell, chance in enumerate(mass):
        found, _ = chances_of_finding(sees, order, detection_rate, cell)
        ways = [0.0 if reach is None else reach[row, cell] for row in range(len(travel))]
        least = [travel[0, row] + ways[row] for row in range(len(travel)) if sees[row, cell]]
        for k, row in enumerate((0, *order)):
            if found[k] > 0:
                driven = at[k] + ways[row]
                total += chance * found[k] * (1.0 if driven <= min(least) else min(least) / driven)
    return total


def all_orders(points, max_stops=None):
    """Every ordered choice of points 1..points."""
    most = points if max_stops is None else min(points, max_stops)
    for size in range(most + 1):
        yield from permutations(range(1, points + 1), size)


def best_of(score, points, max_stops=None):
    """The least score over all tours."""
    return min(score(order) for order in all_orders(points, max_stops))


def random_problem(seed, *, points=5, cells=12, share=0.3, sum_to=0.9, metric=True):
    """Points in a square that see cells in discs, or anything at random if not metric."""
    rng = np.random.default_rng(seed)
    if metric:
        at = rng.uniform(0, 10, (points + 1, 2))
        travel = np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1))
        where = rng.uniform(0, 10, (cells, 2))
        reach = np.hypot(*(at[:, None] - where[None]).transpose(2, 0, 1))
        sees = reach < 10 * np.sqrt(share / np.pi)
    else:
        travel = rng.uniform(0.1, 10, (points + 1, points + 1))
        np.fill_diagonal(travel, 0)
        sees = rng.random((points + 1, cells)) < share
        reach = rng.uniform(0, 5, (points + 1, cells))
    mass = rng.dirichlet(np.full(cells, 0.5)) * sum_to
    return travel, sees, mass, reach
