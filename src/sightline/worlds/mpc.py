"""Model-predictive control: a differential-drive robot along a shortest path, clear of obstacles.

Each period the controller predicts two seconds of driving that end at rest, improves them with a
quadratic programme (``mpc_qp``), checks the result on the map, and hands out the first period of it. The
prediction of the period before, one period on, is always at hand as a way to stop that was checked.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import atan2, cos, exp, hypot, inf, isfinite, sin, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import maximum_filter1d

from sightline._kernels import mpc as kernels
from sightline._kernels.clearance import clearance
from sightline.maps import Field, OccupancyMap, Points, as_points
from sightline.worlds.localise import wrapped
from sightline.worlds.mpc_qp import INPUTS, PLANNED, Array, Motion, Qp, Task, Weights

HORIZON_S = 2.0
STEP_M = 0.02  # spacing of the points that a path is kept as
ROUNDED_M = 0.1  # a path's corners are averaged over so much of it to each side
OPEN_M = 0.3  # so much more clearance than the radius allows full speed
SLOWEST = 0.6  # share of full speed where there is no room to spare
FAR_M = 2.0  # more clearance than this makes no difference
AHEAD_M = 0.35  # the robot faces this far along the path
TURN_FROM, TURN_TO = 0.8, 0.2  # radians off the path at which turning on the spot begins and ends
TURN_GAIN_HZ = 4.0  # at most so many radians a second for each radian that is left to turn
TURN_MOVING = 1.6  # the same, for a robot that drives
TIGHT_M = (
    0.4  # where the path is tight for longer than this, no more clearance is asked than it has
)
LEAST_MARGIN, TOUCHING = 0.4, 0.1  # shares of the margin: always asked for; too little to drive
BESIDE_M = (0.0, 0.05, -0.05, 0.1, -0.1)  # how far to the sides of a path there may be more room
CREEP_M_S = 0.1  # slower than this a robot turns on the spot at once
STILL_M_S, STILL_RAD_S = 0.02, 0.05
PATIENCE_S = 6.0  # without progress for this long, the robot is stuck
LOST_M, LOST_RAD = 0.15, 0.4  # a pose this far from where the wheels say is taken as it is
SAFE_STEPS = (1.0, 0.5, 0.25, 0.0)  # shares of an improvement to try


@dataclass(frozen=True)
class Limits:
    """What a round differential-drive robot can do, and how far it keeps from obstacles.

    ``margin_m`` comes on top of the radius; it is given up, reluctantly, where there is no room for it.
    ``wheel_lag_s`` is the time constant with which the wheels follow the speed that is wanted of them.
    The robot never drives backwards.
    """

    speed_m_s: float = 0.8
    turn_rad_s: float = 1.8
    acceleration_m_s2: float = 1.0
    turn_acceleration_rad_s2: float = 4.0
    radius_m: float = 0.25
    margin_m: float = 0.05
    wheel_lag_s: float = 0.05
    goal_tolerance_m: float = 0.05

    def __post_init__(self) -> None:
        may_be_zero = ("margin_m", "wheel_lag_s")
        for name, value in vars(self).items():
            if not (isfinite(value) and (value > 0 or (value == 0 and name in may_be_zero))):
                least = "at least" if name in may_be_zero else "above"
                raise ValueError(f"{name} must be {least} 0 and finite, not {value}.")
        for fast, change in (
            ("speed_m_s", "acceleration_m_s2"),
            ("turn_rad_s", "turn_acceleration_rad_s2"),
        ):
            most = 0.9 * PLANNED * HORIZON_S * getattr(self, change)
            if getattr(self, fast) > most:
                raise ValueError(
                    f"{fast} must be at most {most:g} to be braked in time with {change} "
                    f"{getattr(self, change)}, not {getattr(self, fast)}."
                )


class Status(StrEnum):
    """What a robot that follows a path is doing."""

    DRIVING = "driving"
    TURNING = "turning"  # on the spot, towards the path
    ARRIVED = "arrived"  # within the goal's tolerance and at rest
    BLOCKED = "blocked"  # something is on the path ahead: it stops in front of it, or stands there
    STUCK = "stuck"  # no safe way on was found: it brakes, or has not come on for a while


@dataclass(frozen=True, eq=False)
class Command:
    """Speeds for the wheels' controller until the next period, and what they are part of.

    ``predicted`` (n, 2) are the positions, a period apart, that the robot is expected to take, the
    present one first; metres, map frame.
    """

    speed_m_s: float
    turn_rad_s: float
    status: Status
    predicted: Points

    @property
    def arrived(self) -> bool:
        """Whether the robot is at rest at its goal."""
        return self.status is Status.ARRIVED

    @property
    def blocked(self) -> bool:
        """Whether there is no safe way on along this path, so that another one is needed."""
        return self.status in (Status.BLOCKED, Status.STUCK)


class Mpc:
    """Follows paths through a room; ``command`` is to be called once every ``period_s``.

    ``pose_gain`` is how much of the difference between a measured pose and the one that follows from the
    wheels' speeds is believed: 1 takes poses as they are, 0.3 suits white noise of 2 cm and 1 degree.
    """

    def __init__(
        self,
        room: OccupancyMap,
        *,
        limits: Limits | None = None,
        period_s: float = 0.1,
        pose_gain: float = 0.3,
        weights: Weights | None = None,
    ) -> None:
        if not 0.02 <= period_s <= 0.25:
            raise ValueError(f"period_s must lie in 0.02 to 0.25, not {period_s}.")
        if not 0 < pose_gain <= 1:
            raise ValueError(f"pose_gain must lie above 0 and up to 1, not {pose_gain}.")
        self.limits = limits or Limits()
        self.period_s = period_s
        self._gain = pose_gain
        self._motion = _motion(self.limits, period_s)
        self._qp = Qp(
            self._motion, periods=round(HORIZON_S / period_s), weights=weights or Weights()
        )
        self._path: Array | None = None
        self._pose: Array | None = None
        self._room = room
        self.set_room(room)

    def set_room(self, room: OccupancyMap) -> None:
        """Use another map from now on: the same floor, cell by cell, with what has been seen since."""
        before, after = _frame(self._room), _frame(room)
        if after != before:
            raise ValueError(
                f"The new map must have the shape, resolution and origin {before} of the one before, "
                f"not {after}."
            )
        self._room = room
        self._field = signed_clearance_m(room)
        if self._path is not None:
            self._survey()

    def follow(self, path: ArrayLike) -> None:
        """Take a new path: positions (n, 2) in metres, map frame, joined by straight legs."""
        corners = as_points(path)
        if corners.ndim != 2 or len(corners) == 0:
            raise ValueError(f"A path needs shape (n, 2) with n at least 1, not {corners.shape}.")
        self._path, self._spacing_m = _sampled(
            self._room.to_grid(corners) * self._room.resolution_m
        )
        self._length_m = self._spacing_m * (len(self._path) - 1)
        self._inputs: Array | None = None
        self._turning = self._holding = False
        self._progress = 0.0
        self._best, self._waited_s = -inf, 0.0
        self._survey()

    def command(
        self, pose: tuple[float, float, float], speed_m_s: float, turn_rad_s: float
    ) -> Command:
        """One period: from an estimate of (x, y, yaw) and of the speeds to what to do now."""
        values = np.array([*pose, speed_m_s, turn_rad_s], dtype=np.float64)
        if values.shape != (5,) or not np.isfinite(values).all():
            raise ValueError(
                "A pose (x, y, yaw) and speeds must be finite numbers, "
                f"not {pose}, {speed_m_s} and {turn_rad_s}."
            )
        if self._path is None:
            raise ValueError("There is no path to follow yet; call follow first.")
        start = self._locate(values)
        inputs, status = self._decide(start)
        self._wanted = inputs[0, :2].copy()
        self._inputs = inputs
        states = self._predict(start, inputs)
        return Command(
            float(inputs[0, 0]),
            float(inputs[0, 1]),
            status,
            self._room.to_world(states[:, :2] / self._room.resolution_m),
        )

    def _locate(self, values: Array) -> Array:
        """The state (6,) in the map's own axes: the pose as the wheels and the measurement have it."""
        motion, measured = self._motion, values.copy()
        if self._pose is None:
            self._pose, self._wanted = measured, measured[3:].copy()
        else:
            speed, turn = (self._pose[3:] + measured[3:]) / 2 * motion.period_s
            x, y, yaw = self._pose[:3]
            rolled = np.array(
                [x + speed * cos(yaw + turn / 2), y + speed * sin(yaw + turn / 2), yaw + turn]
            )
            off = measured[:3] - rolled
            off[2] = wrapped(off[2])
            lost = hypot(off[0], off[1]) > LOST_M or abs(off[2]) > LOST_RAD
            rolled += off if lost else self._gain * off
            self._pose = np.concatenate([rolled, measured[3:]])
        # what was wanted last is where the next change starts from, unless the wheels did not follow
        slack = motion.change * (1 + 2 * self.limits.wheel_lag_s / motion.period_s)
        self._wanted = np.clip(self._wanted, measured[3:] - slack, measured[3:] + slack)
        self._wanted = np.clip(self._wanted, [0.0, -motion.most[1]], motion.most)
        x, y = self._room.to_grid(self._pose[:2]) * self._room.resolution_m
        yaw = self._pose[2] - self._room.origin[2]
        assert self._path is not None
        self._progress = kernels.nearest_on_path(
            self._path, self._spacing_m, x, y, self._progress - 0.3, self._progress + 0.6
        )
        self._progress = min(max(self._progress, 0.0), self._length_m)
        return np.array([x, y, yaw, self._pose[3], self._pose[4], self._progress])

    def _decide(self, start: Array) -> tuple[Array, Status]:
        """Inputs (n, 3) for the periods to come."""
        if self._at_goal(start):
            still = abs(start[3]) <= STILL_M_S and abs(start[4]) <= STILL_RAD_S
            self._turning = False
            return self._braking(), Status.ARRIVED if still else Status.DRIVING
        if self._stuck():
            return self._braking(), Status.STUCK
        ahead = self._end_m - start[5]
        status = Status.DRIVING
        if self._end_m < self._length_m and ahead < HORIZON_S * self.limits.speed_m_s:
            status = Status.BLOCKED
            if ahead < self.limits.goal_tolerance_m:
                return self._braking(), status
        off = self._off_path(start)
        if self._must_turn(start, off):
            return self._turned(start, off), Status.TURNING if status is Status.DRIVING else status
        inputs = self._driven(start)
        return (self._braking(), Status.STUCK) if inputs is None else (inputs, status)

    def _at_goal(self, start: Array) -> bool:
        """Whether to stop here; once it does, a robot stays while it is within the tolerance."""
        assert self._path is not None
        tolerance = self.limits.goal_tolerance_m
        gap = hypot(*(self._path[-1, :2] - start[:2]))
        # a robot that moves goes on to the very goal; one that stands may stay where it is, with some
        # of the tolerance kept for what its pose is off
        at_rest = start[3] <= STILL_M_S
        share = 0.8 if self._holding else 0.7 if at_rest else 0.3
        self._holding = gap <= share * tolerance
        return self._holding

    def _stuck(self) -> bool:
        """Whether nothing has come of the last seconds."""
        if self._progress > self._best + STEP_M:
            self._best, self._waited_s = self._progress, 0.0
        self._waited_s += self.period_s
        return self._waited_s > PATIENCE_S

    def _off_path(self, start: Array) -> float:
        """Radians from where the robot faces to where its path leads."""
        assert self._path is not None
        at = np.array([min(start[5] + AHEAD_M, self._end_m)])
        aim = kernels.on_path(self._path, self._spacing_m, at)[0, :2]
        dx, dy = aim - start[:2]
        if hypot(dx, dy) < 0.3 * self.limits.goal_tolerance_m:
            return 0.0
        return wrapped(atan2(dy, dx) - start[2])

    def _must_turn(self, start: Array, off: float) -> bool:
        begin = TURN_FROM if start[3] < CREEP_M_S else TURN_MOVING
        self._turning = abs(off) > (TURN_TO if self._turning else begin)
        return self._turning

    def _turned(self, start: Array, off: float) -> Array:
        """Brake, and turn by ``off`` as fast as stopping there in time allows."""
        limits, out = self.limits, self._braking()
        wanted, left, turning = self._wanted[1], off, start[4]
        for k in range(len(out)):
            fast = min(
                limits.turn_rad_s,
                sqrt(2 * PLANNED * limits.turn_acceleration_rad_s2 * abs(left)),
                TURN_GAIN_HZ * abs(left),
            )
            fast = fast if left > 0 else -fast
            change = self._motion.change[1]
            wanted = min(max(fast, wanted - change), wanted + change)
            out[k, 1] = wanted
            turned = wanted + self._motion.mean * (turning - wanted)
            turning = wanted + self._motion.decay * (turning - wanted)
            left -= turned * self.period_s
        return out

    def _driven(self, start: Array) -> Array | None:
        """The prediction of the period before, one on, and better; None if neither is safe."""
        task = Task(
            start,
            self._wanted,
            self._path if self._path is not None else np.empty((0, 6)),
            self._spacing_m,
            self._end_m,
            self._field,
            self._room.resolution_m,
        )
        fresh = self._inputs is None
        base = self._braking() if self._inputs is None else self._shifted(self._inputs)
        for _ in range(3 if fresh else 1):
            better = self._improved(task, base)
            for share in SAFE_STEPS if better is not None else (0.0,):
                tried = base if better is None else base + share * (better - base)
                if self._is_safe(start, tried):
                    base = tried
                    break
            else:
                return None
        return base

    def _improved(self, task: Task, inputs: Array) -> Array | None:
        return self._qp.improve(task, inputs)

    def _shifted(self, inputs: Array) -> Array:
        """The inputs from the second period on, and one more at rest."""
        out = np.vstack([inputs[1:], np.zeros(INPUTS)])
        kernels.keep_limits(out, self._wanted, self._motion.most, self._motion.change)
        return out

    def _braking(self) -> Array:
        """Inputs that bring the robot to rest as fast as it may."""
        out = np.zeros((round(HORIZON_S / self.period_s), INPUTS))
        kernels.keep_limits(out, self._wanted, self._motion.most, self._motion.change)
        return out

    def _predict(self, start: Array, inputs: Array) -> Array:
        motion = self._motion
        return np.asarray(
            kernels.predict(start, inputs, motion.period_s, motion.decay, motion.mean)
        )

    def _is_safe(self, start: Array, inputs: Array) -> bool:
        """Whether the robot keeps its radius clear, or what it has if that is less."""
        states = self._predict(start, inputs)
        clear = kernels.clearances(self._field, self._room.resolution_m, states)[:, 0]
        # 5 mm: a robot that stands too near must not be kept from turning its way out by rounding
        return bool(clear.min() >= min(self.limits.radius_m, clear[0] - 0.005))

    def _survey(self) -> None:
        """Clearance along the path: how fast it may be driven, and where it ends."""
        assert self._path is not None
        limits, path = self.limits, self._path
        full = limits.radius_m + limits.margin_m
        # the robot may pass beside a path, so what counts is the most clearance a little to its sides
        normal = np.stack([-path[:, 3], path[:, 2]], axis=1)
        beside = [path[:, :2] + shift * normal for shift in BESIDE_M]
        clear, *others = (
            kernels.clearances(self._field, self._room.resolution_m, at)[:, 0] for at in beside
        )
        most = np.maximum.reduce([clear, *others])
        share = np.clip((clear - limits.radius_m) / OPEN_M, 0.0, 1.0)
        path[:, 4] = limits.speed_m_s * (SLOWEST + (1 - SLOWEST) * share)
        odd = 2 * round(TIGHT_M / max(self._spacing_m, 0.1 * STEP_M) / 2) + 1
        least = limits.radius_m + LEAST_MARGIN * limits.margin_m
        path[:, 5] = np.clip(maximum_filter1d(most, odd, mode="nearest"), least, full)
        closed = np.flatnonzero(most < limits.radius_m + TOUCHING * limits.margin_m)
        closed = closed[closed * self._spacing_m > self._progress]
        self._end_m = self._length_m
        if len(closed):
            room_for = np.flatnonzero(clear[: closed[0]] >= full)
            self._end_m = self._spacing_m * float(room_for[-1]) if len(room_for) else 0.0


