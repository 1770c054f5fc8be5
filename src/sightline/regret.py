"""Regret: what a learner's routes cost above those of a planner that knows where things tend to lie.

The paper's cost of a route is its equation (2) without detection failures: the sum over the points of
the route of the true chance p_i of spotting the object there times the metres until the point is reached.
It is computed exactly from the object's distribution, not sampled. The benchmark planner knows p_i and
drives the order of least cost; with the vantage points given, that is the optimal minimum-latency
order. Regret adds up the differences over a course of episodes. All learners meet the same course.

Equation (2) counts a cell once for every point that sees it. The exact expected distance until the object
is first seen counts it once; both are kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from sightline.learn.protocol import Learner
from sightline.maps import Points
from sightline.plan.coverage import expected_cost
from sightline.plan.problem import SearchProblem, route_cost
from sightline.plan.wmlp import FEW, Search
from sightline.records import Query, Route
from sightline.site import Site
from sightline.worlds.grid import carry_out

Vector = NDArray[np.float64]

BENCHMARK_ROUNDS = 8  # of the planner against which regret counts
KICKS = 35  # per round
NEVER_S = 1e9  # so that no clock decides
FIT_FROM = 0.1  # share of the episodes after which the exponent is fitted


@dataclass(frozen=True)
class Rounds:
    """Plans as ``Wmlp`` does, in a fixed number of restarts and without a clock, for a few dozen points.

    ``Wmlp`` searches until it seems to have converged, which takes twenty times as long; a course has
    thousands of routes. Points of no weight come last, each nearest to the one before.
    """

    rounds: int = 3

    def __call__(self, problem: SearchProblem, *, rng: np.random.Generator) -> Route:
        """Plan a route from row 0 to all others, which can be reached."""
        began = perf_counter()
        rows = np.append(0, 1 + np.flatnonzero(problem.weights[1:] > 0))
        part = problem.travel[np.ix_(rows, rows)]
        seed = rng.integers(1, 2**63, 1, dtype=np.uint64)
        order = rows[1:]
        if len(rows) > 2:
            load = np.append(0.0, problem.weights[rows[1:]])
            search = Search(part, load, 0.0, seed, FEW)
            for _ in range(self.rounds):
                search.run(KICKS, True, perf_counter() + NEVER_S)
            order = rows[search.order()]
        order = _nearest_last(problem.travel, order)
        cost = route_cost(problem.travel, problem.weights, order)
        return Route(order, cost, seconds=perf_counter() - began)


@dataclass(frozen=True, eq=False)
class Course:
    """Episodes for every learner: what is looked for (T,), from where (T, 2), and where it lies (T, 2).

    ``masses`` are the true chances (m,) of each object in each target cell, ``between`` (k, k) the
    distances between the vantage points, ``from_start`` (T, k) those from the starts, ``least`` (T,) the
    cost of the benchmark planner's route in each episode.
    """

    site: Site
    points: Points
    masses: Mapping[str, Vector]
    between: NDArray[np.float64]
    things: tuple[str, ...]
    starts: Points
    positions: Points
    from_start: NDArray[np.float64]
    least: Vector

    def __len__(self) -> int:
        return len(self.things)

    def travel(self, episode: int) -> NDArray[np.float64]:
        """Distances (k + 1, k + 1) with the start as row 0."""
        return _with_start(self.between, self.from_start[episode])

    def chance(self, thing: str) -> Vector:
        """p_i (k,): the true chance of spotting an object from each vantage point."""
        return np.asarray(self.site.sees(self.points) @ self.masses[thing])

    @cached_property
    def chances(self) -> dict[str, Vector]:
        """p_i (k + 1,) of every object, with 0 for the start as row 0."""
        return {thing: np.append(0.0, self.chance(thing)) for thing in self.masses}

    def exact_metres(self, episode: int, order: NDArray[np.int64]) -> float:
        """Expected metres until the object is first seen, looks at the start included."""
        rows = np.vstack([self.starts[episode], self.points])
        return expected_cost(
            self.travel(episode), self.site.sees(rows), self.masses[self.things[episode]], order
        )


@dataclass(frozen=True, eq=False)
class Costs:
    """What the routes of one learner cost (T,): by equation (2), in exact expected metres, and in fact.

    ``driven`` are the metres driven until the object was seen, or along the whole route if it was not.
    """

    approximate: Vector
    exact: Vector
    driven: Vector


def lay_course(
    site: Site,
    points: Points,
    episodes: int,
    *,
    masses: Mapping[str, Vector] | None = None,
    least: Vector | None = None,
    rng: np.random.Generator,
) -> Course:
    """Objects with equal frequency, starts uniform over F, positions by the home's distributions.

    With ``masses`` (m,) over the target cells, objects are drawn from these instead, and lie in the
    middle of a cell. ``least`` saves planning, if it is known of an equal course.
    """
    true = masses or {t: site.home.mass(t, site.cells) for t in site.home.objects}
    known = tuple(true)
    things = tuple(known[i] for i in rng.integers(len(known), size=episodes))
    starts = site.standing[rng.integers(len(site.standing), size=episodes)]
    if masses is None:
        positions = [site.home.sample_position(thing, rng=rng) for thing in things]
    else:
        positions = [site.cells[rng.choice(len(site.cells), p=true[thing])] for thing in things]
    course = Course(
        site,
        points,
        true,
        between=site.free.distances(points),
        things=things,
        starts=starts,
        positions=np.array(positions).reshape(-1, 2),
        from_start=site.free.distances(points, starts).T,
        least=np.empty(0) if least is None else least,
    )
    if least is not None:
        return course
    plan, chance = Rounds(BENCHMARK_ROUNDS), course.chances
    costs = [
        plan(SearchProblem(course.travel(i), chance[thing]), rng=rng).cost
        for i, thing in enumerate(things)
    ]
    return replace(course, least=np.array(costs))


def follow(course: Course, learner: Learner, *, rng: np.random.Generator) -> Costs:
    """Search, and learn, through a whole course; the learner has met its site."""
    plan, chance = Rounds(), course.chances
    approximate, exact, driven = np.empty((3, len(course)))
    for i, thing in enumerate(course.things):
        x, y = course.starts[i].tolist()
        query, travel = Query(thing, (x, y)), course.travel(i)
        belief = learner.predict(query, course.points)
        route = plan(SearchProblem(travel, np.append(0.0, belief.weight)), rng=rng)
        episode = carry_out(
            course.site, query, route, course.points, travel, course.positions[i], belief
        )
        approximate[i] = route_cost(travel, chance[thing], route.order)
        exact[i] = course.exact_metres(i, route.order)
        driven[i] = episode.visits[-1].driven_m
        learner.update(episode)
    return Costs(approximate, exact, driven)


def cumulative(costs: Vector, least: Vector) -> Vector:
    """The regret (T,) after each episode: the paper's R_t."""
    return np.cumsum(np.asarray(costs) - np.asarray(least))


def exponent(regret: Vector) -> float:
    """The slope of log R_t over log t, by least squares from a tenth of the episodes on.

    1 means that nothing is gained by learning, 1/2 is what the paper's theorem promises at worst, and 0
    that regret has stopped to grow. NaN where the regret is not above 0.
    """
    steps = np.arange(1, len(regret) + 1)
    late = steps > FIT_FROM * len(regret)
    if late.sum() < 2 or not (regret[late] > 0).all():
        return float("nan")
    slope, _ = np.polyfit(np.log(steps[late]), np.log(regret[late]), 1)
    return float(slope)


def _with_start(between: NDArray[np.float64], from_start: Vector) -> NDArray[np.float64]:
    travel = np.zeros((len(between) + 1, len(between) + 1))
    travel[1:, 1:] = between
    travel[0, 1:] = travel[1:, 0] = from_start
    return travel


def _nearest_last(travel: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order with the rows that it lacks behind it, each nearest to the one before."""
    out = [0, *order.tolist()]
    left = [row for row in range(len(travel)) if row not in set(out)]
    while left:
        nearest = min(left, key=lambda row: float(travel[out[-1], row]))
        left.remove(nearest)
        out.append(nearest)
    return np.array(out[1:], dtype=np.int64)
