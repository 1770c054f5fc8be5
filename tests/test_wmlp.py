import csv
import time
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_plan as naive
from sightline._kernels import latency, latency_bound
from sightline.errors import PlanError
from sightline.plan import exact, wmlp
from sightline.plan.coverage import solve_search
from sightline.plan.problem import SearchProblem, route_cost
from sightline.plan.tsplib import read_travel
from sightline.plan.wmlp import Wmlp, solve_wmlp

LITERATURE = Path(__file__).parent.parent / "benchmarks" / "data" / "tsplib"


def rng(seed=0):
    return np.random.default_rng(seed)


def plane(points, seed):
    """Straight distances between random points of a square, and random weights."""
    draw = rng(seed)
    at = draw.random((points, 2))
    travel = np.hypot(*(at[:, None] - at).transpose(2, 0, 1))
    return travel, draw.uniform(0.01, 0.99, points)


@st.composite
def problems(draw, most=8, directed=None):
    """Travel costs and weights: in the plane or at random, with ties, zeros and duplicates."""
    count = draw(st.integers(1, most))
    seed = draw(st.integers(0, 2**32 - 1))
    kind = draw(st.sampled_from(["plane", "random", "whole"]))
    travel, weights = plane(count, seed)
    if kind != "plane":
        travel = rng(seed).random((count, count))
    if kind == "whole":
        travel = np.floor(4 * travel)
        weights = np.floor(3 * weights)
    if kind != "plane" and not (draw(st.booleans()) if directed is None else directed):
        travel = np.minimum(travel, travel.T)
    np.fill_diagonal(travel, 0.0)
    if draw(st.booleans()):
        weights = np.where(rng(seed + 1).random(count) < 0.4, 0.0, weights)
    if draw(st.booleans()):
        weights = np.ones(count)
    return travel, weights, draw(st.sampled_from([0.0, 1.0, 0.3]))


def check(route, travel, weights, start=0, return_weight=0.0):
    """What is true of every route: it visits all that can be visited, and its cost is right."""
    everything = [*route.order.tolist(), *route.unreachable, start]
    assert sorted(everything) == list(range(len(travel)))
    expected = naive.latency(travel, weights, route.order, start, return_weight)
    assert route.cost == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert route.bound is None or 0 <= route.bound <= route.cost


@pytest.mark.kernel
@given(problems(most=7), st.integers(0, 6))
def test_the_search_is_never_below_and_nearly_always_at_the_best_of_all_orders(problem, start):
    travel, weights, back = problem
    start %= len(travel)
    route = solve_wmlp(travel, weights, start=start, return_weight=back, rng=rng())
    check(route, travel, weights, start, back)
    best = naive.least_latency_by_permutations(travel, weights, start, back)
    assert route.cost == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert route.bound is None
    assert not route.optimal


@pytest.mark.kernel
@given(problems(most=8))
def test_a_proof_gives_the_best_of_all_orders(problem):
    travel, weights, back = problem
    route = solve_wmlp(travel, weights, return_weight=back, time_limit_s=60, prove=True, rng=rng())
    check(route, travel, weights, return_weight=back)
    best = naive.least_latency_by_subsets(travel, weights, back) if len(travel) > 1 else 0.0
    assert route.optimal
    assert route.gap == 0.0
    assert route.cost == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert route.bound == pytest.approx(best, rel=1e-9, abs=1e-12)


def bounds_on_the_way(travel, weights, back, order, effort):
    """The bound after each step of a proof that starts from an order."""
    points = exact.Points.of(travel, weights, back)
    proof = exact.Proof(points, order, time.perf_counter() + 60)
    limit = proof.cost * (1 - exact.SAME / 2)
    network = exact.Network(proof, effort)
    network.descend(20, limit)
    yield proof.bound
    network.ng_descend(5, limit)
    yield proof.bound
    for share in (0.9, 0.95, 1.0):
        found = network.search(share * proof.cost, 100_000)
        assert found is not None
        yield share * proof.cost if not len(found) else points.cost(found)


