"""Nav2 grid maps and plane geometry: read, crop, write, register, measure (metres, radians)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from PIL import Image
from scipy import ndimage

Polygon = list[tuple[float, float]]
FAR = 99.0  # distance reported where the map says nothing


@dataclass(frozen=True)
class Grid:
    """A Nav2 map: gray values (row 0 on top) and the world place of its lower left corner."""

    gray: np.ndarray
    resolution: float
    origin: tuple[float, float]
    occupied_thresh: float
    free_thresh: float

    @property
    def occupancy(self) -> np.ndarray:
        """Occupancy p = 1 - gray / 255 of every cell, 0..1 (negate: 0)."""
        return 1.0 - self.gray / 255.0

    @property
    def free(self) -> np.ndarray:
        """Cells free by the trinary rule."""
        return self.occupancy <= self.free_thresh

    @property
    def occupied(self) -> np.ndarray:
        """Cells occupied by the trinary rule."""
        return self.occupancy >= self.occupied_thresh

    def centres(self) -> np.ndarray:
        """World position of every cell centre, shape (rows, columns, 2)."""
        rows, cols = self.gray.shape
        x = self.origin[0] + (np.arange(cols) + 0.5) * self.resolution
        y = self.origin[1] + (rows - np.arange(rows) - 0.5) * self.resolution
        return np.stack(np.meshgrid(x, y), axis=-1)


def read_grid(path: Path) -> Grid:
    """The map described by a Nav2 map YAML file."""
    info = yaml.safe_load(path.read_text())
    if info.get("negate", 0) or info["origin"][2]:
        raise ValueError(f"{path}: negated or turned maps are not handled")
    with Image.open(path.parent / info["image"]) as image:
        gray = np.array(image.convert("L"))
    x, y, _ = info["origin"]
    return Grid(gray, info["resolution"], (x, y), info["occupied_thresh"], info["free_thresh"])


def crop(grid: Grid, margin: float) -> Grid:
    """The map cut down to its known cells plus a margin; world coordinates stay the same."""
    rows, cols = np.nonzero(grid.free | grid.occupied)
    pad = round(margin / grid.resolution)
    height, width = grid.gray.shape
    top, bottom = max(rows.min() - pad, 0), min(rows.max() + pad + 1, height)
    left, right = max(cols.min() - pad, 0), min(cols.max() + pad + 1, width)
    origin = (
        round(grid.origin[0] + int(left) * grid.resolution, 6),
        round(grid.origin[1] + int(height - bottom) * grid.resolution, 6),
    )
    gray = grid.gray[top:bottom, left:right]
    return Grid(gray, grid.resolution, origin, grid.occupied_thresh, grid.free_thresh)


def write_grid(grid: Grid, folder: Path) -> None:
    """Write map.png and map.yaml."""
    Image.fromarray(grid.gray).save(folder / "map.png", optimize=True)
    (folder / "map.yaml").write_text(
        "image: map.png\n"
        "mode: trinary\n"
        f"resolution: {grid.resolution}\n"
        f"origin: [{grid.origin[0]}, {grid.origin[1]}, 0.0]\n"
        "negate: 0\n"
        f"occupied_thresh: {grid.occupied_thresh}\n"
        f"free_thresh: {grid.free_thresh}\n"
    )


# --- plane geometry -------------------------------------------------------------------------


def box(x0: float, y0: float, x1: float, y1: float) -> Polygon:
    """An axis-aligned rectangle, counter-clockwise."""
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def bounds(points: Polygon) -> tuple[float, float, float, float]:
    """Smallest and largest coordinates: x0, y0, x1, y1."""
    x, y = np.array(points).T
    return float(x.min()), float(y.min()), float(x.max()), float(y.max())


def inside(points: np.ndarray, polygon: Polygon) -> np.ndarray:
    """Which points (..., 2) lie in the polygon."""
    x, y = points[..., 0], points[..., 1]
    result = np.zeros(x.shape, bool)
    for (ax, ay), (bx, by) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        if ay != by:
            result ^= ((ay > y) != (by > y)) & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
    return result


def distance(points: np.ndarray, polygon: Polygon) -> np.ndarray:
    """Distance of the points (..., 2) from the polygon, 0 inside."""
    best = np.full(points.shape[:-1], np.inf)
    for start, end in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        a, d = np.array(start), np.subtract(end, start)
        along = np.clip(((points - a) @ d) / max(d @ d, 1e-12), 0, 1)
        gap = points - a - along[..., None] * d
        best = np.minimum(best, np.hypot(gap[..., 0], gap[..., 1]))
    return np.where(inside(points, polygon), 0.0, best)


def outline(polygon: Polygon, step: float = 0.02) -> np.ndarray:
    """Points every `step` metres along the polygon's edges."""
    parts = []
    for start, end in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        count = max(1, round(float(np.hypot(*np.subtract(end, start))) / step))
        parts.append(np.linspace(start, end, count, endpoint=False))
    return np.concatenate(parts)


