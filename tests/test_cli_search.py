"""plan, teach and search at the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sightline as sl
from grids import ascii_map
from sightline.cli_home import LearnerName
from tiny import EAST as TINY_EAST
from tiny import START as TINY_START
from tiny import write_tiny

# two rooms; nothing is named in them
BARE = "\n".join(
    [
        "#" * 42,
        *["#" + "." * 19 + "##" + "." * 19 + "#"] * 8,
        *["#" + "." * 40 + "#"] * 4,
        *["#" + "." * 19 + "##" + "." * 19 + "#"] * 8,
        "#" * 42,
    ]
)
QUICK = ["--points", 12, "--range", 1.5]
START = ["--start", 1.0, 1.0]


@pytest.fixture
def flat(temporary_directory: Path) -> str:
    """A bare map of one's own."""
    ascii_map(BARE, resolution_m=0.2).save("flat.yaml")
    return "flat.yaml"


@pytest.fixture
def told(run):
    """Runs a command that must succeed, and gives the facts of its JSON."""

    def runs(*words: object) -> dict:
        code, out, err = run(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return runs


def fails_in_one_line(result: tuple[int, str, str], *words: str) -> None:
    code, out, err = result
    assert (code, out) == (2, "")
    assert err.startswith("sightline: ")
    assert err.count("\n") == 1
    assert all(word in err for word in words), err


def test_a_plan_on_a_bare_map_with_nothing_learned(run, flat: str) -> None:
    code, out, err = run("plan", flat, "cup", *START, *QUICK)
    assert (code, err) == (0, "")
    first, head, start, *stops, last = out.splitlines()
    assert first == "cup in flat, from (1, 1), learned from nothing"
    assert head.split() == ["stop", "x", "y", "chance", "arrival", "why"]
    assert start.split()[:3] == ["start", "1.00", "1.00"]
    assert [line.split()[0] for line in stops] == [str(i + 1) for i in range(len(stops))]
    assert len(stops) >= 4
    arrivals = [float(line.split()[4]) for line in stops]
    assert arrivals == sorted(arrivals)
    assert "come into view" in stops[0]
    assert last.startswith(f"found on this tour of {arrivals[-1]:.1f} m with a chance of ")


def test_the_json_of_a_plan_holds_what_the_library_says(told, flat: str) -> None:
    facts = told("plan", flat, "cup", *START, *QUICK, "--learner", "frequency", "--seed", 3)
    home = sl.Scenario.load(flat)
    search = sl.Searcher(
        home, learner=sl.Frequency(), planner=sl.Coverage(), points=12, things=["cup"],
        sensor=sl.Sensor(range_m=1.5),
    )  # fmt: skip
    plan = search.plan("cup", start=(1.0, 1.0), rng=np.random.default_rng(3))
    assert [stop["point"] for stop in facts["stops"]] == [stop.point for stop in plan.stops]
    assert facts["chance"] == pytest.approx(plan.chance, abs=1e-4)
    assert facts["expected_m"] == pytest.approx(plan.expected_m, abs=1e-3)
    whole = facts["chance_at_start"] + sum(stop["chance"] for stop in facts["stops"])
    assert whole == pytest.approx(facts["chance"], abs=1e-3)
    assert set(facts) == {
        "thing", "home", "start", "episodes", "stops", "chance_at_start", "chance", "expected_m",
    }  # fmt: skip


def test_a_plan_is_the_same_each_time(told, flat: str) -> None:
    plans = [told("plan", flat, "cup", *START, *QUICK) for _ in range(2)]
    assert plans[0] == plans[1]


def test_a_plan_is_drawn_where_it_is_told(told, flat: str) -> None:
    facts = told("plan", flat, "cup", *START, *QUICK, "--picture", "plans/cup")
    assert facts["picture"] == "plans/cup.png"
    with Image.open("plans/cup.png") as picture:
        colours = np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)
    assert len(colours) > 50


