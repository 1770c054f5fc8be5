"""The column "Real Kitchen Env." of the paper's Table 1, in the physical world.

Learners train in the grid world on a snapshot of the map, then search in physics with frozen parameters:
the protocol ``real``. A cell is one method with one training seed; each is written to a file of its own
when it is done, so that an interrupted run goes on where it was.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.learn.protocol import Learner
from sightline.maps import Points
from sightline.metrics import PHYSICAL_RULE, Interval, compare, interval, spl
from sightline.places import Scenario
from sightline.plan.problem import Planner
from sightline.records import Episode, Outcome
from sightline.search import Searcher
from sightline.site import Site
from sightline.study import Method
from sightline.study.cell import build, draw_episodes, stream
from sightline.study.config import LEARNERS, PLANNERS
from sightline.vantage import farthest_points
from sightline.visibility import Sensor
from sightline.workers import Progress, in_parallel, silent
from sightline.worlds.bullet import BulletWorld, physical_site
from sightline.worlds.grid import GridWorld

Row = dict[str, Any]
OURS = "PlaceBelief, Coverage"


@dataclass(frozen=True)
class Setting:
    """The protocol ``real``: what is trained, and what happens in an evaluation episode.

    Every seed has ``episodes`` evaluation episodes, one for each object; ``boxes`` in each are on no map.
    """

    scenario: str = "kitchen1"
    distribution: str = "spread"
    points: int = 25
    training_episodes: int = 200
    training_range_m: float = 1.0
    blind_rate: float = 0.1
    episodes: int = 5
    boxes: int = 1
    budget_m: float = 40.0


# hyper-parameters and planners as for kitchen1 spread in paper.toml; CP-SAT plans in physics only, the
# episodes of training are planned by the exact solver of the same problem
ORDER: Mapping[str, Any] = {"effort": 0.05, "time_limit_s": 60.0}
CP_SAT_S = 5.0
METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("TSP", "Uniform", "Tsp", planner_settings={"kicks": 30}, training_episodes=0),
        Method(
            "Neural, greedy", "Neural", "Greedy",
            learner_settings={
                "eta": 0.01, "alpha": 0.1, "ridge": 25, "resolution": 75, "encoding": 50,
                "normaliser": "l2", "slope": 20.0,
            },
            planner_settings={"alpha_p": 0.43},
        ),
        Method(
            "Neural, CP-SAT", "Neural", "CpSat",
            learner_settings={
                "eta": 0.01, "alpha": 3.44, "ridge": 25, "resolution": 75, "encoding": 10,
                "normaliser": "l2", "slope": 19.8,
            },
            planner_settings={"time_limit_s": CP_SAT_S, "hint": True},
            training_planner="Wmlp", training_planner_settings=ORDER,
        ),
        Method(
            OURS, "PlaceBelief", "Coverage",
            planner_settings={"objective": "spl", "effort": 0.05, "time_limit_s": 60.0},
            training_planner="Coverage",
            training_planner_settings={"escape": 300.0, "effort": 0.02, "time_limit_s": 60.0},
        ),
    )
}  # fmt: skip
PUBLISHED = {"TSP": (0.88, 0.37), "Neural, greedy": (0.80, 0.38), "Neural, CP-SAT": (0.92, 0.42)}
FAILURES = {
    "not seen though in view": "pictures showed the object, and the detector never named it there",
    "seen but not reached": "it was detected, and then dismissed or not driven up to",
    "mistaken": "the search ended at something else",
    "blocked": "the way to a sighting, or to all that was left, was blocked",
    "out of budget": "the budget was used up before any picture showed the object",
    "never in view": "all points were visited, and no picture showed it",
}


class Summary(NamedTuple):
    """One method: means over seeds with 95 % bootstrap intervals, and how its failures came about."""

    episodes: int
    success: Interval
    spl: Interval
    driven_m: Interval
    seconds: Interval
    failures: Counter[str]


def run(
    folder: str | Path,
    *,
    seeds: int = 10,
    jobs: int = 2,
    methods: Sequence[str] = tuple(METHODS),
    setting: Setting | None = None,
    progress: Progress = silent,
) -> dict[str, Summary]:
    """Run what is missing in a folder, then write ``real.json`` and ``real.md``.

    The numbers do not depend on ``jobs``, but for wall times and for what CP-SAT reaches in its time.
    """
    _check(seeds, jobs, methods)
    folder, setting = Path(folder), setting or Setting()
    cells = folder / "cells"
    cells.mkdir(parents=True, exist_ok=True)
    tasks = [(method, seed) for seed in range(seeds) for method in methods]
    missing = [task for task in tasks if _read(cells, setting, *task) is None]
    done = len(tasks) - len(missing)
    for (method, seed), _ in in_parallel(run_cell, missing, jobs, cells, setting):
        done += 1
        progress(done, len(tasks), f"{method}, seed {seed}")
    rows = {method: _rows(cells, setting, method, seeds) for method in methods}
    content = {"setting": asdict(setting), "rows": rows}
    (folder / "real.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    (folder / "real.md").write_text(page(setting, rows), encoding="utf-8")
    return {method: summary(of) for method, of in rows.items()}


def _check(seeds: int, jobs: int, methods: Sequence[str]) -> None:
    for name, value in (("seeds", seeds), ("jobs", jobs)):
        if not value >= 1:
            raise ValueError(f"{name} must be at least 1, not {value}.")
    unknown = [method for method in methods if method not in METHODS]
    if unknown:
        raise ValueError(f"Method '{unknown[0]}' is unknown; valid are {', '.join(METHODS)}.")


def run_cell(cells: Path, setting: Setting, task: tuple[str, int]) -> None:
    """Train one method with one seed in the grid world, search in physics, and write the rows."""
    trial = Trial.of(setting, METHODS[task[0]], task[1])
    trial.train()
    _store(cells, setting, *task, trial.evaluate())


@dataclass(frozen=True, eq=False)
class Trial:
    """One method with one seed, about to be trained and evaluated. It is played once."""

    setting: Setting
    method: Method
    seed: int
    site: Site
    points: Points
    learner: Learner
    rng: np.random.Generator

    @classmethod
    def of(cls, setting: Setting, method: Method, seed: int) -> "Trial":
        """Build the site and the learner, draw the points; the same for the same seed."""
        home = Scenario.load(setting.scenario, distribution=setting.distribution)
        site = physical_site(home)
        points = farthest_points(site.free, setting.points, rng=_stream(setting, seed, "points"))
        rng = _stream(setting, seed, method.name)
        learner = build(
            LEARNERS[method.learner], method.learner_settings, rng, f"learner {method.learner}"
        )
        return cls(setting, method, seed, site, points, learner, rng)

    def train(self) -> None:
        """The paper's training on a snapshot of the map: a disc of sight, failures, a budget."""
        setting, method = self.setting, self.method
        if method.training_episodes == 0:
            return
        snapshot = replace(self.site, sensor=Sensor(range_m=setting.training_range_m, kind="disc"))
        searcher = Searcher(
            snapshot,
            learner=self.learner,
            planner=self._planner(
                method.training_planner or method.planner,
                method.training_planner_settings
                if method.training_planner
                else method.planner_settings,
            ),
            points=self.points,
        )
        world = GridWorld(snapshot, rng=self.rng.spawn(1)[0])
        stream = _stream(setting, self.seed, "training")
        for one in draw_episodes(snapshot, setting.training_episodes, setting.blind_rate, stream):
            world.reset(start=one.start, positions={one.thing: one.position}, blind=one.blind)
            searcher.search(
                one.thing, world=world, rng=self.rng, budget_m=setting.budget_m, approach=False
            )

    def evaluate(self) -> list[Row]:
        """Search in physics with frozen parameters; a row for each episode."""
        setting, things = self.setting, self.site.home.objects
        planner = self._planner(self.method.planner, self.method.planner_settings)
        searcher = Searcher(self.site, learner=self.learner, planner=planner, points=self.points)
        rows = []
        stream = _stream(setting, self.seed, "physics")
        with BulletWorld(self.site, rng=stream, boxes=setting.boxes) as world:
            for number in range(setting.episodes):
                if number:
                    world.reset()
                thing = things[number % len(things)]
                least, began = world.least_way_m(thing), time.perf_counter()
                episode = searcher.search(
                    thing, world=world, rng=self.rng, budget_m=setting.budget_m, learn=False
                )
                wall_s = time.perf_counter() - began
                rows.append(_row(number, thing, episode, world, least, wall_s))
        return rows

    def _planner(self, name: str, settings: Mapping[str, Any]) -> Planner:
        planner: Planner = build(PLANNERS[name], settings, self.rng, f"planner {name}")
        return planner


