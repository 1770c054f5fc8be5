"""Proof that an order of least weighted latency is optimal, or how far it may be from that.

Three steps, each with the prices and the dead nodes of the one before (see
``_kernels/latency_bound.py``): subgradient steps on relaxed routes without short cycles, the same on
ng-routes, and a dynamic programme over sets of visited points with the ng-routes as bounds on the rest.
The steps are repeated with finer units, longer memories and more room until the proof is done or the
time is up. A programme that is run for a limit below the known cost and finds nothing proves
that limit as a bound.
"""

import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sightline._kernels import latency_bound, latency_exact
from sightline.plan.problem import Matrix, Vector, route_cost

SAME = 1e-9  # two costs closer than this share of them are the same
ROUNDING = 1e-11  # share of the cost by which sums may be off
MOST_POINTS = 2 * latency_exact.WORD  # the dynamic programme has two words of bits for a set
MOST_ENTRIES = 40_000_000  # numbers that one table of ng-routes may have
SCALES = 15  # tried units, for those with the tightest weights
STATES_PER_SLICE = 4096
OPERATIONS_PER_S = 3e8  # a cautious guess, to choose units that many points can afford

Order = NDArray[np.int64]


@dataclass(frozen=True)
class Effort:
    """How hard one attempt tries: the mean of the units of a point, steps per point, and so on."""

    units: float
    steps: float  # on routes without short cycles, per point
    ng_steps: float  # per point
    memory: int  # points that a point can remember
    states: int  # room of the dynamic programme


EFFORTS = (
    Effort(units=7, steps=2.0, ng_steps=0.1, memory=5, states=30_000),
    Effort(units=7, steps=0.0, ng_steps=0.35, memory=5, states=100_000),
    Effort(units=14, steps=0.0, ng_steps=0.06, memory=7, states=1_000_000),
    Effort(units=20, steps=0.0, ng_steps=0.1, memory=8, states=4_000_000),
    Effort(units=30, steps=0.0, ng_steps=0.1, memory=9, states=8_000_000),
)
PATIENT_FROM = 4_000_000  # states from which on a failed programme is run again for a lower limit


class OutOfTimeError(Exception):
    """The deadline has passed; what is proven until then stands."""


@dataclass(frozen=True, eq=False)
class Points:
    """The problem without its start: legs among the points, from the start and to the end."""

    travel: Matrix
    starts: Vector
    ends: Vector
    weights: Vector
    rest: float  # the weight of the return, served last
    full: Matrix  # with the start, as given

    @classmethod
    def of(cls, travel: Matrix, weights: Vector, return_weight: float) -> "Points":
        """Split the costs of rows of which row 0 is the start."""
        return cls(
            travel=np.ascontiguousarray(travel[1:, 1:]),
            starts=travel[0, 1:].copy(),
            ends=return_weight * travel[1:, 0] if return_weight else np.zeros(len(travel) - 1),
            weights=weights[1:].copy(),
            rest=return_weight,
            full=travel,
        )

    def cost(self, order: Order) -> float:
        """The cost of an order of rows 1.. of the full matrix."""
        legs = np.concatenate([[0], order, [0]])
        back = self.rest * self.full[legs[:-1], legs[1:]].sum() if self.rest else 0.0
        return float(route_cost(self.full, np.append(0.0, self.weights), order) + back)


def prove(
    travel: Matrix, weights: Vector, return_weight: float, order: Order, *, deadline: float
) -> tuple[Order, float]:
    """The best order known at the deadline (perf_counter), and a bound on the cost of all orders.

    Row 0 of the finite ``travel`` is the start; ``order`` is a good order to begin with.
    """
    points = Points.of(travel, weights, return_weight)
    proof = Proof(points, order, deadline)
    if len(order) > 1 and proof.cost > 0:
        with suppress(OutOfTimeError):
            proof.run()
    else:
        proof.bound = proof.cost
    return proof.order, proof.bound


@cache
def compile_loops() -> None:
    """Compile the loops, or load them: a time limit is about proving."""
    spots = np.random.default_rng(0).random((7, 2))
    travel = np.hypot(*(spots[:, None] - spots).T)
    proof = Proof(Points.of(travel, np.ones(7), 0.0), np.arange(1, 7), np.inf)
    network = Network(proof, EFFORTS[0])
    network.descend(1, proof.cost)
    network.ng_descend(1, proof.cost)
    network.search(proof.cost, 1000)


