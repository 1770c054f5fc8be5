"""The robot's own drives: where it takes itself to be, the way it goes, and what it finds in that way.

Nothing here knows the truth: poses come from odometry and the lidar, obstacles from the map and from
lidar hits that the map does not explain.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from sightline.errors import MapError, UnreachableError
from sightline.mapfile import OCCUPIED
from sightline.maps import FreeSpace, OccupancyMap, Points, as_point
from sightline.records import Position
from sightline.worlds.localise import Pose, in_map, wrapped
from sightline.worlds.mpc import Limits, Mpc
from sightline.worlds.robot import RADIUS_M, Robot

PERIOD_S = 0.1  # of control
SCAN_EVERY = 2  # periods from one scan to the next
STRANGE_M = 0.2  # a hit so far from all that is mapped is of something new
SURE = 3  # scans that must have hit a cell before it counts as occupied
STOP_S = 2.0  # longest time that braking takes
HEAD_S, STEADY_RAD = 2.0, 0.02  # most time for turning the head, and when it is there
TRIES = 8  # new plans on one drive before it gives up


class Ended(StrEnum):
    """How a drive ended."""

    ARRIVED = "arrived"
    BLOCKED = "blocked"
    STOPPED = "stopped"  # by who was watching


class Localiser(Protocol):
    """Keeps an estimate of the robot's pose."""

    @property
    def pose(self) -> Pose:
        """Where the robot takes itself to be."""

    def moved(self, forward_m: float, turn_rad: float) -> None:
        """The wheels say that the robot went forward and turned."""

    def scanned(self, hits: Points) -> None:
        """The lidar was hit at points (m, 2) in the robot's frame."""


@dataclass(frozen=True, eq=False)
class Chart:
    """What the robot knows of a home.

    ``home`` is the furnished map on which it finds its ways, ``floor`` the same in finer cells for
    control, ``lidar`` what its lidar should see.
    """

    home: OccupancyMap
    floor: OccupancyMap
    lidar: OccupancyMap

    def with_obstacles(self, cells: NDArray[np.bool_]) -> tuple[OccupancyMap, OccupancyMap]:
        """The map and the floor with more occupied cells (rows, columns) of the map."""
        split = self.floor.shape[0] // self.home.shape[0]
        fine = cells.repeat(split, axis=0).repeat(split, axis=1)
        return _occupied(self.home, cells), _occupied(self.floor, fine)

    def strange(self, hits: Points) -> NDArray[np.bool_]:
        """Which hits (m, 2) nothing explains: neither what the lidar maps nor a mapped table."""
        on_map = self.home.contains(hits)
        known = self.lidar.look_up(self.lidar.clearance_m, hits, 0.0) <= STRANGE_M
        near = self.home.look_up(self.home.clearance_m, hits, 0.0) <= 0.0
        return np.asarray(on_map & ~known & ~near)


def _occupied(on: OccupancyMap, cells: NDArray[np.bool_]) -> OccupancyMap:
    return OccupancyMap(np.where(cells, OCCUPIED, on.occupancy), on.resolution_m, on.origin)


def free_floor(
    room: OccupancyMap, floor: OccupancyMap, radius_m: float, *, near: Position | None = None
) -> FreeSpace:
    """Where a robot can drive by the map and by the finer floor plan: one connected part.

    The map's cells ask for ``radius_m``, the finer ones of the floor for half a cell of the map less.
    The part is that of the cell nearest to a position, or the largest.
    """
    centres = room.centres(np.argwhere(np.ones(room.shape, dtype=bool))).reshape(*room.shape, 2)
    gaps = floor.look_up(floor.clearance_m, centres, 0.0)
    fits = room.free & (room.clearance_m >= radius_m - 1e-9)
    fits &= gaps >= radius_m - room.resolution_m / 2 - 1e-9
    parts, count = ndimage.label(fits)
    if not count:
        raise MapError(f"A robot of radius {radius_m} m fits nowhere on this floor.")
    if near is None:
        part = int(np.bincount(parts[parts > 0]).argmax())
    else:
        spot = FreeSpace(room, fits, radius_m).nearest(near)
        part = int(room.look_up(parts, spot, 0))
    return FreeSpace(room, parts == part, radius_m)


