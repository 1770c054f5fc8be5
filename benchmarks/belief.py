"""Where things lie: how much of an all-knowing planner's search a learned belief is worth.

Settings were chosen on seeds from 1000 on; the tables use seeds from 0 on.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import sightline as sl
from benchmarks.race import in_ms, table
from sightline.learn.baselines import Frequency
from sightline.learn.places import PlaceBelief
from sightline.records import Episode, Query
from sightline.worlds.grid import carry_out

EPISODES = (5, 25, 50, 100, 200)
POINTS = {"kitchen1": 25, "kitchen2": 50, "aws_small_house": 25, "iai_apartment": 25, "wrs2020": 25}
NEAR, FAR = sl.Sensor(range_m=1.0, kind="disc"), sl.Sensor(range_m=2.5, kind="disc")
BINS = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 1.0)
ONE_EXPERT = {"concentrations": (2.0,), "poolings": (5.0,), "half_lives": (np.inf,)}
ABLATIONS: dict[str, dict[str, Any]] = {
    "everything": {},
    "without failed searches": {"learn_failures": False},
    "without concentrations, poolings and half-lives to choose from": ONE_EXPERT,
    "without places": {"use_places": False},
}
THINGS = ("bottle", "can", "cup", "bowl", "chips-bag")
# no clock decides, and all are planned for with the same effort
PLAN = sl.Coverage(objective="spl", time_limit_s=60.0, effort=0.1)
STARTS = 4
RESOLUTION_M = 0.1


class Field(NamedTuple):
    """One home with its vantage points, met with one sensor in training and one in evaluation."""

    train: sl.Site
    judge: sl.Site
    points: np.ndarray
    between: np.ndarray

    def travel(self, start: np.ndarray) -> np.ndarray:
        out = np.zeros((len(self.points) + 1, len(self.points) + 1))
        out[1:, 1:] = self.between
        out[0, 1:] = out[1:, 0] = self.train.free.distances(start[None], self.points)[0]
        return out


def field(home: sl.Scenario, points: int, train: sl.Sensor, judge: sl.Sensor, seed: int) -> Field:
    """Vantage points by farthest-point sampling, as in the paper."""
    site = sl.Site.of(home, sensor=train)
    at = sl.farthest_points(site.free, points, rng=np.random.default_rng([seed, 1]))
    return Field(site, sl.Site.of(home, sensor=judge), at, site.free.distances(at))


def random_kitchen(seed: int, kind: str) -> sl.Scenario:
    """10 x 8 m, two half walls, ten tables, five objects.

    "spread": each object's tables from a Dirichlet distribution of 0.4; "peaky": one table for each
    object; "null": every table alike.
    """
    rng = np.random.default_rng([seed, 2])
    rows, columns = 80, 100
    walls = np.zeros((rows, columns), dtype=bool)
    walls[[0, -1]] = walls[:, [0, -1]] = True
    walls[rows // 2, : columns // 3] = walls[: rows // 3, 2 * columns // 3] = True
    taken, surfaces = walls.copy(), {}
    while len(surfaces) < 10:
        long = rng.random() < 0.4
        size = rng.integers((14, 6), (26, 8)) if long else rng.integers(8, 14, size=2)
        width, depth = size if rng.random() < 0.5 else size[::-1]
        x, y = rng.integers(1, columns - width), rng.integers(1, rows - depth)
        if rng.random() < 0.5:
            x, y = ((1, y), (columns - 1 - width, y), (x, 1), (x, rows - 1 - depth))[
                rng.integers(4)
            ]
        # 0.8 m to the next table or inner wall; the outer walls may be touched
        around = taken[1:-1, 1:-1][max(y - 9, 0) : y + depth + 7, max(x - 9, 0) : x + width + 7]
        if around.any():
            continue
        taken[y : y + depth, x : x + width] = True
        low, high = np.array([x, y]) * RESOLUTION_M, np.array([x + width, y + depth]) * RESOLUTION_M
        corners = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
        name = f"table {len(surfaces)}"
        surfaces[name] = sl.Surface(name, "DiningTable", corners, 0.75)
    rows_of = _distribution(kind, list(surfaces), rng)
    places = sl.Places(surfaces=surfaces, distributions={kind: rows_of})
    on = sl.OccupancyMap.from_array(walls, RESOLUTION_M)
    return sl.Scenario(f"kitchen {seed}", on, places, kind)


def _distribution(
    kind: str, surfaces: list[str], rng: np.random.Generator
) -> dict[str, dict[str, float]]:
    count = len(surfaces)
    if kind == "spread":
        rows = rng.dirichlet(np.full(count, 0.4), size=len(THINGS))
    elif kind == "peaky":
        rows = np.eye(count)[rng.permutation(count)[: len(THINGS)]]
    else:
        rows = np.full((len(THINGS), count), 1 / count)
    return {
        thing: dict(zip(surfaces, row.tolist(), strict=True))
        for thing, row in zip(THINGS, rows, strict=True)
    }


def blind_search(at: Field, thing: str, *, rng: np.random.Generator) -> Episode:
    """A search over all points in a random order, whatever is believed."""
    start = rng.choice(at.train.standing)
    order = rng.permutation(np.arange(1, len(at.points) + 1))
    position = at.train.home.sample_position(thing, rng=rng)
    query, travel = Query(thing, (float(start[0]), float(start[1]))), at.travel(start)
    return carry_out(at.train, query, sl.Route(order, 0.0), at.points, travel, position)


def planned_search(at: Field, learner: Any, thing: str, *, rng: np.random.Generator) -> Episode:
    """A search as the learner's belief would have it."""
    start = rng.choice(at.train.standing)
    position = at.train.home.sample_position(thing, rng=rng)
    query, travel = Query(thing, (float(start[0]), float(start[1]))), at.travel(start)
    belief = learner.predict(query, at.points)
    sees = at.train.sees(np.vstack([start, at.points]))
    problem = sl.SearchProblem(travel, np.append(0.0, belief.weight), sees, belief.mass)
    route = PLAN(problem, rng=np.random.default_rng(0))
    return carry_out(at.train, query, route, at.points, travel, position, belief)


