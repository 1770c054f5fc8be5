"""What stands on the page of a run folder; the template says how it looks."""

import base64
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from sightline.errors import SightlineError, StudyError
from sightline.metrics import RULE, compare, interval
from sightline.report.replay import Replay, replay
from sightline.report.scene import Floor, Scene, floor_of, highest_mass, scene_of
from sightline.study.config import Cell, Protocol
from sightline.study.run import META, Run

PAGE = "report.html"
SEARCHES = 5  # shown of each setting, the first ones of the evaluation
REPLAYED = 2  # methods whose searches are shown: the best, and the first of the study
MOST_REPLAY_S = 60.0  # a cell that took longer is not run again
WINDOW = 25  # episodes that a point of a learning curve is the mean of
DPI = 96
STATIC_SEED = 0  # of the resamples, so that a page is the same each time


class Column(NamedTuple):
    """A measure of ``Run.values``, its title and how its numbers are written."""

    measure: str
    title: str
    digits: int
    best: Callable[[list[float]], float]


COLUMNS = (
    Column("train_spl", "train SPL", 3, max),
    Column("eval_success", "success", 3, max),
    Column("eval_spl", "SPL", 3, max),
    Column("eval_metres", "metres", 2, min),
    Column("exact_success", "exact success", 3, max),
    Column("exact_spl", "exact SPL", 3, max),
    Column("exact_metres", "exact metres", 2, min),
)
EXACT = "exact_spl"


class Number(NamedTuple):
    """An entry of a table: the mean, its interval, and whether it is the best of its column."""

    mean: str
    interval: str
    best: bool


class TableRow(NamedTuple):
    """A method with its numbers, None where there are none, and its gain over the first method."""

    method: str
    seeds: int
    numbers: tuple[Number | None, ...]
    gain: tuple[str, str]


class Picture(NamedTuple):
    """An image for the ``src`` of an element, and what it shows."""

    source: str
    words: str


class Search(NamedTuple):
    """One drawn episode, searched by each method that is shown."""

    words: str
    scenes: tuple[Scene, ...]


@dataclass(frozen=True)
class Section:
    """All of one setting."""

    name: str
    rows: tuple[TableRow, ...]
    reference: str
    pictures: tuple[Picture, ...]
    floor: Floor | None
    searches: tuple[Search, ...]
    note: str


def write_report(
    run_folder: str | Path,
    out: str | Path | None = None,
    *,
    title: str | None = None,
    intro: str = "",
    figures: Sequence[tuple[str, str | Path]] = (),
    searches: int = SEARCHES,
) -> Path:
    """Write the page of a run folder and return its path, ``report.html`` in the folder if not given.

    ``figures`` are further pictures (words, PNG file), ``searches`` how many evaluation searches of each
    setting can be stepped through; for these the best method and the first one are trained again, unless
    that took longer than a minute. Everything is inside the page; it loads nothing.
    """
    run = _load(Path(run_folder))
    out = Path(out) if out is not None else run.folder / PAGE
    if out.is_dir():
        raise StudyError(f"A report needs the name of a file; {out} is a folder.")
    try:
        sections = [_section(run, name, searches) for name in _settings(run)]
        more = [Picture(_inline(Path(path).read_bytes()), words) for words, path in figures]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as reason:
        raise StudyError(f"The rows of {run.folder} are damaged: {reason!r}.") from reason
    except OSError as reason:
        raise StudyError(f"A figure of the report cannot be read: {reason}.") from None
    text = _template().render(
        title=title or f"Study: {run.study.name}",
        intro=intro,
        sections=sections,
        columns=COLUMNS,
        rule=RULE,
        figures=more,
        facts=_facts(run),
        finished=f"{len(run.cells)} of {len(run.study.cells())}",
        complete=run.is_complete,
    )
    _write(out, text)
    return out


def _load(folder: Path) -> Run:
    try:
        return Run.load(folder)
    except (KeyError, TypeError, AttributeError) as reason:
        raise StudyError(f"The study of {folder} is damaged: {reason!r}.") from None


