"""The pinhole camera: from points of the map to pixels, and back with a depth."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.records import frozen

Point3 = tuple[float, float, float]  # metres, map frame, z up
Array = NDArray[np.float64]
MAX_SIDE_PX = 16_384
NEAREST_M = 1e-6  # what is nearer than this to the plane of the camera has no pixel


@dataclass(frozen=True, eq=False)
class Camera:
    """Where a pinhole camera is in the map frame, and how it projects.

    ``yaw_rad`` is counter-clockwise from +x; a positive ``pitch_rad`` looks down. The field of view is
    the horizontal one; pixels are square and the axis goes through the middle of the image. Pixels are
    (column, row) from the upper left corner of the image, whose first pixel has its centre at (0.5, 0.5).
    A depth is measured along the optical axis, not along the ray.
    """

    width: int
    height: int
    field_of_view_rad: float
    position: Point3
    yaw_rad: float
    pitch_rad: float = 0.0

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            value = getattr(self, name)
            if not 1 <= value <= MAX_SIDE_PX or value != int(value):
                raise ValueError(
                    f"{name} must be a whole number from 1 to {MAX_SIDE_PX} pixels, not {value}."
                )
        if not 0 < self.field_of_view_rad < math.pi:
            raise ValueError(
                f"field_of_view_rad must be above 0 and below pi, not {self.field_of_view_rad}."
            )
        x, y, z = np.asarray(self.position, dtype=np.float64).tolist()
        object.__setattr__(self, "position", (x, y, z))
        if not np.isfinite([x, y, z, self.yaw_rad, self.pitch_rad]).all():
            raise ValueError(
                f"A camera needs a finite pose, not position {self.position}, "
                f"yaw_rad {self.yaw_rad}, pitch_rad {self.pitch_rad}."
            )

    @property
    def centre_px(self) -> tuple[float, float]:
        """Where the optical axis meets the image."""
        return self.width / 2, self.height / 2

    @property
    def focal_px(self) -> float:
        """Focal length in pixels: (width / 2) / tan(field of view / 2)."""
        return self.width / 2 / math.tan(self.field_of_view_rad / 2)

    @cached_property
    def axes(self) -> Array:
        """The optical frame of REP-103 in the map frame: rows are right (x), down (y), forward (z)."""
        sin_yaw, cos_yaw = math.sin(self.yaw_rad), math.cos(self.yaw_rad)
        sin_pitch, cos_pitch = math.sin(self.pitch_rad), math.cos(self.pitch_rad)
        return frozen(
            [
                [sin_yaw, -cos_yaw, 0.0],
                [-sin_pitch * cos_yaw, -sin_pitch * sin_yaw, -cos_pitch],
                [cos_pitch * cos_yaw, cos_pitch * sin_yaw, -sin_pitch],
            ]
        )

    def project(self, points: ArrayLike) -> tuple[Array, Array]:
        """Pixels (n, 2) and depths in metres (n,) of points (n, 3) of the map frame.

        Pixels may lie outside the image; those of points that are not in front of the camera are NaN.
        """
        away = np.asarray(points, dtype=np.float64).reshape(-1, 3) - self.position
        optical = away @ self.axes.T
        depth = optical[:, 2]
        pixels = np.full((len(depth), 2), np.nan)
        front = depth > NEAREST_M
        pixels[front] = optical[front, :2] / depth[front, None] * self.focal_px
        return np.add(pixels, self.centre_px), depth

    def unproject(self, pixels: ArrayLike, depth_m: ArrayLike) -> Array:
        """Points (n, 3) of the map frame that lie at these depths (n,) behind pixels (n, 2)."""
        depth = np.asarray(depth_m, dtype=np.float64).reshape(-1)
        across = np.asarray(pixels, dtype=np.float64).reshape(-1, 2) - self.centre_px
        optical = np.column_stack([across / self.focal_px * depth[:, None], depth])
        points: Array = optical @ self.axes + self.position
        return points