class Proof:
    """The best order and bound so far, and the prices that gave the bound."""

    def __init__(self, points: Points, order: Order, deadline: float) -> None:
        self.points = points
        self.deadline = deadline
        self.order, self.cost = order, points.cost(order)
        self.bound = 0.0
        arrivals = np.cumsum(points.full[np.append([0], order[:-1]), order])
        self.price = np.empty(len(order))
        self.price[order - 1] = points.weights[order - 1] * arrivals

    def run(self) -> None:
        """Try harder and harder, then raise the bound step by step with the last network."""
        for effort in EFFORTS:
            network = Network(self, effort)
            if self._attempt(network, effort):
                return
        share = 0.5
        while share > 1e-3 and len(self.points.weights) <= MOST_POINTS:
            limit = self.bound + share * (self.cost - self.bound)
            if not self._programme(network, limit, effort.states):
                share /= 2

    def check_time(self) -> None:
        """Stop the proof at its deadline."""
        if time.perf_counter() > self.deadline:
            raise OutOfTimeError

    def _attempt(self, network: "Network", effort: Effort) -> bool:
        """One round of the three steps; returns whether the proof is done."""
        limit = self.cost * (1 - SAME / 2)
        points = len(self.points.weights)
        network.descend(int(effort.steps * points), limit)
        network.ng_descend(max(1, int(effort.ng_steps * points)), limit)
        if self.bound >= limit:
            return True
        if points > MOST_POINTS:
            return False
        if self._programme(network, limit, effort.states):
            return True
        if effort.states >= PATIENT_FROM:
            self._programme(network, (self.cost + self.bound) / 2, effort.states)
        return False

    def _programme(self, network: "Network", limit: float, states: int) -> bool:
        """Look for an order below the limit; returns whether there was room and time to finish."""
        found = network.search(limit, states)
        if found is None:
            return False
        self.bound = max(self.bound, limit)
        if len(found):
            self.order, self.cost = found, self.points.cost(found)
            self.bound = self.cost
        return True


