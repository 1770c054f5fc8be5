"""The demonstration: learn two kitchens, compare with a tour that knows nothing, and write a page."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sightline.errors import StudyError
from sightline.metrics import interval
from sightline.report import write_report
from sightline.study import Method, Protocol, Run, Setting, Study, run_study
from sightline.workers import Progress, silent

PAGE, RUN = "index.html", "run"
JOBS = 2
BLIND, OURS = "blind tour", "learned search"
# effort ends the planning, never the clock; a search that gives up costs so much that none does early
PLANNING = {"time_limit_s": 60.0, "effort": 0.1, "escape": 200.0}
PROTOCOL = Protocol(training_episodes=100, evaluation_episodes=40, exact_starts=4)
SEEDS = 3
SETTINGS = (Setting("kitchen1", "spread", 25), Setting("kitchen2", "spread", 50))
METHODS = (
    Method(BLIND, "Uniform", "Tsp"),
    Method("paper's Gen-Lin, greedy", "GenLin", "Greedy", planner_settings={"alpha_p": 0.48}),
    Method(OURS, "PlaceBelief", "Coverage", planner_settings=PLANNING),
)
INTRO = (
    "A robot looks for a bottle, a can, a cup, a bowl or a bag of chips in two kitchens. It is not told "
    f"where these things tend to lie: it learns that from {PROTOCOL.training_episodes} searches and then "
    "plans the way on which it expects to see the thing soonest. The blind tour visits the same points "
    "on a shortest way and knows nothing."
)


@dataclass(frozen=True)
class Demo:
    """What came of the demonstration: the page, the run, and the table in plain words."""

    page: Path
    run: Run
    lines: tuple[str, ...]


def run_demo(folder: str | Path, *, seed: int = 0, progress: Progress = silent) -> Demo:
    """Train and evaluate in both kitchens, then write ``index.html`` into a folder.

    What the folder already holds of the same seed is not done again; a run of another seed, or of other
    settings, is refused. ``progress`` is told of every finished piece.
    """
    if seed < 0:
        raise StudyError(f"The seed of a demonstration must be at least 0, not {seed}.")
    folder = Path(folder)
    study = Study("demo", SETTINGS, METHODS, seeds=SEEDS, first_seed=seed, protocol=PROTOCOL)
    pieces = len(study.cells()) + 1  # the page is one
    run = run_study(
        study,
        folder / RUN,
        jobs=JOBS,
        progress=lambda done, total, what: progress(done, pieces, what),
    )
    progress(pieces - 1, pieces, "the page")
    page = write_report(
        run.folder, folder / PAGE, title="Sightline learns two kitchens", intro=INTRO
    )
    progress(pieces, pieces, "")
    return Demo(page, run, tuple(summary(run)))


def summary(run: Run) -> list[str]:
    """How far each method drives in a search and how often it finds, as lines of plain text."""
    wide = max(len(method.name) for method in run.study.methods) + 2
    out = []
    for setting in run.study.settings:
        out.append(f"{setting.scenario:<{wide}}  driven per search   found in")
        blind = _mean(run, setting.name, BLIND, "exact_metres")
        for name in (method.name for method in run.study.methods):
            metres = _mean(run, setting.name, name, "exact_metres")
            found = _mean(run, setting.name, name, "exact_success")
            change = metres / blind - 1
            less = (
                "" if name == BLIND else f"   {abs(change):.0%} {'less' if change < 0 else 'more'}"
            )
            out.append(f"  {name:<{wide}}{metres:>15.1f} m {found:>10.0%}{less}")
    return out


def _mean(run: Run, setting: str, method: str, measure: str) -> float:
    return interval(run.values(setting, method, measure), rng=np.random.default_rng(0)).mean
