"""What all tests share: a working directory of their own, and no deadline for compiled code."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from sightline import cli

# the first call of a kernel compiles it, which says nothing about the property
settings.register_profile("sightline", deadline=None, max_examples=60, print_blob=True)
settings.load_profile("sightline")


@pytest.fixture(autouse=True)
def temporary_directory(tmp_path: Path) -> Iterator[Path]:
    """Each test runs in an empty folder of its own."""
    with contextlib.chdir(tmp_path):
        yield tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture):
    """Runs the command line in this process: exit code, stdout and stderr."""

    def runs(*words: object) -> tuple[int, str, str]:
        code = 0
        try:
            cli.main([str(word) for word in words])
        except SystemExit as end:
            code = end.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return runs
