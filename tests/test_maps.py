import math
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import naive
from grids import ascii_map, ascii_mask
from sightline import FreeSpace, MapError, OccupancyMap, UnreachableError
from sightline._kernels.clearance import clearance

shapes = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9)
masks = arrays(np.bool_, shapes)
cells = arrays(np.int8, shapes, elements=st.sampled_from([0, 0, 0, 0, -1, 100]))
resolutions = st.floats(0.01, 2.0)
origins = st.tuples(st.floats(-50, 50), st.floats(-50, 50), st.floats(-math.pi, math.pi))
positions = st.tuples(st.floats(-100, 100), st.floats(-100, 100))

ROOMS = """
    ??????????????
    ?#############
    ?#......#....#
    ?#......#....#
    ?#..##..#....#
    ?#..##..#....#
    ?#...........#
    ?#############
"""
TWO_ROOMS = """
    #########
    #....#..#
    #....#..#
    #....#..#
    #########
"""


def nearest_said(error: pytest.ExceptionInfo) -> tuple[float, float]:
    """The position that an error recommends."""
    x, y = re.search(r"nearest free point is \((.+), (.+)\)\.$", str(error.value)).groups()
    return float(x), float(y)


# --- frames -----------------------------------------------------------------------------------


@given(positions, resolutions, origins)
def test_to_world_and_to_grid_are_inverse(point, resolution_m, origin):
    on = OccupancyMap.from_array([[0]], resolution_m, origin)
    assert on.to_world(on.to_grid(point)) == pytest.approx(point, abs=1e-9)
    assert on.to_grid(on.to_world(point)) == pytest.approx(point, abs=1e-7)


@given(st.integers(-50, 50), st.integers(-50, 50), resolutions, origins)
def test_the_centre_of_a_cell_lies_in_that_cell(row, column, resolution_m, origin):
    on = OccupancyMap.from_array([[0]], resolution_m, origin)
    assert on.cells_at(on.centres((row, column))).tolist() == [row, column]


@given(positions, resolutions, origins)
def test_cells_at_agrees_with_turning_by_hand(point, resolution_m, origin):
    on = OccupancyMap.from_array([[0]], resolution_m, origin)
    grid = on.to_grid(point)
    assume((np.abs(grid - np.rint(grid)) > 1e-6).all())  # on a border both answers are right
    assert tuple(on.cells_at(point)) == naive.cell_at(point, resolution_m, origin)


def test_the_origin_is_the_corner_of_the_lower_left_cell_and_yaw_turns_left():
    on = ascii_map("...\n...", 0.5, (2.0, 1.0, math.pi / 2))
    assert on.size_m == (1.5, 1.0)
    assert on.to_world((0, 0)).tolist() == [2.0, 1.0]
    assert on.centres((0, 2)) == pytest.approx((1.75, 2.25))
    assert on.contains([(1.9, 1.1), (2.1, 1.1), (1.1, 2.4), (0.9, 1.1)]).tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("shape", [(2,), (4, 2), (3, 4, 2), (0, 2)])
def test_positions_keep_their_shape(shape):
    on, points = ascii_map("...\n..."), np.zeros(shape)
    assert on.cells_at(points).shape == on.to_grid(points).shape == shape
    assert on.contains(points).shape == shape[:-1]
    assert on.look_up(on.occupancy, points, -2).shape == shape[:-1]


def test_look_up_gives_the_value_of_the_cell_or_of_the_outside():
    on = ascii_map(".#\n?.", 0.5, (1.0, 1.0, 0.0))
    points = [(1.1, 1.1), (1.1, 1.6), (1.9, 1.9), (0.99, 1.1), (2.01, 1.1)]
    assert on.look_up(on.occupancy, points, 7).tolist() == [-1, 0, 100, 7, 7]


@pytest.mark.parametrize("points", [1.0, (1.0, 2.0, 3.0), [(0.0, math.nan)], (math.inf, 0.0)])
def test_positions_must_be_finite_pairs(points):
    with pytest.raises(ValueError, match="Positions must"):
        ascii_map(".").cells_at(points)