class Navigator:
    """Drives a robot to goals in a free space.

    ``on_tick`` is called after every period of control.
    """

    def __init__(
        self,
        robot: Robot,
        chart: Chart,
        free: FreeSpace,
        localiser: Localiser,
        *,
        limits: Limits | None = None,
        on_tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.robot, self.localiser = robot, localiser
        self._chart, self._on_tick = chart, on_tick
        self._counts = np.zeros(chart.home.shape, np.int64)
        self._room, self._floor = chart.home, chart.floor
        self._free = free
        self._mpc = Mpc(chart.floor, limits=limits or Limits(radius_m=RADIUS_M), period_s=PERIOD_S)
        self._ticks = 0
        self.ahead: Points = np.empty((0, 2))  # where control means to go next, for pictures
        self.way: Points = np.empty((0, 2))
        self.hits: Points = np.empty((0, 2))  # of the last scan, in the map

    @property
    def pose(self) -> Pose:
        """Where the robot takes itself to be."""
        return self.localiser.pose

    @property
    def found_blocked(self) -> Points:
        """Centres (n, 2) of the cells that are occupied though the map says they are not."""
        return self._room.centres(np.argwhere(self._counts >= SURE))

    def drive_to(self, goal: Position, *, watch: Callable[[], bool] = lambda: False) -> Ended:
        """Drive the shortest way to a goal, around what comes in the way, until ``watch`` says stop."""
        if not self._set_out(goal):
            return Ended.BLOCKED
        tries = 0
        while True:
            command = self._mpc.command(self.pose, *self.robot.speeds)
            if command.arrived:
                return Ended.ARRIVED
            self.ahead = command.predicted
            self._tick(command.speed_m_s, command.turn_rad_s)
            if watch():
                self.brake()
                return Ended.STOPPED
            if command.blocked or self._way_is_cut():
                tries += 1
                self.brake()
                if tries >= TRIES or not self._set_out(goal):
                    return Ended.BLOCKED

    def brake(self) -> None:
        """Come to rest."""
        limits = self._mpc.limits
        for _ in range(round(STOP_S / PERIOD_S)):
            speed, turn = self.robot.speeds
            if abs(speed) < 0.01 and abs(turn) < 0.02:
                break
            self._tick(
                _nearer_to_0(speed, limits.acceleration_m_s2 * PERIOD_S),
                _nearer_to_0(turn, limits.turn_acceleration_rad_s2 * PERIOD_S),
            )
        self._tick(0.0, 0.0)

    def look_to(self, bearing_rad: float) -> None:
        """Turn the head to a bearing, 0 being straight ahead, while the robot stands."""
        self.robot.turn_head(bearing_rad)
        for _ in range(round(HEAD_S / PERIOD_S)):
            self._tick(0.0, 0.0)
            if abs(wrapped(self.robot.head_rad - bearing_rad)) < STEADY_RAD:
                break

    def bearing(self, to: Position) -> float:
        """Where a position lies, from straight ahead."""
        x, y, yaw = self.pose
        return wrapped(float(np.arctan2(to[1] - y, to[0] - x)) - yaw)

    def _tick(self, speed_m_s: float, turn_rad_s: float) -> None:
        """One period: move, feel how far, and now and then look how far things are."""
        self.robot.roll(PERIOD_S, speed_m_s, turn_rad_s)
        self.localiser.moved(*self.robot.odometry())
        self._ticks += 1
        if self._ticks % SCAN_EVERY == 0:
            hits = self.robot.scan().hits
            self.localiser.scanned(hits)
            self.hits = in_map(self.pose, hits)
            self._note(self.hits)
        self._on_tick()

    def _note(self, hits: Points) -> None:
        """Count hits of what the map does not know; enough of them change the room."""
        cells = np.unique(self._room.cells_at(hits[self._chart.strange(hits)]), axis=0)
        if not len(cells):
            return
        rows, columns = cells.T
        self._counts[rows, columns] += 1
        if (self._counts[rows, columns] == SURE).any():
            self._room, self._floor = self._chart.with_obstacles(self._counts >= SURE)
            self._mpc.set_room(self._floor)

    def _set_out(self, goal: Position) -> bool:
        """Find the way to a goal in the room as it is known now; False if there is none."""
        x, y, _ = self.pose
        try:
            free = self._around((x, y))
            here = np.array([x, y])
            on_way = here if free.contains(here) else free.nearest(here)
            way = free.path(on_way, goal)
        except (MapError, UnreachableError):
            return False
        self.way = way if on_way is here else np.vstack([here, way])
        self._mpc.follow(self.way)
        return True

    def _around(self, here: Position) -> FreeSpace:
        """The free part of the room in which the robot is, or the one nearest to it."""
        if self._room is self._chart.home:
            return self._free
        return free_floor(self._room, self._floor, self._free.robot_radius_m, near=here)

    def _way_is_cut(self) -> bool:
        """Whether something new stands so near to the rest of the way that the robot would touch it."""
        if self._room is self._chart.home:
            return False
        rest = _ahead_of(self.way, as_point(self.pose[:2]))
        gaps = self._room.look_up(self._room.clearance_m, rest, 0.0)
        before = self._chart.home.look_up(self._chart.home.clearance_m, rest, 0.0)
        return bool(((gaps < RADIUS_M) & (gaps < before - 1e-9)).any())


def _ahead_of(way: Points, here: Points, *, step_m: float = 0.05) -> Points:
    """Positions (n, 2) along a polyline from the one nearest to ``here`` on."""
    legs = np.hypot(*np.diff(way, axis=0).T)
    driven = np.concatenate([[0.0], np.cumsum(legs)])
    along = np.linspace(0.0, driven[-1], max(2, int(driven[-1] / step_m)))
    dense = np.column_stack([np.interp(along, driven, way[:, axis]) for axis in (0, 1)])
    return np.asarray(dense[np.hypot(*(dense - here).T).argmin() :])


def _nearer_to_0(value: float, step: float) -> float:
    return float(np.sign(value) * max(0.0, abs(value) - step))
