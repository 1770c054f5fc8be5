"""Model-predictive control: our quadratic programme against general non-linear solvers, same drives.

Model, cost, constraints, start and safety check are the same; only ``Mpc._improved`` differs.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial import cKDTree

import sightline as sl
from benchmarks.race import table
from sightline._kernels import mpc as kernels
from sightline.worlds.mpc import HORIZON_S, Limits, Mpc
from sightline.worlds.mpc_qp import INPUTS, PLANNED, STATES, Task, Weights, aside_weights

RADIUS_M = 0.35  # of the free space that paths are planned in; the robot's is 0.25 m
LAG_S = 0.1  # of the true wheels; the controller takes them to lag by 0.05 s
NOISE = np.array([0.02, 0.02, math.radians(1), 0.01, 0.02])  # x, y, yaw, speed, turn rate
STEPS = 10  # of the simulation in a control period
LONGEST_S = 120.0
QUIET = {"print_time": False}
SOLVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "CasADi, IPOPT": (
        "ipopt",
        {
            "ipopt.print_level": 0,
            "ipopt.sb": "yes",
            "ipopt.max_iter": 60,
            "ipopt.tol": 1e-3,
            "ipopt.warm_start_init_point": "yes",
            "ipopt.mu_init": 1e-2,
        },
    ),
    "CasADi, sqpmethod with qrqp": (
        "sqpmethod",
        {
            "qpsol": "qrqp",
            "max_iter": 2,
            "max_iter_ls": 0,
            "print_header": False,
            "print_iteration": False,
            "print_status": False,
            "error_on_fail": False,
            "qpsol_options": {
                "print_iter": False,
                "print_header": False,
                "error_on_fail": False,
                "max_iter": 300,
            },
        },
    ),
    "CasADi, sqpmethod with OSQP": (
        "sqpmethod",
        {
            "qpsol": "osqp",
            "max_iter": 2,
            "max_iter_ls": 0,
            "print_header": False,
            "print_iteration": False,
            "print_status": False,
            "error_on_fail": False,
            "qpsol_options": {
                "error_on_fail": False,
                "osqp": {"verbose": False, "rho": 3.0, "max_iter": 400, "adaptive_rho": False},
            },
        },
    ),
}


class TwoRounds(Mpc):
    """Linearises twice each period."""

    def _improved(self, task: Task, inputs: np.ndarray) -> np.ndarray | None:
        first = super()._improved(task, inputs)
        return None if first is None else super()._improved(task, first)


class Nonlinear(Mpc):
    """The same problem with the true motion and a smooth clearance, by one of CasADi's solvers."""

    def __init__(self, room: sl.OccupancyMap, *, solver: str, options: dict[str, Any]) -> None:
        super().__init__(room)
        self.weights = Weights()
        self.periods = round(HORIZON_S / self.period_s)
        self._solve, self._low, self._high = self._problem(solver, options)

    def _motion_step(self, state: Any, wanted: Any) -> Any:
        """One period of ``kernels.predict``."""
        motion = self._motion
        metres = motion.period_s * (wanted[0] + motion.mean * (state[3] - wanted[0]))
        turned = motion.period_s * (wanted[1] + motion.mean * (state[4] - wanted[1]))
        ahead = state[2] + turned / 2
        return ca.vertcat(
            state[0] + metres * ca.cos(ahead),
            state[1] + metres * ca.sin(ahead),
            state[2] + turned,
            wanted[0] + motion.decay * (state[3] - wanted[0]),
            wanted[1] + motion.decay * (state[4] - wanted[1]),
            state[5] + motion.period_s * wanted[2],
        )

    def _problem(self, solver: str, options: dict[str, Any]) -> tuple[Any, np.ndarray, np.ndarray]:
        """Variables: states, inputs, slacks. Constraints: motion, changes, clearance, progress."""
        weights, n, cell = self.weights, self.periods, self._room.resolution_m
        rows, columns = self._field.shape
        axes = [(np.arange(count) + 0.5) * cell for count in (columns, rows)]
        clear = ca.interpolant("clear", "bspline", axes, self._field.ravel())
        states, inputs = ca.MX.sym("states", STATES, n), ca.MX.sym("inputs", INPUTS, n)
        slack = ca.MX.sym("slack", n)
        start, before, end = ca.MX.sym("start", STATES), ca.MX.sym("before", 2), ca.MX.sym("end")
        points = ca.MX.sym("points", 8, n)  # on_path's six columns, progress and weight to the side
        cost, rules = 0, []
        state, last = start, before
        for k in range(n):
            rules.append(states[:, k] - self._motion_step(state, inputs[:, k]))
            state, point = states[:, k], points[:, k]
            on = point[:2] + point[2:4] * (state[5] - point[6])
            dx, dy = state[0] - on[0], state[1] - on[1]
            aside, along = point[2] * dy - point[3] * dx, point[2] * dx + point[3] * dy
            change = inputs[:2, k] - last
            last = inputs[:2, k]
            cost += point[7] * aside**2 + weights.along * along**2 - weights.reward * state[5]
            cost += weights.jerk_v * change[0] ** 2 + weights.jerk_w * change[1] ** 2
            cost += weights.turning * inputs[1, k] ** 2
            cost += weights.push * slack[k] + weights.stiff * slack[k] ** 2
            rules += [change, clear(state[:2]) + slack[k] - point[5], end - state[5]]
            rules.append(point[4] - inputs[2, k])
        problem = {
            "x": ca.vertcat(ca.vec(states), ca.vec(inputs), slack),
            "p": ca.vertcat(start, before, end, ca.vec(points)),
            "f": cost,
            "g": ca.vertcat(*rules),
        }
        change, most = self._motion.change, self._motion.most
        low = np.tile([0.0] * STATES + [*(-PLANNED * change), 0.0, 0.0, 0.0], n)
        high = np.tile([0.0] * STATES + [*(PLANNED * change), np.inf, np.inf, np.inf], n)
        low[STATES : STATES + 2], high[STATES : STATES + 2] = -change, change
        self._rule_low, self._rule_high = low, high
        wants_low = np.tile([0.0, -most[1], 0.0], (n, 1))
        wants_high = np.tile([most[0], most[1], np.inf], (n, 1))
        wants_low[-1, :2] = wants_high[-1, :2] = 0.0
        wide = np.full(STATES * n, np.inf)
        if solver == "sqpmethod":
            options = options | {"hess_lag": curvature(problem)}
        return (
            ca.nlpsol("mpc", solver, problem, QUIET | options),
            np.concatenate([-wide, wants_low.ravel(), np.zeros(n)]),
            np.concatenate([wide, wants_high.ravel(), np.full(n, np.inf)]),
        )

    def _improved(self, task: Task, inputs: np.ndarray) -> np.ndarray | None:
        motion = self._motion
        after = kernels.predict(task.start, inputs, motion.period_s, motion.decay, motion.mean)[1:]
        reference = kernels.on_path(task.path, task.spacing_m, after[:, 5])
        aside = aside_weights(task, after, self.weights)
        points = np.hstack([reference, after[:, 5:], aside[:, None]])
        slack = np.maximum(
            0, reference[:, 5] - kernels.clearances(task.field, task.cell_m, after)[:, 0]
        )
        result = self._solve(
            x0=np.concatenate([after.ravel(), inputs.ravel(), slack]),
            p=np.concatenate(
                [task.start, task.wanted, [max(task.end_m, task.start[5])], points.ravel()]
            ),
            lbx=self._low,
            ubx=self._high,
            lbg=self._rule_low,
            ubg=self._rule_high,
        )
        found = np.array(result["x"]).ravel()
        if not np.isfinite(found).all():
            return None
        better = found[STATES * self.periods : -self.periods].reshape(-1, INPUTS).copy()
        kernels.keep_limits(better, task.wanted, motion.most, motion.change)
        return better


