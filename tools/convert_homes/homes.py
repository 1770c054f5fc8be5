"""The three homes: which furniture becomes a surface, where it stands, and which room is where.

Heights are those of the place to put things on; a source's top height is replaced where it
means something else (a headboard, a backrest, a tap), and `why` says so.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from grid import Grid, Polygon, Pose, bounds, box, inside, l_shape, outline, read_grid, register


@dataclass(frozen=True)
class Surface:
    """A piece of furniture in the map frame; height in metres above the floor."""

    name: str
    category: str
    height: float
    support: str
    polygon: Polygon


@dataclass(frozen=True)
class Home:
    """One scenario before it is written."""

    name: str
    title: str
    source: str
    licence: str
    notice: str  # text of the LICENSE file
    robot_radius: float  # metres, for the checks
    grid: Grid
    rooms: dict[str, Polygon]
    surfaces: list[Surface]
    remarks: list[str]  # lines for the report


# --- aws_small_house ------------------------------------------------------------------------


class Model(NamedTuple):
    """How a model of the AWS house becomes a surface; height None = the model's top."""

    name: str
    category: str
    support: str = "solid"
    height: float | None = None
    why: str = ""
    corner: bool = False  # L-shaped inside its footprint


AWS_MODELS = {
    "KitchenTable_01_001": Model("kitchen table", "DiningTable", "legs"),
    "KitchenCabinet_01_001": Model(
        "kitchen counter", "CounterTop", height=0.90, corner=True,
        why="top 1.15 is the tap; the hob and the seasoning box stand at 0.90",
    ),
    "CoffeeTable_01_001": Model("coffee table", "CoffeeTable", "legs"),
    "ReadingDesk_01_001": Model("reading desk", "Desk", "legs"),
    "NightStand_01_001": Model("nightstand 1", "SideTable"),
    "NightStand_01_002": Model("nightstand 2", "SideTable"),
    "BalconyTable_01_001": Model("balcony table", "SideTable", "legs"),
    "TVCabinet_01_001": Model("tv cabinet", "TVStand"),
    "ShoeRack_01_001": Model("shoe rack", "ShelvingUnit", "legs"),
    "SofaC_01_001": Model(
        "corner sofa", "Sofa", height=0.45, corner=True, why="top 1.04 is the backrest",
    ),
    "Bed_01_001": Model("bed", "Bed", height=0.55, why="top 1.28 is the headboard"),
    "ChairA_01_001": Model("dining chair 1", "Chair", "legs", 0.46, "top is the backrest"),
    "ChairA_01_002": Model("dining chair 2", "Chair", "legs", 0.46, "top is the backrest"),
    "ChairA_01_003": Model("dining chair 3", "Chair", "legs", 0.46, "top is the backrest"),
    "ChairA_01_004": Model("dining chair 4", "Chair", "legs", 0.46, "top is the backrest"),
    "ChairA_01_005": Model("desk chair", "Chair", "legs", 0.46, "top is the backrest"),
    "ChairD_01_001": Model("balcony chair 1", "ArmChair", "legs", 0.42, "top is the backrest"),
    "ChairD_01_002": Model("balcony chair 2", "ArmChair", "legs", 0.42, "top is the backrest"),
    "ChairD_01_003": Model("play room chair", "ArmChair", "legs", 0.42, "top is the backrest"),
    "Refrigerator_01_001": Model("fridge", "Fridge"),
    "Wardrobe_01_001": Model("wardrobe", "Wardrobe"),
    "AirconditionerB_01_001": Model("air conditioner", "AirConditioner"),
    "RoomWall_01_001": Model("room divider", "Partition"),
    "FitnessEquipment_01_001": Model("exercise machine", "FitnessEquipment", "legs"),
    "Trash_01_001": Model("trash can 1", "GarbageCan"),
    "Trash_01_002": Model("trash can 2", "GarbageCan"),
}  # fmt: skip

AWS_ROOMS = {
    "bedroom": box(-9.35, -1.45, -2.5, 3.1),
    "play room": box(-9.35, -5.5, -2.5, -1.45),
    "living room": box(-2.5, -5.5, 4.85, 3.1),
    "balcony": box(-2.3, 3.1, 4.65, 5.5),
    "kitchen": box(4.85, -5.5, 9.35, 3.1),
}


def aws_small_house(data: Path) -> Home:
    """AWS RoboMaker small house: footprints in furniture.json are in the map frame."""
    folder = data / "aws_small_house"
    grid = read_grid(folder / "map.yaml")
    models = {m["name"]: m for m in json.loads((folder / "furniture.json").read_text())}
    plain = [
        [tuple(p) for p in models[key]["footprint"]]
        for key, model in AWS_MODELS.items()
        if not model.corner
    ]
    surfaces = []
    for key, model in AWS_MODELS.items():
        polygon = [tuple(p) for p in models[key]["footprint"]]
        if model.corner:
            polygon = l_shape(grid, polygon, ignore=plain)
        height = models[key]["top_height"] if model.height is None else model.height
        surfaces.append(Surface(model.name, model.category, height, model.support, polygon))
    return Home(
        "aws_small_house",
        "AWS RoboMaker small house: five rooms, map and furniture of a simulated world",
        "aws-robotics/aws-robomaker-small-house-world @ dd44be62 (map, furniture)",
        "MIT-0",
        (folder / "LICENSE").read_text(),
        0.25,
        grid,
        AWS_ROOMS,
        surfaces,
        [f"{m.name}: height {m.height}, {m.why}" for m in AWS_MODELS.values() if m.why],
    )


