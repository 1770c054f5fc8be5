import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from grids import BAD_MAPS, ascii_map, write_bad_map, write_yaml
from sightline import Scenario, __version__

FACTS = {
    "name",
    "title",
    "size_m",
    "cells",
    "resolution_m",
    "origin",
    "free_m2",
    "occupied_m2",
    "unknown_m2",
    "robot_radius_m",
    "reachable_m2",
    "surfaces",
    "objects",
    "vantage_points",
    "target_cells",
    "cells_seen",
    "object_mass_seen",
    "warnings",
    "opaque_m2",
    "looked_over_m2",
}


def python(*words: str, **variables: str) -> subprocess.CompletedProcess:
    """Run Python in a process of its own, with Numba as a user has it."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env={**plain, **variables},
        timeout=120,
        check=False,
    )


def fails_in_one_line(result: tuple[int, str, str], *words: str) -> None:
    code, out, err = result
    assert (code, out) == (2, "")
    assert err.startswith("sightline: ")
    assert err.count("\n") == 1
    assert all(word in err for word in words)


def test_map_describes_a_home_and_draws_it(run):
    code, out, err = run("map", "kitchen1")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("kitchen1: Office kitchen of 80 m2")
    assert "  size        11 x 9 m, 110 x 90 cells of 0.1 m, origin (-0.5, -0.5, 0.0)" in lines
    for word in ("area", "reachable", "surfaces    34", "bottle, can", "25 vantage points"):
        assert word in out
    assert lines[-1].endswith("out/kitchen1.png")
    with Image.open("out/kitchen1.png") as picture:
        assert picture.format == "PNG"
        width, height = picture.size
        assert 400 < height < width < 3000
        colours = np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)
    assert len(colours) > 50


def test_json_holds_the_facts_of_the_library(run):
    code, out, err = run("map", "wrs2020", "--json", "--no-picture", "--points", 7, "--radius", 0.2)
    assert (code, err) == (0, "")
    facts, home = json.loads(out), Scenario.load("wrs2020")
    assert set(facts) == FACTS
    free = home.map.free_space(0.2, beside_unknown=False)
    assert facts["name"] == "wrs2020"
    assert facts["cells"] == list(home.map.shape[::-1])
    assert facts["objects"] == list(home.objects)
    assert facts["free_m2"] == pytest.approx(home.map.free.sum() * 0.05**2, abs=0.01)
    assert facts["reachable_m2"] == pytest.approx(free.area_m2, abs=0.01)
    whole = facts["free_m2"] + facts["occupied_m2"] + facts["unknown_m2"]
    assert whole == pytest.approx(np.prod(home.map.size_m), abs=0.02)
    assert len(facts["vantage_points"]) == 7
    assert free.contains(facts["vantage_points"]).all()
    assert facts["target_cells"] == len(home.target_cells())
    shares = [facts["cells_seen"], *facts["object_mass_seen"].values()]
    assert all(0 < share <= 1 for share in shares)
    assert not Path("out").exists()  # --no-picture


def test_the_picture_goes_where_it_is_told(run):
    code, out, _ = run("map", "wrs2020", "--json", "--picture", "plans/arena.png")
    assert code == 0
    assert json.loads(out)["picture"] == "plans/arena.png"
    assert Path("plans/arena.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_is_at_the_path_that_is_printed(run):
    _, out, _ = run("map", "wrs2020", "--json", "--picture", "arena")
    assert Path(json.loads(out)["picture"]).is_file()


def test_options_reach_the_survey(run):
    def facts(*options: object) -> dict:
        return json.loads(run("map", "kitchen1", "--json", "--no-picture", *options)[1])

    plain = facts("--points", 5)
    assert plain == facts("--points", 5)  # the same seed gives the same points
    assert plain["vantage_points"] != facts("--points", 5, "--seed", 1)["vantage_points"]
    assert facts("--points", 5, "--disc")["cells_seen"] > plain["cells_seen"]
    assert facts("--points", 5, "--range", 1)["cells_seen"] < plain["cells_seen"]
    assert facts("--points", 5, "--radius", 0.1)["reachable_m2"] > plain["reachable_m2"]
    first = facts("--points", 5, "--start", 7.0, 0.5)["vantage_points"][0]
    assert first == pytest.approx([7.0, 0.5], abs=0.1)


def test_a_map_with_the_205_trap_says_so_and_unknown_205_cures_it(run):
    gray = np.full((30, 30), 205, np.uint8)
    gray[5:25, 5:25] = 254
    Image.fromarray(gray).save("map.png")
    path = write_yaml(free_thresh=0.25)
    code, out, err = run("map", path, "--no-picture", "--points", 3)
    assert (code, err) == (0, "")
    assert "  warning     500 pixels of map.png have gray 205" in out
    code, out, err = run("map", path, "--no-picture", "--points", 3, "--unknown-205")
    assert (code, err) == (0, "")
    assert "warning" not in out
    assert "unknown 1.25 m2" in out


@pytest.mark.parametrize("bad", BAD_MAPS.values(), ids=BAD_MAPS)
def test_a_bad_map_gives_one_line_and_exit_code_2(run, bad):
    path = write_bad_map(bad)
    words = bad.words if Path(path).exists() else ["map.yaml", "neither"]
    fails_in_one_line(run("map", path), *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], ["nowhere", "kitchen1, kitchen2"]),
        (["kitchen1", "--radius", "-1"], ["Robot radius", "-1.0"]),
        (["kitchen1", "--radius", "nan"], ["nan"]),
        (["kitchen1", "--radius", "50"], ["50.0 m fits nowhere"]),
        (["kitchen1", "--range", "-1"], ["range_m", "-1.0"]),
        (["kitchen1", "--points", "9999999"], ["9999999 vantage points"]),
        (["kitchen1", "--start", "-9", "0"], ["(-9.00, 0.00) lies outside", "nearest free"]),
        (["kitchen1", "--start", "nan", "0"], ["finite"]),
        (["kitchen1", "--picture", "plan.xyz"], ["xyz"]),
    ],
)
def test_a_bad_argument_gives_one_line_and_exit_code_2(run, words, said):
    fails_in_one_line(run("map", *words), *said)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("~nobody_of_this_name/map.yaml", id="home of nobody"),
        pytest.param("huge.yaml", id="huge number"),
        pytest.param("tagged.yaml", id="wrong tag"),
    ],
)
def test_rarer_bad_maps_give_one_line_too(run, path):
    write_yaml("huge.yaml", resolution=10**400)
    Path("tagged.yaml").write_text("!!map [1, 2]")
    fails_in_one_line(run("map", path))


def test_an_unknown_option_is_a_usage_error(run):
    code, out, err = run("map", "kitchen1", "--colour", "red")
    assert (code, out) == (2, "")
    assert "--colour" in err
    assert "Traceback" not in err


def test_a_process_of_its_own_shows_no_traceback_unless_debug():
    plain = python("-m", "sightline", "map", "nowhere")
    fails_in_one_line((plain.returncode, plain.stdout, plain.stderr), "nowhere")
    debug = python("-m", "sightline", "--debug", "map", "nowhere")
    assert debug.returncode != 0
    assert debug.stderr.startswith("Traceback (most recent call last)")
    assert "PlacesError: nowhere is neither" in debug.stderr


def test_version_and_help(run):
    assert run("--version") == (0, f"sightline {__version__}\n", "")
    code, out, err = run("map", "--help")
    assert (code, err) == (0, "")
    for option in ("--points", "--radius", "--range", "--disc", "--start", "--unknown-205"):
        assert option in out


def test_the_command_line_starts_without_heavy_modules():
    script = """