@pytest.mark.kernel
@settings(max_examples=150)
@given(
    problems(most=9), st.integers(0, 10**6), st.sampled_from([1.0, 3.0, 10.0]), st.integers(1, 4)
)
def test_no_bound_is_above_the_best_even_from_a_bad_order(problem, seed, units, memory):
    travel, weights, back = problem
    if len(travel) < 3 or weights[1:].sum() == 0:
        return
    best = naive.least_latency_by_subsets(travel, weights, back)
    order = 1 + rng(seed).permutation(len(travel) - 1)
    effort = exact.Effort(units=units, steps=0, ng_steps=0, memory=memory, states=0)
    for bound in bounds_on_the_way(travel, weights, back, order, effort):
        assert bound <= best * (1 + 1e-9) + 1e-9
    if naive.latency(travel, weights, order, 0, back) > best * (1 + 1e-6):
        assert bound == pytest.approx(best, rel=1e-9)  # the programme has found it


@pytest.mark.kernel
@given(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 6)), min_size=1, max_size=7))
def test_least_weights_are_those_of_all_subsets(points):
    weights = np.array([w for w, _ in points])
    units = np.array([u for _, u in points])
    np.testing.assert_allclose(
        latency_bound.least_weights(weights, units, 0.5),
        naive.least_weights(weights, units, 0.5),
    )


@pytest.mark.kernel
@pytest.mark.parametrize("directed", [False, True])
def test_running_sums_stay_right_through_hundreds_of_moves(directed):
    travel, weights = plane(40, 3)
    if directed:
        travel = travel * rng(4).uniform(0.5, 2.0, travel.shape)
    seed = np.array([7], np.uint64)
    search = wmlp.Search(travel, np.append(0.0, weights[1:]), 0.4, seed, wmlp.FEW)
    search.run(300, True, time.perf_counter() + 60)
    order = search.walks[2, 1:-1]
    assert search.best == pytest.approx(naive.latency(travel, weights, order, 0, 0.4), rel=1e-9)


def test_no_point_and_one_point():
    alone = solve_wmlp([[0.0]], [1.0], rng=rng(), prove=True)
    assert (alone.order.tolist(), alone.cost, alone.optimal) == ([], 0.0, True)
    pair = solve_wmlp([[0, 2], [3, 0]], [9, 5], return_weight=1, rng=rng(), prove=True)
    assert (pair.order.tolist(), pair.cost, pair.optimal) == ([1], 15.0, True)


def test_rows_without_a_way_are_left_out_and_named():
    travel, weights = plane(7, 1)
    travel[3], travel[:, 3] = np.inf, np.inf
    route = solve_wmlp(travel, weights, start=2, rng=rng(), prove=True)
    assert route.unreachable == (3,)
    check(route, travel, weights, start=2)
    assert route.optimal


def test_a_circuit_leaves_out_rows_from_which_there_is_no_way_back():
    travel = np.array([[0, 1, 1], [1, 0, 1], [np.inf, 1, 0]], dtype=float)
    assert solve_wmlp(travel, np.ones(3), rng=rng()).unreachable == ()
    circuit = solve_wmlp(travel, np.ones(3), return_weight=1.0, rng=rng())
    assert circuit.unreachable == (2,)
    assert circuit.cost == 3.0


def test_points_without_weight_come_last_and_in_a_short_order():
    at = np.array([0.0, 5, -1, -2, -3, -4])
    travel = abs(at[:, None] - at)
    route = solve_wmlp(travel, [0, 1, 0, 0, 0, 0], rng=rng())
    assert route.order.tolist() == [1, 2, 3, 4, 5]
    assert route.cost == 5.0


def test_all_weights_zero_cost_nothing():
    travel, _ = plane(6, 0)
    route = solve_wmlp(travel, np.zeros(6), rng=rng(), prove=True)
    assert (route.cost, route.optimal) == (0.0, True)
    check(route, travel, np.zeros(6))


