"""Simple polygons as (n, 2) arrays of corners: area, cells inside, exact shares of squares."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STRAIGHT = 1e-9  # sine of an angle that is taken for rounding

Polygon = NDArray[np.float64]  # (n, 2)


def signed_area(polygon: Polygon) -> float:
    """Area, positive for counter-clockwise corners (shoelace formula)."""
    x, y = polygon.T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) / 2)


def crosses_itself(polygon: Polygon) -> bool:
    """Whether two sides that are not neighbours share a point."""
    n = len(polygon)
    ends = np.roll(polygon, -1, axis=0)
    for i in range(n):
        for j in range(i + 2, n):
            if (i, j) != (0, n - 1) and _segments_meet(polygon[i], ends[i], polygon[j], ends[j]):
                return True
    return False


def _segments_meet(a: Polygon, b: Polygon, c: Polygon, d: Polygon) -> bool:
    sides = (_side(a, b, c), _side(a, b, d), _side(c, d, a), _side(c, d, b))
    if sides[0] * sides[1] < 0 and sides[2] * sides[3] < 0:
        return True
    touching = ((a, b, c), (a, b, d), (c, d, a), (c, d, b))
    return any(s == 0 and _between(*t) for s, t in zip(sides, touching, strict=True))


def _side(a: Polygon, b: Polygon, p: Polygon) -> float:
    return float(np.sign((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])))


def _between(a: Polygon, b: Polygon, p: Polygon) -> bool:
    return bool((np.minimum(a, b) <= p).all() and (p <= np.maximum(a, b)).all())


def holds(polygon: Polygon, points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether points (..., 2) lie inside, by the even-odd rule; each point of a tiling lies once."""
    x, y = points[..., 0], points[..., 1]
    inside = np.zeros(x.shape, dtype=bool)
    for (x0, y0), (x1, y1) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if y0 == y1:
            continue
        across = (y0 <= y) != (y1 <= y)
        inside ^= across & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
    return inside


def area_in_square(polygon: Polygon, low: Polygon, high: Polygon) -> float:
    """Area that a polygon, convex or not, shares with the box from ``low`` to ``high``.

    Sutherland and Hodgman's clipping: where the result falls apart, the parts stay joined by edges
    along the box that cancel in the area.
    """
    part = polygon
    for axis in (0, 1):
        for sign, edge in ((1.0, low[axis]), (-1.0, -high[axis])):
            part = _clip(part, axis, sign, edge)
            if len(part) == 0:
                return 0.0
    return abs(signed_area(part))


def _clip(polygon: Polygon, axis: int, sign: float, edge: float) -> Polygon:
    """The part with ``sign * coordinate >= edge``."""
    depth = sign * polygon[:, axis] - edge
    kept = []
    for i in range(len(polygon)):
        a, b = depth[i - 1], depth[i]
        if (a < 0) != (b < 0):
            kept.append(polygon[i - 1] + (polygon[i] - polygon[i - 1]) * (a / (a - b)))
        if b >= 0:
            kept.append(polygon[i])
    return np.array(kept).reshape(-1, 2)


def triangles(polygon: Polygon) -> NDArray[np.int64]:
    """Corners (n - 2 or fewer, 3) of triangles that tile a simple polygon, each counter-clockwise."""
    left = list(range(len(polygon)))
    if signed_area(polygon) < 0:
        left.reverse()
    out = []
    while len(left) >= 3:
        turns = [_turn(polygon, left, i) for i in range(len(left))]
        if 0 in turns:  # a corner in a straight line adds nothing
            del left[turns.index(0)]
            continue
        ear = next(i for i in range(len(left)) if turns[i] > 0 and _is_ear(polygon, left, i))
        out.append([left[ear - 1], left[ear], left[(ear + 1) % len(left)]])
        del left[ear]
    return np.array(out, dtype=np.int64)


def is_convex(polygon: Polygon) -> bool:
    """Whether no corner points inwards."""
    turns = [_turn(polygon, range(len(polygon)), i) for i in range(len(polygon))]
    return min(turns) >= 0 or max(turns) <= 0


def _turn(polygon: Polygon, corners: Sequence[int], i: int) -> float:
    """1 where the way along corners turns left at the i-th, -1 where right, 0 where it goes straight."""
    a, b, c = (polygon[corners[j % len(corners)]] for j in (i - 1, i, i + 1))
    return _bend(a, b, c)


def _bend(a: Polygon, b: Polygon, p: Polygon) -> float:
    """The side of the line from a to b on which p lies; 0 where only rounding could tell."""
    along, away = b - a, p - a
    across = along[0] * away[1] - along[1] * away[0]
    least = STRAIGHT * np.hypot(*along) * np.hypot(*away)
    return 0.0 if abs(across) <= least else float(np.sign(across))


def _is_ear(polygon: Polygon, left: list[int], i: int) -> bool:
    """Whether the triangle at the i-th of the corners that are left holds none of the others."""
    tip = [left[j % len(left)] for j in (i - 1, i, i + 1)]
    a, b, c = polygon[tip]
    others = (polygon[j] for j in left if j not in tip)
    return not any(
        _bend(a, b, p) >= 0 and _bend(b, c, p) >= 0 and _bend(c, a, p) >= 0 for p in others
    )
