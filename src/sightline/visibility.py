"""Who sees which cell: the robot's sensor, disc and line-of-sight visibility, sights on the way.

A 2-D map marks tables as obstacles; a camera looks over them, but not over walls. What is opaque:

- obstacles joined to the outside of the map, or around a room, are wall: opaque;
- free-standing obstacles are low furniture: looked over;
- with ``Places``, surfaces at least as high as the camera are opaque wherever they stand, lower ones
  are looked over, also where they touch a wall.

A ray may end up to ``sees_into_m`` deep in something opaque: things lie on shelves and on counters that
the map cannot tell from the wall. (Without places, something that leans on the far side of a thin wall
may so be taken as seen; naming it as a surface cures that.)
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sightline._kernels import raycast
from sightline._kernels.clearance import clearance
from sightline.maps import Mask, OccupancyMap, Points, as_points, grid_cells
from sightline.places import Scenario

Kind = Literal["line_of_sight", "disc"]
MAX_PAIRS = 500_000_000


@dataclass(frozen=True)
class Sensor:
    """What a look can see, and how well.

    ``kind="disc"`` is the paper's V(x): everything within ``range_m``. The field of view matters while
    driving; at a vantage point the robot looks all around. ``detection_rate`` is the chance that one
    look notices an object in view, ``false_alarm_rate`` the chance that it reports one that is not
    there; one look takes ``look_s`` seconds.
    """

    range_m: float = 2.5
    kind: Kind = "line_of_sight"
    field_of_view_rad: float = 2 * math.pi
    camera_height_m: float = 1.2
    sees_into_m: float = 0.7
    detection_rate: float = 1.0
    false_alarm_rate: float = 0.0
    look_s: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(
                f"kind {self.kind!r} is unknown; valid are {', '.join(get_args(Kind))}."
            )
        limits = {
            "range_m": (0.0, math.inf),
            "field_of_view_rad": (0.0, 2 * math.pi),
            "camera_height_m": (0.0, math.inf),
            "sees_into_m": (0.0, math.inf),
            "detection_rate": (0.0, 1.0),
            "false_alarm_rate": (0.0, 1.0),
            "look_s": (0.0, math.inf),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must lie in {low:g} to {high:g}, not {value}.")


def opaque_cells(home: Scenario | OccupancyMap, camera_height_m: float = 1.2) -> Mask:
    """Cells (rows, columns) that a camera at this height cannot look over."""
    if isinstance(home, OccupancyMap):
        return home.walls
    heights = home.heights_m
    return np.where(heights > 0, heights >= camera_height_m, home.map.walls)


def visible(
    home: Scenario | OccupancyMap, points: ArrayLike, cells: ArrayLike, sensor: Sensor
) -> sparse.csr_array:
    """Which cells (m, 2) are seen from which points (n, 2), looking all around: sparse (n, m) bool.

    In line of sight nothing off the map is seen, and from inside a wall or off the map nothing is.
    """
    view = _View(home, sensor)
    viewers, targets = (view.to_grid(at) for at in (points, cells))
    looking, there = view.can_look_from(viewers), view.is_on_map(targets)
    from_grid, to_grid = viewers[looking], targets[there]
    pairs = int(raycast.count_in_range(from_grid, to_grid, view.reach).sum())
    if pairs > MAX_PAIRS:
        raise ValueError(f"{pairs} pairs of point and cell are in range; the limit is {MAX_PAIRS}.")
    seen, first = np.empty(pairs, np.int32), np.empty(len(from_grid) + 1, np.int32)
    raycast.who_sees_what(
        view.room, view.width, from_grid, to_grid, view.reach, view.into, seen, first
    )
    counts = np.zeros(len(viewers), np.int64)
    counts[looking] = np.diff(first)
    columns = np.flatnonzero(there)[seen[: first[-1]]]
    rows = np.concatenate([[0], np.cumsum(counts)])
    ones = np.ones(len(columns), dtype=bool)
    return sparse.csr_array((ones, columns, rows), shape=(len(viewers), len(targets)))


def sights_on_the_way(
    home: Scenario | OccupancyMap,
    path: ArrayLike,
    cells: ArrayLike,
    sensor: Sensor,
    *,
    step_m: float = 0.1,
) -> NDArray[np.float64]:
    """Metres driven along a polyline (n, 2) until each cell (m, 2) comes into view; inf if it does not.

    The robot looks ahead with its field of view, every ``step_m`` and at both ends of each leg.
    """
    corners = as_points(path).reshape(-1, 2)
    if not 0 < step_m < np.inf:
        raise ValueError(f"step_m must be above 0 and finite, not {step_m}.")
    if not len(corners):
        raise ValueError("A path needs at least one position.")
    poses, driven = _poses_along(corners, step_m)
    view = _View(home, sensor)
    at = np.column_stack([view.to_grid(poses[:, :2]), poses[:, 2] - view.on.origin[2]])
    looking = view.can_look_from(at[:, :2])
    targets = view.to_grid(cells)
    there = view.is_on_map(targets)
    index = np.empty(int(there.sum()), np.int64)
    half = sensor.field_of_view_rad / 2
    raycast.first_sights(
        view.room, view.width, at[looking], targets[there], view.reach, half, view.into, index
    )
    out = np.full(len(targets), np.inf)
    out[there] = np.where(index >= 0, np.append(driven[looking], np.inf)[index], np.inf)
    return out


def _poses_along(corners: Points, step_m: float) -> tuple[Points, NDArray[np.float64]]:
    """Poses (x, y, heading) at most ``step_m`` apart, and the metres driven to each."""
    poses, driven = [], []
    before = 0.0
    for start, end in pairwise(corners):
        length = float(np.hypot(*(end - start)))
        if length == 0:
            continue
        share = np.linspace(0, 1, int(np.ceil(length / step_m - 1e-9)) + 1)[:, None]
        heading = np.full((len(share), 1), math.atan2(*(end - start)[::-1]))
        poses.append(np.hstack([start + share * (end - start), heading]))
        driven.append(before + share[:, 0] * length)
        before += length
    if not poses:
        return np.array([[*corners[0], 0.0]]), np.zeros(1)
    return np.concatenate(poses), np.concatenate(driven)


class _View:
    """A home as the ray kernels want it: lengths in cells of a padded grid."""

    def __init__(self, home: Scenario | OccupancyMap, sensor: Sensor) -> None:
        self.on = home if isinstance(home, OccupancyMap) else home.map
        resolution = self.on.resolution_m
        self.reach = sensor.range_m / resolution + 1e-9
        self.into = sensor.sees_into_m / resolution
        self.width = self.on.shape[1] + 2
        if sensor.kind == "disc":
            self.room = np.empty(0)
        else:
            opaque = np.pad(opaque_cells(home, sensor.camera_height_m), 1, constant_values=True)
            self.room = clearance(opaque).ravel()

    def to_grid(self, points: ArrayLike) -> Points:
        """Positions (n, 2) in padded cells."""
        return np.ascontiguousarray(self.on.to_grid(as_points(points).reshape(-1, 2)) + 1)

    def is_on_map(self, grid: Points) -> Mask:
        """Whether positions are on the map; to a disc it does not matter."""
        if not self.room.size:
            return np.ones(len(grid), dtype=bool)
        return self.on.at_cells(np.ones(self.on.shape, dtype=bool), grid_cells(grid - 1), False)

    def can_look_from(self, grid: Points) -> Mask:
        """Whether a camera can be at positions: on the map and in nothing opaque."""
        if not self.room.size:
            return np.ones(len(grid), dtype=bool)
        clear = self.room.reshape(-1, self.width)[1:-1, 1:-1] > 0
        return self.on.at_cells(clear, grid_cells(grid - 1), False)
