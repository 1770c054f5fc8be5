import dataclasses
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import spatial

from sightline import MapError, OccupancyMap, Places, PlacesError, Scenario, UnknownObjectError
from sightline.places import SHIPPED
from sightline.polygon import holds

TABLE = [[2, 2], [3, 2], [3, 4], [2, 4]]
DESK = [[4.5, 1.5], [6.5, 1.5], [6.5, 4.5], [6, 4.5], [6, 2], [4.5, 2]]  # an L
GOOD = {
    "format": "sightline-places/1",
    "title": "A room",
    "rooms": {"room": {"polygon": [[1, 1], [7, 1], [7, 5], [1, 5]]}},
    "surfaces": {
        "table": {"category": "DiningTable", "room": "room", "height_m": 0.7, "polygon": TABLE},
        "desk": {"category": "Desk", "support": "legs", "height_m": 1, "polygon": DESK},
    },
    "distributions": {
        "usual": {"cup": {"table": 0.25, "desk": 0.75}, "pen": {"desk": 1}},
        "tidy": {"cup": {"table": 1}},
    },
}
WRONG = [  # the place of an entry, its value (None: take it away), words of the message
    ("format", "places/9", ["'sightline-places/1'", "'places/9'"]),
    ("format", None, ["'sightline-places/1'", "None"]),
    ("tilte", "A room", ["'tilte'", "valid are format, title"]),
    ("rooms", ["room"], ["'rooms' must map names"]),
    ("rooms", {1: {}}, ["'rooms' must map names"]),
    ("surfaces", "table", ["'surfaces' must map names"]),
    ("distributions", {True: {}}, ["'distributions' must map names"]),
    ("rooms/room", "large", ["room 'room'", "polygon of at least 3 corners"]),
    ("rooms/room/polygon", [[0, 0], [1, 1]], ["room 'room'", "at least 3 corners"]),
    ("surfaces/table", None, ["'table'", "valid are desk"]),
    ("surfaces/table", [], ["surface 'table'", "polygon"]),
    ("surfaces/table/polygon", None, ["surface 'table'", "polygon"]),
    ("surfaces/table/polygon", [[0, 0], [1, 0, 5], [1, 1]], ["not [x, y]", "[1, 0, 5]"]),
    ("surfaces/table/polygon", [[0, 0], 7, [1, 1]], ["not [x, y]", "7"]),
    ("surfaces/table/polygon", [[0, 0], ["a", 1], [1, 1]], ["'table': a corner", "'a'"]),
    ("surfaces/table/polygon", [[0, 0], [math.nan, 1], [1, 1]], ["finite number", "nan"]),
    ("surfaces/table/polygon", [[0, 0], [1, 1], [2, 2]], ["without area"]),
    ("surfaces/table/polygon", [[2, 2], [3, 4], [3, 2], [2, 5]], ["crosses itself"]),
    ("surfaces/table/colour", "red", ["surface 'table'", "'colour'", "valid are category"]),
    ("surfaces/table/category", None, ["surface 'table' needs a category", "None"]),
    ("surfaces/table/category", "", ["category", "''"]),
    ("surfaces/table/category", 5, ["category", "5"]),
    ("surfaces/table/room", "attic", ["'attic'", "valid are room"]),
    ("rooms", None, ["'room'", "valid are none"]),
    ("surfaces/table/height_m", None, ["'table': height_m", "None"]),
    ("surfaces/table/height_m", "tall", ["finite number", "'tall'"]),
    ("surfaces/table/height_m", True, ["finite number", "True"]),
    ("surfaces/table/height_m", math.inf, ["finite number", "inf"]),
    ("surfaces/table/height_m", 0, ["height_m must be above 0", "5.0", "0.0"]),
    ("surfaces/table/height_m", 5.5, ["at most 5.0", "5.5"]),
    ("surfaces/table/support", "air", ["support 'air'", "valid are solid, legs"]),
    ("distributions/usual", {}, ["distribution 'usual' must map objects"]),
    ("distributions/usual", ["cup"], ["distribution 'usual' must map objects"]),
    ("distributions/usual/cup", {}, ["usual: 'cup' must map surfaces"]),
    ("distributions/usual/cup", "table", ["usual: 'cup' must map surfaces"]),
    ("distributions/usual/cup", {"shelf": 1}, ["'shelf'", "valid are table, desk"]),
    ("distributions/usual/cup", {"table": "most"}, ["'cup': table", "finite number", "'most'"]),
    ("distributions/usual/cup", {"table": -0.5, "desk": 1.5}, ["table is below 0: -0.5"]),
    ("distributions/usual/cup", {"table": 0.5, "desk": 0.4999}, ["usual: 'cup'", "sums to 0.9999"]),
]


