"""``python -m benchmarks``: print the tables; ``--write`` puts them into docs/benchmarks.md, too."""

import argparse
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks import (
    bandits,
    belief,
    geometry,
    latency,
    learners,
    mpc,
    null,
    physics,
    search_planner,
    startup,
)

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
REQUIREMENTS = Path(__file__).parent.parent / "requirements"
PEERS = (
    *("numpy", "numba", "scipy", "ortools", "scikit-image", "pyastar2d", "fpsample"),
    *("pybullet", "osqp", "casadi"),
    *("scikit-learn", "calvera", "mabwiser", "river"),
)
ROUNDS, QUICK_ROUNDS = 7, 3


class Section(NamedTuple):
    """A heading, what to know before reading, and what prints its table."""

    heading: str
    text: str
    measure: Callable[[bool], str]  # told whether to be quick


def rounds(measure: Callable[[int], str]) -> Callable[[bool], str]:
    """A measure that is repeated, fewer times if it is to be quick."""
    return lambda quick: measure(QUICK_ROUNDS if quick else ROUNDS)


INTRODUCTION = """# Benchmarks

Everything on this page is printed by `make bench`, which installs the peers into an environment of
their own and runs them and Sightline on the same input, in one process. `make bench-docs` also writes
this page. That takes an hour and a half; `python -m benchmarks --quick --only NAME` measures one section
in little time. Times are medians and depend on the machine, here two shared cores; read the ratios. A
ratio of 3 means that the peer takes three times as long. Compiled code is warm unless a table says
otherwise."""
SECTIONS = {
    "paths": Section(
        "Shortest paths",
        """All distance fields from 51 points and the distances between the points. Sightline's time
includes reading the mask, scipy's does not include building its graph. The error is how much longer
than the exact shortest path the worst of the 1,275 distances is; Sightline's own exactness is a matter
of the tests, which compare it with full visibility graphs. pyastar2d gives no fields, only the pairs.""",
        rounds(lambda count: f"{geometry.distances(count)}\n\n{geometry.peak_memory()}"),
    ),
    "sight": Section("Line of sight", "", rounds(geometry.line_of_sight)),
    "points": Section("Farthest points", "", rounds(geometry.farthest)),
    "orders": Section(
        "Orders of least weighted latency",
        """Random cells of the free space of three scenarios, random weights, one thread. The instances
are numbered from 0; settings were chosen on instances from number 10,000 on. "Best" is the proven
optimum: each instance is proven first, then searched from five seeds, without a proof.""",
        latency.small,
    ),
    "literature": Section(
        "Orders: published circuits",
        """Instances of TSPLIB as minimum-latency circuits with unit weights, from 20 seeds each, until
the published value is reached. All values are proven optimal in the literature, but for eil101.""",
        latency.literature,
    ),
    "large": Section(
        "Orders: many points",
        """The gap is to the best of all runs here. One of them has ten seconds or five times the limit,
whichever is more.""",
        latency.large,
    ),
    "proofs": Section("Orders: certificates", "", latency.certificates),
    "peers": Section(
        "Orders: other solvers",
        """Three instances of each size, one thread each. OR-Tools routing and CP-SAT charge each weight
on the arrival, with lengths in tenths of a millimetre. Gaps are to Sightline's long run with another
seed.""",
        latency.peers,
    ),
    "searches": Section(
        "Searches with overlap",
        """Objects of both kitchens in both distributions, random starts and random subsets of 1,000
candidate points, discs of the range named, 2,091 and 3,111 target cells. Costs are expected distances
with an escape of 20 m. "The best" is the better of a multi-start of a minute and the run itself. The
instances come from a seed that no setting was chosen on.""",
        search_planner.soonness,
    ),
    "exact": Section(
        "Searches: against exact optima",
        "Optima by dynamic programming over sets of points; 50 ms for each search.",
        search_planner.exactness,
    ),
    "bounds": Section("Searches: certificates in 5 s", "", search_planner.certificates),
    "overlap": Section(
        "Searches: what counting overlap saves",
        """Expected metres below those of the order of least weighted latency, which counts a cell again
each time that it is seen. Both have the same time. That order visits every point; its best prefix is
what a robot that knew when to give up would drive.""",
        search_planner.against_orders,
    ),
    "learners": Section(
        "Learners: time",
        """Processor time of one prediction for 50 points and of learning one found search with its
augmentation, D about 310; and of 200 finds. GenLin's update is exact, in blocks.""",
        learners.speed,
    ),
    "beliefs": Section("PlaceBelief: time", "", belief.speed),
    "bandits": Section(
        "Learners: as plain bandits",
        """The digits that come with scikit-learn as a bandit with ten arms: the picture is the context,
the right digit pays. Centred pictures are less their mean, of norm 1; the linear bandits choose between
these and plain ones. Our network is one `NtkNetwork` per arm, solved in closed form (`rule="solve"`);
calvera's trains after every round. Settings, the rewards' coding among them, were chosen on three other
seeds, calvera's by their first 300 rounds. `make bench-bandits` measures this, in an environment of its
own.""",
        bandits.peers,
    ),
    "signs": Section(
        "Learners: which sign of the bound",
        """`bound="upper"` against `bound="lower"` on the same courses, kitchen1, 200 searches.""",
        learners.signs,
    ),
    "rules": Section(
        "Learners: a network trained or solved",
        """`Neural` trained by steps (`rule="descent"`) and solved in closed form (`rule="solve"`) on the
same courses, kitchen1. All but the defaults have slope 3, k = 0.2 and alpha = 0.02, chosen on other
courses there. Seconds are of planning, too.""",
        learners.rules,
    ),
    "kitchens": Section(
        "Beliefs: random kitchens",
        """Exact expected SPL of `Coverage` with the learned mass, as a share of that with the true mass.
Settings were chosen on other kitchens.""",
        belief.kitchens,
    ),
    "homes": Section("Beliefs: the scenarios that ship, line of sight", "", belief.homes),
    "short-sight": Section("Beliefs: trained with 1 m, evaluated with 2.5 m", "", belief.paper),
    "calibration": Section("Beliefs: calibration", "", belief.calibration),
    "ablations": Section("Beliefs: what each part is worth", "", belief.ablations),
    "null": Section(
        "Beliefs: nothing to learn",
        """Objects placed uniformly at random: no learner may gain over `Uniform`.""",
        null.no_gain,
    ),
    "control": Section(
        "Physics: model-predictive control",
        """The same random drives by our quadratic programme on OSQP, with one round (what ships) and two,
and by general solvers through CasADi with the same model, cost, constraints and safety check; an exact
differential drive with wheels that lag by 0.1 s and poses with noise of 2 cm and 1 degree. Times are
processor time of a control step.""",
        mpc.solvers,
    ),
    "physics": Section(
        "Physics: parts and whole searches",
        """Wall time on one core, a seed from which no other result is reported. A search drives, looks
and checks what it sees, with one unmapped box, a budget of 40 m and a plan by the true chances.""",
        physics.physics,
    ),
    "startup": Section("Starting up", "", rounds(startup.startup)),
}

