"""What the commands that search have in common: a home, its memory, its learner and its finds."""

import csv
import math
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sightline.errors import MapWarning, SightlineError, StoreError

if TYPE_CHECKING:
    import numpy as np

    from sightline.learn.protocol import Learner
    from sightline.places import Scenario
    from sightline.plan.problem import Planner
    from sightline.records import Episode
    from sightline.search import Searcher
    from sightline.site import Site
    from sightline.store import Experience
    from sightline.visibility import Sensor

RADIUS_M = 0.25
PHYSICAL = "bullet"  # what a memory says of a robot that has a body
MAX_FINDS = 1_000_000  # lines of a list


class SensorKind(StrEnum):
    """How a camera sees."""

    LINE_OF_SIGHT = "line_of_sight"
    DISC = "disc"


class LearnerName(StrEnum):
    """The learners by name."""

    PLACES = "places"
    FREQUENCY = "frequency"
    LAST_SEEN = "last-seen"
    UNIFORM = "uniform"
    RANDOM = "random"
    GENLIN = "genlin"
    NEURAL = "neural"
    ORACLE = "oracle"


class PlannerName(StrEnum):
    """The planners by name."""

    COVERAGE = "coverage"
    WMLP = "wmlp"
    CPSAT = "cpsat"
    GREEDY = "greedy"
    TSP = "tsp"


MASSLESS = (LearnerName.RANDOM, LearnerName.GENLIN, LearnerName.NEURAL)