def edited(path: str, value: object) -> str:
    """GOOD with one entry set, or taken away if the value is None, as YAML."""
    content = yaml.safe_load(yaml.safe_dump(GOOD, sort_keys=False))
    *folders, last = path.split("/")
    entry = content
    for name in folders:
        entry = entry[name]
    entry[last] = value
    if value is None:
        del entry[last]
    return yaml.safe_dump(content, sort_keys=False)


def load(text: str) -> Places:
    Path("places.yaml").write_text(text)
    return Places.load("places.yaml")


def moved(points, pose) -> np.ndarray:
    """Positions turned by the yaw of a pose and shifted to it."""
    x, y, yaw = pose
    rotation = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
    return np.asarray(points, float) @ rotation.T + (x, y)


def room(pose=(0.0, 0.0, 0.0)) -> Scenario:
    """The room of GOOD, 6 x 4 m in walls of 0.2 m and unknown space, all moved to a pose."""
    cells = np.full((60, 80), -1)
    cells[8:52, 8:72] = 100
    cells[10:50, 10:70] = 0
    places = load(yaml.safe_dump(GOOD, sort_keys=False))
    surfaces = {
        name: dataclasses.replace(surface, polygon=moved(surface.polygon, pose))
        for name, surface in places.surfaces.items()
    }
    places = dataclasses.replace(places, surfaces=surfaces)
    return Scenario("room", OccupancyMap.from_array(cells, 0.1, pose), places, "usual")


poses = st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.floats(-math.pi, math.pi))
spacings = st.floats(0.1, 0.9)


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "value", "words"), WRONG)
def test_a_wrong_entry_gives_one_sentence_that_names_it(path, value, words):
    with pytest.raises(PlacesError) as caught:
        load(edited(path, value))
    message = str(caught.value)
    assert message.startswith("places.yaml: ")
    assert message.endswith(".")
    assert "\n" not in message
    assert all(word in message for word in words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("surfaces: {table: 1, table: 2}", "'table' stands twice"),
        ("- table", "mapping of fields, not list"),
        ("", "mapping of fields, not NoneType"),
        ("rooms: {", "not valid YAML"),
        ("# " + "x" * 1_000_000, "1000002 bytes; the limit is 1000000"),
    ],
)
def test_a_file_that_holds_no_places_is_refused(text, words):
    with pytest.raises(PlacesError, match=words):
        load(text)


def test_a_missing_file_is_said_to_be_missing():
    with pytest.raises(PlacesError, match=r"^no/places\.yaml does not exist\.$"):
        Places.load("no/places.yaml")


@pytest.mark.parametrize(
    ("path", "value"),
    [("surfaces/table/room", ["room"]), ("surfaces/table/height_m", 10**400)],
    ids=["a list for a name", "a huge number"],
)
def test_a_value_of_the_wrong_kind_is_an_error_of_the_file(path, value):
    with pytest.raises(PlacesError):
        load(edited(path, value))


@pytest.mark.parametrize("name", [True, 1])
def test_names_of_objects_must_be_words(name):
    """In YAML, `on`, `off`, `yes` and `no` are no words but booleans."""
    with pytest.raises(PlacesError):
        load(edited("distributions/usual", {name: {"table": 1}}))


def test_all_fields_are_read_in_the_order_of_the_file():
    places = load(yaml.safe_dump(GOOD, sort_keys=False))
    assert places.title == "A room"
    assert list(places.rooms) == ["room"]
    table, desk = places.surfaces.values()
    assert (table.name, table.category, table.room, table.support) == (
        ("table", "DiningTable", "room", "solid")
    )
    assert (desk.room, desk.support, desk.height_m, desk.area_m2) == (None, "legs", 1.0, 2.25)
    assert desk.polygon.tolist() == DESK
    assert places.distributions == GOOD["distributions"]


def test_the_least_that_a_file_needs_is_its_format():
    places = load("format: sightline-places/1")
    assert (dict(places.surfaces), dict(places.rooms), places.title) == ({}, {}, "")
    assert dict(places.distributions) == {}


def test_probabilities_that_are_rounded_are_made_to_sum_to_one():
    row = load(edited("distributions/usual/cup", {"table": 0.3333333, "desk": 0.6666664}))
    assert sum(row.distributions["usual"]["cup"].values()) == pytest.approx(1, abs=1e-15)


# --- where objects lie ------------------------------------------------------------------------


