"""A two-layer ReLU network with confidences from its tangent kernel, on plain arrays.

NeuralUCB (Zhou, Li and Gu 2020, Algorithms 1 and 2) for two layers. With inner weights W (w, D) and
outer weights v (w,), f(x) = sqrt(w) v . relu(W x). Its gradient g, divided by sqrt(w), has the parts
h = relu(W x) and, for each unit j, v_j [W_j x > 0] x =: u_j x. So the inner product of the gradients
of two examples is h.h' + (x.x') (u.u'), whatever parameters each was taken at. With the gradients
G (n, p) of all examples, Z = k I + G^T G and c = G g, the variance g Z^-1 g is
(g.g - c (k I + G G^T)^-1 c) / k: only matrices of examples by examples are needed, none of parameters
by parameters. Of the network made linear at its first parameters, the sum of squares
sum (f - target)^2 / 2 + w k / 2 |theta - theta_0|^2 is least where f = c (k I + G G^T)^-1 targets.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from sightline.errors import LearnError
from sightline.learn.newton import sigmoid

Array = NDArray[np.float64]
Loss = Literal["logistic", "square"]
Rule = Literal["descent", "solve"]


@dataclass(frozen=True, eq=False)
class Network:
    """The parameters: inner weights (w, D) and outer weights (w,)."""

    inner: Array
    outer: Array

    @classmethod
    def drawn(
        cls, size: int, width: int, *, rng: np.random.Generator, scale: float = 1.0
    ) -> "Network":
        """A random network with f = 0 everywhere: units come in pairs of opposite outer weight.

        Inner weights are normal with variance 4 / w, outer ones with 2 / w, as in NeuralUCB. ``scale``
        multiplies the inner weights, and so the h of gradients; their u does not depend on it.
        """
        inner = scale * rng.normal(0.0, np.sqrt(4.0 / width), (width // 2, size))
        outer = rng.normal(0.0, np.sqrt(2.0 / width), width // 2)
        return cls(np.vstack([inner, inner]), np.concatenate([outer, -outer]))

    def value(self, x: Array) -> Array:
        """The outputs f (n,) for rows (n, D)."""
        hidden = np.maximum(x @ self.inner.T, 0.0)
        return np.asarray(np.sqrt(len(self.outer)) * (hidden @ self.outer))

    def tangent(self, x: Array) -> "Tangents":
        """The gradients at rows (n, D), in factors."""
        inside = x @ self.inner.T
        return Tangents(x, np.maximum(inside, 0.0), np.where(inside > 0, self.outer, 0.0))

    def widened(self, size: int) -> "Network":
        """The same network for inputs with more entries at their end; their weights are 0 at first."""
        more = np.zeros((len(self.inner), size - self.inner.shape[1]))
        return replace(self, inner=np.hstack([self.inner, more]))


@dataclass(frozen=True, eq=False)
class Tangents:
    """Gradients of n examples, divided by sqrt(w): x (n, D), h (n, w) and u (n, w)."""

    x: Array
    hidden: Array
    gates: Array

    def __len__(self) -> int:
        return len(self.x)

    def products(self, other: "Tangents") -> Array:
        """Inner products (n, m) of gradients."""
        return np.asarray(
            self.hidden @ other.hidden.T + (self.x @ other.x.T) * (self.gates @ other.gates.T)
        )

    def squares(self) -> Array:
        """Inner products (n,) of gradients with themselves."""
        norms, gates = (self.x**2).sum(axis=1), (self.gates**2).sum(axis=1)
        return np.asarray((self.hidden**2).sum(axis=1) + norms * gates)

    def scaled(self, factor: Array) -> "Tangents":
        """Each gradient times a factor (n,)."""
        return Tangents(self.x, self.hidden * factor[:, None], self.gates * factor[:, None])

    def taken(self, rows: NDArray[np.int64] | slice) -> "Tangents":
        """Some of the examples."""
        return Tangents(self.x[rows], self.hidden[rows], self.gates[rows])

    def followed_by(self, other: "Tangents") -> "Tangents":
        """These examples and then the others."""
        return Tangents(
            *(np.vstack(pair) for pair in zip(_parts(self), _parts(other), strict=True))
        )


def _parts(tangents: Tangents) -> tuple[Array, Array, Array]:
    return tangents.x, tangents.hidden, tangents.gates


class ExactCovariance:
    """Z = k I + sum of g g^T through the kernel; grows with the number of examples n.

    Keeps the lower Cholesky factor (n, n) of k I + G G^T. Adding m examples costs n^2 m, a variance n^2.
    ``blocks`` are the numbers of examples by which it grew: the same blocks give the same bits.
    """

    def __init__(self, ridge: float, size: int, width: int) -> None:
        self.ridge = ridge
        self.known = Tangents(np.empty((0, size)), np.empty((0, width)), np.empty((0, width)))
        self.blocks: list[int] = []
        self._factor = np.empty((0, 0), order="F")

    @classmethod
    def replayed(cls, ridge: float, known: Tangents, blocks: list[int]) -> "ExactCovariance":
        """The covariance of known examples that came in these blocks."""
        out = cls(ridge, known.x.shape[1], known.hidden.shape[1])
        for last, count in zip(np.cumsum(blocks).tolist(), blocks, strict=True):
            out.add(known.taken(slice(last - count, last)))
        return out

    def variances(self, tangents: Tangents) -> Array:
        """The variances g Z^-1 g (n,)."""
        out = tangents.squares()
        if len(self.known):
            out = out - (self._whitened(self.known.products(tangents)) ** 2).sum(axis=0)
        return np.asarray(np.maximum(out, 0.0) / self.ridge)

    def fitted(self, tangents: Tangents, targets: Array) -> tuple[Array, Array]:
        """The means g Z^-1 G^T t (n,) for targets t (m,) of the known examples, and variances (n,)."""
        if not len(self.known):
            return np.zeros(len(tangents)), self.variances(tangents)
        columns = np.hstack([self.known.products(tangents), targets[:, None]])
        white = self._whitened(np.asfortranarray(columns))
        across, target = white[:, :-1], white[:, -1]
        left = tangents.squares() - (across**2).sum(axis=0)
        return across.T @ target, np.maximum(left, 0.0) / self.ridge

    def add(self, tangents: Tangents) -> None:
        """Count more examples."""
        old, more = len(self.known), len(tangents)
        if not more:
            return
        corner = tangents.products(tangents) + self.ridge * np.eye(more)
        # columns are contiguous, so that solving with the factor need not copy it
        factor = np.zeros((old + more, old + more), order="F")
        if old:
            below = self._whitened(self.known.products(tangents))
            corner -= below.T @ below
            factor[:old, :old], factor[old:, :old] = self._factor, below.T
        factor[old:, old:] = cholesky(corner, lower=True, check_finite=False)
        self._factor, self.known = factor, self.known.followed_by(tangents)
        self.blocks.append(more)

    def _whitened(self, columns: Array) -> Array:
        return np.asarray(
            solve_triangular(
                self._factor, columns, lower=True, overwrite_b=True, check_finite=False
            )
        )


class DiagonalCovariance:
    """The diagonal of Z only, as in NeuralUCB's experiments: one number per parameter."""

    def __init__(self, ridge: float, size: int, width: int) -> None:
        self.outer = np.full(width, ridge)
        self.inner = np.full((width, size), ridge)

    def variances(self, tangents: Tangents) -> Array:
        """The sums (n,) of squares of the gradient over the diagonal."""
        first = tangents.hidden**2 @ (1.0 / self.outer)
        second = (tangents.gates**2 @ (1.0 / self.inner)) * tangents.x**2
        return np.asarray(first + second.sum(axis=1))

    def add(self, tangents: Tangents) -> None:
        """Count more examples."""
        self.outer = self.outer + (tangents.hidden**2).sum(axis=0)
        self.inner = self.inner + (tangents.gates**2).T @ tangents.x**2


