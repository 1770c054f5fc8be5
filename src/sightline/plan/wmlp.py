"""The weighted minimum latency problem: visit all points so that heavy ones are reached early.

The order comes from an iterated local search (``_kernels/latency.py``) that works in cycles. A cycle
starts from a fresh walk, or from the best one, and cools down while it kicks and repairs the walk; the
search ends when enough cycles brought no gain, or when the time is up. ``exact.py`` adds a proof.
"""

import time
from dataclasses import dataclass
from functools import cache
from math import inf, isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline._kernels import latency
from sightline.errors import PlanError
from sightline.plan import exact
from sightline.plan.problem import (
    Matrix,
    SearchProblem,
    Vector,
    as_travel,
    as_weights,
    check_effort,
    reachable_rows,
    route_cost,
)
from sightline.records import Route

CYCLE_SHARE = 0.04  # kicks of the first cycle, as a share of the square of the number of points
REHEAT_FROM = 75  # points from which on each second cycle goes on from the best walk
SPREAD = 1.0  # how much the legs of a first walk are stretched at random
FIRST_LOOKS = 200  # looks at nodes before the speed is known
SLICE_S = 0.02  # longest time between two looks at the clock
SHORTEST_SLICE_S = 5e-5
TAIL_EFFORT = 0.05  # for the order of what counts for nothing
MOST_DETOURS = 200_000_000  # looked at to see whether points without a weight can wait
FOREVER_S = 1e8  # an infinite limit, so that times stay numbers
LONGEST_KICKED = 250  # nodes in a stretch that a kick moves


class Settings(NamedTuple):
    """How broadly a search looks around; few points can afford more of it."""

    near: int  # neighbours with which the local search tries to join a node
    heat: float  # share of the mean cost of a node that a walk may be dearer and be kept, at first
    growth: float  # of a cycle over the one before
    idle_share: float  # kicks without a gain after which it may end, as a share of points squared


FEW = Settings(near=10, heat=3.0, growth=0.2, idle_share=6.0)
MANY = Settings(near=6, heat=0.6, growth=0.5, idle_share=0.4)
MANY_FROM = 150  # points
IDLE_PER_POINT = 0.12  # limit of the idle share: the fewer points, the surer a short search is


@dataclass(frozen=True)
class Wmlp:
    """Plans the order of least expected cost to all points, as if each were seen only when visited.

    ``time_limit_s`` is the most it takes; ``prove`` spends what is left on a proof; ``effort`` is that
    of ``solve_wmlp``.
    """

    time_limit_s: float = 1.0
    prove: bool = False
    effort: float = 1.0

    def __post_init__(self) -> None:
        _check_limit(self.time_limit_s)
        check_effort(self.effort)

    def __call__(self, problem: SearchProblem, *, rng: np.random.Generator) -> Route:
        """Plan a route from row 0."""
        return solve_wmlp(
            problem.travel,
            problem.weights,
            time_limit_s=self.time_limit_s,
            prove=self.prove,
            effort=self.effort,
            rng=rng,
        )


def solve_wmlp(
    travel: ArrayLike,
    weights: ArrayLike,
    *,
    start: int = 0,
    time_limit_s: float = 1.0,
    prove: bool = False,
    effort: float = 1.0,
    return_weight: float = 0.0,
    rng: np.random.Generator,
) -> Route:
    """The order of all rows that minimises the sum of weight x arrival, on an open path from a row.

    ``travel`` (n, n) is the cost of driving between rows, which may differ by direction and be ``inf``
    where there is no way; rows that no tour can include are named in ``Route.unreachable``. ``weights``
    (n,) are not below zero; that of the start counts for nothing. With ``return_weight`` the arrival
    back at the start is charged, too: 1 with unit weights is the circuit of the literature.

    The search stops by itself when it seems to have converged, or after ``time_limit_s``, from which
    the first call of a process excepts what loading its compiled loops takes. Equal generators give
    equal routes as long as the limit does not cut the search short; then the answer depends on the
    speed of the machine. ``effort`` scales how long it goes on without a gain before it stops by
    itself, without a clock: 0.1 is enough for many small problems in a row. ``prove`` spends the time
    that is left on a proof: ``Route.bound`` is the best proven bound, and ``Route.optimal`` says that it
    meets the cost.
    """
    _compile()
    if prove:
        exact.compile_loops()
    began = time.perf_counter()
    matrix = as_travel(travel)
    vector = as_weights(weights, len(matrix))
    _check_limit(time_limit_s)
    check_effort(effort)
    if not 0 <= start < len(matrix):
        raise PlanError(f"start must be a row from 0 to {len(matrix) - 1}, not {start}.")
    if not (isfinite(return_weight) and return_weight >= 0):
        raise PlanError(f"return_weight must be finite and not below 0, not {return_weight}.")
    rows, left_out = _rows_of_a_tour(matrix, start, return_weight)
    deadline = began + min(time_limit_s, FOREVER_S)
    part, load = matrix[np.ix_(rows, rows)], vector[rows]
    load[0] = 0.0
    inner = _rows_that_count(part, load) if return_weight == 0.0 else np.arange(len(rows))
    ways, loads = part[np.ix_(inner, inner)], load[inner]
    order = best_order(ways, loads, return_weight, effort=effort, rng=rng, deadline=deadline)
    bound = None
    if prove:
        order, bound = exact.prove(ways, loads, return_weight, order, deadline=deadline)
    order = inner[order]
    if return_weight == 0.0:
        order = _with_tail(part, load, order, rng=rng, deadline=deadline)
    chosen = rows[order]
    cost = route_cost(matrix, vector, chosen, start)
    if return_weight > 0 and len(chosen):
        legs = np.concatenate([[start], chosen, [start]])
        cost += return_weight * float(matrix[legs[:-1], legs[1:]].sum())
    bound = None if bound is None else min(bound, cost)
    return Route(
        order=chosen,
        cost=cost,
        bound=bound,
        optimal=bound is not None and cost - bound <= exact.SAME * cost,
        seconds=time.perf_counter() - began,
        unreachable=left_out,
    )