def test_samples_are_uniform_on_a_bent_surface():
    """All moments up to the second, and the share of one arm, lie within five sigma."""
    desk, rng, n = room().places.surfaces["desk"], np.random.default_rng(1), 4000
    points = np.array([desk.sample(rng=rng) for _ in range(n)])
    assert holds(desk.polygon, points).all()
    fine = np.stack(np.meshgrid(np.arange(4.5, 6.5, 0.01), np.arange(1.5, 4.5, 0.01)), axis=-1)
    dense = (fine + 0.005).reshape(-1, 2)
    dense = dense[holds(desk.polygon, dense)]
    for feature in (
        lambda p: p[:, 0],
        lambda p: p[:, 1],
        lambda p: p[:, 0] ** 2,
        lambda p: p[:, 1] ** 2,
        lambda p: p[:, 0] * p[:, 1],
        lambda p: p[:, 1] > 2.0,
    ):
        expected = feature(dense).astype(float)
        gap = abs(feature(points).mean() - expected.mean())
        assert gap < 5 * expected.std() / math.sqrt(n) + 1e-3


def test_objects_lie_where_their_mass_says():
    home, rng, n, side = room((1.0, -2.0, 0.5)), np.random.default_rng(2), 6000, 0.5
    cells = home.target_cells(spacing_m=side)
    mass = home.mass("cup", cells, spacing_m=side)
    points = np.array([home.sample_position("cup", rng=rng) for _ in range(n)])
    corners = home.map.to_grid(cells) * 0.1 - side / 2
    inside = home.map.to_grid(points)[:, None] * 0.1 - corners
    shares = ((inside >= 0) & (inside < side)).all(axis=2).mean(axis=0)
    assert shares.sum() == pytest.approx(1)  # each position lies in one target square
    assert (np.abs(shares - mass) < 5 * np.sqrt(mass / n) + 1e-9).all()


@settings(max_examples=15)
@given(poses, spacings)
def test_mass_sums_to_one_over_the_target_cells(pose, spacing_m):
    home = room(pose)
    cells = home.target_cells(spacing_m=spacing_m)
    for thing in home.objects:
        mass = home.mass(thing, cells, spacing_m=spacing_m)
        assert mass.min() >= 0
        assert mass.sum() == pytest.approx(1)


@settings(max_examples=15)
@given(poses)
def test_mass_does_not_change_when_the_home_is_moved_and_turned(pose):
    cells = room().target_cells()
    expected = room().mass("cup", cells)
    assert room(pose).mass("cup", moved(cells, pose)) == pytest.approx(expected, abs=1e-9)


def test_mass_is_exact_in_known_squares():
    mass = room().mass("cup", [(2.1, 2.1), (2, 2), (3.1, 3), (3.2, 3), (6.4, 4.4), (5.5, 3)])
    table, desk = 0.25 / 2.0, 0.75 / 2.25  # chance per square metre
    assert mass == pytest.approx([table * 0.04, table * 0.01, 0, 0, desk * 0.04, 0], abs=1e-12)
    assert (mass[3], mass[5]) == (0, 0)


@settings(max_examples=15)
@given(spacings, st.floats(0, 2))
def test_target_cells_are_the_lattice_squares_near_free_cells_and_on_surfaces(spacing_m, reach_m):
    home = room()
    cells = home.target_cells(spacing_m=spacing_m, reach_m=reach_m)
    index = cells / spacing_m - 0.5
    assert index == pytest.approx(np.rint(index), abs=1e-6)
    assert len(np.unique(np.rint(index), axis=0)) == len(cells)
    mass = sum(home.mass(thing, cells, spacing_m=spacing_m) for thing in home.objects)
    nudges = [(a, b) for a in (-1e-6, 1e-6) for b in (-1e-6, 1e-6)]
    known = np.any(
        [home.map.look_up(~home.map.unknown, np.add(cells, n), False) for n in nudges], axis=0
    )
    assert (known | (mass > 0)).all()  # nothing of what is unknown outside
    free = spatial.KDTree(home.map.centres(np.argwhere(home.map.free)))
    assert (free.query(cells[mass == 0])[0] <= reach_m + 0.1).all()
    rows, columns = np.indices((int(6 / spacing_m), int(8 / spacing_m))) + 0.5
    lattice = np.stack([columns, rows], axis=-1).reshape(-1, 2) * spacing_m
    corners = [home.map.look_up(home.map.free, lattice + gap, False) for gap in (-1e-6, 1e-6)]
    within = lattice[corners[0] & corners[1]]  # for sure, not by rounding on a border
    assert (spatial.KDTree(cells).query(within)[0] < 1e-6).all()