def signed_clearance_m(room: OccupancyMap) -> Field:
    """Clearance of cells' centres in metres; inside obstacles, how deep, below 0. At most 2 m."""
    depth = np.asarray(clearance(~room.occupied)) * room.resolution_m
    return np.clip(np.where(room.occupied, -depth, room.clearance_m), -FAR_M, FAR_M)


def _frame(room: OccupancyMap) -> tuple[object, ...]:
    """What maps of the same cells share."""
    return room.shape, room.resolution_m, room.origin


def _motion(limits: Limits, period_s: float) -> Motion:
    lag_s = limits.wheel_lag_s
    decay = exp(-period_s / lag_s) if lag_s else 0.0
    return Motion(
        period_s,
        decay,
        (1 - decay) * lag_s / period_s,
        np.array([limits.speed_m_s, limits.turn_rad_s]),
        np.array([limits.acceleration_m_s2, limits.turn_acceleration_rad_s2]) * period_s,
    )


def _sampled(corners: Points) -> tuple[Array, float]:
    """A path with rounded corners as rows (x, y, direction x and y, 0, 0), and their spacing."""
    legs = np.hypot(*np.diff(corners, axis=0).T)
    kept = np.concatenate([[True], legs > 1e-9])
    corners, legs = corners[kept], legs[legs > 1e-9]
    if len(corners) == 1:
        # a path to where one is: a leg too short to drive, so that there is a direction
        legs = np.array([1e-6])
        corners = np.vstack([corners, corners + np.array([1e-6, 0.0])])
    at = np.concatenate([[0.0], np.cumsum(legs)])
    along = np.linspace(0, at[-1], max(2, int(np.ceil(at[-1] / STEP_M)) + 1))
    # near the ends the average is over less, so that they stay where they are
    reach = np.minimum(ROUNDED_M, np.minimum(along, at[-1] - along))
    near = along[:, None] + reach[:, None] * np.linspace(-1, 1, 9)
    smooth = np.stack([np.interp(near, at, corners[:, i]).mean(axis=1) for i in (0, 1)], axis=1)
    steps = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(smooth, axis=0).T))])
    even = np.linspace(0, steps[-1], len(along))
    smooth = np.stack([np.interp(even, steps, smooth[:, i]) for i in (0, 1)], axis=1)
    tangent = np.gradient(smooth, axis=0)
    tangent /= np.maximum(np.hypot(*tangent.T), 1e-12)[:, None]
    return np.hstack([smooth, tangent, np.zeros((len(smooth), 2))]), float(even[1])
