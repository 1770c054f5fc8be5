"""The paper's figures, each drawn from code and a seed."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.features import FeatureSettings, features_of
from sightline.itinerary import Plan
from sightline.learn.augment import positives
from sightline.learn.genlin import GenLin
from sightline.learn.oracle import Oracle
from sightline.learn.places import PlaceBelief
from sightline.learn.protocol import Learner
from sightline.maps import Points
from sightline.places import Scenario
from sightline.plan.coverage import Coverage
from sightline.plan.cpsat import CpSat
from sightline.plan.greedy import Greedy
from sightline.plan.problem import Planner, SearchProblem
from sightline.plan.wmlp import solve_wmlp
from sightline.records import Episode, Query
from sightline.search import Searcher
from sightline.site import Site
from sightline.vantage import farthest_points
from sightline.visibility import Sensor
from sightline.workers import Progress, silent
from sightline.worlds.grid import GridWorld

HOMES = ("kitchen1", "kitchen2")
THING = "cup"
POINTS = 25
TRAINED = 200  # episodes before the learned maps are drawn
TRAINING_RANGE_M, RANGE_M = 1.0, 2.5
COUNTS = (5, 10, 15, 20, 25, 30, 40, 50)
LIMIT_S = 10.0
TRIES, LOOKS = 50, 4  # searches that are tried for one of so many looks
DPI = 100
Vector = NDArray[np.float64]


def draw_all(
    folder: str | Path,
    *,
    seed: int,
    progress: Progress = silent,
    time_limit_s: float = LIMIT_S,
    counts: Sequence[int] = COUNTS,
    trained: int = TRAINED,
) -> list[Path]:
    """Draw every figure into a folder and return the files.

    ``time_limit_s`` is what CP-SAT and our solver get for each problem of ``counts`` points, ``trained``
    the number of training episodes before the learned maps are drawn.
    """
    from sightline import plot  # loads matplotlib

    folder, rng = Path(folder), np.random.default_rng(seed)
    streams = rng.spawn(5)
    figures: dict[str, Callable[[], object]] = {
        "overview": lambda: overview(rng=streams[0]),
        "augmentation": lambda: augmentation(rng=streams[1]),
        "learned": lambda: learned(trained, rng=streams[2]),
        "distributions": lambda: plot.draw_distributions([_home(name) for name in HOMES]),
        "patches": lambda: patches(rng=streams[3]),
        "cpsat_time": lambda: cpsat_time(counts, time_limit_s, rng=streams[4]),
    }
    out = []
    for done, (name, draw) in enumerate(figures.items()):
        progress(done, len(figures), name)
        out.append(plot.save(draw(), folder / f"{name}.png", dpi=DPI))  # type: ignore[arg-type]
    progress(len(figures), len(figures), "")
    return out


def overview(*, rng: np.random.Generator) -> object:
    """One search by the true chances: its plan, and how it went."""
    from sightline import plot

    return plot.draw_overview(*one_search(_site("kitchen1", RANGE_M), THING, rng=rng))


def one_search(site: Site, thing: str, *, rng: np.random.Generator) -> tuple[Plan, Episode]:
    """A plan by the true chances and the search that follows it, one that takes some looks."""
    planner = Coverage(time_limit_s=60.0, effort=0.2)
    searcher = Searcher(site, learner=Oracle(), planner=planner)
    world, again = GridWorld(site, rng=rng), int(rng.integers(2**63))
    for _ in range(TRIES):
        # equal generators, so that the search makes the very same plan
        plan = searcher.plan(thing, start=world.position, rng=np.random.default_rng(again))
        episode = searcher.search(
            thing, world=world, rng=np.random.default_rng(again), approach=False
        )
        if len(episode.visits) >= LOOKS:
            break
        world.reset()
    return plan, episode


def augmentation(*, rng: np.random.Generator) -> object:
    """A find with the points it makes positive, and the true chances."""
    from sightline import plot

    site = _site("kitchen1", TRAINING_RANGE_M)
    find = site.home.sample_position(THING, rng=rng)
    episode = Episode.taught(THING, find)
    return plot.draw_augmentation(
        site, find, positives(site, episode), THING, true_chances(site, THING)
    )


def true_chances(site: Site, thing: str) -> Vector:
    """The chance (n,) of spotting an object from each of the site's navigable points."""
    oracle = Oracle()
    oracle.meet(site)
    return oracle.predict(Query(thing, (0.0, 0.0)), site.standing).mean


