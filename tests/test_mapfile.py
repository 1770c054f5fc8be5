import math
import resource
import time
import tracemalloc
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image

from grids import BAD_MAPS, ascii_map, write_bad_map, write_yaml, yaml_text
from sightline import MapError, MapWarning, OccupancyMap

DATA = Path(__file__).parents[2] / "shared" / "data"
SCENARIOS = Path(__file__).parents[1] / "src" / "sightline" / "scenarios"
PICTURE = np.array([[0, 205, 254], [254, 0, 205]], np.uint8)  # row 0 on top
LOADED = [[0, 100, -1], [100, -1, 0]]  # row 0 at the bottom


def load(pixels: object, rules: str = "nav2", unknown_205: bool = False, **fields: object):
    """The cells of a one-row picture, as a list."""
    Image.fromarray(np.array([pixels], np.uint8)).save("map.png")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MapWarning)
        loaded = OccupancyMap.load(write_yaml(**fields), rules=rules, unknown_205=unknown_205)
    return loaded.occupancy[0].tolist()


def map_server_cell(gray, mode, rules, negate, occupied="0.65", free="0.196") -> int:
    """Nav2's rule for one opaque pixel, in exact fractions."""
    if mode == "raw":
        return gray if gray <= 100 else -1
    p = Fraction(gray, 255) if negate else 1 - Fraction(gray, 255)
    high, low = Fraction(occupied), Fraction(free)
    if p > high or (p == high and rules == "nav2"):
        return 100
    if p < low or (p == low and rules == "nav2"):
        return 0
    return round(100 * (p - low) / (high - low)) if mode == "scale" else -1


@pytest.mark.parametrize("mode", ["trinary", "scale", "raw"])
@pytest.mark.parametrize("rules", ["nav2", "humble"])
@pytest.mark.parametrize("negate", [0, 1])
def test_every_gray_loads_by_the_map_servers_rule(mode, rules, negate):
    expected = [map_server_cell(gray, mode, rules, negate) for gray in range(256)]
    assert load(range(256), rules, mode=mode, negate=negate) == expected


@pytest.mark.parametrize(
    ("fields", "grays"),
    [
        ({}, {0: 100, 89: 100, 90: -1, 205: -1, 206: 0, 255: 0}),
        ({"free_thresh": 0.25}, {205: 0, 192: 0, 191: -1}),
        ({"negate": 1}, {255: 100, 205: 100, 50: -1, 49: 0}),
        ({"negate": "true"}, {255: 100, 0: 0}),
        ({"negate": "false"}, {255: 0, 0: 100}),
        ({"mode": "scale"}, {0: 100, 89: 100, 90: 99, 150: 48, 204: 1, 205: 0, 255: 0}),
        ({"mode": "scale", "negate": 1}, {0: 0, 105: 48, 255: 100}),
        ({"mode": "raw"}, {0: 0, 1: 1, 99: 99, 100: 100, 101: -1, 205: -1, 255: -1}),
        ({"mode": "raw", "negate": 1}, {0: 0, 100: 100, 255: -1}),
        ({"occupied_thresh": 1, "free_thresh": 0}, {0: 100, 1: -1, 254: -1, 255: 0}),
    ],
)
def test_known_grays_load_as_known_cells(fields, grays):
    assert load(list(grays), **fields) == list(grays.values())


@pytest.mark.parametrize("gray", [1, 51, 90, 128, 204, 254])
def test_a_value_at_a_threshold_counts_as_reached_except_under_humbles_rules(gray):
    p = 1 - gray / 255
    for mode, middle in (("trinary", -1), ("scale", 100)):
        at_occupied = {"mode": mode, "occupied_thresh": repr(p), "free_thresh": 0.001}
        assert load([gray], **at_occupied) == [100]
        assert load([gray], "humble", **at_occupied) == [middle]
    at_free = {"occupied_thresh": 0.999, "free_thresh": repr(p)}
    assert load([gray], **at_free) == [0]
    assert load([gray], "humble", **at_free) == [-1]


@pytest.mark.parametrize(
    ("rules", "mode", "expected"),
    [
        ("nav2", "trinary", [-1, -1, 100, -1, 0]),
        ("nav2", "scale", [-1, -1, 100, 4, 0]),
        ("nav2", "raw", [100, 0, 0, -1, -1]),
        ("humble", "trinary", [100, 100, 100, 0, 0]),
        ("humble", "scale", [-1, -1, 100, 4, 0]),
    ],
)
def test_pixels_that_are_not_opaque_follow_the_rules_of_the_distribution(rules, mode, expected):
    """Humble's trinary mode averages alpha with the colours: (3 * 200 + 255) / 4 is free."""
    clear, veiled, black = (100, 100, 100, 0), (0, 0, 0, 254), (0, 0, 0, 255)
    light, white = (200, 200, 200, 255), (254, 254, 254, 255)
    assert load([clear, veiled, black, light, white], rules, mode=mode) == expected


