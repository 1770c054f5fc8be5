"""Where the robot takes itself to be: a particle filter over its pose on a known map.

The cloud moves by odometry; each lidar scan weighs it by how near its hits are to mapped obstacles
(a likelihood field), and it is drawn anew when few poses carry most of the weight.
"""

from collections.abc import Callable
from math import atan2, pi

import numpy as np
from numpy.typing import NDArray

from sightline._kernels import particles
from sightline.maps import OccupancyMap, Points

COUNT = 240
SPREAD_M = 0.06  # of a hit around the obstacle it comes from: noise of the lidar and of the map
STRAY = 0.05  # likelihood of a hit that no mapped obstacle explains
BEAMS = 40.0  # a scan counts as so many independent hits, as neighbours err together
PER_METRE = np.array([0.05, 0.02, 0.05])  # noise of a step: forward, aside, radians turned
PER_RADIAN = np.array([0.01, 0.01, 0.05])
JITTER = np.array([0.002, 0.002, 0.002])  # and at least so much whenever it moved
FEW = 0.5  # share of effective poses below which the cloud is drawn anew

Pose = tuple[float, float, float]  # x, y in metres, yaw in radians


class ParticleFilter:
    """A cloud of poses (x, y, yaw) that follows a robot on a map.

    ``chart`` is what a lidar sees; ``pose`` is where the robot takes itself to be at first, give or take
    ``offset_m`` and ``offset_rad`` (standard deviations).
    """

    def __init__(
        self,
        chart: OccupancyMap,
        pose: Pose,
        *,
        rng: np.random.Generator,
        offset_m: float = 0.03,
        offset_rad: float = 0.02,
        count: int = COUNT,
    ) -> None:
        self._chart, self._rng = chart, rng
        self._gap = np.array(chart.clearance_m)
        self._origin = np.array(chart.origin)
        spread = np.array([offset_m, offset_m, offset_rad])
        self.poses: NDArray[np.float64] = np.array(pose) + rng.normal(0, 1, (count, 3)) * spread
        self._weights = np.full(count, 1 / count)

    @property
    def pose(self) -> Pose:
        """The mean of the cloud."""
        x, y = (self._weights @ self.poses[:, :2]).tolist()
        yaw = atan2(
            float(self._weights @ np.sin(self.poses[:, 2])),
            float(self._weights @ np.cos(self.poses[:, 2])),
        )
        return x, y, yaw

    @property
    def spread_m(self) -> float:
        """Root mean square distance of the cloud from its mean position."""
        x, y, _ = self.pose
        return float(np.sqrt(self._weights @ ((self.poses[:, :2] - (x, y)) ** 2).sum(axis=1)))

    def moved(self, forward_m: float, turn_rad: float) -> None:
        """The wheels say that the robot went forward and turned."""
        if forward_m == 0 and turn_rad == 0:
            return
        scale = JITTER + PER_METRE * abs(forward_m) + PER_RADIAN * abs(turn_rad)
        noise = self._rng.standard_normal(self.poses.shape) * scale
        particles.move(self.poses, forward_m, turn_rad, noise)

    def scanned(self, hits: Points) -> None:
        """The lidar was hit at points (m, 2) in the robot's frame."""
        if not len(hits):
            return
        fits = np.empty(len(self.poses))
        particles.fit(
            self.poses, np.ascontiguousarray(hits), self._gap, self._chart.resolution_m,
            self._origin, SPREAD_M, STRAY, fits,
        )  # fmt: skip
        logs = np.log(self._weights) + BEAMS * (fits - fits.max())
        weights = np.exp(logs - logs.max())
        self._weights = weights / weights.sum()
        if 1 / (self._weights @ self._weights) < FEW * len(self._weights):
            self._draw_anew()

    def _draw_anew(self) -> None:
        count = len(self._weights)
        rows = np.empty(count, np.int64)
        particles.draw(self._weights, self._rng.random() / count, rows)
        self.poses = self.poses[rows]
        self._weights = np.full(count, 1 / count)


class NoisyTruth:
    """A localiser that is told the true pose with white noise: an option for comparison."""

    def __init__(
        self, pose: Callable[[], Pose], *, rng: np.random.Generator, noise_m: float = 0.02
    ) -> None:
        self._true, self._rng, self._noise_m = pose, rng, noise_m
        self._measure()

    @property
    def pose(self) -> Pose:
        """Where the robot takes itself to be."""
        return self._pose

    def moved(self, forward_m: float, turn_rad: float) -> None:
        """Measure anew."""
        self._measure()

    def scanned(self, hits: Points) -> None:
        """Measure anew."""
        self._measure()

    def _measure(self) -> None:
        x, y, yaw = self._true()
        noise = self._noise_m * self._rng.standard_normal(3)
        self._pose = float(x + noise[0]), float(y + noise[1]), float(yaw + noise[2])


def in_map(pose: Pose, points: Points) -> Points:
    """Points (n, 2) of the robot's frame, in the map's."""
    x, y, yaw = pose
    cos, sin = np.cos(yaw), np.sin(yaw)
    turn = np.array([[cos, sin], [-sin, cos]])
    return np.asarray(points @ turn + np.array([x, y]))


def wrapped(angle: float) -> float:
    """An angle in radians, brought to -pi to pi."""
    return (angle + pi) % (2 * pi) - pi
