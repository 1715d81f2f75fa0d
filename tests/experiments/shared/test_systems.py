"""The table of systems: every row can be made by its own name, and says of itself what the mechanism promises."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.events import Event, Events
from discreet.hierarchy import Hierarchy
from discreet.mechanisms.perturbation import PolicyGraph
from discreet.models import HiddenMarkovModel, MarkovChain
from discreet.policy import Policy
from discreet_experiments.shared.systems import ALL, System, build, system

TRIPLES = (Event("eat", "noon", "hall"), Event("read", "noon", "hall"), Event("eat", "night", "home"))
EVENTS = Events(("eat", "read"), ("noon", "night"), ("hall", "home"), occurring=TRIPLES)
CONTEXTS = EVENTS.contexts
CHAIN = MarkovChain.homogeneous(CONTEXTS, [0.4, 0.3, 0.3], [[0.4, 0.3, 0.3]] * 3, 3)
HIDDEN = HiddenMarkovModel(CONTEXTS, [0.5, 0.5], np.full((5, 2, 2), 0.5), [[0.6, 0.2, 0.2], [0.2, 0.4, 0.4]])
"""Of 6 slots: more than PA-HMM's window, as in the paper."""
POLICY = Policy([EVENTS.secret("activity", "read")], delta=0.2)
TREE = Hierarchy({"root": {"one": list(CONTEXTS[:2]), "two": list(CONTEXTS[2:])}})
GIVEN = {
    "hierarchy": TREE,
    "events": EVENTS,
    "graph": PolicyGraph.complete(3),
    "query": [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
    "epsilon": 1.0,
    "noise": "knorm",
}


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_every_system_is_made_and_promises_what_the_table_says(one: System) -> None:
    model = HIDDEN if one.name in ("pa-hmm", "adaptive-events", "adaptive-attributes") else CHAIN
    mechanism = system(one.name).make(model, POLICY, **GIVEN)
    assert mechanism.kernel(mechanism.start()) is not None
    assert (mechanism.guarantee.kind == "exact delta") == one.proven


def test_names_labels_and_lines_are_told_apart() -> None:
    assert len({one.name for one in ALL}) == len({one.label for one in ALL}) == len(ALL)
    assert all(one.look.solid == one.proven for one in ALL)


@pytest.mark.parametrize("name", ["no-mask", "probabilistic", "hybrid", "deceive"])
def test_systems_are_built_by_their_own_names(name: str) -> None:
    assert build(name, CHAIN, POLICY).model is CHAIN


def test_options_are_added_to_those_of_the_table() -> None:
    lazy = system("deceive").with_options(plan="lazy", memory="none").make(CHAIN, POLICY)
    assert (lazy.outputs, lazy.memory) == ("deceive", "none")
    assert "plan" not in system("deceive").spec.options


def test_what_is_missing_is_told() -> None:
    with pytest.raises(DiscreetError, match="FDH needs hierarchy"):
        build("fdh", CHAIN, POLICY)
    with pytest.raises(DiscreetError, match="did you mean 'hybrid'"):
        system("hybird")
