"""Where things can lie in a home, and what a find in one cell says of the others.

Everything here follows from the map, the named surfaces and the target cells; no object's distribution is
looked at. Vectors have n + 1 entries, one for each of the n target cells and a last one for "in none of
them", the *absent* atom. A kernel is a sparse matrix (n, n) whose row y is the chance of each cell,
given a find in cell y.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage, sparse
from scipy.spatial import cKDTree

from sightline import polygon as poly
from sightline.maps import Mask, OccupancyMap, Points, as_point
from sightline.places import SPACING_M, Scenario, Surface
from sightline.site import Site

Vector = NDArray[np.float64]

THICK_M = 0.4  # what things lie on is at least so wide and deep; walls are not
BARE_SHARES = (0.90, 0.08, 0.02)  # thick obstacles, obstacles, anywhere
PLACED_SHARES = (0.93, 0.05, 0.02)  # named surfaces, thick obstacles, anywhere
FLOOR = 0.02  # weight of a free cell beside that of an obstacle
REACH_SIGMAS = 2.5  # where Gauss kernels are cut off
OUT_OF_REACH_M = 1.7  # on higher surfaces few things are put
SELDOM = 0.05  # weight of a surface on which things are seldom put
SELDOM_USED = (
    *("chair", "stool", "bin", "garbage", "plant", "pillar", "partition", "divider"),
    *("cooler", "conditioner", "equipment", "sofa", "couch", "tv"),
)
NEAR_M = 0.5  # a find farther than this from every cell is in none


@dataclass(frozen=True, eq=False)
class Ground:
    """The cells of one home as a learner of places sees them.

    ``prior`` (n + 1,) is believed before anything is known, of an object that is in some cell.
    ``pushing`` (n + 1, m (n + 1)) turns the counts of m kernels, one after the other, into chances of
    cells; ``pulling`` is its transpose. ``kernels`` names the kernels, ``trust`` (m,) is how much each
    is believed at first. ``hidden`` (n + 1,) are the cells that no place in the free space sees.
    """

    prior: Vector
    kernels: tuple[str, ...]
    trust: Vector
    pushing: sparse.csr_array
    pulling: sparse.csr_array
    hidden: NDArray[np.bool_]
    _cells: cKDTree
    _home: Scenario
    _owner: NDArray[np.int64]

    @classmethod
    def of(cls, site: Site, *, use_places: bool = True) -> "Ground":
        """The ground of a site."""
        home, cells = site.home, site.cells
        shares, weights = surface_shares(home, cells) if use_places else _no_shares(cells)
        thick = opened(home.map, THICK_M)
        solid = cover(home.map, home.map.occupied, cells) + FLOOR
        cover_thick = cover(home.map, thick, cells)
        prior = base_measure(cover_thick, solid, shares, weights)
        kernels = (
            place_kernels(cells, solid, shares)
            if shares.shape[0]
            else bare_kernels(home.map, thick, cells, solid, cover_thick)
        )
        stacked = [_with_absent(kernel) for kernel, _ in kernels.values()]
        pulling = sparse.csr_array(sparse.vstack(stacked, format="csr"))
        trust = np.array([share for _, share in kernels.values()])
        return cls(
            np.append(prior, 0.0),
            tuple(kernels),
            trust / trust.sum(),
            sparse.csr_array(pulling.T.tocsr()),
            pulling,
            np.append(~site.seen_from_anywhere, False),
            cKDTree(cells),
            home,
            _owners(shares) if shares.shape[0] else np.full(len(cells), -1),
        )

    def is_of(self, site: Site) -> bool:
        """Whether it is the ground of this home and its cells, whatever the sensor."""
        return site.home is self._home and np.array_equal(site.cells, self._cells.data)

    def hiding(self, site: Site) -> "Ground":
        """The same ground for the site's sensor."""
        return replace(self, hidden=np.append(~site.seen_from_anywhere, False))

    @property
    def atoms(self) -> int:
        """The number of cells, and one for the absent atom."""
        return len(self.prior)

    def cell_of(self, position: ArrayLike) -> int:
        """The cell of a find: the nearest of the surface on which it lies, or the nearest of all.

        The last index, the absent atom, where no cell is within 0.5 m.
        """
        at = as_point(position)
        gap, nearest = self._cells.query(at)
        if not gap <= NEAR_M:
            return self.atoms - 1
        on = self._surface_at(at)
        if on >= 0 and self._owner[nearest] != on:
            own = np.flatnonzero(self._owner == on)
            gaps = np.hypot(*(self._cells.data[own] - at).T)
            if len(own) and gaps.min() <= NEAR_M:
                return int(own[gaps.argmin()])
        return int(nearest)

    def _surface_at(self, at: Points) -> int:
        """The smallest surface that holds a position; -1 if none does."""
        best, area = -1, np.inf
        for i, surface in enumerate(self._home.places.surfaces.values()):
            inside = (surface.polygon.min(axis=0) <= at) & (at <= surface.polygon.max(axis=0))
            if surface.area_m2 < area and inside.all() and poly.holds(surface.polygon, at):
                best, area = i, surface.area_m2
        return best


