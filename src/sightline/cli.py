"""The command line. Heavy modules are imported where they are used, so that ``--help`` is quick."""

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli_search import NEGATIVE_NUMBERS, plan_command, search_command, teach_command
from sightline.cli_study import demo_command, report_command, reproduce_command, study_command
from sightline.errors import MapWarning, SightlineError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sightline.maps import FreeSpace, Points
    from sightline.places import Scenario
    from sightline.visibility import Sensor

app = typer.Typer(
    name="sightline",
    help="Sightline learns where things tend to be, and plans the shortest search for them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from sightline import __version__

        typer.echo(f"sightline {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show a traceback when something fails.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options of all commands; ``main`` reads --debug itself."""


@app.command("map")
def map_command(
    file: Annotated[
        str, typer.Argument(help="A map.yaml, a scenario folder, or a scenario that ships.")
    ],
    points: Annotated[
        int | None,
        typer.Option(min=1, help="Number of vantage points.", show_default="25, or what fits"),
    ] = None,
    radius: Annotated[float, typer.Option(help="Robot radius in metres.")] = 0.25,
    sensor_range: Annotated[
        float, typer.Option("--range", help="How far the robot sees, in metres.")
    ] = 2.5,
    disc: Annotated[
        bool, typer.Option("--disc", help="See through walls, as the paper does.")
    ] = False,
    start: Annotated[
        tuple[float, float] | None, typer.Option(help="Where the robot is: X Y in metres.")
    ] = None,
    distribution: Annotated[
        str | None, typer.Option(help="Where objects lie.", show_default="the first of places.yaml")
    ] = None,
    camera_height: Annotated[float, typer.Option(help="Height of the camera in metres.")] = 1.2,
    beside_unknown: Annotated[
        bool,
        typer.Option("--beside-unknown", help="Let the robot stand right beside unknown cells."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first vantage point.")] = 0,
    picture: Annotated[
        Path | None, typer.Option(help="Where to draw the map.", show_default="out/NAME.png")
    ] = None,
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Draw nothing.")] = False,
    unknown_205: Annotated[
        bool, typer.Option("--unknown-205", help="Read gray 205 as unknown.")
    ] = False,
    humble: Annotated[
        bool, typer.Option("--humble", help="Load by the rules of ROS 2 Humble's map server.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Describe a map: sizes, warnings, vantage points and what they see; with a picture."""
    from sightline.places import Scenario
    from sightline.visibility import Kind, Sensor

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MapWarning)
        home = Scenario.load(
            file,
            distribution=distribution,
            rules="humble" if humble else "nav2",
            unknown_205=unknown_205,
        )
    kind: Kind = "disc" if disc else "line_of_sight"
    sensor = Sensor(range_m=sensor_range, kind=kind, camera_height_m=camera_height)
    free = home.map.free_space(radius, start=start, beside_unknown=beside_unknown)
    survey = _Survey(home, sensor, free, points, start, seed)
    facts = survey.facts([str(warning.message) for warning in caught])
    if not no_picture:
        facts["picture"] = str(survey.draw(picture or Path("out") / f"{home.name}.png"))
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        for line in survey.lines(facts):
            typer.echo(line)


class _Survey:
    """What ``sightline map`` tells of a home."""

    def __init__(
        self,
        home: "Scenario",
        sensor: "Sensor",
        free: "FreeSpace",
        count: int | None,
        start: tuple[float, float] | None,
        seed: int,
    ) -> None:
        import numpy as np

        from sightline.places import SPACING_M as CELL_M
        from sightline.vantage import SPACING_M, farthest_points
        from sightline.visibility import visible

        rng = np.random.default_rng(seed)
        self.home, self.sensor = home, sensor
        self.free = free
        fits = min(25, len(free.points(SPACING_M)))
        self.points: Points = farthest_points(free, count or fits, rng=rng, start=start)
        self.spacing_m = min(max(CELL_M, home.map.resolution_m), max(home.map.size_m))
        self.cells: Points = home.target_cells(spacing_m=self.spacing_m)
        self.sees = visible(home, self.points, self.cells, sensor)

    def facts(self, told: list[str]) -> dict[str, Any]:
        """Everything as plain values, lengths in metres."""
        import numpy as np

        from sightline.visibility import opaque_cells

        on, seen = self.home.map, np.zeros(len(self.cells), dtype=bool)
        seen[self.sees.indices] = True
        area = on.resolution_m**2
        opaque = opaque_cells(self.home, self.sensor.camera_height_m)
        return {
            "name": self.home.name,
            "title": self.home.places.title,
            "size_m": [round(side, 3) for side in on.size_m],
            "cells": list(on.shape[::-1]),
            "resolution_m": on.resolution_m,
            "origin": list(on.origin),
            "free_m2": round(float(on.free.sum()) * area, 2),
            "occupied_m2": round(float(on.occupied.sum()) * area, 2),
            "unknown_m2": round(float(on.unknown.sum()) * area, 2),
            "robot_radius_m": self.free.robot_radius_m,
            "reachable_m2": round(self.free.area_m2, 2),
            "surfaces": len(self.home.places.surfaces),
            "objects": list(self.home.objects),
            "vantage_points": [[round(float(v), 3) for v in p] for p in self.points],
            "target_cells": len(self.cells),
            "cells_seen": round(float(seen.mean()), 4) if seen.size else 0.0,
            "object_mass_seen": {
                thing: round(float(self._mass(thing)[seen].sum()), 4) for thing in self.home.objects
            },
            "opaque_m2": round(float((opaque & ~on.unknown).sum()) * area, 2),
            "looked_over_m2": round(float((on.occupied & ~opaque).sum()) * area, 2),
            "warnings": told,
        }

    def _mass(self, thing: str) -> "NDArray[np.float64]":
        return self.home.mass(thing, self.cells, spacing_m=self.spacing_m)

    def lines(self, facts: dict[str, Any]) -> list[str]:
        """The facts as a person reads them."""
        (width, height), (columns, rows) = facts["size_m"], facts["cells"]
        looks = "through walls" if self.sensor.kind == "disc" else "in line of sight"
        out = [
            f"{facts['name']}: {facts['title']}" if facts["title"] else facts["name"],
            f"  size        {width:g} x {height:g} m, {columns} x {rows} cells "
            f"of {facts['resolution_m']:g} m, origin {tuple(facts['origin'])}",
            f"  area        free {facts['free_m2']:g} m2, occupied {facts['occupied_m2']:g} m2, "
            f"unknown {facts['unknown_m2']:g} m2",
            f"  reachable   {facts['reachable_m2']:g} m2 for a robot of radius "
            f"{facts['robot_radius_m']:g} m",
            f"  sight       {facts['opaque_m2']:g} m2 are opaque to the camera, "
            f"{facts['looked_over_m2']:g} m2 of obstacles are looked over",
            f"  surfaces    {facts['surfaces']}; objects: {', '.join(facts['objects']) or 'none'}",
            f"  coverage    {len(self.points)} vantage points see {facts['cells_seen']:.1%} of "
            f"{facts['target_cells']} target cells within {self.sensor.range_m:g} m {looks}",
        ]
        if facts["object_mass_seen"]:
            shares = (f"{name} {share:.1%}" for name, share in facts["object_mass_seen"].items())
            out.append(f"  objects     in view of some point: {', '.join(shares)}")
        if facts["cells_seen"] < 0.5:
            out.append("              (more --points or a longer --range see more)")
        out += [f"  warning     {told}" for told in facts["warnings"]]
        if "picture" in facts:
            out.append(f"  picture     {facts['picture']}")
        return out

    def draw(self, path: Path) -> Path:
        """The map, the points and what they see."""
        from sightline import plot

        ax = plot.draw_survey(self.home, self.free, self.points, self.cells, self.sees)
        return plot.save(ax, path)


@app.command("solve")
def solve_command(
    file: Annotated[Path, typer.Argument(help="TSPLIB (.tsp), or CSV: a matrix of travel costs.")],
    weights: Annotated[
        Path | None, typer.Option(help="One weight per row of the matrix; all 1 without it.")
    ] = None,
    start: Annotated[int, typer.Option(min=0, help="Row to start from, counted from 0.")] = 0,
    circuit: Annotated[
        bool,
        typer.Option("--circuit", help="Count the way back to the start as one more arrival."),
    ] = False,
    prove: Annotated[bool, typer.Option("--prove", help="Prove that the order is best.")] = False,
    time_limit: Annotated[float, typer.Option(min=0.001, help="Seconds at most.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Find the order of least weighted latency: the solver alone, without map or robot."""
    import numpy as np

    from sightline.plan.tsplib import read_travel, read_weights
    from sightline.plan.wmlp import solve_wmlp

    travel = read_travel(file)
    route = solve_wmlp(
        travel,
        np.ones(len(travel)) if weights is None else read_weights(weights, len(travel)),
        start=start,
        time_limit_s=time_limit,
        prove=prove,
        return_weight=1.0 if circuit else 0.0,
        rng=np.random.default_rng(seed),
    )
    facts = {
        "order": [start, *route.order.tolist()],
        "cost": route.cost,
        "bound": route.bound,
        "gap": route.gap,
        "optimal": route.optimal,
        "seconds": round(route.seconds, 4),
        "unreachable": list(route.unreachable),
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        for line in _solution(facts):
            typer.echo(line)


def _solution(facts: dict[str, Any]) -> list[str]:
    """A route as a person reads it."""
    bound = "none" if facts["bound"] is None else f"{facts['bound']:.10g}"
    gap = "unknown" if facts["gap"] is None else f"{facts['gap']:.3%}"
    proven = ", proven optimal" if facts["optimal"] else ""
    out = [
        f"cost     {facts['cost']:.10g}{proven}",
        f"bound    {bound}, gap {gap}",
        f"time     {facts['seconds']:g} s",
        f"order    {' '.join(str(row) for row in facts['order'])}",
    ]
    if facts["unreachable"]:
        out.append(
            f"left out {' '.join(str(row) for row in facts['unreachable'])}: no way leads there"
        )
    return out


app.command("plan")(plan_command)
app.command("teach", context_settings=NEGATIVE_NUMBERS)(teach_command)
app.command("search")(search_command)
app.command("study")(study_command)
app.command("reproduce")(reproduce_command)
app.command("report")(report_command)
app.command("demo")(demo_command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: one line on stderr and exit code 2 when something fails."""
    words = sys.argv[1:] if arguments is None else arguments
    _run(lambda: app(words, prog_name="sightline"), debug="--debug" in words)


def _run(command: Callable[[], Any], *, debug: bool) -> None:
    try:
        command()
    except (SightlineError, ValueError, OSError) as reason:
        if debug:
            raise
        typer.echo(f"sightline: {reason}", err=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
