"""A plan as a person reads it: its chances add up, and its words name what comes into view."""

import numpy as np
import pytest

import sightline as sl
from sightline.itinerary import chances
from sightline.records import Episode, Outcome, Query
from test_search import DISC, LEGS, POINTS, ROOM, START, Even, InOrder, believed, drawn


@pytest.fixture(scope="module")
def site() -> sl.Site:
    return sl.Site.of(drawn(ROOM, 0.5), sensor=DISC)


@pytest.mark.parametrize("rate", [1.0, 0.7])
def test_the_chances_of_a_plan_add_up_to_those_of_a_count_by_cells(site, rate: float) -> None:
    unsure = sl.Sensor(range_m=1.5, kind="disc", detection_rate=rate)
    here = sl.Site.of(site.home, sensor=unsure)
    mass = believed(here)
    search = sl.Searcher(here, learner=Even(mass), planner=sl.Coverage(), points=POINTS)
    plan = search.plan("cup", start=START, rng=np.random.default_rng(0))
    looks = [START, *(stop.position for stop in plan.stops)]
    expected, metres, missed_all = [], 0.0, 0.1
    arrivals = [0.0, *(stop.arrival_m for stop in plan.stops)]
    for k in range(len(looks)):
        expected.append(0.0)
        for cell, chance in zip(here.cells, mass, strict=True):
            before = sum(np.hypot(*(cell - look)) <= 1.5 for look in looks[:k])
            if np.hypot(*(cell - looks[k])) <= 1.5:
                expected[k] += chance * (1 - rate) ** before * rate
        metres += expected[k] * arrivals[k]
    missed_all = 1 - sum(expected)
    assert plan.chance_at_start == pytest.approx(expected[0])
    assert [stop.chance for stop in plan.stops] == pytest.approx(expected[1:])
    assert plan.chance == pytest.approx(sum(expected))
    assert plan.expected_m == pytest.approx(metres + missed_all * arrivals[-1])
    assert len(plan.stops) >= 3


def test_a_plan_without_a_mass_adds_up_too_and_says_the_rank(site) -> None:
    search = sl.Searcher(site, learner=Even(), planner=InOrder(), points=POINTS)
    plan = search.plan("cup", start=START, rng=np.random.default_rng(0))
    assert [stop.chance for stop in plan.stops] == pytest.approx([0.3 * 0.7**i for i in range(5)])
    assert plan.chance == pytest.approx(1 - 0.7**5)
    assert plan.chance_at_start == 0
    assert [stop.arrival_m for stop in plan.stops] == pytest.approx(np.cumsum(LEGS).tolist())
    assert plan.stops[1].why == "number 2 of 5 points by chance"


def test_a_plan_names_the_surface_that_comes_into_view() -> None:
    home = sl.Scenario.load("kitchen1")
    site = sl.Site.of(home)
    island = home.places.surfaces["island"].polygon.mean(axis=0)
    mass = np.zeros(len(site.cells))
    mass[np.hypot(*(site.cells - island).T).argmin()] = 1.0
    learner = Even(mass)
    search = sl.Searcher(site, learner=learner, planner=sl.Coverage(), points=30)
    plan = search.plan("cup", start=site.free.nearest((9.0, 1.0)), rng=np.random.default_rng(0))
    (stop,) = plan.stops
    assert stop.why == "island comes into view and holds 100 %"
    assert stop.chance == pytest.approx(1)
    assert np.hypot(*(np.array(stop.position) - island)) <= site.sensor.range_m


@pytest.mark.parametrize("rate", [1.0, 0.7])
def test_the_chances_of_an_episode_are_those_of_its_plan(site, rate: float) -> None:
    unsure = sl.Sensor(range_m=1.5, kind="disc", detection_rate=rate)
    here = sl.Site.of(site.home, sensor=unsure)
    search = sl.Searcher(here, learner=Even(believed(here)), planner=sl.Coverage(), points=POINTS)
    plan = search.plan("cup", start=START, rng=np.random.default_rng(0))
    world = sl.GridWorld(here, rng=np.random.default_rng(1))
    world.reset(start=START, positions={"cup": (99.0, 99.0)})
    episode = search.search("cup", world=world, rng=np.random.default_rng(0))
    planned = [plan.chance_at_start, *(stop.chance for stop in plan.stops)]
    assert chances(here, episode) == pytest.approx(planned)


def test_of_what_was_not_believed_there_is_no_chance(site) -> None:
    search = sl.Searcher(site, learner=Even(), planner=InOrder(), points=POINTS)
    world = sl.GridWorld(site, rng=np.random.default_rng(1))
    world.reset(start=START, positions={"cup": (99.0, 99.0)})
    episode = search.search("cup", world=world, rng=np.random.default_rng(0))
    first, *others = chances(site, episode)
    assert np.isnan(first)  # the start is no vantage point
    assert others == [0.3] * 5
    bare = Episode(Query("cup", START), POINTS, episode.visits, Outcome.NOT_FOUND)
    assert np.isnan(chances(site, bare)).all()