def test_colours_are_averaged_and_not_weighted_by_brightness():
    """The eye's weights would make pure green a light gray of 150, which is unknown."""
    assert load([(0, 255, 0), (255, 0, 0), (0, 0, 255), (255, 255, 240)]) == [100, 100, 100, 0]


def plain_pgm(values: np.ndarray, most: int = 255) -> bytes:
    rows, columns = values.shape
    grays = " ".join(map(str, values.ravel()))
    return f"P2 # drawn by hand\n{columns} {rows}\n{most}\n{grays}\n".encode()


FORMATS = {
    "binary.pgm": lambda path: Image.fromarray(PICTURE).save(path),
    "ascii.pgm": lambda path: path.write_bytes(plain_pgm(PICTURE)),
    "ascii16.pgm": lambda path: path.write_bytes(plain_pgm(PICTURE.astype(int) * 257, 65535)),
    "gray.png": lambda path: Image.fromarray(PICTURE).save(path),
    "gray16.png": lambda path: Image.fromarray(PICTURE.astype(np.uint16) * 257).save(path),
    "alpha.png": lambda path: Image.fromarray(PICTURE).convert("LA").save(path),
    "colour.png": lambda path: Image.fromarray(PICTURE).convert("RGB").save(path),
    "palette.png": lambda path: Image.fromarray(PICTURE).convert("P").save(path),
    "gray.bmp": lambda path: Image.fromarray(PICTURE).save(path),
    "colour.bmp": lambda path: Image.fromarray(PICTURE).convert("RGB").save(path),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_image_format_gives_the_same_cells_with_the_top_row_last(name):
    FORMATS[name](Path(name))
    loaded = OccupancyMap.load(write_yaml(image=name))
    assert loaded.occupancy.tolist() == LOADED


def test_a_picture_of_one_bit_is_black_and_white():
    Image.fromarray(np.array([[True, False], [False, False]])).save("map.png")
    assert OccupancyMap.load(write_yaml()).occupancy.tolist() == [[100, 100], [0, 100]]


def test_a_pgm_with_few_grays_is_stretched_to_the_full_range():
    Path("few.pgm").write_bytes(plain_pgm(np.array([[0, 8, 15]]), 15))
    assert OccupancyMap.load(write_yaml(image="few.pgm")).occupancy.tolist() == [[100, -1, 0]]


def test_the_image_is_looked_for_beside_the_yaml_or_at_its_absolute_path(tmp_path, monkeypatch):
    folder, elsewhere = tmp_path / "maps", tmp_path / "images" / "map.png"
    folder.mkdir()
    elsewhere.parent.mkdir()
    Image.fromarray(PICTURE).save(folder / "map.png")
    Image.fromarray(PICTURE[:1]).save(elsewhere)
    write_yaml("maps/map.yaml")
    write_yaml("maps/absolute.yaml", image=elsewhere)
    write_yaml("maps/up.yaml", image="../images/map.png")
    monkeypatch.setenv("HOME", str(folder))
    for path in ("maps/map.yaml", folder / "map.yaml", "~/map.yaml"):
        assert OccupancyMap.load(path).shape == (2, 3)
    for path in ("maps/absolute.yaml", "maps/up.yaml"):
        assert OccupancyMap.load(path).shape == (1, 3)
    with pytest.raises(MapError, match="does not exist"):  # Nav2 expands ~ in the yaml's path only
        OccupancyMap.load(write_yaml(image="~/map.png"))


def test_gray_205_that_loads_as_free_gives_a_warning_with_the_count():
    Image.fromarray(PICTURE).save("map.png")
    with pytest.warns(MapWarning, match=r"^2 pixels of map.png have gray 205.*0\.25.*unknown-205"):
        loaded = OccupancyMap.load(write_yaml(free_thresh=0.25))
    assert loaded.occupancy.tolist() == [[0, 100, 0], [100, 0, 0]]


@pytest.mark.parametrize(
    ("pixels", "fields"),
    [
        ([0, 205, 254], {}),
        ([0, 204, 206], {"free_thresh": 0.25}),
        ([0, 205], {"free_thresh": 0.25, "negate": 1}),
        ([0, 205], {"free_thresh": 0.25, "mode": "scale"}),
        ([0, 205], {"free_thresh": 0.25, "mode": "raw"}),
        ([(205, 205, 205, 0)], {"free_thresh": 0.25}),
    ],
)
def test_gray_205_gives_no_warning_where_it_does_no_harm(pixels, fields):
    Image.fromarray(np.array([pixels], np.uint8)).save("map.png")
    OccupancyMap.load(write_yaml(**fields))  # a warning would be an error


@pytest.mark.parametrize("mode", ["trinary", "scale"])
def test_unknown_205_reads_that_gray_as_unknown_without_a_warning(mode):
    Image.fromarray(PICTURE).save("map.png")
    path = write_yaml(free_thresh=0.25, mode=mode)
    assert OccupancyMap.load(path, unknown_205=True).occupancy.tolist() == LOADED


def test_cells_between_free_and_occupied_give_a_warning_with_the_count():
    Image.fromarray(np.array([[0, 100, 150, 254]], np.uint8)).save("map.png")
    with pytest.warns(MapWarning, match="^2 cells of map.png.*thresholded"):
        OccupancyMap.load(write_yaml(mode="scale"))


numbers = st.floats(-1e4, 1e4)
origins = st.tuples(numbers, numbers, st.floats(-math.pi, math.pi))
anything = arrays(np.int8, array_shapes(min_dims=2, max_dims=2), elements=st.integers(-1, 100))
decided = arrays(
    np.int8, array_shapes(min_dims=2, max_dims=2), elements=st.sampled_from([-1, 0, 100])
)
MODES = [("trinary", decided), ("scale", anything), ("raw", anything)]


@pytest.mark.parametrize(("mode", "cells"), MODES, ids=[mode for mode, _ in MODES])
@given(st.data())
def test_what_is_saved_loads_again_exactly(mode, cells, data):
    occupancy, origin = data.draw(cells), data.draw(origins)
    resolution_m = data.draw(st.floats(1e-6, 1e3))
    image_format = data.draw(
        st.sampled_from([None, "png"] if mode == "scale" else [None, "png", "bmp", "pgm"])
    )
    saved = OccupancyMap(occupancy, resolution_m, origin)
    saved.save("maps/floor.yaml", mode=mode, image_format=image_format)
    for rules in ("nav2", "humble"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MapWarning)
            again = OccupancyMap.load("maps/floor.yaml", rules=rules)
        assert np.array_equal(again.occupancy, occupancy)
        assert (again.resolution_m, again.origin) == (resolution_m, origin)


def test_trinary_saves_what_is_neither_free_nor_occupied_as_unknown():
    OccupancyMap.from_array([[0, 1, 50, 99, 100, -1]], 0.1).save("map.yaml")
    assert OccupancyMap.load("map.yaml").occupancy.tolist() == [[0, -1, -1, -1, 100, -1]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "cost"}, ["'cost'", "trinary, scale, raw"]),
        ({"image_format": "jpg"}, ["'jpg'", "pgm, png, bmp"]),
        ({"mode": "scale", "image_format": "pgm"}, ["pgm", "use png"]),
    ],
)
def test_a_way_of_saving_that_cannot_be_is_refused_and_writes_nothing(options, words):
    with pytest.raises(MapError) as caught:
        ascii_map(".#").save("map.yaml", **options)
    assert all(word in str(caught.value) for word in words)
    assert not list(Path().iterdir())