def test_five_finds_taught_bring_the_search_to_where_they_were(told, flat: str) -> None:
    """The finds lie in the far corner of the other room."""
    spot = np.array([7.5, 4.0])
    before = told("plan", flat, "cup", *START, *QUICK)

    def expected(plan: dict) -> float:
        """Metres until the spot is in range, on the planned tour."""
        for stop in plan["stops"]:
            if np.hypot(*(spot - stop["position"])) <= 1.5:
                return stop["arrival_m"]
        return np.inf

    shares = []
    for i in range(5):
        at = spot + 0.1 * np.array([i % 3 - 1, i % 2])
        facts = told("teach", "cup", *at, "--memory", "home.db", "--home", flat)
        assert facts["episodes"] == facts["episodes_of_thing"] == i + 1
        plan = told(
            "plan", "cup", *START, *QUICK, "--memory", "home.db"
        )  # the memory knows the home
        assert plan["episodes"] == i + 1
        shares.append(
            sum(s["chance"] for s in plan["stops"] if np.hypot(*(spot - s["position"])) <= 1.5)
        )
    assert shares == sorted(shares)  # each find makes it likelier
    assert shares[-1] > 0.5
    assert expected(plan) < expected(before)
    near = [np.hypot(*(spot - stop["position"])) <= 1.5 for stop in plan["stops"]]
    way = sl.Scenario.load(flat).map.free_space(0.25).distances([(1.0, 1.0)], [(7.5, 3.0)])[0, 0]
    assert expected(plan) <= 1.3 * way  # with hardly a detour
    assert near.index(True) < len(near) / 2


def test_a_list_of_finds_teaches_as_well(told, run, flat: str) -> None:
    Path("found.csv").write_text(
        "thing,x,y,time\ncup,7.5,4.0,2026-03-01T18:30\ncup,7.4,4.0,\nkeys,1.0,3.0,12.5\n"
    )
    plan = told("plan", flat, "cup", *START, *QUICK, "--objects", "found.csv")
    assert plan["episodes"] == 3
    told("teach", "cup", 7.5, 4.0, "--memory", "home.db", "--home", flat)
    told("teach", "cup", 7.4, 4.0, "--memory", "home.db")
    told("teach", "keys", 1.0, 3.0, "--memory", "home.db")
    remembered = told("plan", flat, "cup", *START, *QUICK, "--memory", "home.db")
    assert remembered == plan
    code, out, _ = run("plan", flat, "cup", *START, *QUICK, "--objects", "found.csv")
    assert code == 0
    assert out.startswith("cup in flat, from (1, 1), learned from 3 episodes")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,x,y\ncup,1,2\n", ["first line must name the columns", "name,x,y"]),
        ("thing,x,y,mood\ncup,1,2,3\n", ["thing,x,y,mood"]),
        ("", ["first line must name"]),
        ("thing,x,y\ncup,1\n", ["line 2", "as many fields"]),
        ("thing,x,y\ncup,1,2,3\n", ["line 2", "as many fields"]),
        ("thing,x,y\ncup,1,2\ncup,one,2\n", ["line 3", "'one' and '2'"]),
        ("thing,x,y\ncup,nan,2\n", ["line 2", "outside the map"]),
        ("thing,x,y\ncup,100,2\n", ["line 2", "(100, 2) lies outside the map"]),
        ("thing,x,y\n ,1,2\n", ["line 2", "needs a name"]),
        ("thing,x,y,time\ncup,1,2,soon\n", ["line 2", "'soon'"]),
        ("thing,x,y,time\ncup,1,2,inf\n", ["line 2", "finite"]),
        ('thing,x,y\n"cup,1,2\n', ["not a CSV file"]),
        (b"thing,x,y\n\xff,1,2\n", ["not a CSV file in UTF-8"]),
    ],
)
def test_a_bad_list_of_finds_is_refused_with_its_line(run, flat: str, text, said) -> None:
    Path("bad.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    fails_in_one_line(
        run("plan", flat, "cup", *START, *QUICK, "--objects", "bad.csv"), *said, "bad.csv"
    )