def l_shape(grid: Grid, footprint: Polygon, ignore: list[Polygon]) -> Polygon:
    """The footprint's bounding box without its most free corner rectangle.

    Free cells speak for the cut, all others against it; cells in or next to the `ignore`
    polygons (other furniture standing in the cut) say nothing.
    """
    x0, y0, x1, y1 = bounds(footprint)
    centres = grid.centres()
    vote = np.where(grid.free, 1, -1)
    for other in ignore:
        vote[distance(centres, other) < 2 * grid.resolution] = 0
    cols = np.nonzero((centres[0, :, 0] > x0) & (centres[0, :, 0] < x1))[0]
    rows = np.nonzero((centres[:, 0, 1] > y0) & (centres[:, 0, 1] < y1))[0]
    vote = vote[np.ix_(rows, cols)]
    best = (0, 0.0, 0.0, False, False)
    for top in (True, False):
        for right in (True, False):
            corner = vote[:: 1 if top else -1, :: -1 if right else 1]
            total = corner.cumsum(0).cumsum(1)
            row, col = np.unravel_index(total.argmax(), total.shape)
            cut = (float(col + 1) * grid.resolution, float(row + 1) * grid.resolution)
            best = max(best, (int(total[row, col]), *cut, top, right))
    _, wide, high, top, right = best
    cut_x, side_x = (x1 - wide, x1) if right else (x0 + wide, x0)
    cut_y, side_y = (y1 - high, y1) if top else (y0 + high, y0)
    far_x, far_y = x0 + x1 - side_x, y0 + y1 - side_y
    shape = [
        (far_x, far_y), (side_x, far_y), (side_x, cut_y),
        (cut_x, cut_y), (cut_x, side_y), (far_x, side_y),
    ]  # fmt: skip
    return shape if top == right else shape[::-1]


# --- registration ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Pose:
    """Rigid transform from a model frame to the map frame: turn by yaw, then move by x, y."""

    x: float
    y: float
    yaw: float

    def apply(self, points: np.ndarray | Polygon) -> np.ndarray:
        """The points in the map frame."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        return np.asarray(points, float) @ np.array([[c, s], [-s, c]]) + (self.x, self.y)


def agreement(grid: Grid, points: np.ndarray, gap: np.ndarray, width: float) -> float:
    """Mean of exp(-d^2 / 2 width^2), d = distance of a point to the next occupied cell."""
    col = np.floor((points[:, 0] - grid.origin[0]) / grid.resolution).astype(int)
    row = gap.shape[0] - 1 - np.floor((points[:, 1] - grid.origin[1]) / grid.resolution).astype(int)
    known = (row >= 0) & (row < gap.shape[0]) & (col >= 0) & (col < gap.shape[1])
    d = np.where(known, gap[np.where(known, row, 0), np.where(known, col, 0)], FAR)
    return float(np.exp(-0.5 * (d / width) ** 2).mean())


def register(grid: Grid, points: np.ndarray) -> tuple[Pose, float]:
    """The pose that best lays the model points on occupied cells, and its agreement (0..1).

    Coarse to fine: all four quarter turns over the whole map, then ever smaller steps.
    The agreement given is that of the last level (width = 1.5 cells).
    """
    gap = ndimage.distance_transform_edt(~grid.occupied) * grid.resolution
    middle = points.mean(axis=0)
    x0, y0, x1, y1 = bounds(grid.centres()[grid.free].tolist())
    places = [(x, y) for x in np.arange(x0, x1, 0.1) for y in np.arange(y0, y1, 0.1)]
    turns = np.deg2rad([0, 90, 180, 270])
    width, best = 0.1, ((0.0, 0.0), 0.0)
    for step, spread in ((0.02, 1.0), (0.005, 0.25), (None, 0.0)):
        turned = {float(yaw): Pose(0, 0, float(yaw)).apply(points - middle) for yaw in turns}
        best = max(
            ((place, yaw) for place in places for yaw in turned),
            key=lambda trial: agreement(grid, turned[trial[1]] + trial[0], gap, width),
        )
        if step is None:
            break
        around = np.arange(-5, 6) * step
        places = [(best[0][0] + dx, best[0][1] + dy) for dx in around for dy in around]
        turns = best[1] + np.deg2rad(np.arange(-4, 5) * spread)
        width = max(2.5 * step, 1.5 * grid.resolution)
    place, yaw = best
    score = agreement(grid, turned[yaw] + place, gap, width)
    yaw = float(np.arctan2(np.sin(yaw), np.cos(yaw)))
    x, y = np.subtract(place, Pose(0, 0, yaw).apply(middle))
    return Pose(round(float(x), 3), round(float(y), 3), round(yaw, 5)), score


# --- where a robot can stand ----------------------------------------------------------------


def navigable(grid: Grid, radius: float) -> np.ndarray:
    """Cells whose centre keeps `radius` from every occupied cell's square; largest piece."""
    reach = int(np.ceil(radius / grid.resolution)) + 1
    steps = np.maximum(np.abs(np.arange(-reach, reach + 1)) - 0.5, 0) * grid.resolution
    near = np.hypot(steps[:, None], steps[None, :]) < radius
    return largest_piece(grid.free & ~ndimage.binary_dilation(grid.occupied, near))


def largest_piece(cells: np.ndarray) -> np.ndarray:
    """The largest 4-connected piece of a mask."""
    labels, count = ndimage.label(cells)
    if count == 0:
        return cells
    return labels == 1 + np.bincount(labels.ravel())[1:].argmax()
