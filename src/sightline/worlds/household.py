"""Households: one home, lived in by people with other habits."""

from dataclasses import replace

import numpy as np

from sightline.places import Scenario

CONCENTRATION = 4.0
LEAST = (
    1e-6  # chance that a surface keeps, so that all households of a home have the same target cells
)


def household(
    home: Scenario, *, rng: np.random.Generator, concentration: float = CONCENTRATION
) -> Scenario:
    """The same home with habits of its own: where each object tends to lie is drawn anew.

    The chances of an object's surfaces come from a Dirichlet distribution whose mean are those of the
    scenario; ``concentration`` is the sum of its parameters. The smaller it is, the more one-sided the
    habits are.
    """
    if not 0 < concentration < np.inf:
        raise ValueError(f"concentration must be above 0 and finite, not {concentration}.")
    habits = {}
    for thing in home.objects:
        usual = {name: p for name, p in home.probabilities(thing).items() if p > 0}
        drawn = rng.dirichlet(concentration * np.array(list(usual.values()))) + LEAST
        habits[thing] = dict(zip(usual, (drawn / drawn.sum()).tolist(), strict=True))
    places = replace(home.places, distributions={"household": habits})
    return replace(home, places=places, distribution="household")
