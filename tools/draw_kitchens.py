"""Draw the two office kitchens that ship as scenarios: map.yaml, map.png and places.yaml of each.

The plans are in metres in the map frame (x right, y up); (0, 0) is the lower-left corner of the
interior. All lies on the grid of the map, except the few round and turned things. A shape is

- (left, bottom): a seat,
- (left, bottom, right, top): a rectangle,
- (centre x, centre y, width, depth, degrees): a rectangle turned counter-clockwise,
- (centre x, centre y, radius): a round table, drawn with twelve sides, or
- a list of corners.
"""

from __future__ import annotations

import argparse
from math import cos, pi, radians, sin
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

FREE, OCCUPIED, UNKNOWN = 254, 0, 205
RESOLUTION_M = 0.1
WALL_M = 0.2  # the outer wall
SEAT_M = 0.4  # side of a chair or a stool
DOOR_M = 0.1  # a closed door is thinner than its wall, flush with the inside
EDGE_M = 0.5  # from the interior to the edge of the image: the wall, then unknown cells

Point = tuple[float, float]
Shape = tuple[float, ...] | list[Point]
Surface = tuple[str, str, float, str, Shape]  # category, room, height in metres, support, shape


class Plan(NamedTuple):
    """A whole kitchen; seats are (room, height in metres, shapes) by the name of their group."""

    title: str
    size: Point
    walls: list[Shape]
    doors: list[Shape]
    rooms: dict[str, list[Point]]
    holders: dict[str, Surface]  # objects lie on these
    others: dict[str, Surface]  # these only stand in the way
    seats: dict[str, tuple[str, float, list[Shape]]]
    spread: dict[str, dict[str, float]]
    peaky: dict[str, str]


MAP_YAML = f"""\
image: map.png
mode: trinary
resolution: {RESOLUTION_M}
origin: [{-EDGE_M}, {-EDGE_M}, 0.0]
negate: 0
occupied_thresh: 0.65
free_thresh: 0.196
"""

