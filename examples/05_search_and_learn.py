"""Search, learn, search better.

``PlaceBelief`` starts without any knowledge of the household. After each search it knows a little more,
from finds and from failures. A person can also tell it where a thing is. The world is a grid world: a
household that puts its things somewhere else for each search. What the plans are worth is computed
exactly, from where things really tend to lie.
"""

import sys

import numpy as np

import sightline as sl

SEARCHES = int(sys.argv[1]) if len(sys.argv) > 1 else 60
START = (1.25, 1.05)


def expected_m(searcher: sl.Searcher) -> float:
    """Exact metres until an object is seen, by the plans of now and the truth, mean over the objects."""
    site, metres = searcher.site, []
    for thing in site.home.objects:
        plan = searcher.plan(thing, start=START, rng=np.random.default_rng(0))
        sees = site.sees(np.vstack([START, plan.points]))
        truth = site.home.mass(thing, site.cells)
        metres.append(sl.expected_cost(plan.travel, sees, truth, plan.route.order))
    return float(np.mean(metres))


def main() -> None:
    site = sl.Site.of(sl.Scenario.load("kitchen1"))
    # enough time that it never cuts in, so that every run prints the same
    planner = sl.Coverage(time_limit_s=30)
    settings = {"planner": planner, "points": 25}
    searcher = sl.Searcher(site, learner=sl.PlaceBelief(), things=["keys"], **settings)
    world, rng = sl.GridWorld(site, rng=np.random.default_rng(5)), np.random.default_rng(6)
    for i in range(SEARCHES):
        if i % 20 == 0:
            print(f"after {i:2} searches: {expected_m(searcher):.2f} m expected")
        world.reset()
        searcher.search(site.home.objects[i % len(site.home.objects)], world=world, rng=rng)
    print(f"after {SEARCHES:2} searches: {expected_m(searcher):.2f} m expected")
    oracle = sl.Searcher(site, learner=sl.Oracle(), **settings)
    print(f"who knows the truth: {expected_m(oracle):.2f} m expected")

    before = searcher.plan("keys", start=START, rng=rng)
    searcher.teach("keys", (9.7, 6.0))
    after = searcher.plan("keys", start=START, rng=rng)
    for what, plan in (("never seen", before), ("once told of", after)):
        best = max(plan.stops, key=lambda stop: stop.chance)
        print(f"keys, {what}, most likely stop: {best.why}")


if __name__ == "__main__":
    main()
