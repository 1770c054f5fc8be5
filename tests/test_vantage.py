import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import sightline as sl
from naive import farthest


@pytest.mark.kernel
@settings(deadline=None, max_examples=80)
@given(
    st.integers(1, 300),
    st.integers(1, 12),
    st.sampled_from(["lattice", "anywhere", "line", "one spot"]),
    st.integers(0, 2**32 - 1),
)
def test_farthest_points_equal_the_definition(n, k, kind, seed):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-5, 5, (n, 2))
    if kind == "lattice":
        points = np.floor(points) * 0.05
    elif kind == "line":
        points[:, 1] = 2.0
    elif kind == "one spot":
        points[:] = 1.0
    k, start = min(k, n), int(rng.integers(n))
    assert sl.farthest_indices(points, k, first=start).tolist() == farthest(points, k, start)


def test_farthest_points_agree_with_the_definition_on_many_points():
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 30, (20_000, 2))
    got = sl.farthest_indices(points, 40, first=5)
    gap = ((points - points[5]) ** 2).sum(axis=1)
    for index in got[1:]:
        assert index == gap.argmax()
        gap = np.minimum(gap, ((points - points[index]) ** 2).sum(axis=1))


@pytest.fixture(scope="module")
def kitchen():
    return sl.Scenario.load("kitchen1")


@pytest.fixture(scope="module")
def free(kitchen):
    return kitchen.map.free_space(0.25)


def test_vantage_points_are_navigable_distinct_and_repeat_with_the_seed(free):
    first, again = (sl.farthest_points(free, 25, rng=np.random.default_rng(4)) for _ in range(2))
    assert (first == again).all()
    assert free.contains(first).all()
    assert len(np.unique(first, axis=0)) == 25


def test_vantage_points_begin_beside_the_start(free):
    points = sl.farthest_points(free, 3, rng=np.random.default_rng(0), start=(5.0, 4.0))
    assert np.hypot(*(points[0] - (5.0, 4.0))) < 0.1


def test_too_many_vantage_points_is_an_error_with_the_limit(free):
    with pytest.raises(sl.UnreachableError, match="has 1 to"):
        sl.farthest_points(free, 10**6, rng=np.random.default_rng(0))


@pytest.mark.parametrize("epsilon_m", [0.6, 1.0, 2.5])
def test_an_epsilon_cover_covers_in_shortest_path_distance(free, epsilon_m):
    cover = sl.epsilon_cover(free, epsilon_m)
    gaps = free.distances(cover, free.points()).min(axis=0)
    assert gaps.max() <= epsilon_m + 1e-6


def test_an_epsilon_cover_has_no_two_points_within_epsilon(free):
    between = free.distances(sl.epsilon_cover(free, 1.0))
    assert between[~np.eye(len(between), dtype=bool)].min() > 1.0 - 1e-6


def test_an_epsilon_cover_reaches_round_walls_not_through_them():
    """Two rooms joined by a door at one end: as the crow flies one point would do."""
    wall = np.zeros((21, 11), dtype=bool)
    wall[:20, 5] = True
    free = sl.OccupancyMap.from_array(wall, 0.1).free_space(0.0)
    cover = sl.epsilon_cover(free, 1.2)
    assert free.distances(cover, free.points()).min(axis=0).max() <= 1.2 + 1e-6
    assert (cover[:, 0] < 0.5).any()
    assert (cover[:, 0] > 0.6).any()


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 12), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_informative_points_gain_what_greedy_choice_gains(n, k, seed):
    rng = np.random.default_rng(seed)
    free = sl.OccupancyMap.from_array(np.zeros((5, 5), dtype=bool), 0.5).free_space(0.0)
    candidates = rng.uniform(0.2, 2.3, (n, 2))
    sees = rng.random((n, 15)) < 0.3
    mass = rng.dirichlet(np.ones(15))
    k = min(k, n)
    got = sl.informative_points(free, sparse.csr_array(sees), mass, k, candidates=candidates)
    left, total = mass.copy(), []
    for point in got:
        row = sees[np.flatnonzero((candidates == point).all(axis=1))[0]]
        assert left @ row >= max(left @ other for other in sees) - 1e-12
        total.append(left @ row)
        left = np.where(row, 0, left)
    assert total == sorted(total, reverse=True)
    assert len(np.unique(got, axis=0)) == k


def test_informative_points_see_more_mass_than_spread_ones(kitchen, free):
    sensor = sl.Sensor(range_m=1.5)
    candidates, cells = free.points(0.2), kitchen.target_cells()
    mass = kitchen.mass("cup", cells)
    sees = sl.visible(kitchen, candidates, cells, sensor)
    chosen = sl.informative_points(free, sees, mass, 6, candidates=candidates)
    spread = sl.farthest_points(free, 6, rng=np.random.default_rng(0))
    seen = [
        mass[np.unique(sl.visible(kitchen, p, cells, sensor).indices)].sum()
        for p in (chosen, spread)
    ]
    assert seen[0] > seen[1]


def test_informative_points_refuse_a_matrix_of_another_shape(free):
    with pytest.raises(ValueError, match="candidates x cells"):
        sl.informative_points(free, sparse.csr_array(np.ones((2, 3))), np.ones(3), 1)
