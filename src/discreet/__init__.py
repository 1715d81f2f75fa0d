"""Release a person's context stream so that nobody who knows their habits gains more than delta belief in a secret.

The public surface is what stands in `__all__`; everything heavier than NumPy is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from discreet.contexts import UNKNOWN, Clock, Day, Hierarchy, carry_forward, merge_rare
from discreet.contracts import Utility
from discreet.errors import DiscreetError
from discreet.models.chain import MarkovChain
from discreet.models.hidden import HiddenMarkovModel
from discreet.models.store import Models, load, save
from discreet.outputs import Generalized, Output, PartialEvent, Perturbed, Released, Suppressed
from discreet.policy import Guarantee, Policy, Secret

if TYPE_CHECKING:
    from discreet import data, laws, mechanisms
    from discreet.adversary.audit import Audit, audit
    from discreet.evaluation.metrics import Evaluation, evaluate
    from discreet.session import Session

__version__ = "0.1.0"

_WHEN_USED = {
    "Audit": "discreet.adversary.audit",
    "audit": "discreet.adversary.audit",
    "Evaluation": "discreet.evaluation.metrics",
    "evaluate": "discreet.evaluation.metrics",
    "Session": "discreet.session",
    "data": "",
    "laws": "",
    "mechanisms": "",
}

__all__ = [
    "UNKNOWN",
    "Audit",
    "Clock",
    "Day",
    "DiscreetError",
    "Evaluation",
    "Generalized",
    "Guarantee",
    "HiddenMarkovModel",
    "Hierarchy",
    "MarkovChain",
    "Models",
    "Output",
    "PartialEvent",
    "Perturbed",
    "Policy",
    "Released",
    "Secret",
    "Session",
    "Suppressed",
    "Utility",
    "audit",
    "carry_forward",
    "data",
    "evaluate",
    "laws",
    "load",
    "mechanisms",
    "merge_rare",
    "save",
]


def __getattr__(name: str) -> object:
    if name not in _WHEN_USED:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    module = _WHEN_USED[name]
    value: object = (
        getattr(importlib.import_module(module), name) if module else importlib.import_module(f"discreet.{name}")
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
