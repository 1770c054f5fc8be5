import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from naive import first_sight, who_sees_what
from sightline._kernels import raycast
from sightline._kernels.clearance import clearance
from sightline.places import Places, Surface


def padded(opaque):
    return np.pad(opaque, 1, constant_values=True)


def room_in(opaque):
    """What the ray kernels take: distances to the nearest opaque square, padded and flat."""
    return clearance(padded(opaque)).ravel()


@st.composite
def ray_cases(draw):
    """Opaque masks with viewers and targets at centres (many exact corners) or anywhere."""
    rows, columns = draw(st.integers(2, 16)), draw(st.integers(2, 16))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    opaque = rng.random((rows, columns)) < draw(st.sampled_from([0.02, 0.1, 0.3, 0.5]))
    points = rng.random((6, 2)) * (columns, rows)
    if draw(st.booleans()):
        points = np.floor(points) + 0.5
    return opaque, points, draw(st.sampled_from([0.0, 0.9, 2.5])), draw(st.floats(0.5, 20))


@pytest.mark.kernel
@settings(deadline=None, max_examples=200)
@given(ray_cases())
def test_line_of_sight_equals_a_careful_march(case):
    opaque, points, into, reach = case
    width = opaque.shape[1] + 2
    seen, first = np.empty(36, np.int32), np.empty(7, np.int32)
    at = points + 1
    raycast.who_sees_what(room_in(opaque), width, at, at, reach, into, seen, first)
    got = np.zeros((6, 6), dtype=bool)
    for i in range(6):
        got[i, seen[first[i] : first[i + 1]]] = True
    expected = who_sees_what(opaque, points, points, reach, into)
    off_range = np.abs(np.hypot(*(points[:, None] - points).transpose(2, 0, 1)) - reach) > 1e-6
    assert (got == expected)[off_range].all()


@settings(deadline=None)
@given(ray_cases())
def test_seeing_across_open_floor_is_mutual(case):
    opaque, points, _, _ = case
    width = opaque.shape[1] + 2
    code = padded(opaque).astype(np.uint8).ravel()
    for a in points + 1:
        for b in points + 1:
            there = raycast.segment_is_clear(code, width, *a, *b)
            assert there == raycast.segment_is_clear(code, width, *b, *a)


@pytest.mark.kernel
@settings(deadline=None, max_examples=100)
@given(ray_cases(), st.floats(0.3, 3.2), st.integers(0, 2**32 - 1))
def test_first_sights_equal_looking_pose_by_pose(case, half_angle, seed):
    opaque, points, into, reach = case
    rng = np.random.default_rng(seed)
    poses = np.column_stack([points, rng.uniform(-3, 3, len(points))])
    out = np.empty(len(points), np.int64)
    shifted = np.add(poses, (1, 1, 0))
    raycast.first_sights(
        room_in(opaque), opaque.shape[1] + 2, shifted, points + 1, reach, half_angle, into, out
    )
    expected = [first_sight(opaque, poses, p, reach, half_angle, into) for p in points]
    assert out.tolist() == expected


def room(text, resolution_m=0.5):
    rows = [line for line in text.split() if line][::-1]
    values = {"#": 100, ".": 0, "?": -1}
    cells = [[values[mark] for mark in row] for row in rows]
    return sl.OccupancyMap.from_array(np.array(cells), resolution_m)


TABLE = """
    #########
    #.......#
    #..##...#
    #..##...#
    #.......#
    #########
"""


def views(home, viewer, targets, **sensor):
    return sl.visible(home, [viewer], targets, sl.Sensor(**sensor)).toarray()[0].tolist()


def test_a_camera_looks_over_free_standing_furniture():
    assert views(room(TABLE), (0.75, 1.5), [(3.75, 1.5), (1.75, 1.5)], range_m=5) == [True, True]


def test_walls_hide_what_is_behind_them():
    two_rooms = room("##### #.#.# #.#.# #####")
    assert views(two_rooms, (0.75, 1.25), [(1.75, 1.25)], range_m=5) == [False]


def test_a_disc_sees_through_walls():
    two_rooms = room("##### #.#.# #.#.# #####")
    assert views(two_rooms, (0.75, 1.25), [(1.75, 1.25)], range_m=5, kind="disc") == [True]


def box(x0, y0, x1, y1):
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])


def furnished(height_m):
    table = Surface("table", "DiningTable", box(1.5, 1.0, 2.5, 2.0), height_m)
    return sl.Scenario("room", room(TABLE), Places({"table": table}))


@pytest.mark.parametrize(
    ("height_m", "seen"), [(0.8, True), (1.19, True), (1.2, False), (2, False)]
)
def test_surfaces_as_high_as_the_camera_hide_what_is_behind(height_m, seen):
    assert views(furnished(height_m), (0.75, 1.5), [(3.75, 1.5)], range_m=5) == [seen]


def test_a_camera_looks_a_little_way_into_a_high_shelf():
    near, far = (1.75, 1.5), (2.45, 1.5)
    shelf = furnished(1.8)
    assert views(shelf, (0.75, 1.5), [near, far], range_m=5, sees_into_m=0.7) == [True, False]
    assert views(shelf, (0.75, 1.5), [near, far], range_m=5, sees_into_m=0.0) == [False, False]


def test_a_low_counter_along_a_wall_is_looked_over_once_it_is_named():
    kitchen = room("##### #...# ###.# #...# #####")
    viewer, behind = (0.75, 0.75), (0.75, 1.75)
    assert views(kitchen, viewer, [behind], range_m=5) == [False]
    counter = Surface("counter", "CounterTop", box(0.5, 1.0, 1.5, 1.5), 0.9)
    home = sl.Scenario("kitchen", kitchen, Places({"counter": counter}))
    assert views(home, viewer, [behind], range_m=5) == [True]