class Judge:
    """Exact expected SPL of routes planned with a learner's mass, from the same starts for all."""

    def __init__(self, at: Field, seed: int) -> None:
        rng = np.random.default_rng([seed, 3])
        starts = rng.choice(at.judge.standing, STARTS)
        self.at = at
        self.travel = [at.travel(start) for start in starts]
        self.sees = [at.judge.sees(np.vstack([start, at.points])) for start in starts]
        self.truth = {thing: at.judge.home.mass(thing, at.judge.cells) for thing in THINGS}

    @cached_property
    def best(self) -> float:
        """The mean of who knows the distribution."""
        return self.spl(self.truth)

    def spl(self, masses: dict[str, np.ndarray]) -> float:
        """Mean over starts and objects."""
        out = []
        for travel, sees in zip(self.travel, self.sees, strict=True):
            for thing, mass in masses.items():
                problem = sl.SearchProblem(travel, np.zeros(len(travel)), sees, mass)
                order = PLAN(problem, rng=np.random.default_rng(0)).order
                out.append(sl.expected_spl(travel, sees, self.truth[thing], order))
        return statistics.mean(out)

    def share(self, learner: Any) -> float:
        """Of what the planner reaches that knows the distribution."""
        return self.spl(self.masses(learner)) / self.best

    def lost(self, learner: Any) -> float:
        """Nats lost per find against the truth."""
        nats = []
        for thing, mass in self.masses(learner).items():
            true = self.truth[thing]
            there = true > 0
            nats.append(float(true[there] @ np.log(true[there] / np.maximum(mass[there], 1e-12))))
        return statistics.mean(nats)

    def masses(self, learner: Any) -> dict[str, np.ndarray]:
        learner.meet(self.at.judge)
        out = {t: learner.predict(Query(t, (0.0, 0.0)), self.at.points).mass for t in THINGS}
        learner.meet(self.at.train)
        return out