def test_a_find_can_have_negative_coordinates_and_a_memory_knows_its_home(run, told) -> None:
    code, out, err = run("teach", "cup", -0.2, 2, "--memory", "home.db", "--home", "kitchen1")
    assert (code, err) == (0, "")
    assert out == ("cup at (-0.2, 2) in kitchen1 is remembered in home.db: 1 of cup, 1 in all\n")
    with sl.Experience.open("home.db") as memory:
        assert memory.about == {
            "home": "kitchen1", "robot_radius_m": 0.25, "unknown_205": False,
        }  # fmt: skip
        (episode,) = memory.episodes()
    assert (episode.query.thing, episode.position) == ("cup", (-0.2, 2.0))


def test_a_memory_keeps_the_radius_of_the_robot(told, run, flat: str) -> None:
    told("teach", "cup", 7.5, 4.0, "--memory", "home.db", "--home", flat, "--radius", 0.3)
    assert told("plan", "cup", *START, *QUICK, "--memory", "home.db")["episodes"] == 1
    again = run("plan", flat, "cup", *START, *QUICK, "--memory", "home.db", "--radius", 0.5)
    fails_in_one_line(again, "home.db is the memory of flat-", "robot radius")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan", "kitchen1", *START], ["'kitchen1'", "--memory"]),
        (["plan", "nowhere", "cup", *START], ["nowhere", "kitchen1, kitchen2"]),
        (["plan", "kitchen1", "cup", "--start", "-9", "0"], ["(-9.00, 0.00) lies outside"]),
        (["plan", "kitchen1", "cup", "--start", "nan", "0"], ["finite"]),
        (["plan", "kitchen1", "cup", *START, "--memory", "no.db"], ["no memory no.db"]),
        (["plan", "kitchen1", "cup", *START, "--range", "-1"], ["range_m", "-1"]),
        (["plan", "kitchen1", "cup", *START, "--detection-rate", "2"], ["detection_rate", "2"]),
        (["plan", "kitchen1", "cup", *START, "--objects", "no.csv"], ["no.csv"]),
        (["plan", "kitchen1", "pony", *START, "--learner", "oracle"], ["pony", "bottle"]),
        (
            ["plan", "kitchen1", "cup", *START, "--learner", "random", "--planner", "coverage"],
            ["mass"],
        ),
        (["teach", "cup", "1", "2", "--memory", "home.db"], ["no memory home.db"]),
        (["teach", "cup", "99", "2", "--memory", "a.db", "--home", "kitchen1"], ["(99, 2)"]),
        (["teach", "", "1", "2", "--memory", "a.db", "--home", "kitchen1"], ["needs a name"]),
        (["teach", "cup", "1", "2", "--memory", ".", "--home", "kitchen1"], ["folder"]),
        (["search", "kitchen1", "pony", "--no-picture"], ["pony", "bottle"]),
        (["search", "kitchen1", "cup", "--blocked", "7"], ["blocked_rate", "7"]),
        (["search", "kitchen1", "cup", "--budget", "-1"], ["--budget", "-1"]),
        (["search", "kitchen1", "cup", "--at", "99", "0"], ["(99, 0)"]),
    ],
)
def test_a_bad_argument_gives_one_line_and_exit_code_2(run, words, said) -> None:
    fails_in_one_line(run(*words), *said)


def test_a_word_that_cannot_be_is_a_usage_error(run) -> None:
    for words in (
        ["plan", "kitchen1", "cup"],
        ["plan", "kitchen1", "cup", *START, "--learner", "genius"],
        ["teach", "cup", "one", "2", "--memory", "a.db"],
        ["teach", "cup", "1", "2"],
        ["teach", "cup", "1", "2", "--memory", "a.db", "--colour", "red"],
        ["search", "kitchen1", "cup", "--world", "marble"],
    ):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert "Usage: sightline" in err
    assert not Path("a.db").exists()


