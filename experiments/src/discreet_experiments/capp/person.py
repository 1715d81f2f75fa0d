"""CAPP's experiments (Zhang et al., 2017, Section 5): what is computed for one person.

Utility is the fraction of held-out slots whose true context is released, and the paper's breaches are the slots whose
true context is a secret that the day's whole output tells, over all slots. The paper takes its own system and
EfficientFake for private by definition; here they are judged like the others.
"""

from __future__ import annotations

from discreet_experiments.shared.compared import Comparison, compared
from discreet_experiments.shared.people import Trace
from discreet_experiments.shared.subjects import Setting, subject

SYSTEMS = ("mask-sensitive", "hybrid", "efficient-fake", "capp", "capp-bayes", "deceive")


def compare(trace: Trace, setting: Setting, days: int | None) -> Comparison | None:
    """Release one person's held-out days by every system; `days` as in `judge`."""
    one = subject(trace, setting)
    return None if one is None else compared(one, setting, SYSTEMS, days=days)