def best_order(
    travel: Matrix,
    weights: Vector,
    return_weight: float,
    *,
    effort: float = 1.0,
    rng: np.random.Generator,
    deadline: float,
) -> NDArray[np.int64]:
    """A cheap order of rows 1.. of finite travel costs; found before ``deadline`` (perf_counter)."""
    seed = rng.integers(1, 2**63, 1, dtype=np.uint64)
    points = len(travel) - 1
    if points < 2:
        return np.arange(1, points + 1)
    settings = FEW if points < MANY_FROM else MANY
    search = Search(travel, weights, return_weight, seed, settings)
    schedule = _Schedule(points, settings, effort)
    while schedule.goes_on(search.best):
        if search.run(schedule.kicks, schedule.fresh, deadline):
            break
    return search.order()


@cache
def _compile() -> None:
    """Compile the loops, or load them: a time limit is about searching."""
    rng = np.random.default_rng(0)
    best_order(1.0 - np.eye(5), np.ones(5), 0.0, rng=rng, deadline=inf)


class _Schedule:
    """How many kicks the next cycle has, where it starts, and when cycles have stopped to pay.

    Cycles grow from one to the next. With many points each second one goes on from the best
    walk. The search ends when the kicks since the last gain are as many as those before it, and not
    fewer than a share of the points' square; ``effort`` scales both.
    """

    def __init__(self, points: int, settings: Settings, effort: float) -> None:
        square = points * points
        self.kicks = 10 + int(CYCLE_SHARE * square)
        self.fresh = True
        idle_share = min(settings.idle_share, IDLE_PER_POINT * points)
        self._patience = 10 + int(effort * idle_share * square)
        self._effort = effort
        self._growth = settings.growth
        self._reheats = points >= REHEAT_FROM
        self._best = np.inf
        self._used = self._used_at_gain = 0

    def goes_on(self, best: float) -> bool:
        """Note the best cost after a cycle, if any; whether another cycle is worth its time."""
        if best == np.inf:
            return True
        self._used += self.kicks
        if best < self._best * (1.0 - exact.SAME):
            self._used_at_gain = self._used
        self._best = best
        self.fresh = not (self._reheats and self.fresh)
        self.kicks += 1 + int(self._growth * self.kicks)
        return self._used - self._used_at_gain < max(
            self._effort * self._used_at_gain, self._patience
        )


