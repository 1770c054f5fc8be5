"""The paper's geometric baseline: the shortest open path through all points, blind to the object."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline._kernels.tsp import shorten
from sightline.plan.greedy import greedy_order
from sightline.plan.problem import Matrix, SearchProblem, reachable_rows, route_cost
from sightline.records import Route


@dataclass(frozen=True)
class Tsp:
    """Visit all points on the shortest path from the start; where it ends is free.

    Local search from the nearest-neighbour path, ``kicks`` times disturbed and repaired; at 50 points
    the default is within 1 % of the shortest. ``Route.cost`` is the weighted latency, as of every other
    planner of orders, not the length.
    """

    kicks: int = 100

    def __call__(self, problem: SearchProblem, *, rng: np.random.Generator) -> Route:
        """Plan a route."""
        began = time.perf_counter()
        rows, left_out = reachable_rows(problem.travel, 0)
        order = shortest_path(problem.travel, rows, kicks=self.kicks, rng=rng)
        cost = route_cost(problem.travel, problem.weights, order)
        return Route(order, cost, seconds=time.perf_counter() - began, unreachable=left_out)


def shortest_path(
    travel: Matrix, rows: NDArray[np.int64], *, kicks: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The rows after the first in the order of a short open path from the first."""
    inner = np.ascontiguousarray(travel[np.ix_(rows, rows)])
    nearest = greedy_order(inner, np.zeros(len(rows)), np.arange(len(rows)), 1.0)
    path = np.concatenate([[0], nearest])
    shorten(inner, path, _cuts(len(path), kicks if len(path) > 3 else 0, rng))
    return np.asarray(rows[path[1:]])


def _cuts(size: int, kicks: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Three ordered, different positions after the start per kick: two stretches to swap."""
    if kicks == 0:
        return np.empty((0, 3), np.int64)
    draws = rng.random((kicks, size)).argsort(axis=1)[:, :3] + 1
    return np.sort(draws, axis=1).astype(np.int64)
