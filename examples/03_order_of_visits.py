"""The order of visits alone: no map, no robot, only distances and weights.

``solve_wmlp`` takes any matrix of travel costs and one weight per place, and finds the order that makes
the weighted sum of arrival times least: whom to serve first. With ``prove`` it also says how far from
the best the order can be at most. Driving to the nearest place each time, or the shortest tour, costs
more.
"""

import numpy as np

import sightline as sl
from sightline.plan.problem import SearchProblem, route_cost

PLACES = 20


def nearest_first(travel: np.ndarray) -> list[int]:
    """Always on to the nearest place that is left."""
    order, left = [0], set(range(1, len(travel)))
    while left:
        order.append(min(left, key=lambda place: travel[order[-1], place]))
        left.remove(order[-1])
    return order[1:]


def main() -> None:
    rng = np.random.default_rng(4)
    at = rng.uniform(0, 100, (PLACES + 1, 2))  # row 0 is where the tour starts
    travel = np.hypot(*(at[:, None] - at).transpose(2, 0, 1))
    weights = rng.integers(1, 10, PLACES + 1).astype(float)
    weights[0] = 0

    best = sl.solve_wmlp(travel, weights, prove=True, time_limit_s=20, rng=rng)
    shortest = sl.Tsp()(SearchProblem(travel, weights), rng=rng)
    print(f"best order: {best.order.tolist()}")
    print(f"its cost: {best.cost:.0f}, proven: {best.optimal}")
    for name, order in (
        ("nearest first", nearest_first(travel)),
        ("shortest tour", shortest.order),
    ):
        cost = route_cost(travel, weights, np.array(order))
        print(f"{name}: {cost:.0f}, {cost / best.cost - 1:.0%} more")


if __name__ == "__main__":
    main()
