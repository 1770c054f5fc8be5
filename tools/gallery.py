"""The page of the examples: what each says of itself, its code, what it prints and what it draws.

    python tools/gallery.py   runs every numbered example; writes docs/gallery.md and its pictures

The code is fenced as ``py``, not ``python``: tests/test_examples.py runs it, and the test of the other
pages need not do so again.
"""

import ast
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import gymnasium
import numpy as np
from PIL import Image

from sightline.gym_env import ENV_ID

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "img" / "gallery"
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))

INTRODUCTION = """# Gallery

Small programs, each complete and about one thing. They stand in `examples/`; in a clone of the
repository, after `make demo`, run one with

```console
$ .venv/bin/python examples/01_map_and_points.py
```

Pictures go to `out/`. What is printed below comes from these programs, and a test compares it. The one on
[Gymnasium](gym.md) needs the extra `gym`, the one on the [physical world](physics.md) needs `physics`.
"""


def page(printed: dict[str, str]) -> str:
    """The whole page, from the examples and what they print."""
    return "\n".join([INTRODUCTION, *(_section(path, printed) for path in EXAMPLES)])


def shown() -> dict[str, str]:
    """What the examples print according to the page as it is now."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    found = re.findall(
        r"^<!-- prints: (\w+) -->\n```text\n(.*?)^```$", text, re.DOTALL | re.MULTILINE
    )
    return dict(found)


def run(path: Path, folder: str | Path, *settings: str) -> str:
    """Run an example in a folder; returns what it prints."""
    command = [sys.executable, "-W", "error", str(path), *settings]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise RuntimeError(f"{path.name} failed: {done.stderr}")
    return done.stdout


def _section(path: Path, printed: dict[str, str]) -> str:
    """One example: heading, words, picture, code, and what it prints."""
    source = path.read_text(encoding="utf-8")
    title, _, words = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    code = source.split('"""\n', 2)[1].lstrip("\n")
    parts = [f"## {title.rstrip('.')}", "", words.strip().replace("``", "`"), ""]
    if (PICTURES / f"{path.stem}.png").exists():
        parts += [f"![{title}](img/gallery/{path.stem}.png)", ""]
    parts += [f"`examples/{path.name}`", "", "```py", code + "```", ""]
    parts += [f"<!-- prints: {path.stem} -->", "```text", printed.get(path.stem, "") + "```", ""]
    return "\n".join(parts)


def environment() -> Image.Image:
    """The Gymnasium environment as it renders itself, after some actions at random."""
    env = gymnasium.make(ENV_ID, render_mode="rgb_array")
    rng = np.random.default_rng(1)
    _, info = env.reset(seed=14)
    over = False
    while not over:
        action = int(rng.choice(np.flatnonzero(info["action_mask"][:-1])))
        _, _, over, _, info = env.step(action)
    return Image.fromarray(env.render())


def main() -> int:
    """Run all, and write the page and its pictures."""
    printed = {}
    PICTURES.mkdir(parents=True, exist_ok=True)
    for path in EXAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            printed[path.stem] = run(path, folder)
            for picture in Path(folder, "out").glob("*.png"):
                shutil.copyfile(picture, PICTURES / picture.name)
    environment().save(PICTURES / "gym_render.png", optimize=True)
    PAGE.write_text(page(printed), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
