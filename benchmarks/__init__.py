"""Benchmarks: data is built outside the measured call; each module prints one table."""
