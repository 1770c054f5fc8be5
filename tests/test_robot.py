"""The robot's body: it goes as fast as it is told, and measures with the noise that is stated."""

from collections.abc import Callable, Iterator
from math import hypot, pi

import numpy as np
import pytest

from rooms import two_rooms
from sightline.worlds.engine import Engine
from sightline.worlds.localise import in_map, wrapped
from sightline.worlds.robot import EYE_AHEAD_M, EYE_M, RADIUS_M, Build, Robot
from sightline.worlds.scenes import Scene

pytest.importorskip("pybullet")

EXACT = Build(wheel_error=0.0, slip=0.0, lidar_noise_m=0.0)
START = (1.0, 0.6, 0.3)
Place = Callable[..., Robot]


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene.of(two_rooms())


@pytest.fixture
def place(scene: Scene) -> Iterator[Place]:
    """Puts a robot into an engine of its own."""
    engines = []

    def places(pose=START, *, build: Build = EXACT, seed: int = 0) -> Robot:
        engines.append(Engine(scene))
        return Robot(engines[-1], pose, rng=np.random.default_rng(seed), build=build)

    yield places
    for engine in engines:
        engine.close()


def driven(robot: Robot, periods: int, speed: float, turn: float) -> tuple[float, float]:
    """Metres and radians that the body truly goes, along small steps."""
    way = turned = 0.0
    for _ in range(periods):
        x, y, yaw = robot.pose
        robot.roll(0.1, speed, turn)
        way += hypot(robot.pose[0] - x, robot.pose[1] - y)
        turned += wrapped(robot.pose[2] - yaw)
    return way, turned


@pytest.mark.parametrize("pose", [START, (3.3, 2.4, -2.0), (5.0, 1.5, pi)])
def test_a_robot_stands_where_it_is_put(place: Place, pose):
    robot = place(pose)
    assert robot.pose[:2] == pytest.approx(pose[:2], abs=0.002)
    assert wrapped(robot.pose[2] - pose[2]) == pytest.approx(0, abs=0.002)
    assert robot.speeds == pytest.approx((0, 0), abs=1e-3)
    assert robot.odometry() == pytest.approx((0, 0), abs=1e-3)
    before = robot.pose
    robot.roll(1.0, 0.0, 0.0)
    assert robot.pose == pytest.approx(before, abs=0.002)
    assert not robot.engine.touched(robot.body)


@pytest.mark.parametrize("speed", [0.1, 0.4, 0.8])
def test_it_drives_straight_as_fast_as_it_is_told(place: Place, speed):
    robot = place((0.9, 2.6, 0.0))
    robot.roll(0.5, speed, 0.0)
    way, turned = driven(robot, 10, speed, 0.0)
    assert way == pytest.approx(speed, rel=0.03)
    assert abs(turned) < 0.01
    assert robot.speeds == pytest.approx((speed, 0.0), abs=0.01)
    assert robot.pose[1] == pytest.approx(2.6, abs=0.01)


@pytest.mark.parametrize("turn", [-1.8, -0.5, 0.5, 1.8])
def test_it_turns_on_the_spot_as_fast_as_it_is_told(place: Place, turn):
    robot = place()
    robot.roll(0.5, 0.0, turn)
    way, turned = driven(robot, 10, 0.0, turn)
    assert turned == pytest.approx(turn, rel=0.03)
    assert way < 0.01
    assert robot.pose[:2] == pytest.approx(START[:2], abs=0.01)


def test_it_drives_an_arc_of_the_right_radius(place: Place):
    robot = place((1.6, 0.7, 0.0))
    robot.roll(0.4, 0.4, 1.0)
    way, turned = driven(robot, 15, 0.4, 1.0)
    assert way / turned == pytest.approx(0.4, rel=0.03)


def test_it_stops_within_a_hand_and_never_tips(place: Place):
    robot = place((0.9, 2.6, 0.0))
    robot.roll(0.8, 0.8, 0.0)
    way, _ = driven(robot, 10, 0.0, 0.0)
    assert way < 0.15
    tilt = robot.engine.call("getBasePositionAndOrientation", robot.body)[1]
    assert np.abs(tilt[:2]).max() < 0.01


def test_what_it_runs_into_is_felt(place: Place):
    robot = place((0.9, 1.4, pi))  # the counter is 0.15 m before it
    driven(robot, 1, 0.3, 0.0)
    assert not robot.engine.touched(robot.body)
    driven(robot, 8, 0.3, 0.0)
    assert robot.engine.touched(robot.body)
    assert robot.pose[0] == pytest.approx(0.5 + RADIUS_M, abs=0.02)


def test_perfect_wheels_tell_the_way_that_was_driven(place: Place):
    robot = place((1.2, 0.7, 0.0))
    way = turned = true_way = true_turn = 0.0
    for speed, turn in [(0.5, 0.0)] * 6 + [(0.3, 0.9)] * 10 + [(0.0, -1.2)] * 8 + [(0.0, 0.0)] * 5:
        one = driven(robot, 1, speed, turn)
        told = robot.odometry()
        way, turned = way + told[0], turned + told[1]
        true_way, true_turn = true_way + one[0], true_turn + one[1]
    assert way == pytest.approx(true_way, rel=0.03)
    assert turned == pytest.approx(true_turn, abs=0.03)


