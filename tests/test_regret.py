"""Regret over a course of episodes."""

from itertools import permutations

import numpy as np
import pytest

import sightline as sl
from sightline.records import Belief, Episode, Query
from sightline.regret import Course, cumulative, exponent, follow, lay_course


class Fixed:
    """Believes the same chances of every object, and never learns."""

    def __init__(self, chance: dict[str, np.ndarray]) -> None:
        self.chance = chance
        self.episodes: list[Episode] = []

    def predict(self, query: Query, points: np.ndarray) -> Belief:
        chance = self.chance[query.thing]
        return Belief(chance, np.zeros(len(chance)), chance)

    def update(self, episode: Episode) -> None:
        self.episodes.append(episode)


@pytest.fixture(scope="module")
def course() -> Course:
    """Five points in the smallest home, so that all orders can be tried."""
    home = sl.Scenario.load("wrs2020")
    site = sl.Site.of(home, sensor=sl.Sensor(range_m=2.5, kind="disc"))
    points = sl.farthest_points(site.free, 5, rng=np.random.default_rng(3))
    return lay_course(site, points, 12, rng=np.random.default_rng(4))


def all_costs(course: Course, episode: int) -> list[float]:
    """The cost of every order, added up leg by leg."""
    chance, travel = course.chance(course.things[episode]), course.travel(episode)
    out = []
    for order in permutations(range(len(chance))):
        arrival, cost, at = 0.0, 0.0, 0
        for point in order:
            arrival += travel[at, point + 1]
            cost += chance[point] * arrival
            at = point + 1
        out.append(cost)
    return out


def test_the_benchmark_planner_is_the_best_of_all_orders(course: Course) -> None:
    best = [min(all_costs(course, i)) for i in range(len(course))]
    assert course.least == pytest.approx(best)


def test_who_knows_the_chances_has_no_regret(course: Course) -> None:
    knows = Fixed({thing: course.chance(thing) for thing in course.site.home.objects})
    costs = follow(course, knows, rng=np.random.default_rng(0))
    assert cumulative(costs.approximate, course.least) == pytest.approx(np.zeros(12), abs=1e-9)
    assert len(knows.episodes) == 12


def test_who_believes_the_opposite_pays(course: Course) -> None:
    wrong = Fixed({t: 1 - course.chance(t) for t in course.site.home.objects})
    costs = follow(course, wrong, rng=np.random.default_rng(0))
    assert (costs.approximate >= course.least - 1e-9).all()
    assert cumulative(costs.approximate, course.least)[-1] > 1.0


def test_exact_metres_are_the_mean_over_where_the_object_lies(course: Course) -> None:
    order, rng = np.array([2, 1, 4, 3, 5]), np.random.default_rng(5)
    travel, thing = course.travel(0), course.things[0]
    rows = np.vstack([course.starts[0], course.points])
    metres = []
    for _ in range(4000):
        position = course.site.home.sample_position(thing, rng=rng)
        sees = np.hypot(*(rows - position).T) <= course.site.sensor.range_m
        driven, at, seen = 0.0, 0, bool(sees[0])
        for row in order:
            if seen:
                break
            driven += travel[at, row]
            at, seen = row, bool(sees[row])
        metres.append(driven)
        assert seen  # the points cover this home, so nothing is left to the escape
    error = np.std(metres) / np.sqrt(len(metres))
    # positions are exact here and in cells of 0.2 m there
    assert abs(course.exact_metres(0, order) - np.mean(metres)) < 3 * error + 0.05


@pytest.mark.parametrize("power", [0.5, 0.75, 1.0])
def test_the_exponent_is_that_of_a_power_law(power: float) -> None:
    assert exponent(7 * np.arange(1, 2001) ** power) == pytest.approx(power)


def test_the_exponent_of_no_regret_is_not_a_number() -> None:
    assert np.isnan(exponent(np.zeros(100)))
