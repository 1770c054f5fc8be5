"""The commands that search: plan a tour, tell where something lies, search in a simulated world."""

import json
from collections.abc import Iterable
from contextlib import closing
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sightline.cli_home import (
    AsJson,
    HomeOr,
    LearnerName,
    LearnerOption,
    Memory,
    Place,
    PlannerOption,
    Points,
    Radius,
    Range,
    Rate,
    Seed,
    SensorKind,
    SensorOption,
    Thing,
    TimeLimit,
    Unknown205,
    open_household,
    read_finds,
    sensor_of,
    told,
    words_of,
)
from sightline.cli_worlds import (
    Blocked,
    Boxes,
    FalseAlarms,
    SearchRadius,
    SearchRate,
    Setting,
    Stage,
    Tell,
    Video,
    WhileDriving,
    WorldName,
    WorldOption,
    make_film,
    telling,
)
from sightline.errors import SightlineError

if TYPE_CHECKING:
    import numpy as np

    from sightline.cli_home import Household
    from sightline.film import Film
    from sightline.itinerary import Plan
    from sightline.records import Episode
    from sightline.search import Searcher
    from sightline.worlds.bullet import BulletWorld
    from sightline.worlds.grid import GridWorld

NEGATIVE_NUMBERS = {"ignore_unknown_options": True}  # -1.5 is a coordinate, not an option


def plan_command(
    home: HomeOr,
    thing: Thing = None,
    *,
    start: Annotated[tuple[float, float], typer.Option(help="Where the robot is: X Y in metres.")],
    objects: Annotated[
        Path | None, typer.Option(help="Finds to learn from: CSV with thing,x,y and perhaps time.")
    ] = None,
    memory: Memory = None,
    points: Points = 100,
    radius: Radius = None,
    sensor_range: Range = 2.5,
    sensor: SensorOption = SensorKind.LINE_OF_SIGHT,
    detection_rate: Rate = 1.0,
    learner: LearnerOption = LearnerName.PLACES,
    planner: PlannerOption = None,
    time_limit: TimeLimit = 10.0,
    unknown_205: Unknown205 = False,
    seed: Seed = 0,
    picture: Annotated[Path | None, typer.Option(help="Where to draw the plan.")] = None,
    as_json: AsJson = False,
) -> None:
    """Plan a search: where to look for an object, in which order, and why."""
    import numpy as np

    name, thing = words_of(home, thing, memory)
    household = open_household(
        Place(name, memory, radius, unknown_205),
        sensor=sensor_of(sensor, sensor_range, detection_rate),
    )
    finds = [] if objects is None else read_finds(objects, household.site)
    rng = np.random.default_rng(seed)
    searcher = household.searcher(
        [thing, *(find.query.thing for find in finds)],
        points=points,
        learner=learner,
        planner=planner,
        time_limit_s=time_limit,
        rng=rng,
    )
    for find in finds:
        searcher.learner.update(find)
    plan = searcher.plan(thing, start=start, rng=rng)
    known = len(finds) + (len(household.memory) if household.memory is not None else 0)
    facts = _planned(plan, known)
    if picture is not None:
        from sightline import plot

        facts["picture"] = str(plot.save(plot.draw_plan(plan), picture))
    _print(facts, _plan_lines(facts), as_json)


def _planned(plan: "Plan", known: int) -> dict[str, Any]:
    """A plan as plain values, lengths in metres."""
    return {
        "thing": plan.query.thing,
        "home": plan.site.home.name,
        "start": _rounded(plan.query.start),
        "episodes": known,
        "stops": [
            {
                "point": stop.point,
                "position": _rounded(stop.position),
                "chance": round(stop.chance, 4),
                "arrival_m": round(stop.arrival_m, 3),
                "why": stop.why,
            }
            for stop in plan.stops
        ],
        "chance_at_start": round(plan.chance_at_start, 4),
        "chance": round(plan.chance, 4),
        "expected_m": round(plan.expected_m, 3),
    }


def _plan_lines(facts: dict[str, Any]) -> list[str]:
    """A plan as a person reads it."""
    x, y = facts["start"]
    learned = f"{facts['episodes']} episodes" if facts["episodes"] else "nothing"
    out = [
        f"{facts['thing']} in {facts['home']}, from ({x:g}, {y:g}), learned from {learned}",
        f"{'stop':>6} {'x':>7} {'y':>7} {'chance':>7} {'arrival':>9}  why",
        f"{'start':>6} {x:7.2f} {y:7.2f} {facts['chance_at_start']:7.1%} {0.0:7.1f} m  "
        "what is seen without driving",
    ]
    for number, stop in enumerate(facts["stops"], start=1):
        x, y = stop["position"]
        out.append(
            f"{number:6} {x:7.2f} {y:7.2f} {stop['chance']:7.1%} {stop['arrival_m']:7.1f} m  "
            f"{stop['why']}"
        )
    whole = facts["stops"][-1]["arrival_m"] if facts["stops"] else 0.0
    out.append(
        f"found on this tour of {whole:.1f} m with a chance of {facts['chance']:.1%}; "
        f"{facts['expected_m']:.1f} m are driven on average"
    )
    return out + ([f"picture {facts['picture']}"] if "picture" in facts else [])


