import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage, spatial

from grids import ascii_map
from sightline import OccupancyMap, Scenario
from sightline.places import SHIPPED

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "src" / "sightline" / "scenarios"
KITCHENS = {"kitchen1": (10.0, 8.0), "kitchen2": (12.0, 10.0)}  # interior in metres
REAL = [name for name in SHIPPED if name not in KITCHENS]
RADIUS_M = dict.fromkeys(SHIPPED, 0.25) | {"wrs2020": 0.2}


def distributions() -> list[tuple[str, str]]:
    return [(name, kind) for name in SHIPPED for kind in Scenario.load(name).places.distributions]


def holding(home: Scenario) -> set[str]:
    """The surfaces on which some object can lie."""
    return {
        surface
        for thing in home.objects
        for surface, chance in home.probabilities(thing).items()
        if chance > 0
    }


def leaks(on: OccupancyMap) -> bool:
    """Whether a free cell touches, by a side or a corner, unknown that is joined to the rim."""
    rim = np.pad(on.unknown, 1, constant_values=True)
    parts, _ = ndimage.label(rim, structure=np.ones((3, 3)))
    outside = ndimage.binary_dilation(parts == parts[0, 0], structure=np.ones((3, 3)))
    return bool((outside[1:-1, 1:-1] & on.free).any())


def test_the_folders_are_the_scenarios_that_ship():
    assert sorted(path.name for path in FOLDER.iterdir() if path.is_dir()) == sorted(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_scenario_loads_without_warnings(name):
    home = Scenario.load(name)  # a warning would be an error
    assert home.name == name
    assert home.places.title
    assert len(home.places.surfaces) >= 4
    assert len(home.objects) >= 3


@pytest.mark.parametrize(("name", "distribution"), distributions())
def test_probabilities_sum_to_one_and_are_never_negative(name, distribution):
    home = Scenario.load(name, distribution=distribution)
    for thing in home.objects:
        row = home.probabilities(thing)
        assert sum(row.values()) == pytest.approx(1, abs=1e-12)
        assert min(row.values()) >= 0


@pytest.mark.parametrize(("name", "distribution"), distributions())
def test_mass_sums_to_one_over_the_target_cells(name, distribution):
    home = Scenario.load(name, distribution=distribution)
    cells = home.target_cells()
    for thing in home.objects:
        assert home.mass(thing, cells).sum() == pytest.approx(1)


@pytest.mark.parametrize("name", SHIPPED)
def test_all_distributions_of_a_home_are_of_the_same_objects(name):
    rows = Scenario.load(name).places.distributions.values()
    assert len({tuple(sorted(row)) for row in rows}) == 1


@pytest.mark.parametrize(("name", "distribution"), distributions())
def test_the_robot_comes_near_every_surface_that_can_hold_an_object(name, distribution):
    home = Scenario.load(name, distribution=distribution)
    stands = spatial.KDTree(home.map.free_space(RADIUS_M[name]).points())
    for surface in holding(home):
        polygon = home.places.surfaces[surface].polygon
        along = np.linspace(0, 1, 50)[:, None, None]
        outline = (polygon + along * (np.roll(polygon, -1, axis=0) - polygon)).reshape(-1, 2)
        assert stands.query(outline)[0].min() <= 1.2, surface


@pytest.mark.parametrize("name", SHIPPED)
def test_rooms_and_surfaces_fit_together(name):
    """A surface's room, where given, is one of the rooms; surfaces do not fill the home."""
    home = Scenario.load(name)
    assert {surface.room for surface in home.places.surfaces.values()} <= {None, *home.places.rooms}
    before = OccupancyMap.load(FOLDER / name / "map.yaml")
    assert home.map.free.sum() > 0.6 * before.free.sum()


@pytest.mark.parametrize("name", KITCHENS)
def test_a_kitchen_is_closed_and_as_large_as_its_title_says(name):
    home = Scenario.load(name)
    width, height = KITCHENS[name]
    assert f"{width * height:g} m2" in home.places.title
    assert not leaks(home.map)
    assert not leaks(OccupancyMap.load(FOLDER / name / "map.yaml"))
    centres = home.map.centres(np.argwhere(~home.map.unknown))
    inside = ((centres > 0) & (centres < (width, height))).all(axis=1)
    assert inside.sum() * home.map.resolution_m**2 == pytest.approx(width * height)
    free = home.map.centres(np.argwhere(home.map.free))
    assert free.min() > 0
    assert (free < (width, height)).all()


def test_a_gap_in_a_wall_is_noticed():
    assert not leaks(ascii_map("?????\n?###?\n?#.#?\n?###?\n?????"))
    assert leaks(ascii_map("?????\n?###?\n?#.??\n?###?\n?????"))
    assert leaks(ascii_map("?????\n?##??\n?#.#?\n?###?\n?????"))
    assert leaks(ascii_map("###\n#..\n###"))


@pytest.mark.parametrize("name", REAL)
def test_a_map_from_elsewhere_keeps_its_licence_and_says_its_source(name):
    text = (FOLDER / name / "LICENSE").read_text(encoding="utf-8")
    assert "Source: " in text
    assert "procthor" in text
    assert "permi" in text.lower()  # permission is granted, or uses are permitted
    assert "licence: " in (FOLDER / name / "places.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_folder_holds_nothing_but_map_places_and_licence(name):
    files = {path.name for path in (FOLDER / name).iterdir()}
    assert files == {"map.png", "map.yaml", "places.yaml"} | (
        {"LICENSE"} if name in REAL else set()
    )


def test_the_tool_draws_the_shipped_kitchens_byte_for_byte(tmp_path):
    tool = ROOT / "tools" / "draw_kitchens.py"
    subprocess.run([sys.executable, tool, "--out", tmp_path / "out"], check=True, timeout=60)
    for name in KITCHENS:
        for shipped in (FOLDER / name).iterdir():
            assert (tmp_path / "out" / name / shipped.name).read_bytes() == shipped.read_bytes()
