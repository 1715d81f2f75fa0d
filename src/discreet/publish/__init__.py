"""Publishing tables of events: a plan for all people, carried out person after person."""

from discreet.publish.local import Report, publish
from discreet.publish.plan import ChainHabits, Plan, TopicHabits, policy_for

__all__ = ["ChainHabits", "Plan", "Report", "TopicHabits", "policy_for", "publish"]
