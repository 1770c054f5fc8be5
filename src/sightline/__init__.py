"""Sightline learns where things tend to be, and plans the shortest search for them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.errors import (
        LearnError,
        MapError,
        MapWarning,
        PlacesError,
        PlanError,
        SightlineError,
        UnknownObjectError,
        UnreachableError,
    )
    from sightline.maps import FreeSpace, OccupancyMap
    from sightline.places import Places, Scenario, Surface
    from sightline.plan.coverage import Coverage, expected_cost, expected_spl, solve_search
    from sightline.plan.cpsat import CpSat
    from sightline.plan.greedy import Greedy
    from sightline.plan.problem import SearchProblem
    from sightline.plan.tsp import Tsp
    from sightline.plan.wmlp import Wmlp, solve_wmlp
    from sightline.records import Belief, Episode, Outcome, Query, Route, Visit
    from sightline.site import Site
    from sightline.vantage import (
        epsilon_cover,
        farthest_indices,
        farthest_points,
        informative_points,
    )
    from sightline.visibility import Sensor, opaque_cells, sights_on_the_way, visible

__version__ = "0.1.0"

# name -> module; loaded when first used, so that `sightline --help` stays quick
_HOMES = {
    "Belief": "records",
    "Coverage": "plan.coverage",
    "CpSat": "plan.cpsat",
    "Episode": "records",
    "FreeSpace": "maps",
    "Greedy": "plan.greedy",
    "LearnError": "errors",
    "MapError": "errors",
    "MapWarning": "errors",
    "OccupancyMap": "maps",
    "Outcome": "records",
    "Places": "places",
    "PlacesError": "errors",
    "PlanError": "errors",
    "Query": "records",
    "Route": "records",
    "Scenario": "places",
    "SearchProblem": "plan.problem",
    "Sensor": "visibility",
    "SightlineError": "errors",
    "Site": "site",
    "Surface": "places",
    "Tsp": "plan.tsp",
    "UnknownObjectError": "errors",
    "UnreachableError": "errors",
    "Visit": "records",
    "Wmlp": "plan.wmlp",
    "epsilon_cover": "vantage",
    "expected_cost": "plan.coverage",
    "expected_spl": "plan.coverage",
    "farthest_indices": "vantage",
    "farthest_points": "vantage",
    "informative_points": "vantage",
    "opaque_cells": "visibility",
    "sights_on_the_way": "visibility",
    "solve_search": "plan.coverage",
    "solve_wmlp": "plan.wmlp",
    "visible": "visibility",
}
__all__ = [
    "Belief",
    "Coverage",
    "CpSat",
    "Episode",
    "FreeSpace",
    "Greedy",
    "LearnError",
    "MapError",
    "MapWarning",
    "OccupancyMap",
    "Outcome",
    "Places",
    "PlacesError",
    "PlanError",
    "Query",
    "Route",
    "Scenario",
    "SearchProblem",
    "Sensor",
    "SightlineError",
    "Site",
    "Surface",
    "Tsp",
    "UnknownObjectError",
    "UnreachableError",
    "Visit",
    "Wmlp",
    "epsilon_cover",
    "expected_cost",
    "expected_spl",
    "farthest_indices",
    "farthest_points",
    "informative_points",
    "opaque_cells",
    "sights_on_the_way",
    "solve_search",
    "solve_wmlp",
    "visible",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"sightline.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'sightline' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
