"""Publishing tables of events: a plan for all people, carried out person after person."""

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
