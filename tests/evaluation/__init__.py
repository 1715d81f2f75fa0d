"""Tests of discreet.evaluation."""
