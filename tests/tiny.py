"""A home small enough to be searched in physics within a second or two."""

from pathlib import Path

from grids import ascii_map

# 5 x 3.4 m; a wall hides one table from who stands at the other
ROOM = "\n".join(
    [
        "#" * 25,
        *["#" + "." * 23 + "#"] * 6,
        *["#" + "." * 11 + "#" + "." * 11 + "#"] * 9,
        "#" * 25,
    ]
)
PLACES = """
format: sightline-places/1
surfaces:
  west table: {category: SideTable, height_m: 0.7, support: legs,
               polygon: [[0.4, 0.3], [1.0, 0.3], [1.0, 0.7], [0.4, 0.7]]}
  east table: {category: SideTable, height_m: 0.7, support: solid,
               polygon: [[3.8, 0.3], [4.6, 0.3], [4.6, 0.8], [3.8, 0.8]]}
distributions:
  evenly:
    cup: {west table: 0.7, east table: 0.3}
    bowl: {west table: 1.0}
"""
START = (1.6, 2.6)
EAST = (4.2, 0.55)


def write_tiny(folder: str = "tiny") -> str:
    """Write the home into a folder of the working directory; gives the folder's name."""
    Path(folder).mkdir()
    ascii_map(ROOM, resolution_m=0.2).save(Path(folder) / "map.yaml")
    (Path(folder) / "places.yaml").write_text(PLACES)
    return folder
