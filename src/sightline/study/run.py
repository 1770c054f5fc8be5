"""Run a study over worker processes into a folder, go on after a kill, and read the folder back.

A run folder holds ``study.json`` (the resolved study), ``episodes.jsonl`` (the rows of all finished
cells, each closed by a row of its own) and ``meta.json``. Everything else is rebuilt from these.
"""

import json
import os
import platform
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import StudyError
from sightline.metrics import spl
from sightline.records import Outcome
from sightline.study.cell import Row, run_cell
from sightline.study.config import Study
from sightline.workers import Progress, in_parallel, silent

FORMAT = 1
STUDY, ROWS, META = "study.json", "episodes.jsonl", "meta.json"
MAX_JOBS = 256


def run_study(
    study: Study, folder: str | Path, *, jobs: int = 1, progress: Progress = silent
) -> "Run":
    """Run what a folder lacks of a study. The result does not depend on the number of ``jobs``.

    A cell's rows are written when it is finished, in one piece; a kill loses the cells in work and
    nothing else. ``progress`` is told of every finished cell.
    """
    if not 1 <= jobs <= MAX_JOBS:
        raise StudyError(f"jobs must be from 1 to {MAX_JOBS}, not {jobs}.")
    folder = Path(folder)
    done = _prepare(study, folder)
    cells = study.cells()
    todo = [cell for cell in cells if cell.key not in done]
    progress(len(cells) - len(todo), len(cells), "")
    finished = len(cells) - len(todo)
    with (folder / ROWS).open("a", encoding="utf-8") as file:
        for cell, rows in in_parallel(run_cell, todo, jobs, study.protocol):
            file.write("".join(json.dumps(row) + "\n" for row in rows))
            file.flush()
            os.fsync(file.fileno())
            finished += 1
            progress(finished, len(cells), cell.key)
    return Run.load(folder)


@dataclass(frozen=True, eq=False)
class Run:
    """A run folder, read back: the study, and the rows of each finished cell."""

    folder: Path
    study: Study
    cells: dict[str, list[Row]]

    @classmethod
    def load(cls, folder: str | Path) -> "Run":
        """Read a run folder; what a crash left half-written is skipped."""
        folder = Path(folder)
        study = _read_study(folder)
        cells, _ = _whole_cells(folder / ROWS)
        wanted = [cell.key for cell in study.cells()]
        return cls(folder, study, {key: cells[key] for key in wanted if key in cells})

    @property
    def is_complete(self) -> bool:
        """Whether every cell of the study is there."""
        return len(self.cells) == len(self.study.cells())

    def values(self, setting: str, method: str, measure: str) -> NDArray[np.float64]:
        """One number per seed (seeds,): the mean of a measure over the episodes of a cell.

        Measures: ``train_spl``, ``eval_success``, ``eval_spl``, ``eval_metres``; ``exact_success``,
        ``exact_spl``, ``exact_metres`` after all training, or ``exact_spl@25`` after 25 episodes.
        """
        out = [
            _measure(self.cells[cell.key], measure)
            for cell in self.study.cells()
            if cell.setting.name == setting
            and cell.method.name == method
            and cell.key in self.cells
        ]
        return np.array([value for value in out if value is not None], dtype=np.float64)

    def series(self, setting: str, method: str) -> NDArray[np.float64]:
        """SPL of each training episode (seeds, episodes)."""
        out = [
            _spl_of([row for row in self.cells[cell.key] if row["part"] == "train"])
            for cell in self.study.cells()
            if cell.setting.name == setting
            and cell.method.name == method
            and cell.key in self.cells
        ]
        return np.array(out)

    def seconds(self) -> float:
        """Seconds of work in all cells."""
        return float(sum(rows[-1]["seconds"] for rows in self.cells.values()))


def _measure(rows: list[Row], measure: str) -> float | None:
    name, _, after = measure.partition("@")
    part, _, what = name.partition("_")
    if part == "exact":
        numbers = [row for row in rows if row["part"] == "exact"]
        chosen = [row for row in numbers if row["n"] == int(after)] if after else numbers[-1:]
        return chosen[0][what] if chosen else None
    kept = [row for row in rows if row["part"] == part]
    if not kept:
        return None
    if what == "spl":
        return float(_spl_of(kept).mean())
    if what == "success":
        return float(np.mean([row["outcome"] == Outcome.FOUND for row in kept]))
    if what == "metres":
        return float(np.mean([row["p"] for row in kept]))
    raise StudyError(f"There is no measure {measure!r}.")


def _spl_of(rows: list[Row]) -> NDArray[np.float64]:
    least = [np.inf if row["l"] is None else row["l"] for row in rows]
    found = [row["outcome"] == Outcome.FOUND for row in rows]
    return spl(found, least, [row["p"] for row in rows])


def _prepare(study: Study, folder: Path) -> set[str]:
    """Make the folder, or check that it belongs to this study; give the keys of its finished cells."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / STUDY).exists():
            _same_study(study, _read_study(folder), folder)
        else:
            if any(folder.iterdir()):
                raise StudyError(f"The folder {folder} is neither empty nor a run folder.")
            _write(folder / META, json.dumps(_meta(), indent=1))
            content = {"format": FORMAT, "study": study.to_dict()}
            _write(folder / STUDY, json.dumps(content, indent=1))
        cells, half = _whole_cells(folder / ROWS)
        if half:
            whole = "".join(json.dumps(row) + "\n" for rows in cells.values() for row in rows)
            _write(folder / ROWS, whole)
    except OSError as reason:
        raise StudyError(f"The run folder {folder} cannot be written: {reason}.") from None
    return set(cells)


def _whole_cells(path: Path) -> tuple[dict[str, list[Row]], bool]:
    """The rows of every finished cell, and whether there is anything else in the file."""
    whole: dict[str, list[Row]] = {}
    open_rows: dict[str, list[Row]] = {}
    rest = False
    if not path.exists():
        return whole, rest
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                row = json.loads(line)
                key, part = row["cell"], row["part"]
            except (ValueError, KeyError, TypeError):
                rest = True
                continue
            rows = open_rows.setdefault(key, [])
            if part != "cell":
                rows.append(row)
                continue
            del open_rows[key]
            if row.get("rows") == len(rows) and key not in whole:
                whole[key] = [*rows, row]
            else:
                rest = True
    return whole, rest or any(open_rows.values())


def _read_study(folder: Path) -> Study:
    path = folder / STUDY
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StudyError(f"{folder} is no run folder: it has no {STUDY}.") from None
    except (OSError, ValueError) as reason:
        raise StudyError(f"{path} is damaged: {reason}.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else content
        raise StudyError(
            f"{folder} was written in format {found!r}; this release reads format {FORMAT}."
        )
    if not isinstance(content.get("study"), dict):
        raise StudyError(f"{path} is damaged: it holds no study.")
    return Study.from_dict(content["study"])


def _same_study(wanted: Study, stored: Study, folder: Path) -> None:
    ours, theirs = (json.loads(json.dumps(study.to_dict())) for study in (wanted, stored))
    different = [key for key in ours if ours[key] != theirs[key]]
    if different:
        raise StudyError(
            f"{folder} holds another study: it differs in {', '.join(different)}; name another folder."
        )


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _meta() -> dict[str, Any]:
    return {
        "sightline": version("sightline"),
        "python": sys.version.split()[0],
        "numpy": version("numpy"),
        "ortools": version("ortools"),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