def teach_command(
    thing: Annotated[str, typer.Argument(metavar="THING", help="The object that was found.")],
    x: Annotated[float, typer.Argument(metavar="X", help="Where it lay, in metres of the map.")],
    y: Annotated[float, typer.Argument(metavar="Y", help="The same, along the other axis.")],
    *,
    memory: Annotated[Path, typer.Option(help="The memory file; begun if there is none.")],
    home: Annotated[
        str | None,
        typer.Option(help="The home, as for plan; a memory that exists knows its own."),
    ] = None,
    radius: Radius = None,
    unknown_205: Unknown205 = False,
    as_json: AsJson = False,
) -> None:
    """Remember where an object was found: "it was here"."""
    household = open_household(Place(home, memory, radius, unknown_205), begin=True)
    assert household.memory is not None  # it was asked for
    household.memory.append(told(household.site, thing, (x, y), None))
    facts = {
        "thing": thing,
        "position": [x, y],
        "home": household.site.home.name,
        "memory": str(memory),
        "episodes_of_thing": sum(1 for _ in household.memory.episodes(thing=thing)),
        "episodes": len(household.memory),
    }
    line = (
        f"{thing} at ({x:g}, {y:g}) in {facts['home']} is remembered in {memory}: "
        f"{facts['episodes_of_thing']} of {thing}, {facts['episodes']} in all"
    )
    _print(facts, [line], as_json)


def search_command(
    home: HomeOr,
    thing: Thing = None,
    *,
    seed: Seed = 0,
    world: WorldOption = WorldName.GRID,
    episodes: Annotated[int, typer.Option(min=1, help="How many searches, one after another.")] = 1,
    start: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Where the robot is: X Y in metres.", show_default="anywhere"),
    ] = None,
    at: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Where the object lies: X Y.", show_default="as places.yaml says"),
    ] = None,
    memory: Memory = None,
    learner: LearnerOption = LearnerName.PLACES,
    planner: PlannerOption = None,
    time_limit: TimeLimit = 10.0,
    points: Points = 100,
    radius: SearchRadius = None,
    sensor_range: Range = 2.5,
    sensor: SensorOption = SensorKind.LINE_OF_SIGHT,
    detection_rate: SearchRate = None,
    false_alarm_rate: FalseAlarms = None,
    blocked: Blocked = 0.0,
    boxes: Boxes = 0,
    while_driving: WhileDriving = False,
    budget: Annotated[
        float | None, typer.Option(help="Metres after which to give up.", show_default="none")
    ] = None,
    unknown_205: Unknown205 = False,
    picture: Annotated[
        Path | None,
        typer.Option(help="Where to draw the last search.", show_default="out/HOME_THING.png"),
    ] = None,
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Draw nothing.")] = False,
    video: Video = None,
    as_json: AsJson = False,
) -> None:
    """Search in a simulated world, stage by stage, and draw it."""
    import numpy as np

    asked = Setting(
        world, sensor, sensor_range, detection_rate, false_alarm_rate, blocked, while_driving, boxes,
        radius, video,
    )  # fmt: skip
    asked.check()
    name, thing = words_of(home, thing, memory)
    household = open_household(
        Place(name, memory, radius, unknown_205, asked.physical), sensor=asked.sensor, begin=True
    )
    of_world, of_method = np.random.default_rng(seed).spawn(2)
    searcher = household.searcher(
        [thing],
        points=points,
        learner=learner,
        planner=planner,
        time_limit_s=time_limit,
        rng=of_method,
    )
    budget_m = _budget(budget)
    if at is not None:
        told(household.site, thing, at, None)  # refuses what is not on the map
    wanted = _Wanted(thing, start, at, budget_m, episodes)
    with closing(Stage(household.site, asked, rng=of_world)) as stage, telling() as tell:
        searches, episode, film = _searches(household, searcher, stage, wanted, of_method, tell)
        lying = stage.world.lying(thing)
        if video is not None and film is not None:
            make_film(film, video, tell)
    facts: dict[str, Any] = {"home": household.site.home.name, "thing": thing, "searches": searches}
    if not no_picture:
        from sightline import plot

        path = picture or Path("out") / f"{household.site.home.name}_{thing}.png"
        ax = plot.draw_episode(household.site, episode, truth=lying)
        facts["picture"] = str(plot.save(ax, path))
    if video is not None:
        facts["video"] = str(video)
    _print(facts, _search_lines(facts), as_json)


class _Wanted(NamedTuple):
    """What to search for, how often, and what is told of each episode."""

    thing: str
    start: tuple[float, float] | None
    at: tuple[float, float] | None
    budget_m: float
    episodes: int


