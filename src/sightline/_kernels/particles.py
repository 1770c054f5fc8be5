"""Where a robot may be, as a cloud of poses: how they move, and how well a scan fits each."""

import numpy as np
from numba import njit


@njit(cache=True)
def move(poses, forward, turn, noise):
    """Drive poses (n, 3) of (x, y, yaw) by one step each, in place.

    ``noise`` (n, 3) is added to the metres forward, to those to the left, and to the turn; half of the
    turn is made before driving, half behind it.
    """
    for i in range(len(poses)):
        ahead, aside, around = forward + noise[i, 0], noise[i, 1], turn + noise[i, 2]
        yaw = poses[i, 2] + around / 2
        poses[i, 0] += ahead * np.cos(yaw) - aside * np.sin(yaw)
        poses[i, 1] += ahead * np.sin(yaw) + aside * np.cos(yaw)
        poses[i, 2] += around


@njit(cache=True)
def fit(poses, hits, gap, resolution, origin, spread, stray, out):
    """Mean logarithm ``out`` (n,) of how likely the hits of a scan are for each pose.

    ``hits`` (m, 2) are in the robot's frame, ``gap`` (rows, columns) is the distance from each cell's
    centre to the nearest obstacle, ``origin`` (x, y, yaw) the pose of the corner of cell (0, 0). A hit at
    a distance d has the likelihood exp(-d^2 / 2 spread^2) + stray; one off the map has stray alone.
    """
    rows, columns = gap.shape
    cos_map, sin_map = np.cos(origin[2]), np.sin(origin[2])
    for i in range(len(poses)):
        dx, dy = poses[i, 0] - origin[0], poses[i, 1] - origin[1]
        left = (dx * cos_map + dy * sin_map) / resolution
        up = (dy * cos_map - dx * sin_map) / resolution
        yaw = poses[i, 2] - origin[2]
        cos, sin = np.cos(yaw) / resolution, np.sin(yaw) / resolution
        total = 0.0
        for j in range(len(hits)):
            column = left + hits[j, 0] * cos - hits[j, 1] * sin - 0.5
            row = up + hits[j, 0] * sin + hits[j, 1] * cos - 0.5
            c, r = int(np.floor(column)), int(np.floor(row))
            if 0 <= r < rows - 1 and 0 <= c < columns - 1:
                a, b = column - c, row - r
                low = gap[r, c] * (1 - a) + gap[r, c + 1] * a
                high = gap[r + 1, c] * (1 - a) + gap[r + 1, c + 1] * a
                d = low * (1 - b) + high * b
                total += np.log(np.exp(-0.5 * (d / spread) ** 2) + stray)
            else:
                total += np.log(stray)
        out[i] = total / max(1, len(hits))


@njit(cache=True)
def draw(weights, at, out):
    """Systematic resampling: rows ``out`` (n,) drawn by weights (n,) that sum to 1.

    The draws are those at ``at``, ``at`` + 1 / n, ``at`` + 2 / n ... of the running sum; ``at`` lies in
    0 to 1 / n.
    """
    total, row = weights[0], 0
    for i in range(len(out)):
        wanted = at + i / len(out)
        while total < wanted and row < len(weights) - 1:
            row += 1
            total += weights[row]
        out[i] = row
