"""A search in the physical world, filmed.

The same searcher, in physics: a robot with wheels, a lidar and a camera drives by its own estimate of
where it is, around a box that is on no map, and a detector looks at each picture that the camera takes.
What it does is recorded; ``sightline search --world bullet --video`` makes a film of it. Here are four
pictures from one: left what the camera sees, right the map, with what is believed fading where the robot
has looked.
"""

import numpy as np

import sightline as sl
from sightline import plot
from sightline.film import Recorder
from sightline.worlds.bullet import physical_site


def main() -> None:
    site = physical_site(sl.Scenario.load("kitchen1"))
    planner = sl.Coverage(time_limit_s=30)  # never cuts in: every run prints the same
    searcher = sl.Searcher(site, learner=sl.Oracle(), planner=planner, points=30)
    world = sl.BulletWorld(site, rng=np.random.default_rng(8), boxes=2)
    world.reset(start=(9.1, 0.7), positions={"cup": (2.6, 5.8)})

    recorder = Recorder(world)
    episode = searcher.search("cup", world=recorder, rng=np.random.default_rng(1))
    film = recorder.film(episode)
    world.close()

    for shot, after in zip(film.shots, film.shots[1:], strict=False):
        if shot.doing != after.doing:
            print(f"{shot.doing}, until {shot.time_s:.0f} s and {shot.driven_m:.1f} m")
    x, y = episode.position
    off = np.hypot(*(film.truth - (x, y)))
    print(f"{episode.outcome} at ({x:.1f}, {y:.1f}), {off:.2f} m from where it lies")
    print(f"collisions: {world.truth.collisions}")

    plot.save(plot.draw_strip(film), "out/11_physical_search.png", dpi=100)


if __name__ == "__main__":
    main()
