"""Routines: habits of days without end, and how they change."""
