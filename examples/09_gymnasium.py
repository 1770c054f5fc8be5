"""A learner of this package in the Gymnasium environment.

The environment has one action per vantage point, and one to stop. An agent that plans a route over the
points with what ``PlaceBelief`` has learned so far drives it action by action; one that takes any allowed
action is the measure. Both meet the same episodes of a household with habits of its own.
"""

import sys

import gymnasium
import numpy as np

import sightline as sl
import sightline.gym_env

EPISODES = int(sys.argv[1]) if len(sys.argv) > 1 else 40
PLANNER = sl.Coverage(time_limit_s=30)  # never cuts in: every run prints the same


def planned(env, obs, learner):
    """The actions of a planned search, then stop."""
    site, points, start = env.site, env.points, obs["pose"]
    belief = learner.predict(sl.Query(env.thing, tuple(start)), points)
    travel, rows = site.ways.travel(start, points), np.vstack([start, points])
    weights = np.append(0.0, belief.weight)
    problem = sl.SearchProblem(travel, weights, site.sees(rows), belief.mass)
    route = PLANNER(problem, rng=np.random.default_rng(0))
    yield from (int(row) - 1 for row in route.order)
    yield len(points)


def main() -> None:
    env = gymnasium.make("Sightline/ObjectSearch-v0", points=25, household_seed=11)
    inner, scores = env.unwrapped, {"planned": [], "random": []}
    learner, rng = sl.PlaceBelief(), np.random.default_rng(2)
    learner.meet(inner.site)
    for agent, spl in scores.items():
        for episode in range(EPISODES):
            obs, info = env.reset(seed=episode)
            actions = planned(inner, obs, learner)
            over = False
            while not over:
                allowed = np.flatnonzero(info["action_mask"])
                action = next(actions) if agent == "planned" else int(rng.choice(allowed))
                obs, _, over, _, info = env.step(action)
            spl.append(info["spl"])
            if agent == "planned":
                learner.update(inner.episode)
        print(f"{agent}: mean SPL {np.mean(spl):.2f} over {EPISODES} episodes")


if __name__ == "__main__":
    main()