class Search:
    """The arrays of one search and the speed at which it runs."""

    def __init__(
        self,
        travel: Matrix,
        weights: Vector,
        return_weight: float,
        seed: NDArray[np.uint64],
        settings: Settings,
    ) -> None:
        rows = len(travel)
        size = rows + 1
        self._travel = np.zeros((size, size))
        self._travel[:rows, :rows] = travel
        if return_weight > 0:  # the end is the start again, else it is nowhere
            self._travel[:rows, rows] = travel[:, 0]
            self._travel[rows, :rows] = travel[0]
        self._weights = np.append(weights, return_weight)
        self._symmetric = bool((travel == travel.T).all())
        self._near = _near(travel, settings.near)
        self.walks = np.tile(np.arange(size), (3, 1))
        self._place = np.arange(size)
        self._sums = np.zeros((6 if self._symmetric else 10, size))
        self._spare, self._queue = np.zeros((2, size), np.int64)
        self._queued = np.zeros(size, np.bool_)
        self._state = np.zeros(latency.STATE_SIZE, np.int64)
        self._level = np.full(2, np.inf)
        self._seed = seed
        self._heat = settings.heat / size
        self._reach = LONGEST_KICKED

    @property
    def best(self) -> float:
        """The cost of the best walk so far."""
        return float(self._level[1])

    def order(self) -> NDArray[np.int64]:
        """The best order so far; the current one if there was no time to bring any to its end."""
        return self.walks[0 if self.best == np.inf else 2, 1:-1].copy()

    def run(self, kicks: int, fresh: bool, deadline: float) -> bool:
        """Run a cycle of about ``kicks``; returns whether the deadline cut it short.

        A cycle that would not be over by the deadline is made as short as the speed so far says, so
        that it has cooled down by then.
        """
        latency.begin(
            self._travel, self._weights, self._symmetric, self.walks, self._place, self._sums,
            self._queue, self._queued, self._state, self._level, self._seed,
            SPREAD if fresh else -1.0,
        )  # fmt: skip
        cycle, looks = kicks, FIRST_LOOKS
        began, looks_before, start = time.perf_counter(), int(self._state[latency.SCANS]), None
        while True:
            over = latency.search(
                self._travel, self._weights, self._near, self._symmetric, self.walks, self._place,
                self._sums, self._spare, self._queue, self._queued, self._state, self._level,
                self._seed, cycle, self._heat, self._reach, looks,
            )  # fmt: skip
            now = time.perf_counter()
            if over or now >= deadline:
                return cycle < kicks or now >= deadline
            done = int(self._state[latency.KICKS])
            if start is None and done > 0:
                start = (now, done)
            elif start is not None and done > start[1]:
                speed = (done - start[1]) / (now - start[0])
                cycle = min(kicks, done + 1 + int(speed * (deadline - now)))
            speed = (int(self._state[latency.SCANS]) - looks_before) / (now - began)
            slice_s = min(SLICE_S, max(SHORTEST_SLICE_S, (deadline - now) / 2))
            looks = max(1, int(speed * slice_s))


def _rows_of_a_tour(
    travel: Matrix, start: int, return_weight: float
) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """The rows that a tour can visit, start first, and the others; with a return, from which it can."""
    rows, left_out = reachable_rows(travel, start)
    if return_weight > 0:
        home = np.isfinite(travel[rows, start])
        left_out = tuple(sorted({*left_out, *rows[~home].tolist()}))
        rows = rows[home]
    return rows, left_out


def _rows_that_count(travel: Matrix, weights: Vector) -> NDArray[np.int64]:
    """The start and the rows with a weight, if no way between them is shorter over a row without one.

    Then rows without a weight can wait until the end. Otherwise all rows: one may be worth passing.
    """
    light = np.flatnonzero(weights[1:] == 0) + 1
    everything = np.arange(len(travel))
    if not len(light) or len(light) * travel.size > MOST_DETOURS:
        return everything
    slack = exact.SAME * float(travel.max())
    if any((travel[:, [i]] + travel[[i], :] < travel - slack).any() for i in light):
        return everything
    return np.setdiff1d(everything, light)


def _with_tail(
    travel: Matrix,
    weights: Vector,
    order: NDArray[np.int64],
    *,
    rng: np.random.Generator,
    deadline: float,
) -> NDArray[np.int64]:
    """An order up to its last row with a weight, then all other rows in a good order among themselves."""
    heavy = np.flatnonzero(weights[order] > 0)
    kept = order[: int(heavy[-1]) + 1] if len(heavy) else order[:0]
    tail = np.setdiff1d(np.arange(1, len(travel)), kept)
    if not len(tail):
        return kept
    rows = np.append(kept[-1] if len(kept) else 0, tail)
    among, ones = travel[np.ix_(rows, rows)], np.ones(len(rows))
    part = best_order(among, ones, 0.0, effort=TAIL_EFFORT, rng=rng, deadline=deadline)
    return np.concatenate([kept, rows[part]])


def _check_limit(time_limit_s: float) -> None:
    if not time_limit_s > 0:
        raise PlanError(f"time_limit_s must be above 0, not {time_limit_s}.")


def _near(travel: Matrix, most: int) -> NDArray[np.int64]:
    """For each row its nearest rows and, last, the end (the row after all others)."""
    rows = len(travel)
    among = np.minimum(travel, travel.T)
    np.fill_diagonal(among, np.inf)
    count = min(most, rows - 1)
    if count < rows - 1 and rows > 100:
        nearest = np.argpartition(among, count, axis=1)[:, :count]
        nearest.sort(axis=1)
    else:
        nearest = np.argsort(among, axis=1, kind="stable")[:, :count]
    near = np.full((rows + 1, count + 1), rows)
    near[:rows, :count] = nearest
    near[rows, :count] = nearest[0]
    return near
