"""The paper's one-step greedy planner (its equation 3)."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.plan.problem import Matrix, SearchProblem, Vector, reachable_rows, route_cost
from sightline.records import Route


@dataclass(frozen=True)
class Greedy:
    """Always drive next to the point with the largest ``alpha_p / distance + (1 - alpha_p) * weight``.

    ``alpha_p = 0`` takes the likeliest point, 1 the nearest. A point at distance 0 is taken at once
    unless ``alpha_p`` is 0; of equal points the first.
    """

    alpha_p: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.alpha_p <= 1:
            raise ValueError(f"alpha_p must lie in 0 to 1, not {self.alpha_p}.")

    def __call__(self, problem: SearchProblem, *, rng: np.random.Generator) -> Route:
        """Plan a route; nothing is random about it."""
        began = time.perf_counter()
        rows, left_out = reachable_rows(problem.travel, 0)
        order = greedy_order(problem.travel, problem.weights, rows, self.alpha_p)
        cost = route_cost(problem.travel, problem.weights, order)
        return Route(order, cost, seconds=time.perf_counter() - began, unreachable=left_out)


def greedy_order(
    travel: Matrix, weights: Vector, rows: NDArray[np.int64], alpha_p: float
) -> NDArray[np.int64]:
    """The rows after the first in the greedy order."""
    left, here = rows[1:], rows[0]
    out = []
    while len(left):
        away = travel[here, left]
        nearness = np.divide(1.0, away, where=away > 0, out=np.full(len(left), np.inf))
        pull = alpha_p * nearness if alpha_p > 0 else np.zeros(len(left))
        best = int(np.argmax(pull + (1 - alpha_p) * weights[left]))
        here = left[best]
        out.append(here)
        left = np.delete(left, best)
    return np.array(out, dtype=np.int64)
