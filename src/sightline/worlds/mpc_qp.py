"""The quadratic programme of one control period, with a pattern that never changes.

Around a predicted drive (states X, inputs U as in ``_kernels.mpc``) it looks for the changes dX, dU that
lower, to second order,

    sum_k  aside e_c^2 + along e_l^2 - reward progress_k
         + jerk_v (u_k - u_{k-1})_v^2 + jerk_w (u_k - u_{k-1})_w^2 + turning u_w^2
         + (push s_k + stiff s_k^2)

with e_c and e_l how far state k strays from its point on the path, to the side and along it, subject to
the linearised motion, ``clearance + slope . dX >= gap - s_k`` with ``s_k >= 0``, the limits on what may
be wanted of the wheels and on how fast that may change, and rest at the end.
"""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sightline._kernels import mpc as kernels
from sightline.errors import SightlineError

Array = NDArray[np.float64]

STATES, INPUTS = 6, 3
WIDTH = STATES + INPUTS + 1  # the variables of a period: state after it, input during it, slack
X, Y, YAW, SPEED, TURN, PROGRESS, WANT_SPEED, WANT_TURN, RATE, SLACK = range(WIDTH)
NO_LIMIT = 1e6
PLANNED = (
    0.85  # share of the accelerations that is planned with; the rest is there for what goes wrong
)


class Weights(NamedTuple):
    """The cost's coefficients; metres, radians, seconds."""

    aside: float = 4.0
    aside_at_goal: float = 60.0
    along: float = 60.0
    reward: float = 0.5
    jerk_v: float = 1.0
    jerk_w: float = 0.05
    turning: float = 0.01
    push: float = 40.0
    stiff: float = 2000.0


class Task(NamedTuple):
    """What a period asks: where the robot is, what it was told last, and what surrounds it.

    ``path`` (m, 6) as in ``_kernels.mpc.on_path``, in steps of ``spacing_m``; progress ends at ``end_m``.
    ``field`` (rows, columns) is the clearance of cells of ``cell_m``;
    """

    start: Array  # (6,)
    wanted: Array  # (2,) speed and turn rate wanted in the period before
    path: Array
    spacing_m: float
    end_m: float
    field: Array
    cell_m: float


class Motion(NamedTuple):
    """The robot and the clock: most speed and turn rate (2,), most change of them a period (2,)."""

    period_s: float
    decay: float
    mean: float
    most: Array
    change: Array


def import_osqp() -> Any:
    """The solver's module, or what to do without it."""
    try:
        return import_module("osqp")
    except ImportError as error:
        raise SightlineError(
            "Model-predictive control needs the package osqp; install sightline[physics]."
        ) from error


