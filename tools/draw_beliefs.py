"""What each learner believes of the same kitchen after some searches, beside the truth."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import sightline as sl
from sightline import plot
from sightline.learn.protocol import Learner
from sightline.records import Query
from sightline.regret import Course, Rounds, lay_course
from sightline.worlds.grid import carry_out

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "img" / "beliefs.png"
THING = "cup"
EPISODES = (0, 10, 50, 200)
POINTS, RANGE_M, SEED = 25, 1.0, 3
LATTICE_M = 0.15
STRETCHED = ("GenLin",)  # their level says little, as finds add positives only
COLOURS = 255  # of the stored picture
LEARNERS: dict[str, Callable[[], Learner]] = {
    "GenLin": sl.GenLin,
    "Neural": lambda: sl.Neural(rng=np.random.default_rng(SEED)),
    "PlaceBelief": sl.PlaceBelief,
    "Frequency": sl.Frequency,
    "LastSeen": sl.LastSeen,
}


def beliefs(course: Course, learner: Learner, at: np.ndarray) -> Iterator[NDArray[np.float64]]:
    """The chance of spotting the object from positions (n, 2) after so many searches for any object."""
    plan, rng = Rounds(), np.random.default_rng(SEED)
    for i in range(EPISODES[-1] + 1):
        if i in EPISODES:
            yield learner.predict(Query(THING, (0.0, 0.0)), at).mean
        if i == EPISODES[-1]:
            return
        x, y = course.starts[i].tolist()
        query, travel = Query(course.things[i], (x, y)), course.travel(i)
        belief = learner.predict(query, course.points)
        route = plan(sl.SearchProblem(travel, np.append(0.0, belief.weight)), rng=rng)
        learner.update(
            carry_out(course.site, query, route, course.points, travel, course.positions[i], belief)
        )


def stretched(chance: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Chances moved and scaled to the range of the truth: what an order of visits goes by."""
    low, high = chance.min(), chance.max()
    return (chance - low) / max(high - low, 1e-9) * np.ptp(truth) + truth.min()


def main() -> None:
    """Search, draw, and store the picture with few colours."""
    home = sl.Scenario.load("kitchen1", distribution="spread")
    site = sl.Site.of(home, sensor=sl.Sensor(range_m=RANGE_M, kind="disc"))
    rng = np.random.default_rng(SEED)
    points = sl.farthest_points(site.free, POINTS, rng=rng)
    course = lay_course(site, points, EPISODES[-1], least=np.zeros(EPISODES[-1]), rng=rng)
    at = site.free.points(LATTICE_M)
    truth = site.sees(at) @ home.mass(THING, site.cells)
    rows, unscored = {}, []
    for name, make in LEARNERS.items():
        learner = make()
        learner.meet(site)
        rows[name] = list(beliefs(course, learner, at))
        if name in STRETCHED:
            unscored.append(f"{name}, own scale")
            rows[unscored[-1]] = [stretched(chance, truth) for chance in rows[name]]
    columns = [f"after {count} searches" for count in EPISODES]
    figure = plot.draw_beliefs(home, at, rows, columns, truth, unscored=unscored)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=125)
    with Image.open(PICTURE) as image:
        image.convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
