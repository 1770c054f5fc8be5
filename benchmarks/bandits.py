"""Learners as plain bandits, beside others: scikit-learn's digits, where the right digit pays."""

import importlib.util
import statistics
import time
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks.race import in_ms, table
from sightline.learn.newton import OnlineLogistic
from sightline.learn.ntk import Network, NtkNetwork, Training
from sightline.metrics import compare

ARMS, ROUNDS = 10, 2000


class Digits(NamedTuple):
    """Pictures (n, 65) of norm at most 1 with a last entry that was constant, and their digits (n,)."""

    x: np.ndarray
    y: np.ndarray


def digits(seed: int, rounds: int, centred: bool) -> Digits:
    """scikit-learn's bundled digits, drawn with replacement.

    ``centred`` takes each pixel's mean off and gives each picture norm 1, as NeuralUCB assumes.
    """
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x = x / 16 - (x.mean(axis=0) / 16 if centred else 0.0)
    x = np.hstack([x, np.ones((len(x), 1))])
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    chosen = np.random.default_rng(seed).integers(len(x), size=rounds)
    return Digits((x / (norms if centred else norms.max()))[chosen], y[chosen])


class LinearBandit:
    """One ``OnlineLogistic`` per arm, as ``GenLin`` has one per object."""

    def __init__(self, size: int, seed: int, *, alpha: float, ridge: float, eta: float) -> None:
        self.alpha, self.eta = alpha, eta
        self.models = [OnlineLogistic.fresh(size, ridge=ridge) for _ in range(ARMS)]

    def choose(self, x: np.ndarray) -> int:
        row = x[None]
        upper = [m.margins(row) + np.sqrt(self.alpha * m.spreads(row)) for m in self.models]
        return int(np.argmax(upper))

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        sign = np.array([2 * reward - 1])
        self.models[arm] = self.models[arm].learned(x[None], sign, rate=self.eta)


class NeuralBandit:
    """One ``NtkNetwork`` per arm, all from the same first parameters."""

    def __init__(
        self, size: int, seed: int, *, alpha: float, ridge: float, width: int, scale: float
    ) -> None:
        self.alpha, self.rng = alpha, np.random.default_rng([seed, 2])
        first = Network.drawn(size, width, rng=self.rng, scale=scale)
        training = Training(ridge=ridge, rule="solve", loss="square")
        self.models = [NtkNetwork(first, training, memory=2 * ROUNDS) for _ in range(ARMS)]

    def choose(self, x: np.ndarray) -> int:
        fits = [model.predict(x[None]) for model in self.models]
        return int(np.argmax([f[0] + np.sqrt(self.alpha * variance[0]) for f, variance in fits]))

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        self.models[arm].learn(x[None], np.array([2 * reward - 1]), rng=self.rng)


class MabWiser:
    """MABWiser's LinUCB; ``signed`` rewards are +1 and -1 instead of 1 and 0."""

    def __init__(
        self, size: int, seed: int, *, alpha: float, ridge: float, signed: bool = False
    ) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        self.mab = MAB(
            list(range(ARMS)), LearningPolicy.LinUCB(alpha=alpha, l2_lambda=ridge), seed=seed
        )
        self.mab.fit([0], [0.0], np.zeros((1, size)))  # it cannot choose before it has seen a round
        self.signed = signed

    def choose(self, x: np.ndarray) -> int:
        return int(self.mab.predict(x[None]))

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        self.mab.partial_fit([arm], [2 * reward - 1 if self.signed else reward], x[None])


class River:
    """River's LinUCBDisjoint; ``signed`` rewards are +1 and -1 instead of 1 and 0."""

    def __init__(
        self, size: int, seed: int, *, alpha: float, beta: float, signed: bool = False
    ) -> None:
        from river.bandit import LinUCBDisjoint

        self.policy = LinUCBDisjoint(alpha=alpha, beta=beta, seed=seed)
        self.signed = signed

    def choose(self, x: np.ndarray) -> int:
        return int(self.policy.pull(range(ARMS), context=dict(enumerate(x.tolist()))))

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        told = 2 * reward - 1 if self.signed else reward
        self.policy.update(arm, dict(enumerate(x.tolist())), told)


