"""Ways through a free space, remembered: searches ask for the same distances again and again."""

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.maps import FreeSpace, Points, as_point, as_points, grid_cells
from sightline.records import Position

REMEMBERED_BYTES = 128_000_000  # for distance fields
REMEMBERED_LEGS = 100_000
CENTRE = 1e-6  # cells; a position so near to the centre of its cell is on it


@dataclass(frozen=True, eq=False)
class Ways:
    """Shortest-path distances (metres) in a free space, from distance fields that are kept.

    Exact, as ``FreeSpace.distances`` is: a field is asked only at the centres of cells.
    """

    free: FreeSpace
    _fields: OrderedDict[tuple[float, float], NDArray[np.float64]] = field(
        default_factory=OrderedDict, init=False, repr=False
    )
    _legs: dict[tuple[float, ...], float] = field(default_factory=dict, init=False, repr=False)
    _between: dict[bytes, NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False)

    def field(self, source: ArrayLike) -> NDArray[np.float64]:
        """Distances from a position to the centres of all cells (rows, columns)."""
        x, y = as_point(source).tolist()
        key = (x, y)
        if key not in self._fields:
            self._fields[key] = self.free.distance_field(key)
            most = max(2, REMEMBERED_BYTES // self._fields[key].nbytes)
            if len(self._fields) > most:
                self._fields.popitem(last=False)
        self._fields.move_to_end(key)
        return self._fields[key]

    def away(self, source: ArrayLike, points: ArrayLike) -> NDArray[np.float64]:
        """Distances (k,) from a position to points (k, 2)."""
        at = as_points(points).reshape(-1, 2)
        grid = self.free.map.to_grid(at)
        cells = grid_cells(grid)
        off_centre = np.abs(grid - cells[:, ::-1] - 0.5).max(axis=1, initial=0.0) > CENTRE
        if off_centre.any():
            return np.asarray(self.free.distances(as_point(source)[None], at)[0])
        return np.asarray(self.free.map.at_cells(self.field(source), cells, np.inf))

    def metres(self, source: Position, goal: Position) -> float:
        """Distance from one position to another; ``inf`` if there is no way. Legs are kept, too."""
        key = (*source, *goal)
        if key not in self._legs:
            if len(self._legs) >= REMEMBERED_LEGS:
                self._legs.clear()
            self._legs[key] = float(self.away(goal, np.array([source]))[0])
        return self._legs[key]

    def between(self, points: Points) -> NDArray[np.float64]:
        """Distances (k, k) between points; the last sets are kept."""
        key = np.ascontiguousarray(points).tobytes()
        if key not in self._between:
            if len(self._between) >= 8:
                self._between.pop(next(iter(self._between)))
            self._between[key] = self.free.distances(points)
        return self._between[key]

    def travel(self, start: ArrayLike, points: Points) -> NDArray[np.float64]:
        """Distances (k + 1, k + 1) between a start, row 0, and points (k, 2)."""
        out = np.zeros((len(points) + 1, len(points) + 1))
        out[1:, 1:] = self.between(points)
        out[0, 1:] = out[1:, 0] = self.away(start, points)
        return out
