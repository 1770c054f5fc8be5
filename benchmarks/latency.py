"""Orders of least weighted latency: how soon they are best, how soon they are proven, and by whom."""

import csv
import statistics
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from ortools.constraint_solver import pywrapcp, routing_enums_pb2

import sightline as sl
from benchmarks.race import in_ms, table
from sightline._kernels import latency as kernel
from sightline.plan import wmlp
from sightline.plan.cpsat import CpSat
from sightline.plan.problem import SearchProblem
from sightline.plan.tsplib import read_travel
from sightline.plan.wmlp import solve_wmlp
from sightline.records import Route

SCENARIOS = ("kitchen1", "kitchen2", "aws_small_house")
LITERATURE = Path(__file__).parent / "data" / "tsplib"
REACHED = 1e-9  # a cost is the best if it is at most this share above it
CLOCK_S = 2e-4  # time between looks at the clock when the way to the best is timed
METRE, WEIGHT = 10_000, 1_000  # whole numbers of the routing peer per unit


class Instance(NamedTuple):
    """Arguments of ``solve_wmlp``."""

    travel: np.ndarray
    weights: np.ndarray
    return_weight: float = 0.0


@cache
def free_space(name: str) -> sl.FreeSpace:
    return sl.Scenario.load(name).map.free_space(0.25)


@cache
def instance(points: int, seed: int) -> Instance:
    """Random cells of a home's free space, the start among them, and random weights."""
    rng = np.random.default_rng([points, seed])
    free = free_space(SCENARIOS[seed % len(SCENARIOS)])
    cells = free.points()
    chosen = cells[rng.choice(len(cells), points + 1, replace=len(cells) <= points)]
    return Instance(free.distances(chosen), rng.uniform(0.01, 0.99, points + 1))