# --- arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "resolution_m", "origin", "words"),
    [
        ([[0.5]], 1, (0, 0, 0), "float64"),
        ([["free"]], 1, (0, 0, 0), "integers or booleans"),
        ([[0, 101]], 1, (0, 0, 0), "-1..100, not 0..101"),
        ([[0, -2]], 1, (0, 0, 0), "not -2..0"),
        ([0, 1], 1, (0, 0, 0), r"shape \(2,\)"),
        (np.zeros((0, 3), int), 1, (0, 0, 0), r"shape \(0, 3\)"),
        ([[0]], 0, (0, 0, 0), "Resolution must be above 0 m per cell, not 0"),
        ([[0]], -0.1, (0, 0, 0), "not -0.1"),
        ([[0]], math.nan, (0, 0, 0), "not nan"),
        ([[0]], math.inf, (0, 0, 0), "not inf"),
        ([[0]], 1, (0, 0, math.nan), "finite x, y and yaw"),
    ],
)
def test_an_array_that_is_no_map_is_refused(array, resolution_m, origin, words):
    with pytest.raises(MapError, match=words):
        OccupancyMap.from_array(array, resolution_m, origin)


def test_an_origin_without_yaw_is_refused_as_in_a_file():
    with pytest.raises(MapError, match="yaw"):
        OccupancyMap.from_array([[0]], 1.0, (0.0, 0.0))


@pytest.mark.parametrize("value", [300, 0.5])
def test_the_constructor_does_not_change_values_silently(value):
    with pytest.raises(MapError):
        OccupancyMap(np.array([[value]]), 1.0)


def test_too_many_cells_are_refused():
    with pytest.raises(MapError, match=r"64008000.*64000000"):
        OccupancyMap(np.broadcast_to(np.int8(0), (8000, 8001)), 0.05)


def test_booleans_mean_occupied():
    assert OccupancyMap.from_array([[True, False]], 1.0).occupancy.tolist() == [[100, 0]]


def test_a_map_does_not_share_its_array_and_cannot_be_written():
    source = np.zeros((2, 2), np.int8)
    for on in (OccupancyMap(source, 1.0), OccupancyMap.from_array(source, 1.0)):
        source[0, 0] = 100
        assert on.occupancy[0, 0] == 0
        source[0, 0] = 0
        with pytest.raises(ValueError, match="read-only"):
            on.occupancy[0, 0] = 100
        with pytest.raises(AttributeError):
            on.resolution_m = 2.0


@given(arrays(np.int8, shapes, elements=st.integers(-1, 100)))
def test_each_cell_is_free_or_occupied_or_unknown(values):
    on = OccupancyMap(values, 1.0)
    assert (on.free.astype(int) + on.occupied + on.unknown == 1).all()
    assert np.array_equal(on.free, values == 0)
    assert np.array_equal(on.occupied, values == 100)


def test_thresholded_decides_every_cell():
    on = OccupancyMap.from_array([[-1, 0, 1, 19, 20, 64, 65, 99, 100]], 1.0)
    assert on.thresholded().occupancy.tolist() == [[-1, 0, 0, 0, -1, -1, 100, 100, 100]]
    decided = on.thresholded(free_max=0, occupied_min=1)
    assert decided.occupancy.tolist() == [[-1, 0, *[100] * 7]]


@pytest.mark.parametrize(("low", "high"), [(-1, 65), (65, 65), (70, 65), (19, 101)])
def test_thresholds_out_of_order_are_refused(low, high):
    with pytest.raises(MapError, match=f"not {low} and {high}"):
        ascii_map(".").thresholded(free_max=low, occupied_min=high)


# --- clearance and free space -----------------------------------------------------------------


@pytest.mark.kernel
@given(masks)
def test_clearance_is_the_distance_to_the_nearest_square(blocked):
    assert clearance(blocked) == pytest.approx(naive.clearance(blocked), abs=1e-12)


@pytest.mark.kernel
@pytest.mark.parametrize("share", [0.001, 0.02, 0.1])
def test_clearance_holds_on_larger_maps(share):
    blocked = np.random.default_rng(5).random((33, 47)) < share
    assert clearance(blocked) == pytest.approx(naive.clearance(blocked), abs=1e-12)