HomeOr = Annotated[
    str,
    typer.Argument(
        metavar="HOME",
        help="A map.yaml, a scenario folder, or a scenario that ships. With --memory it may be left out.",
    ),
]
Thing = Annotated[str | None, typer.Argument(metavar="THING", help="The object to look for.")]
Memory = Annotated[Path | None, typer.Option(help="A memory file, see sightline teach.")]
Points = Annotated[int, typer.Option(min=1, help="Number of vantage points to choose from.")]
Radius = Annotated[
    float | None,
    typer.Option(help="Robot radius in metres.", show_default=f"{RADIUS_M}, or the memory's"),
]
Range = Annotated[float, typer.Option("--range", help="How far the robot sees, in metres.")]
SensorOption = Annotated[SensorKind, typer.Option("--sensor", help="How the robot sees.")]
Rate = Annotated[
    float, typer.Option("--detection-rate", help="Chance that a look notices an object in view.")
]
LearnerOption = Annotated[LearnerName, typer.Option("--learner", help="Who believes.")]
PlannerOption = Annotated[
    PlannerName | None,
    typer.Option(
        "--planner",
        help="Who plans.",
        show_default="coverage; wmlp for learners that look at points only",
    ),
]
TimeLimit = Annotated[
    float, typer.Option("--time-limit", min=0.001, help="Seconds at most for one plan.")
]
Unknown205 = Annotated[bool, typer.Option("--unknown-205", help="Read gray 205 as unknown.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all that is drawn.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


class Place(NamedTuple):
    """Which home a command is about, as its words say; ``physical`` if its robot has a body."""

    home: str | None
    memory: Path | None
    radius_m: float | None = None
    unknown_205: bool = False
    physical: bool = False


@dataclass(frozen=True)
class Household:
    """A home as the robot meets it, and what is remembered of it."""

    site: "Site"
    memory: "Experience | None"

    def searcher(
        self,
        things: Iterable[str],
        *,
        points: int,
        learner: LearnerName,
        planner: PlannerName | None,
        time_limit_s: float,
        rng: "np.random.Generator",
    ) -> "Searcher":
        """A searcher that has learned all that is remembered."""
        from sightline.search import Searcher

        remembered = self.memory.things() if self.memory is not None else ()
        named = planner or (PlannerName.WMLP if learner in MASSLESS else PlannerName.COVERAGE)
        searcher = Searcher(
            self.site,
            learner=_learner(learner, rng),
            planner=_planner(named, time_limit_s),
            points=points,
            things=[*things, *remembered],
        )
        if self.memory is not None:
            self.memory.replay(searcher.learner)
        return searcher


def words_of(home: str, thing: str | None, memory: Path | None) -> tuple[str | None, str]:
    """Home and object: the only word of the two is the object, if a memory says where the home is."""
    if thing is not None:
        return home, thing
    if memory is None:
        raise SightlineError(
            f"'{home}' is a home or an object; give both, or --memory with an object."
        )
    return None, home


def open_household(
    place: Place, *, sensor: "Sensor | None" = None, begin: bool = False
) -> Household:
    """Load a home, and open its memory if there is one; begin one if it may be."""
    from sightline.places import SHIPPED, Scenario

    name, radius, unknown = place.home, place.radius_m, place.unknown_205
    physical = place.physical
    if place.memory and (place.memory.exists() or name is None or not begin):
        about = _remembered(place.memory)
        name = about["home"] if name is None else name
        radius = float(about["robot_radius_m"]) if radius is None else radius
        unknown = unknown or bool(about["unknown_205"])
        physical = about.get("world") == PHYSICAL
        if place.physical and not physical:
            raise StoreError(
                f"{place.memory} is the memory of a robot without a body, which can stand elsewhere; "
                "for the physical world begin another."
            )
    assert name is not None  # a memory knows its home
    with _told():
        home = Scenario.load(name, unknown_205=unknown)
    site = _site(home, sensor, radius, physical)
    if place.memory is None:
        return Household(site, None)
    where = name if name in SHIPPED else str(Path(name).expanduser().absolute())
    facts: dict[str, Any] = {
        "home": where, "robot_radius_m": site.free.robot_radius_m, "unknown_205": unknown,
    }  # fmt: skip
    if physical:
        facts["world"] = PHYSICAL
    from sightline.store import Experience

    return Household(site, Experience.open(place.memory, site=site.name, about=facts))


def _site(
    home: "Scenario", sensor: "Sensor | None", radius_m: float | None, physical: bool
) -> "Site":
    """The home as a robot of some radius meets it, in the physical world or as a point with room."""
    if physical:
        from sightline.worlds.bullet import ROBOT_RADIUS_M, physical_site

        wide = ROBOT_RADIUS_M if radius_m is None else radius_m
        return physical_site(home, sensor=sensor, robot_radius_m=wide)
    from sightline.site import Site

    return Site.of(home, sensor=sensor, robot_radius_m=RADIUS_M if radius_m is None else radius_m)


def _remembered(path: Path) -> dict[str, Any]:
    """What a memory says of its home."""
    from sightline.store import Experience

    with Experience.open(path) as memory:
        about = memory.about
    missing = {"home", "robot_radius_m", "unknown_205"} - set(about)
    if missing:
        raise StoreError(f"{path} does not say where its home is; name the home.")
    return about


@contextmanager
def _told() -> Iterator[None]:
    """Warnings of maps as lines on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MapWarning)
        yield
    for warning in caught:
        typer.echo(f"sightline: warning: {warning.message}", err=True)


def sensor_of(kind: SensorKind, range_m: float, rate: float, false_alarms: float = 0.0) -> "Sensor":
    """The sensor of a command's options."""
    from sightline.visibility import Sensor

    return Sensor(
        range_m=range_m, kind=kind.value, detection_rate=rate, false_alarm_rate=false_alarms
    )


def _learner(name: LearnerName, rng: "np.random.Generator") -> "Learner":
    from sightline.learn import baselines

    if name is LearnerName.PLACES:
        from sightline.learn.places import PlaceBelief

        return PlaceBelief()
    if name is LearnerName.GENLIN:
        from sightline.learn.genlin import GenLin

        return GenLin()
    if name is LearnerName.NEURAL:
        from sightline.learn.neural import Neural

        return Neural(rng=rng)
    if name is LearnerName.ORACLE:
        from sightline.learn.oracle import Oracle

        return Oracle()
    if name is LearnerName.RANDOM:
        return baselines.RandomOrder(rng=rng)
    if name is LearnerName.FREQUENCY:
        return baselines.Frequency()
    return baselines.LastSeen() if name is LearnerName.LAST_SEEN else baselines.Uniform()


def _planner(name: PlannerName, time_limit_s: float) -> "Planner":
    from sightline.plan.coverage import Coverage
    from sightline.plan.cpsat import CpSat
    from sightline.plan.greedy import Greedy
    from sightline.plan.tsp import Tsp
    from sightline.plan.wmlp import Wmlp

    planners: dict[PlannerName, Planner] = {
        PlannerName.COVERAGE: Coverage(time_limit_s=time_limit_s),
        PlannerName.WMLP: Wmlp(time_limit_s=time_limit_s),
        PlannerName.CPSAT: CpSat(time_limit_s=time_limit_s),
        PlannerName.GREEDY: Greedy(),
        PlannerName.TSP: Tsp(),
    }
    return planners[name]


def told(site: "Site", thing: str, at: tuple[float, float], time_s: float | None) -> "Episode":
    """What a person says: an object lies there. Refuses what is not on the map."""
    from sightline.records import Episode

    if not thing:
        raise SightlineError("An object needs a name, and this one is empty.")
    if not all(math.isfinite(value) for value in at) or not site.home.map.contains([at]).all():
        width, height = site.home.map.size_m
        raise SightlineError(
            f"({at[0]:g}, {at[1]:g}) lies outside the map of {site.home.name}, which is {width:g} x "
            f"{height:g} m from origin {site.home.map.origin}."
        )
    return Episode.taught(thing, at, time_s=time_s)


def read_finds(path: Path, site: "Site") -> list["Episode"]:
    """Finds in a list with the columns thing, x, y and, if it likes, time, in the order of the list.

    ``time`` is seconds, or a date and time as in 2026-03-01T18:30, of UTC unless it names its zone.
    """
    out = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, strict=True)
            _check_columns(path, table.fieldnames)
            for row in table:
                out.append(_find(path, table.line_num, row, site))
                if len(out) > MAX_FINDS:
                    raise SightlineError(f"{path} has more than {MAX_FINDS} lines.")
    except (UnicodeDecodeError, csv.Error) as reason:
        raise SightlineError(f"{path} is not a CSV file in UTF-8: {reason}.") from None
    return out


def _check_columns(path: Path, names: Iterable[str] | None) -> None:
    found = list(names or ())
    lacking = {"thing", "x", "y"} - set(found)
    unknown = set(found) - {"thing", "x", "y", "time"}
    if lacking or unknown or len(set(found)) < len(found):
        raise SightlineError(
            f"{path}: the first line must name the columns thing,x,y or thing,x,y,time, not "
            f"'{','.join(found)}'."
        )


def _find(path: Path, line: int, row: dict[str, Any], site: "Site") -> "Episode":
    if None in row or None in row.values():
        raise SightlineError(f"{path}, line {line}: there must be as many fields as columns.")
    try:
        at = float(row["x"]), float(row["y"])
    except ValueError:
        raise SightlineError(
            f"{path}, line {line}: x and y must be metres, not '{row['x']}' and '{row['y']}'."
        ) from None
    try:
        return told(site, row["thing"].strip(), at, _seconds(row.get("time", "")))
    except (SightlineError, ValueError) as reason:
        raise SightlineError(f"{path}, line {line}: {str(reason).rstrip('.')}.") from None


def _seconds(text: str) -> float | None:
    """Seconds from a number, or from a date and time."""
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError:
            raise ValueError(
                f"time must be seconds or a date and time such as 2026-03-01T18:30, not '{text}'"
            ) from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(value):
        raise ValueError(f"time must be finite, not '{text}'")
    return value