def _row(
    number: int, thing: str, episode: Episode, world: BulletWorld, least: float, wall_s: float
) -> Row:
    failure = failure_of(thing, episode, world)
    truth = world.truth
    return {
        "n": number,
        "thing": thing,
        "outcome": str(episode.outcome),
        "failure": failure,
        "l": round(least, 4) if np.isfinite(least) else None,
        "p": round(episode.visits[-1].driven_m, 4),
        "driven": round(truth.driven_m, 4),
        "looks": len(episode.visits),
        "seconds": round(world.time_s, 2),
        "collisions": truth.collisions,
        "worst_error": round(max(truth.error_m, default=0.0), 4),
        "wall_s": round(wall_s, 2),
    }


def failure_of(thing: str, episode: Episode, world: BulletWorld) -> str | None:
    """Why a search failed, a key of ``FAILURES``; None for a success by ``PHYSICAL_RULE``."""
    truth = world.truth
    if episode.outcome is Outcome.FOUND:
        assert episode.position is not None
        if not world.is_at(thing, episode.position):
            return "mistaken"
        return None if world.in_grasp(thing) else "seen but not reached"
    if episode.outcome is Outcome.UNREACHABLE:
        return "blocked"
    if truth.sighted[thing]:
        return "seen but not reached"
    if truth.in_view[thing]:
        return "not seen though in view"
    if episode.outcome is Outcome.OUT_OF_BUDGET:
        return "out of budget"
    return "blocked" if truth.blocked else "never in view"


