"""Model-predictive control: keeps its limits, stays clear, ends at rest at the goal, or says why."""

import sys
from dataclasses import replace
from math import cos, exp, hypot, nan, pi, sin

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_mpc
import sightline as sl
from grids import ascii_map
from sightline._kernels import mpc as kernels
from sightline.errors import SightlineError
from sightline.worlds.mpc import Command, Limits, Mpc, Status, signed_clearance_m

pytest.importorskip("osqp")

LIMITS = Limits()
NOISE = np.array([0.02, 0.02, pi / 180, 0.01, 0.02])


class Robot:
    """An exact differential drive whose wheels lag by ``lag_s``; ``states`` (n, 5) are kept."""

    def __init__(self, x: float, y: float, yaw: float, lag_s: float = 0.05) -> None:
        self.states = [np.array([x, y, yaw, 0.0, 0.0])]
        self.lag_s = lag_s

    def drive(self, command: Command, period_s: float, steps: int = 10) -> None:
        dt = period_s / steps
        left = exp(-dt / self.lag_s)
        for _ in range(steps):
            x, y, yaw, v, w = self.states[-1]
            faster = command.speed_m_s + left * (v - command.speed_m_s)
            rounder = command.turn_rad_s + left * (w - command.turn_rad_s)
            metres, turned = dt * (v + faster) / 2, dt * (w + rounder) / 2
            ahead = yaw + turned / 2
            x, y = x + metres * cos(ahead), y + metres * sin(ahead)
            self.states.append(np.array([x, y, yaw + turned, faster, rounder]))


def follow(
    mpc: Mpc,
    robot: Robot,
    *,
    periods: int = 600,
    rng: np.random.Generator | None = None,
) -> list[Command]:
    """Drive until the robot has arrived, stands blocked or time is up."""
    commands = []
    for _ in range(periods):
        seen = robot.states[-1] + (rng.normal(size=5) * NOISE if rng else 0.0)
        commands.append(mpc.command(tuple(seen[:3]), seen[3], seen[4]))
        if commands[-1].arrived or (commands[-1].blocked and robot.states[-1][3] < 1e-3):
            break
        robot.drive(commands[-1], mpc.period_s)
    return commands


def hall(width: int = 80, height: int = 40, origin=(0.0, 0.0, 0.0)) -> sl.OccupancyMap:
    """An empty hall with walls of one cell, 5 cm a cell."""
    cells = np.ones((height, width), dtype=bool)
    cells[1:-1, 1:-1] = False
    return sl.OccupancyMap.from_array(cells, 0.05, origin)


def doorway() -> sl.OccupancyMap:
    """Two rooms joined by a door of 0.8 m."""
    cells = np.array(hall().occupied)
    cells[:12, 38:42] = cells[28:, 38:42] = True
    return sl.OccupancyMap.from_array(cells, 0.05)


def with_block(room: sl.OccupancyMap, x: float, y: float, half: float) -> sl.OccupancyMap:
    """The room with a square obstacle."""
    centres = room.centres(np.indices(room.shape).transpose(1, 2, 0))
    inside = (np.abs(centres - [x, y]) <= half).all(axis=-1)
    return sl.OccupancyMap(np.where(inside, 100, room.occupancy), room.resolution_m, room.origin)


def paths(robot: Robot) -> np.ndarray:
    return np.array(robot.states)[:, :2]


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_it_passes_a_doorway_clear_of_its_posts(seed: int | None) -> None:
    room = doorway()
    path = room.free_space(0.3).path((0.6, 0.5), (3.4, 0.6))
    mpc, robot = Mpc(room), Robot(0.6, 0.5, 0.0)
    mpc.follow(path)
    commands = follow(mpc, robot, rng=None if seed is None else np.random.default_rng(seed))
    assert commands[-1].arrived
    assert hypot(*(paths(robot)[-1] - path[-1])) <= LIMITS.goal_tolerance_m
    assert naive_mpc.clear_m(room, paths(robot)[::3]).min() >= LIMITS.radius_m + (
        0.02 if seed is None else 0
    )
    # the straight legs take 3.4 s at full speed
    assert len(commands) * mpc.period_s < 12


