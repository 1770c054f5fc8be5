"""Where there is nothing to learn: objects anywhere, each search anew. Nobody may gain there."""

from collections.abc import Callable

import numpy as np

import sightline as sl
from benchmarks.race import table
from sightline.learn.acquaintance import even_mass
from sightline.learn.protocol import Learner
from sightline.regret import Costs, Course, follow, lay_course

SEED = 31
POINTS, RANGE_M = 25, 1.0
EPISODES, SEEDS = 200, 10
QUICK_SEEDS = 3
T_975 = {10: 2.262, 3: 4.303}  # Student's t by the number of seeds
LEARNERS: dict[str, Callable[[np.random.Generator], Learner]] = {
    "Uniform": lambda rng: sl.Uniform(),
    "PlaceBelief": lambda rng: sl.PlaceBelief(),
    "GenLin": lambda rng: sl.GenLin(),
    "Neural": lambda rng: sl.Neural(rng=rng),
    "Frequency": lambda rng: sl.Frequency(),
    "LastSeen": lambda rng: sl.LastSeen(),
    "RandomOrder": lambda rng: sl.RandomOrder(rng=rng),
}


def courses(seeds: int) -> list[Course]:
    """Searches in kitchen1 for objects that lie anywhere where they can be seen."""
    site = sl.Site.of(sl.Scenario.load("kitchen1"), sensor=sl.Sensor(range_m=RANGE_M, kind="disc"))
    even, out = {thing: even_mass(site) for thing in site.home.objects}, []
    for seed in range(seeds):
        rng = np.random.default_rng((SEED, seed, 0))
        points = sl.farthest_points(site.free, POINTS, rng=rng)
        out.append(
            lay_course(site, points, EPISODES, masses=even, least=np.zeros(EPISODES), rng=rng)
        )
    return out


def learned(course: Course, name: str, seed: int) -> Costs:
    learner = LEARNERS[name](np.random.default_rng((SEED, seed, 2)))
    learner.meet(course.site)
    return follow(course, learner, rng=np.random.default_rng((SEED, seed, 1)))


def no_gain(quick: bool) -> str:
    """Metres more than with ``Uniform`` over the second half of the searches, by learner."""
    seeds = QUICK_SEEDS if quick else SEEDS
    laid, half = courses(seeds), EPISODES // 2
    found: dict[str, np.ndarray] = {}
    for name in LEARNERS:
        costs = [learned(course, name, seed) for seed, course in enumerate(laid)]
        found[name] = np.array([[c.driven[half:].mean(), c.exact[half:].mean()] for c in costs])
    rows = []
    for name, metres in found.items():
        more = metres - found["Uniform"]
        error = T_975[seeds] * more.std(axis=0, ddof=1) / np.sqrt(seeds)
        spans = [f"{m:+.2f} ± {e:.2f} m" for m, e in zip(more.mean(axis=0), error, strict=True)]
        rows.append([name, f"{metres[:, 0].mean():.2f} m", *spans])
    return table([f"{seeds} seeds", "driven per search", "more, driven", "more, expected"], rows)