def table(run: Run, setting: str) -> tuple[TableRow, ...]:
    """A row per method of a setting: means over seeds with 95 % bootstrap intervals."""
    methods = _methods(run, setting)
    values = {
        (method, column.measure): run.values(setting, method, column.measure)
        for method in methods
        for column in COLUMNS
    }
    best = {}
    for column in COLUMNS:
        means = [float(v.mean()) for m in methods if len(v := values[m, column.measure])]
        best[column.measure] = column.best(means) if means else np.nan
    rows = []
    for method in methods:
        numbers = tuple(
            _number(values[method, column.measure], column, best[column.measure])
            for column in COLUMNS
        )
        ours, first = values[method, EXACT], values[methods[0], EXACT]
        gain = _gain(ours, first) if method != methods[0] else ("", "")
        seeds = max(len(values[method, column.measure]) for column in COLUMNS)
        rows.append(TableRow(method, seeds, numbers, gain))
    return tuple(rows)


def _number(values: np.ndarray[Any, Any], column: Column, best: float) -> Number | None:
    if not len(values):
        return None
    mean, low, high = interval(values, rng=np.random.default_rng(STATIC_SEED))
    digits = column.digits
    return Number(
        f"{mean:.{digits}f}",
        f"{low:.{digits}f} to {high:.{digits}f}" if len(values) > 1 else "one seed",
        bool(np.isclose(mean, best, rtol=0, atol=1e-12)),
    )


def _gain(ours: np.ndarray[Any, Any], first: np.ndarray[Any, Any]) -> tuple[str, str]:
    """How much higher the exact SPL is than that of the first method, seed by seed; and how sure."""
    if len(ours) < 2 or len(ours) != len(first):
        return "-", ""
    found = compare(ours, first, rng=np.random.default_rng(STATIC_SEED))
    span = f"{found.low:+.3f} to {found.high:+.3f}, p = {found.p_value:.2g}"
    return f"{found.mean:+.3f}", span


def _section(run: Run, setting: str, searches: int) -> Section:
    rows = table(run, setting)
    pictures: list[Picture] = []
    floor, note = None, ""
    shown: tuple[Search, ...] = ()
    curves = {method: run.series(setting, method) for method in _methods(run, setting)}
    curves = {name: runs for name, runs in curves.items() if runs.ndim == 2 and runs.shape[1] > 1}
    if curves:
        pictures.append(_learning(curves))
    try:
        replays = [_again(run, cell, searches) for cell in _worth_showing(run, setting, searches)]
        if replays:
            floor = floor_of(replays[0].site.home)
            shown = _side_by_side(replays)
            pictures += _maps(replays)
            if not all(search.agrees for done in replays for search in done.searches):
                note = "Some searches went otherwise than recorded: the run was made elsewhere."
    except SightlineError as reason:
        note = f"Searches cannot be shown: {reason}"
    first = rows[0].method if rows else ""
    return Section(setting, rows, first, tuple(pictures), floor, shown, note)


def _again(run: Run, cell: Cell, searches: int) -> Replay:
    return replay(run.study.protocol, cell, run.cells[cell.key], searches=searches)


def _worth_showing(run: Run, setting: str, searches: int) -> list[Cell]:
    """The first seed of the first method and of the best one, as far as they are quick to run again."""
    if searches < 1:
        return []
    quick: dict[str, Cell] = {}
    for cell in run.study.cells():
        rows = run.cells.get(cell.key)
        if cell.setting.name != setting or cell.method.name in quick or not rows:
            continue
        if rows[-1]["seconds"] <= MOST_REPLAY_S and any(row["part"] == "eval" for row in rows):
            quick[cell.method.name] = cell
    ranked = sorted(quick, key=lambda method: -_score(run, setting, method))
    chosen = dict.fromkeys([*list(quick)[:1], *ranked])
    return [quick[method] for method in list(chosen)[:REPLAYED]]


def _score(run: Run, setting: str, method: str) -> float:
    for measure in (EXACT, "eval_spl"):
        values = run.values(setting, method, measure)
        if len(values):
            return float(values.mean())
    return -1.0


def _side_by_side(replays: list[Replay]) -> tuple[Search, ...]:
    """The same drawn episodes, each with the search of every method."""
    out = []
    for same in zip(*(done.searches for done in replays), strict=False):
        drawn = same[0].drawn
        words = f"{same[0].number + 1}: {drawn.thing}"
        if drawn.blind:
            words += " (nothing is noticed in this one)"
        top = max(highest_mass(shown.episode) for shown in same)  # so that shades compare
        scenes = (scene_of(shown, done, top=top) for shown, done in zip(same, replays, strict=True))
        out.append(Search(words, tuple(scenes)))
    return tuple(out)


