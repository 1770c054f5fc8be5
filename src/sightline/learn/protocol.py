"""What every learner is: it meets a site, predicts for a query, and learns from an episode."""

from collections.abc import Iterable
from typing import Protocol, Self

from numpy.typing import ArrayLike

from sightline.errors import LearnError, UnknownObjectError
from sightline.learn.state import State
from sightline.records import Belief, Episode, Query
from sightline.site import Site


class Learner(Protocol):
    """Turns episodes into beliefs. A learner is made with its settings and then meets its site.

    ``meet`` is called once before anything else, with the objects that can be asked for: those of the
    site's home and ``things``. A learner that comes out of ``from_state`` meets its site again before it
    goes on, and may then be told of more things.

    ``predict`` changes nothing. ``update`` learns from what was visited only, or not at all if it raises.
    ``state`` holds all that was learned and all settings; ``from_state`` gives a learner that predicts
    the same to the last bit. Learners that draw random numbers take a generator when they are made, and
    keep its state.
    """

    def meet(self, site: Site, things: Iterable[str] = ()) -> None:
        """Say which home it is, and which objects there are."""

    def predict(self, query: Query, points: ArrayLike) -> Belief:
        """What is believed of the object from vantage points (k, 2) now."""

    def update(self, episode: Episode) -> None:
        """Learn from a search, or from what a person told."""

    def state(self) -> State:
        """All that was learned, and the settings."""

    @classmethod
    def from_state(cls, state: State) -> Self:
        """A learner that knows what the state holds."""


def known_things(site: Site, before: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    """The objects a learner knows after it met a site: each once, in the order in which they came."""
    if isinstance(more, str):
        raise LearnError(f"Objects are given as a list of names, not as one text {more!r}.")
    things = tuple(dict.fromkeys([*before, *site.home.objects, *more]))
    wrong = [thing for thing in things if not isinstance(thing, str) or not thing]
    if wrong:
        raise LearnError(f"An object's name must be a text, not {wrong[0]!r}.")
    return things


def check_thing(thing: str, things: tuple[str, ...]) -> None:
    """Refuse an object that a learner does not know."""
    if thing not in things:
        raise UnknownObjectError(
            f"The learner knows no object '{thing}'; valid are {', '.join(things) or 'none'}, and more "
            "can be named in the things that it is given when it meets its site."
        )


def met(site: Site | None) -> Site:
    """The site, if the learner has met one."""
    if site is None:
        raise LearnError(
            "A learner must meet its site before it predicts or learns: call meet(site)."
        )
    return site


def same_site(site: Site, learned_in: str) -> None:
    """Refuse a site other than the one in which a learner learned (its name; empty if none yet)."""
    if learned_in and site.name != learned_in:
        raise LearnError(
            f"The learner has learned in {learned_in} and cannot go on in {site.name}; its features and "
            "cells belong to that map."
        )
