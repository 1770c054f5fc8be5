"""The loop: it stops at a sighting, plans anew when something unexpected happens, and learns once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from grids import ascii_map
from sightline.plan.problem import SearchProblem
from sightline.records import Belief, Episode, Outcome, Position, Query, Route
from sightline.search import UNPLANNED
from sightline.worlds.protocol import Drive, DriveStatus

# one long room; a robot of 0.25 m drives along its middle and beside it
ROOM = """
########################
#......................#
#......................#
#......................#
########################
"""
START = (1.25, 1.25)
POINTS = np.array([(3.25, 1.25), (5.25, 1.25), (7.25, 1.25), (9.25, 1.25), (10.75, 1.25)])
LEGS = [2.0, 2.0, 2.0, 2.0, 1.5]
DISC = sl.Sensor(range_m=0.9, kind="disc")


def drawn(text: str, letter_m: float) -> sl.Scenario:
    """The home of a drawing, in cells of 0.25 m."""
    times = round(letter_m / 0.25)
    rows = ["".join(letter * times for letter in row) for row in text.split() for _ in range(times)]
    return sl.Scenario("room", ascii_map("\n".join(rows), resolution_m=0.25))


@pytest.fixture(scope="module")
def site() -> sl.Site:
    return sl.Site.of(drawn(ROOM, 0.5), sensor=DISC)


class Even:
    """Believes the same of every point, or a given mass; counts what it is told."""

    def __init__(self, mass: np.ndarray | None = None) -> None:
        self.mass, self.told = mass, []

    def meet(self, site: sl.Site, things: object = ()) -> None:
        self.site = site

    def predict(self, query: Query, points: np.ndarray) -> Belief:
        chance = np.full(len(points), 0.3)
        if self.mass is None:
            return Belief(chance, 0 * chance, chance)
        mean = self.site.sensor.detection_rate * (self.site.sees(points) @ self.mass)
        return Belief(mean, 0 * mean, mean, self.mass, 1 - self.mass.sum())

    def update(self, episode: Episode) -> None:
        self.told.append(episode)


class InOrder:
    """Visits whatever can be reached in the order of the rows; keeps the problems it was given."""

    def __init__(self) -> None:
        self.problems: list[SearchProblem] = []

    def __call__(self, problem: SearchProblem, *, rng: np.random.Generator) -> Route:
        self.problems.append(problem)
        near = np.isfinite(problem.travel[0])
        rows = np.arange(len(near))
        return Route(rows[near][1:], 1.0, unreachable=tuple(rows[~near].tolist()))


@dataclass
class Scripted:
    """A world in which what happens on the nth drive, look and check is written down beforehand."""

    robot: Position = START
    lies: Position = (99.0, 99.0)
    drives: dict[int, Callable[[Position], Drive]] = field(default_factory=dict)
    alarms: dict[int, Position] = field(default_factory=dict)
    unreachable: bool = False
    driven: int = 0
    looked: int = 0
    checked: list[Position] = field(default_factory=list)

    @property
    def position(self) -> Position:
        return self.robot

    def drive_to(self, goal: Position, thing: str) -> Drive:
        self.driven += 1
        way = float(np.hypot(*np.subtract(goal, self.robot)))
        drive = self.drives.get(self.driven, lambda to: Drive(DriveStatus.ARRIVED, way, to))(goal)
        self.robot = drive.position
        return drive

    def look(self, thing: str) -> Position | None:
        self.looked += 1
        near = np.hypot(*np.subtract(self.lies, self.robot)) <= DISC.range_m
        return self.lies if near else self.alarms.get(self.looked)

    def check(self, thing: str, sighting: Position) -> tuple[Drive, bool]:
        self.checked.append(sighting)
        if self.unreachable:
            return Drive(DriveStatus.BLOCKED, 0.0, self.robot), False
        return Drive(DriveStatus.ARRIVED, 0.25, self.robot), sighting == self.lies


def searcher(site: sl.Site, learner: Even | None = None) -> sl.Searcher:
    return sl.Searcher(site, learner=learner or Even(), planner=InOrder(), points=POINTS)


def go(search: sl.Searcher, world: object, **words: object) -> Episode:
    return search.search("cup", world=world, rng=np.random.default_rng(0), **words)


def points_of(episode: Episode) -> list[int]:
    return [visit.point for visit in episode.visits]


def driven(episode: Episode) -> list[float]:
    return [visit.driven_m for visit in episode.visits]


def stray(at: Position, driven_m: float, status: DriveStatus) -> Callable[[Position], Drive]:
    return lambda goal: Drive(status, driven_m, at)


def test_a_search_looks_at_the_start_then_stop_by_stop_and_ends_at_a_sighting(site) -> None:
    told, search = [], searcher(site)
    episode = go(search, Scripted(lies=(7.0, 1.5)), on_visit=told.append, time_s=60.0)
    assert episode.outcome is Outcome.FOUND
    assert episode.position == (7.0, 1.5)
    assert points_of(episode) == [UNPLANNED, 0, 1, 2]
    assert driven(episode) == pytest.approx([0, 2, 4, 6])
    assert [visit.seen for visit in episode.visits] == [False] * 3 + [True]
    assert episode.query == Query("cup", START, 60.0)
    assert tuple(told) == episode.visits
    assert episode.route is not None
    assert episode.belief is not None
    assert len(search.planner.problems) == 1


def test_an_object_beside_the_start_is_found_without_a_plan(site) -> None:
    search = searcher(site)
    episode = go(search, Scripted(lies=(1.5, 1.5)))
    assert (episode.outcome, points_of(episode)) == (Outcome.FOUND, [UNPLANNED])
    assert episode.route is None
    assert not search.planner.problems


def test_a_search_that_sees_nothing_ends_when_all_is_visited(site) -> None:
    episode = go(searcher(site), Scripted())
    assert (episode.outcome, episode.position) == (Outcome.NOT_FOUND, None)
    assert points_of(episode) == [UNPLANNED, 0, 1, 2, 3, 4]
    assert driven(episode)[-1] == pytest.approx(sum(LEGS))


@pytest.mark.parametrize(("budget_m", "stops"), [(0, 0), (1.99, 0), (2.0, 1), (5.9, 2), (9.5, 5)])
def test_a_search_gives_up_before_the_leg_that_exceeds_its_budget(site, budget_m, stops) -> None:
    episode = go(searcher(site), Scripted(), budget_m=budget_m)
    assert len(episode.visits) == stops + 1
    ends = Outcome.NOT_FOUND if stops == len(POINTS) else Outcome.OUT_OF_BUDGET
    assert episode.outcome is ends
    assert driven(episode)[-1] <= budget_m


def test_a_blocked_leg_closes_its_point_and_the_rest_is_planned_anew(site) -> None:
    world = Scripted(drives={2: stray((4.25, 1.25), 1.0, DriveStatus.BLOCKED)})
    search = searcher(site)
    episode = go(search, world)
    assert points_of(episode) == [UNPLANNED, 0, UNPLANNED, 2, 3, 4]
    assert episode.visits[2].position == (4.25, 1.25)
    assert driven(episode) == pytest.approx([0, 2, 3, 6, 8, 9.5])
    first, second = search.planner.problems
    assert np.isfinite(first.travel).all()
    assert np.isfinite(second.travel[0]).tolist() == [True, False, False, True, True, True]
    assert second.travel[0, 3] == pytest.approx(3.0)  # from where the robot stopped
    assert episode.route.order.tolist() == [1, 2, 3, 4, 5]  # the first plan


def test_a_robot_that_ends_astray_looks_where_it_is_and_plans_from_there(site) -> None:
    at = (5.25, 1.75)  # closer to the wall than a robot that plans would go
    assert not site.free.contains(at)
    world = Scripted(drives={1: stray(at, 4.1, DriveStatus.ARRIVED)})
    search = searcher(site)
    episode = go(search, world)
    assert points_of(episode) == [UNPLANNED, UNPLANNED, 1, 2, 3, 4]
    assert episode.visits[1].position == at
    _, second = search.planner.problems
    assert second.travel[0, 2] == pytest.approx(0.5, abs=0.2)  # from the cell nearest to it
    assert not np.isfinite(second.travel[0, 1])
    assert search.learner.told[0].visits == episode.visits


def test_a_robot_that_ends_a_little_beside_its_goal_has_arrived(site) -> None:
    world = Scripted(drives={1: stray((3.25, 1.5), 2.0, DriveStatus.ARRIVED)})
    search = searcher(site)
    assert points_of(go(search, world)) == [UNPLANNED, 0, 1, 2, 3, 4]
    assert len(search.planner.problems) == 1


def test_a_false_alarm_is_approached_once_and_the_search_goes_on(site) -> None:
    ghost = (3.5, 1.25)
    # the second look, at the first stop, sees a ghost; so does the next, beside it
    world = Scripted(lies=(9.5, 1.25), alarms={2: ghost, 3: (3.6, 1.3)})
    episode = go(searcher(site), world)
    assert world.checked == [ghost, (9.5, 1.25)]
    assert (episode.outcome, episode.position) == (Outcome.FOUND, (9.5, 1.25))
    assert points_of(episode) == [UNPLANNED, 0, UNPLANNED, 1, 2, 3]
    assert [visit.seen for visit in episode.visits] == [False] * 5 + [True]
    assert driven(episode)[2] == pytest.approx(2.25)  # the way to the ghost counts


def test_without_approach_the_first_sighting_ends_the_search(site) -> None:
    ghost = (3.5, 1.25)
    world = Scripted(lies=(9.5, 1.25), alarms={2: ghost})
    episode = go(searcher(site), world, approach=False)
    assert (episode.outcome, episode.position) == (Outcome.FOUND, ghost)
    assert world.checked == []


def test_what_cannot_be_approached_is_unreachable(site) -> None:
    episode = go(searcher(site), Scripted(lies=(3.5, 1.25), unreachable=True))
    assert (episode.outcome, episode.position) == (Outcome.UNREACHABLE, (3.5, 1.25))


def test_false_alarms_without_end_use_up_the_budget(site) -> None:
    ghosts = {n: (3.0 + 0.5 * n, 1.25) for n in range(1, 100)}
    episode = go(searcher(site), Scripted(alarms=ghosts), budget_m=3.0)
    assert episode.outcome is Outcome.OUT_OF_BUDGET
    assert len(episode.visits) < 20


def test_old_ghosts_on_the_way_do_not_hold_a_search_up(site) -> None:
    ghost = (3.5, 1.25)
    held = Drive(DriveStatus.SIGHTED, 0.0, (3.25, 1.25), ghost)
    world = Scripted(alarms={2: ghost}, drives={n: lambda _: held for n in range(2, 100)})
    episode = go(searcher(site), world)
    assert episode.outcome is Outcome.NOT_FOUND
    assert world.driven <= len(POINTS)


def test_a_sighting_on_the_way_is_a_look_between_the_points(site) -> None:
    lies = (5.0, 1.25)
    noticed = Drive(DriveStatus.SIGHTED, 1.2, (4.45, 1.25), lies)
    world = Scripted(lies=lies, drives={2: lambda _: noticed})
    episode = go(searcher(site), world)
    assert (episode.outcome, episode.position) == (Outcome.FOUND, lies)
    assert points_of(episode) == [UNPLANNED, 0, UNPLANNED]
    assert driven(episode)[-1] == pytest.approx(3.2)


@pytest.mark.parametrize("answers", range(7))
def test_a_search_can_be_cancelled_between_any_two_steps(site, answers: int) -> None:
    asked = count()
    whole = go(searcher(site), Scripted())
    search = searcher(site)
    episode = go(search, Scripted(), cancelled=lambda: next(asked) >= answers)
    assert episode.outcome is Outcome.CANCELLED
    assert episode.visits == whole.visits[: len(episode.visits)]
    # the first step plans, and each after it is a drive with a look
    assert len(episode.visits) == max(1, answers)
    assert search.learner.told == [episode]


def test_a_learner_is_told_once_or_not_at_all(site) -> None:
    search = searcher(site)
    episode = go(search, Scripted(lies=(7.0, 1.5)))
    assert search.learner.told == [episode]
    go(search, Scripted(lies=(7.0, 1.5)), learn=False)
    assert search.learner.told == [episode]
    broken = Scripted(drives={2: lambda _: 1 / 0})
    with pytest.raises(ZeroDivisionError):
        go(search, broken)
    assert search.learner.told == [episode]


def test_teaching_tells_the_learner_where_a_thing_lies(site) -> None:
    search = searcher(site)
    episode = search.teach("cup", (2.0, 1.0), time_s=5.0)
    assert search.learner.told == [episode]
    assert (episode.outcome, episode.position) == (Outcome.FOUND, (2.0, 1.0))
    assert (episode.visits, episode.query.time_s) == ((), 5.0)


def walled_in() -> sl.Site:
    """Two rooms without a door: the second can be seen on the map, not reached."""
    rooms = "#########\n#...#...#\n#...#...#\n#########"
    return sl.Site.of(drawn(rooms, 1.0), sensor=DISC, start=(1.5, 1.5))


def test_points_that_no_way_leads_to_are_left_out_and_none_at_all_is_unreachable() -> None:
    site = walled_in()
    both = sl.Searcher(site, learner=Even(), planner=InOrder(), points=[(2.5, 1.5), (6.5, 1.5)])
    episode = go(both, Scripted(robot=(1.5, 1.5)))
    assert (episode.outcome, points_of(episode)) == (Outcome.NOT_FOUND, [UNPLANNED, 0])
    assert episode.route.unreachable == (2,)
    other = sl.Searcher(site, learner=Even(), planner=InOrder(), points=[(6.5, 1.5)])
    episode = go(other, Scripted(robot=(1.5, 1.5)))
    assert (episode.outcome, points_of(episode)) == (Outcome.UNREACHABLE, [UNPLANNED])


def believed(site: sl.Site, seed: int = 3) -> np.ndarray:
    mass = np.random.default_rng(seed).random(len(site.cells))
    return 0.9 * mass / mass.sum()


def test_a_search_follows_the_plan_while_nothing_unexpected_happens(site) -> None:
    learner = Even(believed(site))
    search = sl.Searcher(site, learner=learner, planner=sl.Coverage(), points=POINTS)
    plan = search.plan("cup", start=START, rng=np.random.default_rng(4))
    episode = search.search("cup", world=Scripted(), rng=np.random.default_rng(4))
    assert points_of(episode)[1:] == [stop.point for stop in plan.stops]
    assert driven(episode)[1:] == pytest.approx([stop.arrival_m for stop in plan.stops])


def test_replanning_takes_looks_into_account_by_bayes_rule(site) -> None:
    rate = 0.7
    unsure = sl.Sensor(range_m=1.5, kind="disc", detection_rate=rate)
    here = sl.Site.of(site.home, sensor=unsure)
    mass = believed(here)
    world = Scripted(drives={2: stray((4.25, 1.25), 1.0, DriveStatus.BLOCKED)})
    search = sl.Searcher(here, learner=Even(mass), planner=InOrder(), points=POINTS)
    go(search, world)
    _, second = search.planner.problems
    left = mass.copy()
    for look in (START, (3.25, 1.25)):  # the planner itself counts the look from where the robot is
        left[np.hypot(*(here.cells - look).T) <= 1.5] *= 1 - rate
    assert second.mass == pytest.approx(left / (left.sum() + 0.1))
    assert second.mass.sum() < 1


def test_a_searcher_is_told_what_it_needs(site) -> None:
    with pytest.raises(ValueError, match="one or the other"):
        sl.Searcher(site, learner=Even(), planner=InOrder(), sensor=DISC)
    with pytest.raises(sl.PlanError, match="at least one vantage point"):
        sl.Searcher(site, learner=Even(), planner=InOrder(), points=np.empty((0, 2)))
    few = sl.Searcher(site, learner=Even(), planner=InOrder(), points=4)
    again = sl.Searcher(site.home, learner=Even(), planner=InOrder(), points=4, sensor=DISC)
    assert len(few.points) == 4
    assert few.points.tolist() == again.points.tolist()  # always the same ones
    assert site.free.contains(few.points).all()
    many = sl.Searcher(site, learner=Even(), planner=InOrder(), points=10_000)
    assert len(many.points) == len(site.free.points(0.1))
    with pytest.raises(sl.UnreachableError):
        searcher(site).plan("cup", start=(0.1, 0.1), rng=np.random.default_rng(0))


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    budget_m=st.sampled_from([3.0, 12.0, np.inf]),
    blocked=st.sampled_from([0.0, 0.4]),
    false_alarms=st.sampled_from([0.0, 0.3]),
    driving=st.booleans(),
)
def test_whatever_goes_wrong_an_episode_is_sound(
    site, seed, budget_m, blocked, false_alarms, driving
) -> None:
    sensor = sl.Sensor(range_m=1.2, detection_rate=0.6, false_alarm_rate=false_alarms)
    here = sl.Site.of(site.home, sensor=sensor)
    troubles = sl.Troubles(blocked_rate=blocked, sees_while_driving=driving)
    rng = np.random.default_rng(seed)
    world = sl.GridWorld(here, rng=rng, troubles=troubles)
    lies = rng.uniform((0.6, 0.6), (11.4, 1.9))
    world.reset(positions={"cup": lies})
    search = sl.Searcher(here, learner=Even(believed(here)), planner=InOrder(), points=POINTS)
    episode = search.search("cup", world=world, rng=rng, budget_m=budget_m)
    assert np.all(np.diff(driven(episode)) >= 0)
    seen = [visit.seen for visit in episode.visits]
    assert not any(seen[:-1])
    assert (episode.outcome is Outcome.FOUND) == seen[-1]
    planned = [point for point in points_of(episode) if point != UNPLANNED]
    assert len(set(planned)) == len(planned)
    if episode.outcome is Outcome.FOUND:
        assert np.hypot(*(np.array(episode.position) - lies)) <= 0.3
    if not false_alarms:
        assert driven(episode)[-1] <= budget_m + 1e-6
    assert search.learner.told == [episode]
