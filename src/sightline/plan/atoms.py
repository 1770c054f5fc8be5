"""The search problem in the terms of the search: reachable rows, legs with looks, cells merged to atoms.

Cells that the same rows see share their fate on every tour. Merged to one *atom* they change neither the
expected distance nor, without a way from the point to the object, the expected SPL, and there are often
ten times fewer of them.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import shortest_path

from sightline._kernels import coverage as kernel
from sightline._kernels.coverage_atoms import group_cells, merge_entries, select_entries
from sightline.errors import PlanError
from sightline.plan.problem import Matrix, Vector, as_travel, reachable_rows

Objective = Literal["distance", "spl"]

NEAR = 16  # neighbours of a point that may replace it
SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class SearchTask:
    """Checked arguments of ``solve_search``; ``sees`` has one row per row of ``travel``."""

    travel: Matrix
    sees: sparse.csr_array
    mass: Vector
    reach: Matrix | None = None
    objective: Objective = "distance"
    escape: float = 0.0
    look_cost: float = 0.0
    detection_rate: float = 1.0
    max_stops: int | None = None

    @property
    def legs(self) -> Matrix:
        """Cost (n, n) of going from row to row; for the expected distance with the look on arrival."""
        look = self.look_cost if self.objective == "distance" else 0.0
        legs = self.travel + look
        legs[:, 0] = self.travel[:, 0]
        return legs


def as_task(
    travel: ArrayLike,
    sees: sparse.sparray | ArrayLike,
    mass: ArrayLike,
    *,
    reach: ArrayLike | None = None,
    objective: Objective = "distance",
    escape: float | None = None,
    look_cost: float = 0.0,
    detection_rate: float = 1.0,
    max_stops: int | None = None,
) -> SearchTask:
    """Check the arguments of ``solve_search``."""
    costs = as_travel(travel)
    if objective not in get_args(Objective):
        raise PlanError(
            f"objective {objective!r} is unknown; valid are {', '.join(get_args(Objective))}."
        )
    if escape is None:
        escape = 2.0 * float(costs.max(where=np.isfinite(costs), initial=0.0))
    for name, value in (("escape", escape), ("look_cost", look_cost)):
        if not 0 <= value < np.inf:
            raise PlanError(f"{name} must be a finite number from 0, not {value}.")
    if not 0 < detection_rate <= 1:
        raise PlanError(f"detection_rate must be above 0 and at most 1, not {detection_rate}.")
    if max_stops is not None and not (isinstance(max_stops, int | np.integer) and max_stops >= 0):
        raise PlanError(f"max_stops must be a whole number from 0 or None, not {max_stops!r}.")
    chances = _as_mass(mass)
    views = _as_views(sees, (len(costs), len(chances)))
    ways = None if reach is None else _as_reach(reach, views)
    return SearchTask(
        costs, views, chances, ways, objective, float(escape), float(look_cost),
        float(detection_rate), max_stops,
    )  # fmt: skip


def _as_mass(mass: ArrayLike) -> Vector:
    """Check the chances of the cells."""
    chances = np.array(mass, dtype=np.float64)
    if chances.ndim != 1:
        raise PlanError(f"mass must be one number per cell, not of shape {chances.shape}.")
    bad = np.flatnonzero(~(np.isfinite(chances) & (chances >= 0)))
    if len(bad):
        raise PlanError(
            f"mass must be finite and not below 0, not {chances[bad[0]]} in cell {bad[0]}."
        )
    if chances.sum() > 1 + SUM_TOLERANCE:
        raise PlanError(f"mass must sum to at most 1, not to {chances.sum():.10g}.")
    return chances


def _as_views(sees: sparse.sparray | ArrayLike, shape: tuple[int, int]) -> sparse.csr_array:
    """Check who sees which cell: sparse, sorted, each entry once, none of them false."""
    views = sparse.csr_array(sees)
    if views.shape != shape:
        raise PlanError(
            f"sees must have a row per row of travel and a column per cell of mass, {shape}, "
            f"not shape {views.shape}."
        )
    if not (views.has_canonical_format and views.data.all()):
        views = sparse.csr_array(views, dtype=bool, copy=True)
        views.sum_duplicates()
        views.eliminate_zeros()
    return views


def _as_reach(reach: ArrayLike, views: sparse.csr_array) -> Matrix:
    """Check the ways from the points to the objects; only those of cells in view count."""
    ways = np.ascontiguousarray(reach, dtype=np.float64)
    if ways.shape != views.shape:
        raise PlanError(
            f"reach must have the shape of sees, {views.shape}, not shape {ways.shape}."
        )
    rows = np.repeat(np.arange(views.shape[0]), np.diff(views.indptr))
    seen = ways[rows, views.indices]
    bad = np.flatnonzero(~(np.isfinite(seen) & (seen >= 0)))
    if len(bad):
        row, cell = rows[bad[0]], views.indices[bad[0]]
        raise PlanError(
            f"reach must be a finite number from 0 where a row sees a cell, not {seen[bad[0]]} "
            f"in row {row}, cell {cell}."
        )
    return ways


@dataclass(frozen=True, eq=False)
class Atoms:
    """A search problem ready for the kernels; points are numbered as in ``rows``, start first.

    ``at_start`` is what the look from the start contributes to the cost; ``world`` holds what is left.
    """

    rows: NDArray[np.int64]
    unreachable: tuple[int, ...]
    world: kernel.World
    at_start: float


def least_ways(task: SearchTask) -> Vector:
    """Least way (cells,) from the start to an object in each cell; inf where no row sees it."""
    out = np.full(len(task.mass), np.inf)
    rows = np.repeat(np.arange(len(task.travel)), np.diff(task.sees.indptr))
    ways = task.travel[0, rows]
    if task.reach is not None:
        ways = ways + task.reach[rows, task.sees.indices]
    np.minimum.at(out, task.sees.indices, ways)
    return out


def build_atoms(task: SearchTask) -> Atoms:
    """Leave out unreachable rows, take the first look, merge the cells."""
    rows = np.arange(len(task.travel))
    unreachable: tuple[int, ...] = ()
    if not np.isfinite(task.travel).all():
        rows, unreachable = reachable_rows(task.travel, 0)
    spl = task.objective == "spl"
    legs = task.legs if len(unreachable) == 0 else task.legs[np.ix_(rows, rows)]
    unit = float(legs.max()) or 1.0
    left, found, at_start = _look_from_start(task)
    group, atoms, starts, cell, extra = _entries(task, rows, left)
    first, atom, ways, weight = merge_entries(starts, cell, group, atoms, left, extra)
    least = np.empty(0)
    if spl:
        least = np.empty(len(weight))
        seen = group >= 0
        least[group[seen]] = np.maximum(least_ways(task)[seen], kernel.FLOOR * unit)
        weight = weight * least
    return Atoms(rows, unreachable, _world(task, legs, first, atom, ways, weight, least,
        1.0 - found, unit), at_start)  # fmt: skip


def _look_from_start(task: SearchTask) -> tuple[Vector, float, float]:
    """Mass of each cell after the look from the start, what that found, and its part of the cost."""
    cells = task.sees.indices[: task.sees.indptr[1]]
    found = task.detection_rate * task.mass[cells]
    left = task.mass.copy()
    left[cells] -= found
    if task.detection_rate == 1:
        left[cells] = 0.0
    ways = np.zeros(len(cells)) if task.reach is None else task.reach[0, cells]
    if task.objective == "distance":
        return left, float(found.sum()), float(found @ ways)
    share = spl_share(least_ways(task)[cells], ways) if len(cells) else ways
    return left, float(found.sum()), -float(found @ share)


def spl_share(least: Vector, way: Vector) -> Vector:
    """The SPL of finding after ``way`` what could be had after ``least``; 1 if both are 0."""
    longest = np.maximum(way, least)
    return np.divide(least, longest, out=np.ones_like(longest), where=longest > 0)


def _entries(
    task: SearchTask, rows: NDArray[np.int64], left: Vector
) -> tuple[NDArray[np.int64], int, NDArray[np.int64], NDArray[np.int32], Vector]:
    """Entries of the reachable rows but the start, over cells with mass, and the atom of each cell."""
    number = np.where(left > 0, np.arange(len(left)), -1)
    reach = np.empty((0, 0)) if task.reach is None else task.reach
    # one type each, whatever scipy chose, so that no loop is compiled twice
    views = task.sees.indptr.astype(np.int64), task.sees.indices.astype(np.int32)
    starts, cell, extra = select_entries(*views, rows[1:], number, reach)
    starts = np.concatenate([[0], starts])
    if task.objective == "distance":
        return *group_cells(starts, cell, len(left)), starts, cell, extra
    seen = np.zeros(len(left), dtype=bool)
    seen[cell] = True
    if task.reach is not None:
        # cells of an atom differ in their way to the object, which divides: each is on its own
        return np.where(seen, np.cumsum(seen) - 1, -1), int(seen.sum()), starts, cell, extra
    # rows that are left out, and the start, still say how near a cell is
    group, _ = group_cells(*views, len(left))
    numbers, group[seen] = np.unique(group[seen], return_inverse=True)
    return np.where(seen, group, -1), len(numbers), starts, cell, extra


def _world(
    task: SearchTask, legs: Matrix, first: NDArray[np.int64], atom: NDArray[np.int32], extra: Vector,
    weight: Vector, least: Vector, rest: float, unit: float,
) -> kernel.World:  # fmt: skip
    """Everything that the search kernels read."""
    spl = task.objective == "spl"
    n = len(legs) - 1
    totals = np.zeros(n + 1)
    entry_rows = np.repeat(np.arange(n + 1), np.diff(first))
    np.add.at(totals, entry_rows, weight[atom])
    ways = np.bincount(entry_rows, weight[atom] * extra, minlength=n + 1)
    useful = np.flatnonzero(totals > 0).astype(np.int32)
    kind = kernel.DISTANCE if task.reach is None else kernel.DISTANCE_AND_REACH
    limit = n if task.max_stops is None else min(n, int(task.max_stops))
    return kernel.World(
        legs=np.ascontiguousarray(legs),
        into=np.ascontiguousarray(legs.T),
        first=first,
        atom=atom,
        extra=extra,
        weight=weight,
        least=least,
        way=np.divide(ways, totals, out=np.zeros(n + 1), where=totals > 0),
        near=nearest_points(legs, useful),
        useful=useful,
        kind=kernel.SPL if spl else kind,
        rate=task.detection_rate,
        rest=rest,
        escape=task.escape,
        limit=limit,
        unit=unit,
        scale=1.0 if spl else max(unit, rest * task.escape),
    )


def nearest_points(legs: Matrix, useful: NDArray[np.int32]) -> NDArray[np.int32]:
    """The ``NEAR`` useful points (n + 1, near) next to each point, itself excluded."""
    count = min(NEAR, len(useful) - 1)
    if count < 1:
        return np.zeros((len(legs), 0), dtype=np.int32)
    ways = legs[:, useful] + legs[useful].T
    ways[useful, np.arange(len(useful))] = np.inf
    part = np.argpartition(ways, count - 1, axis=1)[:, :count]
    return np.ascontiguousarray(useful[part])


def least_arrivals(legs: Matrix) -> Vector:
    """Least cost of going from the start to each row, over any others."""
    # graphs take 0 for "no edge", so legs without cost are made tiny first
    arrivals: Vector = shortest_path(np.maximum(legs, 1e-300), method="D", indices=0)
    return arrivals
