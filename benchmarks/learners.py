"""Learners: how long an episode takes, what they lose to peers as plain bandits, and both bounds."""

import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import sightline as sl
from benchmarks.race import in_ms, table
from sightline.learn.genlin import GenLin
from sightline.learn.neural import Neural
from sightline.learn.newton import OnlineLogistic
from sightline.learn.ntk import Network, NtkNetwork, Training
from sightline.records import Episode, Outcome, Query, Visit
from sightline.regret import Course, follow, lay_course
from sightline.site import Site

ARMS, ROUNDS = 10, 2000
SAMPLES = 10_000


# the paper's training: discs of 1 m, 25 points in the smaller kitchen and 50 in the larger
@cache
def course(name: str, seed: int, episodes: int) -> Course:
    home = sl.Scenario.load(name)
    site = Site.of(home, sensor=sl.Sensor(range_m=1.0, kind="disc"))
    count = 25 if name == "kitchen1" else 50
    points = sl.farthest_points(site.free, count, rng=np.random.default_rng([seed, 0]))
    return lay_course(site, points, episodes, rng=np.random.default_rng([seed, 1]))


def finds(site: Site, points: np.ndarray, count: int) -> Iterator[Episode]:
    """Searches of ten looks, the last of them a sighting, all objects in turns."""
    rng = np.random.default_rng(0)
    for i in range(count):
        thing = site.home.objects[i % len(site.home.objects)]
        looks = rng.choice(len(points), 10, replace=False)
        visits = [
            Visit(int(j), tuple(points[j].tolist()), 1.0 * n, n == 9) for n, j in enumerate(looks)
        ]
        position = tuple(site.home.sample_position(thing, rng=rng).tolist())
        yield Episode(Query(thing, (1.0, 1.0)), points, tuple(visits), Outcome.FOUND, position)


def timed(learner: Any, episodes: Iterator[Episode]) -> tuple[list[float], list[float]]:
    """Seconds of each prediction and of each update; the first of both are warm-up."""
    predicted, learned = [], []
    for episode in episodes:
        began = time.process_time()
        learner.predict(episode.query, episode.points)
        between = time.process_time()
        learner.update(episode)
        predicted.append(between - began)
        learned.append(time.process_time() - between)
    return predicted[1:], learned[1:]


def speed(quick: bool) -> str:
    """Predicting 50 points and learning a find with augmentation in the smaller kitchen."""
    rows = []
    for range_m in (1.0, 2.5):
        home = sl.Scenario.load("kitchen1")
        site = Site.of(home, sensor=sl.Sensor(range_m=range_m, kind="disc"))
        points = sl.farthest_points(site.free, 50, rng=np.random.default_rng(1))
        learners: dict[str, Any] = {
            "GenLin": GenLin(),
            "GenLin, points 0.3 m apart": GenLin(augment_spacing_m=0.3),
            "Neural, exact": Neural(rng=np.random.default_rng(0)),
            "Neural, diagonal": Neural(rng=np.random.default_rng(0), covariance="diagonal"),
        }
        for name, learner in learners.items():
            learner.meet(site)
            predicted, learned = timed(learner, finds(site, points, 20 if quick else 201))
            last = predicted[-20:]
            rows.append(
                [
                    f"{name}, range {range_m} m",
                    in_ms(statistics.median(last)),
                    in_ms(statistics.median(learned)),
                    in_ms(max(learned)),
                    f"{sum(learned):.2f} s",
                ]
            )
    columns = ["learner", "predict 50 points at the end", "learn, median", "learn, longest"]
    return table([*columns, "200 finds"], rows)


class Digits(NamedTuple):
    """Pictures (n, 65) of norm at most 1 with a constant entry, and their digits (n,)."""

    x: np.ndarray
    y: np.ndarray