def test_it_stops_in_time_and_at_rest() -> None:
    mpc, robot = Mpc(hall()), Robot(0.5, 1.0, 0.0)
    mpc.follow([(0.5, 1.0), (3.4, 1.0)])
    commands = follow(mpc, robot)
    states = np.array(robot.states)
    assert commands[-1].arrived
    assert not any(command.arrived for command in commands[:-1])
    assert states[:, 0].max() <= 3.4 + 0.02
    assert states[-1, 0] >= 3.4 - LIMITS.goal_tolerance_m
    assert states[-1, 3] <= 0.02
    assert states[:, 3].max() > 0.95 * LIMITS.speed_m_s
    # speeding up, driving and braking at the limits takes 4.4 s
    assert len(commands) * mpc.period_s < 5.5


@pytest.mark.parametrize("period_s", [0.05, 0.1])
@pytest.mark.parametrize("fast", [True, False])
def test_every_step_keeps_the_limits(period_s: float, fast: bool) -> None:
    limits = LIMITS if fast else Limits(speed_m_s=0.3, turn_rad_s=0.7, acceleration_m_s2=0.4)
    room = doorway()
    mpc = Mpc(room, limits=limits, period_s=period_s)
    robot = Robot(0.6, 0.5, 2.5, lag_s=0.1)
    mpc.follow(room.free_space(0.3).path((0.6, 0.5), (3.4, 1.6)))
    commands = follow(mpc, robot, rng=np.random.default_rng(3))
    assert commands[-1].arrived
    speeds = np.array([(0.0, 0.0), *((c.speed_m_s, c.turn_rad_s) for c in commands)])
    # what is wanted starts from the first, noisy, measurement
    steps = np.abs(np.diff(speeds, axis=0))[1:] / period_s
    assert (speeds[:, 0] >= 0).all()
    assert (speeds[:, 0] <= limits.speed_m_s).all()
    assert (np.abs(speeds[:, 1]) <= limits.turn_rad_s).all()
    assert steps[:, 0].max() <= limits.acceleration_m_s2 + 1e-9
    assert steps[:, 1].max() <= limits.turn_acceleration_rad_s2 + 1e-9


@pytest.mark.parametrize("yaw", [pi, 2.0, -2.5])
def test_it_turns_round_on_the_spot(yaw: float) -> None:
    mpc, robot = Mpc(hall()), Robot(1.0, 1.0, yaw)
    mpc.follow([(1.0, 1.0), (3.0, 1.0)])
    first = mpc.command((1.0, 1.0, yaw), 0.0, 0.0)
    assert first.status is Status.TURNING
    commands = follow(mpc, robot)
    assert commands[-1].arrived
    while_turning = [c.speed_m_s for c in commands if c.status is Status.TURNING]
    assert max(while_turning) == 0.0
    assert np.abs(paths(robot)[:, 1] - 1.0).max() < 0.1
    assert paths(robot)[:, 0].min() > 0.95


def test_it_slows_down_where_it_is_tight() -> None:
    room = doorway()
    mpc, robot = Mpc(room), Robot(0.5, 1.0, 0.0)
    mpc.follow([(0.5, 1.0), (3.5, 1.0)])
    follow(mpc, robot)
    states = np.array(robot.states)
    door = np.abs(states[:, 0] - 2.0) < 0.1
    assert states[door, 3].max() < 0.95 * states[:, 3].max()


def test_a_blocked_path_is_said_and_braked_for() -> None:
    room = hall()
    mpc, robot = Mpc(room), Robot(0.5, 1.0, 0.0)
    mpc.follow([(0.5, 1.0), (3.5, 1.0)])
    assert not any(command.blocked for command in follow(mpc, robot, periods=15))
    closed = with_block(room, 2.6, 1.0, 0.2)
    mpc.set_room(closed)
    commands = follow(mpc, robot)
    assert all(command.status is Status.BLOCKED for command in commands[:3])
    assert commands[-1].blocked
    assert robot.states[-1][3] < 1e-3
    assert naive_mpc.clear_m(closed, paths(robot)).min() > LIMITS.radius_m
    mpc.follow(closed.free_space(0.3).path(robot.states[-1][:2], (3.5, 1.0)))
    assert follow(mpc, robot)[-1].arrived
    assert naive_mpc.clear_m(closed, paths(robot)[::3]).min() > LIMITS.radius_m