def test_clearance_is_in_metres_and_infinite_without_obstacles():
    assert ascii_map(".?#", 0.5).clearance_m.tolist() == [[0.75, 0.25, 0.0]]
    assert np.isinf(ascii_map("..\n.?").clearance_m).all()


@given(cells, st.floats(0, 3), resolutions)
def test_free_space_is_the_largest_part_of_the_exactly_inflated_map(values, radius, resolution_m):
    on = OccupancyMap(values, resolution_m)
    gap = naive.clearance(values == 100)
    assume((np.abs(gap - radius) > 1e-6).all())
    room = (values == 0) & (gap >= radius)
    if not room.any():
        with pytest.raises(MapError):
            on.free_space(radius * resolution_m)
        return
    mask = on.free_space(radius * resolution_m).mask
    parts = [naive.connected(room, tuple(cell)) for cell in np.argwhere(room)]
    assert any(np.array_equal(mask, part) for part in parts)
    assert mask.sum() == max(part.sum() for part in parts)


@given(cells, st.floats(0, 3), st.floats(0, 3))
def test_a_smaller_robot_gets_wherever_a_larger_one_gets(values, one, other):
    on = OccupancyMap(values, 1.0)
    small, large = min(one, other), max(one, other)
    room = (values == 0) & (on.clearance_m >= large)
    assume(room.any())
    start = on.centres(np.argwhere(room)[0])
    wide = on.free_space(large, start=start)
    assert not (wide.mask & ~on.free_space(small, start=start).mask).any()


def test_a_radius_equal_to_the_gap_fits():
    on = ascii_map("#...#", 0.1)
    assert on.free_space(0.15).mask.tolist() == [[False, False, True, False, False]]
    assert on.free_space(0.05).mask.sum() == 3


def test_a_robot_may_stand_beside_unknown_but_not_on_it():
    free = ascii_map("?..?").free_space(0.4)
    assert free.mask.tolist() == [[False, True, True, False]]


def test_parts_that_meet_at_a_corner_are_apart():
    assert ascii_map("..#\n..#\n##.").free_space(0.0).area_m2 == 4.0


def test_without_a_start_the_largest_part_is_taken_and_with_one_its_own():
    on = ascii_map(TWO_ROOMS)
    large = on.free_space(0.1)
    assert large.area_m2 == 12.0
    small = on.free_space(0.1, start=(7.0, 2.0))
    assert small.area_m2 == 6.0
    assert not (large.mask & small.mask).any()
    assert np.array_equal(on.free_space(0.1, start=(1.5, 1.5)).mask, large.mask)


@pytest.mark.parametrize(
    ("start", "why"),
    [
        ((5.2, 2.6), "lies inside an obstacle"),
        ((-3.0, 4.0), "lies outside the map"),
        ((0.5, 3.5), "lies in unknown space"),
        ((2.3, 3.5), "is closer to an obstacle than the robot's radius of 0.6 m"),
    ],
)
def test_a_start_where_no_robot_can_stand_is_an_error_with_the_nearest_point(start, why):
    on = ascii_map(ROOMS)
    with pytest.raises(UnreachableError) as caught:
        on.free_space(0.6, start=start)
    assert f"({start[0]:.2f}, {start[1]:.2f}) {why}; " in str(caught.value)
    room = on.free & (naive.clearance(on.occupied) >= 0.6)
    gaps = [math.dist(start, (c + 0.5, r + 0.5)) for r, c in np.argwhere(room)]
    assert math.dist(start, nearest_said(caught)) == pytest.approx(min(gaps), abs=1e-6)


def test_a_position_in_another_part_cannot_be_reached():
    free = ascii_map(TWO_ROOMS).free_space(0.1)
    assert free.require((1.5, 1.5)).tolist() == [1.5, 1.5]
    with pytest.raises(UnreachableError, match="cannot be reached") as caught:
        free.require((7.5, 2.2))
    assert nearest_said(caught) == (4.5, 2.5)
    with pytest.raises(ValueError, match="One position"):
        free.require([(1.5, 1.5), (2.5, 1.5)])


def test_a_start_must_be_one_position():
    with pytest.raises(ValueError, match="One position"):
        ascii_map("...").free_space(0.1, start=[(0.5, 0.5), (1.5, 0.5)])


