"""Frames drawn without a simulator: upright rectangles and cylinders in front of a wall."""

import numpy as np

from sightline.detect import Camera, Frame

WALL_M = 6.0


def camera(x=0.0, y=0.0, *, z=1.0, yaw=0.0, pitch=0.0):
    return Camera(320, 240, 1.2043, (x, y, z), yaw, pitch)


def rays(view):
    """Directions (height, width, 3) in the map frame, of depth 1 along the optical axis."""
    x, y = np.meshgrid(np.arange(view.width) + 0.5, np.arange(view.height) + 0.5)
    pixels = np.column_stack([x.ravel(), y.ravel()])
    return (view.unproject(pixels, np.ones(len(pixels))) - view.position).reshape(
        view.height, view.width, 3
    )


def board(view, at, width_m, height_m):
    """Depths of an upright rectangle whose middle is at a point, and which faces along the map's x."""
    ray = rays(view)
    away = np.subtract(at, view.position)
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = away[0] / ray[..., 0]
        hit = ray * depth[..., None]
    on = (np.abs(hit[..., 1] - away[1]) <= width_m / 2) & (
        np.abs(hit[..., 2] - away[2]) <= height_m / 2
    )
    return np.where(on & (depth > 0), depth, np.inf)


def cylinder(view, at, radius_m, height_m):
    """Depths of an upright cylinder with a lid, whose middle is at a point."""
    ray = rays(view)
    away = np.subtract(at, view.position)
    a = (ray[..., :2] ** 2).sum(axis=-1)
    b = (ray[..., :2] * away[:2]).sum(axis=-1)
    rest = b**2 - a * (away[:2] @ away[:2] - radius_m**2)
    depth = (b - np.sqrt(np.maximum(rest, 0))) / a
    high = np.abs(ray[..., 2] * depth - away[2]) <= height_m / 2
    side = np.where((rest >= 0) & high & (depth > 0), depth, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        lid = (away[2] + height_m / 2) / ray[..., 2]
        off = np.hypot(*(ray[..., :2] * lid[..., None] - away[:2]).transpose(2, 0, 1))
    return np.minimum(side, np.where((off <= radius_m) & (lid > 0), lid, np.inf))


def level(view, z, x_m, y_m):
    """Depths of a level surface at a height, over ranges of x and y."""
    ray = rays(view)
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = (z - view.position[2]) / ray[..., 2]
        hit = ray * depth[..., None] + view.position
    on = (x_m[0] <= hit[..., 0]) & (hit[..., 0] <= x_m[1])
    on &= (y_m[0] <= hit[..., 1]) & (hit[..., 1] <= y_m[1])
    return np.where(on & (depth > 0), depth, np.inf)


def frame(view, things=(), others=(), *, wall_m=WALL_M):
    """What a camera shows of things (name, depths) and of other surfaces (depths), the nearest first.

    The wall, ``wall_m`` along the optical axis, is behind everything.
    """
    layers = [np.full((view.height, view.width), wall_m), *others, *(depth for _, depth in things)]
    nearest = np.argmin(layers, axis=0)
    depth = np.min(layers, axis=0)
    segments = nearest - 1 - len(others)
    return Frame(
        rgb=np.zeros((view.height, view.width, 3), dtype=np.uint8),
        depth_m=depth.astype(np.float32),
        camera=view,
        segments=np.maximum(segments, -1).astype(np.int32),
        things=tuple(name for name, _ in things),
    )