# --- iai_apartment --------------------------------------------------------------------------


class Piece(NamedTuple):
    """Parts (links) of the apartment that make one piece of furniture."""

    category: str
    support: str
    parts: tuple[str, ...]


IAI_PIECES = {
    "kitchen island": Piece("CounterTop", "solid", ("island_countertop",)),
    "worktop": Piece("CounterTop", "solid", ("cabinet5", "cabinet6", "side_A_rb", "countertop")),
    "tall cabinets": Piece("Cabinet", "solid", ("cabinet1", "cabinet2", "cabinet3")),
    "tall cabinet by the door": Piece("Cabinet", "solid", ("cabinet12", "side_A_left")),
    "coffee table": Piece("CoffeeTable", "solid", ("coffee_table",)),
    "bedside table": Piece("SideTable", "solid", ("bedside_table",)),
    "sofa": Piece("Sofa", "solid", ("sofa",)),
    "armchair": Piece("ArmChair", "solid", ("armchair",)),
    "wardrobe": Piece("Wardrobe", "solid", ("wardrobe",)),
}

# What the lidar saw of the furniture just above the floor: the island's body without its
# overhanging top, and front and sides of the row of cabinets at the wall.
IAI_SEEN = {
    "island": ("island_back", "island_waterfall_left", "island_waterfall_right"),
    "row": ("cabinet1", "cabinet1_drawer_bottom", "cabinet5_drawer_bottom", "side_A_rb"),
}

# The table between kitchen and living room is not in the model. The map shows its four legs
# (the largest of the marks around x 5.2, y 3.3) and those of six chairs; 5 cm overhang and the
# height of a common table are assumed. Map frame.
IAI_TABLE = Surface("dining table", "DiningTable", 0.74, "legs", box(4.71, 2.58, 5.69, 4.05))

IAI_ROOMS = {
    "kitchen": box(0.0, 0.05, 3.9, 5.1),
    "dining room": box(3.9, 0.05, 6.8, 5.1),
    "living room": box(6.8, 0.05, 9.95, 5.1),
}

