"""Choosing points to look from: exact costs, optimal small tours, valid bounds, honest errors."""

import math
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import naive_search as naive
from sightline.errors import PlanError
from sightline.plan import coverage
from sightline.plan.atoms import as_task, build_atoms
from sightline.plan.coverage import Coverage, expected_cost, expected_spl, solve_search
from sightline.plan.problem import SearchProblem

seeds = st.integers(0, 10_000)
rates = st.sampled_from((1.0, 0.7))
looks = st.sampled_from((0.0, 0.5))
escapes = st.sampled_from((0.0, 2.0, 10.0, 60.0))
limits = st.sampled_from((None, 0, 2))


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def by_search(monkeypatch):
    """Nothing is solved by sets, as if there were too many points."""
    monkeypatch.setattr(coverage, "EXACT_AT_ONCE", -1)
    monkeypatch.setattr(coverage, "_fits", lambda atoms: False)


def corridor():
    """A start between two rooms: the object is in the left one at 1 m or in the right one at 2 m."""
    travel = [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    sees = [[0, 0], [1, 0], [0, 1]]
    return travel, sees, [0.5, 0.5]


def test_a_corridor_by_hand():
    """Left first costs 0.5 * 1 + 0.5 * 4; right first 0.5 * 2 + 0.5 * 5."""
    route = solve_search(*corridor(), rng=rng())
    assert route.order.tolist() == [1, 2]
    assert route.cost == pytest.approx(2.5)
    assert route.optimal
    assert expected_cost(*corridor(), [2, 1]) == pytest.approx(3.5)
    # left first: 1 for the left, 2 / 4 for the right
    assert expected_spl(*corridor(), [1, 2]) == pytest.approx(0.75)


@given(seeds, rates, looks, escapes, st.booleans(), st.booleans())
def test_expected_cost_is_that_of_the_definition(seed, rate, look, escape, with_reach, metric):
    travel, sees, mass, reach = naive.random_problem(seed, metric=metric)
    order = rng(seed).permutation(np.arange(1, 6))[: seed % 6]
    options = {"escape": escape, "look_cost": look, "detection_rate": rate}
    options["reach"] = reach if with_reach else None
    expected = naive.cost_of(travel, sees, mass, order, **options)
    assert expected_cost(travel, sees, mass, order, **options) == pytest.approx(expected)


@given(seeds, rates, st.booleans(), st.booleans())
def test_expected_spl_is_that_of_the_definition(seed, rate, with_reach, metric):
    travel, sees, mass, reach = naive.random_problem(seed, metric=metric)
    order = rng(seed).permutation(np.arange(1, 6))[: seed % 6]
    options = {"reach": reach if with_reach else None, "detection_rate": rate}
    expected = naive.spl_of(travel, sees, mass, order, **options)
    assert expected_spl(travel, sees, mass, order, **options) == pytest.approx(expected)


@given(seeds, rates, looks, escapes, limits, st.booleans(), st.booleans())
def test_few_points_are_solved_exactly(seed, rate, look, escape, limit, with_reach, metric):
    travel, sees, mass, reach = naive.random_problem(seed, points=4, metric=metric)
    options = {"escape": escape, "look_cost": look, "detection_rate": rate}
    options["reach"] = reach if with_reach else None
    route = solve_search(travel, sees, mass, max_stops=limit, **options, rng=rng())
    best = naive.best_of(
        lambda order: naive.cost_of(travel, sees, mass, order, **options), 4, limit
    )
    assert route.optimal
    assert route.cost == pytest.approx(best)
    assert route.bound == pytest.approx(best)
    assert limit is None or len(route.order) <= limit


@pytest.mark.usefixtures("by_search")
@pytest.mark.parametrize("objective", ["distance", "spl"])
@pytest.mark.parametrize("rate", [1.0, 0.7])
@pytest.mark.parametrize("with_reach", [False, True])
@pytest.mark.parametrize("limit", [None, 2])
def test_the_search_finds_the_best_tour(objective, rate, with_reach, limit):
    for seed in range(4):
        travel, sees, mass, reach = naive.random_problem(seed)
        given = {"reach": reach if with_reach else None, "detection_rate": rate}
        if objective == "distance":
            given |= {"escape": (2.0, 10.0, 40.0)[seed % 3], "look_cost": 0.5 * (seed % 2)}

        def score(order, data=(travel, sees, mass), given=given):
            if objective == "distance":
                return naive.cost_of(*data, order, **given)
            return 1 - naive.spl_of(*data, order, **given)

        route = solve_search(
            travel, sees, mass, objective=objective, max_stops=limit, **given, rng=rng()
        )
        assert route.cost == pytest.approx(score(tuple(route.order)))
        assert route.cost == pytest.approx(naive.best_of(score, 5, limit))


@pytest.mark.kernel
@given(seeds, rates, looks, st.sampled_from(("distance", "spl")), st.booleans())
def test_walk_and_insertion_prices_agree_with_the_definition(
    seed, rate, look, objective, with_reach
):
    travel, sees, mass, reach = naive.random_problem(seed, points=7, cells=20)
    options = {"reach": reach if with_reach else None, "detection_rate": rate}
    task = as_task(travel, sees, mass, objective=objective, escape=15.0, look_cost=look, **options)
    atoms = build_atoms(task)
    world, tour = atoms.world, coverage._new_tour(atoms.world)
    generator = rng(seed)
    order = generator.permutation(np.arange(1, 8))[: seed % 6].tolist()
    stranger = next(x for x in range(1, 8) if x not in order)

    def score(visited):
        if objective == "spl":
            return -naive.spl_of(travel, sees, mass, visited, **options)
        return naive.cost_of(travel, sees, mass, visited, escape=15.0, look_cost=look, **options)

    tour.order[1 : len(order) + 1] = order
    cost = coverage.kernel.walk(world, tour, len(order), world.escape)
    assert cost + atoms.at_start == pytest.approx(score(order), abs=1e-7)
    luck, pool = np.ones(1, np.uint64), np.array([stranger])
    point, place, change = coverage.kernel.best_insertion(
        world, tour, len(order), pool, 1, 0.0, luck, world.escape
    )
    if objective == "spl" and with_reach:
        return  # priced with mean ways only
    longer = [[*order[:k], stranger, *order[k:]] for k in range(len(order) + 1)]
    changes = [score(visited) - score(order) for visited in longer]
    if point == 0:
        assert min(changes) >= -1e-7
    else:
        assert change == pytest.approx(min(changes), abs=1e-7)
        assert changes[place - 1] == pytest.approx(change, abs=1e-7)


@pytest.mark.kernel
@given(seeds, rates, st.booleans())
def test_atoms_do_not_change_the_cost(seed, rate, with_reach):
    """Cells seen by the same rows become one; the mass and the ways of the cells are kept."""
    travel, sees, mass, reach = naive.random_problem(seed, points=4, cells=60)
    atoms = build_atoms(
        as_task(
            travel, sees, mass, reach=reach if with_reach else None, detection_rate=rate, escape=9
        )
    )
    left = mass * np.where(sees[0], 1 - rate, 1)
    patterns = {tuple(sees[1:, c]) for c in range(60) if left[c] > 0 and sees[1:, c].any()}
    assert len(atoms.world.weight) == len(patterns)
    for x in range(1, 5):
        entries = slice(atoms.world.first[x], atoms.world.first[x + 1])
        weight = atoms.world.weight[atoms.world.atom[entries]]
        assert weight.sum() == pytest.approx(left[sees[x]].sum())
        ways = (left * reach[x])[sees[x]].sum() if with_reach else 0.0
        assert weight @ atoms.world.extra[entries] == pytest.approx(ways)


@pytest.mark.usefixtures("by_search")
@pytest.mark.parametrize("seed", range(25))
def test_the_bound_is_never_above_the_optimum(seed, monkeypatch):
    draw = rng(seed)
    points = int(draw.integers(2, 10))
    travel, sees, mass, reach = naive.random_problem(
        seed,
        points=points,
        cells=int(draw.integers(1, 40)),
        share=draw.choice([0.05, 0.2, 0.5]),
        sum_to=draw.choice([0.3, 1.0]),
        metric=bool(seed % 3),
    )
    if seed % 4 == 0:
        travel = np.round(travel / 4) * 4  # with legs of no length
    options = {
        "reach": reach if seed % 5 < 2 else None,
        "escape": float(draw.choice([0, 1, 5, 30, 200])),
        "look_cost": float(draw.choice([0, 0.3])),
        "detection_rate": float(draw.choice([1, 0.6])),
        "max_stops": 2 if seed % 7 == 0 else None,
    }
    found = solve_search(travel, sees, mass, **options, prove=True, time_limit_s=0.3, rng=rng())
    monkeypatch.undo()
    best = solve_search(travel, sees, mass, **options, prove=True, rng=rng())
    assert best.optimal
    assert found.bound <= best.cost + 1e-12
    assert not found.optimal or found.cost == pytest.approx(best.cost)


@pytest.mark.usefixtures("by_search")
@given(st.integers(0, 500), escapes)
def test_the_bound_is_valid_on_any_small_problem(seed, escape):
    travel, sees, mass, _ = naive.random_problem(seed, points=4, metric=seed % 2 == 0)
    route = solve_search(
        travel, sees, mass, escape=escape, prove=True, time_limit_s=0.05, rng=rng()
    )
    best = naive.best_of(lambda order: naive.cost_of(travel, sees, mass, order, escape=escape), 4)
    assert route.bound <= best + 1e-12


def test_giving_up_at_once_can_be_best():
    """Far points that see little are not worth the way when not finding costs little."""
    route = solve_search([[0, 9], [9, 0]], [[0], [1]], [0.1], escape=1.0, rng=rng())
    assert route.order.tolist() == []
    assert route.cost == pytest.approx(1.0)


def test_several_stops_can_pay_where_one_does_not():
    """Three points 30 m away see a third each: one of them is not worth 30 m, all three are."""
    travel = np.full((16, 16), 40.0)
    travel[1:4, 1:4] = 0.1
    travel[0, 1:4] = travel[1:4, 0] = 30.0
    np.fill_diagonal(travel, 0)
    sees = np.zeros((16, 3), dtype=bool)
    sees[[1, 2, 3], [0, 1, 2]] = True
    route = solve_search(travel, sees, [0.33, 0.33, 0.33], escape=60.0, rng=rng())
    assert sorted(route.order) == [1, 2, 3]


def test_what_the_start_sees_is_found_for_nothing():
    travel, _, mass = corridor()
    route = solve_search(travel, [[1, 1], [1, 0], [0, 1]], mass, rng=rng())
    assert route.order.size == 0
    assert route.cost == 0.0
    spl = solve_search(travel, [[1, 1], [1, 0], [0, 1]], mass, objective="spl", rng=rng())
    assert spl.cost == pytest.approx(0.0)


def test_without_an_object_there_is_nothing_to_do():
    travel, sees, _ = corridor()
    for objective, cost in (("distance", 6.0), ("spl", 1.0)):
        route = solve_search(travel, sees, [0, 0], objective=objective, rng=rng())
        assert route.order.size == 0
        assert route.cost == pytest.approx(cost)
    assert solve_search([[0.0]], [[0]], [1.0], escape=7, rng=rng()).cost == 7.0


def test_escape_is_twice_the_largest_finite_travel_cost_by_default():
    travel, sees, mass = corridor()
    travel[1][2] = math.inf
    assert expected_cost(travel, sees, mass, []) == 6.0


def test_a_point_at_the_start_finds_at_once():
    """l is 0 there, and so is the way driven: that counts as a perfect search."""
    travel = [[0, 0, 4], [0, 0, 4], [4, 4, 0]]
    route = solve_search(travel, [[0, 0], [1, 0], [0, 1]], [0.5, 0.5], objective="spl", rng=rng())
    assert route.order.tolist() == [1, 2]
    assert route.cost == pytest.approx(0.0)


@pytest.mark.parametrize("objective", ["distance", "spl"])
def test_names_of_points_and_cells_do_not_matter(objective):
    travel, sees, mass, _ = naive.random_problem(3, points=14, cells=50)
    points, cells = rng(1).permutation(14) + 1, rng(2).permutation(50)
    rows = np.concatenate([[0], points])
    route = solve_search(travel, sees, mass, objective=objective, rng=rng())
    again = solve_search(
        travel[np.ix_(rows, rows)],
        sees[rows][:, cells],
        mass[cells],
        objective=objective,
        rng=rng(),
    )
    assert again.cost == pytest.approx(route.cost)


def test_cost_scales_with_travel_and_escape():
    travel, sees, mass, reach = naive.random_problem(4, points=14, cells=50)
    one = solve_search(travel, sees, mass, reach=reach, escape=20, look_cost=0.2, rng=rng())
    ten = solve_search(
        10 * travel, sees, mass, reach=10 * reach, escape=200, look_cost=2, rng=rng()
    )
    assert ten.cost == pytest.approx(10 * one.cost)


def test_equal_seeds_give_equal_routes():
    travel, sees, mass, _ = naive.random_problem(5, points=30, cells=200, share=0.05)
    for objective in ("distance", "spl"):
        options = {"objective": objective, "detection_rate": 0.8, "time_limit_s": 60}
        a, b = (solve_search(travel, sees, mass, **options, rng=rng(7)) for _ in range(2))
        np.testing.assert_array_equal(a.order, b.order)
        assert a.seconds < 5  # it stops by itself


def test_no_stop_at_the_end_is_idle():
    travel, sees, mass, _ = naive.random_problem(6, points=20, cells=60, sum_to=1.0)
    for objective in ("distance", "spl"):
        route = solve_search(travel, sees, mass, objective=objective, rng=rng())
        seen_before = sees[[0, *route.order[:-1]]].any(axis=0)
        assert mass[sees[route.order[-1]] & ~seen_before].sum() > 0


def test_points_without_a_way_are_named():
    travel, sees, mass = (np.array(part, dtype=float) for part in corridor())
    travel[2, :2] = travel[:2, 2] = math.inf
    route = solve_search(travel, sees, mass, escape=5.0, rng=rng())
    assert route.unreachable == (2,)
    assert route.order.tolist() == [1]
    assert route.cost == pytest.approx(0.5 * 1 + 0.5 * 6)


def test_legs_may_differ_by_direction():
    """Against the wind: 1 then 2 costs 1 + 1, 2 then 1 costs 2 + 9."""
    travel = [[0, 1, 2], [9, 0, 1], [9, 9, 0]]
    route = solve_search(travel, [[0, 0], [1, 0], [0, 1]], [0.2, 0.8], escape=50, rng=rng())
    assert route.order.tolist() == [1, 2]
    assert route.cost == pytest.approx(0.2 * 1 + 0.8 * 2)


def test_unsure_looks_are_planned_for():
    """A second point with the same view is of use only if looks can miss."""
    travel, sees = [[0, 1, 1], [1, 0, 1], [1, 1, 0]], [[0], [1], [1]]
    sure = solve_search(travel, sees, [1.0], escape=30, rng=rng())
    unsure = solve_search(travel, sees, [1.0], escape=30, detection_rate=0.5, rng=rng())
    assert len(sure.order) == 1
    assert len(unsure.order) == 2
    assert unsure.cost == pytest.approx(0.5 * 1 + 0.25 * 2 + 0.25 * 32)


def test_look_costs_count_but_not_in_spl():
    travel, sees, mass = corridor()
    assert expected_cost(travel, sees, mass, [1, 2], look_cost=1) == pytest.approx(4.0)
    spl = [
        solve_search(travel, sees, mass, objective="spl", look_cost=c, rng=rng()) for c in (0, 5)
    ]
    assert spl[0].cost == spl[1].cost == pytest.approx(0.25)


def test_the_time_limit_is_kept():
    travel, sees, mass, _ = naive.random_problem(8, points=300, cells=1500, share=0.02)
    views = sparse.csr_array(sees)
    for prove in (False, True):
        solve_search(travel, views, mass, prove=prove, time_limit_s=0.2, rng=rng())  # compiles
        started = process_time()
        solve_search(travel, views, mass, prove=prove, time_limit_s=0.4, rng=rng())
        # of work: the machine may be busy with something else
        assert process_time() - started < 0.6


def test_coverage_plans_a_problem():
    travel, sees, mass = corridor()
    problem = SearchProblem(travel, np.ones(3), sparse.csr_array(sees), np.array(mass), 0.5)
    route = Coverage(escape=10.0, max_stops=1)(problem, rng=rng())
    assert route.order.tolist() == [1]
    assert route.cost == pytest.approx(0.5 * 1.5 + 0.5 * 11.5)
    assert Coverage(objective="spl")(problem, rng=rng()).cost == pytest.approx(0.25)


def test_coverage_needs_cells():
    with pytest.raises(PlanError, match="sees is None"):
        Coverage()(SearchProblem(np.zeros((2, 2)), np.ones(2)), rng=rng())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"travel": [[0, 1]]}, "square"),
        ({"travel": [[0, -1], [1, 0]]}, "from 0 to inf, not -1"),
        ({"sees": [[0, 0], [1, 0]]}, r"\(3, 2\), not shape \(2, 2\)"),
        ({"mass": [0.5, 0.7]}, "at most 1, not to 1.2"),
        ({"mass": [0.5, -0.1]}, "not below 0, not -0.1 in cell 1"),
        ({"mass": [[0.5, 0.1]]}, "one number per cell"),
        ({"objective": "time"}, "'time' is unknown; valid are distance, spl"),
        ({"escape": math.inf}, "escape must be a finite number from 0, not inf"),
        ({"look_cost": -1}, "look_cost must be a finite number from 0, not -1"),
        ({"detection_rate": 0}, "detection_rate must be above 0 and at most 1, not 0"),
        ({"detection_rate": 1.5}, "detection_rate must be above 0 and at most 1, not 1.5"),
        ({"max_stops": -1}, "max_stops must be a whole number from 0 or None, not -1"),
        ({"max_stops": 1.5}, "max_stops must be a whole number from 0 or None, not 1.5"),
        ({"time_limit_s": 0}, "time_limit_s must be above 0, not 0"),
        ({"reach": [[0, 0]]}, r"shape of sees, \(3, 2\), not shape \(1, 2\)"),
        ({"reach": [[0, 0], [-2, 0], [0, 0]]}, "not -2.0 in row 1, cell 0"),
    ],
)
def test_wrong_input_is_named(change, message):
    travel, sees, mass = corridor()
    given = {"travel": travel, "sees": sees, "mass": mass} | change
    with pytest.raises(PlanError, match=message):
        solve_search(**given, rng=rng())


@pytest.mark.parametrize(("order", "message"), [([3], "rows 1 to 2, not 3"), ([1, 1], "twice")])
def test_wrong_orders_are_named(order, message):
    with pytest.raises(PlanError, match=message):
        expected_cost(*corridor(), order)


@pytest.mark.slow
def test_the_search_matches_the_optimum_of_middling_problems(monkeypatch):
    for seed in range(40):
        travel, sees, mass, _ = naive.random_problem(
            seed, points=15, cells=300, share=0.1, sum_to=1.0
        )
        options = {"escape": (10.0, 30.0, 90.0)[seed % 3], "detection_rate": (1, 0.8)[seed % 2]}
        best = solve_search(travel, sees, mass, **options, prove=True, rng=rng())
        with monkeypatch.context() as patch:
            patch.setattr(coverage, "EXACT_AT_ONCE", -1)
            found = solve_search(travel, sees, mass, **options, rng=rng())
        assert best.optimal
        assert not found.optimal
        assert found.cost == pytest.approx(best.cost)
