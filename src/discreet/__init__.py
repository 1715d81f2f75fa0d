"""Release a person's context stream so that nobody who knows their habits gains more than delta belief in a secret.

The public surface is what stands in `__all__`; each name is imported when first used, so that commands start fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet import data, laws, mechanisms
    from discreet.adversary.audit import Audit, audit
    from discreet.clock import Clock
    from discreet.contexts import UNKNOWN, Day, carry_forward, merge_rare
    from discreet.contracts import Utility
    from discreet.errors import DiscreetError
    from discreet.evaluation.attack import Attack, attack
    from discreet.evaluation.compare import compare
    from discreet.evaluation.limit import Limit, limit
    from discreet.evaluation.metrics import Evaluation, evaluate
    from discreet.events import Event, Events, Intervals, Trajectory
    from discreet.hierarchy import Hierarchy
    from discreet.jit.warming import warm
    from discreet.models.chain.markov import MarkovChain
    from discreet.models.chain.week import Models
    from discreet.models.hidden.markov import HiddenMarkovModel
    from discreet.models.routine.routine import Routine
    from discreet.models.store import load, save
    from discreet.models.topics.model import TopicModel
    from discreet.outputs import Generalized, Output, PartialEvent, Perturbed, Released, Skipped, Suppressed
    from discreet.policy import Guarantee, Policy, Secret
    from discreet.publish.engines.local import publish
    from discreet.publish.plan import Plan
    from discreet.publish.report import Report
    from discreet.session import Session

__version__ = "0.1.0"

_WHERE = {
    "UNKNOWN": "contexts",
    "Attack": "evaluation.attack",
    "Audit": "adversary.audit",
    "Clock": "clock",
    "Day": "contexts",
    "DiscreetError": "errors",
    "Evaluation": "evaluation.metrics",
    "Event": "events",
    "Events": "events",
    "Generalized": "outputs",
    "Guarantee": "policy",
    "HiddenMarkovModel": "models.hidden.markov",
    "Hierarchy": "hierarchy",
    "Intervals": "events",
    "Limit": "evaluation.limit",
    "MarkovChain": "models.chain.markov",
    "Models": "models.chain.week",
    "Output": "outputs",
    "PartialEvent": "outputs",
    "Perturbed": "outputs",
    "Plan": "publish.plan",
    "Policy": "policy",
    "Released": "outputs",
    "Report": "publish.report",
    "Routine": "models.routine.routine",
    "Secret": "policy",
    "Session": "session",
    "Skipped": "outputs",
    "Suppressed": "outputs",
    "TopicModel": "models.topics.model",
    "Trajectory": "events",
    "Utility": "contracts",
    "attack": "evaluation.attack",
    "audit": "adversary.audit",
    "carry_forward": "contexts",
    "compare": "evaluation.compare",
    "data": "data",
    "evaluate": "evaluation.metrics",
    "laws": "laws",
    "limit": "evaluation.limit",
    "load": "models.store",
    "mechanisms": "mechanisms",
    "merge_rare": "contexts",
    "publish": "publish",
    "save": "models.store",
    "warm": "jit.warming",
}

__all__ = [
    "UNKNOWN",
    "Attack",
    "Audit",
    "Clock",
    "Day",
    "DiscreetError",
    "Evaluation",
    "Event",
    "Events",
    "Generalized",
    "Guarantee",
    "HiddenMarkovModel",
    "Hierarchy",
    "Intervals",
    "Limit",
    "MarkovChain",
    "Models",
    "Output",
    "PartialEvent",
    "Perturbed",
    "Plan",
    "Policy",
    "Released",
    "Report",
    "Routine",
    "Secret",
    "Session",
    "Skipped",
    "Suppressed",
    "TopicModel",
    "Trajectory",
    "Utility",
    "attack",
    "audit",
    "carry_forward",
    "compare",
    "data",
    "evaluate",
    "laws",
    "limit",
    "load",
    "mechanisms",
    "merge_rare",
    "publish",
    "save",
    "warm",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        from difflib import get_close_matches  # takes a while, and few need it

        near = get_close_matches(name, __all__, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module 'discreet' has no attribute {name!r}{hint}")
    module = importlib.import_module(f"discreet.{_WHERE[name]}")
    value: object = module if name == _WHERE[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
