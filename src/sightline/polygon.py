"""Simple polygons as (n, 2) arrays of corners: area, cells inside, exact shares of squares."""

import numpy as np
from numpy.typing import NDArray

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
