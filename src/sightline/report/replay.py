"""Searches of a finished cell, run again to be shown: a run folder keeps no ways and no beliefs."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sightline.learn.protocol import Learner
from sightline.maps import Points
from sightline.plan.problem import Planner
from sightline.records import Episode, Query
from sightline.search import Searcher
from sightline.site import Site
from sightline.study.cell import Course, Drawn, Row, build, lay_course, lay_points, stream
from sightline.study.config import LEARNERS, PLANNERS, Cell, Protocol
from sightline.worlds.grid import GridWorld

Vector = NDArray[np.float64]
LATTICE_M = 0.2  # of the pictures of beliefs
AGREE_M = 1e-3  # metres driven that agree so well are the same search


@dataclass(frozen=True, eq=False)
class Shown:
    """An evaluation search: what was drawn, how it went, and whether it is the recorded one."""

    number: int
    drawn: Drawn
    episode: Episode
    agrees: bool


@dataclass(frozen=True, eq=False)
class Replay:
    """A cell run again: its searches, and what was believed of ``thing`` as training went on.

    ``beliefs`` maps numbers of training episodes to chances (n,) of spotting ``thing`` from the points
    ``lattice`` (n, 2), ``truth`` (n,) is the true chance; ``calibrated`` says that beliefs are chances.
    """

    cell: Cell
    site: Site
    points: Points
    searches: tuple[Shown, ...]
    thing: str
    lattice: Points
    beliefs: dict[int, Vector]
    truth: Vector
    calibrated: bool


def replay(protocol: Protocol, cell: Cell, rows: list[Row], *, searches: int) -> Replay:
    """Train a cell anew, draw by draw as it was, and search the first of its evaluation episodes."""
    rng = stream(cell.setting.name, cell.seed, cell.method.name)
    course = lay_course(cell.setting, protocol, cell.seed)
    count = cell.method.points or cell.setting.points
    points = lay_points(cell.setting, protocol, cell.seed, count)
    learner = build(LEARNERS[cell.method.learner], cell.method.learner_settings, rng, "learner")
    planner = build(PLANNERS[cell.method.planner], cell.method.planner_settings, rng, "planner")
    thing, lattice = course.site.home.objects[0], course.site.free.points(LATTICE_M)
    beliefs = _train(_limited(protocol, cell), cell, course, points, learner, planner, rng, lattice)
    examiner = Searcher(course.site, learner=learner, planner=planner, points=points)
    world = GridWorld(course.site, rng=rng.spawn(1)[0])
    kept = {row["n"]: row["p"] for row in rows if row["part"] == "eval"}
    shown = []
    for number, drawn in enumerate(course.evaluation[:searches]):
        if number not in kept:
            break
        episode = _search(examiner, world, drawn, protocol, rng, learn=False)
        agrees = abs(episode.visits[-1].driven_m - kept[number]) < AGREE_M
        shown.append(Shown(number, drawn, episode, agrees))
    truth = course.training_site.sees(lattice) @ course.mass[thing]
    calibrated = any(search.episode.belief.mass is not None for search in shown)  # type: ignore[union-attr]
    return Replay(
        cell, course.site, points, tuple(shown), thing, lattice, beliefs, np.asarray(truth), calibrated
    )  # fmt: skip


def _limited(protocol: Protocol, cell: Cell) -> Protocol:
    """The protocol as a method reduces it, with no checkpoints then."""
    method = cell.method
    limits = {
        name: min(getattr(protocol, name), wanted)
        for name in ("training_episodes", "evaluation_episodes", "exact_starts")
        if (wanted := getattr(method, name)) is not None
    }
    return replace(protocol, **limits, checkpoints=()) if limits else protocol


def _train(
    protocol: Protocol,
    cell: Cell,
    course: Course,
    points: Points,
    learner: Learner,
    planner: Planner,
    rng: np.random.Generator,
    lattice: Points,
) -> dict[int, Vector]:
    """Train a learner; give what it believes of the first object at first, midway and at the end."""
    method, training_planner = cell.method, planner
    if method.training_planner:
        settings = method.training_planner_settings
        training_planner = build(PLANNERS[method.training_planner], settings, rng, "planner")
    trainer = Searcher(
        course.training_site, learner=learner, planner=training_planner, points=points
    )
    world, total = GridWorld(course.training_site, rng=rng.spawn(1)[0]), protocol.training_episodes
    query, out = Query(course.site.home.objects[0], (0.0, 0.0)), {}
    for number, drawn in enumerate(course.training[:total]):
        if number in (0, total // 8):
            out[number] = learner.predict(query, lattice).mean
        if number in protocol.checkpoints:
            _plan_exact(protocol, course, learner, planner, points, rng)
            learner.meet(course.training_site)
        _search(trainer, world, drawn, protocol, rng, learn=True)
    out[total] = learner.predict(query, lattice).mean
    return out


def _plan_exact(
    protocol: Protocol,
    course: Course,
    learner: Learner,
    planner: Planner,
    points: Points,
    rng: np.random.Generator,
) -> None:
    """Make the plans of a checkpoint, since planners may draw from the stream of the cell."""
    searcher = Searcher(course.site, learner=learner, planner=planner, points=points)
    for start in course.exact_starts[: protocol.exact_starts]:
        for thing in course.site.home.objects:
            searcher.plan(thing, start=start, rng=rng)


def _search(
    searcher: Searcher,
    world: GridWorld,
    drawn: Drawn,
    protocol: Protocol,
    rng: np.random.Generator,
    *,
    learn: bool,
) -> Episode:
    world.reset(start=drawn.start, positions={drawn.thing: drawn.position}, blind=drawn.blind)
    return searcher.search(
        drawn.thing, world=world, rng=rng, budget_m=protocol.budget_m, approach=False, learn=learn
    )
