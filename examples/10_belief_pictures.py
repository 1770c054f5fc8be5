"""What is believed, drawn: how a belief grows with what is learned.

A belief says for every place how likely the robot spots the object from there. After a few finds of a
cup, and of other things, ``PlaceBelief`` comes near the truth; a count per cell knows only the cells of
its finds. The last column is what one would believe who knows the household.
"""

import sys

import numpy as np

import sightline as sl
from sightline import plot

FINDS = tuple(int(word) for word in sys.argv[1:]) or (0, 5, 40)
THING = "cup"


def main() -> None:
    site = sl.Site.of(sl.Scenario.load("kitchen1"), sensor=sl.Sensor(range_m=1.5))
    lattice = site.free.points(0.2)
    query = sl.Query(THING, tuple(lattice[0]))
    oracle = sl.Oracle()
    oracle.meet(site)
    truth = oracle.predict(query, lattice).mean

    rows = {}
    for learner in (sl.PlaceBelief(), sl.Frequency()):
        learner.meet(site)
        rng, told, beliefs = np.random.default_rng(3), 0, []
        for count in FINDS:
            for _ in range(told, count):
                for thing in site.home.objects:  # a find of each
                    position = site.home.sample_position(thing, rng=rng)
                    learner.update(sl.Episode.taught(thing, position))
            told = max(told, count)
            beliefs.append(learner.predict(query, lattice).mean)
        name = type(learner).__name__
        rows[name] = beliefs
        wrong = ", ".join(f"{np.abs(mean - truth).mean():.3f}" for mean in beliefs)
        print(f"{name}: wrong by {wrong} on average, after {FINDS} finds of each object")

    columns = [f"{count} finds" for count in FINDS]
    figure = plot.draw_beliefs(site.home, lattice, rows, columns, truth)
    plot.save(figure.axes[0], "out/10_belief_pictures.png", dpi=70)


if __name__ == "__main__":
    main()
