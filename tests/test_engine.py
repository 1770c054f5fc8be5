"""Bodies in the physics engine: things come to rest, rays and pictures agree with the geometry."""

from collections.abc import Iterator
from math import inf, pi

import numpy as np
import pytest

from rooms import two_rooms
from sightline import polygon as poly
from sightline.detect import Camera
from sightline.errors import WorldError
from sightline.worlds import engine as engine_module
from sightline.worlds.engine import Engine, prism_mesh
from sightline.worlds.scenes import Prism, Scene
from sightline.worlds.things import thing

pytest.importorskip("pybullet")

LIES = {  # one thing on each kind of surface: top with legs, body, open shelf
    "bottle": (1.9, 1.5),
    "can": (0.25, 1.0),
    "cup": (2.2, 1.6),
    "bowl": (6.0, 2.2),
    "chips-bag": (2.9, 0.15),
}
WIDE = np.deg2rad(69.0)


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene.of(two_rooms())


@pytest.fixture
def engine(scene: Scene) -> Iterator[Engine]:
    with Engine(scene) as out:
        yield out


def furnished(engine: Engine) -> dict[str, tuple[float, float, float]]:
    """Set the five things down and let them settle; where each was set down."""
    spots = {}
    for number, (name, at) in enumerate(LIES.items()):
        shape = thing(name)
        spots[name] = engine.scene.rest(name, np.array(at), shape.radius_m)
        engine.put(shape, spots[name], 0.7 * number)
    engine.settle()
    return spots


def upright(engine: Engine, body: int) -> float:
    """Cosine of the angle by which a body's axis leans."""
    x, y, _, _ = engine.call("getBasePositionAndOrientation", body)[1]
    return 1 - 2 * (x * x + y * y)


def test_things_come_to_rest_where_they_are_set_down_and_stay(engine: Engine):
    spots = furnished(engine)
    settled = {name: engine.where(body) for name, body in engine.things.items()}
    engine.step(3.0)
    for name, body in engine.things.items():
        x, y, z = engine.where(body)
        assert z - thing(name).height_m / 3 == pytest.approx(spots[name][2], abs=0.005)
        assert (x, y) == pytest.approx(spots[name][:2], abs=0.02)
        assert (x, y, z) == pytest.approx(settled[name], abs=0.002)
        assert upright(engine, body) > 0.999


def test_a_thing_without_a_surface_falls_to_the_floor_and_one_aslant_topples(engine: Engine):
    cup, bottle = thing("cup"), thing("bottle")
    engine.put(cup, (1.0, 0.6, 0.5), 0.0)
    body = engine.put(bottle, (3.2, 2.4, 0.2), 0.0)
    lean = engine._p.getQuaternionFromEuler([1.0, 0, 0])
    engine.call("resetBasePositionAndOrientation", body, [3.2, 2.4, 0.3], lean)
    engine.step(2.0)
    assert engine.where(engine.things["cup"])[2] < cup.height_m
    assert upright(engine, body) < 0.3
    assert engine.where(body)[2] == pytest.approx(0.036, abs=0.01)


def test_equal_calls_give_equal_results(scene: Scene):
    def course() -> list[tuple[float, ...]]:
        with Engine(scene) as one:
            furnished(one)
            one.step(0.5)
            return [one.where(body) for body in one.things.values()]

    assert course() == course()


def test_time_passes_in_whole_steps(engine: Engine):
    engine.step(0.5)
    assert engine.time_s == pytest.approx(0.5)
    assert furnished(engine)
    assert 0.5 < engine.time_s <= 1.5 + 1e-9