class Calvera:
    """calvera's bandits, trained by Lightning as its guide shows; each arm has a place in the input."""

    def __init__(self, size: int, seed: int, *, make: Callable[[int], Any], every: int = 1) -> None:
        import logging

        import torch

        for name in ("", ".pytorch", ".pytorch.utilities.rank_zero"):
            logging.getLogger(f"lightning{name}").setLevel(logging.ERROR)
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.torch, self.bandit, self.every, self.rounds = torch, make(ARMS * size), every, 0

    def choose(self, x: np.ndarray) -> int:
        contexts = np.kron(np.eye(ARMS), x)[None].astype(np.float32)
        self.contexts = self.torch.from_numpy(contexts)
        chosen, _ = self.bandit(self.contexts)
        return int(chosen.argmax())

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        import lightning

        row = self.contexts[:, arm : arm + 1]
        self.bandit.record_feedback(row, self.torch.tensor([[reward]]))
        self.rounds += 1
        if self.rounds % self.every == 0:
            lightning.Trainer(
                max_epochs=1,
                accelerator="cpu",
                logger=False,
                enable_progress_bar=False,
                enable_model_summary=False,
                enable_checkpointing=False,
            ).fit(self.bandit)


def calvera_linear(size: int, seed: int, *, alpha: float, ridge: float) -> Calvera:
    from calvera.bandits.linear_ucb_bandit import LinearUCBBandit

    def make(inputs: int) -> Any:
        return LinearUCBBandit(inputs, exploration_rate=alpha, lambda_=ridge)

    return Calvera(size, seed, make=make)


def calvera_neural(
    size: int, seed: int, *, alpha: float, ridge: float, rate: float, every: int
) -> Calvera:
    import torch
    from calvera.bandits.neural_ucb_bandit import NeuralUCBBandit

    def make(inputs: int) -> Any:
        layers = (
            torch.nn.Linear(inputs, 64, bias=False),
            torch.nn.ReLU(),
            torch.nn.Linear(64, 1, bias=False),
        )
        return NeuralUCBBandit(
            inputs,
            torch.nn.Sequential(*layers),
            exploration_rate=alpha,
            weight_decay=ridge,
            learning_rate=rate,
            min_samples_required_for_training=every,
            initial_train_steps=0,
        )

    return Calvera(size, seed, make=make, every=every)


class Run(NamedTuple):
    """Which choices (rounds,) were wrong, whose sum is the regret, and processor seconds (rounds,)."""

    wrong: np.ndarray
    seconds: np.ndarray


def play(
    make: Callable[..., Any], seed: int, rounds: int, *, centred: bool, **settings: Any
) -> Run:
    course = digits(seed, rounds, centred)
    bandit = make(course.x.shape[1], seed, **settings)
    out = Run(np.zeros(rounds, dtype=bool), np.zeros(rounds))
    for i, (x, y) in enumerate(zip(course.x, course.y.tolist(), strict=True)):
        began = time.process_time()
        arm = bandit.choose(x)
        bandit.learn(x, arm, float(arm == y))
        out.seconds[i] = time.process_time() - began
        out.wrong[i] = arm != y
    return out


class Contender(NamedTuple):
    """A bandit, its settings, and the values of its exploration to choose from."""

    kind: str
    make: Callable[..., Any]
    settings: tuple[dict[str, Any], ...]
    explorations: tuple[float, ...]
    seeds: int = 10
    rounds: int = ROUNDS


# settings and explorations are chosen on these seeds, and the results are from seeds 0, 1, 2...
TUNING_SEEDS = (100, 101, 102)
EARLY = 300  # rounds that the slowest peers play with all seeds, and that tune
PLAIN, CENTRED = {"centred": False}, {"centred": True}
CALVERA = (CENTRED | {"ridge": 0.001, "rate": 0.01, "every": 1},)
CONTENDERS = {
    "Sightline, logistic": Contender(
        "linear",
        LinearBandit,
        (PLAIN | {"ridge": 0.1, "eta": 4.0}, CENTRED | {"ridge": 0.3, "eta": 4.0}),
        (0.01, 0.03, 0.1, 0.3, 1.0),
    ),
    "MABWiser LinUCB": Contender(
        "linear",
        MabWiser,
        (
            PLAIN | {"ridge": 1.0},
            CENTRED | {"ridge": 0.3},
            CENTRED | {"ridge": 0.3, "signed": True},
        ),
        (0.03, 0.1, 0.3, 1.0),
    ),
    "River LinUCBDisjoint": Contender(
        "linear",
        River,
        (
            PLAIN | {"beta": 10.0},
            CENTRED | {"beta": 10.0},
            CENTRED | {"beta": 10.0, "signed": True},
            CENTRED | {"beta": 30.0, "signed": True},
        ),
        (0.3, 1.0, 3.0, 10.0, 30.0),
    ),
    "calvera LinUCB": Contender(
        "linear", calvera_linear, (PLAIN | {"ridge": 1.0},), (1.0,), 1, EARLY
    ),
    "Sightline, network": Contender(
        "neural",
        NeuralBandit,
        (CENTRED | {"ridge": 0.15, "width": 512, "scale": 0.3},),
        (0.012, 0.036, 0.1),
    ),
    "calvera NeuralUCB": Contender(
        "neural", calvera_neural, CALVERA, (0.3, 1.0, 3.0, 10.0), 10, EARLY
    ),
    "calvera NeuralUCB, all rounds": Contender("neural", calvera_neural, CALVERA, (1.0,), 3),
}


