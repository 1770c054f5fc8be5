"""The grid world: exact in the plain case, troubles at their rates, each episode from its own stream."""

from collections.abc import Iterator
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from grids import ascii_map
from sightline.plan.problem import SearchProblem
from sightline.records import Belief, Episode, Outcome, Query, Route
from sightline.worlds.grid import GRASP_M, carry_out
from sightline.worlds.protocol import DriveStatus

DISC = sl.Sensor(range_m=1.5, kind="disc")


@pytest.fixture(scope="module")
def home() -> sl.Scenario:
    return sl.Scenario.load("wrs2020")


@pytest.fixture(scope="module")
def site(home: sl.Scenario) -> sl.Site:
    return sl.Site.of(home, sensor=DISC, robot_radius_m=0.2)


def seeing(site: sl.Site, **words: object) -> sl.Site:
    """The same home with another sensor."""
    sensor = sl.Sensor(**({"range_m": 1.5, "kind": "disc"} | words))
    return sl.Site(site.home, site.free, sensor, site.cells)


@pytest.fixture(scope="module")
def hall() -> sl.Site:
    """One empty hall of 10 x 3 m: ways are straight."""
    rows = ["#" * 42] + ["#" + "." * 40 + "#"] * 12 + ["#" * 42]
    home = sl.Scenario("hall", ascii_map("\n".join(rows), resolution_m=0.25))
    return sl.Site.of(home, sensor=DISC)


class Shuffled:
    """A learner and a planner in one: nothing is believed, the order is random."""

    def meet(self, site: sl.Site, things: object = ()) -> None:
        pass

    def predict(self, query: Query, points: np.ndarray) -> Belief:
        chance = np.full(len(points), 0.5)
        return Belief(chance, chance, chance)

    def update(self, episode: Episode) -> None:
        pass

    def __call__(self, problem: SearchProblem, *, rng: np.random.Generator) -> Route:
        return Route(1 + rng.permutation(len(problem.travel) - 1), 0.0)


def naive_episode(site, start, points, order, lies) -> tuple[list[float], bool]:
    """Metres at each look until the object is within range, leg by leg, and whether it was."""
    metres, here, driven = [], start, 0.0
    for there in [start, *points[order]]:
        driven += float(site.free.distances([here, there])[0, 1])
        metres.append(driven)
        here = there
        if ((lies - there) ** 2).sum() <= site.sensor.range_m**2:
            return metres, True
    return metres, False


@pytest.mark.parametrize("approach", [True, False])
def test_the_plain_case_is_the_papers(site: sl.Site, approach: bool) -> None:
    both, site = Shuffled(), seeing(site, range_m=0.8)
    search = sl.Searcher(site, learner=both, planner=both, points=8)
    world = sl.GridWorld(site, rng=np.random.default_rng(5))
    outcomes = set()
    for seed in range(12):
        world.reset()
        thing = site.home.objects[seed % len(site.home.objects)]
        start, (lies,) = world.position, world.lying(thing)
        rng = np.random.default_rng(seed)
        episode = search.search(thing, world=world, rng=rng, approach=approach)
        order = 1 + np.random.default_rng(seed).permutation(8)
        travel = site.ways.travel(start, search.points)
        twin = carry_out(site, Query(thing, start), Route(order, 0.0), search.points, travel, lies)
        assert episode.outcome == twin.outcome
        assert episode.position == twin.position
        assert [(v.point, v.position, v.seen) for v in episode.visits] == [
            (v.point, v.position, v.seen) for v in twin.visits
        ]
        metres, found = naive_episode(site, np.array(start), search.points, order - 1, lies)
        for one in (episode, twin):
            assert [visit.driven_m for visit in one.visits] == pytest.approx(metres, abs=1e-6)
            assert (one.outcome is Outcome.FOUND) == found
        outcomes.add(found)
    assert outcomes == {True, False}


def test_both_outcomes_of_the_plain_case_occur(site: sl.Site) -> None:
    near, far = site.standing[0], np.array([1e3, 1e3])
    for lies, outcome in ((near, Outcome.FOUND), (far, Outcome.NOT_FOUND)):
        world = sl.GridWorld(site, rng=np.random.default_rng(0))
        world.reset(start=near, positions={"keys": lies})
        both = Shuffled()
        search = sl.Searcher(site, learner=both, planner=both, points=5, things=["keys"])
        assert search.search("keys", world=world, rng=np.random.default_rng(0)).outcome is outcome


