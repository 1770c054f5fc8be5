"""Drives: the robot arrives, stops, goes around what no map knows, and says when there is no way."""

from collections.abc import Callable, Iterator
from math import hypot

import numpy as np
import pytest

from rooms import two_rooms
from sightline import Site
from sightline.errors import MapError
from sightline.worlds.bullet import physical_site
from sightline.worlds.engine import Engine
from sightline.worlds.localise import ParticleFilter
from sightline.worlds.navigator import Chart, Ended, Navigator, free_floor
from sightline.worlds.robot import RADIUS_M, Robot
from sightline.worlds.scenes import Scene

pytest.importorskip("pybullet")

WEST, EAST, NEXT_DOOR = (
    (1.05, 0.65),
    (3.25, 0.75),
    (5.05, 0.75),
)  # beside the table, and behind the wall


class Drive:
    """A robot in the two rooms, and what truly happens to it."""

    def __init__(self, site: Site, scene: Scene, start, yaw: float, boxes) -> None:
        self.engine = Engine(scene)
        for box in boxes:
            self.engine.add_box(np.array(box), 0.4, 0.6)
        body, cloud = np.random.default_rng(5).spawn(2)
        self.robot = Robot(self.engine, (*start, yaw), rng=body)
        chart = Chart(site.home.map, scene.floor_plan(), scene.slice_at(0.2))
        self.nav = Navigator(
            self.robot, chart, site.free, ParticleFilter(chart.lidar, (*start, yaw), rng=cloud),
            on_tick=self._account,
        )  # fmt: skip
        self.driven_m, self.touches, self.errors_m = 0.0, 0, [0.0]
        self.trace = [self.robot.pose]

    def _account(self) -> None:
        now, before = self.robot.pose, self.trace[-1]
        self.driven_m += hypot(now[0] - before[0], now[1] - before[1])
        self.touches += self.engine.touched(self.robot.body)
        self.errors_m.append(hypot(now[0] - self.nav.pose[0], now[1] - self.nav.pose[1]))
        self.trace.append(now)

    def away(self, goal) -> float:
        """Metres between where the robot truly is and a position."""
        return hypot(self.robot.pose[0] - goal[0], self.robot.pose[1] - goal[1])

    def check(self) -> None:
        """What must be true of every drive."""
        assert self.touches == 0
        assert max(self.errors_m) < 0.06
        assert np.abs(self.robot.speeds).max() < 0.05


@pytest.fixture(scope="module")
def site() -> Site:
    return physical_site(two_rooms())


@pytest.fixture(scope="module")
def scene(site: Site) -> Scene:
    return Scene.of(site.home)


@pytest.fixture
def place(site: Site, scene: Scene) -> Iterator[Callable[..., Drive]]:
    made = []

    def places(start, *, yaw: float = 0.0, boxes=()) -> Drive:
        made.append(Drive(site, scene, start, yaw, boxes))
        return made[-1]

    yield places
    for one in made:
        one.engine.close()


@pytest.mark.parametrize(
    ("start", "goal", "yaw"),
    [(WEST, EAST, 0.0), (WEST, NEXT_DOOR, 3.0), (NEXT_DOOR, WEST, -1.0), (EAST, EAST, 1.0)],
)
def test_it_arrives_on_the_shortest_way(place, site, start, goal, yaw):
    """Also through the doorway, facing the wrong way at first, and where it is already."""
    one = place(start, yaw=yaw)
    assert one.nav.drive_to(goal) is Ended.ARRIVED
    one.check()
    assert one.away(goal) < 0.1
    least = site.free.distances([start, goal])[0, 1]
    assert one.driven_m == pytest.approx(least, rel=0.1, abs=0.1)


def test_it_drives_on_and_on_without_losing_itself(place, site):
    one, rng = place(WEST), np.random.default_rng(3)
    for _ in range(6):
        goal = tuple(site.standing[rng.integers(len(site.standing))])
        assert one.nav.drive_to(goal) is Ended.ARRIVED
        assert one.away(goal) < 0.1
    one.check()


def test_it_stops_soon_after_who_watches_says_so(place):
    one, asked = place(WEST), []

    def watch() -> bool:
        asked.append(one.driven_m)
        return len(asked) == 20

    assert one.nav.drive_to(NEXT_DOOR, watch=watch) is Ended.STOPPED
    one.check()
    assert asked[-1] > 0.3
    assert one.driven_m - asked[-1] < 0.6  # from 0.8 m/s with 1 m/s2
    assert one.nav.drive_to(NEXT_DOOR) is Ended.ARRIVED