@dataclass(frozen=True)
class Training:
    """How a network is trained on all examples that it remembers.

    ``rule="descent"`` is NeuralUCB's: ``steps`` steps of gradient descent at rate ``eta`` / w on the mean
    loss. The loss of n examples of weights summing to N is the weighted mean of their losses plus
    w k / (2 N) times the squared distance of the parameters from where they began, which has the same
    minimum as NeuralUCB's sum. "square" is (f - target)^2 / 2; "logistic" is
    log(1 + exp(-s target f)) / s for targets +1 and -1, whose gradient is that of Algorithm 1. Each
    step sees ``batch`` examples. ``restart`` begins each training from the first parameters, as printed,
    not from those of the training before.

    ``rule="solve"`` takes the network as linear around its first parameters, where NeuralUCB's sum of
    "square" losses has its minimum in closed form; it uses neither ``eta``, ``steps`` nor ``batch``. The
    wider the network, the nearer it is to linear.
    """

    eta: float = 0.01
    ridge: float = 25.0
    steps: int = 100
    batch: int = 64
    loss: Loss = "logistic"
    slope: float = 1.0
    restart: bool = False
    rule: Rule = "descent"

    def __post_init__(self) -> None:
        if self.rule == "solve" and self.loss != "square":
            raise ValueError(f'rule "solve" needs loss "square", not {self.loss!r}.')

    def pull(self, f: Array, targets: Array) -> Array:
        """The derivative (n,) of each example's loss by its output."""
        if self.loss == "square":
            return f - targets
        return -targets * sigmoid(-targets * f, self.slope)