def test_what_is_refused_is_not_remembered(run, flat: str) -> None:
    words = ["--memory", "home.db", "--home", flat]
    assert run("teach", "cup", 1, 1, *words)[0] == 0
    fails_in_one_line(run("teach", "cup", 1, 99, *words), "(1, 99)")
    with sl.Experience.open("home.db") as memory:
        assert len(memory) == 1


def test_a_file_that_is_no_memory_gives_one_line(run, flat: str) -> None:
    Path("notes.db").write_text("not a database " * 100)
    fails_in_one_line(run("plan", "cup", *START, "--memory", "notes.db"), "no SQLite file")
    fails_in_one_line(
        run("teach", "cup", 1, 1, "--memory", "notes.db", "--home", flat), "no SQLite"
    )


def test_one_search_is_told_look_by_look_and_drawn(run, told) -> None:
    words = ["search", "wrs2020", "apple", "--seed", 3, "--radius", 0.2, *QUICK]
    thing = sl.Scenario.load("wrs2020").objects[0]
    words[2] = thing
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    first, head, *looks, last, picture = out.splitlines()
    assert first == f"{thing} in wrs2020"
    assert head.split() == ["look", "x", "y", "chance", "arrival"]
    assert looks[0].split()[0] == "start"
    assert all(line.endswith(" m  not seen") for line in looks[:-1])
    assert ("  seen" in looks[-1]) == last.startswith("found after")
    assert picture == f"picture out/wrs2020_{thing}.png"
    assert Path(f"out/wrs2020_{thing}.png").read_bytes().startswith(b"\x89PNG")
    facts = told(*words, "--no-picture")
    (search,) = facts["searches"]
    assert len(search["looks"]) == len(looks)
    assert f"after {search['driven_m']:.1f} m" in last


def test_the_json_of_a_search_is_the_episode_of_the_library(told) -> None:
    thing = sl.Scenario.load("wrs2020").objects[0]
    words = [*QUICK, "--radius", 0.2, "--learner", "frequency"]
    facts = told("search", "wrs2020", thing, "--seed", 5, "--no-picture", *words)
    home = sl.Scenario.load("wrs2020")
    site = sl.Site.of(home, sensor=sl.Sensor(range_m=1.5), robot_radius_m=0.2)
    of_world, of_method = np.random.default_rng(5).spawn(2)
    search = sl.Searcher(site, learner=sl.Frequency(), planner=sl.Coverage(), points=12)
    world = sl.GridWorld(site, rng=of_world)
    world.reset()
    least_m = world.least_way_m(thing)
    episode = search.search(thing, world=world, rng=of_method)
    (told_of,) = facts["searches"]
    assert told_of["outcome"] == episode.outcome
    assert [look["point"] for look in told_of["looks"]] == [v.point for v in episode.visits]
    assert told_of["driven_m"] == pytest.approx(episode.visits[-1].driven_m, abs=1e-3)
    assert told_of["least_m"] == pytest.approx(least_m, abs=1e-3)
    assert told_of["lies"] == [pytest.approx(at, abs=1e-3) for at in world.lying(thing).tolist()]


def test_searches_are_remembered_and_learned_from(run, told) -> None:
    thing = sl.Scenario.load("wrs2020").objects[0]
    words = [
        "search",
        "wrs2020",
        thing,
        *QUICK,
        "--radius",
        0.2,
        "--memory",
        "home.db",
        "--no-picture",
    ]
    facts = told(*words, "--episodes", 3)
    assert len(facts["searches"]) == 3
    with sl.Experience.open("home.db") as memory:
        kept = [(str(e.outcome), round(e.visits[-1].driven_m, 3)) for e in memory.episodes()]
    assert kept == [(s["outcome"], s["driven_m"]) for s in facts["searches"]]
    code, out, err = run(*words, "--episodes", 2)
    assert (code, err) == (0, "")  # no progress bar, as nobody watches
    assert out.splitlines()[1].split()[:3] == ["search", "looks", "driven"]
    assert out.splitlines()[-1].startswith("found ")
    with sl.Experience.open("home.db") as memory:
        assert len(memory) == 5
    plan = told("plan", thing, "--start", *memory_start(), *QUICK, "--memory", "home.db")
    assert plan["episodes"] == 5


