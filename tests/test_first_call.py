"""A time limit excludes compilation: the first call of a process compiles everything once."""

import subprocess
import sys

SOLVE_EVERYTHING = """
import importlib, pkgutil
import numpy as np
from numba.core.dispatcher import Dispatcher
from scipy import sparse
import sightline as sl
import sightline._kernels as kernels

def compiled():
    loops = {}
    for module in pkgutil.iter_modules(kernels.__path__):
        for name, value in vars(importlib.import_module(f"{kernels.__name__}.{module.name}")).items():
            if isinstance(value, Dispatcher):
                loops[f"{module.name}.{name}"] = len(value.signatures)
    return loops

rng = np.random.default_rng(0)
spots = rng.random((15, 2))
travel = np.hypot(*(spots[:, None] - spots).T)
sees, mass = rng.random((15, 40)) < 0.2, np.full(40, 1 / 40)
reach = rng.random((15, 40))

def solve(prove):
    sl.solve_wmlp(travel, spots[:, 0], prove=prove, rng=rng)
    sl.solve_search(travel, sees, mass, prove=prove, time_limit_s=0.2, rng=rng)

solve(prove=True)
after_first = compiled()
wide = sparse.csr_array(sees)
wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
sl.solve_wmlp(travel + np.triu(travel), spots[:, 0], return_weight=1.0, prove=True, rng=rng)
for views in (sees, wide):
    for options in ({"detection_rate": 0.8}, {"objective": "spl"}, {"reach": reach}, {"prove": True}):
        sl.solve_search(travel, views, mass, **options, time_limit_s=0.05, rng=rng)
for name, signatures in compiled().items():
    if signatures != after_first[name]:
        print(name, after_first[name], "->", signatures)
"""


def test_no_later_call_compiles_anything() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SOLVE_EVERYTHING], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
