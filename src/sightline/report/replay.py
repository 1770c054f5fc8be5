"""Searches of a finished cell, run again to be shown: a run folder keeps no ways and no beliefs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.maps import Points
from sightline.records import Episode, Query
from sightline.site import Site
from sightline.study.cell import Drawn, Row, Trial
from sightline.study.config import Cell, Protocol

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
    trial = Trial.of(protocol, cell)
    course, learner, total = trial.course, trial.learner, trial.protocol.training_episodes
    thing, lattice = course.site.home.objects[0], course.site.free.points(LATTICE_M)
    query = Query(thing, (0.0, 0.0))
    learner.meet(course.training_site)
    beliefs = {0: learner.predict(query, lattice).mean}
    kept = {row["n"]: row["p"] for row in rows if row["part"] == "eval"}
    shown: list[Shown] = []
    for played in trial.play():
        number, drawn, episode = played.row["n"], played.drawn, played.episode
        if played.row["part"] == "train" and number + 1 in (total // 8, total):
            beliefs[number + 1] = learner.predict(query, lattice).mean
        if played.row["part"] == "eval" and drawn is not None and episode is not None:
            if number >= searches or number not in kept:
                break
            agrees = abs(episode.visits[-1].driven_m - kept[number]) < AGREE_M
            shown.append(Shown(number, drawn, episode, agrees))
    truth = np.asarray(course.training_site.sees(lattice) @ course.mass[thing])
    calibrated = any(
        search.episode.belief is not None and search.episode.belief.mass is not None
        for search in shown
    )
    return Replay(
        cell, course.site, trial.points, tuple(shown), thing, lattice, beliefs, truth, calibrated
    )
