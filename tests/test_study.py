"""Studies: their files, their pairing, and going on after a kill at any moment."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sightline.errors import StudyError
from sightline.metrics import spl
from sightline.reproduce.paper import (
    CLAIMS,
    FINDINGS,
    K1,
    PUBLISHED,
    page,
    paper_study,
    put_to_the_test,
)
from sightline.study import Method, Protocol, Run, Setting, Study, run_study
from sightline.study.cell import lay_course, run_cell

SMALL = Protocol(training_episodes=6, evaluation_episodes=5, exact_starts=2, checkpoints=(3,))
TEXT = """
seeds = 2
[protocol]
training_episodes = 6
evaluation_episodes = 5
exact_starts = 2
checkpoints = [3]
[[settings]]
scenario = "wrs2020"
points = 6
[[methods]]
name = "blind"
learner = "Uniform"
planner = "Tsp"
[[methods]]
name = "counts"
learner = "Frequency"
planner = "Greedy"
planner_settings = { alpha_p = 0.3 }
"""


@pytest.fixture(scope="module")
def study() -> Study:
    """Two quick methods with two seeds in the smallest home."""
    methods = (
        Method("blind", "Uniform", "Tsp"),
        Method("counts", "Frequency", "Greedy", planner_settings={"alpha_p": 0.3}),
    )
    return Study("small", (Setting("wrs2020", points=6),), methods, seeds=2, protocol=SMALL)


@pytest.fixture(scope="module")
def whole(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The study, run without a break in one process."""
    return run_study(study, tmp_path_factory.mktemp("whole") / "run")


def without_seconds(run: Run) -> dict[str, list[dict[str, object]]]:
    """What must not depend on the machine."""
    return {
        key: [{k: v for k, v in row.items() if k not in ("seconds", "plan_s")} for row in rows]
        for key, rows in run.cells.items()
    }


def test_a_toml_file_says_the_same(study: Study) -> None:
    Path("small.toml").write_text(TEXT)
    assert Study.load("small.toml") == study
    assert Study.from_dict(json.loads(json.dumps(study.to_dict()))) == study


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("seeds = 2", "seed = 2", ["'seed'", "valid keys are", "seeds"]),
        ("points = 6", "point = 6", ["setting", "'point'", "points"]),
        ("points = 6", "points = 0", ["setting.points", "1 to 5000", "0"]),
        ('"Frequency"', '"Frequent"', ["'Frequent'", "counts", "Frequency", "PlaceBelief"]),
        ('"Greedy"', '"Greed"', ["'Greed'", "CpSat", "Greedy"]),
        ("exact_starts = 2", "exact_starts = -2", ["protocol.exact_starts", "-2"]),
        ("exact_starts = 2", "exact_starts = 2.5", ["protocol.exact_starts", "2.5", "whole"]),
        ("exact_starts = 2", "blind_rate = 1.5", ["protocol.blind_rate", "0 to 1", "1.5"]),
        ("exact_starts = 2", 'sensor = "eye"', ["protocol.sensor", "'eye'", "line_of_sight"]),
        ("seeds = 2", "seeds = [", ["TOML"]),
        ("seeds = 2", 'settings = "all"', ["TOML"]),
        ('name = "counts"', 'name = "blind"', ["two methods", "blind"]),
        ('name = "counts"\n', "", ["method", "lacks", "'name'"]),
        ('planner = "Tsp"', 'planner = "Tsp"\nsettings = ["home"]', ["'home'", "wrs2020"]),
    ],
)
def test_a_wrong_study_is_named(before: str, after: str, words: list[str]) -> None:
    assert before in TEXT
    Path("wrong.toml").write_text(TEXT.replace(before, after))
    with pytest.raises(StudyError) as caught:
        Study.load("wrong.toml")
    for word in words:
        assert word in str(caught.value)


