"""One cell of a study: train a method in a setting, then evaluate it with frozen parameters."""

import inspect
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import StudyError
from sightline.learn.protocol import Learner
from sightline.maps import Points
from sightline.metrics import Expected, expected
from sightline.places import Scenario
from sightline.plan.problem import Planner
from sightline.records import Episode
from sightline.search import Searcher
from sightline.site import Site
from sightline.study.config import LEARNERS, PLANNERS, Cell, Protocol, Setting
from sightline.vantage import farthest_points
from sightline.visibility import Sensor
from sightline.worlds.grid import GridWorld

Row = dict[str, Any]
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Drawn:
    """An episode as the world draws it, before anybody searches."""

    thing: str
    start: Points
    position: Points
    blind: bool


@dataclass(frozen=True, eq=False)
class Course:
    """What all methods of one setting and one seed meet: points, and episodes to train and evaluate."""

    training_site: Site
    site: Site
    training: tuple[Drawn, ...]
    evaluation: tuple[Drawn, ...]
    exact_starts: Points

    @cached_property
    def training_least_m(self) -> Vector:
        """The l of each training episode."""
        return _least(self.training_site, self.training)

    @cached_property
    def least_m(self) -> Vector:
        """The l of each evaluation episode."""
        return _least(self.site, self.evaluation)

    @cached_property
    def mass(self) -> dict[str, Vector]:
        """The true chance (cells,) of each object in each target cell."""
        home = self.site.home
        return {thing: home.mass(thing, self.site.cells) for thing in home.objects}

    @cached_property
    def least_to_cells(self) -> NDArray[np.float64]:
        """For each exact start (s,) the l of each target cell: (s, cells)."""
        return np.array([self.site.least_ways_m(start) for start in self.exact_starts])


@lru_cache(maxsize=2)
def lay_course(setting: Setting, protocol: Protocol, seed: int) -> Course:
    """Draw a course: objects with equal frequency, starts uniform over F, positions as they lie."""
    home = Scenario.load(setting.scenario, distribution=setting.distribution)
    if not home.objects:
        raise StudyError(f"The scenario {setting.scenario} has no objects to look for.")
    sensor = Sensor(range_m=protocol.evaluation_range_m, kind=protocol.sensor)  # type: ignore[arg-type]
    site = Site.of(home, sensor=sensor)
    training_site = replace(site, sensor=replace(sensor, range_m=protocol.training_range_m))
    training, evaluation, exact = stream(setting.name, seed, "world").spawn(3)
    starts = site.standing[exact.integers(len(site.standing), size=protocol.exact_starts)]
    return Course(
        training_site,
        site,
        draw_episodes(site, protocol.training_episodes, protocol.blind_rate, training),
        draw_episodes(site, protocol.evaluation_episodes, protocol.blind_rate, evaluation),
        starts,
    )


@lru_cache(maxsize=8)
def lay_points(setting: Setting, protocol: Protocol, seed: int, count: int) -> Points:
    """The vantage points of a setting and a seed: farthest-point sampling from a random first one."""
    free = lay_course(setting, protocol, seed).site.free
    return farthest_points(free, count, rng=stream(setting.name, seed, "points"))


def run_cell(protocol: Protocol, cell: Cell) -> list[Row]:
    """Train and evaluate; a row for each episode, each exact expectation, and one for the whole cell."""
    began = time.perf_counter()
    rows = [played.row for played in Trial.of(protocol, cell).play()]
    rows.append({"part": "cell", "rows": len(rows), "seconds": time.perf_counter() - began})
    return [{"cell": cell.key, **row} for row in rows]


@dataclass(frozen=True, eq=False)
class Played:
    """One step of a trial: its row, and the episode if it was one."""

    row: Row
    drawn: Drawn | None = None
    episode: Episode | None = None


@dataclass(frozen=True, eq=False)
class Trial:
    """A cell about to be run: the method is built, the course is laid. It is played once.

    ``protocol`` is that of the study as the method reduces it.
    """

    protocol: Protocol
    course: Course
    points: Points
    learner: Learner
    planner: Planner
    training_planner: Planner
    rng: np.random.Generator

    @classmethod
    def of(cls, protocol: Protocol, cell: Cell) -> "Trial":
        """Draw and build everything; the same cell always gives the same trial."""
        method, setting, seed = cell.method, cell.setting, cell.seed
        rng = stream(setting.name, seed, method.name)
        learner = build(
            LEARNERS[method.learner], method.learner_settings, rng, f"learner {method.learner}"
        )
        planner = build(
            PLANNERS[method.planner], method.planner_settings, rng, f"planner {method.planner}"
        )
        trainer, name = planner, method.training_planner
        if name:
            settings = method.training_planner_settings
            trainer = build(PLANNERS[name], settings, rng, f"planner {name}")
        course = lay_course(setting, protocol, seed)
        points = lay_points(setting, protocol, seed, method.points or setting.points)
        return cls(_reduced(protocol, cell), course, points, learner, planner, trainer, rng)

    def play(self) -> Iterator[Played]:
        """Train, with exact expectations at the checkpoints, then evaluate with frozen parameters."""
        course, protocol = self.course, self.protocol
        trainer = Searcher(
            course.training_site,
            learner=self.learner,
            planner=self.training_planner,
            points=self.points,
        )
        world = GridWorld(course.training_site, rng=self.rng.spawn(1)[0])
        for number, drawn in enumerate(course.training[: protocol.training_episodes]):
            if number in protocol.checkpoints:
                yield Played(self._exact_row(self._examiner(), number))
                self.learner.meet(course.training_site)
            episode = self._search(trainer, world, drawn, learn=True)
            yield Played(
                _row("train", number, drawn, episode, course.training_least_m[number]),
                drawn,
                episode,
            )
        examiner = self._examiner()
        world = GridWorld(course.site, rng=self.rng.spawn(1)[0])
        for number, drawn in enumerate(course.evaluation[: protocol.evaluation_episodes]):
            episode = self._search(examiner, world, drawn, learn=False)
            yield Played(
                _row("eval", number, drawn, episode, course.least_m[number]), drawn, episode
            )
        yield Played(self._exact_row(examiner, protocol.training_episodes))

    def _examiner(self) -> Searcher:
        return Searcher(
            self.course.site, learner=self.learner, planner=self.planner, points=self.points
        )

    def _search(
        self, searcher: Searcher, world: GridWorld, drawn: Drawn, *, learn: bool
    ) -> Episode:
        world.reset(start=drawn.start, positions={drawn.thing: drawn.position}, blind=drawn.blind)
        return searcher.search(
            drawn.thing,
            world=world,
            rng=self.rng,
            budget_m=self.protocol.budget_m,
            approach=False,
            learn=learn,
        )

    def _exact_row(self, searcher: Searcher, number: int) -> Row:
        """Exact success, SPL and metres after some training, the mean over starts and objects."""
        course, found = self.course, []
        for row, start in enumerate(course.exact_starts[: self.protocol.exact_starts]):
            for thing in course.site.home.objects:
                order = searcher.plan(thing, start=start, rng=self.rng).route.order
                least, mass = course.least_to_cells[row], course.mass[thing]
                found.append(
                    worth(course.site, start, self.points, order, mass, least, self.protocol)
                )
        success, spl, metres = np.mean(found, axis=0).tolist() if found else (None, None, None)
        each = [round(one.spl, 6) for one in found]
        exact = {"success": success, "spl": spl, "metres": metres, "each": each}
        return {"part": "exact", "n": number, **exact}


