"""The frozen nouns that pass from part to part."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

Position = tuple[float, float]  # metres, map frame


def as_position(point: NDArray[np.float64]) -> Position:
    """A point (2,) of an array as a pair of plain numbers."""
    x, y = point.tolist()
    return x, y


class Outcome(StrEnum):
    """How a search ended."""

    FOUND = "found"
    NOT_FOUND = "not_found"  # everything visited
    OUT_OF_BUDGET = "out_of_budget"
    CANCELLED = "cancelled"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class Query:
    """What is looked for, from where, and when.

    ``time_s`` counts seconds from any fixed moment, the same for all queries of a home; None where
    the time is not known.
    """

    thing: str
    start: Position
    time_s: float | None = None


@dataclass(frozen=True, eq=False)
class Belief:
    """What a learner says of one object now, for vantage points (k, 2) and for target cells.

    ``mean`` (k,) is the calibrated chance of spotting the object at each point, ``width`` (k,) how
    unsure that is (0 where a learner does not say), and ``weight`` (k,) what a planner minimises over:
    an optimistic or pessimistic bound is a weight, not a chance. ``mass`` (cells,), from learners that
    keep one, is the chance that the object lies in each cell; it and ``absent``, the chance that the
    object is in none of them, sum to 1. All arrays are read-only.
    """

    mean: NDArray[np.float64]
    width: NDArray[np.float64]
    weight: NDArray[np.float64]
    mass: NDArray[np.float64] | None = None
    absent: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mean", "width", "weight", "mass"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, frozen(value))


@dataclass(frozen=True)
class Visit:
    """One look around: from where, after how many metres, and whether the object was seen.

    ``point`` is the row of the vantage point in ``Episode.points``; -1 for a look at the start or on
    the way.
    """

    point: int
    position: Position
    driven_m: float
    seen: bool


@dataclass(frozen=True, eq=False)
class Episode:
    """One search from start to outcome, with everything needed to learn from it.

    ``visits`` are the looks in their order, the last one being the sighting if there is one;
    ``position`` is where the object then turned out to lie. ``points`` (k, 2) are the vantage points
    that the planner had, ``belief`` and ``route`` what was believed and planned (None where nothing
    was, as when a person says where a thing lies).
    """

    query: Query
    points: NDArray[np.float64]
    visits: tuple[Visit, ...]
    outcome: Outcome
    position: Position | None = None
    belief: Belief | None = None
    route: "Route | None" = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", frozen(self.points).reshape(-1, 2))
        if self.outcome is Outcome.FOUND and self.position is None:
            raise ValueError("An episode in which the object was found must say where it lay.")

    @classmethod
    def taught(cls, thing: str, position: ArrayLike, *, time_s: float | None = None) -> "Episode":
        """What a person tells: the object lies there. Nothing was visited, nothing was missed."""
        x, y = np.asarray(position, dtype=np.float64).tolist()
        query = Query(thing, (x, y), time_s)
        return cls(query, np.empty((0, 2)), (), Outcome.FOUND, (x, y))


@dataclass(frozen=True, eq=False)
class Route:
    """An order in which to visit points, what it costs, and what is known of the best.

    ``order`` holds row numbers of the travel matrix, the start excluded, and is read-only. ``bound`` is
    a proven lower bound on the cost of every route, or None; ``optimal`` says that no route is cheaper
    (up to rounding). ``unreachable`` are the rows that were left out because no finite way leads to
    them; ``seconds`` is the time it took; ``status`` is what a solver from elsewhere said of itself.
    """

    order: NDArray[np.int64]
    cost: float
    bound: float | None = None
    optimal: bool = False
    seconds: float = 0.0
    unreachable: tuple[int, ...] = ()
    status: str = ""

    def __post_init__(self) -> None:
        order = np.array(self.order, dtype=np.int64)
        order.flags.writeable = False
        object.__setattr__(self, "order", order)

    @property
    def gap(self) -> float | None:
        """How far the cost may be above the best, as a share of the cost: 0 when it is optimal."""
        if self.optimal:
            return 0.0
        if self.bound is None:
            return None
        return (self.cost - self.bound) / self.cost if self.cost > 0 else 0.0


def frozen(values: ArrayLike) -> NDArray[np.float64]:
    """A read-only copy of some numbers."""
    out = np.array(values, dtype=np.float64)
    out.flags.writeable = False
    return out
