import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import sightline

MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(sightline.__path__, "sightline.")
    if not info.name.endswith("__main__")  # it runs when imported
)


def public(module) -> list[tuple[str, object]]:
    """Functions and classes that a module defines, with the public methods of the classes."""
    own = [
        (name, item)
        for name, item in vars(module).items()
        if not name.startswith("_") and getattr(item, "__module__", "") == module.__name__
        if inspect.isclass(item) or inspect.isfunction(item)
    ]
    methods = [
        (f"{name}.{method}", getattr(body, "func", body))
        for name, item in own
        if inspect.isclass(item)
        for method, body in vars(item).items()
        if not method.startswith("_")
        if isinstance(body, property | classmethod | staticmethod)
        or inspect.isfunction(body)
        or hasattr(body, "func")  # a cached property
    ]
    return own + methods


@pytest.mark.parametrize("name", sightline.__all__)
def test_each_public_name_exists_with_a_docstring_of_its_own(name):
    item = getattr(sightline, name)
    assert item.__name__ == name
    assert (item.__doc__ or "").strip()
    assert not item.__doc__.startswith(f"{name}(")  # what dataclasses write by themselves


def test_the_list_of_names_and_the_table_of_their_homes_agree():
    assert sorted(sightline._HOMES) == sorted(set(sightline.__all__)) == sorted(sightline.__all__)
    for name, home in sightline._HOMES.items():
        module = importlib.import_module(f"sightline.{home}")
        assert vars(module)[name] is getattr(sightline, name)
        assert getattr(sightline, name).__module__ == module.__name__  # not passed on by another


def test_dir_lists_the_public_names_and_others_do_not_exist():
    assert {*sightline.__all__, "__version__"} <= set(dir(sightline))
    with pytest.raises(AttributeError, match="'sightline' has no attribute 'bogus'"):
        _ = sightline.bogus


def test_all_names_come_with_a_star_import():
    names: dict[str, object] = {}
    exec("from sightline import *", names)
    assert set(sightline.__all__) <= set(names)


@pytest.mark.parametrize("name", MODULES)
def test_modules_and_what_is_public_in_them_have_docstrings(name):
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip(), name
    kernels = name.startswith("sightline._kernels")
    for item, body in [] if kernels else public(module):
        assert (body.__doc__ or "").strip(), f"{name}.{item}"


def test_the_search_for_public_things_finds_functions_classes_and_all_kinds_of_methods():
    found = dict(public(importlib.import_module("sightline.maps")))
    for name in ("as_points", "OccupancyMap", "FreeSpace.path", "OccupancyMap.load"):
        assert name in found
    for name in ("OccupancyMap.shape", "OccupancyMap.clearance_m"):
        assert name in found
    assert "ndimage" not in found


def test_importing_the_package_imports_nothing_heavy():
    script = (
        "import sys; before = set(sys.modules); import sightline; sightline.__version__; "
        "print(sorted({name.partition('.')[0] for name in set(sys.modules) - before} "
        "- set(sys.stdlib_module_names)))"
    )
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout == "['sightline']\n"


def test_every_error_is_a_sightline_error_and_the_warning_is_none():
    errors = [getattr(sightline, name) for name in sightline.__all__ if name.endswith("Error")]
    assert all(issubclass(error, sightline.SightlineError) for error in errors)
    assert issubclass(sightline.MapWarning, UserWarning)