def test_who_reads_the_old_files_while_they_are_saved_anew_reads_them_whole():
    ascii_map(".#?").save("map.yaml")
    old = [Path(name).read_bytes() for name in ("map.yaml", "map.pgm")]
    with open("map.yaml", "rb") as header, open("map.pgm", "rb") as image:
        ascii_map("##\n..", 0.5).save("map.yaml")
        assert [header.read(), image.read()] == old
    assert sorted(path.name for path in Path().iterdir()) == ["map.pgm", "map.yaml"]


def test_a_failing_image_write_leaves_the_old_map(monkeypatch):
    def fail(self, path, format):
        Path(path).write_bytes(b"P5 half of")
        raise OSError("no space left on device")

    old = ascii_map(".#?")
    old.save("map.yaml")
    monkeypatch.setattr(Image.Image, "save", fail)
    with pytest.raises(MapError, match=r"map\.yaml: no space left"):
        ascii_map("##", 0.5).save("map.yaml")
    again = OccupancyMap.load("map.yaml")
    assert np.array_equal(again.occupancy, old.occupancy)
    assert again.resolution_m == 1.0


def test_a_failing_yaml_write_leaves_the_old_map(monkeypatch):
    def fail(self, text, encoding):
        raise OSError("no space left on device")

    old = ascii_map(".#?")
    old.save("map.yaml")
    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(MapError, match="no space left"):
        ascii_map("##", 0.5).save("map.yaml")
    assert np.array_equal(OccupancyMap.load("map.yaml").occupancy, old.occupancy)