@cache
def published() -> dict[str, tuple[Instance, float]]:
    """Circuits with unit weights from TSPLIB and the best values known."""
    out = {}
    with (LITERATURE / "published.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            travel = read_travel(LITERATURE / f"{row['instance']}.tsp")
            out[row["instance"]] = (
                Instance(travel, np.ones(len(travel)), 1.0),
                float(row["value"]),
            )
    return out


def solve(case: Instance, seed: int, **options: Any) -> Route:
    return solve_wmlp(
        case.travel,
        case.weights,
        return_weight=case.return_weight,
        rng=np.random.default_rng(seed),
        **options,
    )


def timed_to(case: Instance, target: float, seed: int, limit_s: float) -> tuple[float, float]:
    """Seconds until the search first has a cost of ``target`` (inf if never), and until it ends."""
    reached = np.inf
    search = kernel.search

    def watched(*arguments: Any) -> bool:
        nonlocal reached
        over = search(*arguments)
        level = arguments[11]
        if reached == np.inf and level[1] <= target * (1 + REACHED):
            reached = time.perf_counter() - began
        return over

    with (
        mock.patch.object(kernel, "search", watched),
        mock.patch.object(wmlp, "SLICE_S", CLOCK_S),
    ):
        began = time.perf_counter()
        route = solve(case, seed, time_limit_s=limit_s)
    return reached, route.seconds


def seconds(value: float) -> str:
    return "never" if value == np.inf else in_ms(value) if value < 1 else f"{value:.2f} s"


def small(quick: bool) -> str:
    """Fresh random instances with 25 and 50 points, each proven, then searched again."""
    rows = []
    for points, count, seeds in (
        ((25, 30, 5), (50, 10, 3)) if quick else ((25, 200, 5), (50, 100, 5))
    ):
        proofs, reached, ended = [], [], []
        for number in range(count):
            case = instance(points, number)
            proof = solve(case, 0, prove=True, time_limit_s=10)
            proofs.append(proof.seconds if proof.optimal else np.inf)
            for seed in range(1, seeds + 1):
                first, last = timed_to(case, proof.cost, seed, 10.0)
                reached.append(first)
                ended.append(last)
        rows.append(
            [
                f"{points}, {count} instances",
                seconds(statistics.median(reached)),
                seconds(float(np.quantile(reached, 0.99, method="lower"))),
                f"{np.mean(np.isfinite(reached)):.1%}",
                seconds(statistics.median(ended)),
                seconds(statistics.median(proofs)),
                seconds(max(proofs)),
                f"{np.isfinite(proofs).sum()} of {count}",
            ]
        )
    columns = ["points", "best after, median", "p99", "best at the end", "ends after"]
    return table([*columns, "proof, median", "longest", "proven in 10 s"], rows)


def large(quick: bool) -> str:
    """Gap to the best of all runs here, one of which has much more time."""
    plan = ((100, 0.3, 3), (200, 5.0, 1)) if quick else (
        (100, 0.3, 30), (200, 5.0, 5), (500, 20.0, 2), (1000, 30.0, 2),
    )  # fmt: skip
    rows = []
    for points, limit_s, count in plan:
        gaps = []
        for number in range(count):
            case = instance(points, number)
            costs = [solve(case, seed, time_limit_s=limit_s).cost for seed in range(3)]
            best = min(*costs, solve(case, 3, time_limit_s=max(10.0, 5 * limit_s)).cost)
            gaps += [cost / best - 1 for cost in costs]
        rows.append(
            [
                f"{points}, {count} instances",
                f"{limit_s:g} s",
                f"{statistics.median(gaps):.3%}",
                f"{max(gaps):.3%}",
                f"{np.mean(np.array(gaps) < REACHED):.0%}",
            ]
        )
    return table(["points", "time limit", "gap, median", "gap, worst", "best of all runs"], rows)


def certificates(quick: bool) -> str:
    """Proven gaps with 100 points."""
    rows = []
    for limit_s in (10.0,) if quick else (10.0, 60.0):
        routes = [
            solve(instance(100, number), 0, prove=True, time_limit_s=limit_s)
            for number in range(2 if quick else 6)
        ]
        gaps = [route.gap for route in routes]
        rows.append(
            [
                f"{limit_s:g} s",
                f"{statistics.median(gaps):.2%}",
                f"{max(gaps):.2%}",
                f"{max(route.seconds for route in routes):.2f} s",
            ]
        )
    return table(["100 points, limit", "proven gap, median", "worst", "longest run"], rows)


def literature(quick: bool) -> str:
    """Published values of TSPLIB circuits with unit weights."""
    rows = []
    for name, (case, value) in published().items():
        times = [timed_to(case, value, seed, 10.0)[0] for seed in range(3 if quick else 20)]
        hits = int(np.isfinite(times).sum())
        rows.append(
            [
                name,
                f"{hits} of {len(times)}",
                seconds(statistics.median(times)),
                seconds(max(times)),
            ]
        )
    return table(["TSPLIB", "value reached", "median", "longest"], rows)


def by_routing(limit_s: float) -> Callable[[Instance], float]:
    """OR-Tools routing: the weight is charged on the arrival, as a soft upper bound of zero."""

    def run(case: Instance) -> float:
        legs = np.rint(METRE * case.travel).astype(int)
        legs[:, 0] = 0  # an open path: coming back is free
        manager = pywrapcp.RoutingIndexManager(len(legs), 1, 0)
        routing = pywrapcp.RoutingModel(manager)
        transit = routing.RegisterTransitMatrix(legs.tolist())
        routing.AddDimension(transit, 0, int(legs.sum()), True, "way")
        way = routing.GetDimensionOrDie("way")
        for row in range(1, len(legs)):
            coefficient = max(0, round(WEIGHT * case.weights[row]))
            way.SetCumulVarSoftUpperBound(manager.NodeToIndex(row), 0, coefficient)
        options = pywrapcp.DefaultRoutingSearchParameters()
        options.first_solution_strategy = routing_enums_pb2.FirstSolutionStrategy.PATH_CHEAPEST_ARC
        options.local_search_metaheuristic = (
            routing_enums_pb2.LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
        )
        options.time_limit.FromMilliseconds(int(1000 * limit_s))
        found = routing.SolveWithParameters(options)
        order, at = [], found.Value(routing.NextVar(routing.Start(0)))
        while not routing.IsEnd(at):
            order.append(manager.IndexToNode(at))
            at = found.Value(routing.NextVar(at))
        return float(wmlp.route_cost(case.travel, case.weights, np.array(order)))

    return run


def by_cpsat(limit_s: float) -> Callable[[Instance], float]:
    """OR-Tools CP-SAT: circuit and cumulative distances, without a hint."""

    def run(case: Instance) -> float:
        problem = SearchProblem(case.travel, case.weights)
        return CpSat(time_limit_s=limit_s)(problem, rng=np.random.default_rng(0)).cost

    return run


def peers(quick: bool) -> str:
    """The same instances, three of each size, one thread each; gaps to Sightline's long run."""
    contenders = {
        "Sightline, to its own end": lambda case: solve(case, 0, time_limit_s=30.0).cost,
        "OR-Tools routing, guided local search, 1 s": by_routing(1.0),
    }
    if not quick:
        contenders["OR-Tools routing, guided local search, 10 s"] = by_routing(10.0)
        contenders["OR-Tools CP-SAT, 30 s"] = by_cpsat(30.0)
    rows = []
    for points in (25, 50) if quick else (25, 50, 100):
        cases = [instance(points, number) for number in range(3)]
        best = [solve(case, 1, time_limit_s=30.0, prove=points <= 50).cost for case in cases]
        for name, run in contenders.items():
            gaps, times = [], []
            for case, least in zip(cases, best, strict=True):
                began = time.perf_counter()
                gaps.append(run(case) / least - 1)
                times.append(time.perf_counter() - began)
            shown = ["none" if gap == np.inf else f"{gap:.2%}" for gap in sorted(gaps)]
            rows.append([str(points), name, ", ".join(shown), seconds(statistics.median(times))])
    return table(["points", "by", "gaps above the best", "time"], rows)