@pytest.mark.parametrize("box", [(2.0, 0.6), (2.5, 0.7)])
def test_a_box_in_the_way_is_noticed_and_driven_around(place, box):
    """The box cuts the way south of the table; the way north of it is twice as long."""
    one = place(WEST, boxes=[box])
    assert one.nav.drive_to(EAST) is Ended.ARRIVED
    one.check()
    assert one.away(EAST) < 0.1
    assert max(y for _, y, _ in one.trace) > 2.1
    found = one.nav.found_blocked
    assert len(found) >= 3
    assert np.abs(found - box).max(axis=1).max() < 0.35  # nothing but the box was noted


def test_a_doorway_closed_by_a_box_is_reported(place):
    one = place(WEST, boxes=[(4.05, 1.45)])
    assert one.nav.drive_to(NEXT_DOOR) is Ended.BLOCKED
    one.check()
    assert one.robot.pose[0] < 4.0
    assert one.nav.drive_to(NEXT_DOOR) is Ended.BLOCKED  # it remembers
    assert one.nav.drive_to(EAST) is Ended.ARRIVED  # and can still drive elsewhere
    one.check()


def test_a_goal_under_a_box_is_blocked(place):
    one = place(WEST, boxes=[EAST])
    assert one.nav.drive_to(EAST) is Ended.BLOCKED
    one.check()
    assert one.away(EAST) > RADIUS_M + 0.2


def test_a_goal_where_no_robot_can_stand_is_blocked_at_once(place):
    one = place(WEST)
    for goal in ((0.2, 1.5), (2.0, 1.5), (99.0, 0.0)):
        assert one.nav.drive_to(goal) is Ended.BLOCKED
    assert one.driven_m == 0


def test_without_boxes_nothing_strange_is_noted(place, site):
    """Neither the legs and tops of tables nor walls, from many places."""
    one = place(WEST)
    for goal in (NEXT_DOOR, (3.25, 2.45), (1.05, 2.45)):
        one.nav.drive_to(goal)
    assert len(one.nav.found_blocked) == 0


def test_the_head_looks_where_it_is_told(place):
    one = place(WEST, yaw=0.5)
    bearing = one.nav.bearing((2.0, 1.5))
    assert bearing == pytest.approx(np.arctan2(0.85, 0.95) - 0.5, abs=0.03)
    one.nav.look_to(bearing)
    assert one.robot.head_rad == pytest.approx(bearing, abs=0.03)
    assert one.driven_m < 0.01


def test_what_a_chart_takes_for_strange(site, scene):
    chart = Chart(site.home.map, scene.floor_plan(), scene.slice_at(0.2))
    hits = np.array(
        [(2.0, 0.6), (0.0, 1.5), (1.63, 1.25), (0.52, 1.5), (4.0, 0.5), (2.0, 1.5), (-9, 0)]
    )
    assert chart.strange(hits).tolist() == [True, False, False, False, False, False, False]
    box = np.zeros(chart.home.shape, dtype=bool)
    box[10, 20] = True
    room, floor = chart.with_obstacles(box)
    assert room.occupied.sum() == chart.home.occupied.sum() + 1
    assert floor.occupied.sum() == chart.floor.occupied.sum() + 4
    np.testing.assert_allclose(
        room.centres([10, 20]),
        floor.centres(np.argwhere(floor.occupied & chart.floor.free)).mean(axis=0),
    )


def test_the_floor_that_a_robot_can_reach_keeps_clear_of_all_bodies(site, scene):
    plan = scene.floor_plan()
    for radius in (0.3, 0.35):
        free = free_floor(site.home.map, plan, radius)
        spots = free.points()
        gaps = plan.look_up(plan.clearance_m, spots, 0.0)
        assert gaps.min() >= radius - 0.05 - 1e-6
        assert free.robot_radius_m == radius
    west = free_floor(site.home.map, plan, 0.47, near=WEST)  # too wide for the doorway
    east = free_floor(site.home.map, plan, 0.47, near=NEXT_DOOR)
    assert not (west.mask & east.mask).any()
    assert west.contains(WEST)
    assert east.contains(NEXT_DOOR)
    with pytest.raises(MapError, match="fits nowhere"):
        free_floor(site.home.map, plan, 3.0)
