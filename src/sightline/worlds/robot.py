"""A robot's body in the engine: wheels with motors, odometry, a planar lidar, a camera that pans.

What it measures has noise; what it truly does is for measurement of methods only.
"""

from dataclasses import dataclass
from importlib.resources import as_file, files
from math import atan2, pi

import numpy as np
from numpy.typing import NDArray

from sightline.detect import Camera
from sightline.maps import Points
from sightline.worlds.engine import STEP_S, Engine
from sightline.worlds.localise import Pose, wrapped
from sightline.worlds.scenes import EYE_M

# these follow robot.urdf
RADIUS_M, WHEEL_M, TRACK_M = 0.25, 0.08, 0.38  # and so does EYE_M of the scenes
LEFT, RIGHT, NECK = 0, 1, 2  # joints
EYE_AHEAD_M = 0.06  # the lens is so far before the neck
MOTOR_NM, NECK_NM = 12.0, 8.0
NECK_RAD_S = 4.0


@dataclass(frozen=True)
class Build:
    """What the robot's sensors are like; lengths in metres, angles in radians, standard deviations.

    ``wheel_error`` is how far, as a share, the wheels are off the size that odometry takes them to have
    (drawn for each episode), ``slip`` the noise of each step as a share of it.
    """

    beams: int = 180
    lidar_height_m: float = 0.2
    lidar_range_m: float = 8.0
    lidar_noise_m: float = 0.01
    wheel_error: float = 0.01
    slip: float = 0.03
    width_px: int = 320
    height_px: int = 240
    field_of_view_rad: float = np.deg2rad(69.0)
    pitch_rad: float = np.deg2rad(20.0)


@dataclass(frozen=True, eq=False)
class Scan:
    """One turn of the lidar in the robot's frame: bearings (n,), ranges (n,), inf where nothing is."""

    bearings_rad: NDArray[np.float64]
    ranges_m: NDArray[np.float64]

    @property
    def hits(self) -> Points:
        """Where something was hit (m, 2)."""
        hit = np.isfinite(self.ranges_m)
        along = np.column_stack([np.cos(self.bearings_rad[hit]), np.sin(self.bearings_rad[hit])])
        return np.asarray(along * self.ranges_m[hit, None])


