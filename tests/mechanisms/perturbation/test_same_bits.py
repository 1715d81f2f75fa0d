"""Kernels, hulls and the odometer have the same bits whatever the processor can do.

Other processes stand in for other machines: each takes from a library the instructions that it would choose by. Where the
processor has none of them, or the C library is another, a variation changes nothing and passes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal, localcontext
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from discreet.mechanisms.perturbation.exponential import exponential
from discreet.numerics import FloatArray, ordered_product
from tests.mechanisms.perturbation.hulls_digest import digests

ROOT = Path(__file__).parents[3]


def plain_numpy() -> str:
    """Every instruction set that NumPy chose at run time, to be switched off."""
    numpy = import_module("numpy._core._multiarray_umath")
    return " ".join(name for name in numpy.__cpu_dispatch__ if numpy.__cpu_features__[name])


VARIATIONS = {
    "generic": {"NUMBA_CPU_NAME": "generic"},  # first: what it compiles, the last finds cached
    "blas": {"OPENBLAS_CORETYPE": "Prescott"},
    "numpy": {"NPY_DISABLE_CPU_FEATURES": plain_numpy()},
    "libm": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F"},
}
VARIATIONS["all"] = {name: value for each in VARIATIONS.values() for name, value in each.items()}


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return digests()


@pytest.mark.parametrize("name", VARIATIONS)
def test_another_machine_finds_the_same_bits(name: str, here: dict[str, str]) -> None:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    told = subprocess.run(
        [sys.executable, "-m", "tests.mechanisms.perturbation.hulls_digest"],
        env={**os.environ, **VARIATIONS[name], "PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    there = json.loads(told.stdout)
    assert [case for case in here if there[case] != here[case]] == []
    assert len(there) == len(here) == 72


def units_off(values: FloatArray) -> float:
    """The largest error of `exponential`, in units of the last place of the result."""
    worst = 0.0
    with localcontext() as context:
        context.prec = 60
        for x, y in zip(values.tolist(), exponential(values).tolist(), strict=True):
            exact = Decimal(x).exp()
            worst = max(worst, float(abs(Decimal(y) - exact) / Decimal(float(np.spacing(float(exact))))))
    return worst


def test_the_exponential_is_as_close_as_it_says() -> None:
    rng = np.random.default_rng(0)
    assert units_off(-rng.random(2000) * 0.35) < 1.5
    assert units_off(-rng.random(2000) * 40) < 1.5
    assert units_off(-rng.random(2000) * 745) < 1.5  # the last of these are below 2**-1022
    np.testing.assert_array_equal(exponential(np.array([0.0, -0.0, -746.0, -1e300, -np.inf])), [1, 1, 0, 0, 0])


def test_an_ordered_product_adds_one_term_after_another() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.random((4, 9)) - 0.5, rng.random((9, 3)) - 0.5
    found = ordered_product(left, right)
    for i in range(4):
        for j in range(3):
            total = 0.0
            for k in range(9):
                total += float(left[i, k]) * float(right[k, j])
            assert found[i, j] == total
    np.testing.assert_array_equal(ordered_product(np.zeros((2, 0)), np.zeros((0, 3))), np.zeros((2, 3)))
