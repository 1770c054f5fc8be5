"""One suite for every planner."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sightline.errors import PlanError
from sightline.plan.coverage import Coverage, expected_cost
from sightline.plan.cpsat import CpSat
from sightline.plan.greedy import Greedy
from sightline.plan.problem import SearchProblem, route_cost
from sightline.plan.tsp import Tsp
from sightline.plan.wmlp import Wmlp

ORDERS = {  # these visit every point that can be reached
    "wmlp": Wmlp(time_limit_s=0.5),
    "wmlp proven": Wmlp(time_limit_s=5.0, prove=True),
    "cpsat": CpSat(time_limit_s=0.5),
    "cpsat with a hint": CpSat(time_limit_s=0.5, hint=True),
    "greedy": Greedy(alpha_p=0.5),
    "nearest": Greedy(alpha_p=1.0),
    "likeliest": Greedy(alpha_p=0.0),
    "tsp": Tsp(),
}
ALL = {**ORDERS, "coverage": Coverage(time_limit_s=0.5)}


def problem(n=8, seed=0, *, asymmetric=False):
    """Points in a square, everyone sees some of 30 cells, weights are the mass in view."""
    rng = np.random.default_rng(seed)
    at = rng.random((n, 2)) * 10
    travel = np.hypot(*(at[:, None] - at).transpose(2, 0, 1))
    if asymmetric:
        travel = travel * rng.uniform(1, 1.5, (n, n))
    sees = rng.random((n, 30)) < 0.25
    sees[0] = False
    mass = rng.dirichlet(np.ones(30))
    return SearchProblem(travel, sees @ mass, sees=sparse.csr_array(sees), mass=mass)


def cost(planner, case, order):
    """The planner's own objective, recomputed the slow way."""
    if isinstance(planner, Coverage):
        return expected_cost(case.travel, case.sees, case.mass, order)
    total, driven, here = 0.0, 0.0, 0
    for row in order:
        driven += case.travel[here, row]
        total += case.weights[row] * driven
        here = row
    return total


def plan(planner, case, seed=3):
    return planner(case, rng=np.random.default_rng(seed))


@pytest.fixture(params=ALL, ids=str)
def planner(request):
    return ALL[request.param]


@pytest.fixture(params=ORDERS, ids=str)
def orderer(request):
    return ORDERS[request.param]


def test_an_order_visits_every_point_once(orderer):
    for n in (1, 2, 3, 9):
        route = plan(orderer, problem(n))
        assert sorted(route.order.tolist()) == list(range(1, n))
        assert route.unreachable == ()


def test_no_point_is_visited_twice_and_never_the_start(planner):
    order = plan(planner, problem(9)).order.tolist()
    assert len(set(order)) == len(order)
    assert set(order) <= set(range(1, 9))


@pytest.mark.parametrize("asymmetric", [False, True])
def test_cost_is_the_slow_sum(planner, asymmetric):
    for seed in range(3):
        case = problem(8, seed, asymmetric=asymmetric)
        route = plan(planner, case)
        assert route.cost == pytest.approx(cost(planner, case, route.order))


def test_a_bound_is_no_higher_than_the_cost(planner):
    for seed in range(3):
        route = plan(planner, problem(8, seed))
        if route.bound is not None:
            assert route.bound <= route.cost * (1 + 1e-9)
        if route.optimal:
            assert route.gap == 0


def test_equal_seeds_give_equal_routes(planner):
    first, again = (plan(planner, problem(8), seed=11) for _ in range(2))
    assert first.order.tolist() == again.order.tolist()
    assert first.cost == again.cost


def test_planning_does_not_touch_the_problem(planner):
    case = problem(7)
    before = case.travel.copy(), case.weights.copy(), case.sees.toarray(), case.mass.copy()
    plan(planner, case)
    after = case.travel, case.weights, case.sees.toarray(), case.mass
    assert all((a == b).all() for a, b in zip(before, after, strict=True))


def test_relabelling_points_does_not_change_the_cost(planner):
    case = problem(8, 5)
    turn = np.array([0, 4, 2, 7, 1, 6, 3, 5])
    other = SearchProblem(
        case.travel[np.ix_(turn, turn)],
        case.weights[turn],
        sees=sparse.csr_array(case.sees.toarray()[turn]),
        mass=case.mass,
    )
    assert plan(planner, other).cost == pytest.approx(plan(planner, case).cost, rel=2e-2)


def test_relabelling_points_does_not_change_the_optimum():
    case = problem(8, 5)
    turn = np.array([0, 4, 2, 7, 1, 6, 3, 5])
    other = SearchProblem(case.travel[np.ix_(turn, turn)], case.weights[turn])
    exact = Wmlp(time_limit_s=5, prove=True)
    assert plan(exact, other).cost == pytest.approx(plan(exact, case).cost)


