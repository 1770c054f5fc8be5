"""Distances, farthest points and line of sight against the usual libraries."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import fpsample
import numpy as np
import pyastar2d
from scipy import sparse
from scipy.sparse.csgraph import dijkstra
from skimage.graph import MCP_Geometric

import sightline as sl
from benchmarks.race import in_ms, race, table
from sightline.distance import Geodesics
from sightline.visibility import opaque_cells

STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))


def office(side: int = 1000, *, seed: int = 0) -> np.ndarray:
    """A free mask of side x side cells at 5 cm: a grid of rooms with doors, each with furniture."""
    rng = np.random.default_rng(seed)
    free = np.ones((side, side), dtype=bool)
    free[:2], free[-2:], free[:, :2], free[:, -2:] = False, False, False, False
    for at in range(100, side, 100):
        free[at : at + 3] = False
        free[:, at : at + 3] = False
    for row in range(0, side, 100):
        for column in range(100, side, 100):
            door = row + int(rng.integers(10, 70))
            free[door : door + 20, column : column + 3] = True
            free[column : column + 3, door : door + 20] = True
    for _ in range(side * side // 2500):
        r, c = rng.integers(3, side - 40, 2)
        h, w = rng.integers(6, 36, 2)
        free[r : r + h, c : c + w] = False
    return largest_part(free)


def largest_part(free: np.ndarray) -> np.ndarray:
    """The free space of a point robot on this mask."""
    return sl.OccupancyMap.from_array(~free, 1.0).free_space(0.0).mask


def masks() -> Iterator[tuple[str, np.ndarray]]:
    """The free spaces of the table; a robot of radius 0.25 m, but for the office."""
    for name in ("kitchen2", "aws_small_house"):
        home = sl.Scenario.load(name)
        yield f"{name} at {home.map.resolution_m:g} m", home.map.free_space(0.25).mask
    yield "office, 1000 x 1000", office()


def grid_graph(free: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    """The 8-connected graph of a mask, without cutting corners, and each cell's number in it."""
    number = np.full(free.shape, -1)
    number[free] = np.arange(free.sum())
    padded = np.pad(number, 1, constant_values=-1)
    rows, columns = free.shape

    def moved(dr: int, dc: int) -> np.ndarray:
        return padded[1 + dr : 1 + dr + rows, 1 + dc : 1 + dc + columns]

    starts, ends, lengths = [], [], []
    for dr, dc in STEPS:
        ok = (number >= 0) & (moved(dr, dc) >= 0) & (moved(dr, 0) >= 0) & (moved(0, dc) >= 0)
        starts.append(number[ok])
        ends.append(moved(dr, dc)[ok])
        lengths.append(np.full(ok.sum(), np.hypot(dr, dc)))
    i, j, w = map(np.concatenate, (starts, ends, lengths))
    shape = (int(free.sum()),) * 2
    return sparse.csr_array((np.r_[w, w], (np.r_[i, j], np.r_[j, i])), shape=shape), number


def ours(free: np.ndarray, cells: np.ndarray, threads: int) -> np.ndarray:
    """Fields and matrix, with everything that must be set up for a new mask."""
    solver = Geodesics(free)
    points = cells[:, ::-1] + 0.5
    return solver.matrix(points, threads=threads)


def by_scipy(graph: sparse.csr_array, nodes: np.ndarray) -> np.ndarray:
    """Fields and matrix; the graph is given."""
    return dijkstra(graph, indices=nodes)[:, nodes]


