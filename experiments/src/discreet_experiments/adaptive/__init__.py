"""Adaptive release on recorded people, beside every other mechanism."""
