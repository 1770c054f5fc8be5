"""The page of a run folder: whole, self-contained, and true to the numbers."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from sightline import demo
from sightline.errors import StudyError
from sightline.metrics import RULE, interval
from sightline.report import write_report
from sightline.report.page import COLUMNS
from sightline.report.replay import Replay, replay
from sightline.report.scene import highest_mass, scene_of
from sightline.study import Method, Protocol, Run, Setting, Study, run_study

NASTY = "<script>alert('x')</script> & \"quotes\""
VOID = {"meta", "br", "img", "input", "link", "hr"}
PROTOCOL = Protocol(training_episodes=9, evaluation_episodes=6, exact_starts=2, checkpoints=(4,))
METHODS = (
    Method("blind", "RandomOrder", "Greedy", planner_settings={"alpha_p": 0.4}),
    Method(
        NASTY, "PlaceBelief", "Coverage", planner_settings={"time_limit_s": 60.0, "effort": 0.05}
    ),
)


class Page(HTMLParser):
    """Checks the nesting of a page, and collects its elements, attributes and tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.tables: list[list[list[str]]] = []
        self.words = ""
        self.tags: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.words += data
            if {"td", "th"} & set(self.open):
                self.tables[-1][-1][-1] += f" {data.strip()}"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two methods, one that draws and one with a nasty name, two seeds, in the smallest home."""
    study = Study(NASTY, (Setting("wrs2020", points=8),), METHODS, seeds=2, protocol=PROTOCOL)
    return run_study(study, tmp_path_factory.mktemp("report") / "run")


@pytest.fixture(scope="module")
def text(run: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the run."""
    path = write_report(run.folder, tmp_path_factory.mktemp("page") / "page.html", searches=3)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def again(run: Run) -> dict[str, Replay]:
    """The cells of the first seed, run again."""
    cells = {cell.method.name: cell for cell in run.study.cells() if cell.seed == 0}
    return {
        name: replay(PROTOCOL, cell, run.cells[cell.key], searches=6)
        for name, cell in cells.items()
    }


def test_the_page_loads_nothing(text: str) -> None:
    page = Page(text)
    assert {"svg", "table", "img", "script", "input"} <= set(page.tags)
    assert not re.search(r"https?://|@import|url\(", text)
    for _, name, value in page.attributes:
        if name in ("src", "href"):
            assert value.startswith(("data:image/png;base64,", "#")), value
    targets = {value for _, name, value in page.attributes if name == "id"}
    links = [value[1:] for _, name, value in page.attributes if name == "href"]
    links += [value for _, name, value in page.attributes if name == "data-open"]
    assert links
    assert set(links) <= targets


def test_the_numbers_are_those_of_the_metrics(text: str, run: Run) -> None:
    rows = Page(text).tables[0][1:]
    assert [row[0].split(" 2 seeds")[0].strip() for row in rows] == ["blind", NASTY]
    for row, method in zip(rows, METHODS, strict=True):
        for entry, column in zip(row[1:], COLUMNS, strict=False):
            values = run.values("wrs2020", method.name, column.measure)
            found = interval(values, rng=np.random.default_rng(0))
            want = [round(number, column.digits) for number in found]
            assert [float(number) for number in re.findall(r"-?\d+\.\d+", entry)] == want


def test_the_best_of_each_column_is_marked(text: str, run: Run) -> None:
    rows = re.search(r"<tbody>(.*?)</tbody>", text, re.DOTALL)
    assert rows is not None
    marked = [
        ["best" in cell for cell in re.findall(r"<td( class=\"best\")?><b>", row)]
        for row in rows.group(1).split("</tr>")[:2]
    ]
    for number, column in enumerate(COLUMNS):
        means = [run.values("wrs2020", m.name, column.measure).mean() for m in METHODS]
        best = min(means) if column.title.endswith("metres") else max(means)
        assert [row[number] for row in marked] == [mean == best for mean in means]


