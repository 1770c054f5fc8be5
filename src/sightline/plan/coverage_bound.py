"""A proven lower bound on the expected distance of every search, for problems too large for sets."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from sightline._kernels import coverage_bound as kernel
from sightline.plan.atoms import Atoms, least_arrivals
from sightline.plan.problem import Vector

BYTES = 256_000_000  # most memory for the table of earnings
STEPS = (50, 400, 1600)  # of time
TRIES, SECONDS = 20, 1e-8  # prices to be tried at least, and about what an arc takes for each step
AGAIN = 0.3  # length of the first steps to new prices when there are good ones already
ROUNDING = 1e-9  # share of a bound that is given up, so that rounding cannot lift it too high
PATIENCE = 8  # steps without gain before they are made shorter
SHORTEST = 1e-4  # length of the last steps, as a share of the first


def lower_bound(atoms: Atoms, cost: float, finding: Vector, *, seconds: float) -> float:
    """No tour costs less than this, the look from the start included.

    ``cost`` is that of a good tour without that look, ``finding`` (atoms,) what finding each atom costs
    on it: the prices to start with. Looks are taken to be sure and stops to be free in number, which
    only makes tours cheaper. Steps of time are made finer while there is time for it.
    """
    deadline = perf_counter() + seconds
    terms = _terms(atoms)
    best = terms.at_once
    work = len(atoms.world.legs) ** 2
    price, share = terms.weight * finding, 1.0
    for steps in STEPS:
        room = 8 * work * steps <= BYTES and TRIES * SECONDS * work * steps < seconds
        if not room or not len(finding) or best >= cost * (1 - ROUNDING):
            break
        network = _Network(terms, float(finding.max()), steps)
        value, price = _best_prices(network, cost, price, share, deadline)
        best, share = max(best, value), AGAIN
    return max(best - ROUNDING * abs(best), 0.0) + atoms.at_start


def _best_prices(
    network: "_Network", cost: float, price: Vector, share: float, deadline: float
) -> tuple[float, Vector]:
    """The best bound over prices that subgradient steps come by, and these prices."""
    weight, least = network.terms.weight, network.terms.least_price
    price = np.maximum(price, least)
    best, centre, smooth = 0.0, price, np.zeros_like(price)
    stale = 0
    now = perf_counter()
    while share > SHORTEST and best < cost * (1 - ROUNDING):
        before, now = now, perf_counter()
        if now + (now - before) > deadline:
            break
        value, taken = network.bound(price)
        stale = 0 if value > best + 1e-5 * cost else stale + 1
        if value > best:
            best, centre = value, price
        if stale >= PATIENCE:
            share, stale, price = 0.7 * share, 0, centre
            smooth = np.zeros_like(price)
            continue
        smooth = 0.7 * (1.0 - taken) + 0.3 * smooth
        length = float(((weight * smooth) ** 2).sum())
        if length == 0.0:
            break
        stride = share * max(cost - value, 1e-3 * cost) / length
        price = np.maximum(price + stride * weight**2 * smooth, least)
    return best, centre


@dataclass(frozen=True, eq=False)
class _Terms:
    """What finding each atom (atoms,) costs at least, and what not finding costs."""

    legs: NDArray[np.float64]  # (rows, rows) with looks
    first: NDArray[np.int64]
    atom: NDArray[np.int32]
    weight: Vector  # mass
    begin: Vector  # first arrival at a point that sees it
    after: Vector  # from such a point to the object, or what giving up there costs
    escape: float
    other: float  # mass that no point sees

    @property
    def least_price(self) -> Vector:
        """Prices (atoms,) below which nothing is earned."""
        return self.weight * np.minimum(self.begin + self.after, self.escape)

    @property
    def at_once(self) -> float:
        """Cost if each atom were found by the least way, or given up at the start."""
        return float(self.least_price.sum()) + self.other * self.escape


def _terms(atoms: Atoms) -> _Terms:
    world = atoms.world
    viewers = np.repeat(np.arange(len(world.legs)), np.diff(world.first))
    begin = np.full(len(world.weight), np.inf)
    np.minimum.at(begin, world.atom, least_arrivals(world.legs)[viewers])
    after = np.full(len(world.weight), world.escape)
    np.minimum.at(after, world.atom, world.extra)
    other = max(world.rest - float(world.weight.sum()), 0.0)
    return _Terms(
        world.legs, world.first, world.atom, world.weight, begin, after, world.escape, other
    )


class _Network:
    """The problem in steps of time, and room to solve it for one set of prices after another."""

    def __init__(self, terms: _Terms, horizon: float, steps: int) -> None:
        self.terms = terms
        rows = len(terms.legs)
        self.step = 1.1 * horizon / steps or 1.0
        self.delay = np.minimum(terms.legs.T / self.step + 1e-12, steps + 1).astype(np.int64)
        np.fill_diagonal(self.delay, -1)
        self.delay[0] = -1  # nothing goes back to the start
        self.views = kernel.new_views(terms.first, terms.atom, len(terms.weight))
        self.earn = np.zeros((steps + 1, rows, rows))
        self.value = np.zeros((steps + 1 + max(int(self.delay.max()), 1), rows))
        self.before = np.zeros((steps + 1, rows), np.int64)
        self.times = self.step * np.arange(steps + 2)

    def bound(self, price: Vector) -> tuple[float, Vector]:
        """The bound for these prices, and how often the best walk takes each atom."""
        t = self.terms
        rows, pad = len(t.legs), len(self.value) - len(self.earn)
        costs = t.weight, t.begin, t.after, self.step
        kernel.fill_earnings(*self.views, price, *costs, rows, self.earn)
        ends = kernel.end_earnings(price, t.weight, self.times[:-1] + t.escape)
        ends -= t.other * (self.times[:-1] + t.escape)
        late = np.minimum(t.after, t.escape) + self.times[-1]
        beyond = np.maximum(price - t.weight * late, 0.0).sum()
        beyond -= t.other * (self.times[-1] + t.escape)
        most, last, goes_on = kernel.best_walk(
            self.delay, self.earn, ends, beyond, self.value, self.before
        )
        end = late if goes_on else self.times[last // rows - pad] + t.escape
        taken = (price > t.weight * end).astype(np.float64)
        kernel.count_takings(*self.views, price, *costs, self.before, pad, rows, last, taken)
        return float(price.sum()) - most, taken
