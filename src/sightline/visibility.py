"""Who sees which cell: the robot's sensor, disc and line-of-sight visibility, sights on the way.

A 2-D map marks tables as obstacles; a camera looks over them, but not over walls. What is opaque:

- obstacles joined to the outside of the map are wall: opaque;
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
from sightline.maps import Mask, OccupancyMap, Points, as_points
from sightline.places import Scenario

Kind = Literal["line_of_sight", "disc"]


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
    """Which cells (m, 2) are seen from which points (n, 2), looking all around: sparse (n, m) bool."""
    viewers = as_points(points).reshape(-1, 2)
    targets = as_points(cells).reshape(-1, 2)
    view = _View(home, sensor)
    grid_viewers, grid_targets = view.to_grid(viewers), view.to_grid(targets)
    room = int(raycast.count_in_range(grid_viewers, grid_targets, view.reach).sum())
    seen, first = np.empty(room, np.int32), np.empty(len(viewers) + 1, np.int32)
    raycast.who_sees_what(
        view.room, view.width, grid_viewers, grid_targets, view.reach, view.into, seen, first
    )
    seen = seen[: first[-1]]
    ones = np.ones(len(seen), dtype=bool)
    return sparse.csr_array((ones, seen, first), shape=(len(viewers), len(targets)))


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
    if not step_m > 0:
        raise ValueError(f"step_m must be above 0, not {step_m}.")
    poses, driven = _poses_along(corners, step_m)
    view = _View(home, sensor)
    yaw = 0.0 if view.on is None else view.on.origin[2]
    at = np.column_stack([view.to_grid(poses[:, :2]), poses[:, 2] - yaw])
    targets = view.to_grid(as_points(cells).reshape(-1, 2))
    index = np.empty(len(targets), np.int64)
    half = sensor.field_of_view_rad / 2
    raycast.first_sights(view.room, view.width, at, targets, view.reach, half, view.into, index)
    return np.where(index >= 0, driven[index], np.inf)


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

    def to_grid(self, points: Points) -> Points:
        """Positions in padded cells; off the map they are moved onto its rim of walls."""
        rows, columns = self.on.shape
        grid = self.on.to_grid(points) + 1
        if self.room.size:
            grid = np.clip(grid, 0.5, (columns + 1.5, rows + 1.5))
        return np.ascontiguousarray(grid)
