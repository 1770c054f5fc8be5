"""Nav2 map files: ``map.yaml`` and its image, read and written by the map server's own rules.

Gray values become occupancy as in ``nav_msgs/OccupancyGrid``: 0 free, 100 occupied, -1 unknown, the
values between as certain as they say. With ``p = 1 - gray / 255`` (``gray / 255`` if ``negate``):

======== ======================= =================== ==========================================
mode     100                     0                   otherwise
======== ======================= =================== ==========================================
trinary  p >= occupied_thresh    p <= free_thresh    -1
scale    p >= occupied_thresh    p <= free_thresh    round(100 (p - free) / (occupied - free))
raw                                                  the gray value if it is 0..100, else -1
======== ======================= =================== ==========================================

``rules="nav2"`` is Jazzy and later: a pixel that is not opaque is unknown, except in raw mode.
``rules="humble"``: strict inequalities, and trinary averages alpha into the gray.
"""

import math
import os
import re
import reprlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import yaml
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import MapError, MapWarning

Mode = Literal["trinary", "scale", "raw"]
Rules = Literal["nav2", "humble"]
Occupancy = NDArray[np.int8]
Shade = NDArray[np.float64]
Opacity = NDArray[np.float64]

FREE, OCCUPIED, UNKNOWN = 0, 100, -1
MAX_CELLS = 64_000_000  # 400 m x 400 m at 5 cm; a header that asks for more is refused unread
MAX_YAML_BYTES = 1_000_000
UNKNOWN_GRAY = 205  # what map savers write for unknown
FIELDS = ("image", "resolution", "origin", "negate", "occupied_thresh", "free_thresh")


@dataclass(frozen=True)
class MapHeader:
    """The fields of a ``map.yaml``."""

    image: Path
    resolution_m: float
    origin: tuple[float, float, float]
    negate: bool
    occupied_thresh: float
    free_thresh: float
    mode: Mode


def read_yaml(path: Path, error: type[Exception]) -> dict[str, Any]:
    """The mapping that a small YAML file holds; a key that stands twice is an error."""
    try:
        size = path.stat().st_size
        if size > MAX_YAML_BYTES:
            raise error(f"{path} has {size} bytes; the limit is {MAX_YAML_BYTES}.")
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except FileNotFoundError:
        raise error(f"{path} does not exist.") from None
    except UnicodeDecodeError:
        raise error(
            f"{path} cannot be read as text; of a map, give the map.yaml, not its image."
        ) from None
    except OSError as reason:
        raise error(f"{path} cannot be read: {reason}.") from None
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, OverflowError) as reason:
        raise error(f"{path} is not valid YAML: {_one_line(reason)}.") from None
    if not isinstance(content, dict):
        raise error(f"{path} must hold a mapping of fields, not {type(content).__name__}.")
    return content


class _StrictLoader(yaml.SafeLoader):
    """A safe loader that refuses a mapping with the same key twice instead of taking the last.

    It reads ``5e-2`` as a number, as YAML 1.2 and the map server do.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else id(key_node)
            if key in seen:
                line = key_node.start_mark.line + 1
                raise yaml.YAMLError(f"the key '{key}' stands twice, again in line {line}")
            seen.add(key)
        return super().construct_mapping(node, deep)


_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def _one_line(reason: Exception) -> str:
    return shorten(" ".join(str(reason).split()), 200)


def shorten(text: str, most: int = 80) -> str:
    """A text that fits a sentence."""
    return text if len(text) <= most else text[: most - 3] + "..."


def quoted(value: object) -> str:
    """A value as an error message shows it: however large or deep it is, the text is short."""
    return shorten(reprlib.repr(value))


def number(value: object) -> float | None:
    """The finite number that a YAML value is, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        out = float(value)
    except OverflowError:
        return None
    return out if math.isfinite(out) else None


