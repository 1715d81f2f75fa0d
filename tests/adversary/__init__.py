"""Tests of discreet.adversary."""