def learn(
    at: Field, learner: Any, seed: int, *, planned: bool = False, until: int = EPISODES[-1]
) -> Iterator[int]:
    """Search and learn; gives the number of episodes so far at each of ``EPISODES``."""
    rng = np.random.default_rng([seed, 4])
    learner.meet(at.train)
    for episode in range(1, until + 1):
        thing = THINGS[rng.integers(len(THINGS))]
        search = (
            planned_search(at, learner, thing, rng=rng)
            if planned
            else blind_search(at, thing, rng=rng)
        )
        learner.update(search)
        if episode in EPISODES:
            yield episode


def shares(fields: Callable[[int], Field], seeds: int, *, planned: bool) -> list[str]:
    """The share after each of ``EPISODES`` with a 95 % interval over seeds, for a row of a table."""
    rows = []
    for seed in range(seeds):
        at = fields(seed)
        judge, learner = Judge(at, seed), PlaceBelief()
        rows.append([judge.share(learner) for _ in learn(at, learner, seed, planned=planned)])
    return [with_interval(column) for column in np.array(rows).T]


def with_interval(values: np.ndarray) -> str:
    """Mean and half a 95 % interval, from Student's t over the values."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return f"{mean:.3f}"
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{mean:.3f} ± {half:.3f}"


def kitchens(quick: bool) -> str:
    """Random kitchens, discs of 2.5 m in training and evaluation."""
    rows = []
    for kind, seeds in (("spread", 30), ("peaky", 10), ("null", 20)):
        count = 4 if quick else seeds
        found = shares(
            lambda s, k=kind: field(random_kitchen(s, k), 25, FAR, FAR, s), count, planned=False
        )
        rows.append([kind, str(count), *found])
    return table(["kitchens", "seeds", *(f"{n} episodes" for n in EPISODES)], rows)


def homes(quick: bool) -> str:
    """Shipped scenarios in line of sight, 2.5 m, 25 points."""
    return _scenarios(3 if quick else 10, sl.Sensor(), sl.Sensor(), planned=False)


def paper(quick: bool) -> str:
    """Shipped scenarios in the paper's protocol: planned searches with 1.0 m, judged with 2.5 m."""
    return _scenarios(1 if quick else 10, NEAR, FAR, planned=True)


def _scenarios(seeds: int, train: sl.Sensor, judge: sl.Sensor, *, planned: bool) -> str:
    rows = []
    for name, points in POINTS.items():
        for distribution in sl.Scenario.load(name).places.distributions:
            home = sl.Scenario.load(name, distribution=distribution)

            def fields(seed: int, home: sl.Scenario = home, points: int = points) -> Field:
                return field(home, points, train, judge, seed)

            found = shares(fields, seeds, planned=planned)
            rows.append([f"{name}, {distribution}", str(seeds), *found])
    return table(["scenario", "seeds", *(f"{n} episodes" for n in EPISODES)], rows)


def calibration(quick: bool) -> str:
    """What was said before each search, at all points, and how often it was so; over 200 episodes."""
    said: dict[str, list[np.ndarray]] = {"PlaceBelief": [], "Frequency": []}
    nats: dict[str, list[float]] = {name: [] for name in said}
    so = []
    for seed in range(3 if quick else 20):
        at = field(random_kitchen(seed, "spread"), 25, FAR, FAR, seed)
        rng = np.random.default_rng([seed, 4])
        learners = {"PlaceBelief": PlaceBelief(), "Frequency": Frequency()}
        for learner in learners.values():
            learner.meet(at.train)
        for _ in range(EPISODES[-1]):
            search = blind_search(at, THINGS[rng.integers(len(THINGS))], rng=rng)
            if search.position is None:  # in a cell that no point sees
                continue
            cell = np.hypot(*(at.train.cells - search.position).T).argmin()
            so.append(at.train.sees(at.points)[:, [cell]].toarray()[:, 0])
            for name, learner in learners.items():
                belief = learner.predict(search.query, at.points)
                said[name].append(belief.mean)
                nats[name].append(-np.log(max(belief.mass[cell], 1e-12)))
                learner.update(search)
    titles = [f"{name}: {what}" for name in said for what in ("said", "happened", "cases")]
    chances = [np.concatenate(values) for values in said.values()]
    rows = [*_reliability(chances, np.concatenate(so)), *_scores(chances, np.concatenate(so))]
    log = [f"{statistics.mean(values):.3f}" for values in nats.values()]
    rows.append(["log score of the cell, nats", log[0], "", "", log[1], "", ""])
    return table(["chance", *titles], rows)


