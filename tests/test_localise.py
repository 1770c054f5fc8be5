"""Where the robot takes itself to be: the kernels beside their slow twins, and a cloud that converges.

No physics here: scans are read off the map itself.
"""

from math import cos, hypot, pi, sin

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_particles
from grids import ascii_map
from rooms import two_rooms
from sightline._kernels import particles
from sightline.maps import OccupancyMap
from sightline.worlds.localise import ParticleFilter, in_map, wrapped
from sightline.worlds.scenes import Scene

# an odd map: askew, off the origin, with one block in it
ASKEW = ascii_map("#######\n#.....#\n#..##.#\n#.....#\n#######", 0.5, (1.0, -2.0, 0.6))


@pytest.fixture(scope="module")
def lidar_map() -> OccupancyMap:
    return Scene.of(two_rooms()).slice_at(0.2)


def seen(chart: OccupancyMap, pose: tuple[float, float, float], beams: int = 90) -> np.ndarray:
    """The hits (m, 2), in the robot's frame, of a lidar without noise: rays marched in 5 mm steps."""
    out = []
    for bearing in np.arange(beams) * 2 * pi / beams:
        along = np.arange(0.0, 8.0, 0.005)[:, None]
        ray = along * (cos(bearing), sin(bearing))
        hit = chart.look_up(chart.occupied, in_map(pose, ray), True)
        out.append(ray[hit.argmax()])
    return np.array(out)


@pytest.mark.kernel
@given(st.integers(0, 2**32 - 1))
def test_poses_move_as_the_slow_twin_says(seed):
    rng = np.random.default_rng(seed)
    poses, noise = rng.normal(0, 2, (7, 3)), rng.normal(0, 0.3, (7, 3))
    forward, turn = rng.normal(0, 1, 2)
    expected = [
        naive_particles.moved(pose, forward, turn, one)
        for pose, one in zip(poses, noise, strict=True)
    ]
    particles.move(poses, forward, turn, noise)
    np.testing.assert_allclose(poses, expected, atol=1e-12)


@pytest.mark.kernel
@given(st.integers(0, 2**32 - 1))
def test_scans_fit_as_the_slow_twin_says(seed):
    """Hits on the map, at its rim, and far off it."""
    rng = np.random.default_rng(seed)
    spots = ASKEW.centres(rng.integers(-1, 7, (6, 2)))
    poses = np.column_stack([spots, rng.uniform(-4, 4, 6)])
    hits = rng.normal(0, 1.5, (11, 2))
    gap, out = np.array(ASKEW.clearance_m), np.empty(6)
    particles.fit(poses, hits, gap, 0.5, np.array(ASKEW.origin), 0.2, 0.05, out)
    expected = [naive_particles.fit(ASKEW, gap, pose, hits, 0.2, 0.05) for pose in poses]
    np.testing.assert_allclose(out, expected, atol=1e-9)


weights = st.lists(st.floats(0, 1), min_size=1, max_size=20).filter(lambda w: sum(w) > 0.01)


def drawn(share: np.ndarray, at: float, count: int) -> np.ndarray:
    rows = np.empty(count, np.int64)
    particles.draw(share, at, rows)
    return rows


@pytest.mark.kernel
@given(weights, st.floats(0, 1, exclude_max=True))
def test_draws_are_those_of_the_slow_twin(raw, at):
    share = np.array(raw) / sum(raw)
    rows = drawn(share, at / len(raw), len(raw))
    np.testing.assert_array_equal(rows, naive_particles.drawn(share, at / len(raw), len(raw)))


@pytest.mark.kernel
@given(weights, st.floats(0.001, 0.999), st.integers(1, 40))
def test_every_row_is_drawn_its_share_of_times_give_or_take_one(raw, at, count):
    share = np.array(raw) / sum(raw)
    times = np.bincount(drawn(share, at / count, count), minlength=len(share))
    assert (np.abs(times - count * share) < 1 + 1e-6).all()
    assert (np.diff(drawn(share, at / count, count)) >= 0).all()


def test_equal_weights_draw_every_row_once():
    np.testing.assert_array_equal(drawn(np.full(8, 1 / 8), 0.01, 8), np.arange(8))


