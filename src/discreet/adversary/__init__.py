"""The observer who knows everything but the truth: exact beliefs, the audit, and the brute-force oracle."""

from discreet.adversary.belief import Adversary, Belief, beliefs_along

__all__ = ["Adversary", "Belief", "beliefs_along"]
