"""From pixels with a depth to a position in the map frame."""

import numpy as np
from numpy.typing import NDArray

from sightline.detect.camera import Array, Point3
from sightline.detect.protocol import Box, Frame
from sightline.maps import Mask

FEWEST_PIXELS = 4
BAND_M = 0.10  # how far the depths of one thing lie from their median
DENSE_SHARE = 1 / 3
DEEPEST_M = 0.05


def locate(frame: Frame, region: Box | Mask) -> Point3 | None:
    """Where the thing in a box, or under a mask (height, width), lies in the map frame.

    A box also holds background, and at times something that stands in front. So the depth is that of
    the nearest dense cluster in the middle of the box (half its width and height): the nearest 0.1 m that
    hold at least a third as many pixels as the fullest 0.1 m do. Pixels of the region within 0.1 m of the
    median of these are the thing; under a mask, those within 0.1 m of the median of all.

    A camera sees the near side only. The middle of the thing is taken to lie behind the median depth by
    0.87 times half its visible width, as in an upright cylinder, but by no more than 0.05 m: flat things
    such as bags are not as deep as they are wide. None if fewer than 4 pixels have a depth.
    """
    if isinstance(region, np.ndarray):
        rows, columns = _pixels_of_mask(frame, region)
        core = np.ones(len(rows), dtype=bool)
    else:
        rows, columns, core = _pixels_of_box(frame, region)
    known = measured(frame.depth_m[rows, columns])
    depth = frame.depth_m[rows, columns].astype(np.float64)
    rows, columns, depth, core = rows[known], columns[known], depth[known], core[known]
    if len(depth) < FEWEST_PIXELS:
        return None
    if core.sum() < FEWEST_PIXELS:
        core[:] = True
    middle = np.median(depth) if isinstance(region, np.ndarray) else _nearest_cluster(depth[core])
    thing = np.abs(depth - middle) <= BAND_M
    if thing.sum() < FEWEST_PIXELS:
        return None
    return _middle(frame, rows[thing], columns[thing], depth[thing])


def measured(depth_m: NDArray[np.float32]) -> Mask:
    """Whether depths were measured."""
    return np.isfinite(depth_m) & (depth_m > 0)


def _pixels_of_mask(frame: Frame, mask: Mask) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if mask.shape != frame.depth_m.shape or mask.dtype != np.bool_:
        raise ValueError(
            f"A mask must be bool of shape {frame.depth_m.shape}, "
            f"not {mask.dtype} of shape {mask.shape}."
        )
    rows, columns = np.nonzero(mask)
    return rows, columns


def _pixels_of_box(frame: Frame, box: Box) -> tuple[NDArray[np.intp], NDArray[np.intp], Mask]:
    """Rows and columns of the pixels whose centre is in a box, and which are in its middle."""
    left, top, right, bottom = box
    if not np.isfinite(box).all() or left > right or top > bottom:
        raise ValueError(f"A box must be left <= right, top <= bottom, all finite, not {box}.")
    height, width = frame.depth_m.shape
    x, y = np.arange(width) + 0.5, np.arange(height) + 0.5
    across, down = (x >= left) & (x < right), (y >= top) & (y < bottom)
    rows, columns = np.nonzero(down[:, None] & across)
    core = (np.abs(x[columns] - (left + right) / 2) <= (right - left) / 4) & (
        np.abs(y[rows] - (top + bottom) / 2) <= (bottom - top) / 4
    )
    return rows, columns, core


def _nearest_cluster(depth: Array) -> float:
    """Median depth of the nearest 0.1 m that are dense."""
    ordered = np.sort(depth)
    ends = np.searchsorted(ordered, ordered + BAND_M, side="right")
    count = ends - np.arange(len(ordered))
    first = int(np.argmax(count >= DENSE_SHARE * count.max()))
    return float(np.median(ordered[first : ends[first]]))


def _middle(
    frame: Frame, rows: NDArray[np.intp], columns: NDArray[np.intp], depth: Array
) -> Point3:
    camera = frame.camera
    near = float(np.median(depth))
    half_width_m = np.ptp(np.percentile(columns, (2, 98))) / 2 * near / camera.focal_px
    # the median of sqrt(r^2 - x^2) over x uniform in -r to r is sqrt(3) / 2 r
    deeper_m = min(np.sqrt(3) / 2 * float(half_width_m), DEEPEST_M)
    pixel = [[np.median(columns) + 0.5, np.median(rows) + 0.5]]
    x, y, z = camera.unproject(pixel, [near + deeper_m])[0].tolist()
    return x, y, z
