"""Plan a search over points whose views overlap: which points to visit, in which order."""

from dataclasses import dataclass
from functools import cache
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sightline._kernels import coverage as kernel
from sightline._kernels import coverage_search as search
from sightline._kernels.coverage_exact import best_tour
from sightline.errors import PlanError
from sightline.plan.atoms import (
    Atoms,
    Objective,
    SearchTask,
    as_task,
    build_atoms,
    least_ways,
    spl_share,
)
from sightline.plan.coverage_bound import lower_bound
from sightline.plan.problem import SearchProblem, check_effort
from sightline.records import Route

Order = NDArray[np.int64]
EXACT_AT_ONCE = 12  # so many points are solved exactly in a few milliseconds
EXACT_BYTES = 512_000_000  # most memory that a proof by sets may take
PROVEN = 1e-8  # share of the cost by which an optimal one may exceed its bound
POWERS = (1.0, 0.5, 2.0)  # of the legs, in the greedy starts


def solve_search(
    travel: ArrayLike,
    sees: sparse.sparray | ArrayLike,
    mass: ArrayLike,
    *,
    reach: ArrayLike | None = None,
    objective: Objective = "distance",
    escape: float | None = None,
    look_cost: float = 0.0,
    detection_rate: float = 1.0,
    max_stops: int | None = None,
    time_limit_s: float = 1.0,
    prove: bool = False,
    effort: float = 1.0,
    rng: np.random.Generator,
) -> Route:
    """Choose points and an order in which to look from them for an object that may lie in any cell.

    Row 0 of ``travel`` (n, n) is the start, the other rows are candidate points, each visited at most
    once. ``sees`` (n, cells) says which row sees which cell; what the start sees is looked at before
    anything else, for nothing. ``mass`` (cells,) is the chance that the object lies in each cell; what
    it lacks to 1 is the chance that it is nowhere and never found.

    One look is taken at each stop; it costs ``look_cost``, in the units of ``travel``, on arrival, and
    notices an object in view with probability ``detection_rate``, independently of the looks from
    other points. There is exactly one look per point: without that rule, standing still and looking
    again would make misses free. ``reach`` (n, cells) is the way from a point to the object that it sees.

    With the objective "distance", ``Route.cost`` is the exact expected cost until the object is found:
    legs, looks and reach; if the tour ends without it, the whole tour and ``escape`` (by default twice
    the largest finite entry of ``travel``). The best tour may be empty. With "spl" it is 1 minus the
    exact expected SPL, the sum over finds of l / max(way to the find, l), with l the least way on
    which the object can be found at all; looks do not count.

    ``prove`` adds a bound on the expected distance: exact (``Route.optimal``) up to about 20 points,
    otherwise by a relaxation. Points to and from which there is no finite way are
    named in ``Route.unreachable``. ``effort`` scales how long the search goes on without a gain before
    it stops by itself, without a clock. Equal generators give equal routes unless the time limit cuts in;
    from it the first call of a process excepts what loading its compiled loops takes.
    """
    _compile(prove)
    started = perf_counter()
    if not time_limit_s > 0:
        raise PlanError(f"time_limit_s must be above 0, not {time_limit_s}.")
    task = as_task(
        travel, sees, mass, reach=reach, objective=objective, escape=escape, look_cost=look_cost,
        detection_rate=detection_rate, max_stops=max_stops,
    )  # fmt: skip
    check_effort(effort)
    atoms = build_atoms(task)
    points, distance = len(atoms.rows) - 1, objective == "distance"
    exact = distance and (points <= EXACT_AT_ONCE or (prove and _fits(atoms)))
    relaxed = distance and prove and not exact
    order = np.empty(0, dtype=np.int64)
    if points > EXACT_AT_ONCE or not exact:
        order = _search(atoms, started + time_limit_s * (0.35 if relaxed else 1.0), effort, rng)
    if exact:
        order = _solve_exactly(atoms, order)
    order = _trimmed(task, atoms.rows[order])
    cost, bound = _cost(task, order), None
    if exact:
        bound = cost
    elif relaxed:
        bound = min(_relaxed_bound(atoms, order, 0.6 * time_limit_s), cost)
    optimal = bound is not None and bound >= cost * (1 - PROVEN)
    seconds = perf_counter() - started
    return Route(order, cost, bound, optimal, seconds, atoms.unreachable)


