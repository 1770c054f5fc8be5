"""Cumulative regret over a course of episodes: what the paper's theorem promises, and what is seen.

A cell is one method on the course of one seed. Each is written to a file of its own when it is done, so
that an interrupted run goes on where it was; a file of other settings, or a damaged one, is done again.
"""

import json
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.learn.baselines import Frequency, LastSeen, RandomOrder, Uniform
from sightline.learn.genlin import GenLin
from sightline.learn.neural import Neural
from sightline.learn.oracle import Oracle
from sightline.learn.places import PlaceBelief
from sightline.learn.protocol import Learner
from sightline.metrics import Interval, interval
from sightline.places import Scenario
from sightline.regret import Course, cumulative, exponent, follow, lay_course
from sightline.site import Site
from sightline.vantage import farthest_points
from sightline.visibility import Sensor
from sightline.workers import Progress, in_parallel

Vector = NDArray[np.float64]
Factory = Callable[[np.random.Generator], Learner]

ENTROPY = 2026  # no setting of a learner was chosen on the courses that follow from it
COURSE = "course"  # the cells that hold what the benchmark planner's routes cost

METHODS: Mapping[str, Factory] = {
    "Oracle": lambda rng: Oracle(),
    "PlaceBelief": lambda rng: PlaceBelief(),
    "GenLin, lower": lambda rng: GenLin(bound="lower"),
    "GenLin, upper": lambda rng: GenLin(bound="upper"),
    "GenLin, theory": lambda rng: GenLin(bound="upper", theory=True),
    "Neural": lambda rng: Neural(rng=rng),
    "Frequency": lambda rng: Frequency(),
    "LastSeen": lambda rng: LastSeen(),
    "Uniform": lambda rng: Uniform(),
    "RandomOrder": lambda rng: RandomOrder(rng=rng),
}


@dataclass(frozen=True)
class Setting:
    """What a course is: a home, a distribution, a disc sensor, vantage points and episodes."""

    scenario: str = "kitchen1"
    distribution: str = "spread"
    range_m: float = 1.0
    points: int = 25
    episodes: int = 2000


@dataclass(frozen=True)
class Summary:
    """One method over all seeds: means with 95 % bootstrap intervals.

    ``regret`` is that after the last episode, in metres; ``exponent`` that of T, None where there is no
    regret; ``metres`` the exact expected metres until the object is first seen, over the last tenth of
    the episodes.
    """

    seeds: int
    regret: Interval
    exponent: Interval | None
    metres: Interval


def run(
    folder: str | Path,
    *,
    seeds: int = 10,
    episodes: int = 2000,
    jobs: int = 2,
    methods: Sequence[str] = tuple(METHODS),
    progress: Progress | None = None,
) -> dict[str, Summary]:
    """Run what is missing in a folder, then write ``regret.json``, ``regret.png`` and ``regret.md``.

    The numbers do not depend on ``jobs``, the number of worker processes.
    """
    _check(seeds, episodes, jobs, methods)
    folder, setting = Path(folder), Setting(episodes=episodes)
    cells = folder / "cells"
    cells.mkdir(parents=True, exist_ok=True)
    tasks = [(COURSE, seed) for seed in range(seeds)]
    tasks += [(method, seed) for method in methods for seed in range(seeds)]
    missing = [task for task in tasks if _read(cells, setting, *task) is None]
    done = len(tasks) - len(missing)
    for courses in (True, False):  # the courses first, since all methods need them
        part = [task for task in missing if (task[0] == COURSE) is courses]
        for (method, seed), _ in in_parallel(run_cell, part, jobs, cells, setting):
            done += 1
            if progress is not None:
                progress(done, len(tasks), f"{method}, seed {seed}")
    curves = {method: _curves(cells, setting, method, seeds) for method in methods}
    summaries = {method: _summary(*curves[method]) for method in methods}
    _write(folder, setting, {m: regret for m, (regret, _) in curves.items()}, summaries)
    return summaries


def _check(seeds: int, episodes: int, jobs: int, methods: Sequence[str]) -> None:
    for name, value in (("seeds", seeds), ("jobs", jobs)):
        if not value >= 1:
            raise ValueError(f"{name} must be at least 1, not {value}.")
    if not episodes >= 20:
        raise ValueError(
            f"episodes must be at least 20, so that growth can be seen, not {episodes}."
        )
    unknown = [method for method in methods if method not in METHODS]
    if unknown:
        raise ValueError(f"Method '{unknown[0]}' is unknown; valid are {', '.join(METHODS)}.")


def run_cell(cells: Path, setting: Setting, task: tuple[str, int]) -> None:
    """Send one method through the course of one seed, and write what its routes cost."""
    method, seed = task
    if method == COURSE:
        _store(cells, setting, method, seed, least=_course(setting, seed).least)
        return
    stored = _read(cells, setting, COURSE, seed)
    course = _course(setting, seed, None if stored is None else stored["least"])
    learner = METHODS[method](_rng(seed, 2))
    learner.meet(course.site)
    costs = follow(course, learner, rng=_rng(seed, 1))
    regret = cumulative(costs.approximate, course.least)
    _store(cells, setting, method, seed, regret=regret, exact=costs.exact)


