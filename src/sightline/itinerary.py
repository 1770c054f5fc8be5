"""A planned search as a person reads it: each stop with its chance, its arrival and its reason."""

from dataclasses import dataclass
from functools import cached_property
from math import nan

import numpy as np
from numpy.typing import NDArray

from sightline.maps import Points
from sightline.records import Belief, Episode, Position, Query, Route, as_position
from sightline.site import Site


@dataclass(frozen=True)
class Stop:
    """One point of a planned search.

    ``chance`` is the believed chance that the object is first seen here, ``arrival_m`` the metres from
    the start, ``why`` what speaks for the point.
    """

    point: int
    position: Position
    arrival_m: float
    chance: float
    why: str


@dataclass(frozen=True, eq=False)
class Plan:
    """A route over vantage points (k, 2) from the query's start, with what is believed of the object.

    ``travel`` (k + 1, k + 1) is what the route was planned with, the start as row 0.
    """

    site: Site
    query: Query
    points: Points
    travel: NDArray[np.float64]
    belief: Belief
    route: Route

    @cached_property
    def stops(self) -> tuple[Stop, ...]:
        """The stops in their order."""
        order = self.route.order
        legs = self.travel[np.concatenate([[0], order[:-1]]), order] if len(order) else np.empty(0)
        arrivals = np.cumsum(legs)
        said = (
            self._with_mass(order - 1)
            if self.belief.mass is not None
            else self._by_point(order - 1)
        )
        return tuple(
            Stop(int(point), as_position(self.points[point]), float(arrival), chance, why)
            for point, arrival, (chance, why) in zip(order - 1, arrivals, said, strict=True)
        )

    @cached_property
    def chance(self) -> float:
        """The believed chance that the search finds the object, the look at the start included."""
        return self.chance_at_start + sum(stop.chance for stop in self.stops)

    @cached_property
    def chance_at_start(self) -> float:
        """The believed chance that the object is seen from the start; 0 where no mass is kept."""
        if self.belief.mass is None:
            return 0.0
        return float(self.belief.mass.sum() - self._left_after_start().sum())

    @property
    def expected_m(self) -> float:
        """The believed metres until the object is first seen, or until the tour ends without it."""
        whole = self.stops[-1].arrival_m if self.stops else 0.0
        seen = sum(stop.chance * stop.arrival_m for stop in self.stops)
        return seen + max(0.0, 1 - self.chance) * whole

    def _visited(self) -> Points:
        return np.asarray(self.points[self.route.order - 1])

    def _left_after_start(self) -> NDArray[np.float64]:
        assert self.belief.mass is not None
        left = np.array(self.belief.mass)
        left[self.site.sees([self.query.start]).indices] *= 1 - self.site.sensor.detection_rate
        return left

    def _with_mass(self, points: NDArray[np.int64]) -> list[tuple[float, str]]:
        """Chance and reason where the learner keeps a mass: what each look adds to those before."""
        left, rate = self._left_after_start(), self.site.sensor.detection_rate
        views, out = self.site.sees(self._visited()), []
        for i in range(len(points)):
            cells = views.indices[views.indptr[i] : views.indptr[i + 1]]
            new = rate * left[cells]
            left[cells] -= new
            out.append((float(new.sum()), self._what_holds(cells, new)))
        return out

    def _what_holds(self, cells: NDArray[np.int64], new: NDArray[np.float64]) -> str:
        """Which surface holds most of what a look adds, if one stands out."""
        names, owner = self.site.home.surface_names, self.site.surface_of_cell
        total = float(new.sum())
        if total <= 0:
            return "nothing new comes into view"
        if len(names):
            held = np.bincount(owner[cells] + 1, weights=new, minlength=len(names) + 1)
            best = int(held[1:].argmax())
            if held[best + 1] >= total / 2:
                return f"{names[best]} comes into view and holds {_percent(held[best + 1])}"
            if held[best + 1] > 0:
                return f"{len(cells)} cells come into view, {names[best]} among them"
        return f"{len(cells)} cells come into view"

    def _by_point(self, points: NDArray[np.int64]) -> list[tuple[float, str]]:
        """Chance and reason where each point is believed on its own, as if they were independent."""
        rank = np.empty(len(self.points), dtype=int)
        rank[np.argsort(-self.belief.mean, kind="stable")] = np.arange(1, len(self.points) + 1)
        missed = np.concatenate([[1.0], np.cumprod(1 - self.belief.mean[points])])
        return [
            (float(chance), f"number {rank[i]} of {len(self.points)} points by chance")
            for i, chance in zip(points, missed[:-1] - missed[1:], strict=True)
        ]


def chances(site: Site, episode: Episode) -> list[float]:
    """The chance, believed before a search, that each of its looks is the first to see the object.

    Where no mass was kept, that of the point alone; NaN where nothing is known of what was believed, and
    for looks that were not at a vantage point.
    """
    belief, rate = episode.belief, site.sensor.detection_rate
    if belief is None:
        return [nan] * len(episode.visits)
    if belief.mass is None:
        return [float(belief.mean[v.point]) if v.point >= 0 else nan for v in episode.visits]
    left, out = np.array(belief.mass), []
    for visit in episode.visits:
        cells = site.sees([visit.position]).indices
        new = rate * left[cells]
        left[cells] -= new
        out.append(float(new.sum()))
    return out


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.095 else f"{100 * share:.1f} %"
