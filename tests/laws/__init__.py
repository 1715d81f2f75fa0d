"""Tests of discreet.laws."""