def _searches(
    household: "Household",
    searcher: "Searcher",
    stage: Stage,
    wanted: _Wanted,
    rng: "np.random.Generator",
    tell: Tell,
) -> tuple[list[dict[str, Any]], "Episode", "Film | None"]:
    """One search after another, each remembered: what is said of them, the last one, and its film."""
    out, thing = [], wanted.thing
    for number in range(1, wanted.episodes + 1):
        world = stage.reset(wanted.start, None if wanted.at is None else {thing: wanted.at})
        least_m = world.least_way_m(thing)
        tell(f"search {number} of {wanted.episodes}")
        recorder = stage.recorder(tell, f"search {number} of {wanted.episodes}")
        episode = searcher.search(thing, world=recorder or world, rng=rng, budget_m=wanted.budget_m)
        out.append(_searched(episode, world, least_m) | stage.facts())
        if household.memory is not None:
            household.memory.append(episode)
    return out, episode, None if recorder is None else recorder.film(episode)


def _budget(metres: float | None) -> float:
    if metres is None:
        return inf
    if not metres >= 0:
        raise SightlineError(f"--budget must be at least 0 metres, not {metres}.")
    return metres


def _searched(
    episode: "Episode", world: "GridWorld | BulletWorld", least_m: float
) -> dict[str, Any]:
    """A search as plain values, lengths in metres."""
    from sightline.itinerary import chances
    from sightline.metrics import spl

    found = episode.outcome == "found"
    driven = episode.visits[-1].driven_m
    return {
        "outcome": str(episode.outcome),
        "driven_m": round(driven, 3),
        "least_m": round(least_m, 3) if least_m < inf else None,
        "spl": round(float(spl(found, least_m, driven)), 4),
        "lies": [_rounded(position) for position in world.lying(episode.query.thing).tolist()],
        "taken_to_lie": None if episode.position is None else _rounded(episode.position),
        "looks": [
            {
                "point": visit.point,
                "position": _rounded(visit.position),
                "chance": None if isnan(chance) else round(chance, 4),
                "arrival_m": round(visit.driven_m, 3),
                "seen": visit.seen,
            }
            for visit, chance in zip(episode.visits, chances(world.site, episode), strict=True)
        ],
    }


def _search_lines(facts: dict[str, Any]) -> list[str]:
    """One search look by look, several one by one."""
    searches = facts["searches"]
    out = [f"{facts['thing']} in {facts['home']}"]
    if len(searches) == 1:
        out += _looks(searches[0])
    else:
        out += _episodes(searches)
    return out + [f"{name} {facts[name]}" for name in ("picture", "video") if name in facts]


def _looks(search: dict[str, Any]) -> list[str]:
    out = [f"{'look':>6} {'x':>7} {'y':>7} {'chance':>7} {'arrival':>9}"]
    for number, look in enumerate(search["looks"]):
        x, y = look["position"]
        seen = "seen" if look["seen"] else "not seen"
        name = "start" if number == 0 else number
        chance = "-" if look["chance"] is None else f"{look['chance']:.1%}"
        out.append(f"{name:>6} {x:7.2f} {y:7.2f} {chance:>7} {look['arrival_m']:7.1f} m  {seen}")
    least = "seen from nowhere" if search["least_m"] is None else f"{search['least_m']:.1f} m"
    lies = " and ".join(f"({x:g}, {y:g})" for x, y in search["lies"])
    words = search["outcome"].replace("_", " ")
    out.append(
        f"{words} after {search['driven_m']:.1f} m; it lay at {lies}; "
        f"shortest way to see it: {least}; SPL {search['spl']:.2f}"
    )
    if "seconds" in search:
        out.append(
            f"{search['driven_in_all_m']:.1f} m and {search['seconds']:.0f} s in all, "
            f"{search['collisions']} collisions"
        )
    return out


def _episodes(searches: list[dict[str, Any]]) -> list[str]:
    out = [f"{'search':>7} {'looks':>6} {'driven':>9} {'shortest':>9} {'SPL':>5}  outcome"]
    for number, search in enumerate(searches, start=1):
        least = "-" if search["least_m"] is None else f"{search['least_m']:.1f} m"
        out.append(
            f"{number:7} {len(search['looks']):6} {search['driven_m']:7.1f} m {least:>9} "
            f"{search['spl']:5.2f}  {search['outcome'].replace('_', ' ')}"
        )
    found = sum(search["outcome"] == "found" for search in searches)
    mean = sum(search["spl"] for search in searches) / len(searches)
    return [*out, f"found {found} of {len(searches)}, mean SPL {mean:.2f}"]


def _rounded(position: Iterable[float]) -> list[float]:
    return [round(float(value), 3) for value in position]


def _print(facts: dict[str, Any], lines: list[str], as_json: bool) -> None:
    typer.echo(json.dumps(facts, indent=2) if as_json else "\n".join(lines))
