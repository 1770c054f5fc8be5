"""Maps for tests: drawn as text, written as Nav2 files, and files that no map can come from."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline import OccupancyMap

CELLS = {"#": 100, ".": 0, "?": -1}
FIELDS = {
    "image": "map.png",
    "resolution": "0.05",
    "origin": "[0.0, 0.0, 0.0]",
    "negate": "0",
    "occupied_thresh": "0.65",
    "free_thresh": "0.196",
}


def _letters(text: str) -> NDArray[np.str_]:
    """The letters of a drawing (rows, columns), row 0 at the bottom."""
    rows = text.split()
    assert len({len(row) for row in rows}) == 1, f"the rows of a drawing differ in length: {rows}"
    return np.array([list(row) for row in reversed(rows)])


def ascii_map(
    text: str,
    resolution_m: float = 1.0,
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> OccupancyMap:
    """The map that a drawing shows, top row first: ``#`` occupied, ``.`` free, ``?`` unknown."""
    cells = np.vectorize(CELLS.__getitem__)(_letters(text))
    return OccupancyMap.from_array(cells, resolution_m, origin)


def ascii_mask(text: str, true: str = ".") -> NDArray[np.bool_]:
    """Where a drawing has the letter ``true`` (rows, columns), row 0 at the bottom."""
    return np.equal(_letters(text), true)


def yaml_text(*, but: str | None = None, **fields: object) -> str:
    """A ``map.yaml`` with some fields changed, and without the field ``but``."""
    merged = {**FIELDS, **fields}
    return "".join(f"{key}: {value}\n" for key, value in merged.items() if key != but)


def write_yaml(path: str = "map.yaml", **fields: object) -> str:
    """Write ``yaml_text`` to a file and give its path."""
    Path(path).write_text(yaml_text(**fields))
    return path


class BadMap(NamedTuple):
    """The files of a map that cannot load (None: no such file), and words of its error."""

    words: list[str]
    yaml: str | None
    image: bytes | None = b"P5\n2 2\n255\n\xfe\xfe\xfe\xfe"


# a wrong field -> words that the message must hold, besides the field's name
WRONG_FIELDS = {
    "resolution: 0": ["above 0", "0.0"],
    "resolution: -0.05": ["above 0", "-0.05"],
    "resolution: .nan": ["nan"],
    "resolution: .inf": ["inf"],
    "resolution: true": ["True"],
    "resolution: fine": ["'fine'"],
    "resolution: [0.05]": ["[0.05]"],
    "occupied_thresh: 0.1": ["0.1", "0.196"],
    "occupied_thresh: 0.196": ["0.196"],
    "occupied_thresh: 1.5": ["1.5", "<= 1"],
    "occupied_thresh: .nan": ["nan"],
    "free_thresh: -0.1": ["-0.1", "0 <="],
    "free_thresh: 0.7": ["0.7", "0.65"],
    "mode: cost": ["'cost'", "trinary, scale, raw"],
    "negate: 2": ["2", "0 or 1"],
    "negate: perhaps": ["'perhaps'"],
    "origin: [1.5, 2.5]": ["[1.5, 2.5]", "yaw"],
    "origin: [1, 2, 3, 4]": ["[1, 2, 3, 4]"],
    "origin: corner": ["'corner'"],
    "origin: [0, 0, .nan]": ["origin[2]", "nan"],
    "image: ''": ["''"],
    "image: 7": ["7"],
    "image: .": ["cannot be read"],
}

# content of map.yaml -> words of the message
WRONG_YAML = {
    "": ["mapping", "NoneType"],
    "- image: map.png\n": ["mapping", "list"],
    "image: [map.png\n": ["not valid YAML"],
    "image: map.png\nresolution: 0.05\nimage: other.png\n": ["'image'", "twice", "line 3"],
    "origin: {x: 1, x: 2}\n": ["'x'", "twice"],
    "image: !!python/name:os.system\n": ["not valid YAML"],
    "image: " + 4000 * "[": ["not valid YAML"],
    "# " + 1_000_000 * "x": ["1000002 bytes", "1000000"],
}

# content of the image -> words of the message
WRONG_IMAGES = {
    b"": ["cannot be read"],
    b"a letter, not a picture": ["cannot be read"],
    b"P5\n4 4\n255\n\0\0\0\0\0": ["cannot be read"],
    b"P2\n4 4\n255\n0 0 0\n": ["cannot be read"],
    b"P5\n60000 60000\n255\n\0": ["64000000"],
    b"P5\n9000 9000\n255\n\0": ["9000 x 9000", "64000000"],
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR": ["cannot be read"],
}


def _bad_maps() -> Iterator[tuple[str, BadMap]]:
    for line, words in WRONG_FIELDS.items():
        name, value = line.split(": ", 1)
        yield line, BadMap([name, *words], yaml_text(**{name: value}))
    for name in FIELDS:
        yield f"no {name}", BadMap(["lacks", f"'{name}'"], yaml_text(but=name))
    for text, words in WRONG_YAML.items():
        yield f"yaml {text[:20]!r}", BadMap(["map.yaml", *words], text)
    for content, words in WRONG_IMAGES.items():
        yield f"image {content[:20]!r}", BadMap(["map.png", *words], yaml_text(), content)
    yield "no image file", BadMap(["map.png", "does not exist"], yaml_text(), None)
    yield "no yaml file", BadMap(["map.yaml", "does not exist"], None)


BAD_MAPS = dict(_bad_maps())


def write_bad_map(bad: BadMap) -> str:
    """Write a map's files into the working directory and give the path of its yaml."""
    for name, content in (("map.png", bad.image), ("map.yaml", bad.yaml)):
        if content is not None:
            Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return "map.yaml"
