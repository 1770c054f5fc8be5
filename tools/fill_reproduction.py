"""Put the tables of a finished reproduction into docs/reproduction.md, and its headline into the README.

sightline reproduce tables real --out out/reproduce
python tools/fill_reproduction.py out/reproduce/tables
python tools/fill_reproduction.py out/reproduce/real
"""

import re
import sys
from pathlib import Path

import numpy as np

from sightline.metrics import interval
from sightline.reproduce.paper import OURS, THEIR_BEST, page
from sightline.study import Run

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = {
    "blind tour (TSP)": "TSP",
    "the paper's Gen-Lin, greedy": "Gen-Lin, greedy",
    "the paper's oracle, optimal order": THEIR_BEST,
    "**learned: PlaceBelief + Coverage**": OURS,
    "who knows all: Oracle + Coverage": "Oracle, Coverage",
}


def headline(run: Run) -> str:
    """Exact SPL of the main methods, a column per setting, with intervals over seeds."""
    settings = [setting.name for setting in run.study.settings]
    lines = [f"| SPL, exact | {' | '.join(settings)} |", "|---" * (len(settings) + 1) + "|"]
    for shown, method in COLUMNS.items():
        cells = [_cell(run, setting, method) for setting in settings]
        lines.append(f"| {shown} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(run: Run, setting: str, method: str) -> str:
    values = run.values(setting, method, "exact_spl")
    if not len(values):
        return "-"
    found = interval(values, rng=np.random.default_rng(0))
    return f"{found.mean:.2f} [{found.low:.2f}, {found.high:.2f}]"


def fill(path: Path, name: str, text: str) -> None:
    """Replace what stands between two marks of a page."""
    content = path.read_text(encoding="utf-8")
    mark = re.compile(rf"<!-- {name} -->.*?<!-- /{name} -->", re.DOTALL)
    if not mark.search(content):
        raise SystemExit(f"{path} has no place for '{name}'.")
    new = f"<!-- {name} -->\n{text}\n<!-- /{name} -->"
    path.write_text(mark.sub(lambda _: new, content), encoding="utf-8")


def main() -> None:
    """Fill the pages from the run folder that is named."""
    if (physical := Path(sys.argv[1]) / "real.md").exists():
        fill(
            ROOT / "docs" / "reproduction.md", "real", physical.read_text(encoding="utf-8").strip()
        )
        return
    run = Run.load(sys.argv[1])
    if not run.is_complete:
        raise SystemExit(f"{sys.argv[1]} is not finished: it has {len(run.cells)} cells.")
    fill(ROOT / "docs" / "reproduction.md", "reproduced", page(run))
    fill(ROOT / "README.md", "headline", HEAD.format(table=headline(run), seeds=run.study.seeds))


HEAD = """## What it is worth

Two kitchens, two kinds of habits, the paper's protocol (200 training searches with 1 m of sight,
evaluation with 2.5 m; {seeds} seeds, 95 % bootstrap intervals over seeds). 1 is a search that drives
straight to where the object is first seen; 0.9 is the most that the protocol's failed detections allow.

{table}

`sightline reproduce tables` gives this and the rest of [the reproduction](docs/reproduction.md), with
the rule of success and of l under every table."""


if __name__ == "__main__":
    main()
