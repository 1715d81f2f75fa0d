"""The observer who knows everything but the truth: exact beliefs, the audit, and the brute-force oracle."""

from discreet.adversary.audit import Audit, Witness, audit
from discreet.adversary.belief import Adversary, Belief, beliefs_along

__all__ = ["Adversary", "Audit", "Belief", "Witness", "audit", "beliefs_along"]
