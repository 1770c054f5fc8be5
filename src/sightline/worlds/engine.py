"""A scene in the PyBullet physics engine: bodies, time steps, rays and pictures."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from math import cos, inf, sin, tan
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline import polygon as poly
from sightline.detect import Camera
from sightline.errors import WorldError
from sightline.maps import Points
from sightline.worlds.scenes import BOX_COLOUR, FLOOR_COLOUR, Colour, Prism, Scene
from sightline.worlds.things import Thing

STEP_S = 1 / 240
NEAR_M, FAR_M = 0.1, 12.0  # nothing nearer or farther is in a picture
BODIES, ROBOT = (
    3,
    4,
)  # collision groups: what rays hit (things 1, the scene 2), and the robot, which they pass
SETTLE_S = 1.0  # most time that things get to come to rest
AT_REST_M_S = 0.005
DROP_M = 0.003  # things are set down from this height
LIGHT = (-4.0, -3.0, 8.0)


Mesh = tuple[Points, NDArray[np.int64]]  # vertices (n, 3), faces (m, 3)


class Picture(NamedTuple):
    """Colours (h, w, 3) uint8, depth (h, w) metres along the axis (inf: nothing), bodies (h, w)."""

    rgb: NDArray[np.uint8]
    depth_m: NDArray[np.float32]
    bodies: NDArray[np.int32]


def bullet() -> Any:
    """The PyBullet module; a clear error where it is not installed."""
    try:
        with nullcontext() if "pybullet" in sys.modules else _silenced():
            return import_module("pybullet")
    except ModuleNotFoundError:
        raise WorldError(
            "The physics world needs PyBullet, which is not installed; pip install "
            "'sightline[physics]' brings it for Python 3.11, for newer ones pip install pybullet "
            "builds it with a C++ compiler."
        ) from None


@contextmanager
def _silenced() -> Iterator[None]:
    """Let nothing reach standard error: PyBullet greets there when it is loaded, past Python's own."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@dataclass(eq=False)
