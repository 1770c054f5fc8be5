"""The search as a Gymnasium environment: `Sightline/ObjectSearch-v0`, registered when this is imported.

It steps ``GridWorld`` and the same trip that ``Searcher`` steps; only who chooses the next point differs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from sightline.errors import PlacesError, UnknownObjectError
from sightline.maps import Points, as_points
from sightline.metrics import spl, time_to_find_s
from sightline.places import Scenario
from sightline.records import Belief, Episode, Outcome, Query
from sightline.search import UNPLANNED, Trip, spread, unseen
from sightline.site import Site
from sightline.visibility import Sensor
from sightline.worlds.grid import GridWorld, Troubles
from sightline.worlds.household import household

ENV_ID = "Sightline/ObjectSearch-v0"
MOST_STEPS = 200
DAY_S = 86_400.0
REFUSED = -1.0  # reward of an action that the mask forbids
OPTIONS = ("object", "start", "clock", "scenario")

Observation = dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Place:
    """One home to search in, with its vantage points (k, 2)."""

    site: Site
    points: Points

    @cached_property
    def longest_m(self) -> float:
        """No shortest way in this home is longer."""
        metres = self.site.ways.field(self.points[0])
        return 2 * float(metres[np.isfinite(metres)].max())

    @cached_property
    def cell_m2(self) -> float:
        """Area of a target cell."""
        gaps = np.diff(np.unique(self.site.cells[:, 0].round(6)))
        return float(gaps.min()) ** 2 if len(gaps) else 0.0


class ObjectSearchEnv(gymnasium.Env[Observation, int]):
    """A robot looks for an object; each action sends it to a vantage point, where it looks around.

    Action j < k drives to point j and looks, action k stops the search. ``info["action_mask"]`` (k + 1,)
    int8 is 0 for points that were visited or to which the way is blocked; such an action does nothing and
    costs 1. The reward is minus the metres driven, plus ``find_reward`` when the object is found. The
    search ends when the object is found, when no point is left, and at a stop; then, and not before,
    ``info`` has outcome, success, spl, l, p and time_to_find.

    Observations: ``pose`` (x, y) in metres; ``object``, its number in ``things``; ``visited`` (k,);
    ``context`` (k, 4), for each point x, y, metres of shortest way from the robot, and square metres
    that come into view there and were not looked at yet; ``clock``, the time of day in seconds.

    ``scenarios`` is one home or several (names, scenarios or sites); each episode takes place in one of
    them. ``points`` is how many vantage points each has, or, for a single home, the points (k, 2).
    With a ``household_seed`` each home has habits of its own, see ``household``; they survive ``reset``,
    whose seed draws the episode alone: home, object, start, time, and where the object lies today.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        scenarios: str | Scenario | Site | Sequence[str | Scenario | Site] = "kitchen1",
        *,
        points: ArrayLike | int = 25,
        sensor: Sensor | None = None,
        troubles: Troubles | None = None,
        household_seed: int | None = None,
        find_reward: float = 10.0,
        speed_m_s: float = 0.5,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            valid = ", ".join(self.metadata["render_modes"])
            raise ValueError(f"render_mode {render_mode!r} is unknown; valid are {valid} and None.")
        time_to_find_s(0.0, 0, speed_m_s=speed_m_s)  # refuses a speed that is none
        homes = [scenarios] if isinstance(scenarios, str | Scenario | Site) else list(scenarios)
        if not homes:
            raise ValueError("ObjectSearchEnv needs at least one scenario.")
        if len(homes) > 1 and not isinstance(points, int):
            raise ValueError("Points can be given for a single scenario; for several, how many.")
        sites = [_site(home, sensor, household_seed) for home in homes]
        self._places = {site.home.name: _Place(site, _points(site, points)) for site in sites}
        if len(self._places) < len(sites):
            raise ValueError("Each scenario can be named once, and two have the same name.")
        things = dict.fromkeys(thing for site in sites for thing in site.home.objects)
        self.things: tuple[str, ...] = tuple(things)
        self.render_mode = render_mode
        self._troubles, self._find_reward, self._speed_m_s = troubles, find_reward, speed_m_s
        self._place = next(iter(self._places.values()))
        self._trip: Trip | None = None
        self._over = False
        self.action_space = spaces.Discrete(len(self.points) + 1)  # type: ignore[assignment]
        self.observation_space = self._space()

    @property
    def site(self) -> Site:
        """The home of the present episode."""
        return self._place.site

    @property
    def points(self) -> Points:
        """The vantage points (k, 2) of the present episode."""
        return self._place.points

    @property
    def thing(self) -> str:
        """The object of the present episode."""
        return self._on_trip().query.thing

    @property
    def episode(self) -> Episode:
        """The search that has just ended, for learners to learn from."""
        if not self._over:
            raise ResetNeeded("The search has not ended; step until it does.")
        return replace(self._on_trip().episode(self.points), belief=None)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a search and look around at its start.

        ``options`` may fix the "scenario" (its name), the "object" (its name), the "start" (x, y) and the
        "clock" (seconds from 0 to a day); whatever is drawn is the same with and without them. What is
        seen at the start is found: the first action then ends the search.
        """
        super().reset(seed=seed)
        chosen = _known_options(options)
        name = list(self._places)[self.np_random.integers(len(self._places))]
        place = self._places[_one_of("scenario", chosen.get("scenario", name), self._places)]
        objects = place.site.home.objects
        thing = objects[self.np_random.integers(len(objects))]
        thing = _one_of("object", chosen.get("object", thing), objects, UnknownObjectError)
        clock_s = _clock(chosen.get("clock", self.np_random.uniform(0, DAY_S)))
        drawn = np.random.default_rng(self.np_random.integers(2**63))
        world = GridWorld(place.site, rng=drawn, troubles=self._troubles)
        if "start" in chosen:
            world.reset(start=chosen["start"])
        none = np.zeros(len(place.points))  # no learner is asked
        trip = Trip(Query(thing, world.position, clock_s), Belief(none, none, none), unseen)
        self._place, self._world, self._trip = place, world, trip
        self._rewarded_m, self._over = 0.0, False
        trip.look(world, UNPLANNED)
        self._follow_up()
        return self._observation(), {"action_mask": self._mask()}

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Drive to a point and look, or stop."""
        trip, stop = self._on_trip(), len(self.points)
        if self._over:
            raise ResetNeeded("The search has ended; call reset before the next step.")
        if not 0 <= int(action) <= stop:
            raise ValueError(f"action must lie in 0 to {stop} (stop), not {action}.")
        refused = trip.outcome is None and action != stop and int(action) in trip.closed
        if trip.outcome is None and action == stop:
            trip.outcome = Outcome.NOT_FOUND
        elif trip.outcome is None and not refused:
            trip.ahead = [int(action)]
            trip.drive_and_look(self._world, self.points)
            self._follow_up()
        if trip.outcome is None and len(trip.closed) == stop:
            trip.outcome = Outcome.NOT_FOUND
        self._over = trip.outcome is not None
        reward = self._rewarded_m - trip.driven_m + (REFUSED if refused else 0.0)
        reward += self._find_reward if trip.outcome is Outcome.FOUND else 0.0
        self._rewarded_m = trip.driven_m
        info: dict[str, Any] = {"action_mask": self._mask()}
        if self._over:
            info |= self.result()
        return self._observation(), float(reward), self._over, False, info

    def render(self) -> Any:
        """The state as a line of text, or as a picture (rows, columns, 3) of the way so far."""
        if self.render_mode == "ansi":
            return self._text()
        if self.render_mode == "rgb_array":
            return self._picture()
        return None

    def result(self) -> dict[str, Any]:
        """What ``info`` says at the end; of a search that a time limit cut off, the outcome is cancelled.

        It tells of the truth: for measurement, not for agents.
        """
        trip = self._on_trip()
        found, driven_m = trip.outcome is Outcome.FOUND, trip.driven_m
        lying = self._world.lying(trip.query.thing)
        least_m = min(self.site.least_way_m(trip.query.start, position) for position in lying)
        return {
            "outcome": str(trip.outcome or Outcome.CANCELLED),
            "success": found,
            "spl": float(spl(found, least_m, driven_m)),
            "l": least_m,
            "p": driven_m,
            "time_to_find": self._seconds(),
        }

    def _on_trip(self) -> Trip:
        if self._trip is None:
            raise ResetNeeded("No search has begun; call reset first.")
        return self._trip

    def _follow_up(self) -> None:
        """End the search at a sighting; where false alarms occur, drive there and check it first."""
        trip = self._on_trip()
        while trip.sighting is not None and trip.outcome is None:
            if self.site.sensor.false_alarm_rate:
                trip.approach(self._world)
            else:
                trip.found()

    def _mask(self) -> NDArray[np.int8]:
        out = np.ones(len(self.points) + 1, dtype=np.int8)
        trip = self._on_trip()
        out[list(trip.closed)] = 0
        if trip.outcome is not None:
            out[:-1] = 0
        return out

    def _observation(self) -> Observation:
        trip, here = self._on_trip(), self._world.position
        site, points = self.site, self.points
        looked = site.sees(np.array([visit.position for visit in trip.visits]))
        unseen_yet = np.ones(len(site.cells))
        unseen_yet[looked.indices] = 0.0
        new_m2 = self._place.cell_m2 * (site.sees(points) @ unseen_yet)
        visited = np.zeros(len(points), dtype=np.int8)
        visited[[visit.point for visit in trip.visits if visit.point != UNPLANNED]] = 1
        assert trip.query.time_s is not None
        clock_s = (trip.query.time_s + self._seconds()) % DAY_S
        return {
            "pose": np.array(here),
            "object": np.int64(self.things.index(trip.query.thing)),
            "visited": visited,
            "context": np.column_stack([points, site.ways.away(here, points), new_m2]),
            "clock": np.array([clock_s]),
        }

    def _seconds(self) -> float:
        trip = self._on_trip()
        look_s = self.site.sensor.look_s
        looks = len(trip.visits)
        return float(time_to_find_s(trip.driven_m, looks, speed_m_s=self._speed_m_s, look_s=look_s))

    def _space(self) -> spaces.Dict:
        """Bounds over all homes."""
        k, places = len(self.points), self._places.values()
        corners = np.vstack([_corners(place.site) for place in places])
        low, high = corners.min(axis=0), corners.max(axis=0)
        longest = max(place.longest_m for place in places)
        widest = max(place.cell_m2 * len(place.site.cells) for place in places)
        lower = np.tile([*low, 0.0, 0.0], (k, 1))
        upper = np.tile([*high, longest, widest], (k, 1))
        return spaces.Dict(
            {
                "pose": spaces.Box(low, high, dtype=np.float64),
                "object": spaces.Discrete(len(self.things)),
                "visited": spaces.MultiBinary(k),
                "context": spaces.Box(lower, upper, dtype=np.float64),
                "clock": spaces.Box(0.0, DAY_S, shape=(1,), dtype=np.float64),
            }
        )

    def _text(self) -> str:
        trip = self._on_trip()
        x, y = self._world.position
        looks = sum(visit.point != UNPLANNED for visit in trip.visits)
        return (
            f"{self.site.home.name}: {trip.query.thing}, at ({x:.2f}, {y:.2f}), {trip.driven_m:.1f} m "
            f"driven, {looks} of {len(self.points)} points visited, {trip.outcome or 'searching'}"
        )

    def _picture(self) -> NDArray[np.uint8]:
        from sightline import plot  # only when a picture is asked for
        from sightline.plot.home import POINT, REACH

        trip, home = self._on_trip(), self.site.home
        ax = plot.draw_places(
            home.places, plot.draw_map(home.map, but=home.heights_m > 0), names=()
        )
        ax.plot(*self.points.T, "o", ms=4, mfc="white", mec=POINT, zorder=6)
        stops = np.array([visit.position for visit in trip.visits])
        for here, there in pairwise(stops):
            ax.plot(*self.site.free.path(here, there).T, color=REACH, lw=1.6, zorder=6)
        plot.draw_points(stops, ax, numbered=False)
        ax.plot(*self._world.position, "^", ms=10, color=REACH, mec="white", zorder=8)
        if self._over and trip.position is not None:
            ax.plot(*trip.position, "*", ms=14, color=POINT, mec="white", zorder=9)
        ax.set_title(self._text(), fontsize=9, loc="left")
        figure, buffer = ax.get_figure(root=True), BytesIO()
        assert figure is not None  # axes are made with one
        figure.savefig(buffer, format="png", dpi=80)
        return np.asarray(Image.open(buffer).convert("RGB"), dtype=np.uint8)


