"""Regret over a course of episodes, and its reproduction in cells that can be interrupted."""

import json
from itertools import permutations

import numpy as np
import pytest

import sightline as sl
from sightline.plan.problem import SearchProblem
from sightline.records import Belief, Episode, Query
from sightline.regret import Course, Rounds, cumulative, exponent, follow, lay_course
from sightline.reproduce import regret as reproduce


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


def test_rounds_are_as_good_as_the_full_search():
    home = sl.Scenario.load("kitchen1")
    site = sl.Site.of(home, sensor=sl.Sensor(range_m=1.0, kind="disc"))
    points = sl.farthest_points(site.free, 25, rng=np.random.default_rng(1))
    course = lay_course(site, points, 8, rng=np.random.default_rng(2))
    full, quick = sl.Wmlp(time_limit_s=60), Rounds()
    for i, thing in enumerate(course.things):
        problem = SearchProblem(course.travel(i), course.chances[thing])
        best = full(problem, rng=np.random.default_rng(3))
        assert course.least[i] == pytest.approx(best.cost)
        route = quick(problem, rng=np.random.default_rng(4))
        assert sorted(route.order.tolist()) == list(range(1, 26))
        assert route.cost == pytest.approx(best.cost, rel=1e-3)


def test_points_of_no_weight_come_last_each_nearest_to_the_one_before():
    at = np.array([0.0, 5.0, 1.0, 7.0, 6.5])
    travel = np.abs(at[:, None] - at)
    order = Rounds()(SearchProblem(travel, [0, 0, 1, 0, 0]), rng=np.random.default_rng(0)).order
    assert order.tolist() == [2, 1, 4, 3]
    none = Rounds()(SearchProblem(travel, np.zeros(5)), rng=np.random.default_rng(0)).order
    assert none.tolist() == [2, 1, 4, 3]


def test_a_course_with_known_costs_is_the_same(course: Course) -> None:
    again = lay_course(
        course.site, course.points, 12, least=course.least, rng=np.random.default_rng(4)
    )
    assert again.things == course.things
    for name in ("starts", "positions", "from_start", "between", "least"):
        np.testing.assert_array_equal(getattr(again, name), getattr(course, name))


SMALL = reproduce.Setting(scenario="wrs2020", distribution="procthor", points=5, episodes=30)


def cells_of(folder):
    folder.mkdir()
    for method in (reproduce.COURSE, "Oracle", "RandomOrder"):
        reproduce.run_cell(folder, SMALL, (method, 0))
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_cells_repeat_to_the_last_bit_and_courses_are_shared(tmp_path):
    cells_of(tmp_path / "a"), cells_of(tmp_path / "b")
    for name in ("Oracle", "RandomOrder"):
        one, two = (reproduce._read(tmp_path / f, SMALL, name, 0) for f in ("a", "b"))
        np.testing.assert_array_equal(one["regret"], two["regret"])
        np.testing.assert_array_equal(one["exact"], two["exact"])
    oracle = reproduce._read(tmp_path / "a", SMALL, "Oracle", 0)
    chance = reproduce._read(tmp_path / "a", SMALL, "RandomOrder", 0)
    np.testing.assert_allclose(oracle["regret"], 0, atol=1e-6)
    assert chance["regret"][-1] > 10


def test_cells_of_other_settings_and_damaged_ones_are_not_read(tmp_path):
    kept = cells_of(tmp_path / "a")
    longer = reproduce.Setting(**{**vars(SMALL), "episodes": 31})
    assert reproduce._read(tmp_path / "a", SMALL, "Oracle", 0) is not None
    assert reproduce._read(tmp_path / "a", longer, "Oracle", 0) is None
    assert reproduce._read(tmp_path / "a", SMALL, "Oracle", 1) is None
    for content in (b"", b"PK", kept["oracle-000.npz"][:-40]):
        (tmp_path / "a" / "oracle-000.npz").write_bytes(content)
        assert reproduce._read(tmp_path / "a", SMALL, "Oracle", 0) is None
    assert not list((tmp_path / "a").glob("*.part"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": 0}, "seeds must be at least 1, not 0"),
        ({"jobs": 0}, "jobs must be at least 1, not 0"),
        ({"episodes": 5}, "episodes must be at least 20, so that growth can be seen, not 5"),
        ({"methods": ["Sibyl"]}, "Method 'Sibyl' is unknown; valid are Oracle, "),
    ],
)
def test_wrong_arguments_are_named(change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        reproduce.run(tmp_path, **change)
    assert not list(tmp_path.iterdir())


def test_the_table_is_sorted_and_shows_no_exponent_where_there_is_no_regret():
    grows = np.tile(4 * np.sqrt(np.arange(1, 101)), (3, 1))
    summaries = {
        "learns": reproduce._summary(grows, np.full((3, 100), 7.0)),
        "knows": reproduce._summary(0 * grows, np.full((3, 100), 6.0)),
    }
    rows = reproduce.table(summaries).splitlines()[2:]
    assert rows == [
        "| knows | 0 (0 to 0) | - | 6.00 (6.00 to 6.00) |",
        "| learns | 40 (40 to 40) | 0.50 (0.50 to 0.50) | 7.00 (7.00 to 7.00) |",
    ]


@pytest.mark.slow
def test_a_run_goes_on_where_it_was_and_workers_do_not_matter(tmp_path):
    methods, told = ("Oracle", "Frequency"), []
    options = {"seeds": 2, "episodes": 20, "methods": methods}
    whole = reproduce.run(tmp_path / "a", jobs=2, **options)
    cells = tmp_path / "a" / "cells"
    before = (tmp_path / "a" / "regret.json").read_bytes()
    (cells / "frequency-001.npz").unlink()
    (cells / "oracle-000.npz").write_bytes(b"broken")
    again = reproduce.run(tmp_path / "a", jobs=1, progress=lambda *a: told.append(a), **options)
    assert sorted(told) == [(5, 6, "Oracle, seed 0"), (6, 6, "Frequency, seed 1")]
    assert (tmp_path / "a" / "regret.json").read_bytes() == before
    assert str(again) == str(whole)
    assert json.loads(before)["methods"]["Frequency"]["seeds"] == 2
    text = (tmp_path / "a" / "regret.md").read_text(encoding="utf-8")
    assert "| Frequency | " in text
    assert "20 episodes, 2 seeds" in text
    assert (tmp_path / "a" / "regret.png").stat().st_size > 10_000
