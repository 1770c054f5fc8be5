"""Convert open maps of homes into shipped scenarios (map, places.yaml, licence).

    python tools/convert_homes DATA_FOLDER [--out src/sightline/scenarios]

DATA_FOLDER holds aws_small_house, iai_apartment, wrs2020 and procthor. The result depends on
these data alone; a report with the checks goes to standard output.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from grid import FAR, crop, distance, inside, largest_piece, navigable, write_grid
from homes import HOMES, Home, Surface, room_of

MARGIN = 0.3  # metres of unknown kept around the building
MAPPED = 1.0  # a surface farther than this from any free cell was never mapped
REACH = 1.0  # an object farther than this from where the robot can stand is not looked for
GONE = 0.9  # a solid surface with this share of free cells was not there when the map was made

# Object -> procthor types counted for it. A drinks can stands where drinks stand; a bag of
# chips is food like Bread and a package like Box: procthor has neither.
STAND_INS = {
    "bottle": ("Bottle", "WineBottle"),
    "cup": ("Cup", "Mug"),
    "bowl": ("Bowl",),
    "can": ("Bottle", "Cup"),
    "chips-bag": ("Bread", "Box"),
}
# Closed furniture and seats to sit on: no place to look for things.
EMPTY_KINDS = {"Fridge", "Chair", "ArmChair"}

PROCTHOR = (
    "The probabilities in places.yaml are computed from figures of allenai/procthor @ 53d5bd4c\n"
    "(receptacles.json), licensed Apache-2.0, https://www.apache.org/licenses/LICENSE-2.0\n"
)

Distribution = dict[str, dict[str, float]]  # object -> surface -> probability


@dataclass(frozen=True)
class Check:
    """How a surface fits its map: shares of its cells, distance to the robot's cells (m)."""

    free: float
    occupied: float
    unknown: float
    reach: float


def rounded(surface: Surface) -> Surface:
    """The surface with coordinates and height in whole centimetres."""
    polygon = [(round(x, 2) + 0.0, round(y, 2) + 0.0) for x, y in surface.polygon]
    return replace(surface, polygon=polygon, height=round(surface.height, 2))


def split_mapped(home: Home) -> tuple[list[Surface], list[str]]:
    """Surfaces the map knows, and a line for each that is left out."""
    centres = home.grid.centres()
    kept, left_out = [], []
    for surface in home.surfaces:
        gap = distance(centres[home.grid.free], surface.polygon).min(initial=FAR)
        cells = home.grid.free[inside(centres, surface.polygon)]
        if gap > MAPPED:
            left_out.append(f"{surface.name}: next free cell is {gap:.1f} m away, never mapped")
        elif surface.support == "solid" and cells.size and cells.mean() > GONE:
            left_out.append(f"{surface.name}: {cells.mean():.0%} of its cells are free in the map")
        else:
            kept.append(rounded(surface))
    return kept, left_out


def standing_cells(home: Home, surfaces: list[Surface]) -> np.ndarray:
    """Navigable cells that keep the robot's radius from every surface too; largest piece."""
    cells = navigable(home.grid, home.robot_radius)
    centres = home.grid.centres()
    for surface in surfaces:
        cells &= distance(centres, surface.polygon) >= home.robot_radius
    return largest_piece(cells)


def check(home: Home, surface: Surface, standing: np.ndarray) -> Check:
    """Measure one surface against the map."""
    centres = home.grid.centres()
    covered = inside(centres, surface.polygon)
    free, occupied = home.grid.free[covered].mean(), home.grid.occupied[covered].mean()
    reach = distance(centres[standing], surface.polygon).min(initial=FAR)
    return Check(float(free), float(occupied), abs(float(1 - free - occupied)), float(reach))


def exact(weights: dict[str, float]) -> dict[str, float]:
    """Weights as probabilities of 4 decimals that sum to exactly 1; zeros are left out."""
    total = sum(weights.values())
    parts = {name: round(10000 * w / total) for name, w in weights.items()}
    largest = max(parts, key=lambda name: parts[name])
    parts[largest] += 10000 - sum(parts.values())
    return {name: part / 10000 for name, part in parts.items() if part}


def procthor(receptacles: dict, surfaces: list[Surface]) -> Distribution:
    """Probability of each surface given the object.

    A kind of furniture gets the number of times procthor's rooms have the object on it
    (`count`; the file's `p` is count / number of such furniture), shared equally among the
    home's surfaces of that kind and renormalised over the kinds present.
    """
    of_kind: dict[str, list[str]] = {}
    for surface in surfaces:
        if surface.category not in EMPTY_KINDS:
            of_kind.setdefault(surface.category, []).append(surface.name)
    result = {}
    for thing, types in STAND_INS.items():
        weights = {}
        for kind, names in of_kind.items():
            on_kind = receptacles.get(kind, {})
            count = sum(on_kind[t]["count"] for t in types if t in on_kind)
            weights |= {name: count / len(names) for name in names}
        result[thing] = exact(weights)
    return result


