"""Sightline learns where things tend to be, and plans the shortest search for them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.detect.camera import Camera
    from sightline.detect.onnx import OnnxDetector
    from sightline.detect.protocol import Detection, Frame
    from sightline.detect.simulated import SimulatedDetector
    from sightline.errors import (
        DetectError,
        LearnError,
        MapError,
        MapWarning,
        PlacesError,
        PlanError,
        SightlineError,
        StoreError,
        StudyError,
        UnknownObjectError,
        UnreachableError,
        WorldError,
    )
    from sightline.itinerary import Plan, Stop
    from sightline.learn.baselines import Frequency, LastSeen, RandomOrder, Uniform
    from sightline.learn.genlin import GenLin
    from sightline.learn.neural import Neural
    from sightline.learn.oracle import Oracle
    from sightline.learn.places import PlaceBelief
    from sightline.maps import FreeSpace, OccupancyMap
    from sightline.places import Places, Scenario, Surface
    from sightline.plan.coverage import Coverage, expected_cost, expected_spl, solve_search
    from sightline.plan.cpsat import CpSat
    from sightline.plan.greedy import Greedy
    from sightline.plan.problem import SearchProblem
    from sightline.plan.tsp import Tsp
    from sightline.plan.wmlp import Wmlp, solve_wmlp
    from sightline.records import Belief, Episode, Outcome, Query, Route, Visit
    from sightline.search import Searcher
    from sightline.site import Site
    from sightline.store import Experience
    from sightline.vantage import (
        epsilon_cover,
        farthest_indices,
        farthest_points,
        informative_points,
    )
    from sightline.visibility import Sensor, opaque_cells, sights_on_the_way, visible
    from sightline.worlds.bullet import BulletWorld
    from sightline.worlds.grid import GridWorld, Troubles

__version__ = "0.1.0"

# name -> module; loaded when first used, so that `sightline --help` stays quick
_HOMES = {
    "Belief": "records",
    "BulletWorld": "worlds.bullet",
    "Camera": "detect.camera",
    "Coverage": "plan.coverage",
    "CpSat": "plan.cpsat",
    "DetectError": "errors",
    "Detection": "detect.protocol",
    "Episode": "records",
    "Experience": "store",
    "Frame": "detect.protocol",
    "FreeSpace": "maps",
    "Frequency": "learn.baselines",
    "GenLin": "learn.genlin",
    "Greedy": "plan.greedy",
    "GridWorld": "worlds.grid",
    "LastSeen": "learn.baselines",
    "LearnError": "errors",
    "MapError": "errors",
    "MapWarning": "errors",
    "Neural": "learn.neural",
    "OccupancyMap": "maps",
    "OnnxDetector": "detect.onnx",
    "Oracle": "learn.oracle",
    "Outcome": "records",
    "PlaceBelief": "learn.places",
    "Places": "places",
    "PlacesError": "errors",
    "Plan": "itinerary",
    "PlanError": "errors",
    "Query": "records",
    "RandomOrder": "learn.baselines",
    "Route": "records",
    "Scenario": "places",
    "SearchProblem": "plan.problem",
    "Searcher": "search",
    "Sensor": "visibility",
    "SightlineError": "errors",
    "SimulatedDetector": "detect.simulated",
    "Site": "site",
    "Stop": "itinerary",
    "StoreError": "errors",
    "StudyError": "errors",
    "Surface": "places",
    "Troubles": "worlds.grid",
    "Tsp": "plan.tsp",
    "Uniform": "learn.baselines",
    "UnknownObjectError": "errors",
    "UnreachableError": "errors",
    "Visit": "records",
    "Wmlp": "plan.wmlp",
    "WorldError": "errors",
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
    "BulletWorld",
    "Camera",
    "Coverage",
    "CpSat",
    "DetectError",
    "Detection",
    "Episode",
    "Experience",
    "Frame",
    "FreeSpace",
    "Frequency",
    "GenLin",
    "Greedy",
    "GridWorld",
    "LastSeen",
    "LearnError",
    "MapError",
    "MapWarning",
    "Neural",
    "OccupancyMap",
    "OnnxDetector",
    "Oracle",
    "Outcome",
    "PlaceBelief",
    "Places",
    "PlacesError",
    "Plan",
    "PlanError",
    "Query",
    "RandomOrder",
    "Route",
    "Scenario",
    "SearchProblem",
    "Searcher",
    "Sensor",
    "SightlineError",
    "SimulatedDetector",
    "Site",
    "Stop",
    "StoreError",
    "StudyError",
    "Surface",
    "Troubles",
    "Tsp",
    "Uniform",
    "UnknownObjectError",
    "UnreachableError",
    "Visit",
    "Wmlp",
    "WorldError",
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