# fmt: off
KITCHEN1 = Plan(
    title="Office kitchen of 80 m2 with an island, dining tables and a coffee nook",
    size=(10.0, 8.0),
    walls=[(5.8, 5.7, 5.9, 8.0)],  # makes the coffee nook
    doors=[(2.9, -0.2, 3.9, 0.0)],
    rooms={
        "kitchen": [(0.0, 1.4), (1.6, 1.4), (1.6, 4.0), (5.8, 4.0), (5.8, 8.0), (0.0, 8.0)],
        "dining": [(0.0, 0.0), (10.0, 0.0), (10.0, 4.6), (5.8, 4.6), (5.8, 4.0), (1.6, 4.0),
                   (1.6, 1.4), (0.0, 1.4)],
        "nook": [(5.8, 4.6), (10.0, 4.6), (10.0, 8.0), (5.8, 8.0)],
    },
    holders={
        "sink counter": ("CounterTop", "kitchen", 0.9, "solid", [
            (0.0, 6.2), (0.6, 6.2), (0.6, 7.4), (3.6, 7.4), (3.6, 8.0), (0.0, 8.0)]),
        "hob counter": ("CounterTop", "kitchen", 0.9, "solid", (0.0, 4.4, 0.6, 6.2)),
        "fridge counter": ("CounterTop", "kitchen", 0.9, "solid", (0.0, 2.8, 0.6, 3.6)),
        "island": ("CounterTop", "kitchen", 0.9, "solid", (1.8, 5.3, 3.8, 6.2)),
        "pantry shelf": ("Shelf", "kitchen", 1.5, "solid", (5.4, 6.1, 5.8, 7.7)),
        "dining table": ("DiningTable", "dining", 0.75, "legs", (4.0, 1.7, 5.8, 2.6)),
        "long table": ("DiningTable", "dining", 0.75, "legs", (7.8, 1.0, 8.7, 3.4)),
        "sideboard": ("Dresser", "dining", 0.85, "solid", (0.9, 0.0, 2.5, 0.4)),
        "round table": ("DiningTable", "nook", 0.75, "legs", (7.7, 6.1, 0.5)),
        "coffee side table": ("SideTable", "nook", 0.85, "solid", (6.9, 7.5, 8.5, 8.0)),
        "low shelf": ("ShelvingUnit", "nook", 1.0, "solid", (9.6, 5.7, 10.0, 7.1)),
    },
    others={
        "fridge": ("Fridge", "kitchen", 1.8, "solid", (0.0, 3.6, 0.7, 4.4)),
        "drinks fridge": ("Fridge", "kitchen", 1.9, "solid", (3.6, 7.3, 4.3, 8.0)),
        "pantry cabinet": ("Cabinet", "kitchen", 2.1, "solid", (0.0, 1.8, 0.6, 2.8)),
        "waste bin": ("GarbageCan", "kitchen", 0.6, "solid", (0.0, 1.4, 0.4, 1.8)),
        "door plant": ("HousePlant", "dining", 1.0, "solid", (0.0, 0.0, 0.4, 0.4)),
        "nook plant": ("HousePlant", "nook", 1.1, "solid", (9.6, 7.6, 10.0, 8.0)),
    },
    seats={
        "stool": ("kitchen", 0.65, [(2.0, 4.9), (2.6, 4.9), (3.2, 4.9)]),
        "dining chair": ("dining", 0.45, [
            (4.3, 2.6), (5.1, 2.6), (4.3, 1.3), (5.1, 1.3), (5.8, 2.0)]),
        "long table chair": ("dining", 0.45, [
            (7.4, 1.2), (7.4, 2.0), (7.4, 2.8), (8.7, 1.2), (8.7, 2.0), (8.7, 2.8)]),
        "nook chair": ("nook", 0.45, [(6.8, 5.9), (8.2, 5.9), (7.5, 5.2)]),
    },
    spread={
        "bottle": {"island": 0.25, "fridge counter": 0.25, "sideboard": 0.2,
                   "dining table": 0.15, "long table": 0.1, "hob counter": 0.05},
        "can": {"fridge counter": 0.35, "pantry shelf": 0.25, "sideboard": 0.15,
                "long table": 0.15, "low shelf": 0.1},
        "cup": {"coffee side table": 0.4, "sink counter": 0.25, "round table": 0.15,
                "dining table": 0.1, "long table": 0.05, "island": 0.05},
        "bowl": {"hob counter": 0.3, "sink counter": 0.25, "island": 0.2,
                 "dining table": 0.15, "pantry shelf": 0.1},
        "chips-bag": {"low shelf": 0.3, "round table": 0.25, "pantry shelf": 0.2,
                      "long table": 0.15, "sideboard": 0.1},
    },
    peaky={"bottle": "island", "can": "sideboard", "cup": "coffee side table",
           "bowl": "sink counter", "chips-bag": "long table"},
)