def test_saving_under_the_name_of_an_image_is_refused():
    with pytest.raises(MapError, match=r"ends in \.yaml"):
        ascii_map(".#?").save("floor.pgm")
    assert not Path("floor.pgm").exists()


def test_a_map_cannot_be_saved_below_a_file():
    Path("file").write_text("")
    with pytest.raises(MapError, match=r"file/map\.yaml"):
        ascii_map(".").save("file/map.yaml")


@pytest.mark.parametrize("bad", BAD_MAPS.values(), ids=BAD_MAPS)
def test_a_bad_map_gives_one_sentence_that_names_the_value(bad):
    path = write_bad_map(bad)
    with pytest.raises(MapError) as caught:
        OccupancyMap.load(path)
    message = str(caught.value)
    assert all(word in message for word in bad.words)
    assert message.endswith(".")
    assert "\n" not in message


def test_a_folder_and_a_file_that_is_not_text_are_no_map_yaml():
    Path("folder").mkdir()
    Path("bytes.yaml").write_bytes(b"\xff\xfe\0")
    for path in ("folder", "bytes.yaml"):
        with pytest.raises(MapError, match=f"^{path} cannot be read.*[.]$"):
            OccupancyMap.load(path)


@pytest.mark.parametrize("side", [9_000, 60_000])
def test_a_header_that_asks_for_too_many_pixels_is_refused_unread(side):
    Path("map.png").write_bytes(f"P5\n{side} {side}\n255\n".encode())
    path = write_yaml()
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    tracemalloc.start()
    try:
        with pytest.raises(MapError, match="64000000"):
            OccupancyMap.load(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 5e6  # bytes, as Python counts them
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB, all of them
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "fields",
    [
        {"free_thresh": "1.96e-1"},
        {"resolution": "5e-2"},
        {"origin": "[0, 0, 1e-16]"},
    ],
)
def test_numbers_with_an_exponent_load_as_numbers(fields):
    """YAML 1.2 and Nav2 read them, and a C++ map saver writes a yaw of 1e-16 so."""
    assert load([0, 205, 254], **fields) == [100, -1, 0]


@pytest.mark.parametrize(
    "text",
    [
        yaml_text(resolution="1" + 400 * "0"),
        yaml_text(resolution="1" + 5000 * "0"),
        yaml_text(made="2024-13-45"),
        yaml_text(negate="!!int no"),
        "!!map [1, 2]",
    ],
    ids=["huge number", "number of too many digits", "no such date", "no integer", "no mapping"],
)
def test_values_that_python_cannot_hold_are_an_error_of_the_map(text):
    Path("map.yaml").write_text(text)
    with pytest.raises(MapError):
        OccupancyMap.load("map.yaml")


def test_a_long_value_is_not_quoted_whole():
    """With aliases, a yaml of a few lines can hold a value whose text fills the memory."""
    with pytest.raises(MapError) as caught:
        OccupancyMap.load(write_yaml(origin=[0] * 2000))
    assert len(str(caught.value)) < 1000


def test_the_home_of_an_unknown_user_is_an_error_of_the_map():
    with pytest.raises(MapError):
        OccupancyMap.load("~nobody_of_this_name/map.yaml")


@pytest.mark.skipif(not DATA.exists(), reason="the original maps are not beside the repository")
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("aws_small_house", "map.yaml"),
        ("iai_apartment", "map_24_08_2022.yaml"),
        ("wrs2020", "map.yaml"),
    ],
)
def test_the_shipped_map_is_the_original_place_by_place(name, file):
    original = OccupancyMap.load(DATA / name / file)
    shipped = OccupancyMap.load(SCENARIOS / name / "map.yaml")
    everywhere = shipped.centres(np.moveaxis(np.indices(shipped.shape), 0, -1))
    assert np.array_equal(original.look_up(original.occupancy, everywhere, -2), shipped.occupancy)
    for value in (0, 100):  # what was cut off is unknown
        assert (original.occupancy == value).sum() == (shipped.occupancy == value).sum()
