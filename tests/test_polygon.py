import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.polygon import (
    area_in_square,
    crosses_itself,
    holds,
    is_convex,
    signed_area,
    triangles,
)

SQUARE = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)])
L_SHAPE = np.array([(0.0, 0.0), (3.0, 0.0), (3.0, 1.0), (1.0, 1.0), (1.0, 3.0), (0.0, 3.0)])
U_SHAPE = np.array([(0, 0), (5, 0), (5, 3), (4, 3), (4, 1), (1, 1), (1, 3), (0, 3)], float)


@st.composite
def stars(draw) -> np.ndarray:
    """Polygons seen whole from (0, 0), mostly not convex, counter-clockwise."""
    radii = draw(st.lists(st.floats(0.3, 3.0), min_size=3, max_size=12))
    turn = draw(st.floats(0, 2 * math.pi))
    angles = turn + 2 * math.pi * np.arange(len(radii)) / len(radii)
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)


corners = st.tuples(st.floats(-3, 3), st.floats(-3, 3))
steps = st.floats(0.1, 2.0)


def tiles(side: float, reach: float = 3.5):
    """Squares of a lattice that cover the box from -reach to reach."""
    edges = np.arange(math.floor(-reach / side), math.ceil(reach / side) + 1) * side
    return [
        (np.array([x, y]), np.array([x + side, y + side])) for x in edges[:-1] for y in edges[:-1]
    ]


@pytest.mark.parametrize(
    ("polygon", "low", "high", "area"),
    [
        (SQUARE, (0.5, 0.5), (1.0, 1.5), 0.5),  # inside
        (SQUARE, (-1, -1), (3, 3), 4.0),  # around
        (SQUARE, (1, 1), (3, 3), 1.0),  # at a corner
        (SQUARE, (2, 0), (3, 1), 0.0),  # beside
        (SQUARE, (5, 5), (6, 6), 0.0),  # far off
        (np.array([(0, 0), (2, 0), (0, 2)], float), (-1, 0), (3, 1), 1.5),  # a slanted side
        (L_SHAPE, (0.5, 0.5), (2.0, 2.0), 0.5 * 1.5 + 0.5 * 1.0),
        (L_SHAPE, (1, 1), (3, 3), 0.0),  # the notch
        (U_SHAPE, (0, 2), (5, 3), 2.0),  # falls into two parts
        (U_SHAPE, (0.5, 2.5), (4.5, 9.0), 0.5),
        (U_SHAPE[::-1], (0, 2), (5, 3), 2.0),  # clockwise
    ],
)
def test_area_in_square_is_exact_in_known_cases(polygon, low, high, area):
    assert area_in_square(polygon, np.array(low, float), np.array(high, float)) == pytest.approx(
        area
    )


@given(stars(), steps)
def test_shares_of_a_tiling_sum_to_the_area_of_the_polygon(polygon, side):
    shares = [area_in_square(polygon, low, high) for low, high in tiles(side)]
    assert min(shares) >= 0
    assert max(shares) <= side**2 * (1 + 1e-9)
    assert sum(shares) == pytest.approx(signed_area(polygon), rel=1e-9)


@given(stars(), corners, steps)
def test_area_in_square_agrees_with_counting_points(polygon, low, side):
    n = 300
    offsets = (np.arange(n) + 0.5) / n * side
    points = np.stack(np.meshgrid(*np.add.outer(low, offsets)), axis=-1)
    counted = holds(polygon, points).mean() * side**2
    exact = area_in_square(polygon, np.array(low), np.array(low) + side)
    # only lattice squares on the outline are counted wrongly
    assert counted == pytest.approx(exact, abs=len(polygon) * 3 * side**2 / n)


