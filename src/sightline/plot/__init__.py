"""Pictures of maps, places, searches and what is learned. The only package that imports matplotlib.

Every ``draw_*`` takes data, draws on ``ax`` (or on a new figure) and returns the axes, or the figure
where there are several; nothing is shown and no global state is touched.
"""

from sightline.plot.film import Pictures, draw_strip
from sightline.plot.home import (
    INK,
    POINT,
    draw_coverage,
    draw_free_space,
    draw_home,
    draw_map,
    draw_places,
    draw_points,
    draw_survey,
    new_axes,
    png,
    save,
)
from sightline.plot.learn import draw_beliefs, draw_learning, draw_regret
from sightline.plot.paper import (
    draw_augmentation,
    draw_distributions,
    draw_learned,
    draw_overview,
    draw_patches,
    draw_times,
)
from sightline.plot.search import draw_episode, draw_mass, draw_plan

__all__ = [
    "INK",
    "POINT",
    "Pictures",
    "draw_augmentation",
    "draw_beliefs",
    "draw_coverage",
    "draw_distributions",
    "draw_episode",
    "draw_free_space",
    "draw_home",
    "draw_learned",
    "draw_learning",
    "draw_map",
    "draw_mass",
    "draw_overview",
    "draw_patches",
    "draw_places",
    "draw_plan",
    "draw_points",
    "draw_regret",
    "draw_strip",
    "draw_survey",
    "draw_times",
    "new_axes",
    "png",
    "save",
]