def digits(seed: int, rounds: int, centred: bool) -> Digits:
    """scikit-learn's bundled digits, drawn with replacement; ``centred`` takes each pixel's mean off."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x = x / 16 - (x.mean(axis=0) / 16 if centred else 0.0)
    x = np.hstack([x, np.ones((len(x), 1))])
    chosen = np.random.default_rng(seed).integers(len(x), size=rounds)
    return Digits(x[chosen] / np.linalg.norm(x, axis=1).max(), y[chosen])


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
    """One ``NtkNetwork`` for all arms; each arm has a place of its own in the input."""

    def __init__(
        self,
        size: int,
        seed: int,
        *,
        alpha: float,
        training: Training,
        width: int = 64,
        diagonal: bool = True,
    ) -> None:
        self.alpha, self.rng = alpha, np.random.default_rng([seed, 2])
        first = Network.drawn(ARMS * size, width, rng=self.rng)
        self.model = NtkNetwork(first, training, memory=2 * ROUNDS, diagonal=diagonal)

    def choose(self, x: np.ndarray) -> int:
        value, variance = self.model.predict(np.kron(np.eye(ARMS), x))
        return int(np.argmax(value + np.sqrt(self.alpha * variance)))

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        row = np.zeros((1, ARMS * len(x)))
        row[0, arm * len(x) : (arm + 1) * len(x)] = x
        target = reward if self.model.training.loss == "square" else 2 * reward - 1
        self.model.learn(row, np.array([target]), rng=self.rng)


class MabWiser:
    """MABWiser's LinUCB."""

    def __init__(self, size: int, seed: int, *, alpha: float, ridge: float) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        self.mab = MAB(
            list(range(ARMS)), LearningPolicy.LinUCB(alpha=alpha, l2_lambda=ridge), seed=seed
        )
        self.mab.fit([0], [0.0], np.zeros((1, size)))  # it cannot choose before it has seen a round

    def choose(self, x: np.ndarray) -> int:
        return int(self.mab.predict(x[None]))

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        self.mab.partial_fit([arm], [reward], x[None])


class River:
    """River's LinUCBDisjoint; its exploration is one standard deviation."""

    def __init__(self, size: int, seed: int, *, alpha: float, beta: float) -> None:
        from river.bandit import LinUCBDisjoint

        self.policy = LinUCBDisjoint(alpha=alpha, beta=beta, seed=seed)

    def choose(self, x: np.ndarray) -> int:
        return int(self.policy.pull(range(ARMS), context=dict(enumerate(x.tolist()))))

    def learn(self, x: np.ndarray, arm: int, reward: float) -> None:
        self.policy.update(arm, dict(enumerate(x.tolist())), reward)


class Calvera:
    """calvera's bandits, on the input of ``NeuralBandit``, trained by Lightning as its guide shows."""

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


def play(
    make: Callable[..., Any], seed: int, rounds: int, *, centred: bool, **settings: Any
) -> tuple[np.ndarray, float]:
    """Which choices (rounds,) were wrong, whose sum is the regret, and seconds per round."""
    course = digits(seed, rounds, centred)
    bandit = make(course.x.shape[1], seed, **settings)
    wrong, began = np.zeros(rounds, dtype=bool), time.process_time()
    for i, (x, y) in enumerate(zip(course.x, course.y.tolist(), strict=True)):
        arm = bandit.choose(x)
        wrong[i] = arm != y
        bandit.learn(x, arm, float(arm == y))
    return wrong, (time.process_time() - began) / rounds


class Contender(NamedTuple):
    """A bandit, its settings, and the values of its exploration to choose from."""

    kind: str
    make: Callable[..., Any]
    settings: dict[str, Any]
    explorations: tuple[float, ...]
    seeds: int = 10
    rounds: int = ROUNDS


TUNING_SEED = 100  # explorations are chosen on it, and the results are from seeds 0, 1, 2...
EARLY = 300  # rounds that the slowest peer plays
SQUARE = Training(eta=0.8, ridge=0.01, steps=8, batch=32, loss="square")
CONTENDERS = {
    "Sightline, logistic": Contender(
        "linear", LinearBandit, {"ridge": 0.1, "eta": 4.0}, (0.3, 1.0, 3.0)
    ),
    "MABWiser LinUCB": Contender("linear", MabWiser, {"ridge": 1.0}, (0.1, 0.3, 1.0)),
    "River LinUCBDisjoint": Contender("linear", River, {"beta": 10.0}, (0.3, 1.0, 3.0)),
    "calvera LinUCB": Contender("linear", calvera_linear, {"ridge": 1.0}, (1.0,), 1, EARLY),
    "Sightline, network": Contender(
        "neural", NeuralBandit, {"training": SQUARE, "width": 32}, (0.0002, 0.001)
    ),
    "calvera NeuralUCB": Contender(
        "neural", calvera_neural, {"ridge": 0.001, "rate": 0.01, "every": 1}, (1.0, 3.0), 10, EARLY
    ),
}