def looks(site: sl.Site, count: int, gap_m: float, **words: object) -> Iterator[object]:
    """What one sees in so many looks from ``gap_m`` beside an object, each in an episode of its own."""
    troubles = sl.Troubles(**words)
    world = sl.GridWorld(site, rng=np.random.default_rng(2), troubles=troubles)
    x, y = site.standing[len(site.standing) // 2]
    for _ in range(count):
        world.reset(start=(x, y), positions={"keys": (x + gap_m, y)})
        yield world.look("keys")


def share(sights: Iterator[object]) -> float:
    return float(np.mean([sight is not None for sight in sights]))


@pytest.mark.parametrize(
    ("sensor", "troubles", "gap_m", "expected"),
    [
        ({}, {}, 1.49, 1.0),
        ({}, {}, 1.51, 0.0),
        ({"detection_rate": 0.7}, {}, 1.0, 0.7),
        ({"detection_rate": 0.0}, {}, 1.0, 0.0),
        ({"false_alarm_rate": 0.3}, {}, 9.0, 0.3),
        ({}, {"blind_rate": 0.4}, 1.0, 0.6),
        ({"false_alarm_rate": 0.3}, {"blind_rate": 1.0}, 1.0, 0.3),
        ({"detection_rate": 0.5, "false_alarm_rate": 0.5}, {}, 1.0, 0.75),
    ],
)
def test_looks_miss_and_mistake_at_their_rates(site, sensor, troubles, gap_m, expected) -> None:
    count = 900
    got = share(looks(seeing(site, **sensor), count, gap_m, **troubles))
    error = (expected * (1 - expected) / count) ** 0.5
    assert abs(got - expected) <= 4 * error


def test_a_blind_episode_is_blind_throughout(site: sl.Site) -> None:
    world = sl.GridWorld(site, rng=np.random.default_rng(0), troubles=sl.Troubles(blind_rate=0.5))
    told = set()
    for _ in range(30):
        world.reset()
        x, y = world.position
        world.reset(start=(x, y), positions={"keys": (x, y)})
        sights = {world.look("keys") for _ in range(5)}
        assert len(sights) == 1
        told.add(sights == {None})
    assert told == {True, False}
    world.reset(start=(x, y), positions={"keys": (x, y)}, blind=False)
    assert world.look("keys") == (x, y)


def test_a_false_alarm_lies_in_view_and_does_not_stand_up_to_a_check(site: sl.Site) -> None:
    here = seeing(site, false_alarm_rate=1.0)
    world = sl.GridWorld(here, rng=np.random.default_rng(3))
    for _ in range(20):
        world.reset(positions={"keys": (1e3, 1e3)})
        x, y = world.position
        sighting = world.look("keys")
        assert np.hypot(sighting[0] - x, sighting[1] - y) <= 1.5 + 1e-9
        assert (here.cells == sighting).all(axis=1).any()
        drive, genuine = world.check("keys", sighting)
        assert not genuine
        assert drive.position == world.position
        assert np.hypot(*np.subtract(sighting, world.position)) <= GRASP_M + 0.5


def test_a_check_drives_within_reach_on_the_least_way(site: sl.Site) -> None:
    world = sl.GridWorld(site, rng=np.random.default_rng(4))
    for _ in range(10):
        world.reset()
        thing = site.home.objects[0]
        (lies,), start = world.lying(thing), world.position
        drive, genuine = world.check(thing, tuple(lies))
        assert genuine
        gaps = np.hypot(*(site.standing - lies).T)
        fit = site.standing[gaps <= max(GRASP_M, gaps.min() + 1e-9)]
        ways = site.free.distances([start], fit)[0]
        assert drive.driven_m == pytest.approx(ways.min())
        assert (fit == world.position).all(axis=1).any()


def test_where_a_thing_is_taken_to_lie_scatters_as_said(site: sl.Site) -> None:
    sights = looks(site, 600, 0.5, position_noise_m=0.1)
    x, y = site.standing[len(site.standing) // 2]
    off = np.array(list(sights)) - (x + 0.5, y)
    assert np.abs(off.mean(axis=0)).max() < 4 * 0.1 / 600**0.5
    assert off.std(axis=0) == pytest.approx([0.1, 0.1], rel=0.12)


@given(seed=st.integers(0, 10_000))
def test_a_drive_is_the_shortest_way_and_back_as_long(site: sl.Site, seed: int) -> None:
    world = sl.GridWorld(site, rng=np.random.default_rng(seed))
    start = world.position
    assert site.free.contains(start)
    goal = tuple(site.standing[seed % len(site.standing)])
    there = world.drive_to(goal, "keys")
    assert (there.status, there.position, world.position) == (DriveStatus.ARRIVED, goal, goal)
    assert there.driven_m == pytest.approx(site.free.distances([start, goal])[0, 1])
    back = world.drive_to(start, "keys")
    assert back.driven_m == pytest.approx(there.driven_m)
    assert world.drive_to(start, "keys").driven_m == pytest.approx(0, abs=1e-9)


def test_a_blocked_leg_ends_halfway_on_the_way(hall: sl.Site) -> None:
    always = sl.GridWorld(hall, rng=np.random.default_rng(0), troubles=sl.Troubles(blocked_rate=1))
    start, goal = (1.125, 1.625), (9.125, 1.625)
    always.reset(start=start)
    drive = always.drive_to(goal, "keys")
    assert drive.status is DriveStatus.BLOCKED
    assert drive.position == always.position == (5.125, 1.625)
    assert drive.driven_m == pytest.approx(4.0, abs=0.126)
    troubles = sl.Troubles(blocked_rate=0.3)
    world = sl.GridWorld(hall, rng=np.random.default_rng(1), troubles=troubles)
    ends = []
    for _ in range(600):
        world.reset(start=start)
        ends.append(world.drive_to(goal, "keys").status is DriveStatus.BLOCKED)
    assert abs(np.mean(ends) - 0.3) < 4 * (0.21 / 600) ** 0.5


def test_there_is_no_driving_where_no_way_leads(hall: sl.Site) -> None:
    world = sl.GridWorld(hall, rng=np.random.default_rng(0))
    here = world.position
    drive = world.drive_to((0.1, 0.1), "keys")
    assert (drive.status, drive.driven_m, world.position) == (DriveStatus.BLOCKED, 0.0, here)


@pytest.mark.parametrize("off_m", [0.0, 0.5, 1.25])
def test_what_comes_into_view_on_the_way_stops_the_drive(hall: sl.Site, off_m: float) -> None:
    troubles = sl.Troubles(sees_while_driving=True)
    world = sl.GridWorld(hall, rng=np.random.default_rng(0), troubles=troubles)
    start, goal, lies = (1.125, 1.625), (9.125, 1.625), (6.0, 1.625 + off_m)
    world.reset(start=start, positions={"keys": lies})
    drive = world.drive_to(goal, "keys")
    expected = next(
        metres
        for metres in np.arange(0, 8, 0.01)
        if np.hypot(start[0] + metres - lies[0], off_m) <= DISC.range_m
    )
    assert (drive.status, drive.sighting) == (DriveStatus.SIGHTED, lies)
    assert drive.driven_m == pytest.approx(expected, abs=0.1 + 0.126)  # steps, and cells
    assert world.position == drive.position
    assert hall.free.contains(world.position)


def test_what_never_comes_into_view_and_blind_eyes_do_not_stop_a_drive(hall: sl.Site) -> None:
    troubles = sl.Troubles(sees_while_driving=True)
    world = sl.GridWorld(hall, rng=np.random.default_rng(0), troubles=troubles)
    for lies, blind in (((50.0, 0.0), False), ((6.0, 1.625), True)):
        world.reset(start=(1.125, 1.625), positions={"keys": lies}, blind=blind)
        drive = world.drive_to((9.125, 1.625), "keys")
        assert (drive.status, drive.sighting) == (DriveStatus.ARRIVED, None)
        assert drive.driven_m == pytest.approx(8.0)


def test_instances_are_all_there_and_any_of_them_counts(home: sl.Scenario, site: sl.Site) -> None:
    thing = home.objects[0]
    world = sl.GridWorld(site, rng=np.random.default_rng(7), instances={thing: 3})
    several = world.lying(thing)
    assert several.shape == (3, 2)
    assert len(np.unique(several, axis=0)) == 3
    assert world.lying(thing) is several  # they stay where they are
    here = world.position
    assert world.least_way_m(thing) == min(site.least_way_m(here, at) for at in several)
    for at in several.tolist():
        assert world.check(thing, tuple(at))[1]
    x, y = here
    world.reset(start=here, positions={thing: [(1e3, 1e3), (x + 0.5, y)]})
    assert world.look(thing) == (x + 0.5, y)
    assert world.lying(home.objects[1]).shape == (1, 2)


def test_the_least_way_is_that_of_a_count_over_all_points(site: sl.Site) -> None:
    world = sl.GridWorld(site, rng=np.random.default_rng(8))
    thing = site.home.objects[1]
    for _ in range(6):
        world.reset()
        lies = world.lying(thing)[0]
        at = np.vstack([world.position, site.standing])
        near = np.hypot(*(at - lies).T) <= DISC.range_m
        expected = site.free.distances([world.position], at[near])[0].min(initial=inf)
        assert world.least_way_m(thing) == pytest.approx(expected)


def course(world: sl.GridWorld, meddle: bool) -> list[object]:
    """Five episodes: where they start, what lies where, and what the first looks see."""
    out: list[object] = []
    things = world.site.home.objects
    for episode in range(5):
        world.reset()
        start = world.position
        if meddle:
            for thing in things[episode % 2 :]:
                world.lying(thing)
            for _ in range(3 + episode):
                world.look(things[0])
                world.drive_to(tuple(world.site.standing[17 * episode]), things[1])
        order = things if meddle else reversed(things)
        lying = {thing: world.lying(thing).tolist() for thing in order}
        out.append((start, [lying[thing] for thing in things]))
    return out


def test_what_a_method_does_leaves_the_next_episodes_as_they_are(site: sl.Site) -> None:
    here = seeing(site, detection_rate=0.5, false_alarm_rate=0.2)
    troubles = sl.Troubles(blind_rate=0.3, blocked_rate=0.3, position_noise_m=0.1)
    calm, busy = (
        sl.GridWorld(here, rng=np.random.default_rng(9), troubles=troubles) for _ in range(2)
    )
    assert course(calm, meddle=False) == course(busy, meddle=True)
    for _ in range(3):
        calm.reset()
        busy.reset()
        assert calm.position == busy.position
        thing = here.home.objects[0]
        assert [calm.look(thing) for _ in range(6)] == [busy.look(thing) for _ in range(6)]
        busy.check(thing, (0.0, 0.0))
        busy.lying(here.home.objects[1])


def test_equal_generators_give_equal_worlds_and_others_do_not(site: sl.Site) -> None:
    def world(seed: int) -> list[object]:
        return course(sl.GridWorld(site, rng=np.random.default_rng(seed)), meddle=False)

    assert world(1) == world(1)
    assert world(1) != world(2)


def test_starts_are_spread_evenly_over_the_free_space(hall: sl.Site) -> None:
    world = sl.GridWorld(hall, rng=np.random.default_rng(10))
    starts = []
    for _ in range(800):
        world.reset()
        starts.append(world.position)
    error = hall.standing.std(axis=0) / 800**0.5
    assert (np.abs(np.mean(starts, axis=0) - hall.standing.mean(axis=0)) < 4 * error).all()
    assert np.std(starts, axis=0) == pytest.approx(hall.standing.std(axis=0), rel=0.1)


def test_what_cannot_be_is_refused(home: sl.Scenario, site: sl.Site) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="blind_rate must lie in 0 to 1, not 2"):
        sl.Troubles(blind_rate=2)
    with pytest.raises(ValueError, match="blocked_rate"):
        sl.Troubles(blocked_rate=float("nan"))
    with pytest.raises(ValueError, match="position_noise_m"):
        sl.Troubles(position_noise_m=inf)
    with pytest.raises(ValueError, match="one or the other"):
        sl.GridWorld(site, rng=rng, sensor=DISC)
    with pytest.raises(ValueError, match="instances must be at least 1"):
        sl.GridWorld(site, rng=rng, instances={"cup": 0})
    world = sl.GridWorld(site, rng=rng)
    with pytest.raises(sl.UnknownObjectError, match=f"valid are {home.objects[0]}"):
        world.look("unicorn")
    with pytest.raises(sl.UnreachableError):
        world.reset(start=(1e3, 1e3))