def _rng(seed: int, purpose: int) -> np.random.Generator:
    """Streams of one seed: 0 the course, 1 planning, 2 the learner; all methods get the same."""
    return np.random.default_rng((ENTROPY, seed, purpose))


def _course(setting: Setting, seed: int, least: Vector | None = None) -> Course:
    home = Scenario.load(setting.scenario, distribution=setting.distribution)
    site = Site.of(home, sensor=Sensor(range_m=setting.range_m, kind="disc"))
    rng = _rng(seed, 0)
    points = farthest_points(site.free, setting.points, rng=rng)
    return lay_course(site, points, setting.episodes, least=least, rng=rng)


def _file(cells: Path, method: str, seed: int) -> Path:
    return cells / f"{method.lower().replace(', ', '-')}-{seed:03d}.npz"


def _store(cells: Path, setting: Setting, method: str, seed: int, **arrays: Vector) -> None:
    """Write a cell so that it is there as a whole or not at all."""
    path = _file(cells, method, seed)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    named: dict[str, Any] = {"setting": np.array(json.dumps(asdict(setting))), **arrays}
    try:
        with part.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **named)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _read(cells: Path, setting: Setting, method: str, seed: int) -> dict[str, Vector] | None:
    """The arrays of a cell, or None if it is not there, damaged, or of other settings."""
    wanted = ("least",) if method == COURSE else ("regret", "exact")
    try:
        with (
            _file(cells, method, seed).open("rb") as file,
            np.load(file, allow_pickle=False) as content,
        ):
            if json.loads(str(content["setting"])) != asdict(setting):
                return None
            return {name: content[name] for name in wanted}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _curves(cells: Path, setting: Setting, method: str, seeds: int) -> tuple[Vector, Vector]:
    """Regret and exact metres (seeds, episodes) of a method."""
    parts = [_read(cells, setting, method, seed) for seed in range(seeds)]
    whole = [part for part in parts if part is not None]
    assert len(whole) == seeds  # they have been written, or a worker has raised
    return np.array([p["regret"] for p in whole]), np.array([p["exact"] for p in whole])


def _summary(regret: Vector, exact: Vector) -> Summary:
    late = exact.shape[1] - exact.shape[1] // 10
    exponents = np.array([exponent(curve) for curve in regret])
    return Summary(
        len(regret),
        _over_seeds(regret[:, -1]),
        None if np.isnan(exponents).any() else _over_seeds(exponents),
        _over_seeds(exact[:, late:].mean(axis=1)),
    )


def _over_seeds(values: Vector) -> Interval:
    return interval(values, rng=np.random.default_rng(0))


def _write(
    folder: Path, setting: Setting, curves: Mapping[str, Vector], summaries: Mapping[str, Summary]
) -> None:
    from sightline import plot  # loads matplotlib, which the workers need not

    content = {"setting": asdict(setting), "methods": {m: asdict(s) for m, s in summaries.items()}}
    text = json.dumps(content, indent=1)
    (folder / "regret.json").write_text(text + "\n", encoding="utf-8")
    plot.save(plot.draw_regret(curves), folder / "regret.png")
    (folder / "regret.md").write_text(page(setting, summaries), encoding="utf-8")


def page(setting: Setting, summaries: Mapping[str, Summary]) -> str:
    """What the theorem promises and what is seen, as Markdown."""
    most = max(s.seeds for s in summaries.values())
    return f"""# Regret

{setting.scenario}, objects by `{setting.distribution}`, {setting.points} vantage points, disc of \
{setting.range_m:g} m, {setting.episodes:,} episodes, {most} seeds; each seed has its own points, starts \
and positions, the same for all methods.

Regret is counted as the paper counts it: the expected cost of a route, by the paper's equation (2) and
over the true distribution, less that of the benchmark planner, which knows the distribution. Nothing is
sampled but the course. For Algorithm 2, and features in which the chances are generalised linear, the
theorem promises regret of order k^2 D sqrt(T) at worst, so an exponent of T of at most 1/2. An exponent
of 1 means that nothing is gained by learning. It is fitted from a tenth of the episodes on. Intervals
are 95 % bootstrap intervals over the seeds.

{table(summaries)}

The metres are the exact expected metres until the object is first seen, or until the route is over plus
twice the longest leg if it is never seen, over the last tenth of the episodes.

![Cumulative regret by episode](regret.png)
"""


def table(summaries: Mapping[str, Summary]) -> str:
    """One row per method, the least regret first."""
    lines = [
        "| method | regret [m] | exponent of T | expected metres, late |",
        "|---|---|---|---|",
    ]
    for method, s in sorted(summaries.items(), key=lambda item: item[1].regret.mean):
        power = "-" if s.exponent is None else _spanned(s.exponent, 2)
        regret, metres = _spanned(s.regret, 0), _spanned(s.metres, 2)
        lines.append(f"| {method} | {regret} | {power} | {metres} |")
    return "\n".join(lines)


def _spanned(of: Interval, digits: int) -> str:
    return f"{of.mean:,.{digits}f} ({of.low:,.{digits}f} to {of.high:,.{digits}f})"
