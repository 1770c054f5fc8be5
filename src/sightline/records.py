"""The frozen nouns that pass from part to part."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
