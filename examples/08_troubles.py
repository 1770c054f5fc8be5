"""What can go wrong, and how a search goes on.

Looks that miss, false alarms and blocked ways: the robot checks what it takes for the object, and plans
anew from where it is when something unexpected happens. First one search, look by look, then how each
trouble alone changes many.
"""

import sys

import numpy as np

import sightline as sl

SEARCHES = int(sys.argv[1]) if len(sys.argv) > 1 else 40
HOME = sl.Scenario.load("kitchen1")
SEED = 7  # of a search in which much goes wrong
NONE, CAREFUL = sl.Troubles(), sl.Sensor()
KINDS = {
    "none": (CAREFUL, NONE),
    "3 of 10 looks miss": (sl.Sensor(detection_rate=0.7), NONE),
    "1 of 10 looks is a false alarm": (sl.Sensor(false_alarm_rate=0.1), NONE),
    "4 of 10 ways are blocked": (CAREFUL, sl.Troubles(blocked_rate=0.4)),
}


def show(visit: sl.Visit) -> None:
    x, y = visit.position
    point = f"point {visit.point}" if visit.point >= 0 else "no point"
    word = "saw it" if visit.seen else "nothing"
    print(f"  {visit.driven_m:5.1f} m, at ({x:5.2f}, {y:5.2f}), {point}: {word}")


def searches(sensor, troubles, count, *, seed=3, **told):
    """The outcomes and metres of some searches for a cup by one who knows where cups tend to be."""
    site = sl.Site.of(HOME, sensor=sensor)
    planner = sl.Coverage(time_limit_s=30)  # never cuts in: every run prints the same
    searcher = sl.Searcher(site, learner=sl.Oracle(), planner=planner, points=20)
    world = sl.GridWorld(site, rng=np.random.default_rng(seed), troubles=troubles)
    for i in range(count):
        world.reset()
        yield searcher.search("cup", world=world, rng=np.random.default_rng(i), **told)


def main() -> None:
    print("All at once, each look:")
    sensor = sl.Sensor(detection_rate=0.7, false_alarm_rate=0.3)
    for episode in searches(sensor, sl.Troubles(blocked_rate=0.3), 1, seed=SEED, on_visit=show):
        print(f"  {episode.outcome}")
    for name, (sensor, troubles) in KINDS.items():
        done = list(searches(sensor, troubles, SEARCHES))
        found = np.mean([episode.outcome is sl.Outcome.FOUND for episode in done])
        metres = np.mean([episode.visits[-1].driven_m for episode in done])
        print(f"{name}: {found:.0%} found, {metres:.1f} m driven on average")


if __name__ == "__main__":
    main()
