"""A scenario as solid bodies: they tile the map's walls, stand where it says, and can be seen into."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sightline as sl
from grids import ascii_map
from rooms import rectangle, two_rooms
from sightline import polygon as poly
from sightline.places import SHIPPED, Places, Surface, footprint
from sightline.worlds.scenes import EYE_M, LEG_M, WALL_M, Prism, Scene, rectangles
from sightline.worlds.things import thing

LIDAR_M = 0.2


@cache
def scene(name: str) -> Scene:
    return Scene.of(two_rooms() if name == "two rooms" else sl.Scenario.load(name))


HOMES = ("two rooms", *SHIPPED)


def parts(home: Scene, name: str) -> list[Prism]:
    """The bodies over the footprint of a surface."""
    polygon = home.home.places.surfaces[name].polygon
    return [
        prism
        for prism in home.prisms
        if poly.holds(polygon + 1e-9, prism.polygon.mean(axis=0)[None]).all()
        and prism.colour not in {wall.colour for wall in home.prisms if wall.top_m == WALL_M}
    ]


def holding(home: sl.Scenario) -> list[str]:
    """The surfaces on which some object can lie."""
    return [
        name
        for name in home.surface_names
        if any(home.probabilities(one).get(name, 0) > 0 for one in home.objects)
    ]


def inside(home: Scene, points: np.ndarray) -> np.ndarray:
    """Whether points (n, 3) lie in some body."""
    out = np.zeros(len(points), dtype=bool)
    for prism in home.prisms:
        high = (prism.bottom_m < points[:, 2]) & (points[:, 2] < prism.top_m)
        out |= high & poly.holds(prism.polygon, points[:, :2])
    return out


def finer(coarse: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Cells (rows, columns) split so that there are as many as in another array."""
    split = like.shape[0] // coarse.shape[0]
    return coarse.repeat(split, axis=0).repeat(split, axis=1)


