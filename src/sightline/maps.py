"""Occupancy maps and the part of them in which a robot can drive.

Frames and units: positions are metres in the map frame (x, y); a cell is (row, column) with row 0 at
the bottom, as in ``nav_msgs/OccupancyGrid``. The map's origin is the pose (x, y, yaw) of the lower-left
corner of cell (0, 0). A position belongs to the cell that holds it; a cell's position is its centre.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from sightline import mapfile
from sightline._kernels.clearance import clearance
from sightline.distance import Geodesics, eight_connected_field
from sightline.errors import MapError, UnreachableError
from sightline.mapfile import FREE, MAX_CELLS, OCCUPIED, UNKNOWN

ROOM_M2 = 2.0  # free floor that makes a room of what encloses it; the legs of a table enclose less
FAR = 2**40  # cells; farther than any map, and still a whole number

Points = NDArray[np.float64]  # (..., 2) metres, map frame
Cells = NDArray[np.int64]  # (..., 2) row, column
Mask = NDArray[np.bool_]  # (rows, columns)
Field = NDArray[np.float64]  # (rows, columns)


def as_points(points: ArrayLike) -> Points:
    """Check positions: an array of finite metres whose last axis is (x, y)."""
    array = np.asarray(points, dtype=np.float64)
    if array.shape == (0,):
        array = array.reshape(0, 2)
    if array.ndim == 0 or array.shape[-1] != 2:
        raise ValueError(f"Positions must have a last axis of length 2, not shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError("Positions must be finite numbers of metres.")
    return array


def as_point(point: ArrayLike) -> Points:
    """Check one position: an array (2,) of finite metres."""
    array = as_points(point)
    if array.shape != (2,):
        raise ValueError(f"One position (x, y) is needed, not an array of shape {array.shape}.")
    return array


@dataclass(frozen=True, eq=False)
class OccupancyMap:
    """What is known of a floor: per cell 0 free, 100 occupied, everything else unknown.

    The set X of the paper. ``occupancy`` is (rows, columns) int8, row 0 at the bottom, and read-only.
    """

    occupancy: NDArray[np.int8]
    resolution_m: float
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        values = np.asarray(self.occupancy)
        if values.dtype == np.bool_:
            values = np.where(values, OCCUPIED, FREE)
        if not np.issubdtype(values.dtype, np.integer):
            raise MapError(f"Occupancy must be integers or booleans, not {values.dtype}.")
        if values.size and (values.min() < UNKNOWN or values.max() > OCCUPIED):
            raise MapError(f"Occupancy must lie in -1..100, not {values.min()}..{values.max()}.")
        cells = values.astype(np.int8)
        if cells.ndim != 2 or cells.size == 0:
            raise MapError(f"A map needs two axes with at least one cell, not shape {cells.shape}.")
        if cells.size > MAX_CELLS:
            raise MapError(f"A map of {cells.size} cells is over the limit of {MAX_CELLS}.")
        if not (np.isfinite(self.resolution_m) and self.resolution_m > 0):
            raise MapError(f"Resolution must be above 0 m per cell, not {self.resolution_m}.")
        if len(self.origin) != 3 or not np.isfinite(self.origin).all():
            raise MapError(f"Origin must be finite x, y and yaw, not {self.origin}.")
        cells.flags.writeable = False
        object.__setattr__(self, "occupancy", cells)
        object.__setattr__(self, "origin", tuple(float(value) for value in self.origin))

    @classmethod
    def load(
        cls, path: str | Path, *, rules: mapfile.Rules = "nav2", unknown_205: bool = False
    ) -> "OccupancyMap":
        """Load a Nav2 ``map.yaml`` exactly as the map server does.

        ``rules``: "nav2" for Jazzy and later, "humble" for Humble. ``unknown_205`` reads gray 205 as
        unknown whatever the thresholds say; without it a map in which that matters gives a warning.
        """
        occupancy, header = mapfile.load(Path(path), rules=rules, unknown_205=unknown_205)
        return cls(occupancy, header.resolution_m, header.origin)

    @classmethod
    def from_array(
        cls,
        occupancy: ArrayLike,
        resolution_m: float,
        origin: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> "OccupancyMap":
        """A map from occupancy values -1..100 (row 0 at the bottom), or from booleans: occupied."""
        pose = tuple(float(value) for value in origin)
        if len(pose) != 3:
            raise MapError(f"Origin must be x, y and yaw, not {len(pose)} values.")
        return cls(np.asarray(occupancy), float(resolution_m), pose)

    def save(
        self,
        path: str | Path,
        *,
        mode: mapfile.Mode = "trinary",
        image_format: str | None = None,
    ) -> None:
        """Write a Nav2 map. "scale" and "raw" keep every value, "trinary" only free and occupied."""
        mapfile.save(
            Path(path),
            self.occupancy,
            self.resolution_m,
            self.origin,
            mode=mode,
            image_format=image_format,
        )

    def thresholded(self, *, free_max: int = 19, occupied_min: int = 65) -> "OccupancyMap":
        """The map with every cell decided: free up to ``free_max``, occupied from ``occupied_min``."""
        if not 0 <= free_max < occupied_min <= OCCUPIED:
            raise MapError(
                f"Thresholds must hold 0 <= free_max < occupied_min <= 100, not {free_max} and "
                f"{occupied_min}."
            )
        cells = np.full(self.shape, UNKNOWN, np.int8)
        cells[(self.occupancy >= FREE) & (self.occupancy <= free_max)] = FREE
        cells[self.occupancy >= occupied_min] = OCCUPIED
        return OccupancyMap(cells, self.resolution_m, self.origin)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.occupancy.shape
        return rows, columns

    @property
    def size_m(self) -> tuple[float, float]:
        """Width and height in metres, along the map's own axes."""
        rows, columns = self.shape
        return columns * self.resolution_m, rows * self.resolution_m

    @cached_property
    def free(self) -> Mask:
        """Cells known to be free."""
        return _sealed(np.equal(self.occupancy, FREE))

    @cached_property
    def occupied(self) -> Mask:
        """Cells known to be occupied."""
        return _sealed(np.equal(self.occupancy, OCCUPIED))

    @cached_property
    def unknown(self) -> Mask:
        """Cells of which it is not known."""
        return _sealed(~(self.free | self.occupied))

    @cached_property
    def walls(self) -> Mask:
        """What a 2-D map tells of walls.

        Cells that are not free and belong to a part that touches the map's rim, or that encloses a
        room: at least 2 m2 of free floor.
        """
        parts, _ = ndimage.label(~self.free, structure=np.ones((3, 3)))
        out = _rim_parts(parts)
        least = ROOM_M2 / self.resolution_m**2
        for number, box in enumerate(ndimage.find_objects(parts), start=1):
            part = parts[box] == number
            if part.size >= least and not out[box][part].any():
                floor = ndimage.binary_fill_holes(part) & self.free[box]
                if floor.sum() >= least:
                    out[box] |= part
        return _sealed(out)

    @cached_property
    def clearance_m(self) -> Field:
        """Exact distance from each cell's centre to the nearest occupied cell's square."""
        return _sealed(np.asarray(clearance(self.occupied)) * self.resolution_m)

    def cells_at(self, points: ArrayLike) -> Cells:
        """The cells (row, column) that hold positions; outside the map the indices lie outside."""
        return grid_cells(self.to_grid(points))

    def centres(self, cells: ArrayLike) -> Points:
        """The positions of the centres of cells (row, column)."""
        return self.to_world(np.asarray(cells, dtype=np.float64)[..., ::-1] + 0.5)

    def to_grid(self, points: ArrayLike) -> Points:
        """Positions in units of cells along the map's own axes: cell (r, c) holds [c, c+1) x [r, r+1)."""
        x, y, yaw = self.origin
        at = as_points(points)
        # number by number, so that a position's cell does not depend on its neighbours in the array
        dx, dy = at[..., 0] - x, at[..., 1] - y
        cos, sin = np.cos(yaw), np.sin(yaw)
        return np.stack([dx * cos + dy * sin, dy * cos - dx * sin], axis=-1) / self.resolution_m

    def to_world(self, grid: ArrayLike) -> Points:
        """The inverse of ``to_grid``."""
        x, y, yaw = self.origin
        at = as_points(grid) * self.resolution_m
        cos, sin = np.cos(yaw), np.sin(yaw)
        along, across = at[..., 0], at[..., 1]
        return np.stack([x + along * cos - across * sin, y + along * sin + across * cos], axis=-1)

    def contains(self, points: ArrayLike) -> Mask:
        """Whether positions lie on the map."""
        return self._inside(self.cells_at(points))

    def look_up(self, values: NDArray[Any], points: ArrayLike, outside: Any) -> NDArray[Any]:
        """Values of a (rows, columns) array at positions; ``outside`` where the map ends."""
        return self.at_cells(values, self.cells_at(points), outside)

    def at_cells(self, values: NDArray[Any], cells: Cells, outside: Any) -> NDArray[Any]:
        """Values of a (rows, columns) array in cells; ``outside`` where the map ends."""
        inside = self._inside(cells)
        clipped = np.clip(cells, 0, np.array(self.shape) - 1)
        return np.where(inside, values[clipped[..., 0], clipped[..., 1]], outside)

    def _inside(self, cells: Cells) -> Mask:
        return np.asarray(((cells >= 0) & (cells < np.array(self.shape))).all(axis=-1))

    def free_space(
        self,
        robot_radius_m: float,
        *,
        start: ArrayLike | None = None,
        beside_unknown: bool = True,
    ) -> "FreeSpace":
        """Where a round robot can drive: the part around ``start``, or the largest part.

        A cell belongs if it is free and its centre is at least ``robot_radius_m`` from every occupied
        cell's square (exact Euclidean inflation). Unknown cells cannot be driven on; without
        ``beside_unknown`` the robot keeps its radius away from them, too, which in lidar maps leaves out
        the slivers that single rays cleared. Cells are connected by their sides.
        """
        if not (np.isfinite(robot_radius_m) and robot_radius_m >= 0):
            raise MapError(f"Robot radius must be at least 0 m, not {robot_radius_m}.")
        if not self.free.any():
            raise MapError("The map has no free cell; look at its thresholds, mode and negate.")
        gap_m = self.clearance_m
        if not beside_unknown:
            gap_m = np.asarray(clearance(~self.free)) * self.resolution_m
        room = self.free & (gap_m >= robot_radius_m - 1e-9)
        if not room.any():
            widest = float(gap_m[self.free].max())
            raise MapError(
                f"A robot of radius {robot_radius_m} m fits nowhere on this map; "
                f"the widest spot takes {widest:.2f} m."
            )
        parts, count = ndimage.label(room)
        sizes = np.bincount(parts.ravel(), minlength=count + 1)
        sizes[0] = 0
        if start is None:
            return FreeSpace(self, parts == sizes.argmax(), float(robot_radius_m))
        here = as_point(start)
        part = int(self.look_up(parts, here, 0))
        if part == 0:
            anywhere = FreeSpace(self, room, float(robot_radius_m))
            raise anywhere.cannot_stand(here)
        return FreeSpace(self, parts == part, float(robot_radius_m))