def test_a_thing_behind_a_wall_is_never_seen_whatever_leans_on_it():
    """The wall is one cell; a named low counter on its far side does not open it."""
    wall = room("####### #.#...# #.#...# #.#...# #######")
    counter = Surface("counter", "CounterTop", box(1.5, 0.5, 2.0, 2.0), 0.9)
    home = sl.Scenario("two rooms", wall, Places({"counter": counter}))
    assert views(home, (0.75, 1.25), [(1.75, 1.25)], range_m=5) == [False]


def test_range_is_inclusive():
    hall = room("####### #.....# #######")
    assert views(hall, (0.75, 0.75), [(2.75, 0.75), (2.76, 0.75)], range_m=2.0) == [True, False]


def test_what_lies_off_the_map_is_not_seen_in_line_of_sight():
    open_floor = room(". .")
    for on in (room(TABLE), open_floor):
        inside = on.to_world((0.5, 0.5))
        for off in ((-1.0, 1.5), (9.0, 1.5), (1000.0, 0.3)):
            assert views(on, inside, [off], range_m=2.5) == [False]
            assert views(on, off, [inside], range_m=2.5) == [False]


def test_from_inside_a_wall_nothing_is_seen():
    assert views(room(TABLE), (0.25, 1.5), [(0.75, 1.5)], range_m=5) == [False]


def test_walls_around_a_room_are_opaque_where_the_floor_outside_is_free():
    """The walls touch the rim of the map nowhere; the table inside encloses no room."""
    hall = np.zeros((30, 40), dtype=bool)
    hall[5:25, 5:35] = True
    hall[6:24, 6:34] = False
    hall[12:15, 18:22] = True
    on = sl.OccupancyMap.from_array(hall, 0.1)
    assert on.walls[5, 5]
    assert not on.walls[13, 20]
    assert views(on, (1.0, 1.0), [(0.2, 1.0), (3.0, 1.35)], range_m=5) == [False, True]


def test_sparse_result_has_a_row_per_point_and_a_column_per_cell():
    sees = sl.visible(room(TABLE), np.empty((0, 2)), [(1.0, 1.0)], sl.Sensor())
    assert sees.shape == (0, 1)
    assert sl.visible(room(TABLE), [(0.75, 0.75)], np.empty((0, 2)), sl.Sensor()).shape == (1, 0)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.floats(0.5, 3), st.floats(0, 2))
def test_a_longer_range_sees_no_less(seed, range_m, more_m):
    rng = np.random.default_rng(seed)
    home = sl.Scenario.load("kitchen1")
    points, cells = rng.uniform(0, 8, (4, 2)), rng.uniform(0, 8, (60, 2))
    short = sl.visible(home, points, cells, sl.Sensor(range_m=range_m)).toarray()
    far = sl.visible(home, points, cells, sl.Sensor(range_m=range_m + more_m)).toarray()
    disc = sl.visible(home, points, cells, sl.Sensor(range_m=range_m, kind="disc")).toarray()
    assert (short <= far).all()
    assert (short <= disc).all()


def test_turning_the_map_frame_changes_nothing():
    straight = room(TABLE)
    turned = sl.OccupancyMap(straight.occupancy, straight.resolution_m, (3.0, -2.0, 0.7))
    rng = np.random.default_rng(0)
    grid = rng.uniform(1, 5, (20, 2))
    views = [
        sl.visible(on, on.to_world(grid), on.to_world(grid), sl.Sensor(range_m=2)).toarray()
        for on in (straight, turned)
    ]
    assert (views[0] == views[1]).all()


def test_sights_on_the_way_come_when_the_range_allows():
    hall = room("############ #..........# ############")
    path, cells = [(0.75, 0.75), (4.75, 0.75)], [(5.25, 0.75), (0.75, 0.75)]
    driven = sl.sights_on_the_way(hall, path, cells, sl.Sensor(range_m=2.0), step_m=0.1)
    assert driven == pytest.approx([2.5, 0.0], abs=0.1)


def test_a_narrow_view_does_not_see_what_is_passed():
    hall = room("############ #..........# ############")
    forward = sl.Sensor(range_m=2.0, field_of_view_rad=np.pi / 2)
    behind = sl.sights_on_the_way(hall, [(3.25, 0.75), (4.75, 0.75)], [(2.25, 0.75)], forward)
    assert behind.tolist() == [np.inf]


def test_sights_on_the_way_turn_with_the_map():
    hall = room("############ #..........# ############")
    turned = sl.OccupancyMap(hall.occupancy, hall.resolution_m, (1.0, 2.0, 2.0))
    grid_path, grid_cells = [(1.5, 1.5), (9.5, 1.5)], [(10.5, 1.5), (1.2, 1.5)]
    narrow = sl.Sensor(range_m=2.0, field_of_view_rad=1.0)
    driven = [
        sl.sights_on_the_way(on, on.to_world(grid_path), on.to_world(grid_cells), narrow)
        for on in (hall, turned)
    ]
    assert driven[0] == pytest.approx(driven[1])


def test_standing_still_sees_what_is_in_range():
    hall = room("##### #...# #####")
    driven = sl.sights_on_the_way(hall, [(0.75, 0.75)], [(1.25, 0.75)], sl.Sensor())
    assert driven.tolist() == [0.0]


@pytest.mark.parametrize(
    ("field", "value"),
    [("range_m", -1), ("kind", "sonar"), ("detection_rate", 1.2), ("look_s", float("nan"))],
)
def test_a_sensor_refuses_what_cannot_be(field, value):
    with pytest.raises(ValueError, match=field):
        sl.Sensor(**{field: value})
