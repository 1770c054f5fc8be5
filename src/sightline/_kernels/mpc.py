"""What model-predictive control needs each period: predict, linearise, look up clearance and path.

A state is (x, y, yaw, speed, turn rate, progress), an input (speed wanted, turn rate wanted, rate of
progress); metres, radians and seconds in the map's own axes, origin at the corner of cell (0, 0). The
wheels follow what is wanted with a first-order lag tau over a period T: ``decay = exp(-T / tau)`` is
the share of a speed error left at its end, ``mean = (1 - decay) tau / T`` the share left on average.
"""

from math import cos, sin, sqrt

import numpy as np
from numba import njit


@njit(cache=True)
def bilinear(field, cell_m, x, y):
    """A field of cell centres at a position: the value and its slope along x and y.

    Beyond the outermost centres it goes on as at the rim.
    """
    rows, columns = field.shape
    right = min(max(x / cell_m - 0.5, 0.0), columns - 1.0)
    up = min(max(y / cell_m - 0.5, 0.0), rows - 1.0)
    c, r = min(int(right), max(columns - 2, 0)), min(int(up), max(rows - 2, 0))
    east, north = min(c + 1, columns - 1), min(r + 1, rows - 1)
    a, b = right - c, up - r
    low = (1 - a) * field[r, c] + a * field[r, east]
    high = (1 - a) * field[north, c] + a * field[north, east]
    along = (1 - b) * (field[r, east] - field[r, c]) + b * (field[north, east] - field[north, c])
    return (1 - b) * low + b * high, along / cell_m, (high - low) / cell_m


@njit(cache=True)
def predict(start, inputs, period_s, decay, mean):
    """The states (n + 1, 6) that inputs (n, 3) lead to from a state (6,).

    Each period is driven along the chord of its arc, at the yaw of its middle.
    """
    out = np.empty((len(inputs) + 1, 6))
    out[0] = start
    for k in range(len(inputs)):
        x, y, yaw, v, w, s = out[k]
        metres = period_s * (inputs[k, 0] + mean * (v - inputs[k, 0]))
        turned = period_s * (inputs[k, 1] + mean * (w - inputs[k, 1]))
        out[k + 1, 0] = x + metres * cos(yaw + turned / 2)
        out[k + 1, 1] = y + metres * sin(yaw + turned / 2)
        out[k + 1, 2] = yaw + turned
        out[k + 1, 3] = inputs[k, 0] + decay * (v - inputs[k, 0])
        out[k + 1, 4] = inputs[k, 1] + decay * (w - inputs[k, 1])
        out[k + 1, 5] = s + period_s * inputs[k, 2]
    return out


@njit(cache=True)
def slopes(states, inputs, period_s, mean):
    """How x and y after each period depend on what came before: (n, 2, 5).

    The five are the yaw, speed and turn rate before the period, and the speed and turn rate wanted.
    """
    out = np.empty((len(inputs), 2, 5))
    for k in range(len(inputs)):
        yaw, v, w = states[k, 2], states[k, 3], states[k, 4]
        metres = period_s * (inputs[k, 0] + mean * (v - inputs[k, 0]))
        turned = period_s * (inputs[k, 1] + mean * (w - inputs[k, 1]))
        ahead = (cos(yaw + turned / 2), sin(yaw + turned / 2))
        aside = (-ahead[1], ahead[0])
        for i in range(2):
            out[k, i, 0] = metres * aside[i]
            out[k, i, 1] = period_s * mean * ahead[i]
            out[k, i, 2] = metres * aside[i] * period_s * mean / 2
            out[k, i, 3] = period_s * (1 - mean) * ahead[i]
            out[k, i, 4] = metres * aside[i] * period_s * (1 - mean) / 2
    return out


@njit(cache=True)
def clearances(field, cell_m, states):
    """Clearance at each state and its slope along x and y: (n, 3)."""
    out = np.empty((len(states), 3))
    for k in range(len(states)):
        out[k, 0], out[k, 1], out[k, 2] = bilinear(field, cell_m, states[k, 0], states[k, 1])
    return out


@njit(cache=True)
def on_path(path, spacing_m, progress):
    """The path's columns after so many metres (n, 6).

    They are x, y, the direction's x and y, the limit of speed and the clearance wanted.
    """
    last = len(path) - 1
    out = np.empty((len(progress), 6))
    for k in range(len(progress)):
        at = min(max(progress[k] / spacing_m, 0.0), float(last))
        i = min(int(at), last - 1)
        share = at - i
        for j in range(6):
            out[k, j] = (1 - share) * path[i, j] + share * path[i + 1, j]
        length = sqrt(out[k, 2] ** 2 + out[k, 3] ** 2)
        out[k, 2], out[k, 3] = out[k, 2] / length, out[k, 3] / length
    return out


@njit(cache=True)
def nearest_on_path(path, spacing_m, x, y, low_m, high_m):
    """Metres along the path of the point nearest to (x, y), between two bounds."""
    last = len(path) - 1
    first = min(max(int(low_m / spacing_m), 0), last - 1)
    end = min(max(int(high_m / spacing_m) + 1, first + 1), last)
    best, at = np.inf, low_m
    for i in range(first, end):
        dx, dy = path[i + 1, 0] - path[i, 0], path[i + 1, 1] - path[i, 1]
        share = (dx * (x - path[i, 0]) + dy * (y - path[i, 1])) / (dx * dx + dy * dy)
        share = min(max(share, low_m / spacing_m - i, 0.0), high_m / spacing_m - i, 1.0)
        gap = (path[i, 0] + share * dx - x) ** 2 + (path[i, 1] + share * dy - y) ** 2
        if gap < best:
            best, at = gap, (i + share) * spacing_m
    return min(max(at, low_m), high_m)


@njit(cache=True)
def path_cost(states, reference, aside, along):
    """Curvature (n, 6) and slope (n, 3) of the cost of straying from the path, over (x, y, progress).

    A state strays from its point ``reference[k]`` on the path by e_c to the side and e_l ahead; the cost
    is ``aside[k] e_c^2 + along e_l^2``. The curvature is the upper triangle of H in ``d' H d / 2``, row
    by row.
    """
    curvature = np.empty((len(states), 6))
    slope = np.empty((len(states), 3))
    for k in range(len(states)):
        tx, ty = reference[k, 2], reference[k, 3]
        dx, dy = states[k, 0] - reference[k, 0], states[k, 1] - reference[k, 1]
        c, e = 2 * aside[k], 2 * along
        across, ahead = c * (tx * dy - ty * dx), e * (tx * dx + ty * dy)
        curvature[k, 0] = c * ty * ty + e * tx * tx
        curvature[k, 1] = (e - c) * tx * ty
        curvature[k, 2] = -e * tx
        curvature[k, 3] = c * tx * tx + e * ty * ty
        curvature[k, 4] = -e * ty
        curvature[k, 5] = e
        slope[k, 0] = ahead * tx - across * ty
        slope[k, 1] = ahead * ty + across * tx
        slope[k, 2] = -ahead
    return curvature, slope


@njit(cache=True)
def keep_limits(inputs, wanted, most, change):
    """Inputs (n, 3) cut, in place, to speeds (2,) and to changes of them (2,) since ``wanted`` (2,)."""
    for k in range(len(inputs)):
        for i in range(2):
            before = wanted[i] if k == 0 else inputs[k - 1, i]
            low, high = before - change[i], before + change[i]
            value = min(max(inputs[k, i], low), high)
            inputs[k, i] = min(max(value, 0.0 if i == 0 else -most[i]), most[i])
        inputs[k, 2] = max(inputs[k, 2], 0.0)