KITCHEN2 = Plan(
    title="Office kitchen of 120 m2 with a bar, a dining hall, a lounge corner and a pantry",
    size=(12.0, 10.0),
    walls=[
        (9.3, 7.3, 9.4, 10.0), (9.4, 7.3, 9.8, 7.4), (10.8, 7.3, 12.0, 7.4),  # the pantry
        (4.6, 0.0, 4.7, 2.6),  # between lounge and dining hall
    ],
    doors=[(-0.2, 4.4, 0.0, 5.4), (8.8, -0.2, 9.8, 0.0)],
    rooms={
        "kitchen": [(0.0, 5.5), (6.3, 5.5), (6.3, 6.7), (9.3, 6.7), (9.3, 10.0), (0.0, 10.0)],
        "dining": [(4.7, 0.0), (12.0, 0.0), (12.0, 7.3), (9.3, 7.3), (9.3, 6.7), (6.3, 6.7),
                   (6.3, 5.5), (1.0, 5.5), (1.0, 4.5), (4.7, 4.5)],
        "lounge": [(0.0, 0.0), (4.7, 0.0), (4.7, 4.5), (1.0, 4.5), (1.0, 5.5), (0.0, 5.5)],
        "pantry": [(9.3, 7.3), (12.0, 7.3), (12.0, 10.0), (9.3, 10.0)],
    },
    holders={
        "sink counter": ("CounterTop", "kitchen", 0.9, "solid", [
            (0.0, 8.0), (0.6, 8.0), (0.6, 9.4), (4.0, 9.4), (4.0, 10.0), (0.0, 10.0)]),
        "hob counter": ("CounterTop", "kitchen", 0.9, "solid", (0.0, 6.2, 0.6, 8.0)),
        "island": ("CounterTop", "kitchen", 0.9, "solid", (1.8, 7.2, 4.2, 8.2)),
        "coffee station": ("SideTable", "kitchen", 0.9, "solid", (5.5, 9.4, 7.1, 10.0)),
        "high table": ("DiningTable", "kitchen", 1.05, "legs", (5.8, 7.4, 7.2, 8.1)),
        "bar counter": ("CounterTop", "kitchen", 1.1, "solid", (1.6, 5.5, 5.6, 6.0)),
        "long table": ("DiningTable", "dining", 0.75, "legs", (6.8, 4.9, 8.8, 5.8)),
        "window table": ("DiningTable", "dining", 0.75, "legs", (6.5, 1.7, 8.5, 2.6)),
        "corner table": ("DiningTable", "dining", 0.75, "legs", (10.4, 5.0, 0.8, 0.8, 29.0)),
        "round table": ("DiningTable", "dining", 0.75, "legs", (10.6, 1.8, 0.6)),
        "standing table": ("SideTable", "dining", 1.1, "legs", (5.7, 3.7, 0.4)),
        "sideboard": ("Dresser", "dining", 0.85, "solid", (6.3, 0.0, 8.1, 0.4)),
        "snack shelf": ("Shelf", "dining", 1.3, "solid", (4.7, 0.5, 5.1, 2.1)),
        "coffee table": ("CoffeeTable", "lounge", 0.4, "legs", (1.8, 1.3, 2.4, 2.5)),
        "lounge side table": ("SideTable", "lounge", 0.55, "legs", (0.0, 3.0, 0.5, 3.5)),
        "bookshelf": ("Shelf", "lounge", 1.1, "solid", (1.2, 0.0, 3.0, 0.4)),
        "pantry shelf": ("ShelvingUnit", "pantry", 1.8, "solid", (11.6, 7.4, 12.0, 9.5)),
        "pantry worktop": ("CounterTop", "pantry", 0.9, "solid", (9.4, 9.5, 12.0, 10.0)),
    },
    others={
        "oven tower": ("Oven", "kitchen", 2.1, "solid", (0.0, 5.6, 0.6, 6.2)),
        "fridge": ("Fridge", "kitchen", 1.9, "solid", (4.0, 9.3, 4.8, 10.0)),
        "drinks fridge": ("Fridge", "kitchen", 1.8, "solid", (4.8, 9.3, 5.5, 10.0)),
        "waste bin": ("GarbageCan", "kitchen", 0.6, "solid", (7.1, 9.6, 7.5, 10.0)),
        "paper bin": ("GarbageCan", "kitchen", 0.6, "solid", (7.5, 9.6, 7.9, 10.0)),
        "crockery cabinet": ("Cabinet", "kitchen", 2.0, "solid", (8.3, 9.6, 9.3, 10.0)),
        "tray trolley": ("Cart", "kitchen", 1.0, "legs", (8.8, 7.6, 9.3, 8.5)),
        "bar pillar": ("Pillar", "kitchen", 2.5, "solid", (5.6, 5.6, 5.9, 5.9)),
        "hall pillar": ("Pillar", "dining", 2.5, "solid", (9.4, 3.3, 9.7, 3.6)),
        "lounge pillar": ("Pillar", "lounge", 2.5, "solid", (4.5, 2.6, 4.8, 2.9)),
        "water cooler": ("WaterCooler", "dining", 1.1, "solid", (11.6, 3.2, 12.0, 3.6)),
        "hall plant": ("HousePlant", "dining", 1.3, "solid", (11.5, 0.0, 12.0, 0.5)),
        "sofa": ("Sofa", "lounge", 0.8, "solid", (0.0, 0.8, 0.9, 3.0)),
        "armchair 1": ("ArmChair", "lounge", 0.8, "solid", (1.4, 3.4, 2.1, 4.2)),
        "armchair 2": ("ArmChair", "lounge", 0.8, "solid", (3.5, 3.2, 0.8, 0.8, 35.0)),
        "television": ("TVStand", "lounge", 1.1, "solid", (4.2, 0.9, 4.6, 2.3)),
        "lounge plant": ("HousePlant", "lounge", 1.3, "solid", (0.0, 0.0, 0.5, 0.5)),
        "chest freezer": ("Freezer", "pantry", 0.9, "solid", (9.4, 8.5, 10.1, 9.5)),
    },
    seats={
        "high stool": ("kitchen", 0.75, [(5.9, 7.0), (6.7, 7.0)]),
        "bar stool": ("dining", 0.75, [(2.0, 5.1), (2.7, 5.1), (3.4, 5.1), (4.1, 5.1), (4.8, 5.1)]),
        "long table chair": ("dining", 0.45, [
            (7.0, 5.8), (7.6, 5.8), (8.2, 5.8), (7.0, 4.5), (7.6, 4.5), (8.2, 4.5)]),
        "window table chair": ("dining", 0.45, [
            (6.7, 2.6), (7.3, 2.6), (7.9, 2.6), (6.7, 1.3), (7.3, 1.3), (7.9, 1.3)]),
        "corner table chair": ("dining", 0.45, [
            (10.93, 5.3, 0.4, 0.4, 29.0), (10.1, 5.53, 0.4, 0.4, 29.0),
            (9.87, 4.7, 0.4, 0.4, 29.0), (10.7, 4.47, 0.4, 0.4, 29.0)]),
        "round table chair": ("dining", 0.45, [(9.6, 1.6), (10.4, 2.4), (10.4, 0.8)]),
    },
    spread={
        "bottle": {"bar counter": 0.25, "island": 0.15, "long table": 0.15, "sideboard": 0.15,
                   "sink counter": 0.1, "pantry worktop": 0.1, "standing table": 0.1},
        "can": {"pantry shelf": 0.25, "bar counter": 0.2, "pantry worktop": 0.15,
                "snack shelf": 0.15, "high table": 0.1, "coffee table": 0.1,
                "window table": 0.05},
        "cup": {"coffee station": 0.35, "sink counter": 0.2, "high table": 0.1,
                "round table": 0.1, "window table": 0.1, "lounge side table": 0.1,
                "corner table": 0.05},
        "bowl": {"island": 0.25, "hob counter": 0.25, "sink counter": 0.15,
                 "long table": 0.15, "corner table": 0.1, "round table": 0.1},
        "chips-bag": {"coffee table": 0.3, "snack shelf": 0.25, "pantry shelf": 0.15,
                      "bookshelf": 0.1, "lounge side table": 0.1, "standing table": 0.1},
    },
    peaky={"bottle": "sideboard", "can": "pantry shelf", "cup": "coffee station",
           "bowl": "hob counter", "chips-bag": "coffee table"},
)
# fmt: on


