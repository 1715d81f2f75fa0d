"""Markov chains of a day: one for all days, or one for each kind of day."""