@cache
def _compile(prove: bool) -> None:
    """Compile the loops, or load them: a time limit is about searching."""
    views = sparse.csr_array(np.eye(4, dtype=bool))
    atoms = build_atoms(as_task(1.0 - np.eye(4), views, np.full(4, 0.25)))
    order = _search(atoms, inf, 1.0, np.random.default_rng(0))
    _solve_exactly(atoms, order)
    if prove:
        _relaxed_bound(atoms, order, inf)


@dataclass(frozen=True)
class Coverage:
    """Plans with ``solve_search``; the problem brings look cost and detection rate."""

    objective: Objective = "distance"
    escape: float | None = None
    max_stops: int | None = None
    time_limit_s: float = 1.0
    prove: bool = False
    effort: float = 1.0

    def __call__(self, problem: SearchProblem, *, rng: np.random.Generator) -> Route:
        """Plan a route from row 0."""
        if problem.sees is None or problem.mass is None:
            missing = "sees" if problem.sees is None else "mass"
            raise PlanError(
                f"Coverage needs the problem's sees and mass, but {missing} is None; planners that "
                "look at points one by one do without."
            )
        return solve_search(
            problem.travel,
            problem.sees,
            problem.mass,
            objective=self.objective,
            escape=self.escape,
            look_cost=problem.look_cost,
            detection_rate=problem.detection_rate,
            max_stops=self.max_stops,
            time_limit_s=self.time_limit_s,
            prove=self.prove,
            effort=self.effort,
            rng=rng,
        )


def expected_cost(
    travel: ArrayLike,
    sees: sparse.sparray | ArrayLike,
    mass: ArrayLike,
    order: ArrayLike,
    *,
    reach: ArrayLike | None = None,
    escape: float | None = None,
    look_cost: float = 0.0,
    detection_rate: float = 1.0,
) -> float:
    """Exact expected cost of finding the object when visiting ``order``; see ``solve_search``."""
    task = as_task(
        travel, sees, mass, reach=reach, escape=escape, look_cost=look_cost,
        detection_rate=detection_rate,
    )  # fmt: skip
    return _cost(task, _as_order(order, len(task.travel)))


def expected_spl(
    travel: ArrayLike,
    sees: sparse.sparray | ArrayLike,
    mass: ArrayLike,
    order: ArrayLike,
    *,
    reach: ArrayLike | None = None,
    detection_rate: float = 1.0,
) -> float:
    """Exact expected SPL of a search that visits ``order``; see ``solve_search``."""
    task = as_task(travel, sees, mass, reach=reach, objective="spl", detection_rate=detection_rate)
    return 1.0 - _cost(task, _as_order(order, len(task.travel)))


def _as_order(order: ArrayLike, rows: int) -> Order:
    """Check an order of points: each at most once, the start not at all."""
    route = np.array(order, dtype=np.int64).reshape(-1)
    bad = np.flatnonzero((route < 1) | (route >= rows))
    if len(bad):
        raise PlanError(f"order must hold rows 1 to {rows - 1}, not {route[bad[0]]}.")
    if len(np.unique(route)) < len(route):
        raise PlanError("order must hold no row twice.")
    return route


def _cost(task: SearchTask, order: Order) -> float:
    """What ``Route.cost`` is, looked at stop by stop and cell by cell."""
    spl, rate = task.objective == "spl", task.detection_rate
    least = least_ways(task) if spl else task.mass
    legs, first = task.legs, task.sees.indptr
    left, rest, arrival, before = task.mass.copy(), 1.0, 0.0, 0
    cost = 0.0
    for row in (0, *order.tolist()):
        arrival += legs[before, row]
        before = row
        cells = task.sees.indices[first[row] : first[row + 1]]
        found = rate * left[cells]
        left[cells] -= found
        rest -= found.sum()
        way = np.full(len(cells), arrival)
        if task.reach is not None:
            way += task.reach[row, cells]
        cost += float(found @ (spl_share(least[cells], way) if spl else way))
    return 1.0 - cost if spl else float(cost + max(rest, 0.0) * (arrival + task.escape))


def _trimmed(task: SearchTask, order: Order) -> Order:
    """The order without stops at the end that gain nothing."""
    cost = _cost(task, order)
    while len(order):
        shorter = _cost(task, order[:-1])
        if shorter > cost + 1e-12 * abs(cost):
            break
        order, cost = order[:-1], shorter
    return order


