"""How tests are shared out among workers."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("golden")
def test_a_worker_hears_of_a_test_s_group(request: pytest.FixtureRequest) -> None:
    """The end of a name is all that the scheduler reads; without it each worker would start a Java of its own."""
    shared_out = bool(request.config.getoption("loadgroup", False))
    assert request.node.nodeid.endswith("@golden") == shared_out