def tale(place: Place, build: Build, seed: int, periods: int) -> np.ndarray:
    """What odometry tells (periods, 2) as left and right wheel, over what they would tell exactly."""
    robot = place((1.0, 0.6, 0.0), build=build, seed=seed)
    out = []
    for _ in range(periods):
        before = robot._wheel_angles()
        robot.roll(0.1, 0.3, 0.0)
        way, turn = robot.odometry()
        exact = 0.08 * (robot._wheel_angles() - before)
        out.append(np.array([way - turn * 0.19, way + turn * 0.19]) / exact)
    return np.array(out)


def test_each_step_of_odometry_has_the_stated_noise_and_no_bias(place: Place):
    shares = np.vstack([tale(place, Build(wheel_error=0.0), seed, 40) for seed in range(5)])
    assert shares.std() == pytest.approx(0.03, rel=0.15)
    assert abs(shares.mean() - 1) < 4 * 0.03 / shares.size**0.5
    assert abs(np.corrcoef(shares.T)[0, 1]) < 0.3  # each wheel errs on its own


def test_wheels_are_off_by_the_stated_share_for_a_whole_episode(place: Place):
    build = Build(slip=0.0)
    sizes = np.array([tale(place, build, seed, 3) for seed in range(16)])  # seeds, periods, wheels
    assert np.ptp(sizes, axis=1).max() < 1e-6
    assert sizes[:, 0].std() == pytest.approx(0.01, rel=0.4)
    assert abs(sizes[:, 0].mean() - 1) < 4 * 0.01 / 32**0.5


def test_the_head_turns_the_short_way_and_holds(place: Place):
    robot = place()
    for bearing in (0.9, -0.9, 2.8, -2.8, 0.0):
        before = robot.head_rad
        robot.turn_head(bearing)
        robot.engine.step(0.1)
        turned, wanted = wrapped(robot.head_rad - before), wrapped(bearing - before)
        assert 0 < turned * np.sign(wanted) <= 0.45
        robot.engine.step(1.5)
        assert wrapped(robot.head_rad - bearing) == pytest.approx(0, abs=0.02)
    assert robot.pose == pytest.approx(START, abs=0.005)  # the body stays


def test_the_camera_stands_on_the_head(place: Place):
    robot = place()
    robot.turn_head(1.0)
    robot.engine.step(1.0)
    camera = robot.camera((2.0, 1.0, 0.5))
    assert camera.yaw_rad == pytest.approx(1.5, abs=0.02)
    lens = (2.0 + EYE_AHEAD_M * np.cos(1.5), 1.0 + EYE_AHEAD_M * np.sin(1.5), EYE_M)
    assert camera.position == pytest.approx(lens, abs=0.002)
    assert (camera.width, camera.height) == (320, 240)


def test_a_robot_does_not_see_itself(place: Place):
    robot = place()
    picture = robot.engine.picture(robot.camera(robot.pose))
    assert not (picture.bodies == robot.body).any()
    assert (robot.scan().ranges_m > RADIUS_M).all()


def test_rays_pass_through_a_robot(place: Place):
    robot = place()
    x, y, _ = robot.pose
    ends = [(x - 0.6, y, 0.2)], [(x + 2.0, y, 0.2)]
    assert robot.engine.rays(*ends)[0] == 1.0


def test_a_scan_lies_on_the_map(place: Place, scene: Scene):
    robot = place()
    scan = robot.scan()
    assert scan.bearings_rad.shape == scan.ranges_m.shape == (180,)
    lidar_map = scene.slice_at(EXACT.lidar_height_m)
    hits = in_map(robot.pose, scan.hits)
    assert len(hits) == 180
    assert lidar_map.look_up(lidar_map.clearance_m, hits, 1.0).max() <= 0.02


def test_scans_have_the_stated_noise_and_no_hit_beyond_their_range(place: Place):
    exact = place().scan().ranges_m
    robot = place(build=Build(lidar_noise_m=0.02, lidar_range_m=2.0), seed=3)
    off = np.array([robot.scan().ranges_m for _ in range(30)]) - exact
    far, near = exact > 2.001, exact < 1.999
    assert far.any()
    assert np.isinf(off[:, far]).all()
    assert off[:, near].std() == pytest.approx(0.02, rel=0.1)
    assert abs(off[:, near].mean()) < 0.002


def test_equal_generators_give_equal_robots(place: Place):
    def course(seed: int) -> tuple[object, ...]:
        robot = place(build=Build(), seed=seed)
        driven(robot, 5, 0.4, 0.3)
        return robot.pose, robot.odometry(), robot.scan().ranges_m.tolist()

    assert course(1) == course(1)
    assert course(1) != course(2)