def _fits(atoms: Atoms) -> bool:
    """Whether a proof by sets fits into memory."""
    n = len(atoms.rows) - 1
    tables = 2 * n if atoms.world.kind == kernel.DISTANCE_AND_REACH else n
    return n < 40 and 8 * (tables + 1) * 2**n <= EXACT_BYTES


def _solve_exactly(atoms: Atoms, order: Order) -> Order:
    """The best tour, by sets; a good one given speeds it up."""
    world = atoms.world
    tour = _new_tour(world)
    tour.order[1 : len(order) + 1] = order
    above = kernel.walk(world, tour, len(order), world.escape) * (1 + 1e-9) + 1e-300
    best, _ = best_tour(
        world.legs, world.first, world.atom, world.extra, world.weight, world.rest, world.rate,
        world.escape, world.limit, world.kind == kernel.DISTANCE_AND_REACH, above,
    )  # fmt: skip
    return np.asarray(best)


def _relaxed_bound(atoms: Atoms, order: Order, seconds: float) -> float:
    """A bound for what is too large for sets, with the prices of atoms taken from a good tour."""
    world = atoms.world
    tour, size = _new_tour(world), len(order)
    tour.order[1 : size + 1] = np.searchsorted(atoms.rows, order)
    sure = world._replace(rate=1.0)
    cost = kernel.walk(sure, tour, size, world.escape)
    arrival = np.append(tour.track[kernel.DRIVEN, : size + 1], 0.0)
    arrival[-1] = arrival[size] + world.escape
    return lower_bound(atoms, cost, arrival[tour.seen], seconds=seconds)


def _search(atoms: Atoms, deadline: float, effort: float, rng: np.random.Generator) -> Order:
    """Greedy starts, then ruin and refill until nothing has been gained for long, or time is up."""
    world = atoms.world
    tour, memory = _new_tour(world), _new_memory(world, rng)
    if not len(world.useful) or not world.limit:
        return np.empty(0, dtype=np.int64)
    for power in POWERS:
        size = search.ratio_greedy(world, tour, power)
        search.settle(world, tour, memory, size)
        if perf_counter() > deadline:
            break
    patience = int(effort * 80 * min(len(world.useful), 250)) + 200
    period = patience // 16
    iterations, pace = 1, 0.0
    now = perf_counter()
    while now < deadline and memory.done[1] < patience:
        search.improve(world, tour, memory, iterations, period)
        before, now = now, perf_counter()
        pace = max(0.7 * pace, (now - before) / iterations)
        iterations = int(min(max(0.5 * (deadline - now) / pace, 1), period, 2 * iterations))
    best: Order = memory.order[kernel.BEST, 1 : memory.size[kernel.BEST] + 1].copy()
    return best


def _new_tour(world: kernel.World) -> kernel.Tour:
    """Room for a tour."""
    points, entries, atoms = len(world.legs) + 1, len(world.atom), len(world.weight)
    listed = entries if world.rate < 1 else 0
    return kernel.Tour(
        order=np.zeros(points, np.int64),
        used=np.zeros(points, np.bool_),
        track=np.zeros((5, points)),
        profile=np.zeros((4, points)),
        seen=np.zeros(atoms, np.int64),
        paid=np.zeros(atoms),
        visits=np.zeros(atoms + 1, np.int64),
        stop=np.zeros(listed, np.int64),
        share=np.zeros(listed),
        cost=np.zeros(listed),
    )


def _new_memory(world: kernel.World, rng: np.random.Generator) -> kernel.Memory:
    """Room for what the search remembers; its best tour so far is the empty one."""
    points = len(world.legs) + 1
    nothing = 0.0 if world.kind == kernel.SPL else world.rest * world.escape
    return kernel.Memory(
        order=np.zeros((2, points), np.int64),
        size=np.zeros(2, np.int64),
        cost=np.full(2, nothing),
        luck=rng.integers(1, 2**63, size=1, dtype=np.uint64),
        pool=np.zeros(points + 32, np.int64),
        listed=np.zeros(points, np.bool_),
        spare=np.zeros(points, np.int64),
        done=np.zeros(2, np.int64),
    )