def descend(
    network: Network,
    first: Network,
    x: Array,
    targets: Array,
    weights: Array,
    batches: NDArray[np.int64],
    how: Training,
) -> Network:
    """The network after one step per row of ``batches`` (steps, batch), numbers of examples."""
    inner, outer = network.inner.copy(), network.outer.copy()
    root, width = np.sqrt(len(outer)), len(outer)
    share = weights / weights.mean() / batches.shape[1] * root
    decay = how.eta * how.ridge / weights.sum()
    for rows in batches:
        inside = x[rows] @ inner.T
        hidden = np.maximum(inside, 0.0)
        pull = how.pull(root * (hidden @ outer), targets[rows]) * share[rows]
        back = np.where(inside > 0, pull[:, None] * outer, 0.0)
        to_outer, to_inner = pull @ hidden, back.T @ x[rows]
        outer -= how.eta / width * to_outer + decay * (outer - first.outer)
        inner -= how.eta / width * to_inner + decay * (inner - first.inner)
    return Network(inner, outer)


class NtkNetwork:
    """A network, the examples that it remembers, and the covariance of its gradients.

    At most ``memory`` examples are remembered. When there would be more, a random half of them is
    dropped and the rest count double from then on, in training as in the covariance, which are so
    unchanged in expectation. (A diagonal covariance needs no examples and drops none.)

    With ``rule="solve"`` ``now`` stays ``first``: the outputs are those of its linearisation, which are 0
    before the first example, and all gradients are taken there. This needs the exact covariance.
    """

    def __init__(
        self, first: Network, training: Training, *, memory: int, diagonal: bool = False
    ) -> None:
        if diagonal and training.rule == "solve":
            raise ValueError('rule "solve" needs the exact covariance, not the diagonal one.')
        self.first = self.now = first
        self.training, self.memory, self.diagonal = training, memory, diagonal
        width, size = first.inner.shape
        self.x, self.targets, self.weights = np.empty((0, size)), np.empty(0), np.empty(0)
        self.covariance: ExactCovariance | DiagonalCovariance = (
            DiagonalCovariance if diagonal else ExactCovariance
        )(training.ridge, size, width)

    def predict(self, x: Array) -> tuple[Array, Array]:
        """The outputs f (n,) and the variances g Z^-1 g (n,) for rows (n, D)."""
        tangents = self.now.tangent(x)
        if self.training.rule == "solve":
            assert isinstance(self.covariance, ExactCovariance)
            return self.covariance.fitted(tangents, np.sqrt(self.weights) * self.targets)
        return self.now.value(x), self.covariance.variances(tangents)

    def learn(self, x: Array, targets: Array, *, rng: np.random.Generator) -> None:
        """Count examples (n, D) with their targets (n,) in the covariance, then train on all."""
        new = self.now.tangent(x)
        all_x = np.vstack([self.x, x])
        all_targets = np.concatenate([self.targets, targets])
        weights = np.concatenate([self.weights, np.ones(len(x))])
        kept = halved(len(all_x), self.memory, rng=rng)
        all_x, all_targets, weights = all_x[kept], all_targets[kept], weights[kept]
        if len(kept) < len(self.x) + len(x):
            weights = weights * (len(self.x) + len(x)) / len(kept)
        now = self.now
        if self.training.rule == "descent":
            now = self._trained(all_x, all_targets, weights, rng=rng)
        self._count(new, kept)
        self.now, self.x, self.targets, self.weights = now, all_x, all_targets, weights

    def widened(self, size: int) -> "NtkNetwork":
        """The same for inputs with more entries at their end, which were 0 until now."""
        old = self.x.shape[1]
        out = NtkNetwork(
            self.first.widened(size), self.training, memory=self.memory, diagonal=self.diagonal
        )
        out.now, out.targets, out.weights = self.now.widened(size), self.targets, self.weights
        out.x = np.hstack([self.x, np.zeros((len(self.x), size - old))])
        if isinstance(out.covariance, DiagonalCovariance):
            assert isinstance(self.covariance, DiagonalCovariance)
            out.covariance.outer = self.covariance.outer
            out.covariance.inner[:, :old] = self.covariance.inner
        else:
            assert isinstance(self.covariance, ExactCovariance)
            known = Tangents(out.x, self.covariance.known.hidden, self.covariance.known.gates)
            out.covariance = ExactCovariance.replayed(
                self.training.ridge, known, self.covariance.blocks
            )
        return out

    def _trained(
        self, x: Array, targets: Array, weights: Array, *, rng: np.random.Generator
    ) -> Network:
        how = self.training
        batches = rng.integers(len(x), size=(how.steps, min(how.batch, len(x))))
        began = self.first if how.restart else self.now
        with np.errstate(over="ignore", invalid="ignore"):
            out = descend(began, self.first, x, targets, weights, batches, how)
        if not (np.isfinite(out.inner).all() and np.isfinite(out.outer).all()):
            raise LearnError(
                f"Training left the range of numbers at a learning rate eta of {how.eta:g} with ridge "
                f"{how.ridge:g}; choose a smaller eta, such as 0.01."
            )
        return out

    def _count(self, new: Tangents, kept: NDArray[np.int64]) -> None:
        """Add new examples to the covariance, of which only those kept are to stay."""
        total = len(self.x) + len(new)
        if isinstance(self.covariance, DiagonalCovariance) or len(kept) == total:
            self.covariance.add(new)
            return
        rows = self.covariance.known.followed_by(new).taken(kept)
        rows = rows.scaled(np.full(len(kept), np.sqrt(total / len(kept))))
        self.covariance = ExactCovariance.replayed(self.training.ridge, rows, [len(kept)])


def halved(count: int, most: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """The numbers of the examples to keep, in order: all of them, or ``most`` / 2 at random."""
    if count <= most:
        return np.arange(count)
    return np.sort(rng.choice(count, most // 2, replace=False))