def test_the_rule_stands_under_every_table(text: str) -> None:
    parts = Page(text).words.split(RULE.split(":", maxsplit=1)[0] + ": the object was seen")
    assert len(parts) == 1 + 2  # the one setting, and how it was measured
    assert RULE in Page(text).words


def test_names_are_escaped(text: str) -> None:
    assert "<script>alert" not in text
    assert text.count("<script>") == 1
    assert NASTY in Page(text).words


def test_a_title_and_words_of_a_figure_are_escaped(run: Run) -> None:
    Path("one.png").write_bytes(b"\x89PNG")
    path = write_report(
        run.folder, "out/page.html", title="<b>", intro="<i>", figures=[("<u>", "one.png")], searches=0
    )  # fmt: skip
    page = Page(path.read_text(encoding="utf-8"))
    assert "<b>" in page.words
    assert "<i>" in page.words
    assert "<u>" in page.words
    assert ("img", "src", "data:image/png;base64,iVBORw==") in page.attributes


def test_a_page_is_the_same_each_time(run: Run) -> None:
    first = write_report(run.folder, "one.html", searches=1).read_bytes()
    assert write_report(run.folder, "two.html", searches=1).read_bytes() == first


def test_searches_are_replayed_as_they_were(run: Run, again: dict[str, Replay]) -> None:
    for done in again.values():
        rows = [row for row in run.cells[done.cell.key] if row["part"] == "eval"]
        assert len(done.searches) == len(rows) == 6
        for shown, row in zip(done.searches, rows, strict=True):
            assert shown.agrees
            assert shown.drawn.thing == row["thing"]
            assert str(shown.episode.outcome) == row["outcome"]
            assert shown.episode.visits[-1].driven_m == pytest.approx(row["p"], abs=1e-4)


def test_a_replay_that_differs_says_so(run: Run) -> None:
    cell = run.study.cells()[0]
    rows = [
        {**row, "p": row["p"] + 1} if row["part"] == "eval" else row for row in run.cells[cell.key]
    ]
    assert not any(shown.agrees for shown in replay(PROTOCOL, cell, rows, searches=2).searches)


def test_beliefs_move_towards_the_truth(again: dict[str, Replay]) -> None:
    done = again[NASTY]
    assert list(done.beliefs) == [0, 1, 9]
    off = [np.abs(chance - done.truth).mean() for chance in done.beliefs.values()]
    assert off[2] < off[0]


def test_a_scene_shows_each_look_and_each_believed_cell_once(again: dict[str, Replay]) -> None:
    done = again[NASTY]
    for shown in done.searches:
        top = highest_mass(shown.episode)
        scene, visits = scene_of(shown, done, top=top), shown.episode.visits
        assert len(scene.steps) == len(visits)
        for step, visit in zip(scene.steps, visits, strict=True):
            assert (step.x, step.y) == (
                round(100 * visit.position[0]),
                round(-100 * visit.position[1]),
            )
            assert step.seen == visit.seen
            assert not step.way or step.way.endswith(f"{step.x} {step.y}")
        assert shown.episode.belief is not None
        mass = shown.episode.belief.mass
        assert mass is not None
        drawn = [corner for heat in scene.heat for corner in heat.path.split("M")[1:]]
        assert len(drawn) == len(set(drawn)) == (mass > 0.01 * mass.max()).sum()
        assert max(heat.shade for heat in scene.heat) == 1
        half = scene_of(shown, done, top=2 * top).heat
        assert max(heat.shade for heat in half) == 0.5
        views = [set(done.site.sees([v.position]).indices.tolist()) for v in visits]
        for heat in scene.heat:
            x, y = map(int, heat.path[1:].split("h")[0].split())
            centre = np.array([x + 10, -(y + 10)]) / 100
            cell = int(np.hypot(*(done.site.cells - centre).T).argmin())
            first = [step for step, view in enumerate(views) if cell in view]
            assert heat.first == (first[0] if first else -1)