def register() -> None:
    """Make the environment known to ``gymnasium.make``."""
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(
            ENV_ID, "sightline.gym_env:ObjectSearchEnv", max_episode_steps=MOST_STEPS
        )


def _site(home: str | Scenario | Site, sensor: Sensor | None, household_seed: int | None) -> Site:
    if isinstance(home, Site) and sensor is not None:
        raise ValueError("A Site brings its sensor; give one or the other.")
    scenario = Scenario.load(home) if isinstance(home, str) else home
    site = scenario if isinstance(scenario, Site) else Site.of(scenario, sensor=sensor)
    if not site.home.objects:
        raise PlacesError(
            f"{site.home.name} knows no objects to look for; name them in its places."
        )
    if household_seed is None:
        return site
    lived_in = household(site.home, rng=np.random.default_rng(household_seed))
    return Site(lived_in, site.free, site.sensor, site.cells)


def _points(site: Site, points: ArrayLike | int) -> Points:
    """Points at which the robot can stand: those that are given, or so many spread over the home."""
    if isinstance(points, int):
        laid = spread(site, points)
        if len(laid) < points:
            raise ValueError(f"points must be at most {len(laid)} here, not {points}.")
        return laid
    given = as_points(points).reshape(-1, 2)
    if not len(given):
        raise ValueError("points must hold at least one point (x, y), and none is given.")
    return np.array([site.free.require(point) for point in given])


def _corners(site: Site) -> Points:
    rows, columns = site.home.map.shape
    corners = np.array([[0, 0], [columns, 0], [columns, rows], [0, rows]], dtype=np.float64)
    return np.asarray(site.home.map.to_world(corners))


def _known_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    chosen = dict(options or {})
    for name in chosen:
        _one_of("option", name, OPTIONS)
    return chosen


def _one_of(
    what: str,
    name: Any,
    valid: Sequence[str] | Mapping[str, Any],
    error: type[Exception] = ValueError,
) -> str:
    if not isinstance(name, str) or name not in valid:
        raise error(f"There is no {what} {name!r}; valid are {', '.join(valid)}.")
    return name


def _clock(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < DAY_S:
        raise ValueError(f"clock must be seconds from 0 to below {DAY_S:g}, not {value!r}.")
    return float(value)


register()
