"""What a study is: methods x settings x seeds under one protocol, written as a TOML file."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar, get_args

from sightline.errors import StudyError
from sightline.learn.baselines import Frequency, LastSeen, RandomOrder, Uniform
from sightline.learn.genlin import GenLin
from sightline.learn.neural import Neural
from sightline.learn.oracle import Oracle
from sightline.learn.places import PlaceBelief
from sightline.plan.coverage import Coverage
from sightline.plan.cpsat import CpSat
from sightline.plan.greedy import Greedy
from sightline.plan.tsp import Tsp
from sightline.plan.wmlp import Wmlp
from sightline.visibility import Kind

LEARNERS: dict[str, Any] = {
    "Frequency": Frequency,
    "GenLin": GenLin,
    "LastSeen": LastSeen,
    "Neural": Neural,
    "Oracle": Oracle,
    "PlaceBelief": PlaceBelief,
    "RandomOrder": RandomOrder,
    "Uniform": Uniform,
}
PLANNERS: dict[str, Any] = {
    "Coverage": Coverage,
    "CpSat": CpSat,
    "Greedy": Greedy,
    "Tsp": Tsp,
    "Wmlp": Wmlp,
}
MAX_SEEDS, MAX_EPISODES, MAX_POINTS = 10_000, 1_000_000, 5_000


@dataclass(frozen=True)
class Protocol:
    """How is measured; the defaults are the paper's, with its failures and budget as chosen here.

    ``blind_rate`` is the paper's P(E) and ``budget_m`` the most metres of a search. Exact expectations
    over where the object lies are taken from ``exact_starts`` starts for every object, after the
    numbers of training episodes in ``checkpoints`` and at the end.
    """

    training_episodes: int = 200
    evaluation_episodes: int = 300
    training_range_m: float = 1.0
    evaluation_range_m: float = 2.5
    sensor: str = "disc"
    blind_rate: float = 0.1
    budget_m: float = 40.0
    exact_starts: int = 8
    checkpoints: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("training_episodes", "evaluation_episodes", "exact_starts"):
            _within(f"protocol.{name}", getattr(self, name), 0, MAX_EPISODES, whole=True)
        for name in ("training_range_m", "evaluation_range_m", "budget_m"):
            _within(f"protocol.{name}", getattr(self, name), 0, float("inf"))
        _within("protocol.blind_rate", self.blind_rate, 0, 1)
        _choice("protocol.sensor", self.sensor, get_args(Kind))
        for count in self.checkpoints:
            _within("protocol.checkpoints", count, 0, self.training_episodes, whole=True)


@dataclass(frozen=True)
class Setting:
    """A scenario, one of its distributions, and how many vantage points are drawn in it."""

    scenario: str
    distribution: str | None = None
    points: int = 25

    def __post_init__(self) -> None:
        _within("setting.points", self.points, 1, MAX_POINTS, whole=True)

    @property
    def name(self) -> str:
        """As it stands in tables."""
        return f"{self.scenario} {self.distribution}" if self.distribution else self.scenario


@dataclass(frozen=True)
class Method:
    """A learner and a planner with their settings.

    ``points`` replaces the setting's number of vantage points, ``training_planner`` the planner while
    training; ``settings`` names the settings to which the method applies, all if empty. ``seeds``,
    ``evaluation_episodes``, ``exact_starts`` and ``training_episodes`` reduce what is measured, for
    methods that take long.
    """

    name: str
    learner: str
    planner: str
    learner_settings: Mapping[str, Any] = field(default_factory=dict)
    planner_settings: Mapping[str, Any] = field(default_factory=dict)
    training_planner: str | None = None
    training_planner_settings: Mapping[str, Any] = field(default_factory=dict)
    points: int | None = None
    settings: tuple[str, ...] = ()
    seeds: int | None = None
    training_episodes: int | None = None
    evaluation_episodes: int | None = None
    exact_starts: int | None = None

    def __post_init__(self) -> None:
        _choice(f"the learner of method '{self.name}'", self.learner, LEARNERS)
        planners = (self.planner, self.training_planner or self.planner)
        for planner in planners:
            _choice(f"the planner of method '{self.name}'", planner, PLANNERS)
        for name in ("training_episodes", "evaluation_episodes", "exact_starts", "seeds"):
            if getattr(self, name) is not None:
                _within(f"method.{name}", getattr(self, name), 0, MAX_EPISODES, whole=True)
        if self.points is not None:
            _within("method.points", self.points, 1, MAX_POINTS, whole=True)


@dataclass(frozen=True)
class Study:
    """Methods x settings x seeds. Seeds are numbered from ``first_seed``."""

    name: str
    settings: tuple[Setting, ...]
    methods: tuple[Method, ...]
    seeds: int = 10
    first_seed: int = 0
    protocol: Protocol = field(default_factory=Protocol)

    def __post_init__(self) -> None:
        _within("seeds", self.seeds, 1, MAX_SEEDS, whole=True)
        _within("first_seed", self.first_seed, 0, 2**31, whole=True)
        if not self.settings or not self.methods:
            raise StudyError(f"The study '{self.name}' needs at least one setting and one method.")
        names = [setting.name for setting in self.settings]
        if len(set(names)) < len(names):
            raise StudyError(f"The study '{self.name}' has a setting twice: {', '.join(names)}.")
        for method in self.methods:
            for wanted in method.settings:
                _choice(f"a setting of method '{method.name}'", wanted, names)
        for name in names:
            here = [method.name for method in self.methods if _applies(method, name)]
            if len(set(here)) < len(here):
                raise StudyError(f"In the setting '{name}' two methods have the same name: {here}.")

    @classmethod
    def load(cls, path: str | Path) -> "Study":
        """Read a study from a TOML file."""
        path = Path(path)
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StudyError(f"The study {path} does not exist.") from None
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as reason:
            raise StudyError(f"{path} is not a readable TOML file: {reason}.") from None
        return cls.from_dict({"name": path.stem, **content})

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Study":
        """A study from plain data, as TOML and JSON give it."""
        plain = dict(content)
        plain["protocol"] = _made(Protocol, plain.get("protocol", {}), "protocol")
        for name, kind in (("settings", Setting), ("methods", Method)):
            rows = plain.get(name, [])
            if not isinstance(rows, list | tuple):
                raise StudyError(f"'{name}' must be a list of tables, not {type(rows).__name__}.")
            plain[name] = tuple(_made(kind, row, name.removesuffix("s")) for row in rows)
        return _made(cls, plain, "study")

    def to_dict(self) -> dict[str, Any]:
        """Plain data that ``from_dict`` reads."""
        return asdict(self)

    def cells(self) -> "tuple[Cell, ...]":
        """Every method in every setting with every seed; those that share a course are neighbours."""
        return tuple(
            Cell(setting, method, seed)
            for setting in self.settings
            for seed in range(self.first_seed, self.first_seed + self.seeds)
            for method in self.methods
            if _applies(method, setting.name)
            and (method.seeds is None or seed < self.first_seed + method.seeds)
        )


@dataclass(frozen=True)
class Cell:
    """The smallest piece of a study: one method in one setting with one seed."""

    setting: Setting
    method: Method
    seed: int

    @property
    def key(self) -> str:
        """Names the cell within its study."""
        return f"{self.setting.name} | {self.method.name} | {self.seed}"


def _applies(method: Method, setting: str) -> bool:
    return not method.settings or setting in method.settings


T = TypeVar("T")


def _made(kind: type[T], content: object, what: str) -> T:
    """A frozen record from plain data; unknown and missing keys are named with the valid ones."""
    if isinstance(content, kind):
        return content
    if not isinstance(content, Mapping):
        raise StudyError(f"A {what} must be a table of keys and values, not {content!r}.")
    known = {item.name: item for item in fields(kind)}  # type: ignore[arg-type]
    unknown = [key for key in content if key not in known]
    if unknown:
        raise StudyError(f"A {what} has no key {unknown[0]!r}; valid keys are {', '.join(known)}.")
    needed = [
        name
        for name, item in known.items()
        if item.default is MISSING and item.default_factory is MISSING and name not in content
    ]
    if needed:
        raise StudyError(
            f"A {what} lacks the key {needed[0]!r}; valid keys are {', '.join(known)}."
        )
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in content.items()
    }
    try:
        return kind(**values)
    except TypeError as reason:
        raise StudyError(f"A {what} has a value of a wrong type: {reason}.") from None


def _within(what: str, value: object, low: float, high: float, *, whole: bool = False) -> None:
    right = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not right or not low <= value <= high or not isfinite(value):  # type: ignore[operator,arg-type]
        kind = "a whole number" if whole else "a number"
        raise StudyError(f"{what} must be {kind} from {low:g} to {high:g}, not {value!r}.")


def _choice(what: str, value: object, valid: Iterable[Any]) -> None:
    if value not in valid:
        raise StudyError(f"{what} is {value!r}; valid are {', '.join(valid)}.")
