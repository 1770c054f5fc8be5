"""``python -m benchmarks``: print the tables; ``--write`` puts them into docs/benchmarks.md, too."""

import argparse
import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks import geometry, startup

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
PEERS = ("sightline", "numpy", "numba", "scipy", "scikit-image", "pyastar2d", "fpsample")
INTRODUCTION = """# Benchmarks

Everything on this page is printed by `make bench`, which installs the peers into an environment of
their own and runs them and Sightline in turns, on the same input, in one process. `make bench-docs`
also writes this page. Times are medians over the rounds and depend on the machine; read the ratios. A
ratio of 3 means that the peer takes three times as long. Compiled code is warm unless a table says
otherwise.
"""
DISTANCES = """## Shortest paths

All distance fields from 51 points and the distances between the points. Sightline's time includes
reading the mask, scipy's does not include building its graph. The error is how much longer than the
exact shortest path the worst of the 1,275 distances is; Sightline's own exactness is a matter of the
tests, which compare it with full visibility graphs. pyastar2d gives no fields, only the pairs.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with_versions = ", ".join(f"{name} {version(name)}" for name in PEERS)
    parts = [
        INTRODUCTION,
        f"Python {platform.python_version()}, {platform.machine()}, {with_versions}.",
    ]
    sections = (
        (DISTANCES, geometry.distances),
        ("## Line of sight\n", geometry.line_of_sight),
        ("## Farthest points\n", geometry.farthest),
        ("## Starting up\n", startup.startup),
    )
    for text, measure in sections:
        parts += [text, measure(options.rounds)]
        print(f"\n{parts[-1]}", flush=True)
        if measure is geometry.distances:
            parts.append(geometry.peak_memory())
            print(parts[-1], flush=True)
    if options.write:
        PAGE.write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
