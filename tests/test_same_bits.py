"""The same kernel on every machine (docs/theory.md, section 12): golden digests, here and as other processors would.

What may differ between processors is made to differ: the code that numba compiles for, the kernels that OpenBLAS and
NumPy pick, and the C library's own choice of vector instructions. Each runs in a process of its own, because all of
them are chosen when a process starts. `make test` runs a third of the cases where all of them differ; `make audit`
runs all cases, and where each differs alone too.

Interpreted loops are held to the same digests: a process starts with them and takes compiled ones over as it goes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import jit
from discreet.numerics import FloatArray, ordered_product
from tests.golden import kernels
from tests.strategies import LONG

GOLDEN: dict[str, str] = json.loads(kernels.FILE.read_text(encoding="utf-8"))

WIDE = " ".join(np.show_config(mode="dicts")["SIMD Extensions"]["found"])
"""What NumPy would use of this processor beyond what every processor of its kind has."""

ALL = "all of it, and neither NumPy nor the C library with wide vectors"
PROCESSORS = {
    "compiled for any x86-64": {"NUMBA_CPU_NAME": "generic"},
    "BLAS of 2004": {"OPENBLAS_CORETYPE": "Prescott"},
    "BLAS of 2013, and an old C library's mathematics": {
        "OPENBLAS_CORETYPE": "Haswell",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
    },
    ALL: {
        "NUMBA_CPU_NAME": "generic",
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": WIDE,
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
    },
}


PARTS = 3
"""Parts of the cases, each of every family: `make quick` takes the first, other processors in `make test` likewise."""

ALL_OF_THEM = pytest.mark.slow("computes all golden kernels")


def differing(found: dict[str, str], names: list[str]) -> list[str]:
    return [name for name in {*names, *found} if GOLDEN.get(name) != found.get(name)]


@pytest.mark.golden
@pytest.mark.xdist_group("golden")
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=ALL_OF_THEM) for part in range(1, PARTS))])
def test_kernels_are_the_golden_ones(part: int) -> None:
    assert differing(kernels.digests(kernels.some(PARTS, part)), kernels.some(PARTS, part)) == []


def test_every_golden_digest_is_of_a_case() -> None:
    assert len(GOLDEN) > 350
    assert sorted(kernels.cases()) == sorted(GOLDEN)


@pytest.mark.slow("computes all golden kernels in a process that shares nothing with this one")
@pytest.mark.xdist_group("another processor")
@pytest.mark.parametrize("processor", PROCESSORS if LONG else [ALL])
def test_another_processor_makes_the_same_kernels(processor: str) -> None:
    every = 1 if LONG else PARTS
    run = subprocess.run(
        [sys.executable, "-m", "tests.golden.kernels", str(every)],
        env={**os.environ, **PROCESSORS[processor]},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert differing(json.loads(run.stdout), kernels.some(every)) == []


@pytest.mark.slow("computes all golden kernels")
def test_plain_python_makes_the_same_kernels() -> None:
    """What is not compiled yet is interpreted: without a warning, and with what compiled loops will give."""
    every = 1 if LONG else 2 * PARTS + 1  # coprime to the cases of a seed, so that each kind is among them
    run = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.golden.kernels", str(every)],
        env={**os.environ, "DISCREET_COMPILE": "never"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert differing(json.loads(run.stdout), kernels.some(every)) == []


def matrices(rows: int, columns: int) -> st.SearchStrategy[FloatArray]:
    numbers = st.floats(-1e3, 1e3).map(lambda x: round(x, 7))
    return st.lists(numbers, min_size=rows * columns, max_size=rows * columns).map(
        lambda values: np.array(values, dtype=np.float64).reshape(rows, columns)
    )


@settings(deadline=None)  # the first call compiles
@given(st.data())
def test_a_compiled_product_adds_in_the_order_of_a_plain_loop(data: st.DataObject) -> None:
    """Equal to the bit, whatever the sizes: rows are worked on in pairs and terms in fours."""
    rows, inner, columns = (data.draw(st.integers(0, 11)) for _ in range(3))
    left, right = data.draw(matrices(rows, inner)), data.draw(matrices(inner, columns))
    expected = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            for k in range(inner):
                expected[i, j] += left[i, k] * right[k, j]
    np.testing.assert_array_equal(jit.product(left, right), expected)
    np.testing.assert_array_equal(ordered_product(left, right), expected)
    if rows and columns:
        np.testing.assert_array_equal(jit.product(left[0], right), expected[0])
        assert ordered_product(left[0], right).tobytes() == expected[0].tobytes()
        np.testing.assert_array_equal(ordered_product(left, right[:, 0]), expected[:, 0])


@jit.compiled(jit.FLOATS, jit.FLOATS)
def compiled_dot(left: FloatArray, right: FloatArray) -> float:
    return jit.dot(left, right)


@jit.compiled(jit.FLOATS)
def compiled_total(values: FloatArray) -> float:
    return jit.total(values)


@jit.compiled(jit.FLOATS_2D, jit.FLOATS)
def compiled_rows(matrix: FloatArray, vector: FloatArray) -> tuple[float, float]:
    return jit.row_dot(matrix, 1, vector, len(vector)), jit.row_square(matrix, 1, len(vector))


@settings(deadline=None)
@given(st.integers(0, 40).flatmap(lambda size: st.tuples(matrices(1, size), matrices(1, size))))
def test_long_sums_have_eight_lanes_and_a_rest(pair: tuple[FloatArray, FloatArray]) -> None:
    left, right = pair[0][0], pair[1][0]
    whole = len(left) - len(left) % 8
    matrix, size = np.stack([right, left]).reshape(2, -1), len(left)
    assert jit.row_dot(matrix, 1, right, size) == jit.dot(left, right)
    assert jit.row_square(matrix, 1, size) == jit.dot(left, left)
    assert compiled_rows(matrix, right) == (jit.dot(left, right), jit.dot(left, left))
    assert compiled_dot(left, right) == jit.dot(left, right)
    assert compiled_total(left) == jit.total(left)
    for terms, found in ((left * right, jit.dot(left, right)), (left, jit.total(left))):
        lanes = [0.0] * 8
        for i in range(whole):
            lanes[i % 8] += terms[i]
        rest = 0.0
        for term in terms[whole:]:
            rest += term
        a, b, c, d, e, f, g, h = lanes
        assert found == (((a + b) + (c + d)) + ((e + f) + (g + h))) + rest
