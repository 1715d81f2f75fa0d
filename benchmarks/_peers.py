"""The other side of `benchmarks.peers`, run by a Python that has the peer and need not have discreet.

`python _peers.py NAME INPUTS.npz` prints seconds, memory and the version as JSON, or that the peer is absent.
"""
# mypy: ignore-errors
# It runs where peers are installed, which they need not be beside this project.

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from importlib.metadata import version

try:
    import numpy as np
except ImportError:  # no peer works without
    np = None


def hmmlearn(given):
    """Posteriors of one long sequence."""
    from hmmlearn.hmm import CategoricalHMM

    states, symbols = given["emission"].shape
    model = CategoricalHMM(n_components=states, n_features=symbols, implementation="scaling")
    model.startprob_, model.transmat_, model.emissionprob_ = given["initial"], given["step"], given["emission"]
    seen = given["seen"][:, None]
    return 1, lambda: model.predict_proba(seen), version("hmmlearn")


def numpy(given):
    """The one product that a slot of the filter needs."""
    stack, step = given["stack"], given["step"]
    return 1, lambda: stack @ step, version("numpy")


def highs(given):
    """The same programmes, all rows and columns, by SciPy's HiGHS."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    def solved(k):
        mass, state, output, value, rows = (given[f"{name}{k}"] for name in ("m", "s", "o", "v", "a"))
        columns, outputs = np.arange(len(state)), int(output.max()) + 1
        equal = coo_array((np.ones(len(state)), (state, columns)), shape=(len(mass), len(state)))
        at = (output[None] * len(rows) + np.arange(len(rows))[:, None]).ravel()
        told = coo_array(
            (rows[:, state].ravel(), (at, np.tile(columns, len(rows)))), shape=(outputs * len(rows), len(state))
        )
        return linprog(-value, told.tocsr(), np.zeros(told.shape[0]), equal.tocsr(), mass, (0, None), method="highs")

    count = int(given["programmes"])
    return count, lambda: [solved(k) for k in range(count)], version("scipy")


def privkit(given):
    """A planar Laplace point for each step of the trace."""
    from privkit.ppms import PlanarLaplace

    noise = PlanarLaplace(float(given["epsilon"]))
    points = (given["cells"][given["path"]] / 111.0 + np.array([48.0, 2.0])).tolist()
    return len(points), lambda: [noise.get_obfuscated_point(*point) for point in points], version("privkit")


def opendp(given):
    """Laplace noise on both coordinates of each step."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=2), dp.l1_distance(T=float)
    noise = dp.m.make_laplace(*space, scale=float(given["sensitivity"]) / float(given["epsilon"]))
    points = given["cells"][given["path"]].tolist()
    return len(points), lambda: [noise(point) for point in points], version("opendp")


def _pglp(given, kind):
    """Anew for each step, as its own experiments do: where the person may be changes with every step."""
    sys.path.insert(0, os.path.join(os.environ.get("DISCREET_PGLP", "."), "src"))
    import mechanism

    cells, path, support = given["cells"], given["path"], given["support"]

    def release():
        for place, possible in zip(path, support, strict=True):
            one = getattr(mechanism, kind)()
            states = np.flatnonzero(possible)
            one.load(cells[states], states)
            one.build_distribution(float(given["epsilon"]))
            one.perturb(cells[place])

    return len(path), release, "of github.com/tkgsn/PGLP"


def pglp_isotropic(given):
    """Its planar isotropic mechanism."""
    return _pglp(given, "PlanarIsotropicMechanism")


def pglp_laplace(given):
    """Its Laplace mechanism."""
    return _pglp(given, "LaplaceMechanism")


def trackintel(given):
    """Staypoints of the same positions, with the same radius, minutes and silence."""
    import geopandas
    import pandas
    import trackintel as ti

    when = pandas.to_datetime(given["instants"], unit="us", utc=True)
    where = geopandas.points_from_xy(given["positions"][:, 1], given["positions"][:, 0])
    fixes = geopandas.GeoDataFrame({"user_id": "p", "tracked_at": when}, geometry=where, crs="EPSG:4326")
    fixes.index.name = "id"
    fixes = ti.Positionfixes(fixes)
    limits = {
        "dist_threshold": float(given["radius"]),
        "time_threshold": float(given["minutes"]),
        "gap_threshold": float(given["gap"]) / 60,
    }
    return (
        1,
        lambda: fixes.generate_staypoints(method="sliding", include_last=True, **limits),
        ti.__version__,
    )


def timed(count: int, call) -> float:
    """Processor seconds of one of `count` units, the best of up to nine calls within some seconds."""
    call()
    best, until = float("inf"), time.monotonic() + 3.0
    for _ in range(9):
        began = time.process_time()
        call()
        best = min(best, time.process_time() - began)
        if time.monotonic() > until:
            break
    return best / count


def memory() -> float:
    """The most that this process has had, in MB; what `getrusage` says includes the parent's, before the start."""
    try:
        with open("/proc/self/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(name, path):
    """Print what was measured."""
    warnings.simplefilter("ignore")
    try:
        if np is None:
            raise ImportError("numpy")
        count, call, told = globals()[name](dict(np.load(path)))
    except ImportError as error:
        print(json.dumps({"absent": str(error)}))
        return
    seconds = timed(count, call)
    print(json.dumps({"seconds": seconds, "memory": memory(), "version": told}))


if __name__ == "__main__":
    main(*sys.argv[1:])
