"""Straight lines through a grid, cell by cell.

Grids are flat views of an array padded by one ring of blocked cells; positions are in padded cells.
A line that runs exactly over a corner touches the two cells beside it and needs one of them open.
"""

from math import cos, floor, inf, pi, sin, sqrt

import numpy as np
from numba import njit

BLOCKED = 1
ROUNDING = 1e-9  # cells; crossings closer than this are one crossing, at a corner
OFF_CENTRE = 0.75  # cells; more than any point of a cell is from its centre


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
def _sees(room, width, x0, y0, x1, y1, into):
    """Whether (x1, y1) is seen from (x0, y0): nothing opaque before it, but for what it lies in.

    ``room`` is the distance from each cell's centre to the nearest opaque square, 0 in opaque cells;
    far from all of them the ray takes long strides. Once it enters an opaque cell it must stay in
    opaque cells to its end, for ``into`` cells at the most: so far one sees what lies on a high shelf
    or on a counter that is drawn as wall.
    """
    c, r = floor(x0), floor(y0)
    c_end, r_end = floor(x1), floor(y1)
    dx, dy = x1 - x0, y1 - y0
    length = sqrt(dx * dx + dy * dy)
    step_c, step_r = (1 if dx > 0.0 else -1), (1 if dy > 0.0 else -1)
    edge_c, edge_r = (1 if dx > 0.0 else 0), (1 if dy > 0.0 else 0)
    # as shares of the whole way: how far the ray is, and where it meets the next column and row line
    at = 0.0
    per_column, per_row = (1.0 / dx if dx != 0.0 else inf), (1.0 / dy if dy != 0.0 else inf)
    stride_share = 1.0 / length if length > 0.0 else inf
    to_column = (c + edge_c - x0) * per_column if c != c_end else inf
    to_row = (r + edge_r - y0) * per_row if r != r_end else inf
    # from this share on, the open space around the end holds the rest of the ray
    near_end = 1.0 - max(room[r_end * width + c_end] - OFF_CENTRE, 0.0) * stride_share
    entered = False
    while c != c_end or r != r_end:
        stride = room[r * width + c] - OFF_CENTRE
        if stride > 2.0:
            while stride > 2.0:
                at += stride * stride_share
                if at >= near_end:
                    return True
                c, r = floor(x0 + at * dx), floor(y0 + at * dy)
                stride = room[r * width + c] - OFF_CENTRE
            to_column = (c + edge_c - x0) * per_column if c != c_end else inf
            to_row = (r + edge_r - y0) * per_row if r != r_end else inf
            continue
        at = min(to_column, to_row)
        corner = abs(to_column - to_row) * length <= ROUNDING
        pinched = corner and room[r * width + c + step_c] + room[(r + step_r) * width + c] == 0.0
        across, along = corner or to_column < to_row, corner or to_row < to_column
        if across:
            c += step_c
            to_column = (c + edge_c - x0) * per_column if c != c_end else inf
        if along:
            r += step_r
            to_row = (r + edge_r - y0) * per_row if r != r_end else inf
        wall = room[r * width + c] == 0.0
        if (entered or pinched) and not wall:
            return False
        if wall and not entered:
            if (1.0 - at) * length > into + ROUNDING:
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
def who_sees_what(room, width, viewers, targets, reach, into, seen, first):
    """Per viewer the targets that it sees, one viewer after another in ``seen``; ``first`` marks each.

    ``room`` may be empty: then everything within reach is seen. ``seen`` has room for all targets in
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
            if room.size == 0 or _sees(room, width, x, y, tx, ty, into):
                seen[n] = j
                n += 1
    first[len(viewers)] = n


@njit(cache=True)
def first_sights(room, width, poses, targets, reach, half_angle, into, out):
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
            if room.size == 0 or _sees(room, width, x, y, targets[j, 0], targets[j, 1], into):
                out[j] = i
