"""The cones of the bound: whatever is compressed still holds every vector that went in."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from discreet.adversary.interval import compressed
from tests.strategies import random_rows, searches


def test_the_compressed_cone_holds_every_vector() -> None:
    for seed in searches(20):
        rng = np.random.default_rng(seed)
        dimension = int(rng.integers(2, 6))
        vectors = random_rows(rng, (200, dimension), zeros=float(rng.choice([0.0, 0.4])))
        most = int(rng.integers(dimension, 60))
        cone = compressed(vectors, most)
        assert len(cone) <= most + dimension
        for vector in vectors[:40]:
            _, distance = nnls(cone.T, vector)
            assert distance < 1e-9  # nnls stops at about its square root of machine precision


def test_more_generators_than_vectors_keep_the_vectors() -> None:
    vectors = random_rows(np.random.default_rng(1), (20, 4), zeros=0.2)
    kept = compressed(np.concatenate([vectors, vectors]), 100)
    assert sorted(map(tuple, kept)) == sorted(map(tuple, np.unique(vectors, axis=0)))