def test_an_unfinished_run_says_so(run: Run) -> None:
    Path("half").mkdir()
    for name in ("study.json", "meta.json"):
        Path("half", name).write_bytes((run.folder / name).read_bytes())
    page = Page(write_report("half").read_text(encoding="utf-8"))
    assert "0 of 4 cells" in page.words
    assert "No cell of this setting is finished" in page.words
    rows = (run.folder / "episodes.jsonl").read_text().splitlines(keepends=True)
    Path("half", "episodes.jsonl").write_text("".join(r for r in rows if "blind | 0" in r))
    words = Page(write_report("half").read_text(encoding="utf-8")).words
    assert "1 of 4 cells" in words
    assert "one seed" in words


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("study.json", "{", "damaged"),
        ("study.json", '{"format": 99, "study": {}}', "99"),
        ("study.json", '{"format": 1}', "study"),
        ("study.json", '{"format": 1, "study": []}', "study"),
        ("meta.json", "[", "damaged"),
        ("meta.json", "[1]", "damaged"),
    ],
)
def test_a_damaged_folder_is_refused(run: Run, name: str, content: str, words: str) -> None:
    Path("damaged").mkdir()
    for file in run.folder.iterdir():
        Path("damaged", file.name).write_bytes(file.read_bytes())
    Path("damaged", name).write_text(content)
    with pytest.raises(StudyError, match=words):
        write_report("damaged", searches=0)
    assert not Path("damaged/report.html").exists()


@pytest.mark.parametrize("key", ["outcome", "l", "p", "spl", "seconds", "metres"])
def test_damaged_rows_are_refused(run: Run, key: str) -> None:
    Path("damaged").mkdir()
    for file in run.folder.iterdir():
        Path("damaged", file.name).write_bytes(file.read_bytes())
    rows = [json.loads(line) for line in (run.folder / "episodes.jsonl").read_text().splitlines()]
    for row in rows:
        row.pop(key, None)
    Path("damaged", "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(StudyError, match=r"damaged.*" + key):
        write_report("damaged", searches=1)


def test_other_wrong_places_are_refused(run: Run) -> None:
    with pytest.raises(StudyError, match="no run folder"):
        write_report("nowhere")
    with pytest.raises(StudyError, match="folder"):
        write_report(run.folder, ".")
    with pytest.raises(StudyError, match="figure"):
        write_report(run.folder, "page.html", figures=[("none", "none.png")], searches=0)


def test_the_demo_compares_with_a_blind_tour(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Protocol(training_episodes=10, evaluation_episodes=3, exact_starts=2)
    monkeypatch.setattr(demo, "PROTOCOL", small)
    monkeypatch.setattr(demo, "SETTINGS", (Setting("wrs2020", points=10),))
    monkeypatch.setattr(demo, "SEEDS", 1)
    monkeypatch.setattr(demo, "JOBS", 1)
    told: list[tuple[int, int]] = []
    done = demo.run_demo("demo", seed=3, progress=lambda i, n, what: told.append((i, n)))
    assert told[0] == (0, 4)
    assert told[-1] == (4, 4)
    assert done.page == Path("demo/index.html")
    Page(done.page.read_text(encoding="utf-8"))
    assert len(done.lines) == 1 + len(demo.METHODS)
    for line, method in zip(done.lines[1:], demo.METHODS, strict=True):
        assert method.name in line
        metres = done.run.values("wrs2020", method.name, "exact_metres").mean()
        assert f" {metres:.1f} m" in line
    with pytest.raises(StudyError, match="another study"):
        demo.run_demo("demo", seed=4)
    with pytest.raises(StudyError, match="-1"):
        demo.run_demo("demo", seed=-1)


def test_a_home_that_is_not_here_leaves_the_tables(run: Run) -> None:
    Path("moved").mkdir()
    for name in ("meta.json", "episodes.jsonl", "study.json"):
        content = (run.folder / name).read_text().replace("wrs2020", "gone")
        Path("moved", name).write_text(content)
    study = Run.load("moved").study
    assert study.settings == (replace(run.study.settings[0], scenario="gone"),)
    page = Page(write_report("moved").read_text(encoding="utf-8"))
    assert "Searches cannot be shown" in page.words
    assert len(page.tables) == 2