class Robot:
    """The searcher of ``robot.urdf``, standing at a pose."""

    def __init__(
        self, engine: Engine, pose: Pose, *, rng: np.random.Generator, build: Build | None = None
    ) -> None:
        self.build = build or Build()
        self.engine, self._rng = engine, rng
        with as_file(files("sightline.worlds").joinpath("robot.urdf")) as urdf:
            self.body = engine.load_robot(urdf, pose)
        self._wheel_sizes = 1 + self.build.wheel_error * rng.standard_normal(2)
        self.contacts = 0
        self.drive(0.0, 0.0)
        self.turn_head(0.0)
        engine.step(0.1)
        self._angles = self._wheel_angles()
        self._bearings = np.arange(self.build.beams) * (2 * pi / self.build.beams) - pi

    @property
    def pose(self) -> Pose:
        """Where it truly is."""
        (x, y, _), turn = self.engine.call("getBasePositionAndOrientation", self.body)
        offset = self.engine.call("getDynamicsInfo", self.body, -1)[3]
        yaw = atan2(
            2 * (turn[3] * turn[2] + turn[0] * turn[1]), 1 - 2 * (turn[1] ** 2 + turn[2] ** 2)
        )
        cos, sin = np.cos(yaw), np.sin(yaw)
        x, y = x - offset[0] * cos + offset[1] * sin, y - offset[0] * sin - offset[1] * cos
        return float(x), float(y), yaw

    @property
    def speeds(self) -> tuple[float, float]:
        """Metres and radians per second, from how fast the wheels turn."""
        left, right = (self.engine.call("getJointState", self.body, j)[1] for j in (LEFT, RIGHT))
        return WHEEL_M * (left + right) / 2, WHEEL_M * (right - left) / TRACK_M

    def drive(self, speed_m_s: float, turn_rad_s: float) -> None:
        """Give the wheels' motors the speeds to hold from now on."""
        for joint, side in ((LEFT, -1.0), (RIGHT, 1.0)):
            rate = (speed_m_s + side * turn_rad_s * TRACK_M / 2) / WHEEL_M
            self._motor(joint, rate, MOTOR_NM)

    def roll(self, seconds: float, speed_m_s: float, turn_rad_s: float) -> None:
        """Let time pass while the wheels' set-points go evenly from where they are to new ones.

        ``contacts`` counts the sixtieths of a second that end in touch with anything but the floor.
        """
        count = max(1, round(seconds / (4 * STEP_S)))
        before = self.speeds
        for i in range(1, count + 1):
            share = i / count
            self.drive(
                before[0] + share * (speed_m_s - before[0]),
                before[1] + share * (turn_rad_s - before[1]),
            )
            self.engine.step(seconds / count)
            self.contacts += self.engine.touched(self.body)

    def odometry(self) -> tuple[float, float]:
        """Metres forward and radians turned since it was last asked, as the wheels tell."""
        now = self._wheel_angles()
        rolled = WHEEL_M * self._wheel_sizes * (now - self._angles)
        rolled *= 1 + self.build.slip * self._rng.standard_normal(2)
        self._angles = now
        left, right = rolled.tolist()
        return (left + right) / 2, (right - left) / TRACK_M

    def scan(self) -> Scan:
        """Turn the lidar once; it stands in the middle of the robot and sees none of it."""
        x, y, yaw = self.pose
        directions = np.column_stack(
            [
                np.cos(self._bearings + yaw),
                np.sin(self._bearings + yaw),
                np.zeros(len(self._bearings)),
            ]
        )
        start = np.array([x, y, self.build.lidar_height_m])
        most = self.build.lidar_range_m
        share = self.engine.rays(
            np.broadcast_to(start, directions.shape), start + most * directions
        )
        noise = self.build.lidar_noise_m * self._rng.standard_normal(len(share))
        metres = np.asarray(np.maximum(0.0, share * most + noise), dtype=np.float64)
        metres[share >= 1] = np.inf
        return Scan(np.asarray(self._bearings, dtype=np.float64), metres)

    def turn_head(self, bearing_rad: float) -> None:
        """Have the neck hold a bearing, 0 being straight ahead, from now on."""
        now = self._neck_rad()
        self.engine.call(
            "setJointMotorControl2", self.body, NECK, self.engine.position_control,
            targetPosition=now + wrapped(bearing_rad - now), force=NECK_NM, maxVelocity=NECK_RAD_S,
        )  # fmt: skip

    @property
    def head_rad(self) -> float:
        """Where the head looks, from straight ahead."""
        return wrapped(self._neck_rad())

    def camera(self, pose: Pose) -> Camera:
        """The camera of the head as it now stands, if the robot is at a pose."""
        x, y, yaw = pose
        look = wrapped(yaw + self.head_rad)
        lens = (x + EYE_AHEAD_M * np.cos(look), y + EYE_AHEAD_M * np.sin(look), EYE_M)
        return Camera(
            self.build.width_px, self.build.height_px, self.build.field_of_view_rad, lens,
            look, self.build.pitch_rad,
        )  # fmt: skip

    def _neck_rad(self) -> float:
        """The angle of the neck's joint, whole turns included."""
        return float(self.engine.call("getJointState", self.body, NECK)[0])

    def _wheel_angles(self) -> NDArray[np.float64]:
        return np.array([self.engine.call("getJointState", self.body, j)[0] for j in (LEFT, RIGHT)])

    def _motor(self, joint: int, rate: float, force: float) -> None:
        self.engine.call(
            "setJointMotorControl2", self.body, joint, self.engine.velocity_control,
            targetVelocity=rate, force=force,
        )  # fmt: skip
