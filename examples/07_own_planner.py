"""A planner of your own, beside those that ship.

A planner is anything that takes a search problem and a generator and gives a route. This one goes where
most new mass comes into view per metre. All are judged by the exact expected distance until the object
is seen; a tour that ends without it is charged the longest way twice.
"""

import sys

import numpy as np

import sightline as sl

POINTS = int(sys.argv[1]) if len(sys.argv) > 1 else 30
START = (1.25, 1.05)


def most_per_metre(problem: sl.SearchProblem, *, rng: np.random.Generator) -> sl.Route:
    """Go on to the point with most unseen mass for each metre, until all that can be is seen."""
    sees, left, order, here = problem.sees.toarray(), problem.mass.copy(), [], 0
    left[sees[0]] = 0
    while (sees @ left).max() > 1e-9:
        gain = (sees @ left) / np.maximum(problem.travel[here], 1e-9)
        here = int(gain.argmax())
        left[sees[here]] = 0
        order.append(here)
    return sl.Route(np.array(order), cost=float("nan"))


def main() -> None:
    site = sl.Site.of(sl.Scenario.load("kitchen2"))
    planners = {
        "most per metre": most_per_metre,
        "Tsp": sl.Tsp(),
        "Greedy": sl.Greedy(),
        "Wmlp": sl.Wmlp(time_limit_s=30),
        "Coverage": sl.Coverage(time_limit_s=30),
    }
    for name, planner in planners.items():
        searcher = sl.Searcher(site, learner=sl.Oracle(), planner=planner, points=POINTS)
        metres, stops = [], []
        for thing in site.home.objects:
            plan = searcher.plan(thing, start=START, rng=np.random.default_rng(1))
            sees = site.sees(np.vstack([START, plan.points]))
            cost = sl.expected_cost(plan.travel, sees, plan.belief.mass, plan.route.order)
            metres.append(cost)
            stops.append(len(plan.stops))
        print(f"{name:15} {np.mean(metres):5.2f} m expected, {np.mean(stops):4.1f} stops")


if __name__ == "__main__":
    main()
