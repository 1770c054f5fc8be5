"""Points from which to look around: spread out, covering, or chosen for what they see."""

import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sightline._kernels.farthest import farthest
from sightline.errors import UnreachableError
from sightline.maps import FreeSpace, Points, as_point, as_points

SPACING_M = 0.1  # the paper's lattice of candidate points


def farthest_points(
    free: FreeSpace,
    k: int,
    *,
    rng: np.random.Generator,
    start: ArrayLike | None = None,
    spacing_m: float = SPACING_M,
) -> Points:
    """The paper's vantage points (k, 2): farthest-point sampling of the free space.

    The first point is the candidate nearest to ``start``, or a random one; each next point is the one
    farthest, as the crow flies, from all before it (the first in row order among equals).
    """
    candidates = free.points(spacing_m)
    k = operator.index(k)
    if not 1 <= k <= len(candidates):
        raise UnreachableError(
            f"{k} vantage points are asked for; the free space has 1 to {len(candidates)} "
            f"candidates at a spacing of {spacing_m:g} m."
        )
    if start is None:
        first = int(rng.integers(len(candidates)))
    else:
        first = int(((candidates - as_point(start)) ** 2).sum(axis=1).argmin())
    return candidates[farthest_indices(candidates, k, first=first)]


def farthest_indices(points: ArrayLike, k: int, *, first: int) -> NDArray[np.int64]:
    """Farthest-point sampling of any planar points (n, 2): k indices, ``first`` to begin with."""
    array = as_points(points).reshape(-1, 2)
    if not (1 <= k <= len(array) and 0 <= first < len(array)):
        raise ValueError(f"k must be 1 to {len(array)} and first below it, not {k} and {first}.")
    x, y = np.ascontiguousarray(array.T)
    return np.asarray(farthest(x, y, k, first))


def epsilon_cover(free: FreeSpace, epsilon_m: float) -> Points:
    """The paper's F_epsilon (n, 2): every navigable cell is within ``epsilon_m`` of one of the points.

    Distances are shortest paths. The points are chosen greedily, the farthest cell next, so no two
    are closer than ``epsilon_m`` and there are O(1 / epsilon^2) of them.
    """
    if not (np.isfinite(epsilon_m) and epsilon_m > 0):
        raise ValueError(f"epsilon_m must be above 0, not {epsilon_m}.")
    resolution = free.map.resolution_m
    gap = np.where(free.mask, np.inf, -np.inf)
    chosen = []
    while gap.max() > epsilon_m / resolution:
        cell = np.unravel_index(int(gap.argmax()), gap.shape)
        chosen.append(cell)
        centre = np.array([cell[1] + 0.5, cell[0] + 0.5])
        lowered = free.geodesics.lower(np.where(free.mask, gap, np.inf), centre)
        gap = np.where(free.mask, lowered, -np.inf)
    return free.map.centres(np.array(chosen))


def informative_points(
    free: FreeSpace,
    visibility: sparse.csr_array,
    mass: ArrayLike,
    k: int,
    *,
    candidates: ArrayLike | None = None,
) -> Points:
    """Points (k, 2) chosen one by one, each for the most mass that none before it sees.

    ``visibility`` is candidates x cells, ``mass`` is (cells,); the candidates are
    ``free.points(0.1)`` unless given. Greedy choice sees at least 1 - 1/e of the most that k points
    can. When nothing is left to gain, the points farthest from the chosen ones follow.
    """
    places = free.points(SPACING_M) if candidates is None else as_points(candidates).reshape(-1, 2)
    left = np.array(mass, dtype=np.float64)
    if not (left >= 0).all():
        raise ValueError("mass must hold numbers of at least 0.")
    sees = sparse.csr_array(visibility, dtype=np.float64)
    if sees.shape != (len(places), left.size):
        raise ValueError(
            f"visibility must be candidates x cells, {(len(places), left.size)}, not {sees.shape}."
        )
    if not 1 <= k <= len(places):
        raise ValueError(f"k must be 1 to {len(places)}, not {k}.")
    gap = np.full(len(places), np.inf)
    chosen: list[int] = []
    for _ in range(k):
        gain = sees @ left
        gain[chosen] = -1.0
        gap[chosen] = -1.0
        best = int(gain.argmax()) if gain.max() > 1e-12 else int(gap.argmax())
        chosen.append(best)
        left[sees.indices[sees.indptr[best] : sees.indptr[best + 1]]] = 0.0
        gap = np.minimum(gap, ((places - places[best]) ** 2).sum(axis=1))
    return places[chosen]