def outline(shape: Shape) -> list[Point]:
    """Return the corners of a shape, counter-clockwise, rounded to the centimetre."""
    if isinstance(shape, list):
        corners = shape
    elif len(shape) == 2:
        return outline((*shape, shape[0] + SEAT_M, shape[1] + SEAT_M))
    elif len(shape) == 4:
        x0, y0, x1, y1 = shape
        corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    elif len(shape) == 5:
        x, y, width, depth, degrees = shape
        c, s = cos(radians(degrees)) / 2, sin(radians(degrees)) / 2
        signs = [(-width, -depth), (width, -depth), (width, depth), (-width, depth)]
        corners = [(x + u * c - v * s, y + u * s + v * c) for u, v in signs]
    else:
        x, y, radius = shape
        reach, angles = radius / cos(pi / 12), [(2 * k + 1) * pi / 12 for k in range(12)]
        corners = [(x + reach * cos(a), y + reach * sin(a)) for a in angles]
    return [(round(x, 2) + 0.0, round(y, 2) + 0.0) for x, y in corners]


def numbered_seats(plan: Plan) -> dict[str, Surface]:
    """Give every chair and stool a name of its own."""
    return {
        f"{group} {number}": ("Stool" if "stool" in group else "Chair", room, height, "legs", shape)
        for group, (room, height, shapes) in plan.seats.items()
        for number, shape in enumerate(shapes, start=1)
    }