@given(st.floats(-50, 50))
def test_a_wrapped_angle_is_the_same_angle(angle):
    assert -pi <= wrapped(angle) < pi
    assert cos(wrapped(angle)) == pytest.approx(cos(angle), abs=1e-9)
    assert sin(wrapped(angle)) == pytest.approx(sin(angle), abs=1e-9)


def test_points_of_the_robot_come_into_the_map():
    ahead_and_left = np.array([(1.0, 0.0), (0.0, 2.0)])
    np.testing.assert_allclose(in_map((3.0, 4.0, pi / 2), ahead_and_left), [(3, 5), (1, 4)])


STARTS = [(1.0, 0.7, 0.4), (3.4, 1.5, 2.8), (2.0, 2.5, -1.5), (5.0, 1.5, 3.1)]


@pytest.mark.parametrize("start", STARTS)
def test_a_cloud_finds_the_robot_that_is_not_where_it_was_said_to_be(lidar_map, start):
    """0.2 m and 0.1 rad off, from a dozen scans, while standing in a furnished room."""
    said = (start[0] + 0.14, start[1] - 0.14, start[2] + 0.1)
    here = ParticleFilter(
        lidar_map, said, rng=np.random.default_rng(1), offset_m=0.15, offset_rad=0.1
    )
    hits = seen(lidar_map, start)
    for _ in range(12):
        here.moved(0.0, 1e-6)
        here.scanned(hits)
    x, y, yaw = here.pose
    assert hypot(x - start[0], y - start[1]) < 0.04
    assert abs(wrapped(yaw - start[2])) < 0.02
    assert here.spread_m < 0.04


def test_a_cloud_follows_a_drive_by_wheels_that_are_off(lidar_map):
    """Around the table once; odometry takes 3 % too little for the way and drifts to a side."""
    here = ParticleFilter(lidar_map, (1.0, 0.7, 0.0), rng=np.random.default_rng(2))
    x, y, yaw = 1.0, 0.7, 0.0
    straight, corner = [0.0], [pi / 16] * 8
    turns = 2 * (19 * straight + corner + 12 * straight + corner)
    errors, dead = [], [(x, y, yaw)]
    for number, turn in enumerate(turns):
        way = 0.1 - 0.5 * turn / pi
        x, y, yaw = naive_particles.moved((x, y, yaw), way, turn, (0, 0, 0))
        told = 0.97 * way, turn + 0.004
        dead.append(naive_particles.moved(dead[-1], *told, (0, 0, 0)))
        here.moved(*told)
        if number % 2:
            here.scanned(seen(lidar_map, (x, y, yaw), beams=60))
        errors.append(hypot(here.pose[0] - x, here.pose[1] - y))
    assert hypot(dead[-1][0] - x, dead[-1][1] - y) > 0.2  # what odometry alone would be off
    assert max(errors) < 0.05


def test_a_robot_that_stands_keeps_its_cloud_and_a_scan_of_nothing_tells_nothing(lidar_map):
    here = ParticleFilter(lidar_map, STARTS[0], rng=np.random.default_rng(3))
    before = here.poses.copy()
    here.moved(0.0, 0.0)
    here.scanned(np.empty((0, 2)))
    np.testing.assert_array_equal(here.poses, before)
    assert here.pose == pytest.approx(STARTS[0], abs=0.01)


def test_the_mean_of_headings_goes_around_the_half_turn(lidar_map):
    here = ParticleFilter(lidar_map, (1.0, 0.7, pi), rng=np.random.default_rng(4))
    assert abs(wrapped(here.pose[2] - pi)) < 0.01


def test_equal_generators_give_equal_clouds(lidar_map):
    def course(seed: int) -> np.ndarray:
        here = ParticleFilter(lidar_map, STARTS[0], rng=np.random.default_rng(seed))
        for _ in range(3):
            here.moved(0.05, 0.02)
            here.scanned(seen(lidar_map, STARTS[0], beams=30))
        return here.poses

    np.testing.assert_array_equal(course(1), course(1))
    assert not np.array_equal(course(1), course(2))
