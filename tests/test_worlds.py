"""What must hold in every world, so that a search can be run in any: one suite over both of ours."""

from collections.abc import Callable
from math import hypot

import numpy as np
import pytest

import sightline as sl
from detectors import Perfect
from rooms import two_rooms
from sightline.learn.baselines import Uniform
from sightline.records import Outcome
from sightline.worlds.bullet import BulletWorld, physical_site
from sightline.worlds.protocol import Drive, DriveStatus
from sightline.worlds.robot import Build

WEST, EAST = (1.05, 0.65), (3.25, 2.45)
SLACK_M = 0.1  # a robot with a body does not stop to the millimetre


@pytest.fixture(scope="module")
def site() -> sl.Site:
    return physical_site(two_rooms())


def grid(site: sl.Site, seed: int) -> sl.GridWorld:
    return sl.GridWorld(site, rng=np.random.default_rng(seed))


def bullet(site: sl.Site, seed: int) -> BulletWorld:
    pytest.importorskip("pybullet")
    build = Build(width_px=160, height_px=120)
    return BulletWorld(site, rng=np.random.default_rng(seed), detector=Perfect(), build=build)


Maker = Callable[[sl.Site, int], sl.GridWorld | BulletWorld]


@pytest.fixture(scope="module", params=[grid, bullet], ids=["grid", "bullet"])
def make(request) -> Maker:
    return request.param


@pytest.fixture(scope="module")
def world(make: Maker, site: sl.Site):
    return make(site, 0)


def apart(here, there) -> float:
    return hypot(here[0] - there[0], here[1] - there[1])


def is_position(value: object) -> bool:
    return isinstance(value, tuple) and [type(part) for part in value] == [float, float]


def test_an_episode_starts_in_the_free_space_or_where_it_is_asked_to(world, site):
    for _ in range(3):
        world.reset()
        assert is_position(world.position)
        assert site.free.contains(world.position) or site.free.nearest(world.position) is not None
    world.reset(start=WEST, positions={"cup": (2.0, 1.5)})
    assert apart(world.position, WEST) < SLACK_M
    assert apart(world.lying("cup")[0], (2.0, 1.5)) < SLACK_M
    with pytest.raises(sl.UnreachableError, match="nearest free point"):
        world.reset(start=(2.0, 1.5))


def test_a_drive_arrives_and_says_how_far_it_was(world, site):
    world.reset(start=WEST, positions={"bowl": (6.0, 2.2)})
    drive = world.drive_to(EAST, "bowl")
    assert isinstance(drive, Drive)
    assert (drive.status, drive.sighting) == (DriveStatus.ARRIVED, None)
    assert drive.position == world.position
    assert apart(world.position, EAST) < SLACK_M
    least = site.free.distances([WEST, EAST])[0, 1]
    assert drive.driven_m == pytest.approx(least, rel=0.1)
    again = world.drive_to(EAST, "bowl")
    assert again.status is DriveStatus.ARRIVED
    assert again.driven_m < SLACK_M


def test_a_drive_to_where_nothing_leads_is_blocked_and_no_error(world):
    world.reset(start=WEST, positions={"bowl": (6.0, 2.2)})
    drive = world.drive_to((2.0, 1.5), "bowl")
    assert (drive.status, drive.driven_m) == (DriveStatus.BLOCKED, 0.0)
    assert apart(world.position, WEST) < SLACK_M


def test_a_look_sees_what_is_near_and_nothing_in_the_other_room(world):
    world.reset(start=WEST, positions={"cup": (2.0, 1.5), "bowl": (6.0, 2.2)})
    sighting = world.look("cup")
    assert is_position(sighting)
    assert apart(sighting, (2.0, 1.5)) < 0.15
    assert world.look("bowl") is None
    assert apart(world.position, WEST) < SLACK_M


def test_a_check_drives_near_and_tells_right_from_wrong(world):
    world.reset(start=WEST, positions={"cup": (2.0, 1.5)})
    drive, genuine = world.check("cup", (3.0, 2.9))
    assert not genuine
    assert drive.status is DriveStatus.ARRIVED
    drive, genuine = world.check("cup", (2.0, 1.5))
    assert genuine
    assert drive.position == world.position
    assert drive.driven_m > 0
    assert apart(world.position, (2.0, 1.5)) < 0.95


def test_an_object_that_no_one_knows_is_an_error_that_names_the_others(world):
    world.reset()
    with pytest.raises(sl.UnknownObjectError, match="valid are bottle, can, cup"):
        world.look("unicorn")
    with pytest.raises(sl.UnknownObjectError, match="unicorn"):
        world.lying("unicorn")


def test_the_least_way_is_that_of_the_site(world, site):
    world.reset(start=WEST, positions={"bowl": (6.0, 2.2)})
    expected = site.least_way_m(WEST, world.lying("bowl")[0])
    assert world.least_way_m("bowl") == pytest.approx(expected)
    assert expected > 0


def test_a_search_runs_to_its_end_and_repeats(make, site):
    def run(seed: int) -> tuple[object, ...]:
        here = make(site, seed)
        here.reset(start=EAST, positions={"bowl": (6.0, 2.2)})
        search = sl.Searcher(site, learner=Uniform(), planner=sl.Greedy(), points=6)
        episode = search.search("bowl", world=here, rng=np.random.default_rng(0))
        assert episode.outcome is Outcome.FOUND
        assert apart(episode.position, (6.0, 2.2)) < 0.15
        visits = [(visit.point, visit.position, visit.driven_m) for visit in episode.visits]
        return episode.position, visits

    assert run(1) == run(1)
