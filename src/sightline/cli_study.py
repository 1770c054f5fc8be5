"""The commands that measure: studies, their report, the paper reproduced, and the demo."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Jobs = Annotated[int, typer.Option(help="Worker processes; the result does not depend on it.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Run folder; goes on where it was.")]


class Part(StrEnum):
    """What of the paper is reproduced."""

    TABLES = "tables"
    FIGURES = "figures"
    REGRET = "regret"
    REAL = "real"


def study_command(
    file: Annotated[Path, typer.Argument(help="A TOML file: methods, settings, seeds, protocol.")],
    out: Out = None,
    jobs: Jobs = 2,
) -> None:
    """Run a study, or what is missing of it, into a run folder."""
    from sightline.study import Study, run_study

    study = Study.load(file)
    folder = out or Path("out") / study.name
    with progress_bar(study.name) as progress:
        done = run_study(study, folder, jobs=jobs, progress=progress)
    typer.echo(f"{len(done.cells)} cells in {folder}")
    _page_of(folder)


def reproduce_command(
    parts: Annotated[
        list[Part] | None, typer.Argument(help="What to reproduce; tables and figures if not said.")
    ] = None,
    out: Out = None,
    jobs: Jobs = 2,
    seeds: Annotated[int, typer.Option(min=1, help="Training seeds of each cell.")] = 10,
    full: Annotated[
        bool, typer.Option("--full", help="CP-SAT with its 30 s everywhere: takes weeks.")
    ] = False,
) -> None:
    """Reproduce the paper: its tables with our columns beside them, figures, regret, real kitchen."""
    folder = out or Path("out/reproduce")
    for part in parts or [Part.TABLES, Part.FIGURES]:
        with progress_bar(part) as progress:
            _STEPS[part](folder, jobs, seeds, full, progress)


def _tables(folder: Path, jobs: int, seeds: int, full: bool, progress: "Progress") -> None:
    from sightline.reproduce import paper

    where = folder / ("tables-full" if full else "tables")
    paper.run(where, full=full, seeds=seeds, jobs=jobs, progress=progress)
    typer.echo((where / "paper.md").read_text(encoding="utf-8"))
    _page_of(where)


def _figures(folder: Path, jobs: int, seeds: int, full: bool, progress: "Progress") -> None:
    from sightline.reproduce import figures

    figures.draw_all(folder / "figures", seed=0, progress=progress)
    typer.echo(f"The figures are in {folder / 'figures'}.")


def _regret(folder: Path, jobs: int, seeds: int, full: bool, progress: "Progress") -> None:
    from sightline.reproduce import regret

    regret.run(folder / "regret", seeds=seeds, jobs=jobs, progress=progress)
    typer.echo(f"The curves and their page are in {folder / 'regret'}.")


def _real(folder: Path, jobs: int, seeds: int, full: bool, progress: "Progress") -> None:
    from sightline.reproduce import real

    real.run(folder / "real", seeds=seeds, jobs=jobs, progress=progress)
    typer.echo((folder / "real" / "real.md").read_text(encoding="utf-8"))


def report_command(
    run: Annotated[Path, typer.Argument(help="A run folder, from study, reproduce or demo.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page; in the run folder if not said.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
) -> None:
    """Make one self-contained HTML page of a run folder."""
    from sightline.report import write_report

    typer.echo(f"The report is {write_report(run, out, title=title)}.")


def demo_command(
    folder: Annotated[Path, typer.Argument(help="Where the page and the run go.")] = Path(
        "out/demo"
    ),
    seed: Annotated[int, typer.Option(min=0, help="First seed.")] = 0,
) -> None:
    """Learn two kitchens, compare with a blind tour, and write a page about it."""
    from sightline.demo import run_demo

    with progress_bar("demo") as progress:
        done = run_demo(folder, seed=seed, progress=progress)
    for line in done.lines:
        typer.echo(line)
    typer.echo(f"The page is {done.page}.")


Progress = Callable[[int, int, str], None]
_STEPS = {Part.TABLES: _tables, Part.FIGURES: _figures, Part.REGRET: _regret, Part.REAL: _real}


def _page_of(folder: Path) -> None:
    from sightline.report import write_report

    typer.echo(f"The report is {write_report(folder)}.")


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """A bar in a terminal, nothing in a pipe; to be told of pieces done, pieces in all, the last one."""
    if not sys.stderr.isatty():
        yield lambda done, total, what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[what]}"),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, what="")
        yield lambda done, total, what: bar.update(task, completed=done, total=total, what=what)
