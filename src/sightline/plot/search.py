"""Searches: what is believed, what is planned, and how it went."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import ArrayLike

from sightline.itinerary import Plan
from sightline.maps import as_points
from sightline.places import SPACING_M
from sightline.plot.home import INK, REACH, draw_home, draw_points, squares
from sightline.records import Episode
from sightline.site import Site

WARMTH, TRUTH = "YlOrRd", "#35c04a"


def draw_mass(site: Site, mass: ArrayLike, ax: Axes | None = None) -> Axes:
    """Where an object is believed to lie: the chance (cells,) of each target cell, in per cent."""
    ax = ax or draw_home(site.home)
    chance = np.asarray(mass, dtype=np.float64)
    shown = chance > 0.01 * chance.max(initial=0.0)
    patches = squares(site.home.map, site.cells[shown], SPACING_M)
    heat = PolyCollection(list(patches), array=100 * chance[shown], cmap=WARMTH, lw=0, zorder=4.5)
    heat.set_alpha(0.8)
    heat.set_clim(0, max(100 * chance.max(initial=0.0), 1e-9))
    ax.add_collection(heat)
    figure = ax.get_figure(root=True)
    if figure is not None:
        figure.colorbar(heat, ax=ax, shrink=0.6, pad=0.01, label="chance of each cell [%]")
    return ax


def draw_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """A planned search: what is believed, the way, and its stops, numbered in their order."""
    ax = ax or draw_home(plan.site.home)
    if plan.belief.mass is not None:
        draw_mass(plan.site, plan.belief.mass, ax)
    places = [plan.query.start, *(stop.position for stop in plan.stops)]
    draw_way(plan.site, places, ax)
    draw_points(places[1:], ax)
    words = (
        f"{plan.query.thing} in {plan.site.home.name}: {len(plan.stops)} stops, {plan.expected_m:.1f} m "
        f"on average, found with a chance of {plan.chance:.0%}"
    )
    ax.set_title(words, fontsize=9, loc="left")
    return ax


def draw_episode(
    site: Site, episode: Episode, ax: Axes | None = None, *, truth: ArrayLike | None = None
) -> Axes:
    """A search as it went: what was believed, the way, its looks, and where the object truly lay."""
    ax = ax or draw_home(site.home)
    if episode.belief is not None and episode.belief.mass is not None:
        draw_mass(site, episode.belief.mass, ax)
    places = [visit.position for visit in episode.visits]
    draw_way(site, places or [episode.query.start], ax)
    draw_points(places[1:], ax)
    lies = truth if truth is not None else episode.position
    if lies is not None:
        at = as_points(lies).reshape(-1, 2)
        ax.plot(*at.T, "*", ms=17, color=TRUTH, mec=INK, mew=0.8, zorder=9)
    driven = episode.visits[-1].driven_m if episode.visits else 0.0
    words = (
        f"{episode.query.thing} in {site.home.name}: {episode.outcome.replace('_', ' ')} after "
        f"{driven:.1f} m; the star is where it lies"
    )
    ax.set_title(words, fontsize=9, loc="left")
    return ax


def draw_way(site: Site, places: Sequence[ArrayLike], ax: Axes, *, faint: bool = False) -> None:
    """The start, and the shortest paths from place to place; dotted if ``faint``."""
    legs = [site.free.path(here, there) for here, there in pairwise(places)]
    if legs:
        style: tuple[float, str | tuple[int, tuple[int, int]]]
        style = (1.0, (0, (2, 2))) if faint else (1.8, "-")
        ax.plot(*np.concatenate(legs).T, color=REACH, lw=style[0], ls=style[1], zorder=6)
    ax.plot(*as_points(places[0]), "s", ms=8, color=REACH, mec="white", zorder=7)