def _stream(setting: Setting, seed: int, purpose: str) -> np.random.Generator:
    return stream(f"real {setting.scenario} {setting.distribution}", seed, purpose)


def _file(cells: Path, method: str, seed: int) -> Path:
    return cells / f"{method.lower().replace(', ', '-')}-{seed:03d}.json"


def _store(cells: Path, setting: Setting, method: str, seed: int, rows: list[Row]) -> None:
    """Write a cell so that it is there as a whole or not at all."""
    path = _file(cells, method, seed)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps({"setting": asdict(setting), "rows": rows}), encoding="utf-8")
    part.replace(path)


def _read(cells: Path, setting: Setting, method: str, seed: int) -> list[Row] | None:
    """The rows of a cell, or None if it is not there, damaged, or of other settings."""
    try:
        content = json.loads(_file(cells, method, seed).read_text(encoding="utf-8"))
        return list(content["rows"]) if content["setting"] == asdict(setting) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _rows(cells: Path, setting: Setting, method: str, seeds: int) -> list[list[Row]]:
    """The rows of a method, seed by seed."""
    parts = [_read(cells, setting, method, seed) for seed in range(seeds)]
    return [part for part in parts if part is not None]


def summary(rows: Sequence[Sequence[Row]]) -> Summary:
    """What the rows of a method (seeds, episodes) come to."""
    flat = [row for of_seed in rows for row in of_seed]

    def over_seeds(values: list[float]) -> Interval:
        per_seed = np.array(values).reshape(len(rows), -1).mean(axis=1)
        return interval(per_seed, rng=np.random.default_rng(0))

    return Summary(
        len(flat),
        over_seeds([float(row["failure"] is None) for row in flat]),
        over_seeds(spl_of(flat).tolist()),
        over_seeds([row["driven"] for row in flat]),
        over_seeds([row["seconds"] for row in flat]),
        Counter(row["failure"] for row in flat if row["failure"] is not None),
    )


