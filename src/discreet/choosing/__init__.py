"""Choosing what is secret, how secret, and what may be told instead: suggestions, and what each choice costs."""

from discreet.choosing.choices import Choice, Choices, choices
from discreet.choosing.suggest import RULES, Suggested, Suggestion, suggest

__all__ = ["RULES", "Choice", "Choices", "Suggested", "Suggestion", "choices", "suggest"]
