"""Farthest-point sampling, exact, on points sorted into tiles."""

from math import inf, sqrt

import numpy as np
from numba import njit

POINTS_PER_TILE = 64


@njit(cache=True)
def _tiles(x, y):
    """Sort points into square tiles: ``first[t]:first[t + 1]`` of ``order`` are the points of tile t."""
    width, height = max(x.max() - x.min(), 1e-12), max(y.max() - y.min(), 1e-12)
    wanted = max(1.0, x.size / POINTS_PER_TILE)
    side = max(sqrt(width * height / wanted), max(width, height) / (wanted + 1.0))
    columns, rows = int(width / side) + 1, int(height / side) + 1
    tile = np.empty(x.size, np.int64)
    first = np.zeros(rows * columns + 1, np.int64)
    left, low = x.min(), y.min()
    for i in range(x.size):
        tile[i] = int((y[i] - low) / side) * columns + int((x[i] - left) / side)
        first[tile[i] + 1] += 1
    for t in range(rows * columns):
        first[t + 1] += first[t]
    order = np.empty(x.size, np.int64)
    fill = first[:-1].copy()
    for i in range(x.size):
        order[fill[tile[i]]] = i
        fill[tile[i]] += 1
    return first, order


@njit(cache=True)
def _bounds(values, first):
    """Smallest and largest value of every tile."""
    low, high = np.full(first.size - 1, inf), np.full(first.size - 1, -inf)
    for t in range(first.size - 1):
        for i in range(first[t], first[t + 1]):
            low[t] = min(low[t], values[i])
            high[t] = max(high[t], values[i])
    return low, high


@njit(cache=True)
def farthest(x, y, k, start):
    """Indices of k points: ``start``, then each time the point farthest from all before it.

    Of equally far points the first in the input is taken. A tile is passed over when its nearest edge
    is no nearer to the new point than its farthest point is to the old ones.
    """
    first, order = _tiles(x, y)
    x, y = x[order], y[order]
    left, right = _bounds(x, first)
    low, high = _bounds(y, first)
    gap = np.full(x.size, inf)  # squared distance to the nearest chosen point
    tile_gap = np.full(first.size - 1, inf)  # the largest of the tile,
    tile_point = np.zeros(first.size - 1, np.int64)  # and the point that has it
    chosen = np.empty(k, np.int64)
    chosen[0] = start
    px, py = 0.0, 0.0
    for i in range(x.size):
        if order[i] == start:
            px, py = x[i], y[i]
    for n in range(1, k):
        best, best_at = -1.0, -1
        for t in range(first.size - 1):
            if first[t] == first[t + 1]:
                continue
            dx = max(left[t] - px, px - right[t], 0.0)
            dy = max(low[t] - py, py - high[t], 0.0)
            if dx * dx + dy * dy < tile_gap[t]:
                widest, widest_at = -1.0, -1
                for i in range(first[t], first[t + 1]):
                    gap[i] = min(gap[i], (x[i] - px) ** 2 + (y[i] - py) ** 2)
                    if gap[i] > widest:
                        widest, widest_at = gap[i], i
                tile_gap[t], tile_point[t] = widest, widest_at
            if tile_gap[t] > best or (
                tile_gap[t] == best and order[tile_point[t]] < order[best_at]
            ):
                best, best_at = tile_gap[t], tile_point[t]
        chosen[n] = order[best_at]
        px, py = x[best_at], y[best_at]
    return chosen