def by_skimage(free: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Fields and matrix."""
    costs = np.where(free, 1.0, -1.0)
    out = []
    for cell in cells:
        field, _ = MCP_Geometric(costs).find_costs([tuple(cell)])
        out.append(field[tuple(cells.T)])
    return np.array(out)


def by_pyastar(weights: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Matrix only: one search for each pair."""
    out = np.zeros((len(cells), len(cells)))
    for i in range(len(cells)):
        for j in range(i):
            path = pyastar2d.astar_path(weights, cells[i], cells[j], allow_diagonal=True)
            out[i, j] = out[j, i] = np.hypot(*np.diff(path, axis=0).T).sum()
    return out


def distances(rounds: int) -> str:
    """51 points: all distance fields and the matrix of distances between the points."""
    rows = []
    for title, free in masks():
        cells = np.argwhere(free)
        points = sl.farthest_indices(cells.astype(float), 51, first=0)
        cells = cells[points]
        graph, number = grid_graph(free)
        nodes = number[tuple(cells.T)]
        weights = np.where(free, 1.0, np.inf).astype(np.float32)
        contenders = {
            "Sightline, 1 thread": partial(ours, free, cells, 1),
            "Sightline, 2 threads": partial(ours, free, cells, 2),
            "scipy dijkstra, 8-connected": partial(by_scipy, graph, nodes),
            "skimage MCP_Geometric": partial(by_skimage, free, cells),
            "pyastar2d, pair by pair": partial(by_pyastar, weights, cells),
        }
        if free.size > 500_000:
            del contenders["pyastar2d, pair by pair"]  # minutes per round
        exact = ours(free, cells, 1)
        off = ~np.eye(51, dtype=bool)
        results = race(contenders, rounds=rounds if free.size < 500_000 else 3)
        one, two = results[0].median_s, results[1].median_s
        for result in results:
            error = (contenders[result.name]() / np.where(off, exact, 1))[off].max() - 1
            per_cell = 1e9 * result.median_s / 51 / free.sum()
            rows.append(
                [
                    title,
                    result.name,
                    in_ms(result.median_s),
                    f"{per_cell:.1f} ns",
                    f"{max(error, 0):.1%}",
                    f"{result.median_s / one:.1f}",
                    f"{result.median_s / two:.1f}",
                ]
            )
    columns = ["51 points", "by", "median", "per cell", "longest error"]
    return table([*columns, "x ours, 1 thread", "x ours, 2 threads"], rows)


def march(opaque: np.ndarray, viewers: np.ndarray, targets: np.ndarray, reach: float) -> np.ndarray:
    """Line of sight as one writes it in NumPy: samples every half cell along each ray in range."""
    out = np.zeros((len(viewers), len(targets)), dtype=bool)
    for i, viewer in enumerate(viewers):
        offset = targets - viewer
        length = np.hypot(*offset.T)
        near = np.flatnonzero(length <= reach)
        share = np.linspace(0, 1, int(2 * reach) + 1)[:, None, None]
        at = np.floor(viewer + share * offset[near]).astype(int)
        out[i, near] = ~opaque[at[..., 1], at[..., 0]].any(axis=0)
    return out


def line_of_sight(rounds: int) -> str:
    """50 points and the target cells of kitchen2 (about 3,000)."""
    home = sl.Scenario.load("kitchen2")
    points = sl.farthest_points(home.map.free_space(0.25), 50, rng=np.random.default_rng(0))
    cells = home.target_cells()
    rows = []
    for range_m in (2.5, 20.0):
        opaque = opaque_cells(home)
        grid = [home.map.to_grid(p) for p in (points, cells)]
        contenders = {
            "Sightline": partial(sl.visible, home, points, cells, sl.Sensor(range_m=range_m)),
            "NumPy ray march": partial(march, opaque, *grid, range_m / home.map.resolution_m),
        }
        for result in race(contenders, rounds=rounds):
            work = f"{len(points)} points x {len(cells)} cells, {range_m:g} m"
            rows.append([work, result.name, in_ms(result.median_s), f"{result.ratio:.1f}"])
    return table(["line of sight, kitchen2", "by", "median", "x ours"], rows)


def farthest(rounds: int) -> str:
    """50 farthest points of 100,000: a lattice like a floor's, and points anywhere."""
    rng = np.random.default_rng(0)
    lattice = np.argwhere(np.ones((400, 250))) * 0.05
    rows = []
    for title, points in (("lattice", lattice), ("random", rng.uniform(0, 20, (100_000, 2)))):
        narrow = points.astype(np.float32)
        contenders = {
            "Sightline": partial(sl.farthest_indices, points, 50, first=0),
            "fpsample fps": partial(fpsample.fps_sampling, narrow, 50, start_idx=0),
            "fpsample fps_npdu": partial(fpsample.fps_npdu_sampling, narrow, 50, start_idx=0),
            "fpsample bucket, h=5": partial(
                fpsample.bucket_fps_kdline_sampling, narrow, 50, h=5, start_idx=0
            ),
        }
        for result in race(contenders, rounds=3 * rounds):
            rows.append([title, result.name, in_ms(result.median_s), f"{result.ratio:.1f}"])
    return table(["50 of 100,000 points", "by", "median", "x ours"], rows)


def peak_memory() -> str:
    """Largest memory of a process of its own that does the office's 51 fields and matrix."""
    code = (
        "from benchmarks import geometry as g; import numpy as np;"
        "free = g.office(); cells = np.argwhere(free);"
        "g.ours(free, cells[:: len(cells) // 51][:51], 2)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    subprocess.run([sys.executable, "-c", code], check=True)
    peak = max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    return f"Peak memory of the office run, imports and peers included: {peak / 1024:.0f} MB."