def memory_start() -> list[float]:
    site = sl.Site.of(sl.Scenario.load("wrs2020"), robot_radius_m=0.2)
    return site.standing[0].tolist()


def test_a_search_on_a_bare_map_is_told_where_the_object_lies(told, flat: str) -> None:
    words = ["search", flat, "cup", *START, *QUICK, "--at", 7.5, 4.0, "--no-picture"]
    (search,) = told(*words)["searches"]
    assert (search["outcome"], search["lies"]) == ("found", [[7.5, 4.0]])
    (early,) = told(*words, "--budget", 2)["searches"]
    assert early["outcome"] == "out_of_budget"
    assert early["driven_m"] <= 2
    (unseen,) = told(*words, "--detection-rate", 0.001)["searches"]
    assert (unseen["outcome"], unseen["taken_to_lie"], unseen["spl"]) == ("not_found", None, 0)


def test_a_search_without_a_mass_and_with_troubles_is_told_too(run, flat: str) -> None:
    words = ["search", flat, "cup", *START, *QUICK, "--at", 7.5, 4.0, "--no-picture"]
    code, out, err = run(*words, "--learner", "random", "--blocked", 0.5, "--false-alarms", 0.2)
    assert (code, err) == (0, "")
    assert " - " in out  # no chance is known for looks between the points
    assert "nan" not in out
    code, out, err = run(*words, "--learner", "random", "--while-driving", "--json")
    assert (code, err) == (0, "")
    json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


@pytest.mark.slow
@pytest.mark.parametrize("learner", list(LearnerName))
def test_every_learner_and_planner_can_be_named(run, learner) -> None:
    words = ["search", "kitchen1", "cup", *QUICK, "--no-picture", "--learner", learner]
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "after" in out


@pytest.mark.parametrize("planner", ["coverage", "wmlp", "greedy", "tsp"])
def test_every_planner_can_be_named(run, planner) -> None:
    words = ["search", "kitchen1", "cup", *QUICK, "--no-picture", "--learner", "uniform"]
    code, out, err = run(*words, "--planner", planner)
    assert (code, err) == (0, "")
    assert "after" in out


def test_the_warnings_of_a_map_are_one_line_each(run) -> None:
    gray = np.full((60, 60), 205, np.uint8)
    gray[5:55, 5:55] = 254
    Image.fromarray(gray).save("map.png")
    Path("map.yaml").write_text(
        "image: map.png\nresolution: 0.05\norigin: [0.0, 0.0, 0.0]\nnegate: 0\n"
        "occupied_thresh: 0.65\nfree_thresh: 0.25\n"
    )
    words = ["plan", "map.yaml", "cup", "--start", 1.5, 1.5, "--points", 3]
    code, _, err = run(*words)
    assert code == 0
    assert err.startswith("sightline: warning: 1100 pixels of map.png have gray 205")
    assert err.count("\n") == 1
    assert run(*words, "--unknown-205")[2] == ""


def test_the_help_of_the_commands_needs_no_heavy_modules() -> None:
    script = """
import sys, sightline.cli
for command in ("plan", "teach", "search"):
    try:
        sightline.cli.main([command, "--help"])
    except SystemExit:
        pass
heavy = {"numpy", "scipy", "numba", "matplotlib", "PIL", "yaml", "sqlalchemy"} & set(sys.modules)
print("heavy:", sorted(heavy))
"""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True, text=True, env=plain, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.count("Usage: sightline") == 3
    assert done.stdout.endswith("heavy: []\n")