import sys, sightline.cli
try:
    sightline.cli.main(["--help"])
except SystemExit:
    pass
heavy = {"numpy", "scipy", "numba", "matplotlib", "PIL", "yaml"} & set(sys.modules)
print("heavy:", sorted(heavy))
"""
    result = python("-W", "error", "-c", script)
    assert result.stderr == ""
    assert "Usage: sightline" in result.stdout
    assert result.stdout.endswith("heavy: []\n")


def test_a_second_process_loads_compiled_kernels_from_the_cache(tmp_path):
    script = """
import numpy as np
from sightline._kernels.clearance import clearance
clearance(np.zeros((2, 2), dtype=np.bool_))
print(sum(clearance.stats.cache_hits.values()), sum(clearance.stats.cache_misses.values()))
"""
    cache = str(tmp_path / "cache")
    first, second = (python("-c", script, NUMBA_CACHE_DIR=cache) for _ in range(2))
    assert (first.stdout, second.stdout) == ("0 1\n", "1 0\n"), first.stderr + second.stderr


def test_small_and_coarse_maps_are_described_too(run):
    for name, resolution_m in (("tiny", 0.05), ("coarse", 0.5)):
        ascii_map("...\n.#.\n...", resolution_m=resolution_m).save(f"{name}.yaml")
        code, out, err = run("map", f"{name}.yaml", "--no-picture", "--json", "--radius", 0.01)
        assert (code, err) == (0, "")
        assert 1 <= len(json.loads(out)["vantage_points"]) <= 8


def test_the_command_says_how_much_is_opaque(run):
    _, out, _ = run("map", "kitchen1", "--no-picture", "--camera-height", 3)
    high = float(out.split("sight")[1].split()[0])
    _, out, _ = run("map", "kitchen1", "--no-picture", "--camera-height", 0.3)
    assert float(out.split("sight")[1].split()[0]) > high