def test_an_obstacle_too_near_to_stop_for_is_braked_for() -> None:
    room = hall()
    mpc, robot = Mpc(room), Robot(0.5, 1.0, 0.0)
    mpc.follow([(0.5, 1.0), (3.5, 1.0)])
    follow(mpc, robot, periods=15)
    x, y, yaw, speed, turn = robot.states[-1]
    mpc.set_room(with_block(room, x + 0.55, y, 0.2))
    command = mpc.command((x, y, yaw), speed, turn)
    assert command.blocked
    assert command.speed_m_s == pytest.approx(speed - LIMITS.acceleration_m_s2 * 0.1, abs=0.03)


def test_a_tight_corridor_is_passed() -> None:
    """A corridor of 0.6 m: the radius and the margin on both sides, and not a cell more."""
    room = ascii_map("\n".join(["#" * 80] + ["." * 80] * 12 + ["#" * 80]), resolution_m=0.05)
    for seed in range(3):
        mpc, robot = Mpc(room), Robot(0.5, 0.35, 0.0)
        mpc.follow([(0.5, 0.35), (3.5, 0.35)])
        assert follow(mpc, robot, rng=np.random.default_rng(seed))[-1].arrived
        assert naive_mpc.clear_m(room, paths(robot)[::3]).min() >= LIMITS.radius_m


def test_a_corridor_without_room_to_err_is_blocked() -> None:
    room = ascii_map("\n".join(["#" * 80] + ["." * 80] * 10 + ["#" * 80]), resolution_m=0.05)
    mpc = Mpc(room)
    mpc.follow([(0.5, 0.3), (3.5, 0.3)])
    assert mpc.command((0.5, 0.3, 0.0), 0.0, 0.0).blocked


def test_the_maps_own_frame_makes_no_difference() -> None:
    turned = hall(origin=(3.0, -2.0, 0.7))
    points = turned.to_world(np.array([(0.5, 1.0), (1.5, 1.2), (3.4, 1.0)]) / 0.05)
    mpc, robot = Mpc(turned), Robot(*points[0], 0.7 + 0.2)
    mpc.follow(points)
    commands = follow(mpc, robot)
    assert commands[-1].arrived
    assert hypot(*(paths(robot)[-1] - points[-1])) <= LIMITS.goal_tolerance_m
    assert commands[0].predicted[0] == pytest.approx(points[0])
    assert commands[0].predicted.shape == (21, 2)
    assert turned.contains(commands[5].predicted).all()


def test_same_input_same_output_and_inputs_stay_as_they_are() -> None:
    room = doorway()
    path = room.free_space(0.3).path((0.6, 0.5), (3.4, 0.6))
    before = path.copy(), room.clearance_m.copy()
    runs = []
    for _ in range(2):
        mpc, robot = Mpc(room), Robot(0.6, 0.5, 0.0)
        mpc.follow(path)
        follow(mpc, robot, rng=np.random.default_rng(1))
        runs.append(np.array(robot.states))
    np.testing.assert_array_equal(*runs)
    np.testing.assert_array_equal(before[0], path)
    np.testing.assert_array_equal(before[1], room.clearance_m)


def test_a_path_to_where_one_is() -> None:
    mpc = Mpc(hall())
    for path in ([(1.0, 1.0)], [(1.0, 1.0), (1.0, 1.0)]):
        mpc.follow(path)
        assert mpc.command((1.0, 1.0, 0.5), 0.0, 0.0).arrived


def test_a_robot_that_was_carried_off_is_believed() -> None:
    mpc, robot = Mpc(hall()), Robot(0.5, 1.0, 0.0)
    mpc.follow([(0.5, 1.0), (3.5, 1.0)])
    follow(mpc, robot, periods=10)
    command = mpc.command((1.5, 1.4, 0.0), 0.5, 0.0)
    assert command.predicted[0] == pytest.approx((1.5, 1.4))


