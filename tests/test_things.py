"""The movable objects: closed surfaces of plausible size and weight that stand on z = 0."""

from collections import Counter

import numpy as np
import pytest

from sightline.worlds.things import SHAPES, Thing, thing

NAMES = ("bottle", "can", "cup", "bowl", "chips-bag", "unicorn")
SIZES = {  # metres: least and most of width (the wider one) and of height; grams, least and most
    "bottle": (0.06, 0.09, 0.2, 0.33, 300, 1100),
    "can": (0.06, 0.07, 0.11, 0.17, 300, 550),
    "cup": (0.07, 0.1, 0.08, 0.12, 200, 450),
    "bowl": (0.12, 0.2, 0.05, 0.1, 200, 700),
    "chips-bag": (0.15, 0.3, 0.04, 0.1, 80, 300),
}


def solid(one: Thing) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Corners, equal ones as one, and the faces that are left of area above 0."""
    corners, which = np.unique(np.round(one.vertices, 9), axis=0, return_inverse=True)
    faces = [tuple(which.ravel()[list(face)].tolist()) for face in one.faces]
    return corners, [face for face in faces if len(set(face)) == 3]


@pytest.mark.parametrize("name", NAMES)
def test_a_mesh_is_closed_and_faces_outwards(name):
    corners, faces = solid(thing(name))
    edges = Counter((a, b) for f in faces for a, b in zip(f, (*f[1:], f[0]), strict=True))
    assert all(count == edges[b, a] for (a, b), count in edges.items())
    volume = sum(np.dot(corners[a], np.cross(corners[b], corners[c])) / 6 for a, b, c in faces)
    assert volume > 1e-5
    around = np.ptp(corners, axis=0).prod()
    assert volume <= around * (1 + 1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_thing_stands_on_the_ground_around_its_axis(name):
    one = thing(name)
    assert one.vertices[:, 2].min() == 0
    assert one.height_m == one.vertices[:, 2].max()
    np.testing.assert_allclose(one.vertices[:, :2].mean(axis=0), 0, atol=1e-9)
    assert np.hypot(*one.vertices[:, :2].T).max() == pytest.approx(one.radius_m)
    width, height = one.outline_m
    assert 0 < width <= 2 * one.radius_m + 1e-9
    assert height == one.height_m


@pytest.mark.parametrize("name", SIZES)
def test_sizes_and_masses_are_those_of_such_things(name):
    low_width, high_width, low, high, light, heavy = SIZES[name]
    one = thing(name)
    assert one.name == name
    assert low_width <= np.ptp(one.vertices[:, :2], axis=0).max() <= high_width
    assert low <= one.height_m <= high
    assert light <= 1000 * one.mass_kg <= heavy


def test_an_unknown_name_gets_a_cube_of_its_own():
    one = thing("unicorn")
    assert one.name == "unicorn"
    np.testing.assert_allclose(np.ptp(one.vertices, axis=0), 0.1, atol=0.002)
    assert one.mass_kg > 0


def test_colours_tell_things_apart():
    colours = np.array([one.colour for one in SHAPES.values()])
    apart = np.linalg.norm(colours[:, None] - colours[None], axis=-1)
    assert apart[~np.eye(len(colours), dtype=bool)].min() > 0.3
    assert ((colours >= 0) & (colours <= 1)).all()