def _written(point: Points) -> str:
    """A position to the centimetre, or however it stays short."""
    x, y = (f"{value:.2f}" if abs(value) < 1e6 else f"{value:g}" for value in point)
    return f"({x}, {y})"


def joined_to_rim(mask: Mask) -> Mask:
    """The parts of a mask, joined by sides, that touch the rim of the array."""
    return _rim_parts(ndimage.label(mask)[0])


def _rim_parts(parts: NDArray[np.int32]) -> Mask:
    rim = np.concatenate([parts[0], parts[-1], parts[:, 0], parts[:, -1]])
    return np.asarray(np.isin(parts, np.unique(rim[rim > 0])))


def grid_cells(grid: Points) -> Cells:
    """The cells (row, column) that hold positions given in units of cells."""
    return np.clip(np.floor(grid[..., ::-1]), -FAR, FAR).astype(np.int64)


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    """The array, read-only: it is kept and handed out again."""
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class FreeSpace:
    """The navigable set F of the paper: one connected part in which a round robot can stand.

    ``mask`` is (rows, columns) over the cells of ``map``. The robot's centre may be anywhere in a
    masked cell, so its rim comes up to 0.71 cells nearer to an obstacle than the radius says.
    """

    map: OccupancyMap
    mask: Mask
    robot_radius_m: float

    def __post_init__(self) -> None:
        mask = np.array(self.mask, dtype=bool)
        if mask.shape != self.map.shape or not mask.any():
            raise MapError(
                f"A free space needs a mask of the map's shape {self.map.shape} with some cell in "
                f"it, not one of shape {mask.shape} with {int(mask.sum())}."
            )
        object.__setattr__(self, "mask", _sealed(mask))

    @cached_property
    def area_m2(self) -> float:
        """Area of the masked cells."""
        return float(self.mask.sum()) * self.map.resolution_m**2

    @cached_property
    def geodesics(self) -> Geodesics:
        """Shortest paths, in units of cells; built when first asked for."""
        return Geodesics(self.mask)

    def points(self, spacing_m: float | None = None) -> Points:
        """Centres of the navigable cells (n, 2), row by row; with a spacing, on a coarser lattice.

        The lattice takes the cells whose row and column are multiples of ``spacing_m``, rounded to
        whole cells; all cells if none is on it.
        """
        if spacing_m is not None and not 0 < spacing_m < np.inf:
            raise ValueError(f"spacing_m must be above 0 and finite, not {spacing_m}.")
        every = 1 if spacing_m is None else max(1, round(spacing_m / self.map.resolution_m))
        rows, columns = np.nonzero(self.mask)
        kept = (rows % every == 0) & (columns % every == 0)
        if not kept.any():
            kept[:] = True
        return self.map.centres(np.stack([rows[kept], columns[kept]], axis=1))

    def contains(self, points: ArrayLike) -> Mask:
        """Whether the robot can stand at positions."""
        return np.asarray(self.map.look_up(self.mask, points, False), dtype=bool)

    def nearest(self, point: ArrayLike) -> Points:
        """The centre of the navigable cell nearest to a position, as the crow flies."""
        everywhere = self.points()
        gaps = np.hypot(*(everywhere - as_point(point)).T)
        return np.asarray(everywhere[gaps.argmin()])

    def require(self, point: ArrayLike) -> Points:
        """The position itself if the robot can stand there, else an error that says where it could."""
        here = as_point(point)
        if not self.contains(here):
            raise self.cannot_stand(here)
        return here

    def cannot_stand(self, point: Points) -> UnreachableError:
        """The error for a position outside the free space, with the nearest one inside."""
        near = self.nearest(point)
        if not self.map.contains(point):
            why = "lies outside the map"
        elif self.map.look_up(self.map.occupied, point, False):
            why = "lies inside an obstacle"
        elif self.map.look_up(self.map.unknown, point, False):
            why = "lies in unknown space"
        elif self.map.look_up(self.map.clearance_m, point, 0.0) < self.robot_radius_m - 1e-9:
            why = f"is closer to an obstacle than the robot's radius of {self.robot_radius_m:g} m"
        else:
            why = "cannot be reached"
        return UnreachableError(
            f"The position {_written(point)} {why}; the nearest free point is {_written(near)}."
        )

    def distance_field(
        self, source: ArrayLike, *, limit_m: float = np.inf, eight_connected: bool = False
    ) -> Field:
        """Shortest-path distances (metres) from one position to the centres of all cells.

        ``inf`` where the robot cannot get to, or not within ``limit_m``.
        """
        if not limit_m >= 0:
            raise ValueError(f"limit_m must be at least 0, not {limit_m}.")
        grid, resolution = self.map.to_grid(self.require(source)), self.map.resolution_m
        if eight_connected:
            field = eight_connected_field(self.mask, grid)
        else:
            field = self.geodesics.field(grid, limit=limit_m / resolution)
        field *= resolution
        field[field > limit_m] = np.inf
        return field

    def distances(
        self,
        points: ArrayLike,
        to: ArrayLike | None = None,
        *,
        eight_connected: bool = False,
        threads: int = 1,
    ) -> NDArray[np.float64]:
        """Shortest-path distances (metres) between positions: (n, n), or (n, m) with ``to``.

        Any-angle and exact for the masked cells; ``eight_connected`` gives the grid-graph distances
        between the centres of their cells instead, for comparison with other tools. ``inf`` to and
        from a position at which the robot cannot stand.
        """
        rows = as_points(points).reshape(-1, 2)
        columns = rows if to is None else as_points(to).reshape(-1, 2)
        here, there = self.map.to_grid(rows), self.map.to_grid(columns)
        from_ok, to_ok = (
            self.map.at_cells(self.mask, grid_cells(grid), False) for grid in (here, there)
        )
        out = np.full((len(rows), len(columns)), np.inf)
        here, there = here[from_ok], there[to_ok]
        if eight_connected:
            at = tuple(np.floor(there[:, ::-1]).astype(np.int64).T)
            inner = np.empty((len(here), len(there)))
            for i, source in enumerate(here):
                inner[i] = eight_connected_field(self.mask, source)[at]
        else:
            inner = self.geodesics.matrix(here, None if to is None else there, threads=threads)
        out[np.ix_(from_ok, to_ok)] = inner * self.map.resolution_m
        return out

    def path(self, start: ArrayLike, goal: ArrayLike) -> Points:
        """The shortest path as a polyline (n, 2) from start to goal, bends at obstacle corners."""
        ends = [self.map.to_grid(self.require(point)) for point in (start, goal)]
        corners = self.geodesics.path(*ends)
        if not len(corners):
            here, there = (_written(as_point(point)) for point in (start, goal))
            raise UnreachableError(f"There is no way from {here} to {there} in this free space.")
        return self.map.to_world(corners)
