"""Publishing tables of events: a plan for all people, carried out person after person.

The package can be called: `discreet.publish(plan, events)` is its function of that name, also after an import of
something in the package has made `discreet.publish` the package itself.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from discreet.publish.draws import RunKey
from discreet.publish.engines.local import publish, publish_people
from discreet.publish.person import publish_person
from discreet.publish.plan import ChainHabits, Plan, TopicHabits, policy_for
from discreet.publish.report import PersonReport, PieceReport, Report
from discreet.publish.summary import Summary

__all__ = [
    "ChainHabits",
    "PersonReport",
    "PieceReport",
    "Plan",
    "Report",
    "RunKey",
    "Summary",
    "TopicHabits",
    "policy_for",
    "publish",
    "publish_people",
    "publish_person",
]


class _Callable(ModuleType):
    """This package, which stands for its function where it is called."""

    def __call__(self, *given: Any, **options: Any) -> Report:
        return publish(*given, **options)


sys.modules[__name__].__class__ = _Callable
