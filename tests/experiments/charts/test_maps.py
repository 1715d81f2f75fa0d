"""A policy graph as a picture: written, the same for the same graph, and different where the graph is."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.charts import canvas
from discreet.mechanisms.perturbation import protectable, sensitivity_hull
from discreet_experiments.charts import maps
from tests.mechanisms.perturbation.examples import ANSWERS, CATEGORIES


@pytest.mark.skipif(not canvas.available(), reason="matplotlib is not installed")
def test_a_policy_graph_with_hulls_is_drawn(tmp_path: Path) -> None:
    support = [2, 3, 4, 5]
    guarded = protectable(CATEGORIES, ANSWERS, support)
    hull = sensitivity_hull(guarded, ANSWERS)
    edges = [(int(i), int(j)) for i, j in CATEGORIES.restricted(support).edges]
    for name, added in (("a.png", [(2, 4)]), ("b.png", [(2, 4)]), ("c.png", [])):
        maps.policy_graph(
            "Protected",
            "running example",
            ANSWERS.tolist(),
            edges,
            tmp_path / name,
            added=added,
            possible=support,
            hulls={2: hull.vertices.tolist()},
            labels=[f"s{k}" for k in range(1, 7)],
        )
    pictures = [(tmp_path / name).read_bytes() for name in ("a.png", "b.png", "c.png")]
    assert pictures[0][:8] == b"\x89PNG\r\n\x1a\n"
    assert pictures[0] == pictures[1] != pictures[2]