@given(stars(), corners, steps, corners)
def test_area_does_not_depend_on_direction_first_corner_or_place(polygon, low, side, shift):
    low, high = np.array(low), np.array(low) + side
    area = area_in_square(polygon, low, high)
    assert area_in_square(polygon[::-1], low, high) == pytest.approx(area, abs=1e-12)
    assert area_in_square(np.roll(polygon, 1, axis=0), low, high) == pytest.approx(area, abs=1e-12)
    moved = area_in_square(polygon + shift, low + shift, high + shift)
    assert moved == pytest.approx(area, abs=1e-9)


@given(stars())
def test_signed_area_is_positive_for_counter_clockwise_corners(polygon):
    x, y = polygon.T
    triangles = (x * np.roll(y, -1) - np.roll(x, -1) * y) / 2  # all round (0, 0)
    assert signed_area(polygon) == pytest.approx(triangles.sum())
    assert signed_area(polygon[::-1]) == pytest.approx(-signed_area(polygon))
    assert signed_area(SQUARE) == 4.0


@given(
    st.lists(st.integers(-2, 2), min_size=1, max_size=3),
    st.lists(st.integers(-2, 2), min_size=1, max_size=3),
)
def test_each_point_of_a_tiling_lies_in_one_tile(xs, ys):
    """Also the points on common sides and corners, for tiles of squares and of triangles."""
    points = np.array([(x / 2, y / 2) for x in xs for y in ys])
    count = np.zeros(len(points), dtype=int)
    for low, _ in tiles(1.0, reach=2.0):
        lower = low + np.array([(0, 0), (1, 0), (1, 1)])
        upper = low + np.array([(0, 0), (1, 1), (0, 1)])
        count += holds(lower, points).astype(int) + holds(upper, points)
    assert (count == 1).all()


@given(stars(), st.lists(corners, min_size=1, max_size=20))
def test_holds_agrees_with_the_winding_number(polygon, points):
    array = np.array(points)
    inside = holds(polygon, array)
    for point, found in zip(array, inside, strict=True):
        rays = polygon - point
        if np.hypot(*rays.T).min() < 1e-6:
            continue
        turns = np.angle((np.roll(rays, -1, axis=0) @ (1, 1j)) / (rays @ (1, 1j)))
        if np.abs(np.abs(turns) - math.pi).min() < 1e-6:  # on a side
            continue
        assert found == (round(turns.sum() / (2 * math.pi)) != 0)


def test_holds_keeps_the_shape_of_the_points():
    points = np.array([[(0.5, 2.0), (2.0, 2.0)], [(2.0, 0.5), (-1.0, 0.5)]])
    assert holds(L_SHAPE, points).tolist() == [[True, False], [True, False]]


@given(stars())
def test_a_polygon_seen_whole_from_inside_does_not_cross_itself(polygon):
    assert not crosses_itself(polygon)
    assert not crosses_itself(polygon[::-1])


@pytest.mark.parametrize("polygon", [SQUARE, L_SHAPE, U_SHAPE])
def test_simple_polygons_do_not_cross_themselves(polygon):
    for first in range(len(polygon)):
        assert not crosses_itself(np.roll(polygon, first, axis=0))


@pytest.mark.parametrize(
    "polygon",
    [
        [(0, 0), (2, 2), (2, 0), (0, 2)],  # a bow tie
        [(0, 0), (4, 0), (4, 2), (2, 0), (0, 2)],  # a corner touches a side
        [(0, 0), (2, 0), (1, 1), (2, 2), (0, 2), (1, 1)],  # two corners meet
        [(0, 0), (3, 0), (3, 1), (2, 1), (2, 0), (1, 0), (1, 1), (0, 1)],  # sides overlap
        [(0, 0), (2, 0), (1, 0), (1, 1)],  # folds back on itself
        [(0, 0), (3, 0), (3, 3), (1, 3), (1, -1), (0, -1)],
    ],
)
def test_polygons_that_meet_themselves_are_found_from_any_first_corner(polygon):
    array = np.array(polygon, float)
    for first in range(len(array)):
        assert crosses_itself(np.roll(array, first, axis=0))