def test_scaling_weights_scales_the_cost(orderer):
    if isinstance(orderer, Greedy) and 0 < orderer.alpha_p < 1:
        pytest.skip("the greedy rule adds weights to nearness, so their scale matters")
    case = problem(8, 2)
    tripled = SearchProblem(case.travel, 3 * case.weights)
    assert plan(orderer, tripled).cost == pytest.approx(3 * plan(orderer, case).cost, rel=1e-4)


def test_points_without_a_way_are_left_out_and_named(planner):
    case = problem(7)
    travel = case.travel.copy()
    travel[4, :] = travel[:, 4] = np.inf
    route = plan(planner, SearchProblem(travel, case.weights, case.sees, case.mass))
    assert route.unreachable == (4,)
    assert 4 not in route.order
    assert np.isfinite(route.cost)


def test_points_on_one_spot_are_no_trouble(planner):
    case = problem(6)
    route = plan(planner, SearchProblem(np.zeros((6, 6)), case.weights, case.sees, case.mass))
    assert route.cost == pytest.approx(0, abs=1e-9)


def test_zero_weights_are_no_trouble(orderer):
    case = problem(6)
    route = plan(orderer, SearchProblem(case.travel, np.zeros(6)))
    assert sorted(route.order.tolist()) == [1, 2, 3, 4, 5]
    assert route.cost == 0


def test_a_start_alone_gives_an_empty_route(planner):
    assert plan(planner, problem(1)).order.tolist() == []


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 9), st.integers(0, 10_000), st.booleans())
def test_no_order_beats_the_proven_one(n, seed, asymmetric):
    case = problem(n, seed, asymmetric=asymmetric)
    best = plan(Wmlp(time_limit_s=5, prove=True), case)
    assert best.optimal
    for other in (Greedy(0.5), Greedy(1.0), Tsp(kicks=5)):
        assert plan(other, case).cost >= best.cost * (1 - 1e-9)


def test_cpsat_finds_the_optimum_of_a_small_problem():
    case = problem(7, 1)
    best = plan(Wmlp(time_limit_s=5, prove=True), case)
    route = plan(CpSat(time_limit_s=20), case)
    assert route.status == "OPTIMAL"
    assert route.optimal
    assert route.cost == pytest.approx(best.cost, rel=1e-3)
    assert route.bound == pytest.approx(best.cost, rel=1e-3)


def test_cpsat_keeps_its_limit_and_says_that_it_is_not_done():
    route = plan(CpSat(time_limit_s=0.5, hint=True), problem(30))
    assert route.status == "FEASIBLE"
    assert not route.optimal
    assert route.seconds < 3


def test_cpsat_starts_from_the_order_it_is_given():
    case = problem(25, 2)
    good = plan(Wmlp(), case)
    route = CpSat(time_limit_s=0.5)(case, rng=np.random.default_rng(0), order=good.order)
    assert route.cost <= good.cost * (1 + 1e-9)


def held_karp_length(travel):
    """Length of the shortest open path from row 0 through all rows."""
    n = len(travel)
    best = {(1, 0): 0.0}
    for _ in range(n - 1):
        longer = {}
        for (seen, here), length in best.items():
            for row in range(n):
                if not seen >> row & 1:
                    key = seen | 1 << row, row
                    total = length + travel[here, row]
                    longer[key] = min(total, longer.get(key, np.inf))
        best = longer
    return min(best.values())


@pytest.mark.parametrize("asymmetric", [False, True])
def test_tsp_finds_the_shortest_path_through_a_few_points(asymmetric):
    for seed in range(5):
        case = problem(9, seed, asymmetric=asymmetric)
        path = np.concatenate([[0], plan(Tsp(), case).order])
        length = case.travel[path[:-1], path[1:]].sum()
        assert length == pytest.approx(held_karp_length(case.travel))


def test_the_greedy_rule_is_the_papers():
    case = problem(6, 3)
    here, left, expected = 0, [1, 2, 3, 4, 5], []
    while left:
        here = max(left, key=lambda x: 0.3 / case.travel[here, x] + 0.7 * case.weights[x])
        expected.append(here)
        left.remove(here)
    assert plan(Greedy(alpha_p=0.3), case).order.tolist() == expected


def test_route_cost_of_an_empty_order_is_nothing():
    assert route_cost(np.zeros((1, 1)), np.zeros(1), np.empty(0, np.int64)) == 0


@pytest.mark.parametrize(
    ("travel", "weights", "words"),
    [
        (np.zeros((2, 3)), np.zeros(2), "square"),
        (-np.ones((2, 2)), np.zeros(2), "-1.0 in row 0"),
        (np.full((2, 2), np.nan), np.zeros(2), "nan"),
        (np.zeros((2, 2)), np.zeros(3), "one per row of travel, 2"),
        (np.zeros((2, 2)), [0, np.inf], "inf in row 1"),
        (np.zeros((2, 2)), [0, -1], "-1.0 in row 1"),
        (np.zeros((0, 0)), np.zeros(0), "with a start"),
    ],
)
def test_a_problem_that_makes_no_sense_is_refused(travel, weights, words):
    with pytest.raises(PlanError, match=words):
        SearchProblem(travel, weights)