class Qp:
    """Sets the solver up once for ``periods`` and improves predicted drives with it."""

    def __init__(self, motion: Motion, *, periods: int, weights: Weights) -> None:
        self.motion, self.periods, self.weights = motion, periods, weights
        self._cost, self._curvature_at = self._cost_pattern()
        self._rows, self._slopes_at, self._clear_at = self._row_pattern()
        self._solver = import_osqp().OSQP()
        variables, rows = periods * WIDTH, self._rows.shape[0]
        self._solver.setup(
            self._cost,
            np.zeros(variables),
            self._rows,
            np.full(rows, -NO_LIMIT),
            np.full(rows, NO_LIMIT),
            verbose=False,
            eps_abs=1e-3,
            eps_rel=1e-3,
            max_iter=200,
            check_termination=10,
            adaptive_rho=False,
            rho=3.0,
            scaling=0,
        )
        self.iterations = 0
        self._prices = np.zeros(rows)

    def improve(self, task: Task, inputs: Array) -> Array | None:
        """Better inputs (n, 3) than these for the task; None if the solver found none."""
        motion, weights, n = self.motion, self.weights, self.periods
        states = kernels.predict(task.start, inputs, motion.period_s, motion.decay, motion.mean)
        after = states[1:]
        reference = kernels.on_path(task.path, task.spacing_m, after[:, PROGRESS])
        curvature, slope = kernels.path_cost(
            after, reference, aside_weights(task, after, weights), weights.along
        )
        clear = kernels.clearances(task.field, task.cell_m, after)
        self._cost.data[self._curvature_at] = curvature.ravel()
        motion_slopes = kernels.slopes(states, inputs, motion.period_s, motion.mean)
        self._rows.data[self._slopes_at] = -motion_slopes[1:, :, :3].ravel()
        self._rows.data[self._clear_at[0]] = -motion_slopes[:, :, 3:].ravel()
        self._rows.data[self._clear_at[1]] = clear[:, 1:].ravel()
        low, high = self._bounds(task, inputs, after, reference, clear[:, 0])
        self._solver.update(
            Px=self._cost.data,
            q=self._linear(task, inputs, slope),
            Ax=self._rows.data,
            l=low,
            u=high,
        )
        self._solver.warm_start(x=np.zeros(n * WIDTH), y=self._prices)
        result = self._solver.solve(raise_error=False)
        self.iterations += int(result.info.iter)
        changes = np.asarray(result.x)
        if result.info.status_val not in (1, 2, 7) or not np.isfinite(changes).all():
            return None
        self._prices = self._one_on(np.asarray(result.y))
        better: Array = inputs + changes.reshape(n, WIDTH)[:, STATES:-1]
        # solvers keep limits only to their tolerance
        kernels.keep_limits(better, task.wanted, motion.most, motion.change)
        return better

    def _one_on(self, prices: Array) -> Array:
        """The rows' multipliers (in the order of ``_row_pattern``) for a drive that is one period on."""
        widths = (STATES, 2, INPUTS, 1, 1, 1)
        ends = np.cumsum(widths)[:-1] * self.periods
        parts = zip(np.split(prices, ends), widths, strict=True)
        return np.concatenate([np.roll(part, -width) for part, width in parts])

    def _linear(self, task: Task, inputs: Array, slope: Array) -> Array:
        out = np.zeros((self.periods, WIDTH))
        out[:, [X, Y, PROGRESS]] = slope
        out[:, PROGRESS] -= self.weights.reward
        steps = np.diff(inputs[:, :2], axis=0, prepend=task.wanted[None])
        steps *= 2 * np.array([self.weights.jerk_v, self.weights.jerk_w])
        out[:, WANT_SPEED:RATE] = steps
        out[:-1, WANT_SPEED:RATE] -= steps[1:]
        out[:, WANT_TURN] += 2 * self.weights.turning * inputs[:, 1]
        out[:, SLACK] = self.weights.push
        return out.ravel()

    def _bounds(
        self, task: Task, inputs: Array, after: Array, reference: Array, clear: Array
    ) -> tuple[Array, Array]:
        """Lower and upper bounds of the rows, in the order of ``_row_pattern``."""
        n, motion, limit, gap = self.periods, self.motion, reference[:, 4], reference[:, 5]
        steps = np.diff(inputs[:, :2], axis=0, prepend=task.wanted[None])
        change = np.tile(PLANNED * motion.change, (n, 1))
        change[0] = motion.change
        least = np.stack([np.zeros(n), np.full(n, -motion.most[1]), np.zeros(n)], axis=1)
        most = np.stack([np.full(n, motion.most[0]), np.full(n, motion.most[1]), limit], axis=1)
        least[-1, :2] = most[-1, :2] = 0.0
        still, free = np.zeros(STATES * n), np.full(n, NO_LIMIT)
        low = [still, -change - steps, least - inputs, gap - clear, 0 * free, -free]
        high = [still, change - steps, most - inputs, free, free]
        high.append(np.maximum(task.end_m, task.start[PROGRESS]) - after[:, PROGRESS])
        return stacked(low), stacked(high)

    def _cost_pattern(self) -> tuple[Any, NDArray[np.int64]]:
        """The constant part of the cost's curvature, and where the path's (n, 6) goes."""
        weights = self.weights
        entries: dict[tuple[int, int], float] = {}
        spots = []
        for k in range(self.periods):
            base = k * WIDTH
            for i, j in (
                (X, X),
                (X, Y),
                (X, PROGRESS),
                (Y, Y),
                (Y, PROGRESS),
                (PROGRESS, PROGRESS),
            ):
                spots.append((base + i, base + j))
                entries[spots[-1]] = 1.0
            last = k + 1 == self.periods
            for at, weight in ((WANT_SPEED, weights.jerk_v), (WANT_TURN, weights.jerk_w)):
                entries[base + at, base + at] = (2 if last else 4) * weight
                if not last:
                    entries[base + at, base + at + WIDTH] = -2 * weight
            entries[base + WANT_TURN, base + WANT_TURN] += 2 * weights.turning
            entries[base + SLACK, base + SLACK] = 2 * weights.stiff
        size = self.periods * WIDTH
        return pattern(entries, (size, size), spots)

    def _row_pattern(self) -> tuple[Any, NDArray[np.int64], tuple[NDArray[np.int64], ...]]:
        """The constraints' rows, and where the slopes of motion and of clearance go.

        Motion (6 n), change of what is wanted (2 n), inputs (3 n), clearance, slack, progress (n each).
        """
        n, motion = self.periods, self.motion
        lag = (1 - motion.decay, motion.period_s * (1 - motion.mean))
        entries: dict[tuple[int, int], float] = {}
        before, during, clear = [], [], []
        changes, wants, gaps = STATES * n, (STATES + 2) * n, (STATES + 2 + INPUTS) * n
        for k in range(n):
            now, row = k * WIDTH, k * STATES
            was = now - WIDTH
            for i in range(STATES):
                entries[row + i, now + i] = 1.0
            for i in (X, Y):
                during += [(row + i, now + WANT_SPEED), (row + i, now + WANT_TURN)]
            entries[row + YAW, now + WANT_TURN] = -lag[1]
            entries[row + SPEED, now + WANT_SPEED] = entries[row + TURN, now + WANT_TURN] = -lag[0]
            entries[row + PROGRESS, now + RATE] = -motion.period_s
            if k:
                for i in (X, Y):
                    before += [(row + i, was + j) for j in (YAW, SPEED, TURN)]
                    entries[row + i, was + i] = -1.0
                entries[row + YAW, was + YAW] = entries[row + PROGRESS, was + PROGRESS] = -1.0
                entries[row + YAW, was + TURN] = -motion.period_s * motion.mean
                entries[row + SPEED, was + SPEED] = entries[row + TURN, was + TURN] = -motion.decay
            for i in range(2):
                entries[changes + 2 * k + i, now + WANT_SPEED + i] = 1.0
                if k:
                    entries[changes + 2 * k + i, was + WANT_SPEED + i] = -1.0
            for i in range(INPUTS):
                entries[wants + INPUTS * k + i, now + WANT_SPEED + i] = 1.0
            clear += [(gaps + k, now + X), (gaps + k, now + Y)]
            entries[gaps + k, now + SLACK] = 1.0
            entries[gaps + n + k, now + SLACK] = entries[gaps + 2 * n + k, now + PROGRESS] = 1.0
        entries |= dict.fromkeys([*before, *during, *clear], 1.0)
        matrix, spots = pattern(entries, (gaps + 3 * n, n * WIDTH), [*before, *during, *clear])
        first, second = len(before), len(before) + len(during)
        return matrix, spots[:first], (spots[first:second], spots[second:])


def stacked(parts: list[Array]) -> Array:
    """Arrays one after the other, as one."""
    return np.concatenate([part.ravel() for part in parts])


def pattern(
    entries: dict[tuple[int, int], float], shape: tuple[int, int], spots: list[tuple[int, int]]
) -> tuple[Any, NDArray[np.int64]]:
    """A compressed matrix with these entries, zeros among them kept, and where in its data spots lie."""
    order = sorted(entries, key=lambda spot: (spot[1], spot[0]))
    places = {spot: i for i, spot in enumerate(order)}
    starts = np.searchsorted([column for _, column in order], np.arange(shape[1] + 1))
    data = np.array([entries[spot] for spot in order])
    matrix = sparse.csc_matrix((data, np.array([row for row, _ in order]), starts), shape=shape)
    return matrix, np.array([places[spot] for spot in spots])


def aside_weights(task: Task, states: Array, weights: Weights) -> Array:
    """What straying to the side costs at each state: more in the last half metre before the goal."""
    near = np.clip(1 - 2 * (task.end_m - states[:, PROGRESS]), 0.0, 1.0)
    return np.asarray(weights.aside + (weights.aside_at_goal - weights.aside) * near)
