"""Sightline learns where things tend to be, and plans the shortest search for them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.errors import (
        MapError,
        MapWarning,
        PlacesError,
        SightlineError,
        UnknownObjectError,
        UnreachableError,
    )
    from sightline.maps import FreeSpace, OccupancyMap
    from sightline.places import Places, Scenario, Surface
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
    "FreeSpace": "maps",
    "MapError": "errors",
    "MapWarning": "errors",
    "OccupancyMap": "maps",
    "Places": "places",
    "PlacesError": "errors",
    "Scenario": "places",
    "Sensor": "visibility",
    "SightlineError": "errors",
    "Surface": "places",
    "UnknownObjectError": "errors",
    "UnreachableError": "errors",
    "epsilon_cover": "vantage",
    "farthest_indices": "vantage",
    "farthest_points": "vantage",
    "informative_points": "vantage",
    "opaque_cells": "visibility",
    "sights_on_the_way": "visibility",
    "visible": "visibility",
}
__all__ = [
    "FreeSpace",
    "MapError",
    "MapWarning",
    "OccupancyMap",
    "Places",
    "PlacesError",
    "Scenario",
    "Sensor",
    "SightlineError",
    "Surface",
    "UnknownObjectError",
    "UnreachableError",
    "epsilon_cover",
    "farthest_indices",
    "farthest_points",
    "informative_points",
    "opaque_cells",
    "sights_on_the_way",
    "visible",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"sightline.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'sightline' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