def test_bad_input_says_what_is_wrong() -> None:
    mpc = Mpc(hall())
    with pytest.raises(ValueError, match="call follow"):
        mpc.command((1.0, 1.0, 0.0), 0.0, 0.0)
    mpc.follow([(1.0, 1.0), (2.0, 1.0)])
    for pose, speed, turn in [
        ((nan, 1.0, 0.0), 0.0, 0.0),
        ((1.0, 1.0, 0.0), nan, 0.0),
        ((1.0, 1.0, 0.0), 0.0, float("inf")),
        ((1.0, 1.0), 0.0, 0.0),
    ]:
        with pytest.raises(ValueError, match="finite numbers"):
            mpc.command(pose, speed, turn)
    for path in ([(1.0, nan)], [], [[(1.0, 1.0)]]):
        with pytest.raises(ValueError, match=r"finite|shape"):
            mpc.follow(path)
    for words in ({"period_s": 0.5}, {"period_s": nan}, {"pose_gain": 0.0}):
        with pytest.raises(ValueError, match=next(iter(words))):
            Mpc(hall(), **words)


@pytest.mark.parametrize("name", vars(LIMITS))
def test_limits_must_make_sense(name: str) -> None:
    for value in (nan, -1.0, float("inf")):
        with pytest.raises(ValueError, match=rf"{name} must.*{value}"):
            replace(LIMITS, **{name: value})


def test_a_robot_must_be_able_to_brake_within_the_horizon() -> None:
    with pytest.raises(ValueError, match=r"speed_m_s must be at most 0\.3.*not 0\.8"):
        Limits(acceleration_m_s2=0.2)


def test_another_floor_is_refused() -> None:
    with pytest.raises(ValueError, match="shape, resolution and origin"):
        Mpc(hall()).set_room(hall(width=70))


def test_without_the_solver_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "osqp", None)
    with pytest.raises(SightlineError, match=r"sightline\[physics\]"):
        Mpc(hall())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kitchen1", "kitchen2", "aws_small_house"])
def test_random_drives_arrive_and_touch_nothing(name: str) -> None:
    room = sl.Scenario.load(name).map
    free = room.free_space(0.35)
    mpc, rng = Mpc(room), np.random.default_rng(9)
    for _ in range(25):
        start, goal = free.points()[rng.integers(len(free.points()), size=2)]
        robot = Robot(*start, rng.uniform(-pi, pi), lag_s=0.1)
        mpc.follow(free.path(start, goal))
        assert follow(mpc, robot, rng=rng)[-1].arrived
        assert hypot(*(paths(robot)[-1] - goal)) <= LIMITS.goal_tolerance_m
        assert naive_mpc.clear_m(room, paths(robot)[::5]).min() >= LIMITS.radius_m


FIELD = signed_clearance_m(doorway())


@pytest.mark.kernel
@given(x=st.floats(-0.5, 4.5), y=st.floats(-0.5, 2.5))
def test_bilinear_is_its_twin(x: float, y: float) -> None:
    value, *slope = kernels.bilinear(FIELD, 0.05, x, y)
    twin, *steep = naive_mpc.bilinear(FIELD, 0.05, x, y)
    assert value == pytest.approx(twin, abs=1e-9)
    beside = [abs(each / 0.05 - 0.5 - round(each / 0.05 - 0.5)) for each in (x, y)]
    on_map = 0.03 < x < 3.97 and 0.03 < y < 1.97
    if min(beside) > 1e-3 and on_map:
        assert slope == pytest.approx(steep, abs=1e-6)


@pytest.mark.kernel
def test_bilinear_takes_maps_of_one_row() -> None:
    assert kernels.bilinear(np.array([[1.0, 3.0]]), 1.0, 1.0, 0.7) == pytest.approx((2.0, 2.0, 0.0))
    assert kernels.bilinear(np.array([[4.0]]), 1.0, 9.0, 0.7) == pytest.approx((4.0, 0.0, 0.0))


def lagging(lag_s: float, period_s: float = 0.1) -> tuple[float, float, float]:
    decay = exp(-period_s / lag_s) if lag_s else 0.0
    return period_s, decay, (1 - decay) * lag_s / period_s