ELSEWHERE = ("bandits",)  # sections whose peers have an environment of their own


def pins() -> dict[str, str]:
    """The versions that are locked, for the Python that runs; of two markers the first that names it."""
    newer = platform.python_version_tuple() >= ("3", "12")
    out: dict[str, str] = {}
    for name in ("bench.txt", "peers.txt"):
        for line in (REQUIREMENTS / name).read_text(encoding="utf-8").splitlines():
            package, _, marked = line.partition(";")
            other_python = "python_full_version" in marked and (">= '3.12'" in marked) != newer
            if "==" in package and not other_python:
                out.setdefault(*package.strip().split("=="))
    return out


def with_section(page: str, section: Section, result: str) -> str:
    """The page with this section's text and table new, in the order of ``SECTIONS``."""
    _, *parts = re.split(r"^## ", page, flags=re.MULTILINE)
    bodies = {heading: body.strip() for heading, _, body in (p.partition("\n") for p in parts)}
    bodies[section.heading] = f"{section.text}\n\n{result}".strip()
    listed = [entry.heading for entry in SECTIONS.values() if entry.heading in bodies]
    pinned = pins()
    versions = ", ".join(f"{name} {pinned[name]}" for name in PEERS)
    head = (
        f"{INTRODUCTION}\n\nPython {platform.python_version()}, {platform.machine()}, {versions}."
    )
    return "\n\n".join([head, *(f"## {name}\n\n{bodies[name]}" for name in listed)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="fewer instances and rounds")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md, too")
    options = parser.parse_args()
    for name in options.only:
        if options.only == list(SECTIONS) and name in ELSEWHERE:
            continue
        section = SECTIONS[name]
        print(f"\n## {section.heading}\n\n{section.text}\n", flush=True)
        result = section.measure(options.quick)
        print(result, flush=True)
        if options.write:
            page = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(with_section(page, section, result), encoding="utf-8")


if __name__ == "__main__":
    main()