def test_a_surface_at_the_rim_is_covered_also_where_the_lattice_reaches_over_it():
    corner = np.array([(7.5, 5.5), (8, 5.5), (8, 6), (7.5, 6)])
    shelf = dataclasses.replace(room().places.surfaces["table"], polygon=corner)
    places = Places({"table": shelf}, {}, {"all": {"cup": {"table": 1.0}}})
    home = Scenario("rim", room().map, places, "all")
    cells = home.target_cells(spacing_m=0.7)
    assert home.mass("cup", cells, spacing_m=0.7).sum() == pytest.approx(1)


@pytest.mark.parametrize("spacing_m", [0.0, -0.2])
def test_a_spacing_must_be_above_zero(spacing_m):
    with pytest.raises(ValueError, match="spacing_m"):
        room().target_cells(spacing_m=spacing_m)


def test_an_unknown_object_is_answered_with_the_known_ones():
    with pytest.raises(UnknownObjectError, match=r"^room knows no object 'spoon'; .* cup, pen\.$"):
        room().probabilities("spoon")
    bare = Scenario("bare", room().map)
    assert bare.objects == ()
    with pytest.raises(UnknownObjectError, match=r"valid are none\.$"):
        bare.sample_position("cup", rng=np.random.default_rng(0))


# --- scenarios --------------------------------------------------------------------------------


def test_footprints_are_occupied_in_the_map_of_a_scenario():
    home = room()
    centres = home.map.centres(np.moveaxis(np.indices(home.map.shape), 0, -1))
    covered = holds(np.array(TABLE, float), centres) | holds(np.array(DESK), centres)
    assert covered.sum() == 200 + 225
    assert home.map.occupied[covered].all()
    walls = 44 * 64 - 40 * 60
    assert home.map.occupied.sum() == covered.sum() + walls
    again = dataclasses.replace(home)  # furnished already
    assert np.array_equal(again.map.occupancy, home.map.occupancy)


@pytest.mark.parametrize("pose", [(0.0, 0.0, 0.0), (-12.34, 5.67, 2.1)])
@pytest.mark.parametrize(("corner", "fits"), [((0, 0), True), ((8, 6), True), ((8.1, 6), False)])
def test_surfaces_must_lie_on_the_map_and_may_touch_its_rim(pose, corner, fits):
    home = room(pose)
    polygon = moved([corner, (4, 3), (4, 4)], pose)
    surfaces = {
        "bench": dataclasses.replace(home.places.surfaces["table"], polygon=polygon, name="bench")
    }
    if fits:
        Scenario("room", home.map, Places(surfaces))
        return
    with pytest.raises(
        PlacesError, match=r"^room: surface 'bench' has a corner .* outside the map"
    ):
        Scenario("room", home.map, Places(surfaces))


def write_room() -> None:
    Path("flat").mkdir()
    room().map.save("flat/map.yaml")
    shutil.copy("places.yaml", "flat/places.yaml")


def test_a_scenario_loads_by_folder_and_by_map_file():
    write_room()
    for path in ("flat", Path("flat"), "flat/map.yaml", Path("flat/map.yaml").resolve()):
        home = Scenario.load(path)
        assert (home.name, home.distribution, home.objects) == ("flat", "usual", ("cup", "pen"))
    assert Scenario.load("flat", distribution="tidy").objects == ("cup",)
    Path("flat/map.yaml").rename("flat/attic.yaml")
    assert Scenario.load("flat/attic.yaml").name == "attic"


def test_a_map_without_places_is_a_scenario_without_objects():
    write_room()
    Path("flat/places.yaml").unlink()
    home = Scenario.load("flat")
    assert (home.objects, home.distribution, dict(home.places.surfaces)) == ((), None, {})
    assert len(home.target_cells()) > 0


def test_a_scenario_that_ships_loads_by_name():
    assert Scenario.load("kitchen1").name == "kitchen1"


def test_a_scenario_that_is_nowhere_is_answered_with_the_shipped_ones():
    with pytest.raises(PlacesError) as caught:
        Scenario.load("kitchen9")
    assert str(caught.value).startswith("kitchen9 is neither")
    assert all(name in str(caught.value) for name in SHIPPED)


def test_an_unknown_distribution_is_answered_with_the_known_ones():
    write_room()
    with pytest.raises(PlacesError, match=r"flat has no distribution 'messy'.* usual, tidy\.$"):
        Scenario.load("flat", distribution="messy")


def test_a_folder_without_a_map_is_no_scenario():
    Path("empty").mkdir()
    with pytest.raises(MapError, match=r"empty/map\.yaml does not exist"):
        Scenario.load("empty")