def tuned(contender: Contender, rounds: int) -> dict[str, Any]:
    """The settings and the exploration that lose least on the tuning seeds."""
    choices = [
        settings | {"alpha": alpha}
        for settings in contender.settings
        for alpha in contender.explorations
    ]
    if len(choices) == 1:
        return choices[0]

    def lost(settings: dict[str, Any]) -> int:
        runs = [play(contender.make, seed, rounds, **settings) for seed in TUNING_SEEDS]
        return int(sum(run.wrong.sum() for run in runs))

    return min(choices, key=lost)


def peers(quick: bool, names: tuple[str, ...] = tuple(CONTENDERS)) -> str:
    """Wrong choices on scikit-learn's digits; each arm has a model or a part of the input of its own."""
    rows, wrong = [], {}
    for name in names:
        contender = CONTENDERS[name]
        module = {"Sightline,": "sklearn"}.get(name.split()[0], name.split()[0].lower())
        if importlib.util.find_spec(module) is None:
            rows.append([name, contender.kind, "not installed", *[""] * 5])
            continue
        rounds = min(contender.rounds, 60 if quick else ROUNDS)
        settings = tuned(contender, rounds)
        play(contender.make, TUNING_SEEDS[0], 20, **settings)  # loads and compiles
        seeds = range(min(contender.seeds, 2 if quick else 10))
        runs = [play(contender.make, seed, rounds, **settings) for seed in seeds]
        wrong[name] = np.array([run.wrong for run in runs])
        rows.append([name, contender.kind, *_figures(runs, settings)])
    columns = ["bandit", "kind", f"wrong of the first {EARLY}", f"wrong of {ROUNDS} (range)"]
    times = [f"per round, first {EARLY}", f"per round, all {ROUNDS}"]
    head = [*columns, "seeds", "pictures, exploration", *times]
    return "\n\n".join([table(head, rows), "\n".join(_apart(wrong))])


def _figures(runs: list[Run], settings: dict[str, Any]) -> list[str]:
    """What a row says of a contender's runs."""
    early = [run.wrong[:EARLY].sum() for run in runs]
    wrong = [run.wrong.sum() for run in runs]
    whole = len(runs[0].wrong) > EARLY
    return [
        f"{np.mean(early):.0f}",
        f"{np.mean(wrong):.0f} ({min(wrong)} to {max(wrong)})" if whole else "",
        str(len(runs)),
        f"{'centred' if settings['centred'] else 'plain'}, {settings['alpha']:g}",
        in_ms(statistics.median(run.seconds[:EARLY].mean() for run in runs)),
        in_ms(statistics.median(run.seconds.mean() for run in runs)) if whole else "",
    ]


def _apart(wrong: dict[str, np.ndarray]) -> list[str]:
    """How many more wrong choices each of ours makes than the others of its kind, paired by seed."""
    lines = []
    for ours, theirs in product(wrong, wrong):
        kinds = CONTENDERS[ours].kind, CONTENDERS[theirs].kind
        seeds = min(len(wrong[ours]), len(wrong[theirs]))
        if not ours.startswith("Sightline") or ours == theirs or kinds[0] != kinds[1] or seeds < 3:
            continue
        rounds = min(wrong[ours].shape[1], wrong[theirs].shape[1])
        mine, other = (wrong[name][:seeds, :rounds].sum(axis=1) for name in (ours, theirs))
        gap = compare(mine, other, rng=np.random.default_rng(0))
        lines.append(
            f"- {ours} less {theirs}, {rounds} rounds, {seeds} seeds: {gap.mean:+.1f} "
            f"({gap.low:+.1f} to {gap.high:+.1f})"
        )
    return lines