def fan(count: int, height_m: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Unit directions (n, 3) all around."""
    angles = 2 * pi * np.arange(count) / count
    return np.column_stack([np.cos(angles), np.sin(angles), 0 * angles]), np.array([0, 0, height_m])


def test_rays_end_where_the_slice_says_and_nowhere_before(engine: Engine):
    lidar_map = engine.scene.slice_at(0.2)
    free = engine.scene.home.map.free_space(0.25).points(0.5)
    around, lift = fan(60)
    for spot in free:
        start = np.append(spot, 0.0) + lift
        metres = 8.0 * engine.rays(np.broadcast_to(start, around.shape), start + 8.0 * around)
        assert metres.max() < 8.0  # a closed flat
        hits = spot + metres[:, None] * around[:, :2]
        gaps = lidar_map.look_up(lidar_map.clearance_m, hits, 0.0)
        assert gaps.max() <= 0.02
        share = np.linspace(0, 1, 100)[:, None, None]
        before = spot + share * (metres - 0.03)[:, None] * around[:, :2]
        assert not lidar_map.look_up(lidar_map.occupied, before, True).any()


def test_rays_hit_what_is_at_their_height(engine: Engine):
    """Under a table only its legs, at its height the edge of its top, above it what lies on it."""
    furnished(engine)

    def ray(height_m: float, y: float = 1.5) -> float:
        return float(1.0 + 2.5 * engine.rays([(1.0, y, height_m)], [(3.5, y, height_m)])[0])

    assert ray(0.2) == 3.5
    assert ray(0.73) == pytest.approx(1.6, abs=0.002)
    assert ray(0.85) == pytest.approx(1.9 - 0.036, abs=0.005)  # the bottle
    assert ray(0.85, 1.4) == 3.5
    assert ray(0.2, 1.27) == pytest.approx(1.625, abs=0.03)  # a leg


def test_a_box_is_hit_and_seen(engine: Engine):
    before = engine.rays([(0.8, 2.7, 0.2)], [(3.8, 2.7, 0.2)])[0]
    camera = Camera(64, 48, WIDE, (0.8, 2.7, 0.4), 0.0, 0.0)
    empty = engine.picture(camera).depth_m[24, 32]
    engine.add_box(np.array([2.5, 2.7]), 0.4, 0.6)
    assert before == 1.0
    assert 3.0 * engine.rays([(0.8, 2.7, 0.2)], [(3.8, 2.7, 0.2)])[0] == pytest.approx(
        1.5, abs=0.01
    )
    assert engine.rays([(0.8, 2.7, 0.7)], [(3.8, 2.7, 0.7)])[0] == 1.0
    assert engine.picture(camera).depth_m[24, 32] == pytest.approx(1.5, abs=0.01)
    assert empty == pytest.approx(3.2, abs=0.01)


@pytest.mark.parametrize(("x", "yaw", "metres"), [(0.9, 0.0, 3.1), (3.4, pi, 3.4), (3.0, 0.0, 1.0)])
def test_a_wall_is_as_deep_in_the_picture_as_it_is_far(engine, x, yaw, metres):
    picture = engine.picture(Camera(320, 240, WIDE, (x, 2.65, 1.4), yaw, 0.0))
    assert picture.depth_m[100:140, 150:170] == pytest.approx(metres, rel=0.005)
    assert picture.rgb.shape == (240, 320, 3)
    assert np.ptp(picture.rgb[100:140, 150:170].reshape(-1, 3), axis=0).max() <= 3  # evenly lit


def test_where_there_is_nothing_the_depth_is_infinite(engine: Engine):
    picture = engine.picture(Camera(64, 48, WIDE, (2.0, 1.5, 1.2), 0.0, -1.4))  # the sky
    assert (picture.depth_m == inf).all()
    assert (picture.bodies == -1).all()


def test_the_pixels_of_a_thing_lie_on_it(engine: Engine):
    furnished(engine)
    for name, body in engine.things.items():
        x, y, z = engine.where(body)
        shape = thing(name)
        bottom = z - shape.height_m / 3
        # from the free side, about a metre away
        away = {"can": (1.0, 0.0), "bowl": (0.0, -1.1)}.get(name, (0.0, 1.0))
        lens = np.array([x + away[0], y + away[1], 1.2])
        yaw, pitch = np.arctan2(-away[1], -away[0]), np.arctan2(1.2 - z, np.hypot(*away))
        camera = Camera(320, 240, WIDE, tuple(lens.tolist()), yaw, pitch)
        picture = engine.picture(camera)
        rows, columns = np.nonzero(picture.bodies == body)
        assert len(rows) > 200
        pixels = np.column_stack([columns, rows]) + 0.5
        points = camera.unproject(pixels, picture.depth_m[rows, columns])
        assert np.hypot(*(points[:, :2] - (x, y)).T).max() <= shape.radius_m + 0.02
        assert points[:, 2].min() >= bottom - 0.02
        assert points[:, 2].max() <= bottom + shape.height_m + 0.02
        colour = picture.rgb[rows, columns].mean(axis=0) / 255
        assert np.dot(colour, shape.colour) / np.linalg.norm(colour) > 0.9 * np.linalg.norm(
            shape.colour
        )


@pytest.mark.parametrize(
    ("x", "y", "shown"), [(2.5, 0.9, True), (3.5, 2.6, False), (1.0, 2.8, False), (3.0, 0.9, True)]
)
def test_a_wall_hides_what_is_behind_it(engine: Engine, x, y, shown):
    """The bowl, in the other room, from places with the doorway or the wall in between."""
    furnished(engine)
    door_y = y + (2.2 - y) * (4.05 - x) / (6.0 - x)
    assert (1.0 < door_y < 1.9) == shown
    camera = Camera(320, 240, WIDE, (x, y, 1.2), np.arctan2(2.2 - y, 6.0 - x), 0.2)
    assert (engine.picture(camera).bodies == engine.things["bowl"]).any() == shown


def test_a_mesh_of_a_prism_is_closed_and_as_large_as_the_prism():
    u_shape = np.array([(0, 0), (5, 0), (5, 3), (4, 3), (4, 1), (1, 1), (1, 3), (0, 3)], float)
    for polygon in (u_shape, u_shape[::-1]):
        vertices, faces = prism_mesh(Prism(polygon, 0.5, 2.5, (1, 1, 1)))
        a, b, c = vertices[faces].transpose(1, 0, 2)
        volume = float((a * np.cross(b, c)).sum() / 6)
        assert volume == pytest.approx(2.0 * abs(poly.signed_area(polygon)))
        edges = [tuple(e) for f in faces for e in zip(f, np.roll(f, -1), strict=True)]
        assert len(edges) == len(set(edges))
        assert {(j, i) for i, j in edges} == set(edges)


def test_a_body_that_is_not_convex_is_hollow_where_it_should_be(engine: Engine):
    """A U on the floor: a ray goes into its mouth as far as its bottom."""
    mouth = np.array([(0, 0), (5, 0), (5, 3), (4, 3), (4, 1), (1, 1), (1, 3), (0, 3)]) * 0.2
    engine._solid(Prism(mouth + np.array([2.8, 2.0]), 0.0, 0.5, (1, 1, 1)))
    down = engine.rays([(3.3, 2.9, 0.2)], [(3.3, 1.9, 0.2)])[0]
    assert down == pytest.approx(0.7, abs=0.005)


def test_closing_twice_is_fine(scene: Scene):
    one = Engine(scene)
    one.close()
    one.close()
    with Engine(scene) as two:
        two.close()
    del one, two


def test_two_engines_do_not_meet(scene: Scene):
    with Engine(scene) as one, Engine(scene) as two:
        one.add_box(np.array([2.5, 2.7]), 0.4, 0.6)
        assert two.rays([(0.8, 2.7, 0.2)], [(3.8, 2.7, 0.2)])[0] == 1.0
        one.close()
        two.step(0.1)
        assert two.time_s == pytest.approx(0.1)


def test_without_pybullet_the_error_says_what_to_install(scene: Scene, monkeypatch):
    def missing(name: str) -> object:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(engine_module, "import_module", missing)
    with pytest.raises(WorldError, match=r"sightline\[physics\]") as caught:
        Engine(scene)
    assert caught.value.__suppress_context__