PHYSICS = ["--world", "bullet", "--points", 5, "--start", *TINY_START]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--world", "bullet", "--radius", "0.2"], ["--radius", "at least 0.3", "not 0.2"]),
        (["--world", "bullet", "--radius", "nan"], ["--radius", "not nan"]),
        (["--world", "bullet", "--sensor", "disc"], ["--sensor disc", "lines of sight"]),
        (["--world", "bullet", "--blocked", "0.5"], ["--blocked", "--boxes"]),
        (["--world", "bullet", "--video", "a.avi"], [".mp4 or .gif", "a.avi"]),
        (["--video", "a.mp4"], ["--video", "--world bullet"]),
        (["--boxes", "3"], ["--boxes", "--world bullet"]),
    ],
)
def test_what_a_world_cannot_do_is_refused_before_anything_begins(run, words, said) -> None:
    fails_in_one_line(run("search", "kitchen1", "cup", *words, "--memory", "home.db"), *said)
    assert not list(Path().iterdir())


def test_without_pybullet_the_physical_world_is_refused(run, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pybullet", None)
    words = ["search", "kitchen1", "cup", "--world", "bullet", "--memory", "home.db"]
    fails_in_one_line(run(*words), "PyBullet", "sightline[physics]")
    assert not Path("home.db").exists()


def test_a_search_in_physics_is_told_filmed_and_remembered(run, told) -> None:
    """The memory then serves plans, and searches in the grid world."""
    pytest.importorskip("pybullet")
    words = [write_tiny(), "cup", *PHYSICS, "--at", *TINY_EAST, "--memory", "home.db"]
    facts = told("search", *words, "--video", "films/cup.gif", "--learner", "oracle")
    (search,) = facts["searches"]
    assert search["outcome"] == "found"
    assert search["lies"] == [pytest.approx(TINY_EAST, abs=0.1)]
    assert search["taken_to_lie"] == pytest.approx(TINY_EAST, abs=0.3)
    assert search["driven_in_all_m"] >= search["driven_m"] > 0
    assert search["seconds"] > 1
    assert search["collisions"] == 0
    assert facts["video"] == "films/cup.gif"
    assert Path(facts["picture"]).exists()
    with Image.open("films/cup.gif") as film:
        assert film.n_frames > 10
        width, height = film.size
    assert width > 600
    assert width % 2 == height % 2 == 0
    with sl.Experience.open("home.db") as memory:
        assert len(memory) == 1
        assert memory.about["world"] == "bullet"
        assert memory.about["robot_radius_m"] == 0.35
    plan = told("plan", "cup", "--start", *TINY_START, "--memory", "home.db", "--points", 5)
    assert plan["episodes"] == 1
    told("search", "cup", "--memory", "home.db", "--points", 5, "--no-picture")


def test_a_search_in_physics_as_text(run) -> None:
    pytest.importorskip("pybullet")
    words = ["--detection-rate", 0.9, "--false-alarms", 0, "--budget", 0.5, "--boxes", 1]
    code, out, err = run(
        "search", write_tiny(), "cup", *PHYSICS, "--at", *TINY_EAST, *words, "--no-picture"
    )
    assert (code, err) == (0, "")
    assert out.startswith("cup in tiny\n")
    assert "out of budget after" in out
    assert out.splitlines()[-1].endswith(" s in all, 0 collisions")
    assert not Path("out").exists()


def test_the_memory_of_a_point_is_not_that_of_a_body(run, told) -> None:
    told("teach", "cup", *TINY_EAST, "--memory", "home.db", "--home", write_tiny())
    pytest.importorskip("pybullet")
    refused = run("search", "tiny", "cup", *PHYSICS, "--memory", "home.db")
    fails_in_one_line(refused, "home.db", "begin another")


def test_pybullet_is_loaded_without_its_greeting() -> None:
    pytest.importorskip("pybullet")
    command = [
        sys.executable,
        "-m",
        "sightline",
        "search",
        write_tiny(),
        "pony",
        "--world",
        "bullet",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "sightline: tiny knows no object 'pony'; valid are cup, bowl.\n"
