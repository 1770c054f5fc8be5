"""Exact Euclidean distance from cell centres to the nearest blocked square."""

from math import inf, sqrt

import numpy as np
from numba import njit


@njit(cache=True)
def _column_gaps(blocked):
    """For every cell, how far its centre is from the nearest blocked square in its own column."""
    rows, columns = blocked.shape
    gap = np.full((rows, columns), inf)
    for c in range(columns):
        since = inf
        for r in range(rows):
            since = 0.0 if blocked[r, c] else since + (0.5 if since == 0.0 else 1.0)
            gap[r, c] = since
        since = inf
        for r in range(rows - 1, -1, -1):
            since = 0.0 if blocked[r, c] else since + (0.5 if since == 0.0 else 1.0)
            gap[r, c] = min(gap[r, c], since)
    return gap


@njit(cache=True)
def _lower_envelope(height, at, owner):
    """Parabolas ``height[j] + (x - (j - 1/2))^2`` that are lowest somewhere; returns how many.

    ``owner[i]`` is the i-th of them from the left, lowest from ``at[i]`` on. (Felzenszwalb and
    Huttenlocher's envelope, with the parabolas on the lines between the columns.)
    """
    count = 0
    for j in range(height.size):
        if height[j] == inf:
            continue
        start = -inf
        while count > 0:
            i = owner[count - 1]
            start = 0.5 * ((height[j] - height[i]) / (j - i) + (j + i)) - 0.5
            if start > at[count - 1]:
                break
            count -= 1
            start = -inf
        owner[count], at[count] = j, start
        count += 1
    return count


@njit(cache=True)
def clearance(blocked):
    """Distance (cells) from each cell's centre to the nearest blocked cell's square; inf if none.

    A square in another column is nearest at that column's border, so each border line carries the
    smaller of its two columns' gaps as a parabola; the cell's own column counts as it is.
    """
    rows, columns = blocked.shape
    gap = _column_gaps(blocked)
    out = np.empty((rows, columns))
    height = np.empty(columns + 1)
    at = np.empty(columns + 1)
    owner = np.empty(columns + 1, np.int64)
    for r in range(rows):
        height[0], height[columns] = gap[r, 0] ** 2, gap[r, columns - 1] ** 2
        for j in range(1, columns):
            height[j] = min(gap[r, j - 1], gap[r, j]) ** 2
        count = _lower_envelope(height, at, owner)
        i = 0
        for c in range(columns):
            best = gap[r, c] ** 2
            if count > 0:
                while i + 1 < count and at[i + 1] <= c:
                    i += 1
                # border j lies at x = j - 1/2, cell c's centre at x = c
                best = min(best, height[owner[i]] + (c - owner[i] + 0.5) ** 2)
            out[r, c] = sqrt(best)
    return out