@pytest.mark.kernel
@pytest.mark.parametrize("lag_s", [0.0, 0.05, 0.2])
def test_a_predicted_period_is_the_one_of_tiny_steps(lag_s: float) -> None:
    start = np.array([1.0, 2.0, 0.3, 0.5, -1.0, 4.0])
    wanted = np.array([[0.6, -0.6, 0.7]])
    (_, after) = kernels.predict(start, wanted, *lagging(lag_s))
    assert after[:5] == pytest.approx(
        naive_mpc.drive(start[:5], wanted[0, :2], 0.1, lag_s), abs=5e-4
    )
    assert after[5] == pytest.approx(4.07)


@pytest.mark.kernel
@pytest.mark.parametrize("lag_s", [0.0, 0.05])
def test_slopes_are_differences(lag_s: float) -> None:
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1, 1, (6, 3))
    period_s, decay, mean = lagging(lag_s)
    states = kernels.predict(rng.uniform(-1, 1, 6), inputs, period_s, decay, mean)
    slopes = kernels.slopes(states, inputs, period_s, mean)
    for k in range(6):
        for j, at in enumerate([2, 3, 4, 6, 7]):
            ends = []
            for tiny in (1e-6, -1e-6):
                both = np.concatenate([states[k], inputs[k]])
                both[at] += tiny
                ends.append(kernels.predict(both[:6], both[None, 6:], period_s, decay, mean)[1])
            assert slopes[k, :, j] == pytest.approx((ends[0] - ends[1])[:2] / 2e-6, abs=1e-7)


BEND = np.array(
    [[0, 0, 1, 0, 0.8, 0.3], [1, 0, 1, 1, 0.5, 0.28], [1, 1, 0, 1, 0.6, 0.3]], dtype=float
)


@pytest.mark.kernel
@given(x=st.floats(-1, 2), y=st.floats(-1, 2), low=st.floats(0, 2), more=st.floats(0, 2))
def test_places_on_a_path_are_their_twins(x: float, y: float, low: float, more: float) -> None:
    progress = np.array([low, low - 1, low + 2])
    found = kernels.on_path(BEND, 1.0, progress)
    np.testing.assert_allclose(found, naive_mpc.on_path(BEND, 1.0, progress))
    high = min(low + more, 2.0)
    at = kernels.nearest_on_path(BEND, 1.0, x, y, low, high)
    twin = naive_mpc.nearest_on_path(BEND, 1.0, x, y, low, high)
    assert low <= at <= high
    ways = naive_mpc.on_path(BEND, 1.0, np.array([at, twin]))[:, :2]
    gaps = np.hypot(*(ways - [x, y]).T)
    assert gaps[0] <= gaps[1] + 1e-3


@pytest.mark.kernel
def test_the_cost_of_straying_is_its_twins_to_second_order() -> None:
    rng = np.random.default_rng(1)
    reference = kernels.on_path(BEND, 1.0, np.array([0.4, 1.2]))
    states = rng.normal(size=(2, 6))
    curvature, slope = kernels.path_cost(states, reference, np.array([3.0, 5.0]), 20.0)
    for k, aside in enumerate((3.0, 5.0)):
        change = rng.normal(size=3)
        hessian = np.zeros((3, 3))
        hessian[np.triu_indices(3)] = curvature[k]
        hessian += np.triu(hessian, 1).T
        at = np.array([*states[k, :2], 0.0])
        gain = naive_mpc.path_cost(at + change, reference[k], aside, 20.0)
        gain -= naive_mpc.path_cost(at, reference[k], aside, 20.0)
        assert slope[k] @ change + change @ hessian @ change / 2 == pytest.approx(gain)


@pytest.mark.kernel
@given(st.lists(st.tuples(*[st.floats(-3, 3)] * 3), min_size=1, max_size=5))
def test_limits_are_kept_exactly(rows: list[tuple[float, float, float]]) -> None:
    most, change, before = np.array([0.8, 1.8]), np.array([0.1, 0.4]), np.array([0.3, -1.0])
    inputs = np.array(rows)
    kernels.keep_limits(inputs, before, most, change)
    steps = np.abs(np.diff(inputs[:, :2], axis=0, prepend=before[None]))
    assert (steps <= change + 1e-12).all()
    assert (inputs[:, [0, 2]] >= 0).all()
    assert (np.abs(inputs[:, :2]) <= most).all()
    again = inputs.copy()
    kernels.keep_limits(again, before, most, change)
    np.testing.assert_array_equal(again, inputs)
