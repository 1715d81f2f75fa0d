"""Tests of discreet.mechanisms."""