def tuned(contender: Contender, rounds: int) -> dict[str, Any]:
    """The contender's settings with the exploration that loses least on the tuning seed."""
    fixed = contender.settings | {"centred": contender.kind == "neural"}
    choices = [fixed | {"alpha": alpha} for alpha in contender.explorations]
    if len(choices) == 1:
        return choices[0]
    return min(choices, key=lambda one: play(contender.make, TUNING_SEED, rounds, **one)[0].sum())


def peers(quick: bool, names: tuple[str, ...] = tuple(CONTENDERS)) -> str:
    """Wrong choices on scikit-learn's digits; each arm has a model or a part of the input of its own."""
    rows = []
    for name in names:
        contender = CONTENDERS[name]
        module = {"Sightline,": "sklearn"}.get(name.split()[0], name.split()[0].lower())
        if importlib.util.find_spec(module) is None:
            rows.append([name, contender.kind, "not installed", "", "", "", "", ""])
            continue
        rounds = min(contender.rounds, 60 if quick else ROUNDS)
        settings = tuned(contender, rounds)
        play(contender.make, TUNING_SEED, 20, **settings)  # loads and compiles
        seeds = range(min(contender.seeds, 2 if quick else 10))
        runs = [play(contender.make, seed, rounds, **settings) for seed in seeds]
        early = [run[0][:EARLY].sum() for run in runs]
        wrong = [run[0].sum() for run in runs] if rounds > EARLY else []
        rows.append(
            [
                name,
                contender.kind,
                f"{np.mean(early):.0f}",
                f"{np.mean(wrong):.0f}" if wrong else "",
                f"{min(wrong)} to {max(wrong)}" if wrong else "",
                str(len(runs)),
                f"{settings['alpha']:g}",
                in_ms(statistics.median(run[1] for run in runs)),
            ]
        )
    columns = ["bandit", "kind", f"wrong of the first {EARLY}", f"wrong of {ROUNDS}", "range"]
    return table([*columns, "seeds", "exploration", "per round"], rows)


def interval(values: np.ndarray) -> str:
    """The mean and its 95 % bootstrap interval."""
    draws = np.random.default_rng(0).integers(len(values), size=(SAMPLES, len(values)))
    low, high = np.percentile(values[draws].mean(axis=1), (2.5, 97.5))
    return f"{values.mean():+.2f} ({low:+.2f} to {high:+.2f})"


def signs(quick: bool) -> str:
    """Metres by which ``bound="upper"`` costs more than "lower", per search, on the same courses.

    Costs are the paper's equation (2) with the true chances; 200 searches, paired by seed.
    """
    rows = []
    seeds, episodes = (2, 30) if quick else (10, 200)
    for alpha in (0.1, 1.0, 10.0):
        apart, late, lower = [], [], []
        for seed in range(seeds):
            ground = course("kitchen1", seed, episodes)
            excess = {}
            for bound in ("lower", "upper"):
                learner = GenLin(alpha=alpha, bound=bound)
                learner.meet(ground.site)
                costs = follow(ground, learner, rng=np.random.default_rng([seed, 2]))
                excess[bound] = costs.approximate - ground.least
            more = excess["upper"] - excess["lower"]
            apart.append(more.mean())
            late.append(more[episodes // 2 :].mean())
            lower.append(excess["lower"].mean())
        rows.append(
            [
                f"{alpha:g}",
                f"{np.mean(lower):.2f} m",
                interval(np.array(apart)),
                interval(np.array(late)),
            ]
        )
    columns = ["alpha", "lower, above the best route", "upper minus lower, m per search"]
    return table([*columns, "the same, second half"], rows)
