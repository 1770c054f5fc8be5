"""Regret: what a learner's routes cost above those of a planner that knows where things tend to lie.

The paper's cost of a route is its equation (2) without detection failures: the sum over the points of
the route of the true chance p_i of spotting the object there times the metres until the point is reached.
It is computed exactly from the object's distribution, not sampled. The benchmark planner knows p_i and
drives the order of least cost; with the vantage points given, that is the optimal minimum-latency
order. Regret adds up the differences over a course of episodes. All learners meet the same course.

Equation (2) counts a cell once for every point that sees it. The exact expected distance until the object
is first seen counts it once; both are kept.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.learn.protocol import Learner
from sightline.maps import Points
from sightline.plan.coverage import expected_cost
from sightline.plan.problem import SearchProblem, route_cost
from sightline.plan.wmlp import Wmlp
from sightline.records import Query
from sightline.site import Site
from sightline.worlds.grid import carry_out

Vector = NDArray[np.float64]

PLAN = Wmlp(time_limit_s=10.0)  # far above what it takes, so that no clock decides
FIT_FROM = 0.1  # share of the episodes after which the exponent is fitted


@dataclass(frozen=True, eq=False)
class Course:
    """Episodes for every learner: what is looked for (T,), from where (T, 2), and where it lies (T, 2).

    ``between`` (k, k) are the distances between the vantage points, ``from_start`` (T, k) those from the
    starts, ``least`` (T,) the cost of the benchmark planner's route in each episode.
    """

    site: Site
    points: Points
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
        return np.asarray(self.site.sees(self.points) @ self._mass(thing))

    def exact_metres(self, episode: int, order: NDArray[np.int64]) -> float:
        """Expected metres until the object is first seen, looks at the start included."""
        rows = np.vstack([self.starts[episode], self.points])
        return expected_cost(
            self.travel(episode), self.site.sees(rows), self._mass(self.things[episode]), order
        )

    def _mass(self, thing: str) -> Vector:
        return self.site.home.mass(thing, self.site.cells)


@dataclass(frozen=True, eq=False)
class Costs:
    """What the routes of one learner cost (T,), by equation (2) and in exact expected metres."""

    approximate: Vector
    exact: Vector


def lay_course(site: Site, points: Points, episodes: int, *, rng: np.random.Generator) -> Course:
    """Objects with equal frequency, starts uniform over F, positions by the distributions."""
    known = site.home.objects
    things = tuple(known[i] for i in rng.integers(len(known), size=episodes))
    starts = site.standing[rng.integers(len(site.standing), size=episodes)]
    positions = np.array([site.home.sample_position(thing, rng=rng) for thing in things])
    between = site.free.distances(points)
    from_start = site.free.distances(starts, points)
    course = Course(
        site, points, between, things, starts, positions.reshape(-1, 2), from_start, np.empty(0)
    )
    chance = {thing: np.append(0.0, course.chance(thing)) for thing in known}
    least = [
        PLAN(SearchProblem(course.travel(i), chance[thing]), rng=rng).cost
        for i, thing in enumerate(things)
    ]
    return Course(
        site, points, between, things, starts, course.positions, from_start, np.array(least)
    )


def follow(course: Course, learner: Learner, *, rng: np.random.Generator) -> Costs:
    """Search, and learn, through a whole course; the learner has met its site."""
    chance = {thing: np.append(0.0, course.chance(thing)) for thing in course.site.home.objects}
    approximate, exact = np.empty(len(course)), np.empty(len(course))
    for i, thing in enumerate(course.things):
        x, y = course.starts[i].tolist()
        query, travel = Query(thing, (x, y)), course.travel(i)
        belief = learner.predict(query, course.points)
        route = PLAN(SearchProblem(travel, np.append(0.0, belief.weight)), rng=rng)
        approximate[i] = route_cost(travel, chance[thing], route.order)
        exact[i] = course.exact_metres(i, route.order)
        learner.update(
            carry_out(course.site, query, route, course.points, travel, course.positions[i], belief)
        )
    return Costs(approximate, exact)


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