def _learning(curves: dict[str, Any]) -> Picture:
    from sightline import plot  # loads matplotlib

    episodes = max(runs.shape[1] for runs in curves.values())
    window = max(1, min(WINDOW, episodes // 4))
    words = f"SPL while learning; each point is the mean of the last {window} training episodes."
    return Picture(_inline(plot.png(plot.draw_learning(curves, window=window), dpi=DPI)), words)


def _maps(replays: list[Replay]) -> list[Picture]:
    """The home with its vantage points, and what the shown methods believe as they learn."""
    from sightline import plot

    done = replays[-1]
    ax = plot.draw_home(done.site.home)
    plot.draw_free_space(done.site.free, ax)
    plot.draw_points(done.points, ax)
    out = [
        Picture(
            _inline(plot.png(ax, dpi=DPI)),
            f"The home, its {len(done.points)} vantage points, and in blue the rim of where the robot's "
            "centre can be.",
        )
    ]
    learning = [each for each in replays if len({v.tobytes() for v in each.beliefs.values()}) > 1]
    if learning:
        columns = [f"{count} episodes" for count in learning[0].beliefs]
        rows = {
            each.cell.method.name: list(each.beliefs.values())
            for each in learning
            if len(each.beliefs) == len(columns)
        }
        unscored = [each.cell.method.name for each in learning if not each.calibrated]
        figure = plot.draw_beliefs(
            done.site.home, done.lattice, rows, columns, done.truth, unscored=unscored
        )
        words = (
            f"The believed chance of spotting the {done.thing} from each place, beside the truth."
        )
        out.append(Picture(_inline(plot.png(figure, dpi=DPI)), words))
    return out


def _inline(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def _settings(run: Run) -> list[str]:
    return [setting.name for setting in run.study.settings]


def _methods(run: Run, setting: str) -> list[str]:
    """Methods with a finished cell in a setting, in the order of the study."""
    cells = [cell for cell in run.study.cells() if cell.key in run.cells]
    return list(dict.fromkeys(c.method.name for c in cells if c.setting.name == setting))


def _facts(run: Run) -> list[tuple[str, str]]:
    """What was measured and with what, as pairs of words."""
    protocol, study = run.study.protocol, run.study
    seeds = f"{study.seeds}, from {study.first_seed}"
    out = [("seeds", seeds), *_protocol(protocol)]
    for method in study.methods:
        settings = {**method.learner_settings, **method.planner_settings}
        words = f"{method.learner} and {method.planner}"
        said = ", ".join(f"{name} = {value}" for name, value in settings.items())
        out.append((f"method: {method.name}", f"{words}; {said}" if said else words))
    out.append(("seconds of work", f"{run.seconds():.0f}"))
    path = run.folder / META
    if path.exists():
        try:
            meta = json.loads(path.read_text(encoding="utf-8"))
            out += [(str(name), str(value)) for name, value in meta.items()]
        except (OSError, ValueError, AttributeError) as reason:
            raise StudyError(f"{path} is damaged: {reason}.") from None
    return out


def _protocol(protocol: Protocol) -> list[tuple[str, str]]:
    return [
        (
            "training",
            f"{protocol.training_episodes} episodes, range {protocol.training_range_m:g} m",
        ),
        (
            "evaluation",
            f"{protocol.evaluation_episodes} episodes, range {protocol.evaluation_range_m:g} m",
        ),
        ("sensor", protocol.sensor.replace("_", " ")),
        ("chance that a whole search notices nothing", f"{protocol.blind_rate:g}"),
        ("budget", f"{protocol.budget_m:g} m"),
        ("starts of exact expectations", f"{protocol.exact_starts}"),
    ]


def _write(out: Path, text: str) -> None:
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(out)
    except OSError as reason:
        raise StudyError(f"The report {out} cannot be written: {reason}.") from None


def _template() -> Any:
    loader = PackageLoader("sightline.report")
    room = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )  # fmt: skip
    return room.get_template("page.html.jinja")