class Engine:
    """One simulation: the scene's bodies, the things on them, boxes, and the robot's body.

    Everything in it follows from the calls made since it was new or cleared, in their order: equal calls
    give equal results.
    """

    scene: Scene
    things: dict[str, int] = field(default_factory=dict, init=False)
    time_s: float = field(default=0.0, init=False)
    _movable: list[int] = field(default_factory=list, init=False)
    _shapes: dict[str, tuple[int, int]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._p = bullet()
        self._client = self._p.connect(self._p.DIRECT)
        if self._client < 0:
            raise WorldError("PyBullet could not start a simulation.")
        self.call("setGravity", 0, 0, -9.81)
        self.call("setTimeStep", STEP_S)
        self.call(
            "setPhysicsEngineParameter", numSolverIterations=20, deterministicOverlappingPairs=1
        )
        self._build()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether it can still be used."""
        return bool(self._client >= 0)

    def close(self) -> None:
        """End the simulation, if it has not ended yet."""
        if self._client >= 0:
            self._p.disconnect(physicsClientId=self._client)
            self._client = -1

    def __del__(self) -> None:
        if getattr(self, "_client", -1) >= 0:
            self.close()

    def clear(self) -> None:
        """Take away all but the scene, and begin anew."""
        for body in reversed(self._movable):
            self.call("removeBody", body)
        self._movable.clear()
        self.things.clear()
        self.time_s = 0.0

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a function of PyBullet in this simulation."""
        if self._client < 0:
            raise WorldError("The simulation is closed; a world's reset begins a new one.")
        return getattr(self._p, name)(*args, physicsClientId=self._client, **kwargs)

    @property
    def velocity_control(self) -> int:
        """The mode of a motor that holds a speed."""
        return int(self._p.VELOCITY_CONTROL)

    @property
    def position_control(self) -> int:
        """The mode of a motor that goes to an angle."""
        return int(self._p.POSITION_CONTROL)

    def step(self, seconds: float) -> None:
        """Let time pass, in whole steps."""
        for _ in range(round(seconds / STEP_S)):
            self._p.stepSimulation(physicsClientId=self._client)
        self.time_s += round(seconds / STEP_S) * STEP_S

    def load_robot(self, file: Path, pose: tuple[float, float, float]) -> int:
        """Load a robot's body at a pose (x, y, yaw); rays pass through it."""
        x, y, yaw = pose
        turn = self._p.getQuaternionFromEuler([0, 0, yaw])
        body = int(self.call("loadURDF", str(file), [x, y, 0.001], turn))
        for link in range(-1, self.call("getNumJoints", body)):
            self.call("setCollisionFilterGroupMask", body, link, ROBOT, BODIES)
        self._movable.append(body)
        return body

    def put(self, thing: Thing, at: tuple[float, float, float], yaw: float) -> int:
        """Set a thing down (x, y, z of what it stands on), turned by a yaw."""
        x, y, z = at
        hull, shape = self._shapes_of(thing.name, (thing.vertices, thing.faces), thing.colour)
        turn = self._p.getQuaternionFromEuler([0, 0, yaw])
        heavy = [0, 0, thing.height_m / 3]
        body = int(
            self.call(
                "createMultiBody", thing.mass_kg, hull, shape, [x, y, z + DROP_M], turn,
                baseInertialFramePosition=heavy,
            )
        )  # fmt: skip
        # the base's position is that of the centre of mass: set it again by the frame of the mesh
        self.call("resetBasePositionAndOrientation", body, [x, y, z + DROP_M + heavy[2]], turn)
        self.call("changeDynamics", body, -1, lateralFriction=0.8, rollingFriction=0.002,
                  spinningFriction=0.002, linearDamping=0.1, angularDamping=0.3)  # fmt: skip
        self.things[thing.name] = body
        self._movable.append(body)
        return body

    def settle(self) -> None:
        """Let the things come to rest, then to sleep, so that they cost nothing until touched."""
        for _ in range(round(SETTLE_S / 0.05)):
            self.step(0.05)
            speeds = [
                np.hypot.reduce(self.call("getBaseVelocity", b)[0]) for b in self.things.values()
            ]
            if max(speeds, default=0.0) < AT_REST_M_S:
                break
        for body in self.things.values():
            self.call("changeDynamics", body, -1, activationState=self._p.ACTIVATION_STATE_SLEEP)

    def where(self, body: int) -> tuple[float, float, float]:
        """The position of a body's centre of mass."""
        x, y, z = self.call("getBasePositionAndOrientation", body)[0]
        return x, y, z

    def add_box(self, centre: Points, side_m: float, height_m: float) -> int:
        """A box that stands on the floor and that no map knows."""
        half = side_m / 2
        square = np.array([(-half, -half), (half, -half), (half, half), (-half, half)])
        mesh = prism_mesh(Prism(square, 0.0, height_m, BOX_COLOUR))
        hull, seen = self._shapes_of(f"box {side_m} {height_m}", mesh, BOX_COLOUR)
        x, y = centre.tolist()
        body = int(self.call("createMultiBody", 0, hull, seen, [x, y, 0.0]))
        self._movable.append(body)
        return body

    def rays(self, starts: ArrayLike, ends: ArrayLike) -> NDArray[np.float64]:
        """Shares (n,) of the ways from starts to ends (n, 3) that are free; 1 where nothing is hit."""
        found = self.call(
            "rayTestBatch",
            np.asarray(starts).tolist(),
            np.asarray(ends).tolist(),
            collisionFilterMask=BODIES,
        )
        return np.array([hit[2] for hit in found])

    def touched(self, body: int) -> bool:
        """Whether a body touches anything but the floor."""
        return any(
            contact[2] != self._floor and contact[8] <= 0.0
            for contact in self.call("getContactPoints", body)
        )

    def picture(self, camera: Camera) -> Picture:
        """What a camera sees."""
        x, y, z = camera.position
        flat = cos(camera.pitch_rad)
        ahead = (flat * cos(camera.yaw_rad), flat * sin(camera.yaw_rad), -sin(camera.pitch_rad))
        target = [x + ahead[0], y + ahead[1], z + ahead[2]]
        view = self._p.computeViewMatrix([x, y, z], target, [0, 0, 1])
        half = tan(camera.field_of_view_rad / 2) * camera.height / camera.width
        lens = self._p.computeProjectionMatrixFOV(
            np.rad2deg(2 * np.arctan(half)), camera.width / camera.height, NEAR_M, FAR_M
        )
        width, height, rgba, depth, bodies = self.call(
            "getCameraImage", camera.width, camera.height, view, lens, lightDirection=LIGHT,
            shadow=0, renderer=self._p.ER_TINY_RENDERER,
        )  # fmt: skip
        rgb = np.asarray(rgba, dtype=np.uint8).reshape(height, width, 4)[:, :, :3]
        buffer = np.asarray(depth, dtype=np.float32).reshape(height, width)
        shown = np.asarray(bodies, dtype=np.int32).reshape(height, width)
        metres = FAR_M * NEAR_M / (FAR_M - (FAR_M - NEAR_M) * buffer)
        metres[shown < 0] = inf
        return Picture(rgb, metres, shown)

    def _build(self) -> None:
        """The floor, every prism as a solid body, and all of one colour as one body to be seen."""
        low, high = self.scene.corners
        rim = np.array([low, (high[0], low[1]), high, (low[0], high[1])])
        self._floor = self._solid(Prism(rim, -0.1, 0.0, FLOOR_COLOUR))[0]
        self._show([Prism(rim, -0.1, 0.0, FLOOR_COLOUR)], FLOOR_COLOUR)
        colours: dict[Colour, list[Prism]] = {}
        for prism in self.scene.prisms:
            self._solid(prism)
            colours.setdefault(prism.colour, []).append(prism)
        for colour, prisms in colours.items():
            self._show(prisms, colour)

    def _shapes_of(self, name: str, mesh: Mesh, colour: Colour) -> tuple[int, int]:
        """What collides and what is seen of a mesh; made once, as PyBullet never frees shapes."""
        if name not in self._shapes:
            hull = self.call("createCollisionShape", self._p.GEOM_MESH, vertices=mesh[0].tolist())
            self._shapes[name] = int(hull), self._visual([mesh], colour)
        return self._shapes[name]

    def _solid(self, prism: Prism) -> list[int]:
        """What collides of a prism: one body, or one for each triangle if it is not convex."""
        parts = [np.arange(len(prism.polygon))]
        if not poly.is_convex(prism.polygon):
            parts = list(poly.triangles(prism.polygon))
        bodies = []
        for part in parts:
            rim = prism.polygon[part]
            hull = [[x, y, z] for z in (prism.bottom_m, prism.top_m) for x, y in rim.tolist()]
            shape = self.call("createCollisionShape", self._p.GEOM_MESH, vertices=hull)
            body = int(self.call("createMultiBody", 0, shape, -1, [0, 0, 0]))
            self.call("changeDynamics", body, -1, lateralFriction=0.8)
            bodies.append(body)
        return bodies

    def _show(self, prisms: list[Prism], colour: Colour) -> None:
        shape = self._visual([prism_mesh(prism) for prism in prisms], colour)
        self.call("createMultiBody", 0, -1, shape, [0, 0, 0])

    def _visual(self, meshes: list[Mesh], colour: Colour) -> int:
        """A shape with flat faces: each face has corners and normals of its own."""
        corners = np.vstack([vertices[faces].reshape(-1, 3) for vertices, faces in meshes])
        a, b, c = corners.reshape(-1, 3, 3).transpose(1, 0, 2)
        across = np.cross(b - a, c - a)
        size = np.linalg.norm(across, axis=1, keepdims=True)
        normals = np.repeat(across / np.maximum(size, 1e-12), 3, axis=0)
        return int(
            self.call(
                "createVisualShape", self._p.GEOM_MESH, vertices=corners.tolist(),
                indices=list(range(len(corners))), normals=normals.tolist(),
                rgbaColor=[*colour, 1.0], specularColor=[0.1, 0.1, 0.1],
            )
        )  # fmt: skip


def prism_mesh(prism: Prism) -> Mesh:
    """Vertices (2 n, 3) and faces (m, 3) of a prism, counter-clockwise from outside."""
    rim = prism.polygon if poly.signed_area(prism.polygon) > 0 else prism.polygon[::-1]
    n = len(rim)
    vertices = np.vstack(
        [np.column_stack([rim, np.full(n, z)]) for z in (prism.bottom_m, prism.top_m)]
    )
    cap = poly.triangles(rim)
    i, j = np.arange(n), (np.arange(n) + 1) % n
    sides = np.vstack([np.column_stack([i, j, j + n]), np.column_stack([i, j + n, i + n])])
    return vertices, np.vstack([cap + n, cap[:, ::-1], sides])
