"""What the movable objects look like and weigh: meshes of five kitchen things, standing on z = 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np
from numpy.typing import NDArray

Vertices = NDArray[np.float64]  # (n, 3) metres
Faces = NDArray[np.int64]  # (m, 3) rows of vertices, counter-clockwise from outside
Colour = tuple[float, float, float]

SIDES = 16  # of a thing of revolution
Profile = Sequence[tuple[float, float]]  # (radius, height), from the middle of the bottom


@dataclass(frozen=True, eq=False)
class Thing:
    """A movable object: its surface, what it collides with (the hull of the surface), and its mass."""

    name: str
    vertices: Vertices
    faces: Faces
    colour: Colour
    mass_kg: float

    @property
    def radius_m(self) -> float:
        """Radius of the smallest circle around its axis that holds its footprint."""
        return float(np.hypot(*self.vertices[:, :2].T).max())

    @property
    def height_m(self) -> float:
        """Height above what it stands on."""
        return float(self.vertices[:, 2].max())

    @property
    def outline_m(self) -> tuple[float, float]:
        """Width and height of what a camera sees of it from the side."""
        return float(np.ptp(self.vertices[:, 0])), self.height_m


def thing(name: str) -> Thing:
    """The shape of an object; a cube of 10 cm for one that has none here."""
    make = SHAPES.get(name)
    if make is None:
        vertices, faces = _turned([(0.0, 0.0), (0.07, 0.0), (0.07, 0.1), (0.0, 0.1)], sides=4)
        return Thing(name, vertices, faces, (0.6, 0.2, 0.7), 0.3)
    return make


def _turned(profile: Profile, *, sides: int = SIDES) -> tuple[Vertices, Faces]:
    """The surface that a profile sweeps around the z axis."""
    angles = [2 * pi * (i + 0.5) / sides for i in range(sides)]
    rings = [[(r * cos(a), r * sin(a), z) for a in angles] for r, z in profile]
    vertices = np.array(rings).reshape(-1, 3)
    faces = []
    for low in range(len(profile) - 1):
        for i in range(sides):
            a, b = low * sides + i, low * sides + (i + 1) % sides
            c, d = a + sides, b + sides
            faces += [(a, b, d), (a, d, c)]
    return vertices, np.array(faces)


def _pillow(width: float, depth: float, height: float, *, count: int = 9) -> tuple[Vertices, Faces]:
    """A filled bag that lies flat: thick in the middle, and along its rim its two sides meet."""
    u, v = np.meshgrid(np.linspace(-1, 1, count), np.linspace(-1, 1, count))
    bulge = ((1 - u**2) * (1 - v**2)) ** 0.4
    x, y = width / 2 * u.ravel(), depth / 2 * v.ravel()
    top, bottom = height * (0.35 + 0.65 * bulge.ravel()), height * 0.35 * (1 - bulge.ravel())
    vertices = np.vstack([np.column_stack([x, y, top]), np.column_stack([x, y, bottom])])
    faces, under = [], count * count
    for row in range(count - 1):
        for column in range(count - 1):
            a = row * count + column
            b, c, d = a + 1, a + count, a + count + 1
            faces += [(a, b, d), (a, d, c)]
            faces += [(under + a, under + d, under + b), (under + a, under + c, under + d)]
    return vertices, np.array(faces)


BOTTLE: Profile = (
    (0.0, 0.0), (0.036, 0.0), (0.036, 0.15), (0.014, 0.2), (0.014, 0.25), (0.0, 0.25),
)  # fmt: skip
CAN: Profile = ((0.0, 0.0), (0.033, 0.0), (0.033, 0.122), (0.0, 0.122))
CUP: Profile = (
    (0.0, 0.0), (0.034, 0.0), (0.042, 0.1), (0.038, 0.1), (0.03, 0.006), (0.0, 0.006),
)  # fmt: skip
BOWL: Profile = (
    (0.0, 0.0), (0.035, 0.0), (0.06, 0.025), (0.08, 0.07), (0.075, 0.07), (0.054, 0.028), (0.0, 0.008),
)  # fmt: skip

SHAPES = {
    shape.name: shape
    for shape in (
        Thing("bottle", *_turned(BOTTLE), (0.1, 0.45, 0.2), 0.5),
        Thing("can", *_turned(CAN), (0.8, 0.1, 0.1), 0.35),
        Thing("cup", *_turned(CUP), (0.95, 0.85, 0.1), 0.3),
        Thing("bowl", *_turned(BOWL), (0.15, 0.3, 0.85), 0.35),
        Thing("chips-bag", *_pillow(0.17, 0.24, 0.07), (0.95, 0.45, 0.05), 0.15),
    )
}
