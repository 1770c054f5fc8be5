"""The physical world: what a picture, a scan, a period of control and a whole search cost."""

import statistics
import time

import numpy as np

import sightline as sl
from benchmarks.race import in_ms, race, table
from sightline.search import Searcher
from sightline.worlds.bullet import BulletWorld, physical_site

SEED = 1000  # not one of the seeds that results are reported from
BUDGET_M = 40.0


def parts(rounds: int) -> str:
    """Wall time of the parts of a simulation, in the smaller kitchen."""
    world = BulletWorld(sl.Scenario.load("kitchen1"), rng=np.random.default_rng(SEED))
    robot, engine = world.robot, world.robot.engine
    camera = robot.camera(robot.pose)
    contenders = {
        "a tenth of a second of physics": lambda: engine.step(0.1),
        "a picture, 320 x 240, with depth and segments": lambda: engine.picture(camera),
        "a turn of the lidar, 180 beams": robot.scan,
        "a reset: things and boxes put down anew": world.reset,
    }
    results = race(contenders, rounds=rounds)
    world.close()
    return table(
        ["what", "median", "ratio"],
        [[r.name, in_ms(r.median_s), f"{r.ratio:.1f}"] for r in results],
    )


def searches(quick: bool) -> str:
    """Wall time of whole searches by the true chances, and how much faster than real time they are."""
    rows = []
    for name in ("kitchen1", "kitchen2"):
        home = sl.Scenario.load(name)
        site = physical_site(home)
        world = BulletWorld(site, rng=np.random.default_rng(SEED), boxes=1)
        searcher = Searcher(
            site,
            learner=sl.Oracle(),
            planner=sl.Coverage(effort=0.05, time_limit_s=60.0),
            points=25,
        )
        rng, walls, simulated = np.random.default_rng(SEED), [], []
        for number in range(3 if quick else 20):
            world.reset()
            began = time.perf_counter()
            searcher.search(
                home.objects[number % len(home.objects)],
                world=world,
                rng=rng,
                budget_m=BUDGET_M,
                learn=False,
            )
            walls.append(time.perf_counter() - began)
            simulated.append(world.time_s)
        world.close()
        rows.append(
            [
                name,
                str(len(walls)),
                f"{statistics.median(walls):.1f} s",
                f"{max(walls):.1f} s",
                f"{statistics.median(simulated):.0f} s",
                f"{sum(simulated) / sum(walls):.1f}",
            ]
        )
    columns = ["kitchen", "searches", "wall time, median", "longest", "simulated, median"]
    return table([*columns, "times real time"], rows)


def physics(quick: bool) -> str:
    """Both tables."""
    return f"{parts(3 if quick else 15)}\n\n{searches(quick)}"