class Network:
    """The relaxed network for one choice of units, which of its nodes live, and tables over it."""

    def __init__(self, proof: Proof, effort: Effort) -> None:
        self._proof = proof
        self._points = points = proof.points
        self._units, self._least = _choose_units(points, effort.units)
        shape = (len(self._least), len(self._units))
        self._alive = np.ones(shape, np.bool_)
        self._alive[np.isinf(self._least)] = False
        self._so_far, self._to_go = np.empty((*shape, 2)), np.empty((*shape, 2))
        self._before, self._after = np.empty(shape, np.int64), np.empty(shape, np.int64)
        self._visits = np.zeros(shape[1], np.int64)
        self._near = _near(points.travel, effort.memory)
        self._maps = latency_bound.memory_maps(self._near)
        self._result = np.zeros(3)
        self._row = np.empty(shape, np.int64)
        self._ng = np.empty((0, 1))

    def _backward(self, price: Vector) -> tuple[float, int]:
        self._proof.check_time()
        p = self._points
        value, first = latency_bound.backward(
            p.travel, p.starts, p.ends, self._units, self._least, price, self._alive,
            self._to_go, self._after,
        )  # fmt: skip
        return float(value), int(first)

    def _forward(self, price: Vector) -> None:
        self._proof.check_time()
        p = self._points
        latency_bound.forward(
            p.travel, p.starts, self._units, self._least, price, self._alive, self._so_far,
            self._before,
        )  # fmt: skip

    def _room(self, limit: float, price: Vector) -> float:
        return limit - float(price.sum()) + ROUNDING * self._proof.cost

    def descend(self, steps: int, limit: float) -> None:
        """Subgradient steps on routes without short cycles; nodes die on the way."""
        ascent = Ascent(self._proof, pace=0.5, patience=8)
        p = self._points
        for step in range(steps):
            value, first = self._backward(ascent.price)
            if step % 10 == 9 or step == steps - 1:
                self._forward(ascent.price)
                room = self._room(limit, ascent.price)
                latency_bound.bury(
                    self._so_far, self._before, self._to_go, self._after, self._alive, room
                )
            if value == np.inf:
                self._proof.bound = max(self._proof.bound, limit)
                return
            latency_bound.count_visits(
                p.travel, self._units, self._least, ascent.price, self._to_go, self._after, first,
                self._visits,
            )  # fmt: skip
            if not ascent.step(value, self._visits, limit):
                break

    def ng_descend(self, steps: int, limit: float) -> None:
        """Subgradient steps on ng-routes, pruned by the limit."""
        ascent = Ascent(self._proof, pace=0.3, patience=5)
        p = self._points
        for _ in range(steps):
            value = self._ng_backward(ascent.price, limit)
            if value == np.inf:
                self._proof.bound = max(self._proof.bound, limit)
                return
            latency_bound.ng_visits(
                p.travel, self._units, self._least, ascent.price, self._maps, self._row,
                self._ng, int(self._result[1]), int(self._result[2]), self._visits,
            )  # fmt: skip
            if not ascent.step(value, self._visits, limit):
                break

    def _ng_backward(self, price: Vector, limit: float) -> float:
        """Fill the table of ng-routes; returns the cost of the cheapest, inf if above the limit."""
        self._backward(price)
        self._forward(price)
        room = self._room(limit, price)
        latency_bound.bury(self._so_far, self._before, self._to_go, self._after, self._alive, room)
        living = int(self._alive.sum())
        memories = self._maps.shape[1]
        if living * memories > MOST_ENTRIES:
            size = max(1, int(np.log2(MOST_ENTRIES / living)))
            self._near = np.ascontiguousarray(self._near[:, :size])
            self._maps = latency_bound.memory_maps(self._near)
            memories = self._maps.shape[1]
        self._row[:] = -1
        self._row[self._alive] = np.arange(living)
        if len(self._ng) < living or self._ng.shape[1] != memories:
            self._ng = np.empty((living, memories))
        p = self._points
        step = max(1, len(self._least) // 50)
        for low in range(0, len(self._least), step):
            self._proof.check_time()
            latency_bound.ng_backward(
                p.travel, p.starts, p.ends, self._units, self._least, price, self._so_far, room,
                self._maps, self._row, self._ng[:living], self._result, low, low + step,
            )  # fmt: skip
        return float(self._result[0])

    def search(self, limit: float, states: int) -> Order | None:
        """The cheapest order below the limit, empty if there is none, None if there is no room."""
        alive = self._alive.copy()
        try:
            if self._ng_backward(self._proof.price, limit) == np.inf:
                return np.empty(0, np.int64)
            latency_bound.compatible(self._ng[: int(self._alive.sum())])
            return self._programme(limit, states)
        finally:
            self._alive = alive  # what is dead below this limit may live below a higher one

    def _programme(self, limit: float, states: int) -> Order | None:
        p, price = self._points, self._proof.price
        k = len(price)
        table = States(states)
        room = self._room(limit, price)
        row = self._row[len(self._least) - 1 - self._units, np.arange(k)]
        table.start(p, np.where(row >= 0, self._ng[row, 0] - price, np.inf), room)
        for _ in range(1, k):
            table.next_layer()
            while table.first < table.layer:
                self._proof.check_time()
                last = min(table.first + STATES_PER_SLICE, table.layer)
                table.count = latency_exact.expand(
                    p.travel, p.weights, self._units, price, p.rest, self._row, self._ng,
                    self._near, room, table.lows, table.highs, table.lasts, table.costs,
                    table.parents, table.first, last, table.layer, table.count, table.slots,
                )  # fmt: skip
                if table.count == latency_exact.FULL:
                    return None
                table.first = last
            if table.count == table.layer:
                return np.empty(0, np.int64)
        return table.best(p.ends, limit)


class States:
    """The states of the dynamic programme, layer after layer, and a hash table for the newest."""

    def __init__(self, room: int) -> None:
        self.lows, self.highs = np.empty((2, room), np.uint64)
        self.lasts, self.parents = np.empty((2, room), np.int32)
        self.costs = np.empty(room)
        self.slots = np.full(2 ** int(np.ceil(np.log2(2 * room + 2))), -1, np.int32)
        self.first = self.layer = self.count = 0

    def start(self, points: Points, bounds: Vector, room: float) -> None:
        """The first layer: the points that may come first; ``bounds`` are on what follows them."""
        costs = points.starts * (points.weights.sum() + points.rest)
        alive = np.flatnonzero(costs + bounds <= room)
        self.count = len(alive)
        self.lows[: self.count] = [1 << i if i < latency_exact.WORD else 0 for i in alive.tolist()]
        self.highs[: self.count] = [
            1 << i - latency_exact.WORD if i >= latency_exact.WORD else 0 for i in alive.tolist()
        ]
        self.lasts[: self.count], self.costs[: self.count] = alive, costs[alive]
        self.parents[: self.count] = -1

    def next_layer(self) -> None:
        """What was the newest layer is next to be expanded."""
        self.layer = self.count
        self.slots[:] = -1

    def best(self, ends: Vector, limit: float) -> Order:
        """The cheapest complete order, by the rows of the full matrix; empty if above the limit."""
        costs = self.costs[self.layer : self.count] + ends[self.lasts[self.layer : self.count]]
        if not len(costs) or costs.min() > limit:
            return np.empty(0, np.int64)
        at = self.layer + int(costs.argmin())
        order = []
        while at >= 0:
            order.append(int(self.lasts[at]) + 1)
            at = int(self.parents[at])
        return np.array(order[::-1])


class Ascent:
    """Prices on their way up: subgradient steps with momentum, back to the best when they stall."""

    def __init__(self, proof: Proof, *, pace: float, patience: int) -> None:
        self.price = proof.price.copy()
        self._proof = proof
        self._pace, self._patience = pace, patience
        self._best, self._idle = -np.inf, 0
        self._momentum = np.zeros_like(self.price)

    def step(self, value: float, visits: NDArray[np.int64], limit: float) -> bool:
        """Note what the prices gave and move them; returns whether to go on."""
        proof = self._proof
        bound = value + float(self.price.sum())
        self._idle = 0 if bound > self._best + 1e-6 * limit else self._idle + 1
        if bound > self._best:
            self._best = bound
            proof.price = self.price.copy()
            proof.bound = max(proof.bound, min(bound - ROUNDING * proof.cost, limit))
        if self._idle >= self._patience:
            self._pace *= 0.6
            self._idle = 0
            self.price = proof.price.copy()
            self._momentum[:] = 0.0
        self._momentum = 0.7 * self._momentum + (1.0 - visits)
        square = float(self._momentum @ self._momentum)
        if square == 0.0 or self._pace < 2e-3:
            return False
        self.price = (
            self.price + self._pace * max(limit - bound, 1e-5 * limit) / square * self._momentum
        )
        return True


def _choose_units(points: Points, mean: float) -> tuple[NDArray[np.int64], Vector]:
    """Whole numbers near the weights with the given mean, and the least weight for each sum of them.

    Of several scales the one with the largest least weights is taken; equal weights are 1 unit each.
    """
    weights = points.weights
    k = len(weights)
    if np.ptp(weights) == 0:
        units = np.ones(k, np.int64)
        return units, latency_bound.least_weights(weights, units, points.rest)
    mean = max(1.0, min(mean, OPERATIONS_PER_S / 5 / float(k) ** 3))
    best, chosen = -np.inf, None
    for scale in np.linspace(0.9, 1.1, SCALES) * mean / weights.mean():
        units = np.maximum(1, np.rint(weights * scale)).astype(np.int64)
        least = latency_bound.least_weights(weights, units, points.rest)
        even = np.arange(len(least)) / (len(least) - 1)
        some = np.isfinite(least)
        tight = float((least[some] - points.rest - even[some] * weights.sum()).mean())
        if tight > best:
            best, chosen = tight, (units, least)
    assert chosen is not None
    return chosen


def _near(travel: Matrix, size: int) -> NDArray[np.int64]:
    """The points nearest to each point, itself excluded, up to ``size``."""
    among = np.minimum(travel, travel.T)
    np.fill_diagonal(among, np.inf)
    order = np.argsort(among, axis=1, kind="stable")
    return np.ascontiguousarray(order[:, : min(size, len(travel) - 1)])
