from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from naive import grid_graph_field, stays_open, visibility_graph_distances
from sightline.distance import Geodesics, eight_connected_field

SLACK = 1e-9


@st.composite
def masks(draw, largest=9):
    """Small free masks from airy to maze-like, with at least one free cell."""
    rows, columns = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    share = draw(st.sampled_from([0.1, 0.25, 0.4]))
    seed = draw(st.integers(0, 2**32 - 1))
    free = np.random.default_rng(seed).random((rows, columns)) > share
    free[draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))] = True
    return free


@st.composite
def masks_with_points(draw, count=3, largest=9):
    """A mask and positions in its free cells: centres, points on grid lines and anywhere."""
    free = draw(masks(largest))
    cells = np.argwhere(free)
    points = []
    for _ in range(count):
        row, column = cells[draw(st.integers(0, len(cells) - 1))]
        inside = st.sampled_from([0.5, 0.25, 0.75]) | st.floats(0.01, 0.99)
        points.append((column + draw(inside), row + draw(inside)))
    return free, np.array(points)


@pytest.mark.kernel
@settings(deadline=None, max_examples=150)
@given(masks_with_points(count=3))
def test_matrix_equals_visibility_graph(case):
    free, points = case
    expected = visibility_graph_distances(free, points, points)
    np.testing.assert_allclose(Geodesics(free).matrix(points), expected, atol=1e-6)


@pytest.mark.kernel
@settings(deadline=None, max_examples=150)
@given(masks_with_points(count=1))
def test_field_equals_visibility_graph_at_every_cell(case):
    free, points = case
    cells = np.argwhere(free)
    expected = np.full(free.shape, np.inf)
    expected[free] = visibility_graph_distances(free, points, cells[:, ::-1] + 0.5)[0]
    np.testing.assert_allclose(Geodesics(free).field(points[0]), expected, atol=1e-6)


@pytest.mark.kernel
@settings(deadline=None, max_examples=100)
@given(masks_with_points(count=2))
def test_path_is_as_long_as_the_distance_and_can_be_driven(case):
    free, (start, goal) = case
    solver = Geodesics(free)
    length = solver.matrix(start, goal)[0, 0]
    if not np.isfinite(length):
        return
    path = solver.path(start, goal)
    assert np.allclose(path[0], start)
    assert np.allclose(path[-1], goal)
    assert np.hypot(*np.diff(path, axis=0).T).sum() == pytest.approx(length, abs=1e-6)
    assert all(stays_open(free, a, b) for a, b in pairwise(path))


@settings(deadline=None)
@given(masks_with_points(count=4))
def test_distances_are_a_metric_above_the_straight_line(case):
    free, points = case
    matrix = Geodesics(free).matrix(points)
    straight = np.hypot(*(points[:, None] - points).transpose(2, 0, 1))
    assert (np.diag(matrix) == 0).all()
    assert (matrix == matrix.T).all()
    assert (matrix >= straight - SLACK).all()
    assert (matrix <= (matrix[:, :, None] + matrix[None]).min(axis=1) + 1e-6).all()


@settings(deadline=None)
@given(masks())
def test_reachable_means_connected_by_sides(free):
    parts, _ = ndimage.label(free)
    row, column = np.argwhere(free)[0]
    field = Geodesics(free).field(np.array([column + 0.5, row + 0.5]))
    assert (np.isfinite(field) == (parts == parts[row, column])).all()


@settings(deadline=None)
@given(masks_with_points(count=1, largest=12), st.floats(0, 15))
def test_a_limited_field_agrees_below_the_limit(case, limit):
    free, points = case
    solver = Geodesics(free)
    full, part = solver.field(points[0]), solver.field(points[0], limit=limit)
    near = full <= limit
    np.testing.assert_allclose(part[near], full[near], atol=1e-6)
    assert (part[~near] > limit - SLACK).all()


@settings(deadline=None)
@given(masks_with_points(count=2, largest=12))
def test_lowering_a_field_is_the_minimum_of_two(case):
    free, points = case
    solver = Geodesics(free)
    first, second = (solver.field(p) for p in points)
    np.testing.assert_allclose(solver.lower(first, points[1]), np.minimum(first, second), atol=1e-6)


@pytest.mark.kernel
@settings(deadline=None, max_examples=60)
@given(masks(largest=7))
def test_eight_connected_equals_bellman_ford(free):
    row, column = np.argwhere(free)[0]
    field = eight_connected_field(free, np.array([column + 0.5, row + 0.5]))
    np.testing.assert_allclose(field, grid_graph_field(free, (row, column)), atol=1e-9)


@settings(deadline=None)
@given(masks(largest=12))
def test_eight_connected_is_longer_but_never_shorter(free):
    row, column = np.argwhere(free)[0]
    source = np.array([column + 0.5, row + 0.5])
    exact, grid = Geodesics(free).field(source), eight_connected_field(free, source)
    reached = np.isfinite(exact)
    assert (np.isfinite(grid) == reached).all()
    assert (grid[reached] >= exact[reached] - SLACK).all()


def test_an_open_room_has_straight_distances():
    solver = Geodesics(np.ones((40, 60), dtype=bool))
    source = np.array([3.2, 30.9])
    rows, columns = np.mgrid[:40, :60] + 0.5
    expected = np.hypot(columns - source[0], rows - source[1])
    np.testing.assert_allclose(solver.field(source), expected, atol=1e-5)


def test_two_threads_give_the_same_matrix():
    rng = np.random.default_rng(3)
    free = rng.random((40, 40)) > 0.2
    cells = np.argwhere(free)
    points = cells[rng.integers(len(cells), size=21)][:, ::-1] + 0.5
    solver = Geodesics(free)
    assert (solver.matrix(points) == solver.matrix(points, threads=2)).all()
    assert (solver.matrix(points, points[:5]) == solver.matrix(points, points[:5], threads=3)).all()


def test_empty_lists_of_positions_are_fine():
    solver = Geodesics(np.ones((3, 3), dtype=bool))
    none = np.empty((0, 2))
    assert solver.matrix(none).shape == (0, 0)
    assert solver.matrix(np.array([[1.5, 1.5]]), none, threads=2).shape == (1, 0)


def l_shaped_detour(n):
    """A free n x n square with its upper right quarter blocked."""
    free = np.ones((n, n), dtype=bool)
    free[n // 2 :, n // 2 :] = False
    return free


@pytest.mark.parametrize("n", [10, 20, 40])
def test_the_way_round_a_corner_is_exact_at_any_resolution(n):
    start, goal = np.array([0.25, 0.95]) * n, np.array([0.95, 0.25]) * n
    corner = np.array([0.5, 0.5]) * n
    expected = np.hypot(*(start - corner)) + np.hypot(*(goal - corner))
    got = Geodesics(l_shaped_detour(n)).matrix(start, goal)[0, 0]
    assert got == pytest.approx(expected, abs=1e-4)


def test_no_way_between_blocked_cells_that_touch_at_a_corner():
    free = np.array([[True, False], [False, True]])
    assert Geodesics(free).field(np.array([0.5, 0.5]))[1, 1] == np.inf
