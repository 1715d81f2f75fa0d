"""Adaptive release: one linear programme a slot, its solver, its table, and the proof (proof.md)."""
