"""A learner of your own, against one that never learns.

A learner meets a site, predicts for a query, and is told of each episode. This one counts on which
surface each object was found. Both search in the same episodes: worlds with equal seeds put the same
things in the same places, whatever the searchers do.
"""

import sys

import numpy as np

import sightline as sl
from sightline.metrics import spl

SEARCHES = int(sys.argv[1]) if len(sys.argv) > 1 else 60


class BySurface:
    """Where an object lies: on surfaces, by how often it was found on each."""

    def meet(self, site, things=()):
        self.site = site
        surfaces = site.home.places.surfaces
        self.shares = np.array([site.home.shares(name, site.cells) for name in surfaces])
        area = np.array([surface.area_m2 for surface in surfaces.values()])
        self.finds = {thing: area / area.sum() for thing in (*site.home.objects, *things)}

    def predict(self, query, points):
        finds = self.finds[query.thing]
        mass = finds / finds.sum() @ self.shares
        mean = self.site.sensor.detection_rate * (self.site.sees(points) @ mass)
        return sl.Belief(mean, np.zeros(len(mean)), mean, mass, max(0.0, 1 - mass.sum()))

    def update(self, episode):
        if episode.outcome is sl.Outcome.FOUND:
            cell = np.hypot(*(self.site.cells - episode.position).T).argmin()
            surface = self.site.surface_of_cell[cell]
            self.finds[episode.query.thing][surface] += surface >= 0


def main() -> None:
    site = sl.Site.of(sl.Scenario.load("kitchen1"))
    for learner in (BySurface(), sl.Uniform()):
        planner = sl.Coverage(time_limit_s=30)  # never cuts in: every run prints the same
        searcher = sl.Searcher(site, learner=learner, planner=planner, points=20)
        world = sl.GridWorld(site, rng=np.random.default_rng(8))
        scores = []
        for i in range(SEARCHES):
            world.reset()
            thing = site.home.objects[i % len(site.home.objects)]
            least_m = world.least_way_m(thing)
            episode = searcher.search(thing, world=world, rng=np.random.default_rng(i))
            found = episode.outcome is sl.Outcome.FOUND
            scores.append(spl(found, least_m, episode.visits[-1].driven_m))
        print(f"{type(learner).__name__}: mean SPL {np.mean(scores):.2f} over {SEARCHES} searches")


if __name__ == "__main__":
    main()
