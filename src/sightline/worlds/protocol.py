"""What every world is: a robot in it can be asked where it is, sent somewhere, and told to look."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from sightline.records import Position


class DriveStatus(StrEnum):
    """How a drive ended."""

    ARRIVED = "arrived"
    BLOCKED = "blocked"  # something that is not on the map is in the way
    SIGHTED = "sighted"  # stopped because the object came into view


@dataclass(frozen=True)
class Drive:
    """What came of a drive: metres driven, where the robot is now, and what it saw on the way."""

    status: DriveStatus
    driven_m: float
    position: Position
    sighting: Position | None = None


class World(Protocol):
    """A robot with a sensor in a home.

    A *sighting* is where the robot takes the object to lie, in the frame of the map; it may be a false
    alarm. ``check`` drives within reach of a sighting, looks closely and says whether it was right.
    """

    @property
    def position(self) -> Position:
        """Where the robot is."""

    def drive_to(self, goal: Position, thing: str) -> Drive:
        """Drive to a goal; keep an eye open for an object if the world lets robots see on the way."""

    def look(self, thing: str) -> Position | None:
        """Look all around for an object."""

    def check(self, thing: str, sighting: Position) -> tuple[Drive, bool]:
        """Drive within reach of a sighting, and say whether the object really lies there."""