def _reduced(protocol: Protocol, cell: Cell) -> Protocol:
    """The protocol with the smaller numbers of a method, and the checkpoints that are then reached."""
    limits = {
        name: min(getattr(protocol, name), wanted)
        for name in ("training_episodes", "evaluation_episodes", "exact_starts")
        if (wanted := getattr(cell.method, name)) is not None
    }
    trained = limits.get("training_episodes", protocol.training_episodes)
    reached = tuple(count for count in protocol.checkpoints if count < trained)
    return replace(protocol, **limits, checkpoints=reached)


def build(kind: Any, settings: Mapping[str, Any], rng: np.random.Generator, what: str) -> Any:
    """A learner or planner with its settings; with a stream of its own if it draws."""
    known = inspect.signature(kind).parameters
    unknown = [name for name in settings if name not in known or name == "rng"]
    if unknown:
        valid = ", ".join(name for name in known if name != "rng") or "none"
        raise StudyError(f"The {what} has no setting {unknown[0]!r}; valid are {valid}.")
    own = {"rng": rng.spawn(1)[0]} if "rng" in known else {}
    try:
        return kind(**settings, **own)
    except (TypeError, ValueError) as reason:
        raise StudyError(f"The {what} cannot be made with {dict(settings)}: {reason}") from None


def _row(part: str, number: int, drawn: Drawn, episode: Episode, least_m: float) -> Row:
    seconds = 0.0 if episode.route is None else episode.route.seconds
    return {
        "part": part,
        "n": number,
        "thing": drawn.thing,
        "outcome": str(episode.outcome),
        "l": round(float(least_m), 4) if np.isfinite(least_m) else None,
        "p": round(episode.visits[-1].driven_m, 4),
        "looks": len(episode.visits),
        "plan_s": round(seconds, 5),
    }


def worth(
    site: Site,
    start: Points,
    points: Points,
    order: NDArray[np.int64],
    mass: Vector,
    least_m: Vector,
    protocol: Protocol,
) -> Expected:
    """What a planned route is worth under a protocol, exactly over where the object lies."""
    stops = np.vstack([start[None], points[order - 1]])
    travel = site.ways.travel(start, points)
    arrival = np.concatenate([[0.0], np.cumsum(travel[np.append(0, order[:-1]), order])])
    views = site.sees(stops)
    first = np.full(len(mass), -1, dtype=np.int64)
    looks = np.repeat(np.arange(len(stops)), np.diff(views.indptr))
    first[views.indices[::-1]] = looks[::-1]
    return expected(
        arrival if len(order) else np.zeros(1),
        first,
        mass,
        least_m,
        blind_rate=protocol.blind_rate,
        budget_m=protocol.budget_m,
    )


def draw_episodes(
    site: Site, count: int, blind_rate: float, rng: np.random.Generator
) -> tuple[Drawn, ...]:
    """Episodes with every object equally often, in random order, and starts uniform over F."""
    things = site.home.objects
    rounds = -(-count // len(things))
    chosen = [number for _ in range(rounds) for number in rng.permutation(len(things)).tolist()]
    return tuple(
        Drawn(
            things[number],
            site.standing[rng.integers(len(site.standing))],
            site.home.sample_position(things[number], rng=rng),
            bool(rng.random() < blind_rate),
        )
        for number in chosen[:count]
    )


def _least(site: Site, episodes: tuple[Drawn, ...]) -> Vector:
    return np.array([site.least_way_m(drawn.start, drawn.position) for drawn in episodes])


def stream(setting: str, seed: int, purpose: str) -> np.random.Generator:
    """A random stream that depends on nothing but its names, so that runs pair and workers agree."""
    names = [zlib.crc32(text.encode()) for text in (setting, purpose)]
    return np.random.default_rng(np.random.SeedSequence([seed, *names]))
