"""The paper's planner: the minimum-latency order as a constraint program for OR-Tools CP-SAT."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sightline.plan.greedy import greedy_order
from sightline.plan.problem import Matrix, SearchProblem, Vector, reachable_rows, route_cost
from sightline.records import Route

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpSolver

UNITS_PER_COST = 10_000  # travel costs are counted in ten-thousandths
UNITS_PER_WEIGHT = 100_000  # in the largest weight


@dataclass(frozen=True)
class CpSat:
    """A circuit through all points with cumulative distances, minimised for ``time_limit_s``.

    The paper gives it 30 s and no first order; ``hint`` gives it the nearest-neighbour order, or an
    order of one's own when it is called with ``order``. CP-SAT counts in integers: travel costs and
    weights are rounded down, to a ten-thousandth and to a hundred-thousandth of the largest weight. So
    its bound holds for the true cost, and its optimum is one up to that rounding. ``Route.status`` is
    its own word: OPTIMAL and FEASIBLE, or UNKNOWN when it found no order in time; then the route is the
    nearest-neighbour order.
    """

    time_limit_s: float = 30.0
    hint: bool = False
    workers: int = 1

    def __call__(
        self,
        problem: SearchProblem,
        *,
        rng: np.random.Generator,
        order: NDArray[np.int64] | None = None,
    ) -> Route:
        """Plan a route; ``order``, if given, is the hint."""
        began = time.perf_counter()
        rows, left_out = reachable_rows(problem.travel, 0)
        nearest = greedy_order(problem.travel, problem.weights, rows, 1.0)
        hint = order if order is not None else (nearest if self.hint else None)
        seed = int(rng.integers(2**31 - 1))
        status, found, bound = "OPTIMAL", nearest, 0.0
        if len(rows) > 2:
            status, found, bound = self._solve(problem, rows, hint, nearest, seed)
        cost = route_cost(problem.travel, problem.weights, found)
        optimal = status == "OPTIMAL"
        bound = cost if len(rows) <= 2 else min(bound, cost)
        seconds = time.perf_counter() - began
        return Route(found, cost, bound, optimal, seconds, left_out, status)

    def _solve(
        self,
        problem: SearchProblem,
        rows: NDArray[np.int64],
        hint: NDArray[np.int64] | None,
        nearest: NDArray[np.int64],
        seed: int,
    ) -> tuple[str, NDArray[np.int64], float]:
        from ortools.sat.python import cp_model

        program = _Program(problem.travel[np.ix_(rows, rows)], problem.weights[rows])
        if hint is not None:
            position = {int(row): i for i, row in enumerate(rows)}
            program.hint([position[int(row)] for row in hint if int(row) in position])
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = self.time_limit_s
        solver.parameters.num_workers = self.workers
        solver.parameters.random_seed = seed
        status = solver.solve(program.model)
        name = solver.status_name(status)
        if name not in ("OPTIMAL", "FEASIBLE"):
            return name, nearest, 0.0
        bound = solver.best_objective_bound * program.cost_per_unit
        return name, rows[program.order(solver)], max(bound, 0.0)


class _Program:
    """The constraint program over rows 0..n-1 of a travel matrix, row 0 the start."""

    def __init__(self, travel: Matrix, weights: Vector) -> None:
        from ortools.sat.python import cp_model

        n = len(travel)
        heaviest = max(float(weights[1:].max()), 1e-300)
        self.travel = np.floor(travel * UNITS_PER_COST).astype(np.int64)
        counts = np.floor(weights * (UNITS_PER_WEIGHT / heaviest)).astype(np.int64)
        self.cost_per_unit = heaviest / (UNITS_PER_WEIGHT * UNITS_PER_COST)
        self.model = model = cp_model.CpModel()
        horizon = int(self.travel.max(axis=1).sum())
        self.arrival = [model.new_int_var(0, horizon if i else 0, f"arrival {i}") for i in range(n)]
        self.arcs = {}
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                arc = self.arcs[i, j] = model.new_bool_var(f"{i} to {j}")
                if j:  # the way back to the start closes the circuit and costs nothing
                    later = self.arrival[i] + int(self.travel[i, j])
                    model.add(self.arrival[j] >= later).only_enforce_if(arc)
        model.add_circuit([(i, j, arc) for (i, j), arc in self.arcs.items()])
        model.minimize(sum(int(counts[i]) * self.arrival[i] for i in range(1, n)))

    def hint(self, order: list[int]) -> None:
        """Tell the solver an order to begin with."""
        legs = set(zip([0, *order], [*order, 0], strict=True))
        for leg, arc in self.arcs.items():
            self.model.add_hint(arc, leg in legs)
        at = 0
        for i, j in zip([0, *order], order, strict=False):
            at += int(self.travel[i, j])
            self.model.add_hint(self.arrival[j], at)

    def order(self, solver: "CpSolver") -> list[int]:
        """The order that the solver found, the start excluded."""
        follower = {i: j for (i, j), arc in self.arcs.items() if solver.boolean_value(arc)}
        out, here = [], follower[0]
        while here != 0:
            out.append(here)
            here = follower[here]
        return out
