"""Straight lines through a grid, cell by cell.

Grids are flat views of an array padded by one ring of blocked cells; positions are in padded cells.
A line that runs exactly over a corner touches the two cells beside it and needs one of them open.
"""

from math import cos, floor, inf, pi, sin, sqrt

import numpy as np
from numba import njit

BLOCKED = 1
ROUNDING = 1e-9  # cells; crossings closer than this are one crossing, at a corner


@njit(cache=True)
def segment_is_clear(code, width, x0, y0, x1, y1):
    """Whether the open segment from (x0, y0) to (x1, y1) meets no blocked cell."""
    c, r = floor(x0), floor(y0)
    c_end, r_end = floor(x1), floor(y1)
    dx, dy = abs(x1 - x0), abs(y1 - y0)
    step_c, step_r = (1 if x1 > x0 else -1), (1 if y1 > y0 else -1)
    # distance still to go to the next column and row line, both measured along dx * dy
    to_column = ((c + 1 - x0) if x1 > x0 else (x0 - c)) * dy if c != c_end else inf
    to_row = ((r + 1 - y0) if y1 > y0 else (y0 - r)) * dx if r != r_end else inf
    tolerance = ROUNDING * max(dx, dy)
    if code[r * width + c] & BLOCKED:
        return False
    while c != c_end or r != r_end:
        if abs(to_column - to_row) <= tolerance:
            beside = code[r * width + c + step_c] & code[(r + step_r) * width + c]
            if beside & BLOCKED:
                return False
            c, r = c + step_c, r + step_r
            to_column = to_column + dy if c != c_end else inf
            to_row = to_row + dx if r != r_end else inf
        elif to_column < to_row:
            c += step_c
            to_column = to_column + dy if c != c_end else inf
        else:
            r += step_r
            to_row = to_row + dx if r != r_end else inf
        if code[r * width + c] & BLOCKED:
            return False
    return True


@njit(cache=True)
def _sees(opaque, width, x0, y0, x1, y1, into):
    """Whether (x1, y1) is seen from (x0, y0): nothing opaque before it, but for what it lies in.

    Once the ray enters an opaque cell it must stay in opaque cells to its end, for ``into`` cells at
    the most: so far one sees what lies on a high shelf or a counter that is drawn as wall.
    """
    c, r = floor(x0), floor(y0)
    c_end, r_end = floor(x1), floor(y1)
    dx, dy = abs(x1 - x0), abs(y1 - y0)
    length = sqrt(dx * dx + dy * dy)
    step_c, step_r = (1 if x1 > x0 else -1), (1 if y1 > y0 else -1)
    # share of the way at which the next column and row line are crossed
    per_column = 1.0 / dx if c != c_end else inf
    per_row = 1.0 / dy if r != r_end else inf
    to_column = ((c + 1 - x0) if x1 > x0 else (x0 - c)) * per_column if c != c_end else inf
    to_row = ((r + 1 - y0) if y1 > y0 else (y0 - r)) * per_row if r != r_end else inf
    entered = False
    while c != c_end or r != r_end:
        at = min(to_column, to_row)
        corner = abs(to_column - to_row) * length <= ROUNDING
        pinched = False
        if corner:
            beside = opaque[r * width + c + step_c] & opaque[(r + step_r) * width + c]
            pinched = (beside & BLOCKED) != 0
        if corner or to_column < to_row:
            c += step_c
            to_column = to_column + per_column if c != c_end else inf
        if corner or at == to_row:
            r += step_r
            to_row = to_row + per_row if r != r_end else inf
        wall = (opaque[r * width + c] & BLOCKED) != 0
        if entered and not wall:
            return False
        if (wall or pinched) and not entered:
            if not wall or (1.0 - at) * length > into:
                return False
            entered = True
    return True


@njit(cache=True)
def count_in_range(viewers, targets, reach):
    """How many targets lie within ``reach`` of each viewer."""
    count = np.zeros(len(viewers), np.int64)
    for i in range(len(viewers)):
        for j in range(len(targets)):
            dx, dy = targets[j, 0] - viewers[i, 0], targets[j, 1] - viewers[i, 1]
            if dx * dx + dy * dy <= reach * reach:
                count[i] += 1
    return count


@njit(cache=True)
def who_sees_what(opaque, width, viewers, targets, reach, into, seen, first):
    """Per viewer the targets that it sees, one viewer after another in ``seen``; ``first`` marks each.

    ``opaque`` may be empty: then everything within reach is seen. ``seen`` has room for all targets in
    reach.
    """
    n = 0
    for i in range(len(viewers)):
        first[i] = n
        x, y = viewers[i, 0], viewers[i, 1]
        for j in range(len(targets)):
            tx, ty = targets[j, 0], targets[j, 1]
            if (tx - x) * (tx - x) + (ty - y) * (ty - y) > reach * reach:
                continue
            if opaque.size == 0 or _sees(opaque, width, x, y, tx, ty, into):
                seen[n] = j
                n += 1
    first[len(viewers)] = n


@njit(cache=True)
def first_sights(opaque, width, poses, targets, reach, half_angle, into, out):
    """For every target the first of the poses (x, y, heading) that sees it, -1 if none does."""
    out[:] = -1
    narrow = half_angle < pi
    for i in range(len(poses)):
        x, y = poses[i, 0], poses[i, 1]
        ahead_x, ahead_y = cos(poses[i, 2]), sin(poses[i, 2])
        for j in range(len(targets)):
            if out[j] >= 0:
                continue
            dx, dy = targets[j, 0] - x, targets[j, 1] - y
            far = dx * dx + dy * dy
            if far > reach * reach:
                continue
            if narrow and dx * ahead_x + dy * ahead_y < cos(half_angle) * sqrt(far) - ROUNDING:
                continue
            if opaque.size == 0 or _sees(opaque, width, x, y, targets[j, 0], targets[j, 1], into):
                out[j] = i
