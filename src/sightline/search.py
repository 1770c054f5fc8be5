"""The search: predict, plan, drive, look, learn. This is the paper's figure 1; read it first."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import PlanError
from sightline.itinerary import Plan
from sightline.learn.protocol import Learner
from sightline.maps import Points, as_points
from sightline.places import Scenario
from sightline.plan.problem import Planner, SearchProblem
from sightline.records import Belief, Episode, Outcome, Position, Query, Visit, as_position
from sightline.site import Site
from sightline.vantage import SPACING_M, farthest_points
from sightline.visibility import Sensor
from sightline.worlds.protocol import DriveStatus, World

CANDIDATES = 100  # vantage points if none are given
ASTRAY_M = 0.3  # a robot so far from its goal has not arrived
SAME_M = 0.3  # sightings so close to a false alarm are the same false alarm
UNPLANNED = -1  # the point of a look that was not at a vantage point


def never() -> bool:
    """Do not cancel."""
    return False


def unseen(visit: Visit) -> None:
    """Show nobody."""


class Searcher:
    """Looks for objects in a home, and learns from every search.

    ``home`` is a scenario or a ``Site``; ``points`` are the vantage points (k, 2) or how many there
    shall be, spread over the free space; ``things`` names objects beyond those of the home.
    """

    def __init__(
        self,
        home: Scenario | Site,
        *,
        learner: Learner,
        planner: Planner,
        points: ArrayLike | int = CANDIDATES,
        sensor: Sensor | None = None,
        things: Iterable[str] = (),
    ) -> None:
        if isinstance(home, Site) and sensor is not None:
            raise ValueError("A Site brings its sensor; give one or the other.")
        self.site = home if isinstance(home, Site) else Site.of(home, sensor=sensor)
        self.learner, self.planner = learner, planner
        self.points = spread(self.site, points) if isinstance(points, int) else _given(points)
        learner.meet(self.site, things)

    def search(
        self,
        thing: str,
        *,
        world: World,
        rng: np.random.Generator,
        time_s: float | None = None,
        budget_m: float = inf,
        approach: bool = True,
        learn: bool = True,
        cancelled: Callable[[], bool] = never,
        on_visit: Callable[[Visit], None] = unseen,
    ) -> Episode:
        """Look for an object in a world, from where its robot is.

        The search gives up before a leg that would exceed ``budget_m``, and after a false alarm that
        has led it beyond. With ``approach`` a sighting is driven to and checked, without it the first
        sighting ends the search, as in the paper.
        ``cancelled`` is asked before every step, ``on_visit`` is told of every look.
        """
        query = Query(thing, world.position, time_s)
        belief = self.learner.predict(query, self.points)
        trip = Trip(query, belief, on_visit)
        trip.look(world, UNPLANNED)
        while trip.outcome is None:
            if cancelled():
                trip.outcome = Outcome.CANCELLED
            elif trip.sighting is not None:
                trip.approach(world, budget_m) if approach else trip.found()
            elif trip.plan is None:
                trip.plan = self._plan(query, trip, world.position, rng)
                trip.ahead = (trip.plan.route.order - 1).tolist()
            elif not trip.ahead:
                trip.outcome = trip.nothing_left()
            elif trip.driven_m + trip.next_leg_m(self.site, world.position, self.points) > budget_m:
                trip.outcome = Outcome.OUT_OF_BUDGET
            else:
                trip.drive_and_look(world, self.points)
        episode = trip.episode(self.points)
        if learn:
            self.learner.update(episode)
        return episode

    def plan(
        self,
        thing: str,
        *,
        start: ArrayLike,
        rng: np.random.Generator,
        time_s: float | None = None,
    ) -> Plan:
        """The tour that a search from ``start`` would follow as long as nothing unexpected happens."""
        x, y = self.site.free.require(start).tolist()
        query = Query(thing, (x, y), time_s)
        trip = Trip(query, self.learner.predict(query, self.points), unseen)
        return self._plan(query, trip, (x, y), rng)

    def teach(self, thing: str, position: ArrayLike, *, time_s: float | None = None) -> Episode:
        """Learn what a person tells: the object was found there."""
        episode = Episode.taught(thing, position, time_s=time_s)
        self.learner.update(episode)
        return episode

    def _plan(self, query: Query, trip: "Trip", here: Position, rng: np.random.Generator) -> Plan:
        """Plan from where the robot is, over the points that are left, with what is left to see."""
        travel = self.site.ways.travel(self.site.navigable(here), self.points)
        shut = np.array(sorted(trip.closed), dtype=np.int64) + 1
        travel[shut, :] = travel[:, shut] = inf
        belief = self._after_looks(trip)
        sees = mass = None
        if belief.mass is not None:
            sees, mass = self.site.sees(np.vstack([here, self.points])), belief.mass
        problem = SearchProblem(
            travel,
            np.concatenate([[0.0], belief.weight]),
            sees,
            mass,
            detection_rate=self.site.sensor.detection_rate,
        )
        route = self.planner(problem, rng=rng)
        return Plan(
            self.site, Query(query.thing, here, query.time_s), self.points, travel, belief, route
        )

    def _after_looks(self, trip: "Trip") -> Belief:
        """The belief after looks that did not see the object: mass where they looked is less likely.

        The last look is left out: it was taken where the robot is, and the planner counts that one.
        """
        belief, before = trip.belief, [visit.position for visit in trip.visits[:-1]]
        if belief.mass is None or not before:
            return belief
        mass, absent = ruled_out(self.site, belief.mass, before, absent=belief.absent)
        rate = self.site.sensor.detection_rate
        mean = np.clip(rate * (self.site.sees(self.points) @ mass), 0, 1)
        return Belief(mean, belief.width, belief.weight, mass, absent)


@dataclass
class Trip:
    """What has happened so far in one search."""

    query: Query
    belief: Belief
    on_visit: Callable[[Visit], None]
    plan: Plan | None = None
    first_plan: Plan | None = None
    ahead: list[int] = field(default_factory=list)  # points of the plan that are still to visit
    closed: set[int] = field(default_factory=set)  # points visited, or to which the way is blocked
    visits: list[Visit] = field(default_factory=list)
    false_alarms: list[Position] = field(default_factory=list)
    driven_m: float = 0.0
    sighting: Position | None = None
    position: Position | None = None
    outcome: Outcome | None = None

    def look(self, world: World, point: int) -> None:
        """Look around and remember it."""
        sighting = world.look(self.query.thing)
        self._note(world.position, point, None if self._is_old(sighting) else sighting)

    def drive_and_look(self, world: World, points: Points) -> None:
        """Drive to the next stop and look; plan anew if the drive does not end there."""
        self.first_plan = self.first_plan or self.plan
        point = self.ahead.pop(0)
        goal = as_position(points[point])
        drive = world.drive_to(goal, self.query.thing)
        self.driven_m += drive.driven_m
        if drive.status is DriveStatus.SIGHTED and not self._is_old(drive.sighting):
            self._note(drive.position, UNPLANNED, drive.sighting)
            self.plan = None
        elif drive.status is DriveStatus.ARRIVED and _gap(drive.position, goal) <= ASTRAY_M:
            self.closed.add(point)
            self.look(world, point)
        else:
            if drive.status is not DriveStatus.SIGHTED or drive.driven_m == 0:
                self.closed.add(point)
            self.look(world, UNPLANNED)
            self.plan = None

    def approach(self, world: World, budget_m: float = inf) -> None:
        """Drive to what was seen; end the search if it is the object, else plan anew, or give up."""
        assert self.sighting is not None
        drive, genuine = world.check(self.query.thing, self.sighting)
        if genuine:
            self.found()
        elif drive.status is DriveStatus.BLOCKED:
            self.position, self.outcome = self.sighting, Outcome.UNREACHABLE
        else:
            self.driven_m += drive.driven_m
            self.false_alarms.append(self.sighting)
            last = self.visits[-1]
            self.visits[-1] = Visit(last.point, last.position, last.driven_m, seen=False)
            self.plan = self.sighting = None
            if self.driven_m > budget_m:
                self.outcome = Outcome.OUT_OF_BUDGET
            else:
                self.look(world, UNPLANNED)

    def found(self) -> None:
        """End the search with success."""
        self.position, self.outcome = self.sighting, Outcome.FOUND

    def nothing_left(self) -> Outcome:
        """The outcome when no stop is left: not found, or no stop could be reached at all."""
        stuck = self.plan is not None and len(self.plan.route.unreachable) == len(self.plan.points)
        return Outcome.UNREACHABLE if stuck and not self.closed else Outcome.NOT_FOUND

    def next_leg_m(self, site: Site, here: Position, points: Points) -> float:
        """Metres to the next stop; 0 where there is no way, which the drive will notice."""
        metres = site.ways.metres(site.navigable(here), as_position(points[self.ahead[0]]))
        return metres if np.isfinite(metres) else 0.0

    def episode(self, points: Points) -> Episode:
        """The whole search."""
        assert self.outcome is not None
        plan = self.first_plan or self.plan
        route = None if plan is None else plan.route
        return Episode(
            self.query, points, tuple(self.visits), self.outcome, self.position, self.belief, route
        )

    def _note(self, at: Position, point: int, sighting: Position | None) -> None:
        visit = Visit(point, at, self.driven_m, seen=sighting is not None)
        self.visits.append(visit)
        self.sighting = sighting
        self.on_visit(visit)

    def _is_old(self, sighting: Position | None) -> bool:
        return sighting is None or any(_gap(sighting, old) <= SAME_M for old in self.false_alarms)


def ruled_out(
    site: Site, mass: ArrayLike, looks: ArrayLike, *, absent: float = 0.0
) -> tuple[NDArray[np.float64], float]:
    """Mass (cells,) and chance of absence after looks from points (n, 2) that did not see the object.

    By Bayes' rule: each look multiplies the mass of the cells in its view by the chance to miss the
    object there, and what is left is brought to a sum of 1 (to 0, should nothing be left).
    """
    missed = np.ones(len(site.cells))
    at = as_points(looks).reshape(-1, 2)
    if len(at):
        np.multiply.at(missed, site.sees(at).indices, 1 - site.sensor.detection_rate)
    left = np.asarray(mass, dtype=np.float64) * missed
    total = left.sum() + absent
    share = 1 / total if total > 0 else 0.0
    return left * share, absent * share


def spread(site: Site, count: int) -> Points:
    """So many points over the free space, or all if it has fewer; always the same ones."""
    candidates = site.free.points(SPACING_M)
    middle = candidates.mean(axis=0)
    unused = np.random.default_rng(0)  # with a start, nothing is drawn
    return farthest_points(site.free, min(count, len(candidates)), rng=unused, start=middle)


def _given(points: ArrayLike) -> NDArray[np.float64]:
    out = np.array(as_points(points).reshape(-1, 2))
    if not len(out):
        raise PlanError("A search needs at least one vantage point, and none is given.")
    out.flags.writeable = False
    return out


def _gap(here: Position, there: Position) -> float:
    return float(np.hypot(here[0] - there[0], here[1] - there[1]))
