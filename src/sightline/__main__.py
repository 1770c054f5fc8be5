"""``python -m sightline``."""

from sightline.cli import main

main()
