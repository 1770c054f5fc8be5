"""A home as one robot meets it: where it can be, what it sees from there, where things can lie."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sightline.maps import FreeSpace, Points, as_point, as_points
from sightline.places import SPACING_M, Scenario
from sightline.records import Position, as_position
from sightline.visibility import Sensor, visible
from sightline.ways import Ways

REMEMBERED = 64  # sets of points whose views are kept
LATTICE_M = 0.1  # the paper's lattice of navigable points


@dataclass(frozen=True, eq=False)
class Site:
    """A scenario, the free space of a robot in it, its sensor, and the target cells (m, 2).

    What learners learn about. Everything in it follows from the scenario, the robot's radius and the
    sensor, so it is built anew from these and never stored.
    """

    home: Scenario
    free: FreeSpace
    sensor: Sensor
    cells: Points
    _views: OrderedDict[bytes, sparse.csr_array] = field(
        default_factory=OrderedDict, init=False, repr=False
    )

    @classmethod
    def of(
        cls,
        home: Scenario,
        *,
        sensor: Sensor | None = None,
        robot_radius_m: float = 0.25,
        start: ArrayLike | None = None,
    ) -> "Site":
        """The site for a robot of some radius, around ``start`` or in the largest free part."""
        free = home.map.free_space(robot_radius_m, start=start)
        return cls(home, free, sensor or Sensor(), home.target_cells())

    @cached_property
    def name(self) -> str:
        """The scenario's name and a fingerprint of its map, of the free space and of the cells.

        Equal names mean equal sites, whatever the sensor: state that was learned in one fits another.
        """
        digest = hashlib.sha256()
        for array in (self.home.map.occupancy, self.free.mask, self.cells):
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(repr((self.home.map.resolution_m, self.home.map.origin)).encode())
        return f"{self.home.name}-{digest.hexdigest()[:12]}"

    @cached_property
    def ways(self) -> Ways:
        """Shortest-path distances in the free space."""
        return Ways(self.free)

    @cached_property
    def standing(self) -> Points:
        """The navigable points (n, 2) on the paper's lattice of 0.1 m."""
        return self.free.points(LATTICE_M)

    @cached_property
    def seen_from_anywhere(self) -> NDArray[np.bool_]:
        """Which target cells (m,) some point of a 0.3 m lattice of the free space sees."""
        spots = self.free.points(1.5 * SPACING_M)
        out = np.zeros(len(self.cells), dtype=bool)
        out[self.sees(spots).indices] = True
        return out

    @cached_property
    def surface_of_cell(self) -> NDArray[np.int64]:
        """For each target cell (m,) the surface that covers most of it, as a number; -1 for none."""
        best, owner = np.zeros(len(self.cells)), np.full(len(self.cells), -1, dtype=np.int64)
        for number, name in enumerate(self.home.surface_names):
            share = self.home.shares(name, self.cells) * self.home.places.surfaces[name].area_m2
            owner[share > best] = number
            best = np.maximum(best, share)
        return owner

    def seers(self, position: ArrayLike) -> NDArray[np.bool_]:
        """From which of the ``standing`` points (n,) a position is seen."""
        at = as_point(position)
        if self.sensor.kind == "disc":
            gaps = ((self.standing - at) ** 2).sum(axis=1)
            return np.asarray(gaps <= self.sensor.range_m**2 + 1e-12)
        near = np.flatnonzero(((self.standing - at) ** 2).sum(axis=1) <= self.sensor.range_m**2)
        out = np.zeros(len(self.standing), dtype=bool)
        sees = visible(self.home, self.standing[near], at[None], self.sensor)
        out[near] = np.diff(sees.indptr) > 0
        return out

    def least_way_m(self, start: ArrayLike, position: ArrayLike) -> float:
        """The l of the protocol: metres from a start to the nearest point from which a position is seen.

        0 where the start itself sees it; ``inf`` where it is seen from no point to which there is a way.
        """
        here, there = as_point(start), as_point(position)
        if visible(self.home, here[None], there[None], self.sensor).nnz:
            return 0.0
        seers = self.standing[self.seers(there)]
        return float(self.ways.away(here, seers).min(initial=np.inf))

    def navigable(self, here: Position) -> Position:
        """The position, or the nearest navigable one: robots do stand a little too close to things."""
        return here if self.free.contains(here) else as_position(self.free.nearest(here))

    def within_reach(self, here: Position, there: ArrayLike, reach_m: float) -> Position:
        """The standing point nearest by way to ``here`` of those within reach of a position.

        Where none is within reach, of those that are nearest to the position.
        """
        spot = self.spot_near(here, there, reach_m)
        assert spot is not None  # with no others to keep away from there is always one
        return spot

    def spot_near(
        self,
        here: Position,
        there: ArrayLike,
        within_m: float,
        *,
        farther_m: float = 1e-9,
        among: NDArray[np.bool_] | None = None,
        apart_from: Sequence[Position] = (),
        gap_m: float = 0.0,
    ) -> Position | None:
        """The standing point nearest by way to ``here`` of those near a position; None if there is none.

        Near are those within ``within_m``, or else up to ``farther_m`` farther than the nearest. With
        ``among`` (n,) only these of the standing points count. Those less than ``gap_m`` from a position
        of ``apart_from`` are left out.
        """
        gaps = np.hypot(*(self.standing - as_point(there)).T)
        fit = np.ones(len(gaps), dtype=bool) if among is None else among
        fit = fit & (gaps <= max(within_m, gaps[fit].min(initial=np.inf) + farther_m))
        for other in apart_from:
            fit &= np.hypot(*(self.standing - np.asarray(other)).T) >= gap_m
        if not fit.any():
            return None
        away = self.ways.away(here, self.standing[fit])
        return as_position(self.standing[fit][away.argmin()])

    @cached_property
    def _seers_of_cells(self) -> sparse.csr_array:
        """Which standing points see each target cell: sparse (cells, standing)."""
        views = visible(self.home, self.standing, self.cells, self.sensor)
        return sparse.csr_array(views.T.tocsr())

    def least_ways_m(self, start: ArrayLike) -> NDArray[np.float64]:
        """The l of every target cell (m,) from one start: see ``least_way_m``."""
        seers = self._seers_of_cells
        away = np.append(self.ways.away(start, self.standing)[seers.indices], np.inf)
        least = np.minimum.reduceat(away, np.minimum(seers.indptr[:-1], len(away) - 1))
        least[np.diff(seers.indptr) == 0] = np.inf
        least[self.sees(as_point(start)[None]).indices] = 0.0
        return np.asarray(least)

    def sees(self, points: ArrayLike) -> sparse.csr_array:
        """Which cells are seen from which points (k, 2): sparse (k, m) bool. Recent ones are kept."""
        at = np.ascontiguousarray(as_points(points).reshape(-1, 2))
        key = at.tobytes()
        if key not in self._views:
            self._views[key] = visible(self.home, at, self.cells, self.sensor)
            if len(self._views) > REMEMBERED:
                self._views.popitem(last=False)
        self._views.move_to_end(key)
        return self._views[key]
