"""What can go wrong, in words that a user can act on.

Every message is one sentence that names the value, the limit and the valid choices.
"""


class SightlineError(Exception):
    """Base of all errors that a user can act on."""


class MapError(SightlineError):
    """A map file or grid that cannot be used."""


class PlacesError(SightlineError):
    """A places file or scenario folder that cannot be used."""


class UnreachableError(SightlineError):
    """A position at which the robot cannot stand, or to which it cannot drive."""


class UnknownObjectError(SightlineError):
    """An object that the scenario does not know."""


class MapWarning(UserWarning):
    """A map that loads by the rules, though probably not as its maker meant it."""


class PlanError(SightlineError):
    """A planning problem that cannot be solved as it is given."""


class LearnError(SightlineError):
    """A learner, its settings or its state that cannot be used as asked."""


class StoreError(SightlineError):
    """A memory file that cannot be opened, read or written as asked."""


class StudyError(SightlineError):
    """A study or a run folder that cannot be used."""


class DetectError(SightlineError):
    """A detector, its model file or a frame that cannot be used."""


class WorldError(SightlineError):
    """A simulated world that cannot be built or used as asked."""


class FilmError(SightlineError):
    """A film that cannot be made or written as asked."""