def curvature(problem: dict[str, Any]) -> Any:
    """The cost's curvature alone, which is never negative, for solvers that need that (Gauss-Newton)."""
    x, p, share = problem["x"], problem["p"], ca.MX.sym("share")
    prices = ca.MX.sym("prices", problem["g"].shape[0])
    hessian = ca.hessian(share * problem["f"], x)[0]
    return ca.Function(
        "curvature",
        [x, p, share, prices],
        [hessian],
        ["x", "p", "lam_f", "lam_g"],
        ["triu_hess_gamma_x_x"],
    )


@dataclass
class Drives:
    """What came of a controller's drives."""

    step_s: list[float] = field(default_factory=list)
    strayed_m: list[float] = field(default_factory=list)
    least_m: list[float] = field(default_factory=list)
    driven_m: float = 0.0
    shortest_m: float = 0.0
    took_s: float = 0.0
    arrived: int = 0
    worst_end_m: float = 0.0


class Floor:
    """Exact clearance of positions: the distance to the nearest occupied square."""

    def __init__(self, room: sl.OccupancyMap) -> None:
        self.half = room.resolution_m / 2
        self.centres = room.centres(np.argwhere(room.occupied))
        self.tree = cKDTree(self.centres)

    def clear_m(self, points: np.ndarray) -> np.ndarray:
        # the square that is nearest is among the 24 with the nearest centres
        _, near = self.tree.query(points, k=24)
        gaps = np.maximum(np.abs(points[:, None] - self.centres[near]) - self.half, 0)
        return np.hypot(*gaps.T).min(axis=0)


