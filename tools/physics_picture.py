"""The picture of the physical kitchens in the documentation.

    python tools/physics_picture.py   writes docs/img/physics.png

Above both kitchens as they are built, seen from high over the southern wall with the robot in them;
below what that robot sees, with what a detector reports.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import sightline as sl
from sightline import plot
from sightline.detect import Camera, Frame, SimulatedDetector
from sightline.worlds import engine as physics
from sightline.worlds.robot import Robot
from sightline.worlds.scenes import Scene
from sightline.worlds.things import thing

FILE = Path(__file__).resolve().parents[1] / "docs" / "img" / "physics.png"
SEED = 3
POSES = {"kitchen1": (4.6, 4.3, 2.2), "kitchen2": (3.85, 2.45, -2.89)}  # of the robot: x, y, yaw
VIEWS = {"kitchen1": (5.0, -2.6, 10.4, 1.02), "kitchen2": (6.0, -3.4, 13.0, 1.04)}  # x, y, z, pitch


def draw(name: str, above: Axes, below: Axes) -> None:
    """One kitchen from above, and what the robot sees in it."""
    home, rng = sl.Scenario.load(name), np.random.default_rng(SEED)
    scene = Scene.of(home)
    with physics.Engine(scene) as engine:
        for each in home.objects:
            shape = thing(each)
            at = home.sample_position(each, rng=rng)
            engine.put(shape, scene.rest(each, at, shape.radius_m), float(rng.uniform(-3, 3)))
        engine.settle()
        robot = Robot(engine, POSES[name], rng=rng)
        x, y, z, pitch = VIEWS[name]
        high = Camera(960, 720, np.deg2rad(66), (x, y, z), np.pi / 2, pitch)
        above.imshow(engine.picture(high).rgb[60:620])
        camera = robot.camera(robot.pose)
        picture = engine.picture(camera)
        segments = np.full(picture.bodies.shape, -1, np.int32)
        for number, body in enumerate(engine.things.values()):
            segments[picture.bodies == body] = number
    frame = Frame(picture.rgb, picture.depth_m, camera, segments, tuple(engine.things))
    sizes = {each: thing(each).outline_m for each in home.objects}
    below.imshow(picture.rgb, interpolation="bilinear")
    for one in SimulatedDetector(rng=rng, sizes=sizes, false_alarm_rate=0).detect(frame):
        left, top, right, bottom = one.box
        below.add_patch(
            Rectangle((left, top), right - left, bottom - top, fill=False, ec=plot.POINT, lw=1.8)
        )
        below.text(
            left, top - 3, f"{one.thing} {one.score:.2f}", color="white", fontsize=9,
            bbox={"boxstyle": "round,pad=0.15", "fc": plot.POINT, "ec": "none"},
        )  # fmt: skip
    above.set_title(f"{name} as it is built", fontsize=10, loc="left")
    below.set_title("what the robot in it sees", fontsize=10, loc="left")


def main() -> int:
    """Draw and write."""
    physics.FAR_M = 40.0  # the robot's camera needs no more than 12
    figure = Figure(figsize=(11, 7.6), layout="constrained")
    axes = figure.subplots(2, 2)
    for column, name in enumerate(POSES):
        draw(name, *axes[:, column])
    for ax in axes.flat:
        ax.set_axis_off()
    plot.save(figure, FILE, dpi=90)
    return 0


if __name__ == "__main__":
    sys.exit(main())
