"""Measures of searches: their definitions at the edges, and statistics against brute force."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.metrics import (
    compare,
    expected,
    interval,
    learning_curve,
    soft_spl,
    spl,
    time_to_find_s,
)

lengths = st.floats(0, 100)


@pytest.mark.parametrize(
    ("found", "least", "driven", "value"),
    [
        (1, 4.0, 8.0, 0.5),
        (1, 8.0, 4.0, 1.0),  # a path shorter than the shortest counts as the shortest
        (0, 4.0, 4.0, 0.0),
        (1, 0.0, 0.0, 1.0),  # seen from the start
        (0, 0.0, 0.0, 0.0),  # there to be seen, not noticed
        (1, 0.0, 3.0, 0.0),
        (0, np.inf, 3.0, 0.0),  # to be seen from nowhere
        (1, np.inf, 3.0, 0.0),
    ],
)
def test_spl_is_defined_everywhere(found: int, least: float, driven: float, value: float) -> None:
    assert spl([found], [least], [driven]) == [value]


@given(st.booleans(), lengths, lengths, lengths)
def test_soft_spl_is_at_least_spl_and_at_most_1(
    found: bool, least: float, driven: float, left: float
) -> None:
    hard = spl([found], [least], [driven])[0]
    soft = soft_spl([least], [driven], [0.0 if found else left], [found])[0]
    assert hard - 1e-12 <= soft <= 1


def test_soft_spl_rewards_half_the_way() -> None:
    assert soft_spl([4.0], [2.0], [2.0], [False]) == [0.5]
    assert soft_spl([0.0], [2.0], [2.0], [False]) == [0.0]
    assert soft_spl([np.inf], [2.0], [np.inf], [False]) == [0.0]


def test_time_counts_driving_and_looking() -> None:
    assert time_to_find_s([10.0], [3], speed_m_s=0.5, look_s=2.0) == [26.0]
    with pytest.raises(ValueError, match="speed_m_s must be above 0"):
        time_to_find_s([10.0], [3], speed_m_s=0.0)


def naive_expected(
    arrival: list[float], first: list[int], mass: list[float], least: list[float],
    blind: float, budget: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Cell by cell, blind or not; what no cell holds is never seen."""
    end = max(metres for metres in arrival if metres <= budget)
    success = share = metres = 0.0
    for cell, chance in enumerate(mass):
        stop = first[cell]
        seen = stop >= 0 and arrival[stop] <= budget
        p = arrival[stop] if seen else end
        success += (1 - blind) * chance * seen
        share += (1 - blind) * chance * float(spl([seen], [least[cell]], [p])[0])
        metres += (1 - blind) * chance * p + blind * chance * end
    return success, share, metres + (1 - sum(mass)) * end


@given(
    st.lists(st.floats(0.1, 9), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(-1, 5), st.floats(0, 1), lengths), min_size=1, max_size=6),
    st.floats(0, 1),
    st.floats(0, 40),
)
def test_expectations_equal_the_sum_over_cells(
    legs: list[float], cells: list[tuple[int, float, float]], blind: float, budget: float
) -> None:
    arrival = [0.0, *np.cumsum(legs).tolist()]
    first = [min(stop, len(legs)) for stop, _, _ in cells]
    mass = [chance / len(cells) for _, chance, _ in cells]
    least = [away for _, _, away in cells]
    fast = expected(arrival, first, mass, least, blind_rate=blind, budget_m=budget)
    assert tuple(fast) == pytest.approx(naive_expected(arrival, first, mass, least, blind, budget))


def test_an_interval_holds_the_mean_and_narrows_with_more_runs() -> None:
    rng = np.random.default_rng(1)
    few = interval(rng.normal(3, 1, 10), rng=rng)
    many = interval(rng.normal(3, 1, 1000), rng=rng)
    assert few.low < few.mean < few.high
    assert many.high - many.low < 0.3 * (few.high - few.low)
    covered = 0
    for _ in range(200):
        found = interval(rng.normal(3, 1, 40), rng=rng, draws=500)
        covered += found.low <= 3 <= found.high
    assert 178 <= covered <= 199  # 95 % of 200, a little less as the bootstrap is short of few runs


def test_the_test_of_pairs_equals_all_flips() -> None:
    ours, theirs = np.array([3.0, 2.0, 4.0, 1.0, 5.0]), np.array([2.0, 2.5, 1.0, 0.0, 1.5])
    gaps = ours - theirs
    flips = [abs(np.mean(gaps * signs)) for signs in product((-1, 1), repeat=5)]
    share = np.mean([flip >= abs(gaps.mean()) - 1e-12 for flip in flips])
    test = compare(ours, theirs, rng=np.random.default_rng(0))
    assert test.p_value == share
    assert test.mean == pytest.approx(gaps.mean())
    assert compare(theirs, ours, rng=np.random.default_rng(0)).mean == -test.mean


def test_pairs_without_a_difference_give_no_evidence() -> None:
    test = compare([1.0, 2.0], [1.0, 2.0], rng=np.random.default_rng(0))
    assert test == (0.0, 0.0, 0.0, 1.0)


def test_many_pairs_are_tested_by_random_flips() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(size=40)
    assert compare(base + 0.5, base + rng.normal(0, 0.1, 40), rng=rng).p_value < 1e-3
    assert compare(base, base + rng.normal(0, 1, 40), rng=rng).p_value > 1e-3


def test_a_learning_curve_is_a_mean_over_the_last_searches() -> None:
    assert learning_curve([1, 0, 1, 1], 2).tolist() == [1.0, 0.5, 0.5, 1.0]
    with pytest.raises(ValueError, match="window"):
        learning_curve([1.0], 0)


@pytest.mark.parametrize("values", [[], [np.nan], [[1.0]], [np.inf]])
def test_statistics_refuse_what_is_no_run(values: list[float]) -> None:
    with pytest.raises(ValueError, match="one finite number per run"):
        interval(values, rng=np.random.default_rng(0))


def test_lengths_below_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="p must hold lengths of at least 0"):
        spl([1], [1.0], [-1.0])