IAI_NOTICE = """The package iai_apartment (map and model of the apartment laboratory) declares the
licence MIT in its package.xml and comes without a licence text. Below is the standard text.

MIT License

Copyright (c) University of Bremen and the maintainers of iai_apartment (package.xml names
giang, hoanggia@uni-bremen.de)

Permission is hereby granted, free of charge, to any person obtaining a copy of this software
and associated documentation files (the "Software"), to deal in the Software without
restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING
BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def union_box(boxes: dict[str, np.ndarray], parts: tuple[str, ...]) -> tuple[Polygon, float]:
    """Bounding rectangle and top height of some parts ([[x0, y0, z0], [x1, y1, z1]] each)."""
    low = np.min([boxes[part][0] for part in parts], axis=0)
    high = np.max([boxes[part][1] for part in parts], axis=0)
    return box(*low[:2].tolist(), *high[:2].tolist()), float(high[2])


def iai_apartment(data: Path) -> Home:
    """IAI apartment, Bremen: lidar map, furniture registered to it."""
    folder = data / "iai_apartment"
    grid = read_grid(folder / "map_24_08_2022.yaml")
    parts = json.loads((folder / "furniture_aabb.json").read_text())
    boxes = {part["name"]: np.array(part["aabb"]) for part in parts}
    seen = np.concatenate([outline(union_box(boxes, IAI_SEEN[key])[0]) for key in IAI_SEEN])
    pose, score = register(grid, seen[seen[:, 0] > 0.1])  # the row's back is in the wall
    surfaces = []
    for name, piece in IAI_PIECES.items():
        footprint, height = union_box(boxes, piece.parts)
        polygon = [tuple(p) for p in pose.apply(footprint).tolist()]
        surfaces.append(Surface(name, piece.category, height, piece.support, polygon))
    return Home(
        "iai_apartment",
        "Apartment laboratory of the University of Bremen: a real lidar map, open kitchen",
        "code-iai/iai_maps, iai_apartment @ 4d00cf3a (map, furniture)",
        "MIT",
        IAI_NOTICE,
        0.25,
        grid,
        IAI_ROOMS,
        [*surfaces, IAI_TABLE],
        [f"registration {pose}, agreement {score:.3f}"],
    )


# --- wrs2020 --------------------------------------------------------------------------------


class Item(NamedTuple):
    """A thing of the arena: its model in the world file, and the SDF model with its size."""

    category: str
    support: str
    include: str
    sdf: str


WRS_ITEMS = {
    "tall table": Item("SideTable", "legs", "wrc_tall_table", "wrc_tall_table"),
    "long table": Item("CoffeeTable", "legs", "wrc_long_table", "wrc_long_table"),
    "container table": Item("CoffeeTable", "legs", "wrc_long_table_0", "wrc_long_table"),
    "bookshelf": Item("ShelvingUnit", "solid", "wrc_bookshelf", "wrc_bookshelf"),
}


class Marked(NamedTuple):
    """A thing with a pose but no size in the data: footprint read off the map (map frame)."""

    category: str
    height: float
    polygon: Polygon
    why: str


WRS_MARKED = {
    "stair drawers": Marked(
        "Dresser", 0.62, box(0.0, -0.79, 0.70, -0.33),
        "two boxes of 0.26 m above each other from 0.10 m on (trofast_2 and _3 in the world)",
    ),
    "green bin": Marked("GarbageCan", 0.60, box(2.15, -0.82, 2.58, -0.40), "assumed height"),
    "black bin": Marked("GarbageCan", 0.60, box(2.67, -0.82, 3.10, -0.40), "assumed height"),
}  # fmt: skip

WRS_ROOMS = {  # below and above the wall in the middle of the map
    "room 1": box(-0.75, -0.85, 3.15, 2.1),
    "room 2": box(-0.65, 2.2, 3.2, 5.05),
}


def world_poses(path: Path) -> dict[str, Pose]:
    """Name -> pose of every model included in a Gazebo world."""
    poses = {}
    for include in ET.parse(path).getroot().iter("include"):
        x, y, _, _, _, yaw = map(float, include.findtext("pose").split())
        poses[include.findtext("name")] = Pose(x, y, yaw)
    return poses


def sdf_extent(path: Path) -> tuple[Polygon, float]:
    """Bounding rectangle and top of the collision boxes of an SDF model, in its own frame."""
    boxes = {}
    for collision in ET.parse(path).getroot().iter("collision"):
        size = collision.findtext("geometry/box/size")
        if size:
            centre = np.array(collision.findtext("pose").split()[:3], float)
            half = np.array(size.split(), float) / 2
            boxes[collision.get("name")] = np.array([centre - half, centre + half])
    return union_box(boxes, tuple(boxes))


def leg_points(extent: Polygon) -> np.ndarray:
    """Centres of a table's legs: 1 cm inside its corners."""
    x0, y0, x1, y1 = bounds(extent)
    return np.array(box(x0 + 0.01, y0 + 0.01, x1 - 0.01, y1 - 0.01))


def comments(path: Path) -> str:
    """The text of a file's comment lines."""
    lines = [line for line in path.read_text().splitlines() if line.startswith("#")]
    return "\n".join(line.lstrip("# ").rstrip() for line in lines) + "\n"


def wrs2020(data: Path) -> Home:
    """World Robot Summit 2020 arena: the world registered to its map by the tables' legs."""
    folder = data / "wrs2020"
    grid = read_grid(folder / "map.yaml")
    poses = world_poses(folder / "wrs2020.world.xacro")
    surfaces, legs = [], []
    for name, item in WRS_ITEMS.items():
        extent, height = sdf_extent(folder / f"{item.sdf}_model.sdf")
        place = poses[item.include]
        surfaces.append(
            Surface(name, item.category, height, item.support, place.apply(extent).tolist())
        )
        if item.support == "legs":
            legs.append(place.apply(leg_points(extent)))
    pose, score = register(grid, np.concatenate(legs))
    surfaces = [
        Surface(s.name, s.category, s.height, s.support, pose.apply(s.polygon).tolist())
        for s in surfaces
    ]
    surfaces += [
        Surface(n, m.category, m.height, "solid", m.polygon) for n, m in WRS_MARKED.items()
    ]
    notice = (
        (folder / "LICENSE.txt").read_text()
        + "\n\nThe map carries this notice of its own:\n\n"
        + comments(folder / "map.yaml")
        + "\n\nSizes of tables and bookshelf are those of the models whose names begin with wrc_,\n"
        "licensed CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/) by the same source.\n"
    )
    return Home(
        "wrs2020",
        "World Robot Summit 2020 arena: two small rooms of a robot competition",
        "hsr-project/tmc_wrs_gazebo @ 777adea0 (map, world, model sizes)",
        "BSD-3-Clause-Clear AND BSD-3-Clause AND CC-BY-4.0",
        notice,
        0.2,
        grid,
        WRS_ROOMS,
        surfaces,
        [f"registration {pose}, agreement {score:.3f}"]
        + [f"{name}: height {item.height}, {item.why}" for name, item in WRS_MARKED.items()],
    )


HOMES = (aws_small_house, iai_apartment, wrs2020)


def room_of(surface: Surface, rooms: dict[str, Polygon]) -> str | None:
    """The first room that holds the middle of the surface's bounding box."""
    x0, y0, x1, y1 = bounds(surface.polygon)
    middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2])
    return next((name for name, polygon in rooms.items() if inside(middle, polygon)), None)