def spl_of(rows: Sequence[Row]) -> NDArray[np.float64]:
    """SPL of each row (n,)."""
    least = [np.inf if row["l"] is None else row["l"] for row in rows]
    return spl([row["failure"] is None for row in rows], least, [row["p"] for row in rows])


def page(setting: Setting, rows: Mapping[str, Sequence[Sequence[Row]]]) -> str:
    """The table, the failures, the comparisons and the rule as Markdown."""
    summaries = {method: summary(of) for method, of in rows.items()}
    seeds = max(len(of) for of in rows.values())
    head = (
        f"{setting.scenario} {setting.distribution} in physics; {setting.points} vantage points; "
        f"{seeds} training seeds from 0 with {setting.training_episodes} training episodes in the grid "
        f"world (range {setting.training_range_m:g} m, P(E) = {setting.blind_rate:g}, budget "
        f"{setting.budget_m:g} m) and {setting.episodes} evaluation episodes in physics each, the same "
        f"for all methods; {setting.boxes} unmapped box in each; CP-SAT plans for {CP_SAT_S:g} s. Means "
        "over seeds with 95 % bootstrap intervals; the published figure in brackets."
    )
    parts = [head, table(summaries), failures(summaries), "\n".join(_against(rows))]
    every = [row for of in rows.values() for of_seed in of for row in of_seed]
    walls = [row["wall_s"] for row in every]
    parts.append(
        f"{len(every)} episodes; sixtieths of a second in touch with anything: "
        f"{sum(row['collisions'] for row in every)}; worst error of the estimated position "
        f"{max(row['worst_error'] for row in every):.3f} m; wall time of an episode, planning included: "
        f"median {np.median(walls):.1f} s, longest {max(walls):.1f} s."
    )
    return "\n\n".join([*parts, PHYSICAL_RULE]) + "\n"


def table(summaries: Mapping[str, Summary]) -> str:
    """A row per method."""
    lines = [
        "| method | episodes | Eval. success | Eval. SPL | metres driven | simulated seconds |",
        "|---|---|---|---|---|---|",
    ]
    for method, of in summaries.items():
        success, quality = PUBLISHED.get(method, (None, None))
        cells = [
            str(of.episodes),
            _spanned(of.success) + (f" ({success:.2f})" if success is not None else ""),
            _spanned(of.spl) + (f" ({quality:.2f})" if quality is not None else ""),
            _spanned(of.driven_m, 1),
            _spanned(of.seconds, 0),
        ]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def failures(summaries: Mapping[str, Summary]) -> str:
    """How often each method failed in which way."""
    lines = [f"| failures | {' | '.join(FAILURES)} |", "|---" * (len(FAILURES) + 1) + "|"]
    for method, of in summaries.items():
        lines.append(f"| {method} | {' | '.join(str(of.failures[kind]) for kind in FAILURES)} |")
    meanings = "; ".join(f"*{kind}*: {meaning}" for kind, meaning in FAILURES.items())
    return "\n".join(lines) + f"\n\n{meanings}."


def _against(rows: Mapping[str, Sequence[Sequence[Row]]]) -> list[str]:
    """Ours against each of the others, paired by seed."""
    if OURS not in rows:
        return []
    lines = []
    for method in rows:
        if method != OURS and len(rows[method]) == len(rows[OURS]):
            ours, theirs = (
                [float(spl_of(of_seed).mean()) for of_seed in rows[name]] for name in (OURS, method)
            )
            test = compare(ours, theirs, rng=np.random.default_rng(0))
            lines.append(
                f"- {OURS} against {method}: {test.mean:+.3f} [{test.low:+.3f}, {test.high:+.3f}] SPL, "
                f"p = {test.p_value:.3g}."
            )
    return lines


def _spanned(of: Interval, digits: int = 2) -> str:
    return f"{of.mean:.{digits}f} [{of.low:.{digits}f}, {of.high:.{digits}f}]"