def test_a_start_far_off_lies_outside_the_map():
    with pytest.raises(UnreachableError, match="outside the map"):
        ascii_map("...").free_space(0.1, start=(1e30, 0.0))


@pytest.mark.parametrize("radius", [-0.1, math.nan, math.inf])
def test_a_radius_must_be_a_number_of_at_least_zero(radius):
    with pytest.raises(MapError, match=f"at least 0 m, not {radius}"):
        ascii_map("...").free_space(radius)


def test_a_robot_too_large_for_the_map_is_told_the_widest_spot():
    with pytest.raises(MapError, match=r"radius 2 m fits nowhere.*takes 1\.50 m"):
        ascii_map("#####\n#...#\n#...#\n#...#\n#####").free_space(2)


def test_a_map_without_free_cells_has_no_free_space():
    with pytest.raises(MapError, match="no free cell"):
        ascii_map("#?").free_space(0.1)


def test_points_are_the_centres_on_a_lattice_row_by_row():
    free = ascii_map("....\n.##.\n....", 0.5).free_space(0.0)
    assert np.array_equal(free.mask, ascii_mask("....\n.##.\n...."))
    assert free.points()[:5].tolist() == [[x, 0.25] for x in (0.25, 0.75, 1.25, 1.75)] + [
        [0.25, 0.75]
    ]
    assert free.points(1.0).tolist() == [[0.25, 0.25], [1.25, 0.25], [0.25, 1.25], [1.25, 1.25]]


@given(cells, positions)
def test_nearest_is_the_nearest_and_stands_in_free_space(values, point):
    on = OccupancyMap(values, 1.0)
    assume((values == 0).any())
    free = on.free_space(0.0)
    near = free.nearest(point)
    assert free.contains(near)
    best = min(math.dist(point, (c + 0.5, r + 0.5)) for r, c in np.argwhere(free.mask))
    assert math.dist(point, near) == pytest.approx(best)


@given(st.integers(0, 2**32 - 1), st.floats(-np.pi, np.pi))
def test_the_cell_of_a_position_does_not_depend_on_its_neighbours_in_the_array(seed, yaw):
    """Lattice corners of a turned map lie on the lines between cells, where rounding decides."""
    on = OccupancyMap(np.zeros((6, 7), np.int8), 0.05, (0.3, -0.7, yaw))
    corners = on.to_world(np.random.default_rng(seed).integers(0, 7, (20, 2)))
    assert [on.cells_at(p).tolist() for p in corners] == on.cells_at(corners).tolist()


def test_a_distance_is_the_same_alone_and_among_others():
    on = OccupancyMap(np.zeros((6, 7), np.int8), 0.05, (0.3, -0.7, -2.0))
    free = on.free_space(0.0)
    corners = on.to_world(np.indices((7, 6)).reshape(2, -1).T)
    together = free.distances(corners)
    for i in range(0, len(corners), 5):
        assert free.distances(corners[i : i + 1], corners)[0] == pytest.approx(together[i])


def test_without_beside_unknown_the_robot_keeps_away_from_it():
    on = ascii_map("..........\n....??....\n..........\n..........\n..........", resolution_m=0.1)
    near, away = on.free_space(0.15), on.free_space(0.15, beside_unknown=False)
    assert near.mask.sum() == 48
    assert away.mask.sum() == 48 - 10  # the ring of cells around the two


def test_a_free_space_of_two_parts_has_no_path_between_them():
    on = ascii_map("...#...")
    both = FreeSpace(on, on.free, 0.0)
    with pytest.raises(UnreachableError, match="no way"):
        both.path((0.5, 0.5), (5.5, 0.5))
    assert both.distances([(0.5, 0.5)], [(5.5, 0.5)])[0, 0] == np.inf


@pytest.mark.parametrize("mask", [np.ones((2, 2), bool), np.zeros((1, 3), bool)])
def test_a_free_space_needs_a_mask_of_its_map(mask):
    with pytest.raises(MapError, match="mask"):
        FreeSpace(ascii_map("..."), mask, 0.0)


def test_what_is_kept_cannot_be_written_to():
    on = ascii_map(".#?")
    free = on.free_space(0.0)
    for array in (on.free, on.occupied, on.unknown, on.walls, on.clearance_m, free.mask):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1