def base_measure(thick: Vector, solid: Vector, shares: sparse.csr_array, weights: Vector) -> Vector:
    """What is believed of the cells (n,) before any find: H, which sums to 1.

    With surfaces 0.93 by surface, uniform inside each, 0.05 thick obstacle and 0.02 uniform; without,
    0.90 thick obstacle, 0.08 obstacle, 0.02 uniform. What a home lacks falls to the rest.
    """
    anywhere = np.ones(len(thick))
    if shares.shape[0]:
        parts = (shares.T @ weights, thick, anywhere)
        of = PLACED_SHARES
    else:
        parts, of = (thick, solid - FLOOR, anywhere), BARE_SHARES
    out = np.zeros(len(thick))
    for part, share in zip(parts, of, strict=True):
        if part.sum() > 0:
            out += share * part / part.sum()
    return np.asarray(out / out.sum())


def surface_shares(home: Scenario, cells: Points) -> tuple[sparse.csr_array, Vector]:
    """Per surface its share in each cell (s, n), rows summing to 1, and how likely things are put there.

    A row is empty where a surface is in no cell.
    """
    rows = [home.shares(name, cells) for name in home.places.surfaces]
    if not rows:
        return _no_shares(cells)
    shares = np.array(rows)
    total = shares.sum(axis=1, keepdims=True)
    weights = np.array([_use(surface) for surface in home.places.surfaces.values()])
    weights = np.where(total[:, 0] > 0, weights, 0.0)
    return sparse.csr_array(shares / np.where(total > 0, total, 1.0)), weights


def _use(surface: Surface) -> float:
    category = surface.category.lower()
    seldom = any(word in category for word in SELDOM_USED)
    high = surface.height_m > OUT_OF_REACH_M and "shel" not in category  # shelves have lower boards
    return SELDOM if seldom or high else 1.0


def _no_shares(cells: Points) -> tuple[sparse.csr_array, Vector]:
    return sparse.csr_array((0, len(cells))), np.empty(0)


def _owners(shares: sparse.csr_array) -> NDArray[np.int64]:
    """The surface (n,) with the largest share in each cell; -1 where there is none."""
    dense = shares.toarray()
    return np.where(dense.max(axis=0) > 0, dense.argmax(axis=0), -1)


def place_kernels(
    cells: Points, solid: Vector, shares: sparse.csr_array
) -> dict[str, tuple[sparse.csr_array, float]]:
    """Kernels of a home whose surfaces are known, each with the trust it starts with."""
    onto = sparse.csr_array(_rows_to_one(sparse.csr_array(shares.T)) @ shares)
    near, wide = gauss(cells, solid, 0.25), gauss(cells, solid, 0.5)
    beside = sparse.csr_array(onto.multiply(gauss(cells, np.ones(len(cells)), 0.25)))
    return {
        "place": (_or_else(onto, wide), 0.8),
        "spot on a place": (_or_else(beside, near), 0.1),
        "gauss 0.5": (wide, 0.1),
    }


