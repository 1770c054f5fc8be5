"""What a learner has learned, as a file: text where it is small, arrays where it is not, never pickle.

A state is a mapping of texts to numbers, texts, lists and mappings of these, and NumPy arrays. Every
state has ``learner`` (the class), ``version`` (of its layout), ``site`` (the name of the site in which
it was learned) and ``things``.
"""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sightline.errors import LearnError

State = Mapping[str, Any]
MAX_BYTES = 1_000_000_000
HEADER = "header"


def save_state(path: str | Path, state: State) -> None:
    """Write a state to a ``.json`` or ``.npz`` file; a crash leaves an old file whole."""
    path = Path(path)
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".json":
            part.write_text(json.dumps(state, default=_as_json, indent=1), encoding="utf-8")
        elif path.suffix == ".npz":
            arrays: dict[str, Any] = {}
            arrays[HEADER] = np.array(json.dumps(_without_arrays(state, arrays)))
            with part.open("wb") as file:
                np.savez_compressed(file, allow_pickle=False, **arrays)
        else:
            raise LearnError(
                f"A state is saved under a name that ends in .json or .npz, not {path}."
            )
        part.replace(path)
    except OSError as reason:
        raise LearnError(f"The state cannot be written to {path}: {reason}.") from None
    finally:
        part.unlink(missing_ok=True)


def load_state(path: str | Path) -> State:
    """Read a state that ``save_state`` wrote."""
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise LearnError(f"{path} has {size} bytes; the limit is {MAX_BYTES}.")
        if path.suffix == ".npz":
            with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
                arrays = {name: content[name] for name in content.files if name != HEADER}
                state = _with_arrays(json.loads(str(content[HEADER])), arrays)
        else:
            state = _with_arrays(json.loads(path.read_text(encoding="utf-8")), {})
    except FileNotFoundError:
        raise LearnError(f"The state {path} does not exist.") from None
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, RecursionError) as reason:
        raise LearnError(f"{path} is not a whole state of a learner: {reason}.") from None
    if not isinstance(state, dict):
        raise LearnError(f"{path} holds {type(state).__name__}, not the state of a learner.")
    return state


def checked(state: State, learner: str, version: int, fields: tuple[str, ...]) -> State:
    """The state, if it is one of this learner and of this version, and complete."""
    if state.get("learner") != learner:
        raise LearnError(f"The state is one of {state.get('learner')!r}, not of {learner}.")
    if state.get("version") != version:
        raise LearnError(
            f"The state of {learner} has version {state.get('version')!r}; this release reads {version}."
        )
    missing = [name for name in ("site", "things", *fields) if name not in state]
    if missing:
        raise LearnError(f"The state of {learner} is damaged: it lacks {', '.join(missing)}.")
    return state


def _as_json(value: object) -> object:
    if isinstance(value, np.ndarray):
        # 17 digits, which Python writes where needed, give every number back exactly
        return {"array": value.tolist(), "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, np.integer | np.floating | np.bool_):
        return value.item()
    raise TypeError(f"a state cannot hold a {type(value).__name__}")


def _without_arrays(value: Any, arrays: dict[str, Any]) -> Any:
    """A copy in which each array is replaced by the name under which it stands in ``arrays``."""
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array_in": name}
    if isinstance(value, Mapping):
        return {key: _without_arrays(part, arrays) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(part, arrays) for part in value]
    return value if not isinstance(value, np.generic) else value.item()


def _with_arrays(value: Any, arrays: Mapping[str, Any]) -> Any:
    """The inverse, for both kinds of file."""
    if isinstance(value, dict):
        if "array_in" in value:
            return arrays[value["array_in"]]
        if set(value) == {"array", "dtype", "shape"}:
            return np.array(value["array"], dtype=value["dtype"]).reshape(value["shape"])
        return {key: _with_arrays(part, arrays) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_arrays(part, arrays) for part in value]
    return value
