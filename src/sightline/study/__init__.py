"""Studies: methods x settings x seeds, in parallel, resumable; see ``config`` for what one is."""

from sightline.study.config import LEARNERS, PLANNERS, Cell, Method, Protocol, Setting, Study
from sightline.study.run import Run, run_study

__all__ = [
    "LEARNERS",
    "PLANNERS",
    "Cell",
    "Method",
    "Protocol",
    "Run",
    "Setting",
    "Study",
    "run_study",
]