def expanded(path: Path, error: type[Exception]) -> Path:
    """The path with ``~`` replaced by the home folder."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise error(f"{path} names a user whose home folder is not known.") from None


def read_header(path: Path) -> MapHeader:
    """Read and check a ``map.yaml``; the image is looked for beside it."""
    fields = read_yaml(path, MapError)
    missing = [name for name in FIELDS if name not in fields]
    if missing:
        raise MapError(f"{path} lacks '{missing[0]}'; a map needs {', '.join(FIELDS)}.")
    image = fields["image"]
    if not isinstance(image, str) or not image:
        raise MapError(f"{path}: 'image' must name a file, not {quoted(image)}.")
    mode = fields.get("mode", "trinary")
    if mode not in get_args(Mode):
        raise MapError(
            f"{path}: mode {quoted(mode)} is unknown; valid are {', '.join(get_args(Mode))}."
        )
    if fields["negate"] not in (0, 1):
        raise MapError(f"{path}: negate must be 0 or 1, not {quoted(fields['negate'])}.")
    resolution = _number(path, fields, "resolution")
    if resolution <= 0:
        raise MapError(f"{path}: resolution must be above 0 m per pixel, not {resolution}.")
    origin = fields["origin"]
    if not isinstance(origin, list) or len(origin) != 3:
        raise MapError(f"{path}: origin must be a list of x, y and yaw, not {quoted(origin)}.")
    x, y, yaw = (_number(path, {f"origin[{i}]": v}, f"origin[{i}]") for i, v in enumerate(origin))
    occupied, free = (_number(path, fields, name) for name in ("occupied_thresh", "free_thresh"))
    if not 0 <= free < occupied <= 1:
        raise MapError(
            f"{path}: thresholds must hold 0 <= free_thresh < occupied_thresh <= 1, "
            f"not free_thresh {free} and occupied_thresh {occupied}."
        )
    # an absolute path stays as it is under "/"
    return MapHeader(
        path.parent / image, resolution, (x, y, yaw), bool(fields["negate"]), occupied, free, mode
    )


def _number(path: Path, fields: dict[str, Any], name: str) -> float:
    value = number(fields[name])
    if value is None:
        raise MapError(f"{path}: {name} must be a finite number, not {quoted(fields[name])}.")
    return value


def read_image(path: Path) -> tuple[Shade, Opacity | None]:
    """Brightness of the colours and opacity, each (height, width) in 0..1, top row first.

    An image without alpha channel has no opacity.
    """
    with warnings.catch_warnings():
        # Pillow's own size limit warns before ours is asked
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        try:
            with Image.open(path) as image:
                width, height = image.size
                if width * height > MAX_CELLS:
                    raise MapError(
                        f"{path} is {width} x {height} pixels; the limit is {MAX_CELLS} in all."
                    )
                return _channels(image)
        except FileNotFoundError:
            raise MapError(f"The map image {path} does not exist.") from None
        except Image.DecompressionBombError:
            raise MapError(f"{path} has more pixels than the limit of {MAX_CELLS}.") from None
        except (OSError, ValueError, SyntaxError) as reason:
            raise MapError(f"The map image {path} cannot be read: {_one_line(reason)}.") from None


def _channels(image: Image.Image) -> tuple[Shade, Opacity | None]:
    sixteen_bits = image.mode.startswith("I;16")
    sixteen_bits |= image.mode == "I" and image.format in ("PNG", "PPM")
    if image.mode in ("I", "F") and not sixteen_bits:
        raise ValueError("a map has 8 or 16 bits per channel, not 32")
    if sixteen_bits:
        shade = np.asarray(image, dtype=np.float64) / 65535.0
        return shade, None
    if image.mode in ("1", "L") and "transparency" not in image.info:
        return np.asarray(image.convert("L")) / 255.0, None
    pixels = np.asarray(image.convert("RGBA"))
    colours = pixels[..., :3].sum(axis=2, dtype=np.int64)
    has_alpha = image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info
    return colours / (3 * 255.0), pixels[..., 3] / 255.0 if has_alpha else None


def to_occupancy(
    shade: Shade,
    opacity: Opacity | None,
    header: MapHeader,
    rules: Rules,
) -> Occupancy:
    """Apply the rules of the table above; the result has row 0 at the bottom."""
    if header.mode == "raw":
        gray = np.floor(shade * 255 + 0.5)
        return _bottom_first(np.where(gray <= OCCUPIED, gray, UNKNOWN))
    if rules == "humble" and header.mode == "trinary" and opacity is not None:
        shade = (3 * shade + opacity) / 4
    p = shade if header.negate else 1 - shade
    occupied, free = header.occupied_thresh, header.free_thresh
    between = np.full(p.shape, float(UNKNOWN))
    if header.mode == "scale":
        between = np.rint(100 * (p - free) / (occupied - free))
    if rules == "humble":
        cells = np.where(p > occupied, OCCUPIED, np.where(p < free, FREE, between))
    else:
        cells = np.where(p >= occupied, OCCUPIED, np.where(p <= free, FREE, between))
    if opacity is not None and (rules == "nav2" or header.mode == "scale"):
        cells = np.where(opacity < 1, UNKNOWN, cells)
    return _bottom_first(cells)


def _bottom_first(cells: NDArray[Any]) -> Occupancy:
    return np.ascontiguousarray(cells[::-1], dtype=np.int8)


def load(path: Path, *, rules: Rules, unknown_205: bool) -> tuple[Occupancy, MapHeader]:
    """Occupancy (row 0 at the bottom) and header of a Nav2 map; warns of the gray-205 trap."""
    header = read_header(expanded(path, MapError))
    shade, opacity = read_image(header.image)
    occupancy = to_occupancy(shade, opacity, header, rules)
    is_205 = _bottom_first(np.rint(shade * 255) == UNKNOWN_GRAY).astype(bool)
    if unknown_205:
        occupancy[is_205] = UNKNOWN
    trapped = int((is_205 & (occupancy == FREE)).sum())
    if header.mode == "trinary" and trapped:
        warnings.warn(
            f"{trapped} pixels of {header.image.name} have gray {UNKNOWN_GRAY}, which map savers "
            f"write for unknown, and load as free because free_thresh is {header.free_thresh}; "
            f"set free_thresh to 0.196, or load with unknown_205 (--unknown-205).",
            MapWarning,
            stacklevel=3,
        )
    between = int(((occupancy > FREE) & (occupancy < OCCUPIED)).sum())
    if between:
        warnings.warn(
            f"{between} cells of {header.image.name} are neither free nor occupied for sure "
            f"(values 1 to 99) and count as unknown; OccupancyMap.thresholded decides them.",
            MapWarning,
            stacklevel=3,
        )
    return occupancy, header


def _trinary_pixels(occupancy: Occupancy) -> Image.Image:
    gray = np.full(occupancy.shape, UNKNOWN_GRAY, np.uint8)
    gray[occupancy == FREE] = 254
    gray[occupancy == OCCUPIED] = 0
    return Image.fromarray(gray[::-1])


def _scale_pixels(occupancy: Occupancy) -> Image.Image:
    known = occupancy >= FREE
    gray = np.rint((100.0 - np.where(known, occupancy, 0)) * 2.55).astype(np.uint8)
    alpha = np.where(known, 255, 0).astype(np.uint8)
    return Image.fromarray(np.stack([gray, alpha], axis=2)[::-1].copy(), mode=None)


def _raw_pixels(occupancy: Occupancy) -> Image.Image:
    return Image.fromarray(np.where(occupancy < FREE, 255, occupancy).astype(np.uint8)[::-1])


# mode -> pixels, occupied_thresh, free_thresh; scale with 1 and 0 gives every value back exactly
_SAVERS: dict[Mode, tuple[Callable[[Occupancy], Image.Image], float, float]] = {
    "trinary": (_trinary_pixels, 0.65, 0.196),
    "scale": (_scale_pixels, 1.0, 0.0),
    "raw": (_raw_pixels, 0.65, 0.196),
}
_FORMATS = {"pgm": "PPM", "png": "PNG", "bmp": "BMP"}


def save(
    path: Path,
    occupancy: Occupancy,
    resolution_m: float,
    origin: tuple[float, float, float],
    *,
    mode: Mode,
    image_format: str | None,
) -> None:
    """Write ``path`` (a ``.yaml``) and its image beside it; a crash leaves the old files whole."""
    path = expanded(path, MapError)
    if path.suffix not in (".yaml", ".yml"):
        raise MapError(f"A map is saved under a name that ends in .yaml or .yml, not '{path}'.")
    if mode not in _SAVERS:
        raise MapError(f"Mode {mode!r} is unknown; valid are {', '.join(_SAVERS)}.")
    suffix = image_format or ("png" if mode == "scale" else "pgm")
    if suffix not in _FORMATS:
        raise MapError(f"Image format {suffix!r} is unknown; valid are {', '.join(_FORMATS)}.")
    if mode == "scale" and suffix != "png":
        raise MapError(f"Mode scale marks unknown by transparency, which {suffix} lacks; use png.")
    pixels, occupied, free = _SAVERS[mode]
    image_path = path.with_suffix(f".{suffix}")
    header = {
        "image": image_path.name,
        "resolution": float(resolution_m),
        "origin": [float(value) for value in origin],
        "negate": 0,
        "occupied_thresh": occupied,
        "free_thresh": free,
        "mode": mode,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(header, sort_keys=False, default_flow_style=None)
        _replace(
            {
                image_path: lambda to: pixels(occupancy).save(to, format=_FORMATS[suffix]),
                path: lambda to: to.write_text(text, encoding="utf-8"),
            }
        )
    except OSError as reason:
        raise MapError(f"The map cannot be written to {path}: {reason}.") from None


def _replace(writers: Mapping[Path, Callable[[Path], object]]) -> None:
    """Write all files beside their places first, and move them in only when all are written."""
    parts = {path: path.with_name(f".{path.name}.part") for path in writers}
    try:
        for path, write in writers.items():
            write(parts[path])
        for path, part in parts.items():
            os.replace(part, path)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