def test_a_setting_that_a_planner_does_not_know_is_named(study: Study) -> None:
    wrong = replace(study.methods[1], planner_settings={"alpha": 0.3})
    with pytest.raises(StudyError, match=r"'alpha'.*alpha_p"):
        run_cell(SMALL, replace(study, methods=(wrong,)).cells()[0])


def test_a_scenario_without_objects_is_refused(study: Study) -> None:
    Path("bare").mkdir()
    for name in ("map.yaml", "map.png"):
        source = Path(__file__).parent.parent / "src/sightline/scenarios/wrs2020" / name
        if source.exists():
            Path("bare", name).write_bytes(source.read_bytes())
    for image in (Path(__file__).parent.parent / "src/sightline/scenarios/wrs2020").glob("map.p*"):
        Path("bare", image.name).write_bytes(image.read_bytes())
    bare = replace(study, settings=(Setting("bare", points=6),))
    with pytest.raises(StudyError, match="no objects"):
        run_cell(SMALL, bare.cells()[0])


def test_methods_meet_the_same_course(whole: Run) -> None:
    blind, counts = whole.cells["wrs2020 | blind | 0"], whole.cells["wrs2020 | counts | 0"]
    drawn = [
        [(row["thing"], row["l"]) for row in rows if "thing" in row] for rows in (blind, counts)
    ]
    assert drawn[0] == drawn[1]
    other = whole.cells["wrs2020 | blind | 1"]
    assert [row["l"] for row in other if "l" in row] != [row["l"] for row in blind if "l" in row]


def test_objects_are_asked_for_equally_often(study: Study) -> None:
    course = lay_course(study.settings[0], replace(SMALL, training_episodes=20), 3)
    things = [drawn.thing for drawn in course.training]
    assert {things.count(thing) for thing in course.site.home.objects} == {4}


def test_measures_come_from_the_rows(whole: Run) -> None:
    rows = [row for row in whole.cells["wrs2020 | counts | 0"] if row["part"] == "eval"]
    assert len(rows) == 5
    least = [np.inf if row["l"] is None else row["l"] for row in rows]
    mean = spl(
        [row["outcome"] == "found" for row in rows], least, [row["p"] for row in rows]
    ).mean()
    assert whole.values("wrs2020", "counts", "eval_spl")[0] == pytest.approx(mean)
    assert whole.values("wrs2020", "counts", "exact_spl@3").shape == (2,)
    assert whole.series("wrs2020", "counts").shape == (2, 6)


def test_exact_expectation_is_what_sampling_tends_to(study: Study) -> None:
    """Hundreds of starts with exact expectations against thousands of sampled episodes."""
    protocol = Protocol(training_episodes=0, evaluation_episodes=0, exact_starts=300)
    cell = replace(study, protocol=protocol).cells()[0]
    exact = run_cell(protocol, cell)[0]
    many = replace(protocol, evaluation_episodes=3000, exact_starts=0)
    rows = [row for row in run_cell(many, cell) if row["part"] == "eval"]
    least = [np.inf if row["l"] is None else row["l"] for row in rows]
    values = spl([row["outcome"] == "found" for row in rows], least, [row["p"] for row in rows])
    # starts differ, so that this is a check of the order of magnitude and of bias only
    assert abs(values.mean() - np.mean(exact["each"])) < 0.15
    assert exact["success"] == pytest.approx(
        np.mean([r["outcome"] == "found" for r in rows]), abs=0.1
    )


def test_two_workers_give_the_same(study: Study, whole: Run) -> None:
    assert without_seconds(run_study(study, "two", jobs=2)) == without_seconds(whole)