def _reliability(chances: list[np.ndarray], happened: np.ndarray) -> Iterator[list[str]]:
    for low, high in pairwise(BINS):
        row = [f"{low:g} to {high:g}"]
        for said in chances:
            inside = (said >= low) & ((said < high) | (high == 1.0))
            row += (
                [f"{said[inside].mean():.3f}", f"{happened[inside].mean():.3f}", str(inside.sum())]
                if inside.any()
                else ["", "", "0"]
            )
        yield row


def _scores(chances: list[np.ndarray], happened: np.ndarray) -> Iterator[list[str]]:
    for name, score in (("Brier score", _brier), ("log score of points, nats", _log_score)):
        ours, theirs = (f"{score(said, happened):.4f}" for said in chances)
        yield [name, ours, "", "", theirs, "", ""]


def _brier(said: np.ndarray, happened: np.ndarray) -> float:
    return float(((said - happened) ** 2).mean())


def _log_score(said: np.ndarray, happened: np.ndarray) -> float:
    sure = np.clip(said, 1e-6, 1 - 1e-6)
    return float(-np.where(happened, np.log(sure), np.log(1 - sure)).mean())


def ablations(quick: bool) -> str:
    """Nats lost per find against the truth, in blind searches, with parts left out."""
    rows = []
    cases: dict[str, Callable[[int], Field]] = {
        "random kitchens, spread": lambda s: field(random_kitchen(s, "spread"), 25, FAR, FAR, s),
        "kitchen1, spread, paper": lambda s: field(sl.Scenario.load("kitchen1"), 25, NEAR, FAR, s),
        "aws_small_house, paper": lambda s: field(
            sl.Scenario.load("aws_small_house"), 25, NEAR, FAR, s
        ),
    }
    seeds = 2 if quick else 10
    for case, fields in cases.items():
        for name, options in ABLATIONS.items():
            lost = []
            for seed in range(seeds):
                at = fields(seed)
                judge, learner = Judge(at, seed), PlaceBelief(**options)
                lost.append([judge.lost(learner) for _ in learn(at, learner, seed)])
            rows.append([case, name, *(with_interval(column) for column in np.array(lost).T)])
    return table(["where", "learner", *(f"{n} episodes" for n in EPISODES)], rows)


def speed(quick: bool) -> str:
    """One prediction and one update after 1,000 finds in kitchen2, with and without failed searches."""
    rows = []
    at = field(sl.Scenario.load("kitchen2"), 50, NEAR, FAR, 0)
    for failures in (False, True):
        rng = np.random.default_rng(0)
        learner = PlaceBelief()
        learner.meet(at.train)
        home, finds = at.train.home, 0
        while finds < 1000:
            thing = THINGS[rng.integers(len(THINGS))]
            taught = Episode.taught(thing, home.sample_position(thing, rng=rng))
            search = blind_search(at, thing, rng=rng) if failures and finds % 5 == 0 else taught
            learner.update(search)
            finds += search.position is not None
        predict, update = [], []
        for _ in range(20 if quick else 100):
            search = blind_search(at, THINGS[rng.integers(len(THINGS))], rng=rng)
            if not failures and search.position is None:
                search = Episode.taught(
                    search.query.thing, home.sample_position(search.query.thing, rng=rng)
                )
            begun = time.perf_counter()
            learner.predict(search.query, at.points)
            between = time.perf_counter()
            learner.update(search)
            predict.append(between - begun)
            update.append(time.perf_counter() - between)
        what = "64 failed searches kept per object" if failures else "finds only"
        rows.append([what, in_ms(statistics.median(predict)), in_ms(statistics.median(update))])
    cells = f"{len(at.train.cells):,} cells, 1,000 finds"
    return table([cells, "predict 50 points", "update"], rows)
