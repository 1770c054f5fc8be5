"""A slow and obvious twin of every kernel. Positions are (x, y) in cells, as in the kernels."""

from itertools import pairwise, product
from math import cos, floor, hypot, inf, pi, sin, sqrt

import numpy as np

TINY = 1e-9


def is_free(free, row, column):
    rows, columns = free.shape
    return 0 <= row < rows and 0 <= column < columns and bool(free[row, column])


def crossings(a, b):
    """Shares of the way at which the segment meets a line between cells, and the ends 0 and 1."""
    shares = {1.0}
    for p, q in ((a[0], b[0]), (a[1], b[1])):
        low, high = sorted((p, q))
        for line in range(floor(low), floor(high) + 2):
            if p != q and 0 < (line - p) / (q - p) < 1:
                shares.add((line - p) / (q - p))
    out = [0.0]
    for share in sorted(shares):
        if share - out[-1] > TINY:
            out.append(share)
    return out


def along(a, b, share):
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])


def cells_beside(x, y):
    """The cells that hold a point: one, or the two or four that share the line or corner it is on."""
    columns = [round(x) - 1, round(x)] if abs(x - round(x)) < TINY else [floor(x)]
    rows = [round(y) - 1, round(y)] if abs(y - round(y)) < TINY else [floor(y)]
    return list(product(rows, columns))


def is_pinched(free, corner, a, b):
    """Whether the line ab would pass a corner between two blocked cells that touch diagonally."""
    around = cells_beside(*corner)
    if len(around) < 4:
        return False
    low_left, low_right, top_left, top_right = (is_free(free, r, c) for r, c in around)
    slope = (b[0] - a[0]) * (b[1] - a[1])
    across = slope >= 0 and not (top_left or low_right)
    return across or (slope <= 0 and not (low_left or top_right))


def stays_open(free, a, b):
    """Whether the segment ab can be driven: through free cells and along their rims."""
    shares = crossings(a, b)
    for s, t in pairwise(shares):
        beside = cells_beside(*along(a, b, (s + t) / 2))
        if not any(is_free(free, r, c) for r, c in beside):
            return False
    return not any(is_pinched(free, along(a, b, s), a, b) for s in shares[1:-1])


def bends(free):
    """Corners at which a shortest path can bend: just one of the four cells around is blocked."""
    rows, columns = free.shape
    return [
        (c, r)
        for r in range(rows + 1)
        for c in range(columns + 1)
        if sum(is_free(free, *cell) for cell in cells_beside(c, r)) == 3
    ]


def visibility_graph_distances(free, sources, targets):
    """Shortest paths over the full visibility graph, (n, m)."""
    nodes = [*map(tuple, sources), *bends(free)]
    lengths = np.full((len(nodes), len(nodes)), inf)
    for (i, p), (j, q) in product(enumerate(nodes), repeat=2):
        if i <= j and (p == q or stays_open(free, p, q)):
            lengths[i, j] = lengths[j, i] = hypot(p[0] - q[0], p[1] - q[1])
    for k in range(len(nodes)):  # Floyd and Warshall
        lengths = np.minimum(lengths, lengths[:, k, None] + lengths[None, k, :])
    out = np.full((len(sources), len(targets)), inf)
    for j, goal in enumerate(map(tuple, targets)):
        last = [
            hypot(p[0] - goal[0], p[1] - goal[1]) if p == goal or stays_open(free, p, goal) else inf
            for p in nodes
        ]
        out[:, j] = (lengths[: len(sources)] + last).min(axis=1)
    return out


def grid_graph_field(free, cell):
    """Bellman and Ford on the 8-connected graph; a diagonal needs both cells beside it free."""
    field = np.full(free.shape, inf)
    field[cell] = 0.0
    changed = True
    while changed:
        changed = False
        for (r, c), dr, dc in product(np.argwhere(free), (-1, 0, 1), (-1, 0, 1)):
            steps = ((r + dr, c), (r, c + dc), (r + dr, c + dc))
            if not all(is_free(free, *step) for step in steps):
                continue
            length = field[r + dr, c + dc] + sqrt(dr * dr + dc * dc)
            if length < field[r, c] - TINY:
                field[r, c] = length
                changed = True
    return field


def sees(opaque, a, b, into):
    """March along the ray piece by piece: once in an opaque cell it must stay in opaque cells, for a
    length of ``into`` at the most."""
    shares = crossings(a, b)
    length = hypot(b[0] - a[0], b[1] - a[1])
    entered = None
    for s, t in pairwise(shares):
        if s == 0.0:
            continue  # the viewer sees out of the cell it stands in
        x, y = along(a, b, (s + t) / 2)
        wall = not is_free(~opaque, floor(y), floor(x))
        if entered is not None and not wall:
            return False
        if entered is None and wall:
            entered = s
        if not wall and is_pinched(~opaque, along(a, b, s), a, b):
            return False
    return entered is None or (1 - entered) * length <= into + TINY


def who_sees_what(opaque, viewers, targets, reach, into):
    """Dense (n, m)."""
    out = np.zeros((len(viewers), len(targets)), dtype=bool)
    for (i, a), (j, b) in product(enumerate(viewers), enumerate(targets)):
        if hypot(a[0] - b[0], a[1] - b[1]) <= reach:
            out[i, j] = sees(opaque, a, b, into)
    return out


def first_sight(opaque, poses, target, reach, half_angle, into):
    """Number of the first pose (x, y, heading) that has the target in view, else -1."""
    for i, (x, y, heading) in enumerate(poses):
        dx, dy = target[0] - x, target[1] - y
        if hypot(dx, dy) > reach:
            continue
        ahead, side = dx * cos(heading) + dy * sin(heading), dy * cos(heading) - dx * sin(heading)
        turn = abs(np.arctan2(side, ahead)) if hypot(dx, dy) > 0 else 0.0
        if half_angle < pi and turn > half_angle:
            continue
        if sees(opaque, (x, y), target, into):
            return i
    return -1


def farthest(points, k, start):
    """Farthest-point sampling as it is defined."""
    chosen = [start]
    while len(chosen) < k:
        gaps = [min(((p - points[i]) ** 2).sum() for i in chosen) for p in points]
        chosen.append(int(np.argmax(gaps)))
    return chosen


def gap_to_square(x, y, row, column):
    """Distance from a point to the square of a cell, in cells."""
    dx = max(column - x, x - (column + 1), 0.0)
    dy = max(row - y, y - (row + 1), 0.0)
    return hypot(dx, dy)


def clearance(blocked):
    """Distance (cells) from each cell's centre to the nearest blocked square; inf if none."""
    out = np.full(blocked.shape, inf)
    for r, c in np.ndindex(blocked.shape):
        for row, column in np.argwhere(blocked):
            out[r, c] = min(out[r, c], gap_to_square(c + 0.5, r + 0.5, row, column))
    return out


def cell_at(point, resolution_m, origin):
    """The cell (row, column) that holds a position: turned back by hand into the map's frame."""
    dx, dy = point[0] - origin[0], point[1] - origin[1]
    c, s = cos(origin[2]), sin(origin[2])
    return floor((-s * dx + c * dy) / resolution_m), floor((c * dx + s * dy) / resolution_m)


def connected(mask, start):
    """The part of a mask joined to a cell by sides, by flood fill."""
    part = np.zeros_like(mask)
    todo = [start]
    while todo:
        r, c = todo.pop()
        if 0 <= r < mask.shape[0] and 0 <= c < mask.shape[1] and mask[r, c] and not part[r, c]:
            part[r, c] = True
            todo += [(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)]
    return part