def drive(mpc: Mpc, state: np.ndarray, rng: np.random.Generator, out: Drives) -> np.ndarray:
    """Follow the controller's path; the states (n, 5) of the exact robot."""
    states, dt = [state], mpc.period_s / STEPS
    left = math.exp(-dt / LAG_S)
    for _ in range(round(LONGEST_S / mpc.period_s)):
        seen = states[-1] + rng.normal(size=5) * NOISE
        began = time.thread_time()
        command = mpc.command(tuple(seen[:3]), seen[3], seen[4])
        out.step_s.append(time.thread_time() - began)
        if command.arrived or (command.blocked and states[-1][3] < 1e-3):
            out.arrived += command.arrived
            break
        out.took_s += mpc.period_s
        for _ in range(STEPS):
            x, y, yaw, v, w = states[-1]
            faster = command.speed_m_s + left * (v - command.speed_m_s)
            rounder = command.turn_rad_s + left * (w - command.turn_rad_s)
            metres, turned = dt * (v + faster) / 2, dt * (w + rounder) / 2
            ahead = yaw + turned / 2
            x, y = x + metres * math.cos(ahead), y + metres * math.sin(ahead)
            states.append(np.array([x, y, yaw + turned, faster, rounder]))
    return np.array(states)


def drives(make: Callable[[sl.OccupancyMap], Mpc], name: str, count: int) -> Drives:
    """Drives between random points of a scenario's free space, the same for every controller."""
    room = sl.Scenario.load(name).map
    free, floor, mpc = room.free_space(RADIUS_M), Floor(room), make(room)
    everywhere, out = free.points(), Drives()
    for number in range(count):
        rng = np.random.default_rng([7, number])
        start, goal = everywhere[rng.choice(len(everywhere), 2, replace=False)]
        path = free.path(start, goal)
        mpc.follow(path)
        states = drive(mpc, np.array([*start, rng.uniform(-np.pi, np.pi), 0, 0]), rng, out)
        along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(path, axis=0).T))])
        fine = np.linspace(0, along[-1], max(2, round(along[-1] / 0.005)))
        line = cKDTree(np.stack([np.interp(fine, along, each) for each in path.T], axis=1))
        out.strayed_m += line.query(states[:, :2])[0].tolist()
        out.least_m.append(float(floor.clear_m(states[:, :2]).min()))
        out.driven_m += float(np.hypot(*np.diff(states[:, :2], axis=0).T).sum())
        out.shortest_m += float(along[-1])
        out.worst_end_m = max(out.worst_end_m, float(np.hypot(*(states[-1, :2] - goal))))
    return out


def contenders() -> dict[str, Callable[[sl.OccupancyMap], Mpc]]:
    """Ways of making a controller for a room; the first is ours."""
    out: dict[str, Callable[[sl.OccupancyMap], Mpc]] = {
        "Sightline": Mpc,
        "with 2 rounds": TwoRounds,
    }
    for name, (solver, options) in SOLVERS.items():
        out[name] = lambda room, solver=solver, options=options: Nonlinear(
            room, solver=solver, options=options
        )
    return out


def row(scenario: str, name: str, count: int, got: Drives) -> list[str]:
    step_ms = 1000 * np.array(got.step_s)
    return [
        scenario,
        name,
        f"{np.median(step_ms):.2f} ms",
        f"{np.quantile(step_ms, 0.99):.2f} ms",
        f"{got.arrived} of {count}",
        str(int((np.array(got.least_m) < Limits().radius_m).sum())),
        f"{min(got.least_m):.3f} m",
        f"{1000 * np.mean(got.strayed_m):.0f} mm",
        f"{1000 * max(got.strayed_m):.0f} mm",
        f"{1000 * got.worst_end_m:.0f} mm",
        f"{got.driven_m / got.shortest_m:.3f}",
        f"{got.shortest_m / got.took_s:.2f} m/s",
    ]


COLUMNS = [
    *("drives", "by", "a step, median", "99 %", "arrived", "touched", "least clearance"),
    *("off path, mean", "most", "off goal, most", "length / shortest", "average speed"),
]


def solvers(quick: bool) -> str:
    """The same drives by every solver, and more of them by ours."""
    rows = []
    count = 5 if quick else 30
    for name, make in contenders().items():
        drives(make, "kitchen2", 1)  # compiles
        rows.append(row("kitchen2", name, count, drives(make, "kitchen2", count)))
    many = 20 if quick else 200
    for scenario in ("kitchen1", "kitchen2", "aws_small_house"):
        rows.append(row(scenario, "Sightline", many, drives(Mpc, scenario, many)))
    return table(COLUMNS, rows)


if __name__ == "__main__":
    print(solvers(quick=True))
