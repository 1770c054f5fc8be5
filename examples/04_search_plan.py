"""A planned search, and why it goes where it goes.

A ``Searcher`` brings a home, a learner and a planner together. Its plan names for each stop what comes
into view there that was not seen before, and the chance that it holds the object. ``Oracle`` knows where
things tend to lie in this home; any learner can stand in its place.
"""

import numpy as np

import sightline as sl
from sightline import plot

START = (1.25, 1.05)


def main() -> None:
    home = sl.Scenario.load("kitchen2")
    searcher = sl.Searcher(
        home, learner=sl.Oracle(), planner=sl.Coverage(time_limit_s=30), points=40
    )
    plan = searcher.plan("cup", start=START, rng=np.random.default_rng(1))

    print(f"the search finds the cup with chance {plan.chance:.2f}, in {len(plan.stops)} stops:")
    for number, stop in enumerate(plan.stops, start=1):
        x, y = stop.position
        print(f"{number}. ({x:5.2f}, {y:5.2f}) after {stop.arrival_m:4.1f} m: {stop.why}")

    plot.save(plot.draw_plan(plan), "out/04_search_plan.png", dpi=70)


if __name__ == "__main__":
    main()