def test_duplicates_are_visited_together():
    travel, weights = plane(6, 2)
    twice = np.repeat(np.arange(6), 2)
    route = solve_wmlp(travel[np.ix_(twice, twice)], weights[twice], rng=rng())
    places = twice[route.order]
    assert sum(a != b for a, b in pairwise(places)) == 5


@given(st.integers(0, 1000))
def test_new_row_numbers_change_nothing(seed):
    travel, weights = plane(9, seed)
    new = rng(seed).permutation(9)
    plain = solve_wmlp(travel, weights, rng=rng())
    moved = solve_wmlp(
        travel[np.ix_(new, new)], weights[new], start=int(np.flatnonzero(new == 0)[0]), rng=rng()
    )
    assert moved.cost == pytest.approx(plain.cost)


@given(st.integers(0, 1000), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_scaled_lengths_and_weights_scale_the_cost(seed, length, weight):
    travel, weights = plane(9, seed)
    plain = solve_wmlp(travel, weights, rng=rng(), prove=True)
    scaled = solve_wmlp(travel * length, weights * weight, rng=rng(), prove=True)
    assert scaled.cost == pytest.approx(plain.cost * length * weight, rel=1e-9)
    assert scaled.optimal


def test_equal_generators_give_equal_routes():
    travel, weights = plane(60, 5)
    first, second = (solve_wmlp(travel, weights, time_limit_s=60, rng=rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.order, second.order)


def test_where_a_call_ends_does_not_change_the_search(monkeypatch):
    travel, weights = plane(30, 5)
    expected = solve_wmlp(travel, weights, time_limit_s=60, rng=rng(3))
    monkeypatch.setattr(wmlp, "FIRST_LOOKS", 1)
    monkeypatch.setattr(wmlp, "SLICE_S", 1e-5)
    monkeypatch.setattr(wmlp, "SHORTEST_SLICE_S", 1e-6)
    sliced = solve_wmlp(travel, weights, time_limit_s=60, rng=rng(3))
    np.testing.assert_array_equal(sliced.order, expected.order)


@pytest.mark.parametrize("prove", [False, True])
def test_the_time_limit_is_kept(prove):
    travel, weights = plane(150, 1)
    solve_wmlp(travel[:9, :9], weights[:9], prove=prove, rng=rng())  # compiles
    began, worked = time.perf_counter(), time.process_time()
    route = solve_wmlp(travel, weights, time_limit_s=0.4, prove=prove, rng=rng())
    seconds = time.perf_counter() - began
    # of work: the machine may be busy with something else
    assert time.process_time() - worked < 0.8
    assert route.seconds <= seconds
    check(route, travel, weights)


def test_the_planner_plans_from_row_0():
    travel, weights = plane(12, 8)
    route = Wmlp(prove=True, time_limit_s=30)(SearchProblem(travel, weights), rng=rng())
    check(route, travel, weights)
    assert route.optimal


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": 3}, "start must be a row from 0 to 2, not 3"),
        ({"time_limit_s": 0.0}, "time_limit_s must be above 0, not 0.0"),
        ({"return_weight": -1.0}, "return_weight must be finite and not below 0, not -1.0"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(PlanError, match=message):
        solve_wmlp(np.zeros((3, 3)), np.ones(3), rng=rng(), **options)


@pytest.mark.slow
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_a_proof_of_twelve_points_gives_the_best(directed, seed):
    travel, weights = plane(13, seed)
    if directed:
        travel = travel * rng(seed).uniform(0.5, 2.0, travel.shape)
    best = naive.least_latency_by_subsets(travel, weights)
    route = solve_wmlp(travel, weights, time_limit_s=60, prove=True, rng=rng())
    assert route.optimal
    assert route.cost == pytest.approx(best, rel=1e-9)


@pytest.mark.slow
def test_fifty_points_are_proven():
    travel, weights = plane(51, 0)
    route = solve_wmlp(travel, weights, time_limit_s=120, prove=True, rng=rng())
    check(route, travel, weights)
    assert route.optimal


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dantzig42", "swiss42", "att48", "berlin52", "st70", "kroA100"])
def test_published_values_of_the_literature_are_reached(name):
    with (LITERATURE / "published.csv").open(encoding="utf-8") as file:
        value = next(float(r["value"]) for r in csv.DictReader(file) if r["instance"] == name)
    travel = read_travel(LITERATURE / f"{name}.tsp")
    ones = np.ones(len(travel))
    route = solve_wmlp(travel, ones, return_weight=1.0, time_limit_s=20, rng=rng())
    assert route.cost == pytest.approx(value, rel=1e-12)


def test_the_bits_of_the_kernels_are_random_enough():
    seed = np.array([1], np.uint64)
    shares = np.array([latency.random_share(seed) for _ in range(2000)])
    assert 0 < shares.min() < shares.max() < 1
    assert abs(shares.mean() - 0.5) < 0.03


@pytest.mark.parametrize("effort", [0.01, 0.3, 3.0])
def test_effort_ends_a_search_without_a_clock(effort: float) -> None:
    rng = np.random.default_rng(5)
    travel, weights = rng.uniform(1, 9, (9, 9)), rng.uniform(0, 1, 9)
    np.fill_diagonal(travel, 0.0)
    best = min(route_cost(travel, weights, np.array(order)) for order in permutations(range(1, 9)))
    routes = [
        solve_wmlp(
            travel, weights, effort=effort, time_limit_s=np.inf, rng=np.random.default_rng(1)
        )
        for _ in range(2)
    ]
    assert routes[0].order.tolist() == routes[1].order.tolist()
    assert best - 1e-9 <= routes[0].cost <= 1.2 * best


@pytest.mark.parametrize("effort", [0.0, -1.0, np.nan, np.inf])
def test_an_effort_that_is_none_is_refused(effort: float) -> None:
    travel, rng = 1 - np.eye(4), np.random.default_rng(0)
    with pytest.raises(PlanError, match="effort must be above 0 and at most 1000"):
        solve_wmlp(travel, np.ones(4), effort=effort, rng=rng)
    with pytest.raises(PlanError, match="effort must be above 0 and at most 1000"):
        solve_search(travel, np.eye(4, dtype=bool), np.full(4, 0.2), effort=effort, rng=rng)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.booleans())
def test_points_without_a_weight_wait_unless_they_are_a_shortcut(
    seed: int, shortcuts: bool
) -> None:
    """Metric ways, or ways of which some are shorter over a point that counts for nothing."""
    rng = np.random.default_rng(seed)
    spots = rng.uniform(0, 10, (7, 2))
    travel = np.hypot(*np.moveaxis(spots[:, None] - spots, -1, 0))
    if shortcuts:
        travel = travel**2
    weights = np.where(rng.random(7) < 0.5, 0.0, rng.uniform(0.1, 1, 7))
    best = min(route_cost(travel, weights, np.array(order)) for order in permutations(range(1, 7)))
    route = solve_wmlp(travel, weights, prove=True, time_limit_s=20.0, rng=rng)
    assert sorted(route.order) == list(range(1, 7))
    assert route.cost == pytest.approx(best)
    assert route.optimal


def test_many_points_without_a_weight_do_not_hinder_a_proof() -> None:
    rng = np.random.default_rng(8)
    spots = rng.uniform(0, 10, (40, 2))
    travel = np.hypot(*np.moveaxis(spots[:, None] - spots, -1, 0))
    weights = np.where(np.arange(40) % 4 == 0, rng.uniform(0.1, 1, 40), 0.0)
    route = solve_wmlp(travel, weights, prove=True, time_limit_s=60.0, rng=rng)
    assert route.optimal
    assert sorted(route.order) == list(range(1, 40))
