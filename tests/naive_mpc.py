"""A slow and obvious twin of every kernel of model-predictive control."""

from math import cos, sin

import numpy as np
from scipy import ndimage


def bilinear(field, cell_m, x, y):
    """The value by scipy, the slope by differences within the same four cells."""

    def value(x, y):
        at = [[y / cell_m - 0.5], [x / cell_m - 0.5]]
        return float(ndimage.map_coordinates(field, at, order=1, mode="nearest")[0])

    tiny = 1e-6
    return (
        value(x, y),
        (value(x + tiny, y) - value(x - tiny, y)) / (2 * tiny),
        (value(x, y + tiny) - value(x, y - tiny)) / (2 * tiny),
    )


def drive(state, wanted, period_s, lag_s, steps=20_000):
    """One period by tiny steps: the wheels close in on what is wanted with a first-order lag."""
    x, y, yaw, v, w = state
    dt = period_s / steps
    for _ in range(steps):
        x, y, yaw = x + dt * v * cos(yaw), y + dt * v * sin(yaw), yaw + dt * w
        if lag_s:
            v, w = v + dt * (wanted[0] - v) / lag_s, w + dt * (wanted[1] - w) / lag_s
        else:
            v, w = wanted
    return np.array([x, y, yaw, v, w])


def on_path(path, spacing_m, progress):
    at = np.arange(len(path)) * spacing_m
    out = np.stack([np.interp(progress, at, column) for column in path.T], axis=1)
    out[:, 2:4] /= np.linalg.norm(out[:, 2:4], axis=1, keepdims=True)
    return out


def nearest_on_path(path, spacing_m, x, y, low_m, high_m):
    metres = np.linspace(low_m, high_m, 20_001)
    at = np.arange(len(path)) * spacing_m
    gaps = np.hypot(np.interp(metres, at, path[:, 0]) - x, np.interp(metres, at, path[:, 1]) - y)
    return metres[gaps.argmin()]


def path_cost(state, reference, aside, along):
    """The cost itself, of one (x, y, progress beyond the reference)."""
    x, y, t = reference[0], reference[1], reference[2:4]
    dx, dy = state[0] - x - state[2] * t[0], state[1] - y - state[2] * t[1]
    return aside * (t[0] * dy - t[1] * dx) ** 2 + along * (t[0] * dx + t[1] * dy) ** 2


def clear_m(room, points):
    """Exact distance from positions to the nearest occupied square, one by one."""
    lows = room.centres(np.argwhere(room.occupied)) - room.resolution_m / 2
    out = []
    for point in points:
        gap = np.maximum(0, np.maximum(lows - point, point - lows - room.resolution_m))
        out.append(np.hypot(*gap.T).min())
    return np.array(out)
