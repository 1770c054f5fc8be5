"""The fast, exact world: a point that drives shortest paths over a map and looks around."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import UnknownObjectError
from sightline.maps import Points, as_points
from sightline.places import Scenario
from sightline.records import Belief, Episode, Outcome, Position, Query, Route, Visit
from sightline.site import Site
from sightline.visibility import Sensor, sights_on_the_way, visible
from sightline.worlds.protocol import Drive, DriveStatus

GRASP_M = 0.8  # within so many metres of an object, or as near as the free space comes
DIVERTED = 0.5  # share of a blocked leg that is driven before the robot notices


@dataclass(frozen=True)
class Troubles:
    """What can go wrong in a grid world. All off: the plain case of the paper.

    ``blind_rate`` is the chance that nothing at all is noticed in a whole episode (the paper's P(E)),
    ``blocked_rate`` the chance that a leg is blocked halfway, ``position_noise_m`` the standard
    deviation of where a seen object is taken to be, along each axis. Misses and false alarms of single
    looks are the sensor's. ``sees_while_driving`` is no trouble but belongs here: whether the robot
    sees things on its way.
    """

    blind_rate: float = 0.0
    blocked_rate: float = 0.0
    position_noise_m: float = 0.0
    sees_while_driving: bool = False

    def __post_init__(self) -> None:
        for name in ("blind_rate", "blocked_rate"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ValueError(f"{name} must lie in 0 to 1, not {value}.")
        if not 0 <= self.position_noise_m < math.inf:
            raise ValueError(
                f"position_noise_m must be at least 0 and finite, not {self.position_noise_m}."
            )


@dataclass
class _Scene:
    """One episode's state: where the robot is, where each object that was asked for lies."""

    robot: Position
    blind: bool
    lying: dict[str, Points] = field(default_factory=dict)


class GridWorld:
    """A home with its objects, drawn anew for each episode, and a robot in it.

    ``home`` is a scenario or a ``Site``. Objects lie where ``Scenario.sample_position`` puts them, in
    ``instances`` copies (one unless the mapping says otherwise); the start is uniform over the free
    space. ``reset`` draws the next episode, or takes what it is given. The household and the sensor have
    random streams of their own, so that what one method does cannot disturb the next episode.
    """

    def __init__(
        self,
        home: Scenario | Site,
        *,
        rng: np.random.Generator,
        sensor: Sensor | None = None,
        troubles: Troubles | None = None,
        instances: dict[str, int] | None = None,
    ) -> None:
        self.site = home if isinstance(home, Site) else Site.of(home, sensor=sensor)
        if isinstance(home, Site) and sensor is not None:
            raise ValueError("A Site brings its sensor; give one or the other.")
        self.troubles = troubles or Troubles()
        self.instances = dict(instances or {})
        if any(count < 1 for count in self.instances.values()):
            raise ValueError(f"instances must be at least 1 of each object, not {self.instances}.")
        self._streams = rng.spawn(2)
        self.reset()

    def reset(
        self,
        *,
        start: ArrayLike | None = None,
        positions: dict[str, ArrayLike] | None = None,
        blind: bool | None = None,
    ) -> None:
        """Begin an episode: at a start, with objects at positions; what is not given is drawn."""
        standing = self.site.standing
        # a stream for each episode and object: what is asked for in one leaves the others as they are
        (household,), (self._sensing,) = (stream.spawn(1) for stream in self._streams)
        self._objects = dict(
            zip(self.site.home.objects, household.spawn(len(self.site.home.objects)), strict=True)
        )
        drawn = standing[household.integers(len(standing))]
        unlucky = bool(household.random() < self.troubles.blind_rate)
        x, y = (drawn if start is None else self.site.free.require(start)).tolist()
        self._scene = _Scene((x, y), unlucky if blind is None else blind)
        for thing, where in (positions or {}).items():
            self._scene.lying[thing] = as_points(where).reshape(-1, 2)

    @property
    def position(self) -> Position:
        """Where the robot is."""
        return self._scene.robot

    def lying(self, thing: str) -> Points:
        """The truth: where an object lies (instances, 2). For measurement, not for methods."""
        if thing not in self._scene.lying:
            if thing not in self.site.home.objects:
                valid = ", ".join(self.site.home.objects) or "none"
                raise UnknownObjectError(
                    f"{self.site.home.name} knows no object '{thing}'; valid are {valid}."
                )
            self._scene.lying[thing] = np.array(
                [
                    self.site.home.sample_position(thing, rng=self._objects[thing])
                    for _ in range(self.instances.get(thing, 1))
                ]
            )
        return self._scene.lying[thing]

    def least_way_m(self, thing: str) -> float:
        """The l of the protocol: metres from the robot to the nearest point that sees an instance."""
        here = self._scene.robot
        return min(self.site.least_way_m(here, position) for position in self.lying(thing))

    def drive_to(self, goal: Position, thing: str) -> Drive:
        """Drive the shortest path to a goal; blocked halfway where there is no way, or by chance."""
        here = self._scene.robot
        reachable = bool(self.site.free.contains(goal))
        metres = self.site.ways.metres(here, goal) if reachable else math.inf
        if metres == 0:
            return Drive(DriveStatus.ARRIVED, 0.0, here)
        rate = self.troubles.blocked_rate
        if not math.isfinite(metres):
            return Drive(DriveStatus.BLOCKED, 0.0, here)
        blocked = rate > 0 and bool(self._sensing.random() < rate)
        if blocked or self.troubles.sees_while_driving:
            return self._along(self.site.free.path(here, goal), thing, blocked)
        self._scene.robot = goal
        return Drive(DriveStatus.ARRIVED, metres, goal)

    def look(self, thing: str) -> Position | None:
        """Look all around: an instance in view is seen, or a false alarm, at the sensor's rates."""
        sensor, lying = self.site.sensor, self.lying(thing)
        if not self._scene.blind:
            for position in lying[self._in_view(self._scene.robot, lying)]:
                if sensor.detection_rate == 1 or self._sensing.random() < sensor.detection_rate:
                    return self._measured(position)
        if sensor.false_alarm_rate and self._sensing.random() < sensor.false_alarm_rate:
            return self._mistaken()
        return None

    def check(self, thing: str, sighting: Position) -> tuple[Drive, bool]:
        """Drive within reach of a sighting, and say whether an instance lies there."""
        goal = self.site.within_reach(self._scene.robot, sighting, GRASP_M)
        metres = self.site.ways.metres(self._scene.robot, goal)
        if not math.isfinite(metres):
            return Drive(DriveStatus.BLOCKED, 0.0, self._scene.robot), False
        self._scene.robot = goal
        gaps = np.hypot(*(self.lying(thing) - np.asarray(sighting)).T)
        near = max(0.3, 5 * self.troubles.position_noise_m)
        return Drive(DriveStatus.ARRIVED, metres, goal), bool((gaps <= near).any())

    def _in_view(self, here: Position, lying: Points) -> NDArray[np.bool_]:
        sensor = self.site.sensor
        if sensor.kind == "disc":
            return np.asarray(np.hypot(*(lying - here).T) <= sensor.range_m + 1e-9)
        views = visible(self.site.home, [here], lying, sensor)
        return np.asarray(views.toarray()[0], dtype=bool)

    def _measured(self, position: Points) -> Position:
        noise = self.troubles.position_noise_m
        x, y = (position + self._sensing.normal(0, noise, 2) if noise else position).tolist()
        return x, y

    def _mistaken(self) -> Position | None:
        """A false alarm: somewhere in view, at a cell that could hold an object."""
        cells = self.site.sees([self._scene.robot]).indices
        if not len(cells):
            return None
        x, y = self.site.cells[cells[self._sensing.integers(len(cells))]].tolist()
        return x, y

    def _along(self, path: Points, thing: str, blocked: bool) -> Drive:
        """Drive along a path, until an object is noticed or half of a blocked way is driven."""
        legs = np.hypot(*np.diff(path, axis=0).T)
        end = float(legs.sum()) * (DIVERTED if blocked else 1.0)
        sighting, status = None, DriveStatus.BLOCKED if blocked else DriveStatus.ARRIVED
        if self.troubles.sees_while_driving and not self._scene.blind:
            lying = self.lying(thing)
            noticed = sights_on_the_way(self.site.home, path, lying, self.site.sensor)
            rate = self.site.sensor.detection_rate
            for i in np.argsort(noticed):
                lucky = rate == 1 or self._sensing.random() < rate
                if 0 < noticed[i] <= end and lucky:
                    end, status = float(noticed[i]), DriveStatus.SIGHTED
                    sighting = self._measured(lying[i])
                    break
        if status is DriveStatus.ARRIVED:
            x, y = path[-1].tolist()
        else:
            x, y = self._on_path(path, legs, end)
            end = self.site.ways.metres((float(path[0][0]), float(path[0][1])), (x, y))
        self._scene.robot = (x, y)
        return Drive(status, end, (x, y), sighting)

    def _on_path(self, path: Points, legs: NDArray[np.float64], metres: float) -> Position:
        """The centre of the free cell nearest to where one is after some metres of a path."""
        driven = np.concatenate([[0.0], np.cumsum(legs)])
        at = [float(np.interp(metres, driven, path[:, axis])) for axis in (0, 1)]
        x, y = self.site.free.nearest(at).tolist()
        return x, y


def carry_out(
    site: Site,
    query: Query,
    route: Route,
    points: Points,
    travel: NDArray[np.float64],
    position: Points,
    belief: Belief | None = None,
) -> Episode:
    """Look at the start, then at the points of a route in its order, until the object is seen.

    The paper's episode without a world around it, for regret over thousands of episodes. Row 0 of
    ``travel`` (k + 1, k + 1) is the start, row j + 1 is ``points[j]``; ``position`` (2,) is where the
    object lies, which the robot learns when it sees it (the paper triangulates it).
    """
    start = np.asarray(query.start)
    places = np.vstack([start, points[route.order - 1]])
    sees = visible(site.home, places, position[None], site.sensor).toarray()[:, 0]
    visits = []
    driven, before = 0.0, 0
    for row, (x, y), seen in zip((0, *route.order.tolist()), places.tolist(), sees, strict=True):
        driven += float(travel[before, row])
        before = row
        visits.append(Visit(row - 1, (x, y), driven, bool(seen)))
        if seen:
            break
    found = visits[-1].seen
    x, y = position.tolist()
    return Episode(
        query,
        points,
        tuple(visits),
        Outcome.FOUND if found else Outcome.NOT_FOUND,
        (x, y) if found else None,
        belief,
        route,
    )
