"""Slow and obvious twins of the particle filter: one pose, one hit, one draw at a time."""

from math import cos, exp, floor, log, sin


def moved(pose, forward, turn, noise):
    """Half of the turn, the way, the other half."""
    x, y, yaw = pose
    ahead, left, around = forward + noise[0], noise[1], turn + noise[2]
    yaw += around / 2
    x, y = x + ahead * cos(yaw), y + ahead * sin(yaw)
    x, y = x - left * sin(yaw), y + left * cos(yaw)
    return x, y, yaw + around / 2


def gap_between_centres(gap, column, row):
    """Bilinear between the centres of the four cells around; None beyond the outermost centres."""
    c, r = floor(column - 0.5), floor(row - 0.5)
    if not (0 <= c < gap.shape[1] - 1 and 0 <= r < gap.shape[0] - 1):
        return None
    total = 0.0
    for i in (r, r + 1):
        for j in (c, c + 1):
            total += gap[i, j] * (1 - abs(row - 0.5 - i)) * (1 - abs(column - 0.5 - j))
    return total


def fit(chart, gap, pose, hits, spread, stray):
    """Mean log likelihood of hits, each brought into the map by the map's own arithmetic."""
    x, y, yaw = pose
    total = 0.0
    for hx, hy in hits:
        at = (x + hx * cos(yaw) - hy * sin(yaw), y + hx * sin(yaw) + hy * cos(yaw))
        column, row = chart.to_grid(at)
        d = gap_between_centres(gap, column, row)
        total += log(stray if d is None else exp(-0.5 * (d / spread) ** 2) + stray)
    return total / len(hits)


def drawn(weights, at, count):
    """For each mark the first row up to which the weights sum to it."""
    out = []
    for i in range(count):
        mark = at + i / count
        rows = [row for row in range(len(weights)) if sum(weights[: row + 1]) >= mark]
        out.append(rows[0] if rows else len(weights) - 1)
    return out