def turned(polygon: np.ndarray, angle: float) -> np.ndarray:
    cos, sin = math.cos(angle), math.sin(angle)
    return polygon @ np.array([(cos, -sin), (sin, cos)])


def check_tiling(polygon: np.ndarray, rng: np.random.Generator) -> None:
    """Triangles counter-clockwise, inside, without overlap and without gaps."""
    tiling = triangles(polygon)
    assert len(tiling) <= len(polygon) - 2
    areas = np.array([signed_area(polygon[corners]) for corners in tiling])
    assert (areas > 0).all()
    assert areas.sum() == pytest.approx(abs(signed_area(polygon)))
    points = rng.uniform(polygon.min(axis=0), polygon.max(axis=0), (200, 2))
    covers = np.sum([holds(polygon[corners], points) for corners in tiling], axis=0)
    np.testing.assert_array_equal(covers, holds(polygon, points))


@given(stars(), st.booleans(), st.integers(0, 2**32 - 1))
def test_triangles_tile_a_polygon(polygon, clockwise, seed):
    check_tiling(polygon[::-1] if clockwise else polygon, np.random.default_rng(seed))


COMB = np.array(
    [
        (0, 0),
        (9, 0),
        (9, 4),
        (8, 4),
        (7, 1),
        (6, 4),
        (5, 4),
        (4, 1),
        (3, 4),
        (2, 4),
        (1, 1),
        (0, 4),
    ],
    float,
)
SPIRAL = np.array(
    [
        *[(0, 0), (6, 0), (6, 6), (1, 6), (1, 2), (4, 2), (4, 4)],
        *[(3, 4), (3, 3), (2, 3), (2, 5), (5, 5), (5, 1), (0, 1)],
    ],
    float,
)
MIDDLES = np.array([(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1)], float)


@pytest.mark.parametrize("polygon", [SQUARE, L_SHAPE, U_SHAPE, COMB, SPIRAL, MIDDLES])
@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_triangles_tile_odd_shapes_from_any_first_corner(polygon, angle):
    for first in range(len(polygon)):
        check_tiling(np.roll(turned(polygon, angle), first, axis=0), np.random.default_rng(first))


@given(st.sampled_from([MIDDLES, L_SHAPE, U_SHAPE]), st.integers(0, 700), st.integers(0, 20))
def test_rounding_leaves_no_slivers_where_sides_have_corners_halfway(polygon, percent, first):
    halfway = np.stack([polygon, (polygon + np.roll(polygon, -1, axis=0)) / 2], axis=1)
    askew = turned(np.roll(halfway.reshape(-1, 2), first, axis=0), percent / 100)
    assert min(signed_area(askew[corners]) for corners in triangles(askew)) > 0.1
    check_tiling(askew, np.random.default_rng(first))
    assert is_convex(askew) == is_convex(polygon)


def test_a_corner_in_a_straight_line_is_in_no_triangle_alone():
    assert len(triangles(MIDDLES)) == 2
    spike = np.array([(0, 0), (4, 0), (4, 1), (2, 1), (1, 1), (0, 1)], float)
    assert len(triangles(spike)) == 2


@given(stars())
def test_convex_is_what_every_middle_of_two_corners_says(polygon):
    middles = (polygon[:, None] + polygon[None, :]).reshape(-1, 2) / 2
    outside = ~holds(polygon * (1 + 1e-9), middles)  # the polygon is seen whole from (0, 0)
    if is_convex(polygon):
        assert not outside.any()
    assert is_convex(polygon) == is_convex(polygon[::-1])


@pytest.mark.parametrize(
    ("polygon", "convex"),
    [(SQUARE, True), (MIDDLES, True), (L_SHAPE, False), (U_SHAPE, False), (COMB, False)],
)
def test_which_shapes_are_convex(polygon, convex):
    for first in range(len(polygon)):
        assert is_convex(np.roll(polygon, first, axis=0)) is convex