def covered(polygon: list[Point], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Tell which of the points (x, y) lie inside a simple polygon (even-odd rule)."""
    inside = np.zeros(x.shape, dtype=bool)
    for (ax, ay), (bx, by) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        if ay != by:
            inside ^= ((ay > y) != (by > y)) & (x < ax + (y - ay) * (bx - ax) / (by - ay))
    return inside


def draw(plan: Plan) -> np.ndarray:
    """Return the gray image of the map, row 0 at the top: a cell is what its centre is."""
    width, height = plan.size
    columns, rows = (round((side + 2 * EDGE_M) / RESOLUTION_M) for side in plan.size)
    x, y = np.meshgrid(
        (np.arange(columns) + 0.5) * RESOLUTION_M - EDGE_M,
        (np.arange(rows)[::-1] + 0.5) * RESOLUTION_M - EDGE_M,
    )
    image = np.full((rows, columns), UNKNOWN, dtype=np.uint8)
    surfaces = (plan.holders | plan.others | numbered_seats(plan)).values()
    layers: list[tuple[int, list[Shape]]] = [
        (OCCUPIED, [(-WALL_M, -WALL_M, width + WALL_M, height + WALL_M)]),
        (UNKNOWN, plan.doors),
        (OCCUPIED, [(-DOOR_M, -DOOR_M, width + DOOR_M, height + DOOR_M)]),
        (FREE, [(0.0, 0.0, width, height)]),
        (OCCUPIED, plan.walls + [shape for *_, shape in surfaces]),
    ]
    for gray, shapes in layers:
        for shape in shapes:
            image[covered(outline(shape), x, y)] = gray
    return image


def flow(items: list[str], per_line: int, indent: int) -> str:
    """Join items by commas, a few to a line; later lines are indented."""
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return (",\n" + " " * indent).join(lines)


def polygon_text(shape: Shape) -> str:
    """Write the polygon of a room or a surface as a flow-style list."""
    return f"    polygon: [{flow([f'[{x}, {y}]' for x, y in outline(shape)], 6, 14)}]\n"


def places_text(plan: Plan) -> str:
    """Write places.yaml, one block to a surface."""
    text = f"format: sightline-places/1\ntitle: {plan.title}\n\nrooms:\n"
    for name, corners in plan.rooms.items():
        text += f"  {name}:\n{polygon_text(corners)}"
    text += "\nsurfaces:\n"
    for remark, surfaces in (
        ("  # objects lie on these\n", plan.holders),
        ("\n  # these only stand in the way\n", plan.others),
        ("\n  # seats\n", numbered_seats(plan)),
    ):
        text += remark
        for name, (category, room, height, support, shape) in surfaces.items():
            text += f"  {name}:\n    category: {category}\n    room: {room}\n"
            text += f"    height_m: {height}\n    support: {support}\n{polygon_text(shape)}"
    text += "\ndistributions:\n"
    peaky = {thing: {place: 1.0} for thing, place in plan.peaky.items()}
    for distribution, objects in (("spread", plan.spread), ("peaky", peaky)):
        text += f"  {distribution}:\n"
        for thing, chances in objects.items():
            shares = flow([f"{place}: {p}" for place, p in chances.items()], 4, 7 + len(thing))
            text += f"    {thing}: {{{shares}}}\n"
    return text


def main() -> None:
    """Write the scenario folders."""
    default = Path(__file__).resolve().parents[1] / "src" / "sightline" / "scenarios"
    parser = argparse.ArgumentParser(description="Draw the two office kitchens.")
    parser.add_argument("--out", type=Path, default=default, help="folder of the scenarios")
    out: Path = parser.parse_args().out
    for name, plan in {"kitchen1": KITCHEN1, "kitchen2": KITCHEN2}.items():
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "map.yaml").write_text(MAP_YAML, encoding="utf-8", newline="\n")
        (folder / "places.yaml").write_text(places_text(plan), encoding="utf-8", newline="\n")
        Image.fromarray(draw(plan)).save(folder / "map.png")


if __name__ == "__main__":
    main()