def gaps(polygon: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Distances (n,) from a point to the sides of a polygon."""
    sides = np.roll(polygon, -1, axis=0) - polygon
    share = ((point - polygon) * sides).sum(axis=1) / (sides**2).sum(axis=1)
    nearest = polygon + np.clip(share, 0, 1)[:, None] * sides
    return np.hypot(*(nearest - point).T)


@given(arrays.arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9))))
def test_rectangles_tile_a_mask(mask):
    covers = np.zeros(mask.shape, dtype=int)
    for left, bottom, right, top in rectangles(mask):
        assert left < right
        assert bottom < top
        covers[bottom:top, left:right] += 1
    np.testing.assert_array_equal(covers, mask.astype(int))


def test_rectangles_are_few():
    frame = np.ones((20, 30), dtype=bool)
    frame[1:-1, 1:-1] = False
    assert len(rectangles(frame)) == 4
    assert rectangles(np.zeros((3, 3), dtype=bool)) == []


@pytest.mark.parametrize("name", HOMES)
def test_what_a_lidar_sees_is_what_the_map_says(name):
    """Alike but in cells that a side of a body cuts, and under what stands on legs."""
    home = scene(name).home
    seen = scene(name).slice_at(LIDAR_M)
    assert seen.resolution_m <= 0.025 + 1e-9
    free, occupied = (finer(cells, seen.occupancy) for cells in (home.map.free, home.map.occupied))
    cut = np.zeros(home.map.shape, dtype=bool)
    on_legs = np.zeros(seen.shape, dtype=bool)
    for surface in home.places.surfaces.values():
        if surface.support == "legs":
            on_legs |= footprint(seen, surface.polygon)
        ends = np.roll(surface.polygon, -1, axis=0)
        share = np.linspace(0, 1, 2000)[:, None]
        for a, b in zip(surface.polygon, ends, strict=True):
            rows, columns = home.map.cells_at(a + share * (b - a)).T
            cut[rows.clip(0, cut.shape[0] - 1), columns.clip(0, cut.shape[1] - 1)] = True
    whole = ~finer(cut, seen.occupancy)
    assert not (seen.occupied & free & whole).any()
    assert not (occupied & ~seen.occupied & ~on_legs & whole).any()
    if name in ("two rooms", "kitchen1", "kitchen2"):
        apart = (seen.occupied & free) | (occupied & ~seen.occupied & ~on_legs)
        assert apart.sum() <= 0.005 * occupied.sum()


def test_at_the_height_of_a_table_top_the_slice_is_full_and_above_it_is_empty():
    home = scene("two rooms")
    for height, full in ((LIDAR_M, False), (0.73, True), (0.76, False)):
        there = home.slice_at(height)
        assert there.look_up(there.occupied, np.array([2.0, 1.5]), None) == full
    high = home.slice_at(2.0)
    bare_walls = home.home.map.walls & (home.home.heights_m == 0)
    np.testing.assert_array_equal(high.occupied, finer(bare_walls, high.occupancy))


@pytest.mark.parametrize("name", HOMES)
def test_legs_stand_inside_and_under_their_top(name):
    home = scene(name)
    for surface in home.home.places.surfaces.values():
        if surface.support != "legs":
            continue
        legs = [p for p in parts(home, surface.name) if p.bottom_m == 0 and len(p.polygon) == 4]
        legs = [p for p in legs if abs(poly.signed_area(p.polygon)) < 1.01 * LEG_M**2]
        assert 3 <= len(legs) <= 4
        for leg in legs:
            assert leg.top_m < surface.height_m
            for corner in leg.polygon:
                assert poly.holds(surface.polygon, corner[None])[0]


@pytest.mark.parametrize("name", HOMES)
def test_things_lie_on_a_board_that_some_free_place_sees(name):
    """From the height of the camera, for every surface of the distribution: nothing is in between."""
    home = scene(name)
    stand, rng = home.home.map.free_space(0.25).points(0.3), np.random.default_rng(0)
    for surface in holding(home.home):
        assert home.rest_m[surface] < EYE_M
        x, y, _ = home.rest("", home.home.places.surfaces[surface].sample(rng=rng), 0.08)
        at = np.array([x, y, home.rest_m[surface] + 0.06])
        near = stand[np.hypot(*(stand - at[:2]).T) < 2.5]
        share = np.linspace(0, 1, 60)[:, None]
        rays = [np.append(spot, EYE_M) * (1 - share) + at * share for spot in near]
        assert any(not inside(home, ray).any() for ray in rays), surface


def test_an_open_shelf_is_closed_behind_and_holds_up_its_boards():
    home = scene("two rooms")
    boards = [p for p in parts(home, "shelf") if p.top_m - p.bottom_m < 0.03]
    panels = [p for p in parts(home, "shelf") if p.top_m - p.bottom_m > 1]
    assert len(boards) >= 4
    assert len(panels) == 3  # the sides and the back; the front is open
    assert not any(p.polygon[:, 1].min() > 0.2 for p in panels)
    assert min(abs(home.rest_m["shelf"] - board.top_m) for board in boards) < 1e-9


def test_what_is_low_and_has_no_name_is_low():
    """A block amid the floor that no surface covers is not a wall, and one can look over it."""
    home = sl.Scenario(
        "a block", ascii_map("#########\n#.......#\n#..##...#\n#.......#\n#########", 0.5)
    )
    tops = {prism.top_m for prism in Scene.of(home).prisms}
    assert WALL_M in tops
    assert min(tops) < EYE_M


@pytest.mark.parametrize("name", HOMES)
def test_things_rest_inside_their_surface_by_their_radius(name):
    home, rng = scene(name), np.random.default_rng(0)
    for one in home.home.objects:
        radius = thing(one).radius_m
        for _ in range(30):
            at = home.home.sample_position(one, rng=rng)
            x, y, z = home.rest(one, at, radius)
            here = np.array([x, y])
            under = [
                surface
                for surface in home.home.places.surfaces.values()
                if abs(home.rest_m[surface.name] - z) < 1e-9
                and poly.holds(surface.polygon, here[None])[0]
            ]
            assert under
            polygon = under[0].polygon
            sides = np.roll(polygon, -1, axis=0) - polygon
            narrow = min(np.ptp(polygon @ (side / np.hypot(*side))) for side in sides)
            assert gaps(polygon, here).min() >= min(radius, narrow / 2 - 0.01)


def test_a_thing_amid_a_surface_stays_and_one_beside_all_lies_on_the_floor():
    home = scene("two rooms")
    assert home.rest("cup", np.array([2.0, 1.5]), 0.05) == pytest.approx((2.0, 1.5, 0.75))
    assert home.rest("cup", np.array([1.0, 0.5]), 0.05) == (1.0, 0.5, 0.0)
    assert home.rest("cup", np.array([1.6, 1.5]), 0.05) == pytest.approx((1.67, 1.5, 0.75))


def test_of_surfaces_above_each_other_the_thing_lies_where_it_belongs():
    """A wall cupboard over a counter: the cup belongs on the counter, the can nowhere of both."""
    on = ascii_map("\n".join(["#" * 30, *["#" + "." * 28 + "#"] * 18, "#" * 30]), 0.1)
    low = Surface("counter", "CounterTop", rectangle(0.1, 0.1, 1.1, 0.7), 0.9)
    high = Surface("cupboard", "Cabinet", rectangle(0.1, 0.1, 1.1, 0.5), 2.0)
    rows = {"usual": {"cup": {"counter": 1.0}}}
    home = Scene.of(sl.Scenario("two", on, Places({"counter": low, "cupboard": high}, {}, rows)))
    assert home.rest("cup", np.array([0.6, 0.3]), 0.05)[2] == 0.9
    assert home.rest("keys", np.array([0.6, 0.3]), 0.05)[2] == 2.0


@st.composite
def stars(draw) -> np.ndarray:
    """Polygons around (1.5, 1.5), mostly not convex."""
    radii = draw(st.lists(st.floats(0.15, 1.0), min_size=3, max_size=8))
    angles = draw(st.floats(0, 7)) + 2 * np.pi * np.arange(len(radii)) / len(radii)
    return 1.5 + np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)


HALL = ascii_map("\n".join(["." * 30] * 30), 0.1)


@settings(max_examples=40)
@given(stars(), st.sampled_from(["legs", "solid"]))
def test_a_floor_plan_holds_every_point_of_a_body_and_no_cell_more(polygon, support):
    block = Surface("block", "Table", polygon, 0.7, support=support)
    home = Scene.of(sl.Scenario("hall", HALL, Places({"block": block})))
    plan = home.floor_plan(resolution_m=0.05)
    share = np.linspace(0, 1, 997)[:, None]
    rim = np.vstack(
        [a + share * (b - a) for a, b in zip(polygon, np.roll(polygon, -1, axis=0), strict=True)]
    )
    # a hair inside, as a body does not touch the cell on whose line it ends
    body = np.vstack([1.5 + size * (rim - 1.5) for size in (0.3, 0.8, 0.99, 1 - 1e-6)])
    assert plan.look_up(plan.occupied, body, False).all()
    coarse = finer(home.home.map.occupied, plan.occupancy)
    for centre in plan.centres(np.argwhere(plan.occupied & ~coarse)):
        beside = gaps(polygon, centre).min() <= 0.05 * 0.5**0.5 + 1e-6
        assert beside or poly.holds(polygon, centre[None])[0]


@pytest.mark.parametrize("name", ["kitchen1", "kitchen2"])
def test_a_floor_plan_has_all_that_the_map_has(name):
    plan, home = scene(name).floor_plan(), scene(name).home
    occupied = finer(home.map.occupied, plan.occupancy)
    assert (plan.occupied >= occupied).all()
    assert plan.occupied.sum() < 1.03 * occupied.sum()