def test_half_written_rows_are_dropped_and_run_again(study: Study, whole: Run) -> None:
    run_study(study, "cut")
    path = Path("cut/episodes.jsonl")
    text = path.read_text()
    for keep in (len(text) - 1, len(text) // 2, len(text) // 3 + 7, 5, 0):
        path.write_text(text[:keep])
        told: list[tuple[int, int, str]] = []
        again = run_study(study, "cut", progress=lambda *what: told.append(what))  # noqa: B023
        assert without_seconds(again) == without_seconds(whole)
        assert len(told) == 1 + 4 - told[0][0]


def test_a_finished_run_is_not_run_again(study: Study) -> None:
    run_study(study, "done")
    before = Path("done/episodes.jsonl").read_bytes()
    run_study(study, "done", jobs=2)
    assert Path("done/episodes.jsonl").read_bytes() == before


def test_a_kill_at_any_moment_loses_nothing_that_was_finished(study: Study, whole: Run) -> None:
    code = (
        "import json, sys\n"
        "from sightline.study import Study, run_study\n"
        "if __name__ == '__main__':\n"
        "    run_study(Study.from_dict(json.load(open('study.json'))), 'killed')\n"
    )
    Path("study.json").write_text(json.dumps(study.to_dict()))
    Path("go.py").write_text(code)
    path = Path("killed/episodes.jsonl")
    with subprocess.Popen([sys.executable, "go.py"]) as process:
        while process.poll() is None and not (path.exists() and path.stat().st_size):
            time.sleep(0.002)
        process.kill()
    kept = set(Run.load("killed").cells)
    assert kept
    again = run_study(study, "killed")
    assert again.is_complete
    assert without_seconds(again) == without_seconds(whole)


def test_a_folder_of_something_else_is_refused(study: Study) -> None:
    Path("mine").mkdir()
    Path("mine/letter.txt").write_text("dear")
    with pytest.raises(StudyError, match="neither empty nor a run folder"):
        run_study(study, "mine")
    with pytest.raises(StudyError, match="no run folder"):
        Run.load("mine")


def test_another_study_or_format_is_refused(study: Study) -> None:
    run_study(study, "one")
    with pytest.raises(StudyError, match="differs in seeds"):
        run_study(replace(study, seeds=3), "one")
    path = Path("one/study.json")
    path.write_text(path.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(StudyError, match=r"format 99.*format 1"):
        Run.load("one")
    path.write_text("{")
    with pytest.raises(StudyError, match="damaged"):
        Run.load("one")


@pytest.mark.parametrize("jobs", [0, -1, 10_000])
def test_a_wrong_number_of_jobs_is_refused(study: Study, jobs: int) -> None:
    with pytest.raises(StudyError, match="jobs must be from 1"):
        run_study(study, "never", jobs=jobs)


def test_the_papers_study_has_all_its_columns() -> None:
    full = paper_study(full=True)
    names = {(cell.setting.name, cell.method.name) for cell in full.cells()}
    assert set(PUBLISHED) <= names
    for finding in (*FINDINGS, *CLAIMS):
        assert {(finding.setting, finding.better), (finding.setting, finding.worse)} <= names
    quick = {cell.method.name for cell in paper_study().cells()}
    assert "GT scores, CP-SAT" in quick
    assert "Gen-Lin, CP-SAT" not in quick


def test_the_papers_page_holds_tables_rule_and_verdicts() -> None:
    study = paper_study(seeds=2)
    protocol = Protocol(
        training_episodes=4, evaluation_episodes=3, exact_starts=1, checkpoints=(2,)
    )
    kept = ("TSP", "GT scores, greedy", "PlaceBelief, Coverage", "Oracle, Coverage")
    methods = tuple(
        replace(method, settings=())
        for method in study.methods
        if method.name in kept and K1 in (method.settings or (K1,))
    )
    small = replace(study, settings=study.settings[:1], methods=methods, protocol=protocol)
    run = run_study(small, "paper")
    text = page(run)
    for word in ("kitchen1 spread", "(0.38)", "Success:", "Share of Oracle"):
        assert word in text
    assert put_to_the_test(run, FINDINGS[0]) is None  # the optimal order was not run
    assert "nan" not in text
