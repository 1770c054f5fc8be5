"""Named surfaces and rooms over a map, where objects tend to lie on them, and scenarios on disk.

A scenario is a folder with a Nav2 map (``map.yaml`` and its image) and a ``places.yaml``; the format of
the latter is described in ``docs/places.md``. Positions are metres in the map frame.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from sightline import polygon as poly
from sightline.errors import PlacesError, UnknownObjectError
from sightline.mapfile import (
    OCCUPIED,
    Rules,
    expanded,
    number,
    quoted,
    read_yaml,
    shorten,
)
from sightline.maps import Field, Mask, OccupancyMap, Points, as_points, grid_cells, joined_to_rim

FORMAT = "sightline-places/1"
SHIPPED = ("kitchen1", "kitchen2", "aws_small_house", "iai_apartment", "wrs2020")
MAX_HEIGHT_M = 5.0
MIN_AREA_M2 = 1e-4  # a surface smaller than a square centimetre is a slip
MAX_CORNERS = 500
SUM_TOLERANCE = 1e-6
SPACING_M = 0.2  # side of the squares of target cells

Distribution = Mapping[str, Mapping[str, float]]  # object -> surface -> probability


@dataclass(frozen=True, eq=False)
class Surface:
    """A piece of furniture: something that objects lie on, or that only stands in the way."""

    name: str
    category: str
    polygon: poly.Polygon
    height_m: float
    room: str | None = None
    support: Literal["solid", "legs"] = "solid"

    def __post_init__(self) -> None:
        if len(self.polygon) < 3 or not self.area_m2 >= MIN_AREA_M2:
            raise PlacesError(
                f"Surface '{self.name}' needs at least 3 corners around {MIN_AREA_M2:g} m2 or more."
            )

    @cached_property
    def area_m2(self) -> float:
        """Area of the footprint."""
        return abs(poly.signed_area(self.polygon))

    def sample(self, *, rng: np.random.Generator) -> Points:
        """A position (2,) uniform over the footprint."""
        # try in a box along the longest side: what lies askew does not leave most of the box empty
        sides = np.roll(self.polygon, -1, axis=0) - self.polygon
        along = sides[np.hypot(*sides.T).argmax()]
        axes = np.array([along, [-along[1], along[0]]]) / np.hypot(*along)
        box = self.polygon @ axes.T
        while True:
            point: Points = rng.uniform(box.min(axis=0), box.max(axis=0)) @ axes
            if poly.holds(self.polygon, point):
                return point


@dataclass(frozen=True, eq=False)
class Places:
    """Surfaces, rooms and object distributions, all by name, in the order of the file."""

    surfaces: Mapping[str, Surface] = field(default_factory=dict)
    rooms: Mapping[str, poly.Polygon] = field(default_factory=dict)
    distributions: Mapping[str, Distribution] = field(default_factory=dict)
    title: str = ""

    @classmethod
    def load(cls, path: str | Path) -> "Places":
        """Read and check a ``places.yaml``."""
        return _Reader(Path(path)).places()


@dataclass(frozen=True)
class _Reader:
    """Turns the fields of one file into ``Places``; every complaint names the file and the entry."""

    path: Path

    def places(self) -> Places:
        content = read_yaml(self.path, PlacesError)
        known = ("format", "title", "source", "licence", "rooms", "surfaces", "distributions")
        self._only(content, known, "the file")
        if content.get("format") != FORMAT:
            raise self.wrong(f"format must be '{FORMAT}', not {quoted(content.get('format'))}")
        rooms = {
            name: self.room(name, entry) for name, entry in self.mapping(content, "rooms").items()
        }
        surfaces = {
            name: self.surface(name, entry, rooms)
            for name, entry in self.mapping(content, "surfaces").items()
        }
        distributions = {
            name: self.distribution(name, entry, surfaces)
            for name, entry in self.mapping(content, "distributions").items()
        }
        return Places(surfaces, rooms, distributions, str(content.get("title") or ""))

    def wrong(self, complaint: str) -> PlacesError:
        return PlacesError(f"{self.path}: {complaint}.")

    def mapping(self, content: Any, name: str) -> dict[str, Any]:
        value = content.get(name)
        if value is None:
            return {}
        self.names(value, f"'{name}' must map names to entries")
        return dict(value)

    def names(self, value: Any, rule: str) -> None:
        if not isinstance(value, dict):
            raise self.wrong(f"{rule}, not {quoted(value)}")
        for key in value:
            if not isinstance(key, str) or not key:
                raise self.wrong(f"{rule}; the name {quoted(key)} is not a text (quote it)")

    def _only(self, entry: dict[str, Any], known: tuple[str, ...], what: str) -> None:
        for key in entry:
            if key not in known:
                raise self.wrong(
                    f"{what} has an unknown field {quoted(key)}; valid are {', '.join(known)}"
                )

    def number(self, value: Any, what: str) -> float:
        out = number(value)
        if out is None:
            raise self.wrong(f"{what} must be a finite number, not {quoted(value)}")
        return out

    def polygon(self, entry: Any, what: str) -> poly.Polygon:
        corners = entry.get("polygon") if isinstance(entry, dict) else None
        if not isinstance(corners, list) or len(corners) < 3:
            raise self.wrong(f"{what} needs a polygon of at least 3 corners [x, y]")
        for corner in corners:
            if not isinstance(corner, list) or len(corner) != 2:
                raise self.wrong(f"{what} has a corner that is not [x, y]: {quoted(corner)}")
        points = np.array([[self.number(v, f"{what}: a corner") for v in c] for c in corners])
        # a corner that stands twice in a row is one, also where a ring ends with its first corner
        points = np.asarray(points[(points != np.roll(points, 1, axis=0)).any(axis=1)])
        if len(points) > MAX_CORNERS:
            raise self.wrong(f"{what} has {len(points)} corners; the limit is {MAX_CORNERS}")
        if poly.crosses_itself(points):
            raise self.wrong(f"{what} has a polygon that crosses itself")
        if abs(poly.signed_area(points)) < MIN_AREA_M2:
            raise self.wrong(f"{what} has a polygon without area")
        return points

    def room(self, name: str, entry: Any) -> poly.Polygon:
        polygon = self.polygon(entry, f"room '{name}'")
        self._only(entry, ("polygon",), f"room '{name}'")
        return polygon

    def surface(self, name: str, entry: Any, rooms: dict[str, poly.Polygon]) -> Surface:
        what = f"surface '{name}'"
        polygon = self.polygon(entry, what)
        self._only(entry, ("category", "room", "height_m", "support", "polygon"), what)
        category, room = entry.get("category"), entry.get("room")
        if not isinstance(category, str) or not category:
            raise self.wrong(f"{what} needs a category such as CounterTop, not {quoted(category)}")
        if room is not None and (not isinstance(room, str) or room not in rooms):
            raise self.wrong(
                f"{what} is in room {quoted(room)}; valid are {', '.join(rooms) or 'none'}"
            )
        height = self.number(entry.get("height_m"), f"{what}: height_m")
        if not 0 < height <= MAX_HEIGHT_M:
            raise self.wrong(
                f"{what}: height_m must be above 0 and at most {MAX_HEIGHT_M}, not {height}"
            )
        support = entry.get("support", "solid")
        if support not in ("solid", "legs"):
            raise self.wrong(f"{what}: support {quoted(support)} is unknown; valid are solid, legs")
        return Surface(name, category, polygon, height, room, support)

    def distribution(self, name: str, entry: Any, surfaces: dict[str, Surface]) -> Distribution:
        self.names(entry or None, f"distribution '{name}' must map objects to surfaces")
        return {
            thing: self.row(f"{name}: '{thing}'", row, surfaces) for thing, row in entry.items()
        }

    def row(self, what: str, row: Any, surfaces: dict[str, Surface]) -> dict[str, float]:
        self.names(row or None, f"distribution {what} must map surfaces to probabilities")
        out = {}
        for surface, value in row.items():
            if surface not in surfaces:
                raise self.wrong(
                    f"distribution {what} names surface {surface!r}; valid are "
                    f"{', '.join(surfaces) or 'none'}"
                )
            out[surface] = self.number(value, f"distribution {what}: {surface}")
            if out[surface] < 0:
                raise self.wrong(f"distribution {what}: {surface} is below 0: {out[surface]}")
        total = sum(out.values())
        if abs(total - 1) > SUM_TOLERANCE:
            raise self.wrong(f"distribution {what} sums to {total:.6g}; it must sum to 1")
        return {surface: p / total for surface, p in out.items()}


@dataclass(frozen=True, eq=False)
class Scenario:
    """A home: its map, its places and one distribution of its objects.

    ``map`` is the map of the file with the footprints of all surfaces added as occupied: a lidar sees
    the legs of a table, a robot with a body cannot drive under it. Without a ``distribution`` the first
    one of the places is taken.
    """

    name: str
    map: OccupancyMap
    places: Places = field(default_factory=Places)
    distribution: str | None = None

    def __post_init__(self) -> None:
        for surface in self.places.surfaces.values():
            self._check_on_map(f"surface '{surface.name}'", surface.polygon)
        valid = self.places.distributions
        if self.distribution is None and valid:
            object.__setattr__(self, "distribution", next(iter(valid)))
        if self.distribution is not None and self.distribution not in valid:
            raise PlacesError(
                f"{self.name} has no distribution '{self.distribution}'; "
                f"valid are {', '.join(valid) or 'none'}."
            )
        cells = np.where(_heights(self.map, self.places) > 0, OCCUPIED, self.map.occupancy)
        furnished = OccupancyMap(cells, self.map.resolution_m, self.map.origin)
        object.__setattr__(self, "map", furnished)

    @classmethod
    def load(
        cls,
        name: str | Path,
        *,
        distribution: str | None = None,
        rules: Rules = "nav2",
        unknown_205: bool = False,
    ) -> "Scenario":
        """Load a scenario that ships, a folder, or a ``map.yaml`` (with the places beside it, if any).

        ``rules`` and ``unknown_205`` are those of ``OccupancyMap.load``.
        """
        folder = (
            Path(__file__).parent / "scenarios" / str(name) if str(name) in SHIPPED else Path(name)
        )
        folder = expanded(folder, PlacesError)
        if not folder.exists():
            raise PlacesError(
                f"{shorten(str(name))} is neither a folder, nor a map.yaml, nor a scenario that ships "
                f"({', '.join(SHIPPED)})."
            )
        map_file = folder / "map.yaml" if folder.is_dir() else folder
        places_file = map_file.with_name("places.yaml")
        places = Places.load(places_file) if places_file.exists() else Places()
        title = map_file.parent.resolve().name if map_file.name == "map.yaml" else map_file.stem
        occupancy = OccupancyMap.load(map_file, rules=rules, unknown_205=unknown_205)
        return cls(title, occupancy, places, distribution)

    @cached_property
    def heights_m(self) -> Field:
        """Height of the highest surface over each cell (rows, columns), 0 where there is none."""
        return _heights(self.map, self.places)

    @property
    def objects(self) -> tuple[str, ...]:
        """The objects whose distribution is known."""
        return tuple(self.places.distributions[self.distribution]) if self.distribution else ()

    @property
    def surface_names(self) -> tuple[str, ...]:
        """The names of all surfaces; their order numbers them."""
        return tuple(self.places.surfaces)

    def probabilities(self, thing: str) -> Mapping[str, float]:
        """Chance of lying on each surface: the paper's P(f), which sums to 1."""
        if thing not in self.objects:
            raise UnknownObjectError(
                f"{self.name} knows no object '{thing}'; valid are {', '.join(self.objects) or 'none'}."
            )
        assert self.distribution is not None  # else there are no objects
        return self.places.distributions[self.distribution][thing]

    def sample_position(self, thing: str, *, rng: np.random.Generator) -> Points:
        """Where an object lies this time (2,): a surface by its probability, uniform on the surface."""
        chances = self.probabilities(thing)
        chosen = rng.choice(len(chances), p=list(chances.values()))
        return self.places.surfaces[list(chances)[chosen]].sample(rng=rng)

    def target_cells(self, *, spacing_m: float = SPACING_M, reach_m: float = 1.2) -> Points:
        """Centres (n, 2) of the squares in which an object can be: a lattice along the map's axes.

        Squares whose centre is within ``reach_m`` of a free cell, except what is unknown and joined to
        the outside and, where surfaces are named, bare wall; and every square that a surface of the
        distribution touches.
        """
        if not reach_m >= 0:
            raise ValueError(f"reach_m must be at least 0, not {reach_m}.")
        finest, widest = self.map.resolution_m / 2, max(self.map.size_m)
        if not finest <= spacing_m <= widest:
            raise ValueError(
                f"spacing_m must be from half a map cell to the size of the map, {finest:g} to "
                f"{widest:g} m, not {spacing_m:g}."
            )
        rows, columns = (int(np.ceil(side / spacing_m - 1e-9)) for side in self.map.size_m[::-1])
        lattice = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1) + 0.5
        grid = lattice.reshape(-1, 2) * (spacing_m / self.map.resolution_m)
        centres = self.map.to_world(grid)
        near = ndimage.distance_transform_edt(~self.map.free) * self.map.resolution_m <= reach_m
        wanted = near & ~joined_to_rim(self.map.unknown) if self.map.free.any() else near & False
        if self.places.surfaces:
            wanted &= ~self.map.walls | (self.heights_m > 0)
        # a centre on a line between cells counts for all of them, however the map is turned
        around = [grid_cells(grid + np.array(nudge)) for nudge in product((-1e-6, 1e-6), repeat=2)]
        kept = np.any([self.map.at_cells(wanted, cells, False) for cells in around], axis=0)
        for thing in self.objects:
            kept |= self.mass(thing, centres, spacing_m=spacing_m) > 0
        return np.asarray(centres[kept])

    def mass(
        self, thing: str, cells: ArrayLike, *, spacing_m: float = SPACING_M
    ) -> NDArray[np.float64]:
        """Exact chance (n,) that an object lies in each square of side ``spacing_m`` around ``cells``.

        The sum over surfaces of probability times the share of the surface in the square; it sums to 1
        over ``target_cells()``.
        """
        out = np.zeros(len(as_points(cells).reshape(-1, 2)))
        for name, chance in self.probabilities(thing).items():
            out += chance * self.shares(name, cells, spacing_m=spacing_m)
        return out

    def shares(
        self, surface: str, cells: ArrayLike, *, spacing_m: float = SPACING_M
    ) -> NDArray[np.float64]:
        """Exact share (n,) of a surface's footprint in each square of side ``spacing_m``."""
        if not 0 < spacing_m < np.inf:
            raise ValueError(f"spacing_m must be above 0 and finite, not {spacing_m}.")
        scale, place = self.map.resolution_m, self.places.surfaces[surface]
        grid = self.map.to_grid(as_points(cells).reshape(-1, 2)) * scale
        polygon = self.map.to_grid(place.polygon) * scale
        low, high = polygon.min(axis=0) - spacing_m / 2, polygon.max(axis=0) + spacing_m / 2
        out = np.zeros(len(grid))
        for i in np.flatnonzero(((grid > low) & (grid < high)).all(axis=1)):
            out[i] = poly.area_in_square(polygon, grid[i] - spacing_m / 2, grid[i] + spacing_m / 2)
        return out / place.area_m2

    def _check_on_map(self, what: str, polygon: poly.Polygon) -> None:
        inside = self.map.contains(polygon + (self.map.to_world((0.5, 0.5)) - polygon) * 1e-9)
        if not inside.all():
            x, y = polygon[~inside][0]
            width, height = self.map.size_m
            raise PlacesError(
                f"{self.name}: {what} has a corner ({x:g}, {y:g}) outside the map, which is "
                f"{width:g} x {height:g} m from origin {self.map.origin}."
            )


def _heights(on: OccupancyMap, places: Places) -> Field:
    out = np.zeros(on.shape)
    for surface in places.surfaces.values():
        cells = footprint(on, surface.polygon)
        out[cells] = np.maximum(out[cells], surface.height_m)
    return out


def footprint(on: OccupancyMap, polygon: poly.Polygon) -> Mask:
    """Cells (rows, columns) whose centres lie in a polygon."""
    grid = on.to_grid(polygon)
    rows, columns = on.shape
    low = np.clip(np.floor(grid.min(axis=0)).astype(int), 0, (columns, rows))
    high = np.clip(np.ceil(grid.max(axis=0)).astype(int), 0, (columns, rows))
    x, y = np.meshgrid(np.arange(low[0], high[0]) + 0.5, np.arange(low[1], high[1]) + 0.5)
    mask = np.zeros(on.shape, dtype=bool)
    mask[low[1] : high[1], low[0] : high[0]] = poly.holds(grid, np.stack([x, y], axis=-1))
    return mask
