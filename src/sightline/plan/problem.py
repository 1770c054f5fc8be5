"""The search problem as plain arrays, and the protocol of what solves it. No robot, no map."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sightline.errors import PlanError
from sightline.records import Route

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

MAX_EFFORT = 1000.0


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """What a planner needs to know; rows 1.. of ``travel`` are the vantage points, row 0 the start.

    ``travel`` (n, n) is the cost of driving between rows, ``inf`` where there is no way. ``weights``
    (n,) is what planners that look at points one by one minimise over; entry 0 counts for nothing.
    ``sees`` (n, cells) says which row sees which target cell, ``mass`` (cells,) the chance that the
    object lies there; planners that look at cells need both. ``look_cost`` is the price of one look in
    the units of ``travel``, ``detection_rate`` the chance that a look notices an object in view.
    """

    travel: Matrix
    weights: Vector
    sees: sparse.csr_array | None = None
    mass: Vector | None = None
    look_cost: float = 0.0
    detection_rate: float = 1.0

    def __post_init__(self) -> None:
        travel = as_travel(self.travel)
        object.__setattr__(self, "travel", travel)
        object.__setattr__(self, "weights", as_weights(self.weights, len(travel)))


class Planner(Protocol):
    """Anything that turns a search problem into a route; equal generators give equal routes."""

    def __call__(self, problem: SearchProblem, *, rng: np.random.Generator) -> Route:
        """Plan a route from row 0."""
        ...


def as_travel(travel: ArrayLike) -> Matrix:
    """Check travel costs: a square matrix, none negative or NaN, zero from a row to itself."""
    matrix = np.array(travel, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise PlanError(
            f"travel must be a square matrix with a start, not of shape {matrix.shape}."
        )
    bad = np.argwhere(~(matrix >= 0))
    if len(bad):
        row, column = bad[0]
        raise PlanError(
            f"travel must hold numbers from 0 to inf, not {matrix[row, column]} "
            f"in row {row}, column {column}."
        )
    np.fill_diagonal(matrix, 0.0)
    return matrix


def as_weights(weights: ArrayLike, rows: int) -> Vector:
    """Check weights: one finite number, not below zero, for each row of the travel matrix."""
    vector = np.array(weights, dtype=np.float64)
    if vector.shape != (rows,):
        raise PlanError(f"weights must be one per row of travel, {rows}, not shape {vector.shape}.")
    bad = np.flatnonzero(~(np.isfinite(vector) & (vector >= 0)))
    if len(bad):
        raise PlanError(
            f"weights must be finite and not below 0, not {vector[bad[0]]} in row {bad[0]}."
        )
    return vector


def check_effort(effort: float) -> None:
    """Refuse a share of the usual patience that is not above 0."""
    if not 0 < effort <= MAX_EFFORT:
        raise PlanError(f"effort must be above 0 and at most {MAX_EFFORT:g}, not {effort}.")


def reachable_rows(travel: Matrix, start: int) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """The rows that one tour from ``start`` can visit, start first, and those it cannot.

    A row belongs if finite legs lead from the start to it and, so that the tour can go on, from it to
    every other row that belongs. On a symmetric matrix that is the start's connected component, when
    the costs are shortest ways.
    """
    rows = np.array([start, *(i for i in range(len(travel)) if i != start)])
    out = np.isfinite(travel[start, rows])
    kept = rows[out]
    inner = np.isfinite(travel[np.ix_(kept[1:], kept[1:])])
    while not inner.all():
        worst = int(((~inner).sum(axis=0) + (~inner).sum(axis=1)).argmax())
        kept = np.delete(kept, worst + 1)
        inner = np.isfinite(travel[np.ix_(kept[1:], kept[1:])])
    left_out = tuple(int(i) for i in range(len(travel)) if i not in set(kept.tolist()))
    return kept, left_out


def route_cost(travel: Matrix, weights: Vector, order: NDArray[np.int64], start: int = 0) -> float:
    """The weighted sum of arrival costs: equation (2) of the paper without its failure term."""
    if not len(order):
        return 0.0
    legs = travel[np.concatenate([[start], order[:-1]]), order]
    return float(weights[order] @ np.cumsum(legs))
