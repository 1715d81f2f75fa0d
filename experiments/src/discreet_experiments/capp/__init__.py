"""CAPP's experiments (Zhang et al. 2017)."""
