"""Tests of answers with noise."""