class _Method(NamedTuple):
    learner: Learner
    planner: Planner


def learned(trained: int, *, rng: np.random.Generator) -> object:
    """What two learners have learned after the same episodes, and where it sends them."""
    from sightline import plot

    site = _site("kitchen1", TRAINING_RANGE_M)
    points = farthest_points(site.free, POINTS, rng=rng)
    wide = _site("kitchen1", RANGE_M)
    methods = {
        "GenLin + Greedy": _Method(GenLin(), Greedy(alpha_p=0.48)),
        "PlaceBelief + Coverage": _Method(PlaceBelief(), Coverage(time_limit_s=60.0, effort=0.1)),
    }
    (course, start), panels = rng.integers(2**63, size=2), {}
    for name, (learner, planner) in methods.items():
        world = GridWorld(site, rng=np.random.default_rng(course))  # the same for both
        searcher = Searcher(site, learner=learner, planner=planner, points=points)
        for number in range(trained):
            world.reset()
            thing = site.home.objects[number % len(site.home.objects)]
            searcher.search(thing, world=world, rng=rng, approach=False)
        chance = learner.predict(Query(THING, (0.0, 0.0)), site.standing).mean
        last = Searcher(wide, learner=learner, planner=planner, points=points)
        shown = GridWorld(wide, rng=np.random.default_rng(start))
        episode = last.search(THING, world=shown, rng=rng, approach=False, learn=False)
        panels[name] = (chance, episode)
    return plot.draw_learned(site, THING, panels, true_chances(site, THING))


def patches(*, rng: np.random.Generator) -> object:
    """The wall-distance map, and the patches around some points."""
    from sightline import plot

    site = _site("kitchen1", TRAINING_RANGE_M)
    return plot.draw_patches(
        features_of(site.home.map, FeatureSettings()), farthest_points(site.free, 6, rng=rng)
    )


def cpsat_time(counts: Sequence[int], limit_s: float, *, rng: np.random.Generator) -> object:
    """How long CP-SAT and our solver take to prove the best order, by the number of points."""
    from sightline import plot

    site = _site("kitchen2", TRAINING_RANGE_M)
    seconds: dict[str, list[float]] = {"CP-SAT": [], "Sightline": []}
    proven: dict[str, list[bool]] = {"CP-SAT": [], "Sightline": []}
    few = order_problem(site, farthest_points(site.free, 4, rng=rng), rng=rng)
    CpSat(time_limit_s=1.0)(few, rng=rng)  # loading the solver is no part of its time
    for count in counts:
        problem = order_problem(site, farthest_points(site.free, count, rng=rng), rng=rng)
        theirs = CpSat(time_limit_s=limit_s)(problem, rng=rng)
        ours = solve_wmlp(
            problem.travel, problem.weights, time_limit_s=limit_s, prove=True, rng=rng
        )
        for name, route in (("CP-SAT", theirs), ("Sightline", ours)):
            seconds[name].append(max(route.seconds, 1e-5))
            proven[name].append(route.optimal)
    return plot.draw_times(counts, seconds, proven, limit_s=limit_s, where="kitchen2")


def order_problem(site: Site, points: Points, *, rng: np.random.Generator) -> SearchProblem:
    """The paper's problem: points with their true chances, from a random start."""
    oracle = Oracle()
    oracle.meet(site)
    start = site.standing[rng.integers(len(site.standing))]
    x, y = start.tolist()
    belief = oracle.predict(Query(THING, (x, y)), points)
    return SearchProblem(site.ways.travel(start, points), np.append(0.0, belief.weight))


def _home(name: str) -> Scenario:
    return Scenario.load(name, distribution="spread")


def _site(name: str, range_m: float) -> Site:
    return Site.of(_home(name), sensor=Sensor(range_m=range_m, kind="disc"))