def peaky(spread: Distribution, surfaces: list[Surface]) -> Distribution:
    """Each object on one surface alone: its most likely one among the least used so far.

    Surfaces that can hold no object at all are never used; ties go to the first in the file.
    """
    holding = [s.name for s in surfaces if any(s.name in row for row in spread.values())]
    uses = dict.fromkeys(holding, 0)
    result = {}
    for thing, row in spread.items():
        least = min(uses.values())
        open_ones = [name for name in holding if uses[name] == least]
        place = max(open_ones, key=lambda name: row.get(name, 0.0))
        uses[place] += 1
        result[thing] = {place: 1.0}
    return result


def points_text(polygon: list[tuple[float, float]]) -> str:
    """A polygon in flow style."""
    return "[" + ", ".join(f"[{x:g}, {y:g}]" for x, y in polygon) + "]"


def places_text(home: Home, surfaces: list[Surface], distributions: dict) -> str:
    """The places.yaml of a home."""
    lines = [
        "format: sightline-places/1",
        f'title: "{home.title}"',
        f'source: "{home.source}; allenai/procthor @ 53d5bd4c (probabilities)"',
        f"licence: {home.licence}",
        "",
        "rooms:",
    ]
    for name, polygon in home.rooms.items():
        lines += [f"  {name}:", f"    polygon: {points_text(polygon)}"]
    lines += ["", "surfaces:"]
    for surface in surfaces:
        room = room_of(surface, home.rooms)
        lines += [f"  {surface.name}:", f"    category: {surface.category}"]
        lines += [f"    room: {room}"] if room else []
        lines += [
            f"    height_m: {surface.height:.2f}",
            f"    support: {surface.support}",
            f"    polygon: {points_text(surface.polygon)}",
        ]
    lines += ["", "distributions:"]
    for name, distribution in distributions.items():
        lines.append(f"  {name}:")
        for thing, row in distribution.items():
            lines.append(f"    {thing}:")
            lines += [f"      {place}: {p:.4f}" for place, p in row.items()]
    return "\n".join(lines) + "\n"


def convert(home: Home, receptacles: dict, out: Path) -> str:
    """Write one scenario and return its report."""
    home = replace(home, grid=crop(home.grid, MARGIN))
    surfaces, left_out = split_mapped(home)
    standing = standing_cells(home, surfaces)
    checks = {s.name: check(home, s, standing) for s in surfaces}
    near = [s for s in surfaces if checks[s.name].reach <= REACH]
    spread = procthor(receptacles, near)
    folder = out / home.name
    folder.mkdir(parents=True, exist_ok=True)
    write_grid(home.grid, folder)
    distributions = {"procthor": spread, "peaky": peaky(spread, near)}
    (folder / "places.yaml").write_text(places_text(home, surfaces, distributions))
    (folder / "LICENSE").write_text(f"Source: {home.source}\n{PROCTHOR}\n{home.notice}")

    area = home.grid.resolution**2
    roaming = navigable(home.grid, home.robot_radius)
    lines = [
        f"{home.name}: {home.grid.gray.shape[1]} x {home.grid.gray.shape[0]} cells, "
        f"origin {home.grid.origin}, {len(surfaces)} surfaces, {len(home.rooms)} rooms",
        f"  free {home.grid.free.sum() * area:.1f} m2, navigable at radius {home.robot_radius} m "
        f"{roaming.sum() * area:.1f} m2, clear of surfaces {standing.sum() * area:.1f} m2",
    ]
    lines += [f"  {remark}" for remark in home.remarks]
    lines += [f"  left out: {line}" for line in left_out]
    for surface in surfaces:
        c = checks[surface.name]
        held = max((row.get(surface.name, 0.0) for row in spread.values()), default=0.0)
        lines.append(
            f"  {surface.name:26}{surface.category:17}{surface.height:5.2f} m  cells free "
            f"{c.free:4.0%} occupied {c.occupied:4.0%} unknown {c.unknown:4.0%}  "
            f"reach {c.reach:5.2f} m  largest p {held:.4f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Convert all homes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the source data")
    default = Path(__file__).resolve().parents[2] / "src" / "sightline" / "scenarios"
    parser.add_argument("--out", type=Path, default=default, help="folder of the scenarios")
    args = parser.parse_args()
    receptacles = json.loads((args.data / "procthor" / "receptacles.json").read_text())
    for build in HOMES:
        print(convert(build(args.data), receptacles, args.out), end="\n\n")


if __name__ == "__main__":
    main()
