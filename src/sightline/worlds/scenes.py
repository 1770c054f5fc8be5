"""A scenario as solid bodies: walls with height, tables with legs, counters, open shelves, a floor.

A scene is plain data, upright prisms over polygons; ``bullet.py`` gives it to the physics engine. The
lidar's picture of it, ``Scene.slice_at``, follows from the same prisms.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from sightline import polygon as poly
from sightline.mapfile import FREE, OCCUPIED
from sightline.maps import Mask, OccupancyMap, Points, grid_cells
from sightline.places import Scenario, Surface, footprint

EYE_M = 1.2  # height of the camera; what is kept higher lies on the boards of an open shelf
WALL_M, LOW_M = 2.5, 0.75  # heights of walls, and of mapped things that have no name
TOP_M, LEG_M, BOARD_M = (
    0.04,
    0.05,
    0.02,
)  # thickness of a table top, of its legs, of a shelf's boards
BOARD_STEP_M = 0.4  # between the boards of a shelf
REACH_M = 1.1  # things on a shelf lie on its highest board below this
ASIDE_M = 0.3  # free floor so far before a shelf's side makes it an open front

Colour = tuple[float, float, float]
WALL_COLOUR: Colour = (0.87, 0.86, 0.82)
LOW_COLOUR: Colour = (0.6, 0.58, 0.55)
BOX_COLOUR: Colour = (0.72, 0.55, 0.35)
FLOOR_COLOUR: Colour = (0.66, 0.63, 0.6)
COLOURS: Mapping[str, Colour] = {  # by category; all paler than the movable objects
    "CounterTop": (0.78, 0.77, 0.75),
    "DiningTable": (0.70, 0.55, 0.40),
    "SideTable": (0.68, 0.52, 0.42),
    "CoffeeTable": (0.62, 0.48, 0.38),
    "Desk": (0.66, 0.56, 0.46),
    "Shelf": (0.60, 0.50, 0.42),
    "Dresser": (0.64, 0.54, 0.46),
    "Cart": (0.70, 0.72, 0.74),
    "Fridge": (0.80, 0.82, 0.84),
    "Stool": (0.50, 0.44, 0.40),
    "Chair": (0.52, 0.46, 0.42),
    "Sofa": (0.48, 0.52, 0.58),
    "HousePlant": (0.45, 0.55, 0.42),
    "GarbageCan": (0.42, 0.43, 0.45),
}
OTHER_COLOUR: Colour = (0.63, 0.60, 0.57)


@dataclass(frozen=True, eq=False)
class Prism:
    """A solid body between two heights over a polygon (n, 2), in metres of the map frame."""

    polygon: poly.Polygon
    bottom_m: float
    top_m: float
    colour: Colour


@dataclass(frozen=True, eq=False)
class Scene:
    """The bodies of a scenario that do not move, and at which height things lie on each surface."""

    home: Scenario
    prisms: tuple[Prism, ...]
    rest_m: Mapping[str, float]

    @classmethod
    def of(cls, home: Scenario) -> "Scene":
        """Walls from the map, furniture from the surfaces.

        Occupied cells under no surface are walls if the map says so (``OccupancyMap.walls``), else low
        furniture. A surface with legs is a top with a leg at each corner, of at most four; one that
        objects lie on and that is higher than the camera is an open shelf; others are bodies.
        """
        prisms, rest = list(_mapped(home)), {}
        for surface in home.places.surfaces.values():
            parts, rest[surface.name] = _furniture(home, surface)
            prisms += parts
        return cls(home, tuple(prisms), rest)

    @cached_property
    def corners(self) -> tuple[Points, Points]:
        """The lower and the upper corner (2,) of the map's box."""
        width, height = self.home.map.shape[1], self.home.map.shape[0]
        rim = self.home.map.to_world([[0, 0], [width, 0], [0, height], [width, height]])
        return rim.min(axis=0), rim.max(axis=0)

    def slice_at(self, height_m: float, *, resolution_m: float = 0.025) -> OccupancyMap:
        """What a lidar at some height could map: occupied where a body is, free elsewhere.

        Cells are at most ``resolution_m`` wide and divide those of the scenario's map.
        """
        out = self._finer(resolution_m)
        filled = np.zeros(out.shape, dtype=bool)
        for prism in self.prisms:
            if prism.bottom_m <= height_m < prism.top_m:
                filled |= footprint(out, prism.polygon)
        cells = np.where(filled, OCCUPIED, FREE).astype(np.int8)
        return OccupancyMap(cells, out.resolution_m, out.origin)

    def floor_plan(self, *, resolution_m: float = 0.05) -> OccupancyMap:
        """The scenario's map in finer cells, occupied also where any body touches the cell.

        What a robot keeps away from, table tops included: the map itself has only the cells whose
        centres a body covers.
        """
        out = self._finer(resolution_m)
        touched = np.zeros(out.shape, dtype=bool)
        for prism in self.prisms:
            touched |= footprint(out, prism.polygon)
            rows, columns = _cells_along(out, prism.polygon).T
            inside = (rows >= 0) & (columns >= 0) & (rows < out.shape[0]) & (columns < out.shape[1])
            touched[rows[inside], columns[inside]] = True
        cells = np.where(touched, OCCUPIED, out.occupancy).astype(np.int8)
        return OccupancyMap(cells, out.resolution_m, out.origin)

    def _finer(self, resolution_m: float) -> OccupancyMap:
        """The scenario's map in cells of at most so many metres."""
        on = self.home.map
        split = max(1, ceil(on.resolution_m / resolution_m - 1e-9))
        cells = on.occupancy.repeat(split, axis=0).repeat(split, axis=1)
        return OccupancyMap(cells, on.resolution_m / split, on.origin)

    def rest(self, thing: str, position: Points, radius_m: float) -> tuple[float, float, float]:
        """Where to set a thing down that is said to lie at a position (2,): on a surface, off its rim."""
        name = self._surface_at(position, thing)
        if name is None:
            return float(position[0]), float(position[1]), 0.0
        inner = _inwards(self.home.places.surfaces[name].polygon, position, radius_m + 0.02)
        return float(inner[0]), float(inner[1]), self.rest_m[name]

    def _surface_at(self, position: Points, thing: str) -> str | None:
        """The surface under a position; of several that on which the thing belongs, or the highest."""
        over = [
            name
            for name, surface in self.home.places.surfaces.items()
            if poly.holds(surface.polygon, position[None])[0]
        ]
        likely = self.home.probabilities(thing) if thing in self.home.objects else {}
        return max(over, key=lambda n: (likely.get(n, 0.0) > 0, self.rest_m[n]), default=None)