def bare_kernels(
    on: OccupancyMap, thick: Mask, cells: Points, solid: Vector, cover_thick: Vector
) -> dict[str, tuple[sparse.csr_array, float]]:
    """Kernels of a map without surfaces, each with the trust it starts with."""
    near, wide = gauss(cells, solid, 0.25), gauss(cells, solid, 0.6)
    part = components(on, thick, cells)
    same = sparse.csr_array(
        (np.ones(len(cells)), (np.arange(len(cells)), part)),
        shape=(len(cells), part.max(initial=0) + 1),
    )
    same = sparse.csr_array(same[:, 1:])
    whole = sparse.csr_array(same @ same.T.multiply(cover_thick[None]))
    inside = sparse.csr_array(whole.multiply(gauss(cells, np.ones(len(cells)), 0.25)))
    return {
        "gauss 0.25": (near, 0.25),
        "gauss 0.6": (wide, 0.25),
        "component": (_or_else(_rows_to_one(whole), wide), 0.25),
        "spot in a component": (_or_else(inside, near), 0.25),
    }


def gauss(cells: Points, weight: Vector, sigma_m: float) -> sparse.csr_array:
    """exp(-d^2 / 2 sigma^2) times the weight of the cell, cut off at 2.5 sigma, rows summing to 1."""
    tree = cKDTree(cells)
    gaps = tree.sparse_distance_matrix(tree, REACH_SIGMAS * sigma_m, output_type="coo_matrix")
    near = np.exp(-(gaps.data**2) / (2 * sigma_m**2)) * weight[gaps.col]
    shape = (len(cells), len(cells))
    return _rows_to_one(sparse.csr_array(sparse.coo_array((near, (gaps.row, gaps.col)), shape)))


def opened(on: OccupancyMap, side_m: float) -> Mask:
    """The obstacles (rows, columns) that hold a square of some side: furniture, and no thin walls."""
    side = max(round(side_m / on.resolution_m), 1)
    return np.asarray(ndimage.binary_opening(on.occupied, np.ones((side, side))))


def cover(on: OccupancyMap, mask: Mask, cells: Points) -> Vector:
    """The share (n,) of the square around each cell that a mask covers, on a grid of 4 x 4 samples."""
    steps = (np.arange(4) - 1.5) / 4 * SPACING_M / on.resolution_m
    grid = on.to_grid(cells)
    out = np.zeros(len(cells))
    for dx in steps:
        for dy in steps:
            at = on.to_world(grid + np.array([dx, dy]))
            out += on.look_up(mask, at, False)
    return out / 16


def components(on: OccupancyMap, thick: Mask, cells: Points) -> NDArray[np.int64]:
    """The number (n,) of the thick obstacle to which each cell belongs, from 1; 0 where there is none."""
    parts, _ = ndimage.label(thick)
    # the nearest thick square within half a cell, so that a rim belongs to its table
    gap, (row, column) = ndimage.distance_transform_edt(~thick, return_indices=True)
    nearest = np.where(gap * on.resolution_m <= 0.75 * SPACING_M, parts[row, column], 0)
    return np.asarray(on.look_up(nearest if thick.any() else parts, cells, 0), dtype=np.int64)


def _rows_to_one(kernel: sparse.csr_array) -> sparse.csr_array:
    total = np.asarray(kernel.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(1 / np.where(total > 0, total, 1.0)) @ kernel)


def _or_else(kernel: sparse.csr_array, other: sparse.csr_array) -> sparse.csr_array:
    """The kernel with rows that sum to 1, and the other's rows where it has none."""
    empty = np.asarray(kernel.sum(axis=1)).ravel() <= 0
    filled = _rows_to_one(kernel) + sparse.diags_array(empty.astype(float)) @ other
    return sparse.csr_array(filled)


def _with_absent(kernel: sparse.csr_array) -> sparse.csr_array:
    """The kernel with a last row and column: what is in no cell stays there."""
    return sparse.csr_array(sparse.block_array([[kernel, None], [None, sparse.eye_array(1)]]))
