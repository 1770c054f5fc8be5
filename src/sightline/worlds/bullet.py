"""The physical world: a home in the physics engine, and a robot with a body that searches it.

The robot knows its map, what its sensors say, and nothing else: it localises itself, drives by
model-predictive control, sees through its camera and a detector. The truth is kept beside it, for
measurement.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite, pi
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.detect import Detection, Detector, Frame, SimulatedDetector
from sightline.errors import UnknownObjectError, WorldError
from sightline.maps import Points, as_point, as_points
from sightline.places import Scenario
from sightline.records import Position, as_position
from sightline.site import Site
from sightline.visibility import Sensor, visible
from sightline.worlds.engine import Engine
from sightline.worlds.grid import GRASP_M
from sightline.worlds.localise import NoisyTruth, ParticleFilter, Pose
from sightline.worlds.navigator import Chart, Ended, Localiser, Navigator, free_floor
from sightline.worlds.protocol import Drive, DriveStatus
from sightline.worlds.robot import RADIUS_M, Build, Robot
from sightline.worlds.scenes import Scene
from sightline.worlds.stage import Truth, put_boxes, put_things
from sightline.worlds.things import thing as shape_of

ROBOT_RADIUS_M = 0.35  # of the free space: the body's 0.25 m, and room for errors of control
LEAST_SPARE_M = 0.05
TRUE_POSITIVE_RATE = 0.846  # the paper's detector
SENSOR = Sensor(range_m=2.5, detection_rate=TRUE_POSITIVE_RATE, false_alarm_rate=0.01)
GLANCE_TICKS = 4  # periods of control from one picture to the next while driving
SWEEP_RAD = (0.0, 0.9, 0.0, -0.9)  # where the head looks while driving, in turns
STOP_M = 0.1  # errors of a stop and of a sighting
REACH_M = GRASP_M - STOP_M  # to stop within so much of a sighting
SAME_M = 0.4  # detections so near to each other are of the same thing
BEFORE_M, SIDE_M = 0.5, 4.0  # just before a sighting, and from how far that may be seen
FARTHER_M = (
    0.05,
    0.3,
    0.6,
)  # spots so much farther than the nearest, if the way to that is blocked
SPOT_GAP_M = 0.4  # between spots that are tried
CLOSE_LOOKS = 3  # places from which a sighting is checked
BESIDE_M = 3.0  # within so much of it
APART_M = 1.5  # between these places, so that the detector errs anew
IN_VIEW_PX = 20  # so many pixels of a thing make it count as having been in view

Localisation = Literal["particles", "noisy truth"]


@dataclass(frozen=True, eq=False)
class Moment:
    """What can be shown of one picture taken: for films, not for methods."""

    time_s: float
    robot: Pose
    estimate: Pose
    frame: Frame
    detections: tuple[Detection, ...]
    hits: Points
    way: Points
    ahead: Points
    driven_m: float


class BulletWorld:
    """A furnished home in physics, its movable objects, and the robot of ``robot.urdf``.

    ``home`` is a scenario or a ``Site`` (whose free space must leave the robot's body 5 cm to spare).
    ``reset`` draws the next episode: where each object lies, the start, and ``boxes`` that stand in the
    free space and on no map. Without a ``detector`` it is a ``SimulatedDetector`` with the rate of the
    paper; one of these is reset for each episode. ``on_moment`` is shown every picture taken.
    """

    def __init__(
        self,
        home: Scenario | Site,
        *,
        rng: np.random.Generator,
        detector: Detector | None = None,
        sensor: Sensor | None = None,
        boxes: int = 0,
        localisation: Localisation = "particles",
        build: Build | None = None,
        on_moment: Callable[[Moment], None] | None = None,
    ) -> None:
        if isinstance(home, Site) and sensor is not None:
            raise ValueError("A Site brings its sensor; give one or the other.")
        if localisation not in get_args(Localisation):
            valid = ", ".join(get_args(Localisation))
            raise ValueError(f"localisation {localisation!r} is unknown; valid are {valid}.")
        if not 0 <= boxes <= 20:
            raise ValueError(f"boxes must lie in 0 to 20, not {boxes}.")
        self.site = home if isinstance(home, Site) else physical_site(home, sensor=sensor)
        if self.site.free.robot_radius_m < RADIUS_M + LEAST_SPARE_M - 1e-9:
            raise WorldError(
                f"The free space is for a robot of {self.site.free.robot_radius_m:g} m radius; the "
                f"robot in the physical world needs at least {RADIUS_M + LEAST_SPARE_M:g} m."
            )
        self.boxes, self.on_moment = boxes, on_moment
        self._localisation, self._build = localisation, build or Build()
        self._scene = Scene.of(self.site.home)
        self._chart = Chart(
            self.site.home.map,
            self._scene.floor_plan(),
            self._scene.slice_at(self._build.lidar_height_m),
        )
        self._things = {name: shape_of(name) for name in self.site.home.objects}
        self._streams = rng.spawn(2)
        if detector is None:
            sizes = {name: one.outline_m for name, one in self._things.items()}
            detector = SimulatedDetector(
                rng=self._streams[1], sizes=sizes, true_positive_rate=TRUE_POSITIVE_RATE
            )
        self._detector = detector
        self._engine = Engine(self._scene)
        self.reset()

    def reset(
        self,
        *,
        start: ArrayLike | None = None,
        yaw: float | None = None,
        positions: Mapping[str, ArrayLike] | None = None,
        boxes: ArrayLike | None = None,
    ) -> None:
        """Begin an episode: a start, objects and boxes at positions; what is not given is drawn."""
        given = {name: self._on_map(name, at) for name, at in (positions or {}).items()}
        at_boxes = None if boxes is None else as_points(boxes).reshape(-1, 2)
        stand = None if start is None else self.site.free.require(start)
        if yaw is not None and not isfinite(yaw):
            raise ValueError(f"yaw must be finite, not {yaw}.")
        # nothing is drawn before all that is given has been checked: a refused reset shifts no episode
        (household,), (sensing,) = (stream.spawn(1) for stream in self._streams)
        drawn = household.integers(len(self.site.standing)), household.uniform(-pi, pi)
        at = self.site.standing[drawn[0]] if stand is None else stand
        pose = (*as_position(at), float(drawn[1] if yaw is None else yaw))
        if not self._engine.is_open:
            self._engine = Engine(self._scene)
        self._engine.clear()
        put_things(self._engine, self._scene, self._things, given, rng=household)
        put_boxes(self._engine, self.site, at, self.boxes, at_boxes, rng=household)
        body, localising, detecting = sensing.spawn(3)
        self.robot = Robot(self._engine, pose, rng=body, build=self._build)
        self._nav = Navigator(
            self.robot, self._chart, self.site.free, self._localiser(pose, localising),
            on_tick=self._ticked,
        )  # fmt: skip
        if isinstance(self._detector, SimulatedDetector):
            self._detector.reset(rng=detecting)
        self._dismissed: list[tuple[str, Position]] = []
        self._names = tuple(self._engine.things)
        self._last = self.robot.pose
        self._glances = self._unseen = 0
        self.truth = Truth(as_position(at))

    def close(self) -> None:
        """End the simulation."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *why: object) -> None:
        self.close()

    @property
    def position(self) -> Position:
        """Where the robot takes itself to be."""
        x, y, _ = self._nav.pose
        return x, y

    @property
    def time_s(self) -> float:
        """Simulated seconds since the episode began."""
        return self._engine.time_s

    def lying(self, thing: str) -> Points:
        """The truth: where an object lies (1, 2). For measurement, not for methods."""
        self._known(thing)
        return np.array([self._engine.where(self._engine.things[thing])[:2]])

    def least_way_m(self, thing: str) -> float:
        """The l of the protocol: metres from the start to the nearest point that sees the object."""
        return self.site.least_way_m(self.truth.start, self.lying(thing)[0])

    def in_grasp(self, thing: str) -> bool:
        """Whether the robot is within grasp range of an object, or of the navigable point nearest to it.

        Or as near to the object as that point, give or take 0.1 m: there may be several such points.
        """
        lying, here = as_position(self.lying(thing)[0]), self.robot.pose
        nearest = as_position(self.site.free.nearest(lying))
        near = max(GRASP_M, _gap(nearest, lying) + STOP_M)
        return _gap(here, lying) <= near or _gap(here, nearest) <= GRASP_M

    def is_at(self, thing: str, position: Position) -> bool:
        """Whether a position is where an object lies, give or take 0.4 m."""
        return _gap(as_position(self.lying(thing)[0]), position) <= SAME_M

    def drive_to(self, goal: Position, thing: str) -> Drive:
        """Drive to a goal with an eye open for an object; stop when it is seen."""
        self._known(thing)
        seen: list[Position] = []

        def watch() -> bool:
            self._glances += 1
            if self._glances % GLANCE_TICKS:
                return False
            sighting = _surest(self._detections(thing))
            self._sweep()
            if sighting is not None:
                seen.append(sighting)
            return bool(seen)

        return self._drive(goal, watch, seen)

    def look(self, thing: str) -> Position | None:
        """Pan the camera all around; the surest detection of the object, if there is any."""
        self._known(thing)
        count = ceil(2 * pi / (0.9 * self._build.field_of_view_rad))
        seen = []
        for i in range(count):
            self._nav.look_to(2 * pi * i / count)
            seen += self._detections(thing)
        self._nav.look_to(0.0)
        return _surest(seen)

    def check(self, thing: str, sighting: Position) -> tuple[Drive, bool]:
        """Drive within grasp range of a sighting, look closely, and say whether the object lies there."""
        self._known(thing)
        before, sighted_from = self.truth.driven_m, self.position
        side = self._same_side(sighting, sighted_from)
        arrived = self._come_near(sighting, side)
        genuine = arrived and self._is_convinced(thing, sighting, sighted_from, side)
        if not genuine:
            self._dismissed.append((thing, sighting))
        elif _gap(self.position, sighting) > GRASP_M:
            arrived = self._come_near(sighting, side)
        status = DriveStatus.ARRIVED if arrived else DriveStatus.BLOCKED
        return Drive(status, self.truth.driven_m - before, self.position), genuine and arrived

    def _same_side(self, sighting: Position, sighted_from: Position) -> NDArray[np.bool_]:
        """From which standing points (n,) one sees what is just before a sighting.

        A thing on a shelf by a wall may be near to points on the other side of the wall. What lies a
        little nearer to where it was sighted from is in view on this side only.
        """
        away = np.asarray(sighted_from) - np.asarray(sighting)
        before = np.asarray(sighting) + away * min(1.0, BEFORE_M / max(1e-9, np.hypot(*away)))
        shallow = replace(self.site.sensor, range_m=SIDE_M, sees_into_m=BEFORE_M / 2)
        views = visible(self.site.home, self.site.standing, before[None], shallow)
        return np.asarray(np.diff(views.indptr) > 0)

    def _come_near(self, sighting: Position, side: NDArray[np.bool_]) -> bool:
        """Drive within grasp range of a sighting; to another spot if the way to the first is blocked."""
        tried: list[Position] = []
        for among in (side, None):
            for farther_m in FARTHER_M:
                goal = self.site.spot_near(
                    self.site.navigable(self.position), sighting, REACH_M,
                    farther_m=farther_m, among=among, apart_from=tried, gap_m=SPOT_GAP_M,
                )  # fmt: skip
                if goal is None:
                    continue
                if self._drive(goal, self._unwatched, []).status is DriveStatus.ARRIVED:
                    return True
                tried.append(goal)
        return False

    def _is_convinced(
        self, thing: str, sighting: Position, sighted_from: Position, side: NDArray[np.bool_]
    ) -> bool:
        """Whether close looks show the object: from here and, while in doubt, from places beside.

        A detector that erred at one place is likely to err there again. So a look counts that is taken
        well apart from where the sighting was made. Where there are too few such places, the closest
        look decides.
        """
        views, closest = [sighted_from], None
        while True:
            shown = self._confirms(thing, sighting)
            if shown and _gap(self.position, sighted_from) >= APART_M:
                return True
            views.append(self.position)
            closest = shown if closest is None else closest
            if len(views) > CLOSE_LOOKS:
                return False
            beside = self.site.spot_near(
                self.site.navigable(self.position),
                sighting,
                BESIDE_M,
                among=side,
                apart_from=views,
                gap_m=APART_M,
            )
            if beside is None:
                return closest
            if self._drive(beside, self._unwatched, []).status is not DriveStatus.ARRIVED:
                return closest

    def _drive(self, goal: Position, watch: Callable[[], bool], seen: list[Position]) -> Drive:
        before = self.truth.driven_m
        self.robot.turn_head(0.0)
        ended = self._nav.drive_to(goal, watch=watch)
        self.truth.blocked += ended is Ended.BLOCKED
        status = {
            Ended.ARRIVED: DriveStatus.ARRIVED,
            Ended.BLOCKED: DriveStatus.BLOCKED,
            Ended.STOPPED: DriveStatus.SIGHTED,
        }[ended]
        driven = self.truth.driven_m - before
        return Drive(status, driven, self.position, seen[-1] if seen else None)

    def _confirms(self, thing: str, sighting: Position) -> bool:
        """Whether a look straight at a sighting shows the object there."""
        self._nav.look_to(self._nav.bearing(sighting))
        return any(_gap(position, sighting) <= SAME_M for _, position in self._detections(thing))

    def _detections(self, thing: str) -> list[tuple[float, Position]]:
        """Score and position of each detection of a thing in a new picture, those dismissed left out."""
        frame = self._frame()
        for number, name in enumerate(self._names):
            shown = np.count_nonzero(frame.segments == number)
            self.truth.in_view[name] += int(shown >= IN_VIEW_PX)
        found = self._detector.detect(frame)
        if self.on_moment is not None:
            self.on_moment(self._moment(frame, found))
        seen = [
            (one.score, (one.position[0], one.position[1]))
            for one in found
            if one.thing == thing and one.position is not None
        ]
        self.truth.sighted[thing] += any(self.is_at(thing, position) for _, position in seen)
        return [one for one in seen if not self._is_dismissed(thing, one[1])]

    def _frame(self) -> Frame:
        """What the camera shows now, from where the robot takes itself to be."""
        picture = self._engine.picture(self.robot.camera(self.robot.pose))
        segments = np.full(picture.bodies.shape, -1, np.int32)
        for number, name in enumerate(self._names):
            segments[picture.bodies == self._engine.things[name]] = number
        return Frame(
            picture.rgb, picture.depth_m, self.robot.camera(self._nav.pose), segments, self._names,
            self.time_s,
        )  # fmt: skip

    def _unwatched(self) -> bool:
        """Never stop a drive; while nobody looks out for anything, show pictures all the same."""
        self._unseen += 1
        if self.on_moment is not None and self._unseen % GLANCE_TICKS == 0:
            self.on_moment(self._moment(self._frame(), ()))
        return False

    def _moment(self, frame: Frame, found: tuple[Detection, ...]) -> Moment:
        nav = self._nav
        return Moment(
            self.time_s, self.robot.pose, nav.pose, frame, found, nav.hits, nav.way, nav.ahead,
            self.truth.driven_m,
        )  # fmt: skip

    def _is_dismissed(self, thing: str, position: Position) -> bool:
        return any(name == thing and _gap(old, position) <= SAME_M for name, old in self._dismissed)

    def _sweep(self) -> None:
        """Have the head look a little aside, the other side next time."""
        self.robot.turn_head(SWEEP_RAD[self._glances // GLANCE_TICKS % len(SWEEP_RAD)])

    def _ticked(self) -> None:
        """Keep the account of what truly happens."""
        now = self.robot.pose
        self.truth.driven_m += _gap(now[:2], self._last[:2])
        self.truth.collisions = self.robot.contacts
        self.truth.error_m.append(_gap(now[:2], self._nav.pose[:2]))
        self._last = now

    def _localiser(self, pose: Pose, rng: np.random.Generator) -> Localiser:
        if self._localisation == "noisy truth":
            return NoisyTruth(lambda: self.robot.pose, rng=rng)
        return ParticleFilter(self._chart.lidar, pose, rng=rng)

    def _on_map(self, thing: str, position: ArrayLike) -> Points:
        """A position that is asked for a thing, checked."""
        self._known(thing)
        at = as_point(position)
        if not self.site.home.map.contains(at):
            raise WorldError(f"The {thing} cannot lie at {at.tolist()}: that is outside the map.")
        return at

    def _known(self, thing: str) -> None:
        if thing not in self._things:
            valid = ", ".join(self._things) or "none"
            raise UnknownObjectError(
                f"{self.site.home.name} knows no object '{thing}'; valid are {valid}."
            )


def physical_site(
    home: Scenario, *, sensor: Sensor | None = None, robot_radius_m: float = ROBOT_RADIUS_M
) -> Site:
    """A home for the robot of the physical world: its camera as a sensor, room for its body."""
    free = free_floor(home.map, Scene.of(home).floor_plan(), robot_radius_m)
    return Site(home, free, sensor or SENSOR, home.target_cells())


def _surest(found: list[tuple[float, Position]]) -> Position | None:
    return max(found, key=lambda one: one[0], default=(-inf, None))[1]


def _gap(here: tuple[float, ...], there: tuple[float, ...]) -> float:
    return float(np.hypot(here[0] - there[0], here[1] - there[1]))
