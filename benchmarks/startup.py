"""What the first call costs, and what a second process pays."""

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.race import table

HELP = "from sightline.cli import main; main(['--help'])"
WORK = """
import numpy as np, sightline as sl
home = sl.Scenario.load("kitchen1")
free = home.map.free_space(0.25)
points = sl.farthest_points(free, 25, rng=np.random.default_rng(0))
free.distances(points)
sl.visible(home, points, home.target_cells(), sl.Sensor())
"""


def seconds(code: str, cache: str) -> float:
    """Wall time of a fresh process."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
    )
    return time.perf_counter() - start


def startup(rounds: int) -> str:
    """Help, and the way from a map to distances and visibility, without and with a warm cache."""
    with tempfile.TemporaryDirectory() as cache:
        first = seconds(WORK, cache)
        again = sorted(seconds(WORK, cache) for _ in range(rounds))[rounds // 2]
        help_text = sorted(seconds(HELP, cache) for _ in range(rounds))[rounds // 2]
    rows = [
        ["sightline --help", f"{help_text:.2f} s"],
        ["map, distances, visibility: first process ever (compiles)", f"{first:.1f} s"],
        ["the same in a second process (compiled code from disk)", f"{again:.2f} s"],
    ]
    return table(["a new process", "time"], rows)