def _mapped(home: Scenario) -> Iterator[Prism]:
    """Occupied cells that no surface covers, in rectangles."""
    bare = home.map.occupied & (home.heights_m == 0)
    for mask, height, colour in (
        (bare & home.map.walls, WALL_M, WALL_COLOUR),
        (bare & ~home.map.walls, LOW_M, LOW_COLOUR),
    ):
        for left, bottom, right, top in rectangles(mask):
            corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
            yield Prism(home.map.to_world(np.array(corners, float)), 0.0, height, colour)


def rectangles(mask: Mask) -> list[tuple[int, int, int, int]]:
    """Rectangles (left, bottom, right, top) in cells that tile the cells of a mask."""
    out, open_runs = [], dict[tuple[int, int], int]()
    for row in range(mask.shape[0] + 1):
        runs = _runs(mask[row]) if row < mask.shape[0] else []
        for run in [run for run in open_runs if run not in runs]:
            out.append((run[0], open_runs.pop(run), run[1], row))
        for run in runs:
            open_runs.setdefault(run, row)
    return out


def _runs(row: Mask) -> list[tuple[int, int]]:
    """The runs [left, right) of a row of cells."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _furniture(home: Scenario, surface: Surface) -> tuple[list[Prism], float]:
    """The bodies of a surface, and the height at which things lie on it."""
    colour = COLOURS.get(surface.category, OTHER_COLOUR)
    top = surface.height_m
    if surface.support == "legs":
        slab = Prism(surface.polygon, max(0.0, top - TOP_M), top, colour)
        return [slab, *_legs(surface.polygon, slab.bottom_m, colour)], top
    if top >= EYE_M and len(surface.polygon) == 4 and _holds_things(home, surface.name):
        return _shelf(home, surface, colour)
    return [Prism(surface.polygon, 0.0, top, colour)], top


def _holds_things(home: Scenario, name: str) -> bool:
    return any(home.probabilities(thing).get(name, 0.0) > 0 for thing in home.objects)


def _legs(polygon: poly.Polygon, height_m: float, colour: Colour) -> list[Prism]:
    """Square legs under up to four corners, as far inside as they are thick."""
    count = min(4, len(polygon))
    chosen = [round(i * len(polygon) / count) for i in range(count)]
    half = LEG_M / 2
    square = np.array([(-half, -half), (half, -half), (half, half), (-half, half)])
    feet = (_inwards(polygon, polygon[i], LEG_M) for i in chosen)
    return [Prism(square + foot, 0.0, height_m, colour) for foot in feet]


def _shelf(home: Scenario, surface: Surface, colour: Colour) -> tuple[list[Prism], float]:
    """Boards between panels, open at the front."""
    polygon, top = surface.polygon, surface.height_m
    boards = np.arange(BOARD_STEP_M / 2, top - BOARD_STEP_M / 2, BOARD_STEP_M)
    heights = [*boards.tolist(), top - BOARD_M]
    parts = [Prism(polygon, z, z + BOARD_M, colour) for z in heights]
    fronts = _fronts(home, polygon)
    for i in range(4):
        if i not in fronts:
            a, b = polygon[i], polygon[(i + 1) % 4]
            inward = BOARD_M * _outward(polygon, i)
            parts.append(Prism(np.array([a, b, b - inward, a - inward]), 0.0, top, colour))
    rest = max((z for z in heights if z + BOARD_M <= REACH_M), default=heights[0])
    return parts, rest + BOARD_M


def _fronts(home: Scenario, polygon: poly.Polygon) -> list[int]:
    """The long sides of a quadrangle before which the floor is free; all long ones if none is."""
    ends = np.roll(polygon, -1, axis=0)
    lengths = np.hypot(*(ends - polygon).T)
    long = [i for i in range(4) if lengths[i] >= lengths.mean() - 1e-9]
    before = {i: (polygon[i] + ends[i]) / 2 + ASIDE_M * _outward(polygon, i) for i in long}
    free = [i for i in long if bool(home.map.look_up(home.map.free, before[i], False))]
    return free or long


def _outward(polygon: poly.Polygon, side: int) -> Points:
    """The unit vector from the centre of a quadrangle to the middle of a side."""
    away = (polygon[side] + polygon[(side + 1) % 4]) / 2 - polygon.mean(axis=0)
    return np.asarray(away / np.hypot(*away))


def _inwards(polygon: poly.Polygon, position: Points, gap_m: float) -> Points:
    """The position, moved until it is a gap from all sides it is too near to, as far as there is room."""
    if poly.signed_area(polygon) < 0:
        polygon = polygon[::-1]
    at = np.array(position, dtype=np.float64)
    ends = np.roll(polygon, -1, axis=0)
    for _ in range(8):
        for a, b in zip(polygon, ends, strict=True):
            length = np.hypot(*(b - a))
            along = (b - a) / length
            inward = np.array([-along[1], along[0]])
            reach, inside = float((at - a) @ along), float((at - a) @ inward)
            if -gap_m < reach < length + gap_m and -gap_m <= inside < gap_m:
                room = float(np.ptp(polygon @ inward))
                at += (min(gap_m, max(inside, room / 2)) - inside) * inward
    return at


def _cells_along(on: OccupancyMap, polygon: poly.Polygon) -> NDArray[np.int64]:
    """Cells (n, 2) that the sides of a polygon pass through, a hair inside of it."""
    grid = on.to_grid(polygon)
    grid = grid.mean(axis=0) + (1 - 1e-6) * (grid - grid.mean(axis=0))
    spots = []
    for start, side in zip(grid, np.roll(grid, -1, axis=0) - grid, strict=True):
        ends = np.sort([start, start + side], axis=0)
        lines = [np.arange(ceil(low), high) for low, high in ends.T.tolist()]
        cuts = [(lines[i] - start[i]) / side[i] for i in (0, 1) if side[i]]
        shares = np.unique(np.concatenate([[0.0, 1.0], *cuts]))
        spots.append(start + (shares[1:] + shares[:-1])[:, None] / 2 * side)
    return grid_cells(np.vstack(spots))
